package hosttools

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
	"github.com/toolpost/toolpost/gateway/internal/upstream"
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

// asker identifies the request that asks, in the context of a call.
type asker struct {
	w *waitingCalls
	p *pendingCall // the waiting call to continue; nil for a new call
}

type askerKey struct{}

// ask makes a call wait, unless an equal call waits already. There is one question for equal calls.
func (a *Approvals) ask(ctx context.Context, q invoke.Question) (journal.Approval, error) {
	by, ok := ctx.Value(askerKey{}).(asker)
	switch {
	case !ok:
		return journal.Approval{}, errors.New("nobody can be asked here")
	case q.Held: // its tool has begun, and to wait would mean to call it again
		return q.Answer(false, "gateway", "no person can answer a tool while a request is open"), nil
	}
	life := a.For
	if life == 0 {
		life = defaultApproval
	}
	until := time.Now().Add(life).UTC()
	if p := by.p; p != nil {
		if time.Now().After(p.Until) { // it was approved in time, for something else than would run now
			p.Until = until
			by.w.settle(by.w.placeOf(q.Tool, q.ParamsHash), p)
		}
		return journal.Approval{}, &invoke.PendingError{Until: p.Until}
	}
	if err := by.w.claim(q, until); err != nil {
		return journal.Approval{}, err
	}
	return journal.Approval{}, &invoke.PendingError{Until: until}
}

