package agent

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// callBatch runs the calls of one answer.
type callBatch struct {
	*loop
	outcomes   []invoke.Outcome
	notes      []string // about calls that cannot be part of the conversation
	stopReason string   // why the runtime stopped the run
	waits      bool     // for a person
}

// runCalls runs the calls of an answer and gives the model their results.
func (l *loop) runCalls(ctx context.Context, calls []llm.Call, invalid []llm.InvalidCall) error {
	b := &callBatch{loop: l}
	if l.results == nil {
		l.results = make(map[string]llm.Result)
	}
	for _, c := range invalid {
		if err := b.refuse(ctx, c); err != nil {
			return err
		}
	}
	l.left.invalid = nil
	calls = slices.DeleteFunc(slices.Clone(calls), func(c llm.Call) bool { // settled before an interruption
		result, ok := l.results[c.ID]
		if rec, known := l.left.receipts[c.ID]; known && !slices.ContainsFunc(invalid, func(i llm.InvalidCall) bool { return i.ID == c.ID }) {
			b.outcomes = append(b.outcomes, outcomeOf(c, result, rec, 1))
		}
		return ok
	})
	l.left.receipts = nil
	if err := b.run(ctx, l.site(), calls); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := b.evaluate(ctx); err != nil {
		return err
	}
	return b.answerModel(ctx)
}

// causeValidation is the cause of calls that do not match their schemas, as package refine names it.
const causeValidation = "validation"

// answerModel adds the results and the notes of the calls to the conversation.
func (b *callBatch) answerModel(ctx context.Context) error {
	b.giveResults()
	if len(b.notes) == 0 {
		return nil
	}
	return b.note(ctx, causeValidation, strings.Join(b.notes, "\n\n"))
}

// markCopies marks the calls that repeat an example of their tool's description although the
// conversation gives no such value. Package invoke decides what that means for the tool.
func (b *callBatch) markCopies(calls []llm.Call) {
	for i, c := range calls {
		at := slices.IndexFunc(b.tools.all, func(d llm.ToolDef) bool { return d.Name == c.Name })
		if at < 0 {
			continue
		}
		if guess, ok := emulate.CopiedExample(b.tools.all[at], c.Args, b.System, b.messages); ok {
			calls[i].Provenance.Repairs = append(slices.Clone(c.Provenance.Repairs), guess)
		}
	}
}

// outcomeOf returns the outcome of a call that its receipt describes.
func outcomeOf(c llm.Call, result llm.Result, rec journal.Receipt, attempt int) invoke.Outcome {
	o := invoke.Outcome{Call: c, Result: result, Receipt: rec}
	if f := rec.Error; f != nil {
		o.Error = &tool.Error{Code: tool.Code(f.Code), Message: f.Message, Recoverable: f.Recoverable}
		o.Attempt, o.Next = attempt, tool.Strategy(f.Strategy)
	}
	return o
}

// refuse answers a call that cannot be read, unless that was done before an
// interruption.
func (b *callBatch) refuse(ctx context.Context, c llm.InvalidCall) error {
	result, known := b.results[c.ID]
	if !known {
		o, err := b.effects.refuse(ctx, b.site(), c)
		if err != nil {
			return err
		}
		if !json.Valid(o.Call.Args) { // an event has to be JSON
			o.Call.Args, _ = json.Marshal(c.Raw)
		}
		b.emit(o)
		b.outcomes = append(b.outcomes, o)
		result = o.Result
	} else if rec, ok := b.left.receipts[c.ID]; ok {
		raw, _ := json.Marshal(c.Raw)
		b.outcomes = append(b.outcomes, outcomeOf(llm.Call{ID: c.ID, Name: c.Name, Args: raw}, result, rec, 1))
	}
	if _, ok := asCall(c); ok {
		b.results[c.ID] = result
		return nil
	}
	text := result.Text()
	if c.Provenance.Dialect == "" && c.Raw != "" {
		text += "\nThe call began: " + b.redact(c.Raw).Cut(500)
	}
	b.notes = append(b.notes, text)
	return nil
}

// run runs calls and keeps their results.
func (b *callBatch) run(ctx context.Context, at callSite, calls []llm.Call) (failed error) {
	if len(calls) == 0 {
		return nil
	}
	if at.repeat == "" {
		b.markCopies(calls)
	}
	b.spending.settle()
	before, unpriced := b.spending.cost(), b.spending.unpriced.Load()
	defer func() {
		if cost := b.spending.cost(); cost != before || unpriced != b.spending.unpriced.Load() {
			failed = errors.Join(failed, b.write(ctx, kindCost, costEntry{b.turn.n, cost, b.spending.unpriced.Load()}))
		}
	}()
	for ev, err := range b.effects.run(b.withConversation(context.WithValue(ctx, spendingKey{}, b.spending)), at, calls) {
		if err != nil {
			return err
		}
		switch ev := ev.(type) {
		case invoke.Intended:
			b.intended[ev.CallID] = true
		case invoke.Outcome:
			b.count(ev)
			b.outcomes = append(b.outcomes, ev)
			b.results[ev.Call.ID] = ev.Result
		case invoke.Stopped:
			b.stopReason = ev.Reason
		case invoke.Waiting:
			b.waits = true
			b.done.Waiting = append(b.done.Waiting, ev.Question)
		}
		if !b.emit(ev) {
			return context.Canceled
		}
	}
	if b.waits {
		return errWaiting
	}
	return nil
}

