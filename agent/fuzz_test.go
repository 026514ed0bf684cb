package agent

import (
	"encoding/json"
	"strings"
	"testing"
)

// FuzzEnvelope: whatever a model writes, an envelope is read as calls with a
// name and JSON arguments, or as text, or not at all.
func FuzzEnvelope(f *testing.F) {
	for _, s := range []string{
		`{"type":"tool-calls","calls":[{"toolName":"a","input":{"x":1}}]}`, `{"type":"text","text":"hi"}`, `{"tool":"a","parameters":{}}`,
		`{"tool_calls":[{"tool":"a","input":"{}"},{"x":1}]}`, "```json\n{\"tool\":\"a\",\"arguments\":null}\n```", "```", "{", "", `{"tool":"a","input":"no json"}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		env, ok := readEnvelope(text, func(name string) bool { return name == "a" })
		if !ok {
			return
		}
		if len(env.calls) == 0 && strings.TrimSpace(env.text) == "" {
			t.Errorf("%q is an envelope of nothing", text)
		}
		for _, c := range env.calls {
			if c.Name == "" || !json.Valid(c.Args) {
				t.Errorf("%q holds a call of %q with %q", text, c.Name, c.Args)
			}
		}
	})
}
