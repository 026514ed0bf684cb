package llm_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"

	"github.com/toolpost/toolpost/llm"
)

// A model is anything that answers a request with events. This one calls the
// first tool it is offered.
func Example() {
	model := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			call := llm.Call{ID: "call_1", Name: req.Tools[0].Name, Args: json.RawMessage(`{"city":"Florence"}`)}
			_ = yield(llm.TextDelta{Text: "Let me look."}, nil) &&
				yield(llm.CallStart{ID: call.ID, Name: call.Name}, nil) &&
				yield(llm.CallDelta{ID: call.ID, Args: string(call.Args)}, nil) &&
				yield(call, nil) &&
				yield(llm.Finish{Reason: llm.ToolCalls}, nil)
		}
	})

	req := &llm.Request{
		Messages: []llm.Message{llm.User("How is the weather in Florence?")},
		Tools: []llm.ToolDef{{
			Name:        "weather",
			Description: "Current weather in a city",
			Schema:      json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}},
	}
	answer, err := llm.Generate(context.Background(), model, req)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(answer.Message.Text())
	for _, call := range answer.Message.Calls() {
		fmt.Println(call.Name, string(call.Args))
	}
	// Output:
	// Let me look.
	// weather {"city":"Florence"}
}
