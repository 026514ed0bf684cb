package emulate_test

import (
	"context"
	"encoding/json"
	"iter"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
)

// stubborn is a model of a program's own that always gives the same answer, in
// pieces of five bytes, whatever it is asked.
type stubborn string

func (s stubborn) Stream(ctx context.Context, _ *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for text := range pieces(string(s), 5) {
			if err := ctx.Err(); err != nil {
				yield(nil, &llm.Error{Op: "stubborn", Kind: llm.Canceled, Err: err})
				return
			}
			if !yield(llm.TextDelta{Text: text}, nil) {
				return
			}
		}
		yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// What is promised about every model holds for one that calls tools only
// because it is emulated, even if it keeps to nothing it is told.
func TestAroundKeepsThePromisesOfModels(t *testing.T) {
	calls := []llm.Part{llm.Text{Text: "I look.\n"},
		llm.Call{Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)},
		llm.Call{Name: "get_weather", Args: json.RawMessage(`{"city":"Oslo"}`)}}
	for style, name := range dialects {
		text, err := dialect.Builtin().Render(name, calls...)
		if err != nil {
			t.Fatal(err)
		}
		t.Run("style "+style, func(t *testing.T) {
			llmtest.TestModel(t, func(*testing.T) llm.Model { return emulate.Emulation{Style: style}.Around(stubborn(text)) })
		})
	}
	t.Run("constrained", func(t *testing.T) {
		const text = `{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Rome"}}, {"name": "get_weather", "arguments": {"city": "Oslo"}}]}`
		llmtest.TestModel(t, func(*testing.T) llm.Model {
			return emulate.Emulation{Host: emulate.OutputHost}.Around(stubborn(text))
		})
	})
	t.Run("small", func(t *testing.T) {
		const text = `{"city": "Rome"}`
		llmtest.TestModel(t, func(*testing.T) llm.Model {
			return emulate.Emulation{Host: emulate.OutputHost, Size: 100_000_000, Decider: smallmodel.Wording{}}.Around(stubborn(text))
		})
	})
	t.Run("text", func(t *testing.T) {
		llmtest.TestModel(t, func(*testing.T) llm.Model { return emulate.Emulation{}.Around(stubborn("It is warm.")) })
	})
}
