package emulate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
)

// writer is a model of a program's own, which only writes text. This one has
// its answers by heart; a real one would run a model or call a service.
type writer struct{ answers []string }

// Stream yields the answer in pieces, as a model writes it.
func (w *writer) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		answer := w.answers[len(req.Messages)/2] // one turn of the user, one of the model, and so on
		for word := range strings.SplitAfterSeq(answer, " ") {
			if !yield(llm.TextDelta{Text: word}, nil) {
				return
			}
		}
		yield(llm.Finish{Reason: llm.Stop}, nil)
	}
}

// A model without tool calling gets it: the tools are taught in the prompt, the
// call is read from the text, and its result goes back as text.
func ExampleEmulation_Around() {
	mine := &writer{answers: []string{
		"Let me see.\n```json\n{\"tool\": \"get_weather\", \"arguments\": {\"city\": \"Florence\"}}\n```",
		"It is 21 degrees in Florence.",
	}}
	model := emulate.Emulation{Style: "json", Context: 32_000}.Around(mine)

	req := &llm.Request{
		Messages: []llm.Message{llm.User("How warm is it in Florence?")},
		Tools: []llm.ToolDef{{
			Name: "get_weather", Description: "Current weather in a city.",
			Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}},
	}
	first, err := llm.Generate(context.Background(), model, req)
	if err != nil {
		fmt.Println(err)
		return
	}
	call := first.Message.Calls()[0]
	fmt.Println(strings.TrimSpace(first.Message.Text()))
	fmt.Println(first.Finish.Reason, call.ID, call.Name, string(call.Args))

	req.Messages = append(req.Messages, first.Message,
		llm.Results(llm.Result{CallID: call.ID, Parts: []llm.Part{llm.Text{Text: "21 °C"}}}))
	last, err := llm.Generate(context.Background(), model, req)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(last.Message.Text())
	// Output:
	// Let me see.
	// tool_calls call_1 get_weather {"city": "Florence"}
	// It is 21 degrees in Florence.
}
