package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Approvals lets calls of gateway tools wait for a person's approval. The question is written to the record of the
// request, and a person decides with 'toolpost runs approve'. The request does not wait for the decision. The model is
// told, answers without the result, and gets the result when the same client repeats the same call. Waiting calls are
// stored in Setup.State: gateways that share it and Store can continue each other's calls.
type Approvals struct {
	// Store holds the records of the route's requests, including the decisions.
	Store journal.Store
	// For is how long a call waits before it is refused; 0 means a day.
	For time.Duration
}

// MaxApproval is the longest time that a call can wait.
const MaxApproval = 30 * 24 * time.Hour

// The limits of waiting calls.
const (
	defaultApproval = 24 * time.Hour
	// pendingRest is how long the entry of an expired or decided call is kept.
	pendingRest = 24 * time.Hour
)

// check reports errors in the tools of a route.
func (t *ServedTools) check() error {
	if t == nil || t.Approvals == nil {
		return nil
	}
	if a := t.Approvals; a.Store == nil || a.For < 0 || a.For > MaxApproval {
		return fmt.Errorf("calls that wait for a person need a store, and a time of up to %v", MaxApproval)
	}
	return nil
}

// asker identifies the request that asks, in the context of a call.
type asker struct {
	s *serving
	p *pendingCall // the waiting call to continue; nil for a new call
}

type askerKey struct{}

// ask makes a call wait, unless an equal call waits already. There is one question for equal calls.
func (a *Approvals) ask(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	by, ok := ctx.Value(askerKey{}).(asker)
	switch {
	case !ok:
		return journal.Approval{}, errors.New("nobody can be asked here")
	case by.p != nil:
		return journal.Approval{}, &invoke.PendingError{Until: by.p.Until}
	}
	life := a.For
	if life == 0 {
		life = defaultApproval
	}
	until := time.Now().Add(life).UTC()
	if err := by.s.claimCall(q, until); err != nil {
		return journal.Approval{}, err
	}
	return journal.Approval{}, &invoke.PendingError{Until: until}
}

// pendingCall is the stored entry of a call that waits for a person or was decided. The question, the decision and the
// outcome are in the record.
type pendingCall struct {
	Run   string    `json:"run"`  // run id of the record
	Call  llm.Call  `json:"call"` // as the model sent it
	Route string    `json:"route"`
	Until time.Time `json:"until"` // when it is refused
	// Over is when the call was run or refused. Given is the request that got the result.
	Over  time.Time `json:"over,omitzero"`
	Given string    `json:"given,omitempty"`

	value []byte        // the stored bytes
	was   *recordedCall // the outcome, if it was decided for this request
}

// kept returns the stored entry of the call.
func (p *pendingCall) kept(at state.Place) (state.Kept, error) {
	value, err := json.Marshal(p)
	e := state.Kept{Place: at, Value: value, Until: p.Until.Add(pendingRest), Hold: true}
	if !p.Over.IsZero() {
		e.Until, e.Hold = p.Over.Add(pendingRest), false
	}
	return e, err
}

func readPending(value []byte) (*pendingCall, error) {
	p := &pendingCall{value: value}
	return p, json.Unmarshal(value, p)
}

// placeOf returns the key of a call: its tool, and its arguments in the form that a person sees.
func (s *serving) placeOf(tool string, args journal.Hash) state.Place {
	return state.Place{Kind: state.Waiting, Owner: s.x.Owner, Hash: state.HashOf([]byte(s.to.Route.Name), []byte(tool), []byte(args))}
}

// place returns the key of a call from the model.
func (s *serving) place(c llm.Call) state.Place {
	args := c.Args
	if compiled := s.set.Schema(c.Name); compiled != nil {
		if checked := compiled.Check(args); checked.Valid() {
			args = checked.Args
		}
	}
	return s.placeOf(c.Name, journal.ParamsHash(args))
}

