package catalog

import (
	"maps"
	"strings"
	"testing"
)

// TestFileErrors: mistakes are refused, with file and line.
func TestFileErrors(t *testing.T) {
	for _, c := range []struct{ why, file, err string }{
		{"a key nobody knows", "models:\n  a:\n    native_tool: true\n", `models.yaml:3: unknown key "native_tool"; known: base, kind, native_tools`},
		{"a top key nobody knows", "model:\n  a: {}\n", `models.yaml:2: unknown key "model"; known: models, rules`},
		{"a match nobody knows", "rules:\n  - match: {famly: gpt}\n    set: {kind: chat}\n", `models.yaml:2: unknown key "famly"`},
		{"a key twice", "models:\n  a: {kind: chat}\n  a: {kind: chat}\n", `models.yaml:3: `},
		{"a model twice in another case", "models:\n  a: {kind: chat}\n  A: {kind: chat}\n", `models.yaml:3: the model "A" is there twice`},
		{"no answer", "models:\n  a:\n    native_tools: maybe\n", `models.yaml:3: expected true, false, null or "true unless thinking", found "maybe"`},
		{"no condition", "models:\n  a:\n    native_tools: true unless raining\n", `models.yaml:3: unknown condition "raining"; known: thinking, tools, streaming`},
		{"no number", "models:\n  a:\n    context_window: 8k\n", `models.yaml:3: expected a number from 0 to 2147483647, found "8k"`},
		{"too large", "models:\n  a:\n    context_window: 99999999999\n", `models.yaml:3: expected a number`},
		{"negative", "models:\n  a:\n    context_window: -1\n", `models.yaml:3: expected a number`},
		{"no limit", "models:\n  a:\n    call_id: 9 letters\n", `models.yaml:3: expected a pattern such as [a-zA-Z0-9_-]{1,64}`},
		{"no version", "rules:\n  - match: {version: \">=three\"}\n    set: {kind: chat}\n", `models.yaml:2: "three" is not a version such as 3.5`},
		{"no size", "rules:\n  - match: {size: \">=big\"}\n    set: {kind: chat}\n", `models.yaml:2: "big" is not a size such as 70b or 8x7b`},
		{"a rule without an effect", "rules:\n  - match: {family: gpt}\n", `models.yaml:2: a rule needs something to set`},
		{"a model without an effect", "models:\n  a: {}\n", `models.yaml:2: nothing is said about "a"`},
		{"a list for keys", "models: [a, b]\n", `models.yaml:1: expected keys and values, found a list`},
		{"an alias, which can blow up", "models:\n  a: &x {kind: chat}\n  b: *x\n", `models.yaml:2: expected keys and values, found an anchor, alias or tag`},
		{"two documents", "models: {}\n---\nmodels: {}\n", `models.yaml:3: a second document begins here`},
		{"no YAML", "models:\n\t- x: [\n", `models.yaml:`},
	} {
		_, err := Default().Load("models.yaml", []byte(c.file))
		if err == nil || !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: got %v, want %s", c.why, err, c.err)
		}
	}
	if _, err := Default().Load("models.yaml", make([]byte, maxFile+1)); err == nil || !strings.Contains(err.Error(), "more than") {
		t.Errorf("too large: %v", err)
	}
}

