package emulate_test

import (
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/llm"
)

// A model that was never taught to call tools gets a prompt that does.
func ExampleTeach() {
	e, err := emulate.Teach(emulate.PromptOptions{
		Style: "hermes",
		Tools: []llm.ToolDef{{
			Name: "get_weather", Description: "Weather forecast for a city.",
			Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
		}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(e.System)
	fmt.Printf("stop at %q\n", e.Stop)
	// Output:
	// You can call these tools:
	// - get_weather(city: string): Weather forecast for a city.
	// To call a tool, write a JSON object between these tags, exactly in this form:
	// <tool_call>
	// {"name": "TOOL_NAME", "arguments": {"PARAMETER_NAME": "VALUE"}}
	// </tool_call>
	// One call per answer. Then stop: the result comes as <tool_response>…</tool_response>. Never write a result yourself.
	// Example:
	// <tool_call>
	// {"name": "get_weather", "arguments": {"city": "some city"}}
	// </tool_call>
	// Call a tool only if you need one. Otherwise answer in plain text.
	// stop at ["<tool_response>"]
}
