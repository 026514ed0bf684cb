package provider_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// The ids that people write, and what becomes of them: the format they are
// asked in and how tools are, or what the refusal says.
func TestOpen(t *testing.T) {
	t.Setenv("AZURE_OPENAI_ENDPOINT", "https://mine.openai.azure.com/")
	t.Setenv("AWS_REGION", "eu-west-1")
	t.Setenv("GOOGLE_CLOUD_LOCATION", "global")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "demo")
	t.Setenv("OLLAMA_HOST", "0.0.0.0:11500")
	lab := map[string]provider.Vendor{"lab": {BaseURL: "http://gpu:8000/v1/", Wires: []string{"messages"}}, "bad": {BaseURL: "http://x", Wires: []string{"smoke"}}}
	scheme := func(rest string) (llm.Model, error) { return nil, &llm.Error{Kind: llm.NotFound, Op: "scheme " + rest} }
	client := &provider.Client{Vendors: lab, Schemes: map[string]func(string) (llm.Model, error){"sim": scheme}}
	for _, c := range []struct{ id, route, refusal string }{
		{"ollama/qwen3:8b", "native over ollama", ""},
		{"openai/gpt-5", "native over responses", ""},
		{"openai/gpt-5.1-codex", "native over responses", ""},
		{"anthropic/claude-sonnet-4-5", "native over messages", ""},
		{"gemini/gemini-2.5-pro", "native over gemini", ""},
		{"google/gemini-2.5-flash", "native over gemini", ""},
		{"openrouter/anthropic/claude-sonnet-4-5", "native over chat", ""},
		{"groq/llama-3.3-70b-versatile", "native over chat", ""},
		{"together/Qwen/Qwen2.5-72B-Instruct-Turbo", "native over chat", ""},
		{"fireworks/accounts/fireworks/models/llama-v3p1-70b-instruct", "native over chat", ""},
		{"deepseek/deepseek-chat", "native over chat", ""},
		{"mistral/mistral-large-latest", "native over chat", ""},
		{"vllm/Qwen/Qwen3-8B", "native over chat", ""},
		{"llamacpp/gemma-2b", "constrained over chat constrained by json_schema", ""},
		{"lmstudio/qwen2.5-7b-instruct", "native over chat", ""},
		{"xai/grok-4", "native over chat", ""},
		{"cohere/command-a-03-2025", "native over chat", ""},
		{"azure/gpt-4o", "native over chat", ""},
		{"vertex/gemini-2.5-pro", "native over gemini", ""},
		{"vertex/claude-sonnet-4-5@20250929", "native over messages", ""},
		{"vertex-claude/claude-sonnet-4-5", "native over messages", ""},
		{"bedrock-claude/us.anthropic.claude-sonnet-4-5-20250929-v1:0", "native over messages", ""},
		{"bedrock/openai.gpt-oss-120b-1:0", "native over converse", ""},
		{"bedrock/anthropic.claude-3-5-sonnet-20241022-v2:0", "native over converse", ""},
		{"bedrock/us.amazon.nova-pro-v1:0", "native over converse", ""},
		{"bedrock/arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-20250514-v1:0", "native over converse", ""},
		{"bedrock-openai/openai.gpt-oss-120b-1:0", "native over chat", ""},
		{"claude-sonnet-4-5", "native over messages", ""},
		{"gpt-4o", "native over chat", ""},
		{"o3", "native over chat", ""},
		{"http://127.0.0.1:8080/v1#who-knows", "prompted over chat", ""},
		{"https://host/v1/#Qwen/Qwen3-8B", "native over chat", ""},
		{"anthropic+http://127.0.0.1:8080/v1#claude-3-5-sonnet", "native over messages", ""},
		{"lab/claude-3-5-sonnet", "native over messages", ""},

		{"sim/native", "", "scheme native"},
		{"bedrock-openai/anthropic.claude-3-5-sonnet-20241022-v2:0", "", "see bedrock/"},
		{"vertex/llama-3.1-405b-instruct-maas", "", "Google accounts"},
		{"openai/text-embedding-3-small", "", "not a chat model"},
		{"openai/", "", "lacks the name"},
		{"nobody/model", "", "nobody is known to serve"},
		{"who-knows", "", "nobody is known to serve"},
		{"", "", "nobody is known to serve"},
		{"bad/m", "", `unknown format "smoke"; the formats are chat, `},
		{"openai-compatible/m", "", "no address of its own"},
		{"http://host/v1", "", "name of a model"},
		{"http://#m", "", "no host"},
		{"ftp://host/v1#m", "", "http://"},
		{"http://host/v1?x=1#m", "", "query"},
		{"nobody+http://host/v1#m", "", "no vendor is called"},
		{strings.Repeat("x", 5000), "", "bytes"},
	} {
		m, err := client.Open(c.id)
		if c.refusal != "" {
			if err == nil || !strings.Contains(err.Error(), c.refusal) {
				t.Errorf("%.60s: %v, want %q", c.id, err, c.refusal)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.id, err)
			continue
		}
		route, err := m.(*provider.Model).Explain(nil)
		if err != nil || !strings.HasPrefix(route.String(), c.route) || len(route.Why) == 0 {
			t.Errorf("%s: %s (%v) %v, want %s", c.id, route, route.Why, err, c.route)
		}
	}
}

