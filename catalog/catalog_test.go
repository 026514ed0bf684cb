package catalog

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
)

// capabilityTable is the minimum that the catalogue must know. Columns: native tools, parallel, streaming, JSON,
// reasoning (1, 0, ? or 1* for a condition), output, context ("-" is not compared). Where older tables differ, the
// reason follows the row.
const capabilityTable = `
# id | nat par str json reas | out | ctx
gpt-4o                     | 1 1 1 1 0 | 16384 | 128000
gpt-4o-mini                | 1 1 1 1 0 | 16384 | 128000
gpt-4-turbo                | 1 1 1 1 0 | 4096 | 128000 | arguments stream with every chat model of OpenAI
gpt-4                      | 1 1 1 0 0 | 8192 | 8192 | as above
gpt-3.5-turbo              | 1 1 1 1 0 | 4096 | 16385 | as above
gpt-4.1                    | 1 1 1 1 0 | 32768 | 1047576 | not a gpt-4 of 8192 tokens
gpt-5                      | 1 1 1 1 1 | 128000 | 400000
gpt-5.1-codex              | 1 1 1 1 1 | 128000 | 400000
o1                         | 1 0 1 1 1 | 100000 | 200000 | parallel_tool_calls is refused
o3-mini                    | 1 0 1 1 1 | 100000 | 200000
claude-sonnet-4            | 1 1 1 1* 1 | 64000 | 200000 | JSON by a forced tool, refused while thinking
claude-3.5-sonnet          | 1 1 1 1 0 | 8192 | 200000
claude-3-opus              | 1 1 0 0 0 | 4096 | 200000
llama3.3:70b               | 1 0 0 1 0 | 8192 | 128000
llama3.1-8b                | 1 0 0 1 0 | 8192 | 128000
llama3:70b                 | 1 0 0 0 0 | 4096 | 8192
llama3:8b                  | 0 0 0 1 0 | - | 8192
llama3                     | 0 0 0 1 0 | - | 8192
llama2:7b                  | 0 0 0 0 0 | - | 4096
qwen3:32b                  | 1 1 0 1* 1 | 8192 | 128000 | JSON is refused while thinking
qwen2.5:32b                | 1 0 0 1 0 | 8192 | 32768
qwen2:7b                   | 0 0 0 1 0 | - | 32768
mistral-large              | 1 1 0 1 0 | 16384 | 131072 | the output of the current model
mixtral-8x7b               | 1 0 0 0 0 | 4096 | 32768
mistral:7b                 | 1 0 0 0 0 | 4096 | 32768
gemini-2.5-pro             | 1 1 1 1* 1 | 65536 | 1048576 | JSON is refused with tools
gemini-2.0-flash           | 1 1 1 1* 0 | 8192 | 1048576 | thinking came with 2.5
gemini-1.5-flash           | 1 1 0 1* 0 | 8192 | 1048576
deepseek-r1                | 1 0 0 1 1 | 8192 | 64000
deepseek-v3                | 1 0 0 1 0 | 8192 | 64000
gemma2:9b                  | 0 0 0 1 0 | - | 8192
phi-3                      | 0 0 ? 1 0 | - | 128000
codellama:7b               | 0 0 0 0 0 | - | 16384
starcoder2:7b              | 0 0 ? ? 0 | - | 8192
yi:34b                     | 0 ? ? ? 0 | - | 32768
falcon3:7b                 | 0 0 ? ? 0 | - | 32768
mycompany/llama3.3-code-ft | 1 0 0 1 0 | 8192 | 128000 | a fine-tune is like its base
totally-unknown-model-v2   | 0 ? ? ? ? | - | 8192
`

func TestCapabilities(t *testing.T) {
	letters := map[Support]string{Unknown: "?", No: "0", Yes: "1"}
	for _, row := range idRows(capabilityTable) {
		m := Default().Lookup(row[0])
		var got []string
		for _, a := range []Answer{m.NativeTools, m.ParallelTools, m.ToolStreaming, m.JSONMode, m.Reasoning} {
			s := letters[a.Support]
			if a.Unless != 0 {
				s += "*"
			}
			got = append(got, s)
		}
		if s := strings.Join(got, " "); s != row[1] {
			t.Errorf("%s: got %s, want %s", row[0], s, row[1])
		}
		for i, n := range []int{m.MaxOutput, m.ContextWindow} {
			if want := row[2+i]; want != "" && want != fields[11-i].format(&m) {
				t.Errorf("%s: got %d, want %s tokens", row[0], n, want)
			}
		}
	}
}

