package hosttools

import (
	"context"
	"errors"
	"io/fs"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

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
