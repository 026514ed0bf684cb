package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

type touched struct {
	Path string `json:"path" description:"Which file, like docs/notes.md."`
}

// TestExamplesAreNotWritten: a value that only the description of a tool has said
// is a guess. The model is asked again, however often it says so, and nobody can
// allow it; a tool that only reads runs.
func TestExamplesAreNotWritten(t *testing.T) {
	for _, c := range []struct {
		name, task string
		effects    tool.Effects
		says       []any
		ran        string
	}{
		{"mended", "Write down greeting.txt", 0, []any{call("1", "touch", `{"path":"docs/notes.md"}`), call("2", "touch", `{"path":"greeting.txt"}`), "Done."}, "greeting.txt"},
		{"said again", "Write down greeting.txt", 0, []any{call("1", "touch", `{"path":"docs/notes.md"}`), call("2", "touch", `{"path":"docs/notes.md"}`), "I cannot."}, ""},
		{"idempotent", "Write down greeting.txt", tool.Idempotent, []any{call("1", "touch", `{"path":"docs/notes.md"}`), "I cannot."}, ""},
		{"only read", "Show a file", tool.ReadOnly, []any{call("1", "touch", `{"path":"docs/notes.md"}`), "Done."}, "docs/notes.md"},
		{"asked for", "Write docs/notes.md", 0, []any{call("1", "touch", `{"path":"docs/notes.md"}`), "Done."}, "docs/notes.md"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var ran []string
			touch := tool.Func("touch", "Touch a file", func(_ context.Context, p touched) (string, error) {
				ran = append(ran, p.Path)
				return "ok", nil
			})
			touch.Effects = c.effects
			m := says(c.says...)
			a := &agent.Agent{Model: m, ID: "m", Tools: &invoke.Runner{Tools: tool.MustSet(touch)}, Store: new(journal.Memory)}
			var outcomes []invoke.Outcome
			for ev, err := range a.Run(t.Context(), llm.User(c.task)) {
				if err != nil {
					t.Fatal(err)
				}
				if o, ok := ev.(invoke.Outcome); ok {
					outcomes = append(outcomes, o)
				}
			}
			if got := strings.Join(ran, " "); got != c.ran {
				t.Errorf("ran %q, want %q", got, c.ran)
			}
			if c.ran == "docs/notes.md" {
				return
			}
			first := outcomes[0]
			if first.Error == nil || first.Error.Code != tool.Validation || !strings.Contains(first.Error.Message, `the value "docs/notes.md" is only an example`) {
				t.Errorf("got %+v", first.Error)
			}
			if r := first.Receipt.Repairs; len(r) != 1 || r[0].Rule != emulate.ExampleRule || r[0].Class != llm.Guess {
				t.Errorf("the receipt has %+v", r)
			}
		})
	}
}
