package agent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// textModel is a model of a program's own that only writes text: a call at
// first, then what the result of the call says.
type textModel struct{ call string }

func (m textModel) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		text := m.call
		if last := req.Messages[len(req.Messages)-1].Text(); strings.Contains(last, "degrees") {
			text = "It is 21 degrees."
		}
		for _, c := range []byte(text) {
			if !yield(llm.TextDelta{Text: string(rune(c))}, nil) {
				return
			}
		}
		yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// An agent works on a model of a program's own that knows nothing of tools.
func TestAgentOnAnEmulatedOwnModel(t *testing.T) {
	type city struct {
		City string `json:"city"`
	}
	for style, call := range map[string]string{
		"json":     "```json\n{\"tool\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n```",
		"hermes":   "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Rome\"}}\n</tool_call>",
		"pythonic": "[get_weather(city=\"Rome\")]",
		"react":    "Action: get_weather\nAction Input: {\"city\": \"Rome\"}",
		"xml":      "<function_calls>\n<invoke name=\"get_weather\">\n<parameter name=\"city\">Rome</parameter>\n</invoke>\n</function_calls>",
	} {
		asked := []string{}
		weather := tool.Func("get_weather", "Current weather in a city", func(_ context.Context, in city) (string, error) {
			asked = append(asked, in.City)
			return "21 degrees", nil
		})
		a := agent.Agent{Model: emulate.Emulation{Style: style}.Around(textModel{call}), Tools: &invoke.Runner{Tools: tool.MustSet(weather)}}
		done, err := a.Ask(t.Context(), llm.User("How warm is it in Rome?"))
		if err != nil {
			t.Fatalf("%s: %v", style, err)
		}
		if fmt.Sprint(asked) != "[Rome]" || done.Text != "It is 21 degrees." {
			t.Errorf("%s: the tool was run for %v, the answer is %q", style, asked, done.Text)
		}
	}
}
