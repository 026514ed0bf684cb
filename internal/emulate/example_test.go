package emulate_test

import (
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/llm"
)

// A host that decodes under a schema cannot write a broken call.
func ExampleEnvelope() {
	schema, err := emulate.Envelope(emulate.EnvelopeOptions{
		Tools:     []llm.ToolDef{{Name: "greet", Schema: json.RawMessage(`{"type":"object","properties":{"who":{"type":"string"}},"required":["who"]}`)}},
		Choice:    llm.ToolChoice{Mode: llm.MustCall},
		MaxString: 40,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(schema))
	// Output:
	// {"type":"object","properties":{"name":{"const":"greet"},"arguments":{"type":"object","properties":{"who":{"type":"string","maxLength":40}},"required":["who"]}},"required":["name","arguments"],"additionalProperties":false}
}
