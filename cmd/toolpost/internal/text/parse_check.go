package text

import (
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// hold makes calls invalid that cannot be run: calls whose arguments do not match the schema of their tool, and a
// completed call at the end of the text, unless it is known why the model stopped.
func (r *reading) hold(a *parseAnswer, c capture, tools []llm.ToolDef) {
	ends := -1
	if r.finish == "" && c.reason == "" {
		ends = len(strings.TrimRight(c.text(), " \t\r\n"))
	}
	a.parts = slices.DeleteFunc(a.parts, func(part llm.Part) bool {
		call, ok := part.(llm.Call)
		if !ok {
			return false
		}
		bad := unfit(call, ends, tools)
		if bad != nil {
			a.refuse(*bad)
		}
		return bad != nil
	})
	a.Calls = a.Calls[:0]
	for _, part := range a.parts {
		if call, ok := part.(llm.Call); ok {
			a.Calls = append(a.Calls, callJSON{call.Name, call.Args, call.Provenance.Source()})
		}
	}
}

// unfit returns why a call cannot be run, or nil. The text ends at ends. A negative value means that it is known why
// the model stopped.
func unfit(call llm.Call, ends int, tools []llm.ToolDef) *llm.InvalidCall {
	if bad := cutCall(call, ends); bad != nil {
		return bad
	}
	return wrongCall(call, tools)
}

// refuse adds a call that cannot be run.
func (a *parseAnswer) refuse(bad llm.InvalidCall) {
	a.Invalid = append(a.Invalid, bad)
	a.Truncated = a.Truncated || bad.Reason == llm.CutOff
}

// cutCall returns a call whose end was completed at the end of the text. It is unknown whether the model ended there.
func cutCall(call llm.Call, ends int) *llm.InvalidCall {
	cut := func(r llm.Repair) bool { return r.Class >= llm.Completion && r.End >= ends }
	if ends < 0 || !slices.ContainsFunc(call.Provenance.Repairs, cut) {
		return nil
	}
	return held(call, llm.CutOff, "the text ends in the middle of this call; if the model itself stopped there, say --finish stop")
}

// wrongCall returns the call as invalid if its arguments do not match the schema of its tool even after conversion to
// the types of the schema.
func wrongCall(call llm.Call, tools []llm.ToolDef) *llm.InvalidCall {
	i := slices.IndexFunc(tools, func(d llm.ToolDef) bool { return d.Name == call.Name })
	if i < 0 || len(tools[i].Schema) == 0 {
		return nil
	}
	compiled, err := schema.Compile(schema.Schema(tools[i].Schema))
	if err != nil {
		return held(call, llm.BadArguments, fmt.Sprintf("the schema of the tool cannot be used: %v", err))
	}
	checked := compiled.Check(call.Args)
	if checked.Valid() {
		return nil
	}
	var problems []string
	for _, f := range checked.Faults {
		problems = append(problems, f.Message)
	}
	return held(call, llm.BadArguments, strings.Join(problems, "; "))
}

func held(call llm.Call, why llm.InvalidReason, problem string) *llm.InvalidCall {
	return &llm.InvalidCall{ID: call.ID, Name: call.Name, Raw: string(call.Args), Reason: why, Problem: problem, Provenance: call.Provenance}
}