// given identifies the request that gets a result. A different request that sends the same call wants it to run again.
func (s *serving) given() string {
	if s.x.repeat == nil {
		return s.x.ID
	}
	return fmt.Sprintf("%x", s.x.repeat.Key.Hash)
}

// recallPending looks up which of the calls wait or were decided.
func (s *serving) recallPending(calls []llm.Call) error {
	if s.tools.Approvals == nil || s.x.Store.Empty(state.Waiting) {
		return nil
	}
	places := make([]state.Hash, len(calls))
	for i, c := range calls {
		places[i] = s.place(c).Hash
	}
	found, err := s.x.Store.Get(s.x.Context(), state.Waiting, s.x.Owner, places...)
	switch {
	case err != nil && s.x.Context().Err() != nil:
		return clientio.ErrGone
	case err != nil:
		return &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: retryAfter,
			Err: errors.New("it cannot be found out now which calls wait for a person; ask again later")}
	}
	for hash, values := range found {
		if old := s.pending[hash]; old != nil && old.was != nil {
			continue // the entry in memory is newer
		}
		if p, err := readPending(values[0]); err == nil {
			s.remind(hash, p)
		}
	}
	return nil
}

// remind records the entry of a waiting or decided call for this request.
func (s *serving) remind(at state.Hash, p *pendingCall) {
	if s.pending == nil {
		s.pending = make(map[state.Hash]*pendingCall)
	}
	s.pending[at] = p
}

// claimCall makes a call of the request wait. If an equal call waits already, also at another gateway, it returns an
// error and records that call.
func (s *serving) claimCall(q invoke.Question, until time.Time) error {
	i := slices.IndexFunc(s.calls, func(c llm.Call) bool { return c.ID == q.CallID })
	if i < 0 {
		return errors.New("it is no call of this answer")
	}
	at := s.placeOf(q.Tool, q.ParamsHash)
	var mine []byte
	if old := s.pending[at.Hash]; old != nil && !old.Over.IsZero() {
		mine = old.value
	}
	p := &pendingCall{Run: s.x.ID, Call: s.calls[i], Route: s.to.Route.Name, Until: until}
	e, err := p.kept(at)
	if err != nil {
		return err
	}
	held, err := s.x.Store.Claim(s.x.Detached(), e, mine)
	switch {
	case errors.Is(err, state.ErrFull):
		return errors.New("too many calls wait for a person already")
	case errors.Is(err, state.ErrTooLarge):
		return errors.New("its arguments are too long for a call that waits")
	case err != nil:
		return errors.New("it cannot be kept that the call waits")
	}
	p.value = e.Value
	if bytes.Equal(held, e.Value) {
		s.remind(at.Hash, p)
		return nil
	}
	if p, err = readPending(held); err != nil {
		return err
	}
	s.remind(at.Hash, p)
	if s.same == nil {
		s.same = make(map[string]*pendingCall)
	}
	s.same[q.CallID] = p
	return fmt.Errorf("the same call waits already, as %s of %s", p.Call.ID, p.Run)
}

// waits records that a call waits for a person, and tells the model and the client.
func (s *serving) waits(c llm.Call, q invoke.Question) (llm.Result, error) {
	s.waited = true
	s.x.Metrics.HostedCalls.Add(1, s.to.Route.Name, "waiting")
	attrs := []slog.Attr{slog.String("id", s.x.ID), slog.String("call", c.ID), slog.String("tool", c.Name), slog.String("route", s.to.Route.Name),
		slog.String("approval", waitingID(&pendingCall{Run: s.x.ID, Call: c})), slog.Time("until", q.Until)}
	s.x.settings.Log.LogAttrs(s.x.Context(), slog.LevelWarn, "a call waits for a person", append(attrs, s.x.LogAttrs()...)...)
	return s.waiting(c, s.x.ID, c.ID, q.Until)
}

