package hosttools

import (
	"context"
	"errors"
	"slices"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/gateway/internal/conversation"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// execution runs the calls of the gateway's tools in a request.
type execution struct {
	*request
	offer   *offer
	reports *reports
	waiting *waitingCalls
	session *invoke.Session
	rec     *journal.Recorder
	stopped string // why no more calls run
}

// do returns the results of calls in order. It runs only the calls without a known result.
func (e *execution) do(calls []llm.Call) ([]llm.Result, error) {
	if err := e.waiting.recall(calls); err != nil {
		return nil, err
	}
	results := make([]llm.Result, len(calls))
	var fresh []llm.Call // calls that must be run
	var at []int
	for i, c := range calls {
		r, known, err := e.answered(c)
		switch {
		case err != nil:
			return nil, err
		case known:
			results[i] = r
		default:
			fresh, at = append(fresh, c), append(at, i)
		}
	}
	if len(fresh) == 0 {
		return results, nil
	}
	given, err := e.execute(fresh)
	for k, r := range given {
		results[at[k]] = r
	}
	return results, err
}

// answered returns the result of a call that must not run: the client's key may not use the tool, or the call waited
// for a person before.
func (e *execution) answered(c llm.Call) (llm.Result, bool, error) {
	if _, ok := e.offer.set.Lookup(c.Name); !ok && e.offer.withheld(c.Name) {
		e.reports.notRun(c, "there is no such tool here")
		return failedResult(c, "The call was not run: there is no such tool here."), true, nil
	}
	return e.waiting.decided(c)
}

// execute runs calls and returns their results in order.
func (e *execution) execute(calls []llm.Call) ([]llm.Result, error) {
	if err := e.claimRun(calls); err != nil {
		return nil, err
	}
	if err := e.begin(); err != nil {
		return nil, err
	}
	e.session.Turn++
	e.session.Also(e.offer.finder())
	results := make([]llm.Result, len(calls))
	known := make([]bool, len(calls)) // by index: the call has a result
	e.waiting.calls = calls
	for ev, err := range e.session.Do(context.WithValue(e.Context(), askerKey{}, asker{w: e.waiting}), calls) {
		if err != nil {
			return nil, e.broken(err)
		}
		switch ev := ev.(type) {
		case invoke.Outcome:
			results[ev.Index], known[ev.Index] = e.redact(ev.Result), true
			if e.waiting.same[ev.Call.ID] == nil {
				e.reports.ended(ev.Call, &ev.Receipt, e.ID)
			}
			if ev.Call.Name == tool.FinderName && !ev.Result.Failed {
				e.offer.find(ev.Call)
			}
		case invoke.Intended:
			e.intends()
		case invoke.Waiting:
			i := slices.IndexFunc(calls, func(c llm.Call) bool { return c.ID == ev.CallID })
			known[i] = true
			if results[i], err = e.waiting.waits(calls[i], ev.Question); err != nil {
				return nil, err
			}
		case invoke.Stopped:
			e.stopped = ev.Reason
		default:
			if err := e.reports.tell(ev); err != nil {
				return nil, err
			}
		}
	}
	if e.Context().Err() != nil {
		return nil, clientio.ErrGone
	}
	for i, c := range calls {
		if !known[i] {
			results[i] = e.left(c)
		}
	}
	return results, e.sameWaits(calls, results)
}

// left returns the result of a call that was not run.
func (e *execution) left(c llm.Call) llm.Result {
	if e.tools.Approvals == nil {
		e.reports.notRun(c, "somebody would have to agree to it, and nobody can be asked here")
		return failedResult(c, "The call was not run: somebody would have to agree to it, and nobody can be asked here.")
	}
	e.reports.notRun(c, "another call of the same answer awaits a person's approval")
	return failedResult(c, "The call was not run, because another call of the same answer awaits a person's approval. Send it again by itself.")
}

// sameWaits sets the results of calls for which an equal call waits already.
func (e *execution) sameWaits(calls []llm.Call, results []llm.Result) (err error) {
	for i, c := range calls {
		if p := e.waiting.same[c.ID]; p != nil && err == nil {
			results[i], err = e.waiting.waiting(c, p.Run, p.Call.ID, p.Until)
		}
	}
	return err
}

// intends records that a tool may change something from now on.
func (e *execution) intends() {
	if e.idempotency != nil {
		e.idempotency.Changed = true
	}
}

// begin opens the session and the record of the request at the first call.
func (e *execution) begin() error {
	if e.session != nil {
		return nil
	}
	var err error
	if e.tools.Record != nil {
		if e.rec, err = e.tools.Record(e.Context(), Run{ID: e.ID, Team: e.Owner, Route: e.to.Route.Name}); err != nil {
			return e.broken(err)
		}
	}
	if e.session, err = e.runner.Session(e.rec); err != nil {
		return e.broken(err)
	}
	e.session.Model = e.to.ID
	return nil
}

// end closes the record, once. It seals the record if the request succeeded and no call waits for a person.
func (e *execution) end(failed error) {
	if e.rec == nil {
		return
	}
	ctx := context.WithoutCancel(e.Context()) // also write if the client is gone
	var err error
	if failed == nil && !e.waiting.asked {
		_, err = e.rec.Seal(ctx)
	}
	err = errors.Join(err, e.rec.Close(ctx))
	e.rec = nil
	if err != nil {
		e.Log.Error("the record of a request", "id", e.ID, "error", err.Error()) // the client has its answer
	}
}

// claimRun claims the request before calls that may change something. Of two equal concurrent requests, one is refused.
func (e *execution) claimRun(calls []llm.Call) error {
	changes := slices.ContainsFunc(calls, func(c llm.Call) bool {
		t, ok := e.offer.set.Lookup(c.Name)
		return ok && !t.Effects.Has(tool.ReadOnly)
	})
	if !changes || e.idempotency == nil {
		return nil
	}
	found, err := e.idempotency.Claim(conversation.OpenRunLife)
	switch {
	case err != nil:
		return conversation.ErrUnknownState()
	case found != nil:
		return e.ErrInProgress(found.Run)
	}
	return nil
}
