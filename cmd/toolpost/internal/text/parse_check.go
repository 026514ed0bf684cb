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
func hold(a *parseAnswer, text string, endKnown bool, tools []llm.ToolDef) {
	ends := -1
	if !endKnown {
		ends = len(strings.TrimRight(text, " \t\r\n"))
	}
	parts := a.parts
	a.parts, a.Calls = nil, a.Calls[:0]
	for _, part := range parts {
		call, ok := part.(llm.Call)
		if !ok {
			a.parts = append(a.parts, part)
			continue
		}
		before := len(call.Provenance.Repairs)
		call, bad := fit(call, ends, tools)
		if bad != nil {
			a.refuse(*bad)
			continue
		}
		a.Repairs = append(a.Repairs, call.Provenance.Repairs[before:]...)
		a.parts, a.Calls = append(a.parts, call), append(a.Calls, newCallJSON(call))
	}
}

// fit returns a call with arguments of the types of its schema, or why it cannot be run. The text ends at ends. A
// negative value means that it is known why the model stopped.
func fit(call llm.Call, ends int, tools []llm.ToolDef) (llm.Call, *llm.InvalidCall) {
	if bad := cutCall(call, ends); bad != nil {
		return call, bad
	}
	return checked(call, tools)
}

// refuse adds a call that cannot be run.
func (a *parseAnswer) refuse(bad llm.InvalidCall) {
	a.Invalid = append(a.Invalid, bad)
	a.Truncated = a.Truncated || bad.Reason == llm.CutOff
}

// cutCall returns a call whose end was completed at the end of the text. It is unknown whether the model ended there.
func cutCall(call llm.Call, ends int) *llm.InvalidCall {
	cut := func(r llm.Repair) bool { return r.Class >= llm.Completion && !r.Doubts() && r.End >= ends }
	if ends < 0 || !slices.ContainsFunc(call.Provenance.Repairs, cut) {
		return nil
	}
	return held(call, llm.CutOff, "the text ends in the middle of this call; if the model itself stopped there, say --finish stop")
}

// checked returns the call with its arguments converted to the types of its schema, and each conversion as a repair. If
// they do not match even then, it returns the call as invalid.
func checked(call llm.Call, tools []llm.ToolDef) (llm.Call, *llm.InvalidCall) {
	i := slices.IndexFunc(tools, func(d llm.ToolDef) bool { return d.Name == call.Name })
	if i < 0 || len(tools[i].Schema) == 0 {
		return call, nil
	}
	compiled, err := schema.Compile(schema.Schema(tools[i].Schema))
	if err != nil {
		return call, held(call, llm.BadArguments, fmt.Sprintf("the schema of the tool cannot be used: %v", err))
	}
	found := compiled.Check(call.Args)
	if found.Valid() {
		call.Args = found.Args
		repairs := slices.Clone(call.Provenance.Repairs)
		for _, c := range found.Changes {
			repairs = append(repairs, llm.Repair{Rule: string(c.Rule), Class: llm.Coercion})
		}
		call.Provenance.Repairs = repairs
		return call, nil
	}
	var problems []string
	for _, f := range found.Faults {
		problems = append(problems, f.Message)
	}
	return call, held(call, llm.BadArguments, strings.Join(problems, "; "))
}

func held(call llm.Call, why llm.InvalidReason, problem string) *llm.InvalidCall {
	return &llm.InvalidCall{ID: call.ID, Name: call.Name, Raw: string(call.Args), Reason: why, Problem: problem, Provenance: call.Provenance}
}