// TestDetails: single facts that decide how a request is written.
func TestDetails(t *testing.T) {
	for _, c := range []struct{ id, key, want string }{
		{"claude-sonnet-4-5", "tool_choice_required", "yes unless thinking"},
		{"claude-sonnet-4-5", "needs_tool_schema_strict", "yes"},
		{"claude-sonnet-4-5", "tool_result_in_user_message", "yes"},
		{"claude-sonnet-4-5", "wire", "messages"},
		{"openrouter/anthropic/claude-sonnet-4-5", "wire", "chat"},
		{"vertex_ai/claude-sonnet-4@20250514", "wire", "messages"},
		{"ollama/qwen3:8b", "wire", "ollama"},
		{"o3", "tool_choice_required", "no"},
		{"deepseek-reasoner", "tool_choice_required", "no"},
		{"ollama/llama3.3:70b", "tool_choice_required", "no"},
		{"llama3.3:70b", "tool_choice_required", "yes"},
		{"mistral-large-latest", "call_id", "[a-zA-Z0-9]{9}"},
		{"kimi-k2", "call_id_form", "functions.{name}:{index}"},
		{"gemini-2.5-pro", "tool_name", "[a-zA-Z0-9_.-]{1,64}"},
		{"claude-2.1", "emulation_style", "xml"},
		{"qwen3-coder-30b-a3b-instruct", "dialect", "qwen3_coder_xml"},
		{"qwen3-235b-a22b-thinking-2507", "thinking_open", "yes"},
		{"qwen3:8b", "thinking_open", "no"},
		{"glm-4.6", "dialect", "glm45"},
		{"glm-4.7", "thinking_open", "yes"},
		{"gpt-oss:20b", "dialect", "harmony"},
		{"deepseek-v3.1", "dialect", "deepseek_v31"},
		{"gpt-5.1-codex", "wire", "responses"},
		{"openrouter/nousresearch/hermes-3-llama-3.1-70b", "native_tools", "no"},
		{"hermes3:8b", "native_tools", "yes"},
		{"text-embedding-3-small", "kind", "embedding"},
		{"gpt-3.5-turbo-0301", "native_tools", "no"},
		{"azure/gpt-3.5-turbo-0301", "native_tools", "no"},
	} {
		m := Default().Lookup(c.id)
		i, ok := findField(c.key)
		if !ok {
			t.Fatalf("no field %s", c.key)
		}
		if got := fields[i].format(&m); got != c.want {
			t.Errorf("%s %s: got %s, want %s", c.id, c.key, got, c.want)
		}
	}
}

func TestUnknownModelWarns(t *testing.T) {
	m := Default().Lookup("123-invalid")
	if m.Known() || m.NativeTools.Support != No || m.Emulation != "json" || m.ContextWindow != 8192 {
		t.Errorf("not the safe defaults: %+v", m)
	}
	if w := m.Warnings(); len(w) != 1 || w[0].Code != llm.UnknownModel {
		t.Errorf("no warning: %v", w)
	}
	if w := Default().Lookup("gpt-4o").Warnings(); w != nil {
		t.Errorf("a warning about a known model: %v", w)
	}
	if w := Default().Lookup("bge-m3").Warnings(); len(w) != 1 || w[0].Code != llm.Compatibility {
		t.Errorf("no warning about a model that cannot chat: %v", w)
	}
	var zero Model
	if zero.Known() || len(zero.Explain()) != fieldCount {
		t.Error("the zero Model is not safe to ask")
	}
}