// waiting returns the result that tells the model about a waiting call. It also warns the client.
func (s *serving) waiting(c llm.Call, run, id string, until time.Time) (llm.Result, error) {
	if s.x.repeat != nil {
		s.x.repeat.Waits = true
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

// decided returns the result of a call that waited before, or false for a new call. An approved call runs now, once,
// and is recorded in the request that asked for approval.
func (s *serving) decided(c llm.Call) (llm.Result, bool, error) {
	if s.tools.Approvals == nil {
		return llm.Result{}, false, nil
	}
	at := s.place(c)
	p := s.pending[at.Hash]
	switch {
	case p == nil, !p.Over.IsZero() && p.Given != s.given(): // another request wants the call to run again: a new question
		return llm.Result{}, false, nil
	case !p.Over.IsZero():
		r, err := s.again(c, p)
		return r, true, err
	case p.Run == s.x.ID:
		r, err := s.waiting(c, p.Run, p.Call.ID, p.Until)
		return r, true, err
	}
	was, err := s.resume(p)
	var held *journal.HeldError
	switch {
	case errors.As(err, &held), err == nil && was.waits():
		r, err := s.waiting(c, p.Run, p.Call.ID, p.Until)
		return r, true, err
	case err != nil:
		return llm.Result{}, true, s.broken(err)
	case was.begun:
		s.toldEnding(p.Call, &journal.Receipt{Status: journal.Unknown, Reason: "it is not run again"}, p.Run)
		return failedResult(c, fmt.Sprintf("The call was approved and begun (%s of %s), and nobody knows how it ended, so it is not run again. Ask the user to look.", p.Call.ID, p.Run)), true, nil
	}
	p.Over, p.Given, p.was = time.Now().UTC(), s.given(), &was
	newer := s.settlePending(at, p)
	switch {
	case was.now:
		result := *was.result
		result.CallID = c.ID
		return result, true, nil
	case newer != nil: // another request got the result since, and a third may have asked again
		s.remind(at.Hash, newer)
		return s.decided(c)
	}
	r, err := s.again(c, p) // for a request that never got its answer
	return r, true, err
}

// settlePending stores that a call is over. If the entry was changed since it was read, it returns the newer one. If it
// cannot be stored, the record still has the outcome.
func (s *serving) settlePending(at state.Place, p *pendingCall) (newer *pendingCall) {
	e, err := p.kept(at)
	if err != nil {
		return nil
	}
	held, err := s.x.Store.Claim(s.x.Detached(), e, p.value)
	if err != nil {
		s.pend = append(s.pend, conversation.Unavailable(state.Waiting))
		return nil
	}
	if p.value = e.Value; bytes.Equal(held, e.Value) {
		return nil
	}
	newer, err = readPending(held)
	if err != nil {
		return nil // written by another version
	}
	return newer
}

// again returns the result of an earlier call. The model and the client are told that it did not run now.
func (s *serving) again(c llm.Call, p *pendingCall) (llm.Result, error) {
	if p.was == nil {
		was, err := s.recorded(p)
		if err != nil {
			return llm.Result{}, s.broken(err)
		}
		p.was = &was
	}
	out := failedResult(c, "Its record has no result.")
	if p.was.result != nil {
		out = *p.was.result
		out.CallID = c.ID
	}
	if p.was.receipt != nil {
		if s.toldEnding(p.Call, p.was.receipt, p.Run); p.was.receipt.Status == journal.Refused {
			return out, nil
		}
	}
	when := p.Over.Format(time.RFC3339)
	note := fmt.Sprintf("This call was made before, as %s of %s, and was over at %s. It is not run again. Its result then:", p.Call.ID, p.Run, when)
	out.Parts = append([]llm.Part{llm.Text{Text: note}}, out.Parts...)
	s.pend = append(s.pend, llm.Warning{Code: llm.Degraded, Feature: c.Name, Detail: fmt.Sprintf("the result is that of the call %s of %s, which was over at %s; it was not run again", p.Call.ID, p.Run, when)})
	return out, nil
}

// recordedCall is the state of a waiting call according to its record.
type recordedCall struct {
	entries int
	begun   bool             // it may have changed something, and its outcome is unknown
	receipt *journal.Receipt // nil if it is not over
	open    map[string]bool  // unfinished calls with a question
	result  *llm.Result
	now     bool // it ended during this request
}

// waits reports whether the call has not run and was not decided.
func (r *recordedCall) waits() bool { return !r.begun && r.receipt == nil }

// take reads one entry of the record.
func (r *recordedCall) take(e journal.Entry, call string) error {
	r.entries++
	switch e.Kind {
	case journal.KindQuestion:
		var q journal.Question
		if err := e.Decode(&q); err != nil {
			return err
		}
		if r.open == nil {
			r.open = make(map[string]bool)
		}
		r.open[q.Call] = true
		if q.Call == call {
			r.begun = false // a tool that asks has not changed anything yet
		}
	case journal.KindIntent:
		var i journal.Intent
		if err := e.Decode(&i); err != nil {
			return err
		}
		r.begun = r.begun || i.Call == call
	case journal.KindReceipt, journal.KindRefusal:
		var receipt journal.Receipt
		if err := e.Decode(&receipt); err != nil {
			return err
		}
		delete(r.open, receipt.Call)
		if receipt.Call == call {
			r.begun, r.receipt, r.result = false, &receipt, receipt.Result
		}
	}
	return nil
}

// recorded reads the state of a waiting call from its record.
func (s *serving) recorded(p *pendingCall) (recordedCall, error) {
	var was recordedCall
	for e, err := range journal.Whole(s.tools.Approvals.Store.Read(s.x.Context(), p.Run, 0)) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err == nil {
			err = was.take(e, p.Call.ID)
		}
		if err != nil {
			return was, err
		}
	}
	if was.entries == 0 {
		s.x.settings.Log.Error("a call waits whose record is not here: gateways that share what they remember have to share the records too", "run", p.Run, "call", p.Call.ID)
	}
	return was, nil
}

// resume continues a waiting call in the record that has its question.
func (s *serving) resume(p *pendingCall) (was recordedCall, err error) {
	if was, err = s.recorded(p); err != nil || was.entries == 0 || was.receipt != nil {
		return was, err
	}
	store := s.tools.Approvals.Store
	ctx := s.x.Context()
	rec, err := journal.Open(ctx, store, p.Run)
	if errors.Is(err, journal.ErrSealed) { // sealed since it was read
		return s.recorded(p)
	}
	if err != nil {
		return was, err
	}
	after := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, rec.Close(after)) }()
	session, err := s.runner.Session(rec)
	if err != nil {
		return was, err
	}
	session.Model, session.Turn = s.to.ID, 1
	was = recordedCall{}
	for e, err := range journal.Whole(store.Read(ctx, p.Run, 0)) {
		if err == nil {
			err = errors.Join(was.take(e, p.Call.ID), session.Recall(e))
		}
		if err != nil {
			return was, err
		}
	}
	if was.begun || was.receipt != nil {
		return was, nil
	}
	if err = s.runPending(session, p, &was); err != nil || was.waits() {
		return was, err
	}
	delete(was.open, p.Call.ID)
	if len(was.open) == 0 { // the record stays open while other calls need it
		_, err = rec.Seal(after)
	}
	return was, err
}

// runPending runs a waiting call if a person has approved it.
func (s *serving) runPending(session *invoke.Session, p *pendingCall, was *recordedCall) error {
	for ev, err := range session.Do(context.WithValue(s.x.Context(), askerKey{}, asker{s, p}), []llm.Call{p.Call}) {
		if err != nil {
			return err
		}
		switch ev := ev.(type) {
		case invoke.Outcome:
			clean := s.redact(ev.Result)
			was.receipt, was.result, was.now = &ev.Receipt, &clean, true
			s.ended(p.Call, &ev.Receipt, p.Run)
		default:
			if err := s.tell(ev); err != nil {
				return err
			}
		}
	}
	return nil
}
