package emulate

import (
	"fmt"

	"github.com/toolpost/toolpost/llm"
)

// Check refuses requests that no model can answer: without messages, with media whose
// type does not fit their kind, with nameless or duplicate tools, with a choice that
// no tool meets, or with a tool called [FinalTool] together with an Output. The error
// is of kind Invalid and operation op.
func Check(op string, req *llm.Request) error {
	invalid := func(format string, args ...any) error {
		return &llm.Error{Op: op, Kind: llm.Invalid, Err: fmt.Errorf(format, args...)}
	}
	if len(req.Messages) == 0 {
		return invalid("the conversation has no messages")
	}
	for i := range req.Messages {
		if err := checkMedia(req.Messages[i].Parts); err != nil {
			return invalid("message %d: %w", i+1, err)
		}
	}
	seen, hosted := map[string]bool{}, map[string]bool{}
	for i := range req.Tools {
		switch t := &req.Tools[i]; {
		case t.Name == "":
			return invalid("a tool has no name")
		case t.Kind == llm.HostedTool && hosted[t.Name]: // one for each server, say
		case seen[t.Name]:
			return invalid("two tools are called %q", t.Name)
		case t.Name == FinalTool && req.Output != nil:
			return invalid("a tool is called %s, which is how the answer itself is asked for; give it another name", FinalTool)
		}
		seen[req.Tools[i].Name], hosted[req.Tools[i].Name] = true, req.Tools[i].Kind == llm.HostedTool
	}
	ch := req.Choice
	if ch.Mode == llm.MustCall && ch.Name != "" && !seen[ch.Name] {
		return invalid("a call of %q is demanded, but no such tool is offered", ch.Name)
	}
	if ch.Mode == llm.MustCall && len(callable(req)) == 0 {
		return invalid("a call is demanded, but the choice leaves no tool to call")
	}
	for _, name := range ch.Allowed {
		if !seen[name] {
			return invalid("the tool %q is allowed, but not offered", name)
		}
	}
	return nil
}

// checkMedia refuses media whose type cannot be that of their kind, in results, too.
func checkMedia(parts []llm.Part) error {
	for _, p := range parts {
		var err error
		switch p := p.(type) {
		case llm.Media:
			err = p.Check()
		case llm.Result:
			err = checkMedia(p.Parts)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// callable returns the tools that the choice leaves free to call.
func callable(req *llm.Request) []llm.ToolDef {
	var out []llm.ToolDef
	for _, t := range req.Tools {
		if req.Choice.Permits(t.Name) {
			out = append(out, t)
		}
	}
	return out
}
