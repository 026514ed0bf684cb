package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// acting is the running of the calls of one answer.
type acting struct {
	outcomes []invoke.Outcome
	notes    []string // about calls that have no place in the conversation
	stopped  string   // why the run must not go on
	waits    bool     // for a person
}

// errWaiting ends a run that waits for a person. It is no failure.
var errWaiting = errors.New("agent: the run waits for a person")

// act runs the calls of an answer and gives the model their results.
func (l *loop) act(ctx context.Context, calls []llm.Call, invalid []llm.InvalidCall) error {
	a := new(acting)
	if l.results == nil {
		l.results = make(map[string]llm.Result)
	}
	for _, c := range invalid {
		if err := l.refuse(ctx, a, c); err != nil {
			return err
		}
	}
	l.unread = nil
	calls = slices.DeleteFunc(slices.Clone(calls), func(c llm.Call) bool { // settled before an interruption
		result, ok := l.results[c.ID]
		if rec, known := l.settled[c.ID]; known && !slices.ContainsFunc(invalid, func(i llm.InvalidCall) bool { return i.ID == c.ID }) {
			a.outcomes = append(a.outcomes, outcome(c, result, rec, 1))
		}
		return ok
	})
	l.settled = nil
	l.doubt(calls)
	if err := l.do(ctx, a, calls); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := l.judge(ctx, a); err != nil {
		return err
	}
	l.giveResults()
	if len(a.notes) > 0 {
		return l.note(ctx, string(refine.CauseValidation), strings.Join(a.notes, "\n\n"))
	}
	return nil
}

// doubt marks the calls that have an example of their tool's description where
// nobody has said a value; package invoke decides what that means for the tool.
func (l *loop) doubt(calls []llm.Call) {
	for i, c := range calls {
		at := slices.IndexFunc(l.offered, func(d llm.ToolDef) bool { return d.Name == c.Name })
		if at < 0 {
			continue
		}
		if guess, ok := emulate.CopiedExample(l.offered[at], c.Args, l.System, l.messages); ok {
			calls[i].Provenance.Repairs = append(slices.Clone(c.Provenance.Repairs), guess)
		}
	}
}

// outcome returns the outcome of a call that its receipt describes.
func outcome(c llm.Call, result llm.Result, rec journal.Receipt, attempt int) invoke.Outcome {
	o := invoke.Outcome{Call: c, Result: result, Receipt: rec}
	if f := rec.Error; f != nil {
		o.Error = &tool.Error{Code: tool.Code(f.Code), Message: f.Message, Recoverable: f.Recoverable}
		o.Attempt, o.Next = attempt, tool.Strategy(f.Strategy)
	}
	return o
}

// refuse answers a call that cannot be read, unless that was done before an
// interruption.
func (l *loop) refuse(ctx context.Context, a *acting, c llm.InvalidCall) error {
	result, known := l.results[c.ID]
	if !known {
		o, err := l.runner.Refuse(ctx, c)
		if err != nil {
			return err
		}
		if !json.Valid(o.Call.Args) { // an event has to be JSON
			o.Call.Args, _ = json.Marshal(c.Raw)
		}
		l.emit(o)
		a.outcomes = append(a.outcomes, o)
		result = o.Result
	} else if rec, ok := l.settled[c.ID]; ok {
		raw, _ := json.Marshal(c.Raw)
		a.outcomes = append(a.outcomes, outcome(llm.Call{ID: c.ID, Name: c.Name, Args: raw}, result, rec, 1))
	}
	if _, ok := asCall(c); ok {
		l.results[c.ID] = result
		return nil
	}
	text := result.Text()
	if c.Provenance.Dialect == "" && c.Raw != "" {
		text += "\nThe call began: " + l.redact(c.Raw).Cut(500)
	}
	a.notes = append(a.notes, text)
	return nil
}

