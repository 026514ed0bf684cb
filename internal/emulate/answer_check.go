package emulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// demands is what an answer has to be.
type demands struct {
	op     string // of the error about a broken one
	choice llm.ToolChoice
	one    bool
	output *llm.OutputFormat
	hosted []string // the offered tools that the provider runs, where the answer has to call one
	answer int      // the index of the answer, of several
}

// Keep returns a Stage that holds an answer to the demands of req: the tools that may
// and must be called, one call or several, the schema of the answer. A call that the
// choice excludes becomes an InvalidCall and is not run. An answer that does not meet
// the demands ends in an error of kind BrokenPromise and operation op, in place of its
// Finish. Each of several answers is checked, and the first error ends them all.
func Keep(op string, req *llm.Request) Stage {
	p := demands{op: op, choice: req.Choice, one: req.OneCall, output: req.Output}
	if req.Choice.Mode == llm.MustCall { // this answer is for calls
		p.output = nil
		for _, t := range req.Tools {
			if t.Kind == llm.HostedTool {
				p.hosted = append(p.hosted, t.Name)
			}
		}
	}
	return p.begin
}

// begin begins to look at an answer.
func (p demands) begin(out func(llm.Event, error) bool) Taker {
	return &answerCheck{demands: p, out: out}
}

// Take takes an event.
func (k *answerCheck) Take(ev llm.Event, err error) bool {
	if other, is := ev.(llm.Alternative); is && err == nil {
		return k.other(other)
	}
	if k.output != nil && !k.data.flows {
		if err == nil && k.data.hold(ev) {
			return true
		}
		if !k.settle(ev, err) {
			return false
		}
	}
	if err == nil {
		ev, err = k.event(ev)
	}
	return k.out(ev, err) && err == nil
}

// settle passes on the text that was held, before the event that ends the holding: data in a code fence are unwrapped
// if they fit the schema.
func (k *answerCheck) settle(ev llm.Event, err error) bool {
	f, last := ev.(llm.Finish)
	switch {
	case err == nil && !last && !k.data.flows:
		return true // a warning
	case err == nil && last && f.Reason != llm.Length && f.Reason != llm.ContentFilter && len(k.data.held) > 0:
		if data := unfence(textOf(k.data.held)); k.fault(data) == nil {
			k.data.replace(data)
			if !k.out(llm.Warning{Code: llm.Corrected, Feature: "output", Detail: "the data were in a code fence, which was removed"}, nil) {
				return false
			}
		}
	}
	for _, ev := range k.data.release() {
		ev, err := k.event(ev)
		if !k.out(ev, err) || err != nil {
			return false
		}
	}
	return true
}

// textOf joins the text of events.
func textOf(events []llm.Event) string {
	var text strings.Builder
	for _, ev := range events {
		if d, is := ev.(llm.TextDelta); is {
			text.WriteString(d.Text)
		}
	}
	return text.String()
}

// End passes on the held text of an answer without an end. Everything else was decided with the finish.
func (k *answerCheck) End() {
	for _, ev := range k.data.release() {
		if !k.out(ev, nil) {
			return
		}
	}
}

// Stop has nothing to let go of.
func (k *answerCheck) Stop() {}

// other takes an event of an answer after the first.
func (k *answerCheck) other(ev llm.Alternative) bool {
	own := k.demands
	own.answer = ev.Index
	return k.others.take(ev, own.begin, k.out)
}

// answerCheck is one answer being checked.
type answerCheck struct {
	demands
	out         func(llm.Event, error) bool
	calls       int
	invalid     int
	hostedCalls int    // hosted calls that meet the demands
	excluded    string // the name of a call that the choice excludes
	refused     bool
	text        strings.Builder
	data        fencedData
	others      alternatives
}

func (k *answerCheck) event(ev llm.Event) (llm.Event, error) {
	switch ev := ev.(type) {
	case llm.TextDelta:
		k.refused = k.refused || ev.Part != nil && ev.Part.Refusal
		if k.output != nil {
			k.text.WriteString(ev.Text)
		}
	case llm.Call, llm.HostedCall, llm.InvalidCall, llm.Finish:
		return k.judged(ev)
	}
	return ev, nil
}

// judged returns a call or the end of an answer as the demands allow it.
func (k *answerCheck) judged(ev llm.Event) (llm.Event, error) {
	switch ev := ev.(type) {
	case llm.Call:
		return k.call(ev), nil
	case llm.HostedCall:
		k.ran(ev.Call)
	case llm.InvalidCall:
		k.invalid++
	case llm.Finish:
		if broken := k.broken(ev); broken != nil {
			if k.answer > 0 {
				broken = fmt.Errorf("answer %d: %w", k.answer+1, broken)
			}
			return nil, &llm.Error{Op: k.op, Kind: llm.BrokenPromise, Err: broken}
		}
	}
	return ev, nil
}

// call judges a call.
func (k *answerCheck) call(c llm.Call) llm.Event {
	if c.Hosted {
		k.ran(c)
		return c
	}
	not := llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.NotAllowed, Provenance: c.Provenance}
	switch {
	case k.choice.Forbids() || !k.choice.Permits(c.Name):
		k.excluded = c.Name
		not.Problem = fmt.Sprintf("A call of %s was not allowed in this answer.", c.Name)
		return not
	case k.one && k.calls > 0:
		k.invalid++
		not.Problem = "Only one call was allowed in this answer; make this call again in the next one if it is still needed."
		return not
	}
	k.calls++
	return c
}

// ran notes a call that the provider ran itself. It cannot be prevented any more, so
// it is not judged. It counts as the demanded call if the choice permits its tool, or
// if it has a name that was not offered, as calls of an MCP server or the commands of
// a sandbox do, and the choice permits a hosted tool.
func (k *answerCheck) ran(c llm.Call) {
	if known := slices.Contains(k.hosted, c.Name); known && k.choice.Permits(c.Name) || !known && slices.ContainsFunc(k.hosted, k.choice.Permits) {
		k.hostedCalls++
	}
}

// broken returns how an answer fails its demands. A truncated or filtered answer
// reports that itself.
func (k *answerCheck) broken(f llm.Finish) error {
	switch {
	case k.excluded != "":
		return fmt.Errorf("the model called %s, which the choice excludes", k.excluded)
	case f.Reason == llm.Length || f.Reason == llm.ContentFilter || k.refused:
		return nil
	case k.choice.Mode == llm.MustCall && k.calls+k.invalid+k.hostedCalls == 0:
		return fmt.Errorf("the model was to call %s and called nothing", cmp.Or(k.choice.Name, "a tool"))
	case k.output != nil && k.calls+k.invalid == 0:
		if fault := k.fault(k.text.String()); fault != nil {
			return fmt.Errorf("the answer does not match the schema that was asked for: %w", fault)
		}
	}
	return nil
}

// fault returns how a text fails the schema of the answer.
func (k *answerCheck) fault(text string) error {
	c, err := (schema.Compiler{}).Compile(OutputSchema(k.output))
	if err != nil {
		return nil // the schema is not one; that was said when the request was made
	}
	if faults := c.Validate([]byte(strings.TrimSpace(text))); len(faults) > 0 {
		return faults[0]
	}
	return nil
}
