package catalog

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestCost: the cost of usage, to the last digit.
func TestCost(t *testing.T) {
	for _, c := range []struct {
		id    string
		usage llm.Usage
		want  string // empty: unknown
	}{
		{"anthropic/claude-sonnet-4-5", llm.Usage{Input: 1_000_000}, "$3.00"},
		{"claude-sonnet-4-5", llm.Usage{Output: 1_000_000}, "$15.00"},
		{"claude-sonnet-4-5-20250929", llm.Usage{Output: 1}, "$0.000015"},
		{"claude-sonnet-4-5@20250929", llm.Usage{Output: 1}, ""},
		// Input includes tokens read from and written to the cache.
		{"claude-opus-4-7", llm.Usage{Input: 3_000_000, CacheRead: 1_000_000, CacheWrite: 1_000_000}, "$11.75"},
		{"claude-opus-4-7", llm.Usage{Input: 10, Hosted: map[string]int{"web_search": 3}}, "$0.03005"},
		{"claude-opus-4-7", llm.Usage{Input: 10, Hosted: map[string]int{"code_execution": 1}}, ""},
		{"openai/gpt-4o", llm.Usage{Input: 1_000_000}, "$2.50"},
		{"openai/gpt-4o-2024-05-13", llm.Usage{Input: 1_000_000}, "$5.00"},
		{"openai/gpt-4o-2024-11-20", llm.Usage{Input: 1_000_000}, "$2.50"},
		{"gpt-4o-2099-01-01", llm.Usage{Input: 1_000_000}, "$2.50"},
		{"openai/gpt-5.4", llm.Usage{Input: 272_000, Output: 1_000_000}, "$15.68"},
		{"openai/gpt-5.4", llm.Usage{Input: 272_001, Output: 1_000_000}, "$23.860005"},
		{"gemini/gemini-2.5-pro", llm.Usage{Input: 100, Output: 100, Reasoning: 90}, "$0.001125"},
		{"groq/openai/gpt-oss-120b", llm.Usage{Input: 1_000_000}, "$0.15"},
		{"bedrock/us.anthropic.claude-opus-4-7", llm.Usage{Input: 1_000_000}, "$5.00"},
		{"ollama/qwen3:8b", llm.Usage{Input: 1_000_000, Output: 7}, "$0.00"},
		// Unknown.
		{"ollama-cloud/gpt-oss:120b", llm.Usage{Input: 1}, ""},
		{"ollama/gpt-oss:120b-cloud", llm.Usage{Input: 1}, ""},
		{"openrouter/anthropic/claude-sonnet-4-5", llm.Usage{Input: 1}, ""},
		{"anthropic+http://127.0.0.1:9/v1#claude-sonnet-4-5", llm.Usage{Input: 1}, ""},
		{"claude-sonnet-99", llm.Usage{Input: 1}, ""},
		{"house-model-9b", llm.Usage{}, ""},
		{"ft:gpt-4o:acme::x", llm.Usage{Input: 1}, ""},
		{"openai/gpt-4o", llm.Usage{Input: math.MaxInt}, ""},
	} {
		got, ok := Default().Lookup(c.id).Cost(c.usage)
		if ok != (c.want != "") || ok && got.String() != c.want {
			t.Errorf("%s: %+v costs %s, known %v, want %q", c.id, c.usage, got, ok, c.want)
		}
	}
}

