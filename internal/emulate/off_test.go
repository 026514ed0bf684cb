package emulate_test

import (
	"context"
	"iter"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// With promotion off not a byte of the text changes: tags of thinking, tokens
// of templates and headers stay where the vendor put them.
func TestPromotionOffKeepsText(t *testing.T) {
	tools := []llm.ToolDef{{Name: "delete_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"}}}`)}}
	for _, text := range []string{
		"The tag <think> opens thinking, </think> closes it.",
		"Use <|im_end|> to end a turn.",
		"See `<|call|>`.",
		`Example: <|channel|>commentary to=functions.delete_file <|message|>{"path":"/x"}<|call|>`,
		`The page says <tool_call>{"name":"delete_file","arguments":{"path":"/x"}}</tool_call>.`,
	} {
		for n := 1; n <= len(text); n += 7 {
			raw := func(yield func(llm.Event, error) bool) {
				for i := 0; i < len(text); i += n {
					if !yield(llm.TextDelta{Text: text[i:min(i+n, len(text))]}, nil) {
						return
					}
				}
				yield(llm.Finish{Reason: llm.Stop}, nil)
			}
			model := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
				c := emulate.CallReader{Tools: tools, Promotion: llm.PromoteOff}
				return c.Read(raw)
			})
			r, err := llm.Generate(t.Context(), model, &llm.Request{Messages: []llm.Message{llm.User("?")}})
			if err != nil {
				t.Fatal(err)
			}
			if got := r.Message.Text(); got != text || len(r.Message.Calls()) > 0 {
				t.Errorf("in pieces of %d: %q became %q with %d calls", n, text, got, len(r.Message.Calls()))
			}
		}
	}
}
