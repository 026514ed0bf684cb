package emulate_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// A program's own model may deliver calls itself. Arguments that are no JSON make
// an invalid call of each, whether anything else reads the answer or not.
func TestCallsOfOwnModelsAreJSON(t *testing.T) {
	tools := []llm.ToolDef{{Name: "f", Schema: json.RawMessage(`{"type":"object"}`)}}
	wraps := map[string]func(llm.Model) llm.Model{
		"ReadCalls": func(m llm.Model) llm.Model { return emulate.ReadCalls(m, nil) },
		"Around":    func(m llm.Model) llm.Model { return emulate.Emulation{}.Around(m) },
	}
	for name, wrap := range wraps {
		for args, good := range map[string]bool{`{"a":1}`: true, "": true, " ": true, `{"a":1`: false, `{"a":1},"b":2}`: false, `a=1`: false, `{a:1}`: false, "{\"a\":\"\n\"}": false} {
			for _, req := range []*llm.Request{
				{Messages: []llm.Message{llm.User("go")}, Tools: tools},
				{Messages: []llm.Message{llm.User("go")}, Tools: tools, Promotion: llm.PromoteOff},
				{Messages: []llm.Message{llm.User("go")}, Tools: tools, Output: &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object"}`)}},
				{Messages: []llm.Message{llm.User("go")}},
			} {
				m := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
					return func(yield func(llm.Event, error) bool) {
						_ = yield(llm.CallStart{ID: "c1", Name: "f"}, nil) &&
							yield(llm.Call{ID: "c1", Name: "f", Args: json.RawMessage(args)}, nil) &&
							yield(llm.Finish{Reason: llm.ToolCalls}, nil)
					}
				})
				calls, invalid := 0, 0
				for ev := range wrap(m).Stream(t.Context(), req) {
					switch ev := ev.(type) {
					case llm.Call:
						calls++
						if !good {
							t.Errorf("%s: %q left as a call", name, ev.Args)
						}
					case llm.InvalidCall:
						invalid++
						if good || ev.Reason != llm.BadArguments || ev.Raw != args || ev.ID != "c1" {
							t.Errorf("%s: %q became %+v", name, args, ev)
						}
					}
				}
				if req.Output == nil && calls+invalid != 1 {
					t.Errorf("%s: %q: %d calls, %d invalid ones", name, args, calls, invalid)
				}
			}
		}
	}
}