// TestUserPrice: the user's file wins, and its mistakes are reported.
func TestUserPrice(t *testing.T) {
	c, err := Default().Load("models.yaml", []byte(`
models:
  claude-sonnet-4-5: {price: {input: 1, output: 2, cache_read: 0.5, date: 2026-11-01}}
  house-model-9b: {price: {input: 0, output: 0}}
  gpt-4o: {price: null}
rules:
  - match: {provider: openrouter}
    set: {price: {input: 4, output: 8, above: 1000, long: {input: 8, output: 16}, search: 0.02}}
`))
	if err != nil {
		t.Fatal(err)
	}
	for id, want := range map[string]string{
		"claude-sonnet-4-5":                     "$3.50",
		"anthropic/claude-sonnet-4-5":           "$3.50",
		"house-model-9b":                        "$0.00",
		"openrouter/openai/gpt-5":               "$32.00",
		"openrouter/meta-llama/llama-3.3-70b":   "$32.00",
		"bedrock/us.anthropic.claude-opus-4-99": "",
		"gpt-4o":                                "",
	} {
		got, ok := c.Lookup(id).Cost(llm.Usage{Input: 2_000_000, CacheRead: 1_000_000, Output: 1_000_000})
		switch {
		case ok != (want != ""):
			t.Errorf("%s: known %v, want %q", id, ok, want)
		case ok && got.String() != want:
			t.Errorf("%s costs %s", id, got)
		}
	}
	for text, want := range map[string]string{
		`{price: 3}`:                       "expected keys and values",
		`{price: {input: 3}}`:              "needs input and output",
		`{price: {input: -3, output: 1}}`:  "amount of dollars",
		`{price: {input: 1e3, output: 1}}`: "amount of dollars",
		`{price: {input: 3, output: 1, long: {input: 1, output: 2}}}`: "go together",
		`{price: {input: 3, output: 1, tax: 2}}`:                      "unknown key",
	} {
		_, err := Default().Load("models.yaml", []byte("models: {x: "+text+"}"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "models.yaml:1:") {
			t.Errorf("%s: error %v, want %q", text, err, want)
		}
	}
}

// TestPriceList: ids name every host of the list, every day is valid, and every
// price is in the right order.
func TestPriceList(t *testing.T) {
	for host, s := range prices().sellers {
		if _, from := prices().of(&ID{Raw: host + "/" + firstOf(s)}); from != host {
			t.Errorf("no id is asked at %s", host)
		}
		for name, p := range s.models {
			if len(p.Date) != 10 || p.CacheRead > p.Input || p.Input > p.Output || p.Above > 0 && (p.Long.Input < p.Input || p.Long.Output < p.Output) {
				t.Errorf("%s/%s: %+v", host, name, p)
			}
			m := Default().Lookup(host + "/" + name)
			if m.Kind != "chat" {
				t.Errorf("%s/%s is %s", host, name, m.Kind)
			}
		}
	}
	for f := range prices().families {
		if vocabulary().families[f] == nil && f != "o-series" {
			t.Errorf("there is no family %s", f)
		}
	}
}

func firstOf(s *seller) string {
	for name := range s.models {
		return name
	}
	return "any"
}

// TestPriceShown: the explanation of a model includes the price, with its day
// and source.
func TestPriceShown(t *testing.T) {
	m := Default().Lookup("claude-opus-4-7")
	why := m.Explain()[fieldPrice]
	if why.Value != "$5.00 in, $25.00 out, $0.50 cache read, $6.25 cache write per million tokens (2026-07-02)" || why.Rule != "prices of anthropic" {
		t.Errorf("explained as %+v", why)
	}
	var shown struct {
		Capability struct{ Price json.RawMessage }
	}
	b, err := json.Marshal(m)
	if err != nil || json.Unmarshal(b, &shown) != nil {
		t.Fatal(err)
	}
	if got := string(shown.Capability.Price); got != `{"input":5,"output":25,"cache_read":0.5,"cache_write":6.25,"search":0.01,"date":"2026-07-02"}` {
		t.Error(got)
	}
}

func TestMoney(t *testing.T) {
	for text, want := range map[string]Money{"0.5": Dollar / 2, "$2": 2 * Dollar, "0.000000000001": 1, "1000000": 1_000_000 * Dollar, "007": 7 * Dollar} {
		if m, err := ParseMoney(text); err != nil || m != want {
			t.Errorf("%s is %d, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "-1", "1.", ".5", "1e3", "1,5", "1.0000000000001", "1000001", "99999999999999999999", "one", "0.5-1"} {
		if m, err := ParseMoney(text); err == nil {
			t.Errorf("%q is %s", text, m)
		}
	}
	if s := (-Dollar / 4).String(); s != "-$0.25" {
		t.Error(s)
	}
}