// Without its region a vendor's address cannot be known.
func TestOpenNeedsVariables(t *testing.T) {
	t.Setenv("AWS_REGION", "")
	t.Setenv("AZURE_OPENAI_ENDPOINT", "")
	for id, name := range map[string]string{"bedrock/openai.gpt-oss-20b": "AWS_REGION", "azure/gpt-4o": "AZURE_OPENAI_ENDPOINT"} {
		if _, err := provider.Open(id); llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// Every vendor of the table is known to its own name, and can be changed.
func TestVendorTable(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range provider.Vendors() {
		if seen[v.Name] || len(v.Wires) == 0 {
			t.Errorf("the row %+v", v)
		}
		seen[v.Name] = true
		if v.KeyEnv != "" && v.BaseEnv != "" {
			t.Errorf("%s: a variable that moves the address would move the key", v.Name)
		}
		if v.KeyEnv != "" && !strings.HasPrefix(v.BaseURL, "https://") && !strings.HasPrefix(v.BaseURL, "${") {
			t.Errorf("%s: its key would travel over plain http", v.Name)
		}
	}
	c := &provider.Client{Vendors: map[string]provider.Vendor{"ollama": {BaseURL: "http://gpu:11434/api"}}, Catalog: catalog.Default()}
	if m, err := c.Open("ollama/qwen3:8b"); err != nil || m == nil {
		t.Error(err)
	}
}

// A models file may set every format of package wire. Open refuses other names.
func TestOpenWireFromModelsFile(t *testing.T) {
	vendors := map[string]provider.Vendor{"lab": {BaseURL: "http://gpu:8000", Wires: wire.Formats()}}
	for _, key := range []string{"wire", "thinking_wire"} {
		for _, format := range append(wire.Formats(), "convers") {
			models, err := catalog.Default().Load("models.yaml", []byte("models:\n  lab/m: {native_tools: true, reasoning: true, "+key+": "+format+"}\n"))
			if err != nil {
				t.Fatal(err)
			}
			m, err := (&provider.Client{Catalog: models, Vendors: vendors}).Open("lab/m")
			switch {
			case format == "convers":
				want := `the catalogue sets the wire of lab/m: unknown format "convers"; the formats are ` + strings.Join(wire.Formats(), ", ") + `. Did you mean "converse"?`
				if llm.KindOf(err) != llm.Invalid || !strings.Contains(err.Error(), want) {
					t.Errorf("%s: got %v, want %s", key, err, want)
				}
			case err != nil:
				t.Errorf("%s: %s: %v", key, format, err)
			default:
				if route, err := m.(*provider.Model).Explain(nil); err != nil || route.Wire != format {
					t.Errorf("%s: %s: opened as %s, %v", key, format, route.Wire, err)
				}
			}
		}
	}
}
