package agent

import (
	"context"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

// sendBack asks again for calls that the caller could not run, as long as the
// budget lasts. A valid call beside them goes back, too: the caller gets all
// calls of one answer or none.
func (l *loop) sendBack(ctx context.Context, h *heard) (again bool, err error) {
	bad := l.unusable(h.calls)
	if len(bad)+len(h.invalid) == 0 || !l.budget.Take() {
		return false, nil
	}
	problem := ""
	for _, c := range append(h.invalid, bad...) {
		problem = c.Problem
		break
	}
	l.emit(Recovery{Attempt: l.budget.Used(), Max: l.Limits.Budget, Cause: refine.Validation, Error: problem})
	if err := l.keep(ctx, h); err != nil {
		return false, err
	}
	a := new(acting)
	l.results = make(map[string]llm.Result)
	for _, c := range h.invalid {
		if err := l.refuse(ctx, a, c); err != nil {
			return false, err
		}
	}
	for _, c := range h.calls {
		back := llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.BadArguments, Provenance: c.Provenance,
			Problem: "the call is fine, but was not run, because another call of the same answer cannot be"}
		for _, b := range bad {
			if b.ID == c.ID {
				back = b
			}
		}
		o, err := l.hands.Refuse(ctx, back)
		if err != nil {
			return false, err
		}
		l.results[c.ID] = o.Result
	}
	l.giveResults()
	if len(a.notes) > 0 {
		return true, l.note(ctx, string(refine.Validation), strings.Join(a.notes, "\n\n"))
	}
	return true, nil
}

// unusable returns the calls that do not match their schemas.
func (l *loop) unusable(calls []llm.Call) []llm.InvalidCall {
	var bad []llm.InvalidCall
	for _, c := range calls {
		faults := l.faults(c)
		if len(faults) == 0 {
			continue
		}
		b := llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.BadArguments, Provenance: c.Provenance}
		if !l.offers(c.Name) {
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
func (l *loop) sortOut() {
	bad := l.unusable(l.done.Calls)
	l.done.Invalid = append(l.done.Invalid, bad...)
	var good []llm.Call
	for _, c := range l.done.Calls {
		ok := true
		for _, b := range bad {
			ok = ok && b.ID != c.ID
		}
		if ok {
			good = append(good, c)
		}
	}
	l.done.Calls = good
}
