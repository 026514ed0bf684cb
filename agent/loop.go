package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
)

// walk takes turns until the run is over, and yields its events.
func (l *loop) walk(ctx context.Context, yield func(llm.Event, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.events = eventSink{yield: yield, cancel: cancel}
	defer l.record.close(ctx) // also if the reader panics
	ctx, seen := observing.BeginRun(ctx, l.seen)
	err := l.catchHooks(ctx, l.turns)
	err = l.end(ctx, err)
	if cerr := l.record.close(ctx); err == nil {
		err = cerr
	}
	if seen != nil {
		seen.Model, seen.Status, seen.Turns, seen.Calls, seen.Usage = l.turn.model, string(l.done.Status), l.done.Turns, l.done.Ran, l.done.Usage
		observing.End(ctx, seen, err)
	}
	if l.emit(l.done) && err != nil {
		yield(nil, err)
	}
}

// turns finishes what an earlier process left undone, and then takes turns.
func (l *loop) turns(ctx context.Context) error {
	l.announceTools()
	if err := l.reportInput(ctx); err != nil {
		return err
	}
	if over, err := l.finishCalls(ctx); over || err != nil {
		return err
	}
	for {
		more, err := l.newMessages(ctx)
		switch {
		case err != nil:
			return err
		case len(more) > 0:
		case l.left.stopped != "":
			l.done.Stopped = l.left.stopped
			return nil
		case l.left.over != nil:
			return l.closeFinished(ctx)
		}
		l.left.stopped, l.left.over = "", nil
		for _, m := range more {
			l.messages = append(l.messages, m)
			if err := l.write(ctx, kindNote, noteEntry{Message: m, Why: whyResumed}); err != nil {
				return err
			}
		}
		over, err := l.takeTurn(ctx)
		if over || err != nil {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// announceTools reports which tools the model is told about, and which tools are missing.
func (l *loop) announceTools() {
	if len(l.Caller) > 0 && len(l.tools.Defs) > 0 {
		missing := make([]string, len(l.Caller))
		for i, d := range l.Caller {
			missing[i] = d.Name
		}
		l.emit(llm.Warning{Code: llm.Compatibility, Feature: "toolExecutors.partial", Detail: "toolExecutors is missing handlers for: " +
			strings.Join(missing, ", ") + ". Falling back to AI SDK tool loop with maxTurns=1."})
	}
	for _, c := range l.tools.Chosen {
		l.emit(c)
	}
	if w, ok := l.tools.droppedWarning(); ok {
		l.emit(w)
	}
}

// finishCalls runs the calls that an earlier process left without a result. It reports
// whether the run is over.
func (l *loop) finishCalls(ctx context.Context) (over bool, err error) {
	calls := l.pending()
	if len(calls)+len(l.left.invalid) == 0 || !l.left.resumed {
		return false, nil
	}
	if l.callerRuns {
		return l.handOver(ctx, calls)
	}
	if err := l.mayRun(ctx, calls); err != nil {
		return true, err
	}
	if err := l.runCalls(ctx, calls, l.left.invalid); err != nil {
		return true, err
	}
	return l.afterTurn(ctx, false)
}

// newMessages returns the messages to add to the conversation before the next turn.
func (l *loop) newMessages(ctx context.Context) ([]llm.Message, error) {
	return decide(ctx, l.effects, l.decision(kindNote), func() ([]llm.Message, error) {
		more := l.left.added
		l.left.added = nil
		return more, nil
	})
}

// closeFinished ends a run whose answer an earlier process recorded without closing the run.
func (l *loop) closeFinished(ctx context.Context) error {
	l.done.Turns, l.done.Finish = l.turn.n, *l.left.over
	l.done.Text = l.messages[len(l.messages)-1].Text()
	if l.template.Output != nil {
		l.done.Value = json.RawMessage(l.done.Text)
	}
	_, err := l.afterTurn(ctx, true)
	return err
}

// takeTurn asks the model until it gives a usable answer, and runs the calls of the answer.
// It reports whether the run is over.
func (l *loop) takeTurn(ctx context.Context) (over bool, err error) {
	if err := l.exhausted(ctx, l.turn.n); err != nil {
		return true, err
	}
	l.turn.n++
	final := l.turn.n > l.Limits.MaxTurns
	ctx, l.turn.observed = observing.BeginTurn(ctx, observe.Turn{Run: l.id, N: l.turn.n, Last: final})
	if seen := l.turn.observed; seen != nil {
		defer func() {
			seen.Model = l.turn.model
			if errors.Is(err, errWaiting) { // not a failure
				observing.End(ctx, seen, nil)
			} else {
				observing.End(ctx, seen, err)
			}
		}()
	}
	l.done.Turns = l.turn.n
	if final && l.Limits.NoLastTurn {
		return true, fmt.Errorf("agent: Agentic loop exceeded maximum iterations (%d)", l.Limits.MaxTurns)
	}
	if err := l.setUpTurn(ctx); err != nil {
		return true, err
	}
	if !l.emit(Turn{N: l.turn.n, Max: l.Limits.MaxTurns, Model: l.turn.model, Last: final}) {
		return true, context.Canceled
	}
	if final {
		l.emit(llm.Warning{Code: llm.Degraded, Feature: "tools", Detail: fmt.Sprintf("%d turns are used up; the model is asked for an answer without tools", l.Limits.MaxTurns)})
	}
	h, err := l.answer(ctx, final)
	if err != nil {
		return true, err
	}
	if over, err = l.accept(ctx, h, final); err != nil {
		return over, err
	}
	return l.afterTurn(ctx, over)
}

// setUpTurn decides which tools, settings and model a turn has.
func (l *loop) setUpTurn(ctx context.Context) error {
	if err := l.offerFound(ctx); err != nil {
		return err
	}
	l.resetTurn()
	if l.plans { // the hook gets a conversation that fits
		if err := l.fit(ctx, false); err != nil {
			return err
		}
	}
	if err := l.plan(ctx); err != nil {
		return err
	}
	m, id := l.turnModel()
	if !l.escalation.raised {
		if id != l.turn.model && l.turn.n > 1 {
			if err := l.switchTo(ctx, m, id, "the route of the turn"); err != nil {
				return err
			}
		}
		l.turn.model = id
	}
	return l.spending.affordable(m, id)
}

// accept adds an answer to the conversation and runs its calls.
func (l *loop) accept(ctx context.Context, h *modelAnswer, final bool) (over bool, err error) {
	l.done.Text, l.done.Finish = h.message.Text(), h.finish
	l.refuseForbidden(h)
	h.over = len(h.calls)+len(h.invalid) == 0
	if err := l.keep(ctx, h, &l.turn); err != nil {
		return true, err
	}
	switch {
	case h.over:
		if l.turn.settings.Output != nil {
			l.done.Value = json.RawMessage(l.done.Text)
		}
		return true, nil
	case final:
		l.closeCalls("the turns are used up; it was not run")
		l.done.Partial = true
		return true, fmt.Errorf("agent: the model went on calling tools after %d turns", l.Limits.MaxTurns)
	case l.callerRuns:
		l.done.Calls, l.done.Invalid = h.calls, h.invalid
		l.sortOut()
		return true, nil
	}
	l.choice = afterCall(l.choice)
	if err := l.mayRun(ctx, h.calls); err != nil {
		return true, err
	}
	return false, l.runCalls(ctx, h.calls, h.invalid)
}

// mayRun returns the error of a run whose answer used up its budget. The calls of that answer
// do not run, unless the run is resumed with a larger budget.
func (l *loop) mayRun(ctx context.Context, calls []llm.Call) error {
	d := l.decision(journal.KindReceipt)
	d.calls = calls
	// Earlier versions ran these calls.
	ran, err := decide(ctx, l.effects, d, func() (bool, error) { return false, nil })
	if ran || err != nil {
		return err
	}
	err = l.exhausted(ctx, l.turn.n)
	if err != nil {
		l.closeCalls("the budget of the run is used up; it was not run")
	}
	return err
}

// refuseForbidden moves the calls of tools that the turn does not offer, or that its choice
// does not allow, to the invalid calls.
func (l *loop) refuseForbidden(h *modelAnswer) {
	allowed := llm.ToolChoice{Allowed: l.turn.settings.Choice.Allowed}
	h.calls = slices.DeleteFunc(h.calls, func(c llm.Call) bool {
		problem := "%s is not offered in this turn"
		switch {
		case l.turn.narrowed && !l.turn.offers(c.Name):
		case allowed.Allowed != nil && l.turn.offers(c.Name) && !allowed.Permits(c.Name): // other calls have a more exact refusal
			problem = "%s may not be called in this turn; no tool may"
			if len(allowed.Allowed) > 0 {
				problem = "%s may not be called in this turn; these may: " + firstNames(allowed.Allowed)
			}
		default:
			return false
		}
		h.invalid = append(h.invalid, llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.NotAllowed,
			Problem: fmt.Sprintf(problem, c.Name), Provenance: c.Provenance})
		return true
	})
}

// end closes the run. A success and a deliberate end are sealed. Any other run stays open, and
// can be resumed.
func (l *loop) end(ctx context.Context, err error) error {
	l.done.Status = statusOf(ctx, err)
	if err != nil {
		l.closeCalls(unanswered[l.done.Status])
		l.done.Partial = true
		l.done.Value = l.best
	}
	l.done.Warnings = l.events.warnings
	l.done.Messages, l.done.Usage, l.done.Cost, l.done.Unpriced = l.messages, l.spending.usage, l.spending.cost(), l.spending.unpriced.Load()
	l.done.Open = err != nil && l.record.Recorder != nil && !aborted(err)
	if l.done.Status == StatusPending {
		return nil
	}
	if l.record.Recorder == nil || l.done.Open {
		return err
	}
	status := "success"
	if err != nil {
		status = "failure"
	}
	usage := l.done.Usage
	return l.record.seal(ctx, journal.End{Status: status, Summary: l.redact(l.done.Text).Cut(maxTask), Usage: &usage}, err)
}

// unanswered is the result of the calls without one after a run ended, by its status.
var unanswered = map[Status]string{
	StatusPending:     "a person has to decide about the calls of this answer first; it was not run",
	StatusInterrupted: "interrupted before it was run",
	StatusFailed:      "interrupted before it was run",
}

// statusOf is the status of a run that ended with err.
func statusOf(ctx context.Context, err error) Status {
	switch {
	case err == nil:
		return StatusFinished
	case errors.Is(err, errWaiting):
		return StatusPending
	case ctx.Err() != nil:
		return StatusInterrupted
	}
	return StatusFailed
}
