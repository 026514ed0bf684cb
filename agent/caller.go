package agent

import (
	"context"
	"slices"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

// sendBack asks again for calls that the caller could not run, as long as the
// budget lasts. It sends the valid calls of the answer back, too: the caller gets all
// calls of one answer or none.
func (q *asker) sendBack(ctx context.Context, h *modelAnswer) (again bool, err error) {
	bad := q.unusable(h.calls)
	if len(bad)+len(h.invalid) == 0 || !q.budget.Take() {
		return false, nil
	}
	problem := ""
	for _, c := range append(h.invalid, bad...) {
		problem = c.Problem
		break
	}
	q.emit(refine.Recovery{Attempt: q.budget.Used(), Max: q.Limits.Budget, Cause: causeValidation, Error: problem})
	if err := q.keep(ctx, h, &q.turn); err != nil {
		return false, err
	}
	q.results = make(map[string]llm.Result)
	return true, q.giveBack(ctx, h.calls, h.invalid)
}

// giveBack tells the model why the calls of an answer cannot be run.
func (l *loop) giveBack(ctx context.Context, calls []llm.Call, invalid []llm.InvalidCall) error {
	b := &callBatch{loop: l}
	for _, c := range invalid {
		if err := b.refuse(ctx, c); err != nil {
			return err
		}
	}
	bad := l.unusable(calls)
	for _, c := range calls {
		if _, known := l.results[c.ID]; known {
			continue
		}
		back := llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.BadArguments, Provenance: c.Provenance,
			Problem: "the call is fine, but was not run, because another call of the same answer cannot be"}
		for _, known := range bad {
			if known.ID == c.ID {
				back = known
			}
		}
		o, err := l.effects.refuse(ctx, l.site(), back)
		if err != nil {
			return err
		}
		l.results[c.ID] = o.Result
	}
	return b.answerModel(ctx)
}

// handOver deals with the calls that an earlier process left: it hands them to
// the caller, unless that process had begun to send them back, or the record does
// not have what the model wrote.
func (l *loop) handOver(ctx context.Context, calls []llm.Call) (over bool, err error) {
	invalid := l.left.invalid
	l.left.invalid = nil
	if len(l.results) > 0 || len(calls) == 0 || slices.ContainsFunc(calls, l.redacted) {
		return false, l.giveBack(ctx, calls, invalid)
	}
	l.done.Text = l.messages[len(l.messages)-1].Text()
	l.done.Finish.Reason = llm.ToolCalls
	l.done.Calls, l.done.Invalid = calls, invalid
	l.sortOut()
	return true, nil
}

// unusable returns the calls that do not match their schemas.
func (l *loop) unusable(calls []llm.Call) []llm.InvalidCall {
	var bad []llm.InvalidCall
	for _, c := range calls {
		faults := l.check(c).Faults
		if len(faults) == 0 {
			continue
		}
		b := llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.BadArguments, Provenance: c.Provenance}
		if !l.turn.offers(c.Name) {
			b.Reason = llm.UnknownTool
		}
		for i, f := range faults {
			if i > 0 {
				b.Problem += " "
			}
			b.Problem += f.Message
		}
		bad = append(bad, b)
	}
	return bad
}

// sortOut moves the calls that cannot be run from Done.Calls to Done.Invalid.
// The others get the arguments that match their schemas; how they were mended is
// in their provenance.
func (l *loop) sortOut() {
	l.done.Invalid = append(l.done.Invalid, l.unusable(l.done.Calls)...)
	var good []llm.Call
	for _, c := range l.done.Calls {
		checked := l.check(c)
		if !checked.Valid() {
			continue
		}
		c.Args = checked.Args
		c.Provenance.Repairs = slices.Clip(c.Provenance.Repairs)
		for _, change := range checked.Changes {
			c.Provenance.Repairs = append(c.Provenance.Repairs, llm.Repair{Rule: string(change.Rule), Class: llm.Coercion})
		}
		good = append(good, c)
	}
	l.done.Calls = good
}