// waitingCalls are the calls of a request that wait for a person, or waited.
type waitingCalls struct {
	*request
	offer   *offer
	reports *reports
	calls   []llm.Call                  // calls that are running
	pending map[state.Hash]*pendingCall // calls that wait or waited
	same    map[string]*pendingCall     // by id of calls that equal a waiting one
	asked   bool                        // a call of the request waits for a person
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
func (w *waitingCalls) placeOf(tool string, args journal.Hash) state.Place {
	return conversation.ForWaitingCall.Key(w.Owner, []byte(w.to.Route.Name), []byte(tool), []byte(args))
}

// place returns the key of a call from the model.
func (w *waitingCalls) place(c llm.Call) state.Place {
	args := c.Args
	if compiled := w.offer.set.Schema(c.Name); compiled != nil {
		if checked := compiled.Check(args); checked.Valid() {
			args = checked.Args
		}
	}
	return w.placeOf(c.Name, journal.ParamsHash(args))
}

// given identifies the request that gets a result. A different request that sends the same call wants it to run again.
func (w *waitingCalls) given() string {
	if w.idempotency == nil {
		return w.ID
	}
	return fmt.Sprintf("%x", w.idempotency.Key.Hash)
}

// recall looks up which of the calls wait or were decided.
func (w *waitingCalls) recall(calls []llm.Call) error {
	if w.tools.Approvals == nil || w.Store.Empty(state.Waiting) {
		return nil
	}
	places := make([]state.Hash, len(calls))
	for i, c := range calls {
		places[i] = w.place(c).Hash
	}
	found, err := w.Store.Get(w.Context(), state.Waiting, w.Owner, places...)
	switch {
	case err != nil && w.Context().Err() != nil:
		return clientio.ErrGone
	case err != nil:
		return &llm.Error{Op: "gateway", Kind: llm.Overloaded, Status: http.StatusServiceUnavailable, RetryAfter: upstream.RetryAfter,
			Err: errors.New("the state store failed, so waiting calls cannot be listed; retry later")}
	}
	for hash, values := range found {
		if old := w.pending[hash]; old != nil && old.was != nil {
			continue // the entry in memory is newer
		}
		if p, err := readPending(values[0]); err == nil {
			w.remind(hash, p)
		}
	}
	return nil
}

// remind records the entry of a waiting or decided call for this request.
func (w *waitingCalls) remind(at state.Hash, p *pendingCall) {
	if w.pending == nil {
		w.pending = make(map[state.Hash]*pendingCall)
	}
	w.pending[at] = p
}

// claim makes a call of the request wait. If an equal call waits already, also at another gateway, it returns an
// error and records that call.
func (w *waitingCalls) claim(q invoke.Question, until time.Time) error {
	i := slices.IndexFunc(w.calls, func(c llm.Call) bool { return c.ID == q.CallID })
	if i < 0 {
		return errors.New("it is not a call of this answer")
	}
	at := w.placeOf(q.Tool, q.ParamsHash)
	var mine []byte
	if old := w.pending[at.Hash]; old != nil && !old.Over.IsZero() {
		mine = old.value
	}
	p := &pendingCall{Run: w.ID, Call: w.calls[i], Route: w.to.Route.Name, Until: until}
	e, err := p.kept(at)
	if err != nil {
		return err
	}
	held, err := w.Store.Claim(w.Detached(), e, mine)
	switch {
	case errors.Is(err, state.ErrFull):
		return errors.New("too many calls wait for a person already")
	case errors.Is(err, state.ErrTooLarge):
		return errors.New("its arguments are too long for a call that waits")
	case err != nil:
		return errors.New("the state store failed, so the call cannot wait")
	}
	p.value = e.Value
	if bytes.Equal(held, e.Value) {
		w.remind(at.Hash, p)
		return nil
	}
	if p, err = readPending(held); err != nil {
		return err
	}
	w.remind(at.Hash, p)
	if w.same == nil {
		w.same = make(map[string]*pendingCall)
	}
	w.same[q.CallID] = p
	return fmt.Errorf("the same call waits already, as %s of %s", p.Call.ID, p.Run)
}

// waits records that a call waits for a person, and tells the model and the client.
func (w *waitingCalls) waits(c llm.Call, q invoke.Question) (llm.Result, error) {
	w.asked = true
	w.Metrics.HostedCalls.Add(1, w.to.Route.Name, "waiting")
	attrs := []slog.Attr{slog.String("id", w.ID), slog.String("call", c.ID), slog.String("tool", c.Name), slog.String("route", w.to.Route.Name),
		slog.String("approval", waitingID(&pendingCall{Run: w.ID, Call: c})), slog.String("runs", q.Runs), slog.String("changed", q.Changed), slog.Time("until", q.Until)}
	w.Log.LogAttrs(w.Context(), slog.LevelWarn, "a call waits for a person", append(attrs, w.LogAttrs()...)...)
	return w.waiting(c, w.ID, c.ID, q.Until)
}

// waiting returns the result that tells the model about a waiting call. It also warns the client.
func (w *waitingCalls) waiting(c llm.Call, run, id string, until time.Time) (llm.Result, error) {
	if w.idempotency != nil {
		w.idempotency.Waits = true
	}
	when := until.UTC().Format(time.RFC3339)
	w.reports.queue = append(w.reports.queue, llm.Warning{Code: llm.Degraded, Feature: c.Name, Detail: fmt.Sprintf("the call %s of %s awaits a person's approval until %s", id, run, when)})
	err := w.reports.progress(Progress{Type: "waiting", CallID: id, Tool: c.Name, Message: "awaits a person's approval until " + when, Run: run})
	return failedResult(c, fmt.Sprintf("The call was not run: it awaits a person's approval until %s, as %s of %s. Tell the user so, with these ids, and do not send it again now. "+
		"Once it is approved, the same call with the same arguments gives its result.", when, id, run)), err
}

func failedResult(c llm.Call, text string) llm.Result {
	return llm.Result{CallID: c.ID, Name: c.Name, Failed: true, Parts: []llm.Part{llm.Text{Text: text}}}
}

// decided returns the result of a call that waited before, or false for a new call. An approved call runs now, once,
// and is recorded in the request that asked for approval.
func (w *waitingCalls) decided(c llm.Call) (llm.Result, bool, error) {
	if w.tools.Approvals == nil {
		return llm.Result{}, false, nil
	}
	at := w.place(c)
	p := w.pending[at.Hash]
	switch {
	case p == nil, !p.Over.IsZero() && p.Given != w.given(): // another request wants the call to run again: a new question
		return llm.Result{}, false, nil
	case !p.Over.IsZero():
		r, err := w.again(c, p)
		return r, true, err
	case p.Run == w.ID:
		r, err := w.waiting(c, p.Run, p.Call.ID, p.Until)
		return r, true, err
	}
	was, err := w.resume(p)
	var held *journal.HeldError
	switch {
	case errors.As(err, &held), err == nil && was.waits():
		r, err := w.waiting(c, p.Run, p.Call.ID, p.Until)
		return r, true, err
	case err != nil:
		return llm.Result{}, true, w.broken(err)
	case was.begun:
		w.reports.warnEnding(p.Call, &journal.Receipt{Status: journal.Unknown, Reason: "it is not run again"}, p.Run)
		return failedResult(c, fmt.Sprintf("The call was approved and begun (%s of %s), and nobody knows how it ended, so it is not run again. Ask the user to look.", p.Call.ID, p.Run)), true, nil
	}
	p.Over, p.Given, p.was = time.Now().UTC(), w.given(), &was
	newer := w.settle(at, p)
	switch {
	case was.now:
		result := *was.result
		result.CallID = c.ID
		return result, true, nil
	case newer != nil: // another request got the result since, and a third may have asked again
		w.remind(at.Hash, newer)
		return w.decided(c)
	}
	r, err := w.again(c, p) // for a request that never got its answer
	return r, true, err
}

// settle stores that a call is over. If the entry was changed since it was read, it returns the newer one. If it
// cannot be stored, the record still has the outcome.
func (w *waitingCalls) settle(at state.Place, p *pendingCall) (newer *pendingCall) {
	e, err := p.kept(at)
	if err != nil {
		return nil
	}
	held, err := w.Store.Claim(w.Detached(), e, p.value)
	if err != nil {
		w.reports.queue = append(w.reports.queue, conversation.Unavailable(state.Waiting))
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
func (w *waitingCalls) again(c llm.Call, p *pendingCall) (llm.Result, error) {
	if p.was == nil {
		was, err := w.recorded(p)
		if err != nil {
			return llm.Result{}, w.broken(err)
		}
		p.was = &was
	}
	out := failedResult(c, "Its record has no result.")
	if p.was.result != nil {
		out = *p.was.result
		out.CallID = c.ID
	}
	if p.was.receipt != nil {
		if w.reports.warnEnding(p.Call, p.was.receipt, p.Run); p.was.receipt.Status == journal.Refused {
			return out, nil
		}
	}
	when := p.Over.Format(time.RFC3339)
	note := fmt.Sprintf("This call was made before, as %s of %s, and was over at %s. It is not run again. Its result then:", p.Call.ID, p.Run, when)
	out.Parts = append([]llm.Part{llm.Text{Text: note}}, out.Parts...)
	w.reports.queue = append(w.reports.queue, llm.Warning{Code: llm.Degraded, Feature: c.Name, Detail: fmt.Sprintf("the result is that of the call %s of %s, which was over at %s; it was not run again", p.Call.ID, p.Run, when)})
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
		var q journal.QuestionRecord
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
func (w *waitingCalls) recorded(p *pendingCall) (recordedCall, error) {
	var was recordedCall
	for e, err := range journal.Whole(w.tools.Approvals.Store.Read(w.Context(), p.Run, 0)) {
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
		w.Log.Error("a call waits whose record is not here: gateways that share what they remember have to share the records too", "run", p.Run, "call", p.Call.ID)
	}
	return was, nil
}

// resume continues a waiting call in the record that has its question.
func (w *waitingCalls) resume(p *pendingCall) (was recordedCall, err error) {
	if was, err = w.recorded(p); err != nil || was.entries == 0 || was.receipt != nil {
		return was, err
	}
	store := w.tools.Approvals.Store
	ctx := w.Context()
	rec, err := journal.Open(ctx, store, p.Run)
	if errors.Is(err, journal.ErrSealed) { // sealed since it was read
		return w.recorded(p)
	}
	if err != nil {
		return was, err
	}
	after := context.WithoutCancel(ctx)
	defer func() { err = errors.Join(err, rec.Close(after)) }()
	session, err := w.runner.Session(rec)
	if err != nil {
		return was, err
	}
	session.Model, session.Turn = w.to.ID, 1
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
	if err = w.runPending(session, p, &was); err != nil || was.waits() {
		return was, err
	}
	delete(was.open, p.Call.ID)
	if len(was.open) == 0 { // the record stays open while other calls need it
		_, err = rec.Seal(after)
	}
	return was, err
}

// runPending runs a waiting call if a person has approved it.
func (w *waitingCalls) runPending(session *invoke.Session, p *pendingCall, was *recordedCall) error {
	for ev, err := range session.Do(context.WithValue(w.Context(), askerKey{}, asker{w, p}), []llm.Call{p.Call}) {
		if err != nil {
			return err
		}
		switch ev := ev.(type) {
		case invoke.Outcome:
			clean := w.redact(ev.Result)
			was.receipt, was.result, was.now = &ev.Receipt, &clean, true
			w.reports.ended(p.Call, &ev.Receipt, p.Run)
		default:
			if err := w.reports.tell(ev); err != nil {
				return err
			}
		}
	}
	return nil
}
