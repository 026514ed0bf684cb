package invoke

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Verdict is what a policy decides. The zero value refuses.
type Verdict uint8

// The verdicts.
const (
	Refuse Verdict = iota
	Ask            // a person decides
	Allow
	Change // the call may run with Decision.Args
)

// Decision is a verdict with its reason. The reason of a refusal is told to the
// model, that of a question to the person.
type Decision struct {
	Verdict Verdict
	Reason  string
	// Args, with Change, are the arguments to run the call with. They are checked like those of the
	// model, the policy is asked about them, and the model is told. The record has both.
	Args json.RawMessage
}

// Policy decides whether a call may run. Its arguments have been validated and
// are those the tool will get. An error refuses: a check that cannot be made
// has not been passed. It is called for one call at a time, in order.
type Policy func(ctx context.Context, t tool.Tool, c llm.Call) (Decision, error)

// AllowOwn is the default policy of a Runner. It allows the program's own Go functions
// (see [tool.Func]), and read-only tools, except the tools of Toolpost that reach the
// network. All other tools need a policy that allows them. A person is asked about a
// function's call that may change things if it was found in the model's text without a
// marker, or if the user's messages hold the same text.
func AllowOwn(_ context.Context, t tool.Tool, c llm.Call) (Decision, error) {
	return allowOwn(&t, &c.Provenance), nil
}

// allowOwn is AllowOwn without the copies.
func allowOwn(t *tool.Tool, from *llm.Provenance) Decision {
	doubt := perhapsOnlyText(t, from)
	switch {
	case t.Origin == tool.Program && doubt != "":
		return Decision{Verdict: Ask, Reason: doubt}
	case t.Origin == tool.Program:
		return Decision{Verdict: Allow, Reason: ""}
	case !t.Effects.Has(tool.ReadOnly):
		return Decision{Verdict: Refuse, Reason: fmt.Sprintf("%s comes from %s, may change things, and no policy allows it", t.Name, t.Origin)}
	}
	return allowRead(t)
}

// AllowReadOnly allows read-only tools, except the tools of Toolpost that reach the
// network, and refuses all others, also the program's own functions. With [AskFirst],
// a person decides about everything that may change things.
func AllowReadOnly(_ context.Context, t tool.Tool, _ llm.Call) (Decision, error) {
	if !t.Effects.Has(tool.ReadOnly) {
		return Decision{Verdict: Refuse, Reason: t.Name + " may change things"}, nil
	}
	return allowRead(&t), nil
}

// allowRead decides about a tool that only reads.
func allowRead(t *tool.Tool) Decision {
	if t.Origin == tool.Builtin && !t.Effects.Has(tool.Local) {
		return Decision{Verdict: Refuse, Reason: t.Name + " reaches the network, and no policy allows it"}
	}
	return Decision{Verdict: Allow, Reason: ""}
}

// perhapsOnlyText returns why a call that may change things could be mere text
// that was not meant as a call, or "".
func perhapsOnlyText(t *tool.Tool, from *llm.Provenance) string {
	switch {
	case t.Effects.Has(tool.ReadOnly):
		return ""
	case from.Echo != "":
		return fmt.Sprintf("%s may change things, and the same call is in %s, so it may only repeat that", t.Name, from.Echo)
	case from.Source() == llm.BareSource:
		return t.Name + " may change things, and the call was found in the model's text without a marker, so it may only be talked about"
	}
	return ""
}

// AllowAll is the policy of a program that trusts its tools and its model.
func AllowAll(context.Context, tool.Tool, llm.Call) (Decision, error) {
	return Decision{Verdict: Allow, Reason: ""}, nil
}

// AllowNamed allows the tools of these names, and otherwise decides like
// [AllowOwn].
func AllowNamed(names ...string) Policy {
	names = slices.Clone(names)
	return func(ctx context.Context, t tool.Tool, c llm.Call) (Decision, error) {
		if slices.Contains(names, t.Name) {
			return Decision{Verdict: Allow, Reason: ""}, nil
		}
		return AllowOwn(ctx, t, c)
	}
}