// count adds what a call did to the summary.
func (b *callBatch) count(o invoke.Outcome) {
	b.spending.addCall(o.Receipt.Usage)
	if o.Receipt.Status != journal.Refused {
		b.done.Ran++
	}
	b.done.Did = append(b.done.Did, o.Receipt.SideEffects...)
	if b.intended[o.Call.ID] || o.Receipt.Status == journal.Unknown {
		b.done.Unreported = unreported(b.done.Unreported, o.Receipt)
	}
}

// unreported adds the tool of a call that may have changed things and whose receipt lists no
// changes.
func unreported(tools []string, r journal.Receipt) []string {
	if len(r.SideEffects) > 0 || r.Status == journal.Refused || slices.Contains(tools, r.Tool) {
		return tools
	}
	return append(tools, r.Tool)
}

// evaluate decides what the outcomes of a turn mean for the run.
func (b *callBatch) evaluate(ctx context.Context) error {
	var fault *invoke.Outcome
	progress := false
	for i, o := range b.outcomes {
		switch {
		case o.Error == nil:
			progress = true
		case o.Error.Code == tool.Validation:
			if fault == nil {
				fault = &b.outcomes[i]
			}
		case b.asks && hopeless(o):
			if err := b.toolFailed(ctx, o); err != nil {
				return err
			}
		}
	}
	switch {
	case b.stopReason != "":
		return b.endStopped(ctx)
	case fault != nil:
		return b.faulty(ctx, *fault)
	case progress:
		b.renew()
	default:
		b.escalate()
	}
	return nil
}

// escalate asks in a stronger way after calls that ran and failed, as long as
// the budget lasts.
func (b *callBatch) escalate() {
	for _, o := range b.outcomes {
		if o.Error != nil && b.Ladder != nil && b.budget.Left() > 0 && b.raiseStep(o) {
			b.budget.Take()
			return
		}
	}
}

// faulty answers a model whose calls did not match their schemas: it may try
// again as long as the budget lasts.
func (b *callBatch) faulty(ctx context.Context, o invoke.Outcome) error {
	if b.budget.Take() {
		b.emit(refine.Recovery{Attempt: b.budget.Used(), Max: b.Limits.Budget, Cause: causeValidation, Error: o.Error.Error()})
		b.raiseStep(o)
		return nil
	}
	point := Checkpoint{Cause: ModelFailed, Call: o.Call, Error: o.Error, Attempt: o.Attempt, Options: []Action{Retry, Manual, Abort}}
	choice, err := b.checkpoint(ctx, point, nil)
	switch {
	case err != nil:
		return err
	case choice.Action == Retry, choice.Action == Skip:
		b.renew()
		return nil
	case choice.Action == Manual:
		b.renew()
		b.giveResults()
		return b.note(ctx, whyManual, choice.Text)
	case b.asks:
		return &AbortedError{Err: o.Error}
	}
	return fmt.Errorf("agent: %s sent calls that cannot be run %d times in a row: %w", b.turn.modelName(), b.Limits.Budget+1, o.Error)
}

// hopeless reports whether no step is left for a failed call, and no person has been asked about it
// yet.
func hopeless(o invoke.Outcome) bool {
	if o.Error.Code == tool.Cancelled || o.Receipt.Approval != nil {
		return false
	}
	return o.Next == tool.Abort || o.Attempt >= tool.MaxAttempts // what a receipt tells, too
}

// toolFailed asks how to go on after a call that failed for good, and asks again
// if it was run again and failed again.
func (b *callBatch) toolFailed(ctx context.Context, o invoke.Outcome) error {
	for {
		var again *invoke.Outcome
		point := Checkpoint{Cause: ToolFailed, Call: o.Call, Error: o.Error, Attempt: o.Attempt, Options: []Action{Retry, Skip, Manual, Abort}}
		_, err := b.checkpoint(ctx, point, func(c Choice) (result *llm.Result, err error) {
			switch c.Action {
			case Retry:
				again, err = b.rerun(ctx, o.Call, c.By)
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

// rerun runs a call once more at a person's request: as a separate call, with its own checks and
// receipt. The result is for the original call.
func (b *callBatch) rerun(ctx context.Context, c llm.Call, by string) (*invoke.Outcome, error) {
	again := c
	again.ID = b.newID("")
	at := b.site()
	at.repeat, at.repeats, at.by = again.ID, c.ID, cmp.Or(by, "checkpoint")
	repeat := &callBatch{loop: b.loop}
	if err := repeat.run(ctx, at, []llm.Call{again}); err != nil {
		return nil, err
	}
	if len(repeat.outcomes) != 1 {
		return nil, errors.New("agent: the call was run again and gave no result")
	}
	delete(b.results, again.ID)
	o := repeat.outcomes[0]
	o.Result.CallID = c.ID
	return &o, nil
}

// endStopped ends a run that the runtime stopped.
func (b *callBatch) endStopped(ctx context.Context) error {
	e := b.stopError()
	choice, err := b.checkpoint(ctx, Checkpoint{Cause: LoopStopped, Error: e, Options: []Action{Skip, Abort}}, nil)
	if err != nil {
		return err
	}
	if choice.Action == Skip && b.asks {
		b.turn.n = max(b.turn.n, b.Limits.MaxTurns) // the next turn is the last, without tools
		return nil
	}
	return &AbortedError{Err: e}
}

// stopError is the error of a run that the runtime stopped.
func (b *callBatch) stopError() *tool.Error {
	e := tool.Errorf(tool.Execution, "%s", b.stopReason)
	e.Recoverable, e.Strategy = false, tool.Abort
	return e
}