// TestFileMatches: every way to select the models of a rule.
func TestFileMatches(t *testing.T) {
	for _, c := range []struct {
		match   string
		yes, no []string
	}{
		{"family: llama", []string{"llama3", "codellama:7b"}, []string{"qwen3"}},
		{"family: [gpt, o-series]", []string{"gpt-4o", "o3-mini"}, []string{"gpt-oss:20b"}},
		{"family: qwen, version: \">=2.5 <3\"", []string{"qwen2.5:7b"}, []string{"qwen3:8b", "qwen2:7b", "qwen-max"}},
		{"family: qwen, version: none", []string{"qwen-max"}, []string{"qwen3:8b"}},
		{"size: \"<10b\"", []string{"llama3:8b"}, []string{"llama3:70b", "llama3"}},
		{"size: none", []string{"llama3"}, []string{"llama3:8b"}},
		{"revision: \"<0.3\"", []string{"mistral-7b-instruct-v0.2"}, []string{"mistral-7b-instruct-v0.3", "mistral-7b"}},
		{"variant: [coder, house]", []string{"qwen3-coder:30b"}, []string{"qwen3:30b"}},
		{"without: [instruct]", []string{"qwen3:30b"}, []string{"qwen3-30b-instruct"}},
		{"provider: ollama", []string{"ollama/qwen3"}, []string{"qwen3", "groq/qwen3"}},
		{"org: acme", []string{"acme/qwen3"}, []string{"qwen3"}},
		{"custom: true", []string{"acme/qwen3"}, []string{"qwen3"}},
		{"custom: false", []string{"qwen3"}, []string{"acme/qwen3"}},
		{"id: \"*/Acme-*-7b\"", []string{"x/acme-qwen3-7B", "x/y/ACME--7b"}, []string{"acme-qwen3-7b", "x/acme-qwen3-7b-q4"}},
	} {
		cat, err := Default().Load("models.yaml", []byte("rules:\n  - match: {"+c.match+"}\n    set: {context_window: 4711}\n"))
		if err != nil {
			t.Fatalf("%s: %v", c.match, err)
		}
		for _, id := range c.yes {
			if cat.Lookup(id).ContextWindow != 4711 {
				t.Errorf("{%s} does not match %s", c.match, id)
			}
		}
		for _, id := range c.no {
			if cat.Lookup(id).ContextWindow == 4711 {
				t.Errorf("{%s} matches %s", c.match, id)
			}
		}
	}
}

// Files may name any wire format: the catalogue does not know the list. Wires
// yields them with their place.
func TestWires(t *testing.T) {
	c, err := Default().Load("models.yaml", []byte("rules:\n  - match: {family: gpt}\n    set: {thinking_wire: morse}\nmodels:\n  a: {wire: telegraph}\n"))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for place, name := range c.Wires() {
		got[place] = name
	}
	if want := map[string]string{"models.yaml:2": "morse", "models.yaml:5": "telegraph"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if c.Lookup("a").Wire != "telegraph" {
		t.Error("the wire of the file is not used")
	}
}

// TestEntriesMatchWhereverServed: an entry for a model holds at any address and any host. A longer key wins.
func TestEntriesMatchWhereverServed(t *testing.T) {
	c, err := Default().Load("models.yaml", []byte(`models:
  mycompany/llama3.3-code-ft: {context_window: 1000}
  gpu/mycompany/llama3.3-code-ft: {context_window: 2000}
  house-9b: {base: "qwen3:8b", context_window: 3000}
  http://10.0.0.1:8000/v1#house-9b: {context_window: 4000}
`))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]int{
		"mycompany/llama3.3-code-ft":                             1000,
		"MyCompany/Llama3.3-code-ft":                             1000,
		"http://127.0.0.1:8000/v1#mycompany/llama3.3-code-ft":    1000,
		"ollama+http://10.0.0.1#mycompany/llama3.3-code-ft":      1000,
		"lab/mycompany/llama3.3-code-ft":                         1000,
		"gpu/mycompany/llama3.3-code-ft":                         2000,
		"openrouter/mycompany/llama3.3-code-ft":                  1000,
		"house-9b":                                               3000,
		"lab/house-9b":                                           3000,
		"http://10.0.0.2:8000/v1#house-9b":                       3000,
		"http://10.0.0.1:8000/v1#house-9b":                       4000,
		"http://127.0.0.1:8000/v1#mycompany/llama3.3-code-ft-v2": 128000,
	} {
		m := c.Lookup(id)
		if m.ContextWindow != want {
			t.Errorf("%s: a context of %d, want %d", id, m.ContextWindow, want)
		}
		if strings.HasSuffix(id, "house-9b") && !strings.Contains(id, "10.0.0.1") && m.ID.Family != "qwen" {
			t.Errorf("%s: the family is %s, not that of its base", id, m.ID.Family)
		}
	}
}
