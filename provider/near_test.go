package provider_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
)

// A vendor whose name is misspelled is named in the error, before all that there are.
func TestNearVendors(t *testing.T) {
	names := []string{"laboratory"}
	for _, v := range provider.Vendors() {
		names = append(names, v.Name)
	}
	first := slices.Min(names)
	client := &provider.Client{Vendors: map[string]provider.Vendor{"laboratory": {BaseURL: "http://gpu:8000/v1", Wires: []string{"chat"}}}}
	for id, want := range map[string]string{
		"opnai/gpt-4o":                  `nobody is known to serve "opnai/gpt-4o"; did you mean openai/gpt-4o? Else put a vendor in front (` + first,
		"Antropic/claude-sonnet-4-5":    `; did you mean anthropic/claude-sonnet-4-5? `,
		"gogle/gemini-2.5-pro":          `; did you mean google/gemini-2.5-pro? `,
		"laboratry/m":                   `; did you mean laboratory/m? `,
		"open-router/qwen/qwen3-8b":     `; did you mean openrouter/qwen/qwen3-8b? `,
		"opnai+http://127.0.0.1:1/v1#m": `no vendor is called "opnai"; did you mean openai? There are ` + first,
		"microsoft/phi-4":               `nobody is known to serve "microsoft/phi-4": put a vendor in front (`,
		"tiiuae/falcon-7b":              `nobody is known to serve "tiiuae/falcon-7b": put a vendor in front (`,
		"Qwen/Qwen3-8B":                 `nobody is known to serve "Qwen/Qwen3-8B": put a vendor in front (`,
		"opnai":                         `nobody is known to serve "opnai": put a vendor in front (`,
	} {
		_, err := client.Open(id)
		if llm.KindOf(err) != llm.NotFound || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", id, err, want)
		}
	}
}