// TestPrecedence: each source wins over the one before it.
func TestPrecedence(t *testing.T) {
	const id = "acme/llama3.3-ft"
	c := Default()
	check := func(c *Catalog, want int, from string) {
		t.Helper()
		m := c.Lookup(id)
		if m.ContextWindow != want {
			t.Errorf("context %d, want %d", m.ContextWindow, want)
		}
		i, _ := findField("context_window")
		if why := m.Explain()[i]; !strings.Contains(why.From, from) {
			t.Errorf("it comes from %q, want %q", why.From, from)
		}
	}
	load := func(c *Catalog, text string) *Catalog {
		t.Helper()
		d, err := c.Load("models.yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	check(c, 128000, "rules.yaml:")
	imports := func(c *Catalog, source string, context int) *Catalog {
		t.Helper()
		d, err := c.Import(strings.NewReader(fmt.Sprintf(`{"source":%q,"models":{%q:{"context_window":%d}}}`, source, id, context)))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	imported := imports(c, "models.dev", 1000)
	check(imported, 1000, "imported from models.dev")
	both := imports(imported, "litellm", 2000)
	check(both, 1000, "strictest")
	ruled := load(both, "rules:\n  - match: {family: llama}\n    set: {context_window: 3000}\n")
	check(ruled, 3000, "models.yaml:2")
	exact := load(ruled, "models:\n  "+id+": {context_window: 4000}\n")
	check(exact, 4000, "models.yaml:2")
	programmed := exact.With(Model{ID: ID{Raw: id}, ContextWindow: 5000})
	check(programmed, 5000, "program")
	check(c, 128000, "rules.yaml:") // the first one has not changed
	check(ruled, 3000, "models.yaml:2")
}

func TestBase(t *testing.T) {
	c, err := Default().Load("models.yaml", []byte("models:\n  house-model: {base: claude-sonnet-4-5, native_tools: null}\n"))
	if err != nil {
		t.Fatal(err)
	}
	m := c.Lookup("House-Model")
	if m.ID.Family != "claude" || !m.ID.Custom || m.ID.Raw != "House-Model" || m.Wire != "messages" || m.NativeTools.Support != Unknown {
		t.Errorf("not like its base, without tools: %+v", m)
	}
}

func TestModelJSON(t *testing.T) {
	b, err := json.Marshal(Default().Lookup("groq/meta-llama/Llama-3.3-70B-Instruct"))
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]any
	if err := json.Unmarshal(b, &got); err != nil {
		t.Fatal(err)
	}
	capability, _ := got["capability"].(map[string]any)
	delete(got, "capability")
	want := map[string]any{"id": "groq/meta-llama/Llama-3.3-70B-Instruct", "family": "llama", "root": "llama", "version": []any{3.0, 3.0},
		"variant": "instruct", "size": 70e9, "provider": "groq", "org": "meta-llama", "custom": false}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, f := range fields {
		if _, ok := capability[f.key]; !ok {
			t.Errorf("no %s", f.key)
		}
	}
	if capability["native_tools"] != true || capability["json_schema"] != nil || capability["context_window"] != 128000.0 {
		t.Errorf("%v", capability)
	}
}

func TestAnswerConditions(t *testing.T) {
	a := Answer{Yes, Thinking | WithTools}
	for c, want := range map[Condition]Support{0: Yes, Thinking: No, Streaming: Yes, WithTools | Streaming: No} {
		if got := a.In(c); got != want {
			t.Errorf("%v under %v: %v", a, c, got)
		}
	}
	if s := a.String(); s != "yes unless thinking, tools" {
		t.Error(s)
	}
	for _, c := range []struct{ a, b, want Answer }{
		{Answer{}, Answer{Yes, 0}, Answer{Yes, 0}},
		{Answer{Yes, 0}, Answer{No, 0}, Answer{No, 0}},
		{Answer{Yes, Thinking}, Answer{Yes, WithTools}, Answer{Yes, Thinking | WithTools}},
	} {
		if c.a.strictest(c.b) != c.want || c.b.strictest(c.a) != c.want {
			t.Errorf("strictest of %v and %v", c.a, c.b)
		}
	}
}

func TestLimits(t *testing.T) {
	for _, c := range []struct {
		pattern, text string
		ok            bool
	}{
		{"[a-zA-Z0-9]{9}", "abcDEF123", true},
		{"[a-zA-Z0-9]{9}", "abcDEF12", false},
		{"[a-zA-Z0-9]{9}", "abcDEF1_3", false},
		{"[a-zA-Z0-9_-]{1,64}", "get-weather_2", true},
		{"[a-zA-Z0-9_-]{1,64}", "get.weather", false},
		{"[a-zA-Z0-9_-]{1,64}", "wetter_für", false},
		{"[a-zA-Z0-9_-]{1,64}", "", false},
	} {
		l, err := parseLimit(c.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if l.Allows(c.text) != c.ok {
			t.Errorf("%s: %q", c.pattern, c.text)
		}
	}
	for _, bad := range []string{"", "[a]", "a{1}", "[a]{x}", "[a]{2,1}", "[a]{1,9999999}"} {
		if _, err := parseLimit(bad); err == nil {
			t.Errorf("%q was taken", bad)
		}
	}
	if !(Limit{}).Allows("anything at all") {
		t.Error("no limit must allow anything")
	}
}

func TestVersions(t *testing.T) {
	for text, want := range map[string]Version{"3.3.1": MakeVersion(3, 3, 1), "2.0": MakeVersion(2, 0), "": {}} {
		if got, err := parseVersion(text); err != nil || got != want {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	if MakeVersion(2).Compare(MakeVersion(2, 0)) != 0 || MakeVersion(4, 20).Compare(MakeVersion(4, 6)) != 1 || (Version{}).Compare(MakeVersion(0)) != -1 {
		t.Error("order")
	}
	for text, want := range map[string]int64{"70": 70e9, "1.5": 1.5e9, "8x7": 56e9, "270m": 270e6, "1t": 1e12, "invalid": 0, "": 0, "7q": 0} {
		if got, err := parseSize(text); got != want || (err == nil) != (want != 0) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestRuleOf(t *testing.T) {
	for _, id := range benchIDs {
		m := Default().Lookup(id)
		for _, w := range m.Explain() {
			if got := m.RuleOf(w.Field); got != w.Rule {
				t.Errorf("%s: %s is given by %q, not by %q", id, w.Field, w.Rule, got)
			}
		}
		if got := m.RuleOf("no such field"); got != "" {
			t.Errorf("a field that there is not has the rule %q", got)
		}
	}
}
