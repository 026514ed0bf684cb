package catalog_test

import (
	"fmt"
	"log"

	"github.com/toolpost/toolpost/catalog"
)

func ExampleParseID() {
	for _, s := range []string{"us.anthropic.claude-3-5-sonnet-20241022-v2:0", "groq/llama3.3:70b", "Qwen/Qwen3-235B-A22B"} {
		id := catalog.ParseID(s)
		fmt.Printf("%s %s %q %dB %q\n", id.Family, id.Version, id.Variant, id.Size/1e9, id.Provider)
	}
	// Output:
	// claude 3.5 "sonnet" 0B "bedrock"
	// llama 3.3 "" 70B "groq"
	// qwen 3 "" 235B ""
}

func ExampleCatalog_Lookup() {
	m := catalog.Default().Lookup("claude-sonnet-4-5")
	fmt.Println(m.NativeTools, m.Wire, m.ContextWindow)
	fmt.Println(m.ToolChoiceRequired)
	fmt.Println(m.ToolChoiceRequired.In(catalog.Thinking))
	// Output:
	// yes messages 200000
	// yes unless thinking
	// no
}

func ExampleCatalog_Load() {
	c, err := catalog.Default().Load("models.yaml", []byte(`
models:
  acme/support-bot:
    base: llama3.3:70b
    native_tools: false
rules:
  - match: {provider: ollama, size: "<10b"}
    set: {context_window: 4096}
`))
	if err != nil {
		log.Fatal(err)
	}
	m := c.Lookup("acme/support-bot")
	fmt.Println(m.NativeTools, m.Dialect)
	fmt.Println(c.Lookup("ollama/qwen3:8b").ContextWindow)
	// Output:
	// no llama3_json
	// 4096
}

func ExampleModel_Explain() {
	c := catalog.Default().With(catalog.Model{
		ID:          catalog.ID{Raw: "house-model"},
		NativeTools: catalog.Answer{Support: catalog.Yes},
	})
	for _, why := range c.Lookup("house-model").Explain()[1:2] {
		fmt.Printf("%s is %s, says %s\n", why.Field, why.Value, why.From)
	}
	// Output:
	// native_tools is yes, says program
}