// do runs calls and keeps their results.
func (l *loop) do(ctx context.Context, a *acting, calls []llm.Call) (failed error) {
	if len(calls) == 0 {
		return nil
	}
	l.settledTokens.Store(int64(l.done.Usage.Input + l.done.Usage.Output))
	before, unpriced := l.spent.Load(), l.unpriced.Load()
	defer func() {
		if spent := l.spent.Load(); (spent != before || unpriced != l.unpriced.Load()) && l.cost != nil {
			failed = errors.Join(failed, l.write(ctx, kindCost, costEntry{l.turnNo, catalog.Money(spent), l.unpriced.Load()}))
		}
	}()
	for ev, err := range l.runner.Do(context.WithValue(ctx, loopKey{}, l), calls) {
		if err != nil {
			return err
		}
		switch ev := ev.(type) {
		case invoke.Intended:
			l.intended[ev.CallID] = true
		case invoke.Outcome:
			l.count(ev)
			a.outcomes = append(a.outcomes, ev)
			l.results[ev.Call.ID] = ev.Result
		case invoke.Stopped:
			a.stopped = ev.Reason
		case invoke.Waiting:
			a.waits = true
			l.done.Waiting = append(l.done.Waiting, ev.Question)
		}
		if !l.emit(ev) {
			return context.Canceled
		}
	}
	if a.waits {
		return errWaiting
	}
	return nil
}

// count adds what a call did to the summary.
func (l *loop) count(o invoke.Outcome) {
	l.usedInside(o.Receipt.Usage)
	if o.Receipt.Status != journal.Refused {
		l.done.Ran++
	}
	l.done.Did = append(l.done.Did, o.Receipt.SideEffects...)
	if l.intended[o.Call.ID] || o.Receipt.Status == journal.Unknown {
		l.done.Unreported = unreported(l.done.Unreported, o.Receipt)
	}
}

// unreported adds the tool of a call that may have changed things, unless its
// receipt says what it changed.
func unreported(tools []string, r journal.Receipt) []string {
	if len(r.SideEffects) > 0 || r.Status == journal.Refused || slices.Contains(tools, r.Tool) {
		return tools
	}
	return append(tools, r.Tool)
}

// giveResults answers the calls of the last message, in their order.
func (l *loop) giveResults() {
	var results []llm.Result
	for _, c := range l.pending() {
		if r, ok := l.results[c.ID]; ok {
			results = append(results, r)
		}
	}
	if len(results) > 0 {
		l.messages = append(l.messages, llm.Results(results...))
	}
	l.results = nil
}

// judge decides what the outcomes of a turn mean for the run.
func (l *loop) judge(ctx context.Context, a *acting) error {
	var fault *invoke.Outcome
	progress := false
	for i, o := range a.outcomes {
		switch {
		case o.Error == nil:
			progress = true
		case o.Error.Code == tool.Validation:
			if fault == nil {
				fault = &a.outcomes[i]
			}
		case l.person != nil && hopeless(o):
			if err := l.toolFailed(ctx, o); err != nil {
				return err
			}
		}
	}
	switch {
	case a.stopped != "":
		return l.stopped(ctx, a.stopped)
	case fault != nil:
		return l.faulty(ctx, *fault)
	case progress:
		l.renew()
	default:
		l.escalate(a.outcomes)
	}
	return nil
}

// escalate asks in a stronger way after calls that ran and failed, as long as
// the budget lasts.
func (l *loop) escalate(outcomes []invoke.Outcome) {
	for _, o := range outcomes {
		if o.Error != nil && l.Ladder != nil && l.budget.Left() > 0 && l.raiseStep(o) {
			l.budget.Take()
			return
		}
	}
}

