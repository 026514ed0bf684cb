package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Approvals has calls wait for a person's consent that need it and are run by the gateway. The
// question is on the record of the request, where a person decides about it ('toolpost runs
// approve'); nobody waits for that. The model is told, answers without the result, and has it when the
// same client makes the same call again.
type Approvals struct {
	// Store is where the requests of the route are recorded, and so what a person decides.
	Store journal.Store
	// For is how long a call waits; 0 means a day. Then it is refused.
	For time.Duration
}

// The bounds of calls that wait.
const (
	defaultApproval = 24 * time.Hour
	maxApproval     = 30 * 24 * time.Hour
	maxPending      = 10_000
	maxPendingOwner = 200
)

// check says what is wrong with the tools of a route.
func (t *ServedTools) check() error {
	if t == nil || t.Approvals == nil {
		return nil
	}
	if a := t.Approvals; a.Store == nil || a.For < 0 || a.For > maxApproval {
		return fmt.Errorf("calls that wait for a person need a store, and a time of up to %v", maxApproval)
	}
	return nil
}

// ask has a call wait.
func (a *Approvals) ask(context.Context, invoke.Question) (journal.Approval, error) {
	life := a.For
	if life == 0 {
		life = defaultApproval
	}
	return journal.Approval{}, &invoke.PendingError{Until: time.Now().Add(life)}
}

// pendingKey is a call that somebody wants to make.
type pendingKey struct {
	owner, route, tool string
	args               journal.Hash
}

// pendingCall is one that waits, or was run after it waited.
type pendingCall struct {
	key   pendingKey
	run   string // whose record has the question
	call  llm.Call
	until time.Time

	mu     sync.Mutex // of one who looks after it
	begun  bool       // it may have changed something
	done   bool
	result llm.Result
	words  string // of the request that was given the result
}

// pendings are the calls that wait, the oldest first. What is not found here is asked about anew.
type pendings struct {
	mu    sync.Mutex
	calls []*pendingCall
}

// find returns the call that waits, nil if none does.
func (p *pendings) find(key pendingKey) *pendingCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	i := slices.IndexFunc(p.calls, func(c *pendingCall) bool { return c.key == key })
	if i < 0 {
		return nil
	}
	return p.calls[i]
}

// keep notes a call that waits. It makes room by forgetting those whose time has been over for long, and
// the oldest.
func (p *pendings) keep(c *pendingCall) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now, own := time.Now(), 0
	p.calls = slices.DeleteFunc(p.calls, func(old *pendingCall) bool {
		if old.key.owner == c.key.owner {
			own++
		}
		return old.key == c.key || now.After(old.until.Add(defaultApproval))
	})
	if own >= maxPendingOwner {
		i := slices.IndexFunc(p.calls, func(old *pendingCall) bool { return old.key.owner == c.key.owner })
		if i >= 0 {
			p.calls = slices.Delete(p.calls, i, i+1)
		}
	}
	if len(p.calls) >= maxPending {
		p.calls = slices.Delete(p.calls, 0, 1)
	}
	p.calls = append(p.calls, c)
}

// keyOf names a call of the request.
func (s *serving) keyOf(c llm.Call) pendingKey {
	return pendingKey{owner: s.x.owner, route: s.to.route.Model, tool: c.Name, args: journal.ParamsHash(c.Args)}
}

// waits notes that a call waits for a person, and tells model and client.
func (s *serving) waits(c llm.Call, q invoke.Question) (llm.Result, error) {
	s.waited = true
	s.x.pending.keep(&pendingCall{key: s.keyOf(c), run: s.x.id, call: c, until: q.Until})
	return s.waiting(c, s.x.id, c.ID, q.Until)
}

// waiting is what the model is told about a call that waits. The client is told, too.
func (s *serving) waiting(c llm.Call, run, id string, until time.Time) (llm.Result, error) {
	if s.x.repeat != nil {
		s.x.repeat.waits = true
	}
	when := until.UTC().Format(time.RFC3339)
	s.pend = append(s.pend, llm.Warning{Code: llm.Degraded, Feature: c.Name, Detail: fmt.Sprintf("the call %s of %s awaits a person's approval until %s", id, run, when)})
	err := s.progress(ToolProgress{Type: "waiting", CallID: id, Tool: c.Name, Message: "awaits a person's approval until " + when, Run: run})
	return failedResult(c, fmt.Sprintf("The call was not run: it awaits a person's approval until %s, as %s of %s. Tell the user so, with these ids, and do not send it again now. "+
		"Once it is approved, the same call with the same arguments gives its result.", when, id, run)), err
}

func failedResult(c llm.Call, text string) llm.Result {
	return llm.Result{CallID: c.ID, Name: c.Name, Failed: true, Parts: []llm.Part{llm.Text{Text: text}}}
}

// decided returns the result of a call that waited before, and false if it is a new one. What a person
// allowed is run now, once, and is on the record of the request that asked.
func (s *serving) decided(c llm.Call) (llm.Result, bool, error) {
	if s.tools.Approvals == nil {
		return llm.Result{}, false, nil
	}
	p := s.x.pending.find(s.keyOf(c))
	if p == nil {
		return llm.Result{}, false, nil
	}
	if p.run == s.x.id {
		r, err := s.waiting(c, p.run, p.call.ID, p.until)
		return r, true, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.done && (s.x.repeat == nil || p.words != s.x.repeat.words) {
		return llm.Result{}, false, nil // another request wants it done again, which is another question
	}
	if p.begun && !p.done {
		return failedResult(c, fmt.Sprintf("The call was approved and begun (%s of %s), and nobody knows how it ended, so it is not run again. Ask the user to look.", p.call.ID, p.run)), true, nil
	}
	if !p.done {
		outcome, err := s.resume(p)
		var held *journal.HeldError
		switch {
		case errors.As(err, &held), err == nil && outcome == nil:
			r, err := s.waiting(c, p.run, p.call.ID, p.until)
			return r, true, err
		case err != nil:
			return llm.Result{}, true, s.broken(err)
		}
		p.done, p.result = true, *outcome
		if s.x.repeat != nil {
			p.words = s.x.repeat.words
		}
	}
	result := p.result
	result.CallID = c.ID
	return result, true, nil
}

// resume goes on with a call that waits, on the record that has the question. It returns nil if nobody has
// decided yet.
func (s *serving) resume(p *pendingCall) (result *llm.Result, err error) {
	store := s.tools.Approvals.Store
	ctx := s.x.ctx()
	rec, err := journal.Open(ctx, store, p.run)
	if err != nil {
		return nil, err
	}
	after := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, rec.Close(after)) }()
	session, err := s.runner.Session(rec)
	if err != nil {
		return nil, err
	}
	session.Model, session.Turn = s.to.id, 1
	for e, err := range store.Read(ctx, p.run, 0) {
		if err == nil {
			err = session.Recall(e)
		}
		if err != nil {
			return nil, err
		}
	}
	for ev, err := range session.Do(ctx, []llm.Call{p.call}) {
		if err != nil {
			return nil, err
		}
		switch ev := ev.(type) {
		case invoke.Outcome:
			clean := s.clean(ev.Result)
			result = &clean
			s.x.meters.served.add(1, s.to.route.Model, string(ev.Receipt.Status))
		case invoke.Intended:
			p.begun = true
		default:
			if err := s.tell(ev); err != nil {
				return nil, err
			}
		}
	}
	if result != nil {
		if _, err := rec.Seal(after); err != nil {
			return nil, err
		}
	}
	return result, nil
}
