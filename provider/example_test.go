package provider_test

import (
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// A model is opened by id and asked for events. Here the address is that of
// the simulator; "ollama/qwen3:8b" or "anthropic/claude-sonnet-4-5" work the
// same way.
func Example() {
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	model, err := provider.Open(server.URL + "/v1#sim/native+no-tools")
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := llm.Generate(context.Background(), model, &llm.Request{Messages: []llm.Message{llm.User("What is the capital of France?")}})
	fmt.Println(answer.Finish.Reason, err)
	// Output: stop <nil>
}

// Explain says how a model would be asked, and why, without asking it.
func ExampleModel_Explain() {
	model, err := provider.Open("ollama/qwen3:8b")
	if err != nil {
		fmt.Println(err)
		return
	}
	route, err := model.(*provider.Model).Explain(nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(route)
	fmt.Println(route.Why[0])
	// Output:
	// native over ollama dialect hermes_json
	// the catalogue says that the model calls tools (rule qwen-3)
}

// A row of one's own binds an address, a format and a key.
func ExampleClient() {
	client := &provider.Client{Vendors: map[string]provider.Vendor{
		"lab": {BaseURL: "https://models.lab.example/v1", Wires: []string{"messages"}, KeyEnv: "LAB_KEY"},
	}}
	model, err := client.Open("lab/claude-sonnet-4-5")
	if err != nil {
		fmt.Println(err)
		return
	}
	route, err := model.(*provider.Model).Explain(nil)
	fmt.Println(route.Kind, "over", route.Wire, err)
	// Output: native over messages <nil>
}