// faulty answers a model whose calls did not match their schemas: it may try
// again as long as the budget lasts.
func (l *loop) faulty(ctx context.Context, o invoke.Outcome) error {
	if l.budget.Take() {
		l.emit(Recovery{Attempt: l.budget.Used(), Max: l.Limits.Budget, Cause: refine.CauseValidation, Error: o.Error.Error()})
		l.raiseStep(o)
		return nil
	}
	point := Checkpoint{Cause: ModelFailed, Call: o.Call, Error: o.Error, Attempt: o.Attempt, Options: []Action{TryAgain, Manual, Abort}}
	choice, err := l.checkpoint(ctx, point, nil)
	switch {
	case err != nil:
		return err
	case choice.Action == TryAgain, choice.Action == Skip:
		l.renew()
		return nil
	case choice.Action == Manual:
		l.renew()
		l.giveResults()
		return l.note(ctx, whyManual, choice.Text)
	case l.person != nil:
		return &AbortedError{Err: o.Error}
	}
	return fmt.Errorf("agent: %s sent calls that cannot be run %d times in a row: %w", l.name(), l.Limits.Budget+1, o.Error)
}

// hopeless reports whether there is nothing left to try and nobody has been
// asked about the call yet.
func hopeless(o invoke.Outcome) bool {
	if o.Error.Code == tool.Cancelled || o.Receipt.Approval != nil {
		return false
	}
	return o.Next == tool.Abort || o.Attempt >= tool.MaxAttempts // what a receipt tells, too
}

// toolFailed asks how to go on after a call that failed for good, and asks again
// if it was run again and failed again.
func (l *loop) toolFailed(ctx context.Context, o invoke.Outcome) error {
	for {
		var again *invoke.Outcome
		point := Checkpoint{Cause: ToolFailed, Call: o.Call, Error: o.Error, Attempt: o.Attempt, Options: []Action{TryAgain, Skip, Manual, Abort}}
		_, err := l.checkpoint(ctx, point, func(c Choice) (result *llm.Result, err error) {
			switch c.Action {
			case TryAgain:
				again, err = l.rerun(ctx, o.Call, c.By)
				if again != nil {
					result = &again.Result
				}
			case Manual:
				result = &llm.Result{CallID: o.Call.ID, Name: o.Call.Name, Parts: []llm.Part{llm.Text{Text: c.Text}}}
			case Abort:
				err = &AbortedError{Err: o.Error}
			}
			return result, err
		})
		if err != nil || again == nil || again.Error == nil || !hopeless(*again) {
			return err
		}
		o.Error, o.Attempt = again.Error, again.Attempt
	}
}

// rerun has the runtime run a call once more, because somebody wants it to: as
// a call of its own, with its own checks and its own receipt. The result is for
// the call it repeats.
func (l *loop) rerun(ctx context.Context, c llm.Call, by string) (*invoke.Outcome, error) {
	again := c
	again.ID = l.unique("")
	if l.session != nil {
		l.session.Again(again.ID, c.ID, cmp.Or(by, "checkpoint"))
	}
	a := new(acting)
	if err := l.do(ctx, a, []llm.Call{again}); err != nil {
		return nil, err
	}
	if len(a.outcomes) != 1 {
		return nil, errors.New("agent: the call was run again and gave no result")
	}
	delete(l.results, again.ID)
	o := a.outcomes[0]
	o.Result.CallID = c.ID
	return &o, nil
}

// stopped ends a run that the runtime stopped.
func (l *loop) stopped(ctx context.Context, reason string) error {
	e := tool.Errorf(tool.Execution, "%s", reason)
	e.Recoverable, e.Strategy = false, tool.Abort
	choice, err := l.checkpoint(ctx, Checkpoint{Cause: LoopStopped, Error: e, Options: []Action{Skip, Abort}}, nil)
	if err != nil {
		return err
	}
	if choice.Action == Skip && l.person != nil {
		l.turnNo = max(l.turnNo, l.Limits.MaxTurns) // the next turn is the last, without tools
		return nil
	}
	return &AbortedError{Err: e}
}

// name is how the model is called in sentences.
func (l *loop) name() string {
	if l.model == "" {
		return "the model"
	}
	return l.model
}