// AskFirst has a person decide what p would refuse; nil means [AllowOwn].
func AskFirst(p Policy) Policy {
	if p == nil {
		p = AllowOwn
	}
	return func(ctx context.Context, t tool.Tool, c llm.Call) (Decision, error) {
		d, err := p(ctx, t, c)
		if err == nil && d.Verdict == Refuse {
			d.Verdict = Ask
		}
		return d, err
	}
}

// authorise asks the policy, and a person if the policy wants that. It returns an
// error only if a decision cannot be recorded.
func (d *batch) authorise(j *job) error {
	decision, err := d.decide(j)
	if err == nil && decision.Verdict == Change {
		if decision, err = d.change(j, decision); j.fail != nil {
			return d.reject(j, j.fail)
		}
	}
	doubt := d.s.repeats(j)
	if decision.Verdict != Allow && d.s.abandoned(j) { // it would not run, whatever is decided; to refuse it would be to deny that it had begun
		err := d.lost(j, d.emit)
		j.outcome = j.settled
		return err
	}
	switch {
	case err != nil && d.ctx.Err() != nil:
		return d.reject(j, notBegun())
	case err != nil:
		return d.refuse(j, "policy", "the policy could not decide: "+err.Error())
	case doubt != "" && decision.Verdict != Refuse:
		return d.ask(j, Question{Reason: doubt, Repeats: j.info.Key})
	case decision.Verdict == Allow:
		d.decided(j, true, "policy", decision.Reason, d.emit)
		return d.prompts(j)
	case decision.Verdict == Ask:
		return d.ask(j, Question{Reason: decision.Reason})
	}
	reason := decision.Reason
	if reason == "" {
		reason = "the policy does not allow it"
	}
	return d.refuse(j, "policy", reason)
}

// change gives a call the arguments that the policy wants, and returns the decision of the policy
// about the call with them. j.fail is set if they are not valid.
func (d *batch) change(j *job, c Decision) (Decision, error) {
	before := j.hash
	a := journal.Approval{Call: j.call.ID, Tool: j.tool.Name, ParamsHash: before, Allowed: true, By: "policy", Reason: c.Reason, Args: c.Args}
	j.args, j.hash = slices.Clone(c.Args), journal.ParamsHash(c.Args)
	e := whole(j)
	if e == nil {
		e = d.validate(j)
	}
	if e != nil {
		e.Message = "the policy gave other arguments, which are not valid: " + e.Message
		e.Fix = "The call was not run. Ask the user how to go on."
		j.fail = e
		return Decision{}, nil
	}
	next, err := d.decide(j)
	switch {
	case err != nil:
		return next, err
	case next.Verdict == Change && journal.ParamsHash(next.Args) == j.hash:
		next = Decision{Verdict: Allow, Reason: next.Reason}
	case next.Verdict == Change:
		return Decision{Verdict: Refuse, Reason: "the policy changes its own change of the arguments"}, nil
	}
	if j.hash == before || next.Verdict == Refuse {
		return next, nil
	}
	if j.consent, err = d.s.record(d.ctx, journal.KindApproval, a); err != nil {
		return next, err
	}
	j.approval = &a
	j.lesson = fmt.Sprintf("the policy changed the arguments; it was run with %s", j.args)
	if c.Reason != "" {
		j.lesson += " (" + c.Reason + ")"
	}
	next.Reason = cmp.Or(next.Reason, c.Reason)
	return next, nil
}

// decide calls the policy.
func (d *batch) decide(j *job) (Decision, error) {
	policy := d.s.runner.Policy
	if policy == nil {
		return allowOwn(&j.tool, &j.call.Provenance), nil
	}
	call := j.call
	call.Args = slices.Clone(j.args)
	return recovered(func() (Decision, error) { return policy(d.ctx, j.tool, call) })
}

// recovered calls a function that the program supplied, and returns a panic as an
// error: a policy that panics has not allowed anything.
func recovered[T any](fn func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v", p)
		}
	}()
	return fn()
}

func (d *batch) refuse(j *job, by, reason string) error {
	d.decided(j, false, by, reason, d.emit)
	return d.reject(j, tool.Errorf(tool.Permission, "%s", reason))
}
