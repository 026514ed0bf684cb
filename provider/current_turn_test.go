package provider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// opened opens a model with nobody's key.
func opened(t *testing.T, c *Client, id string) *Model {
	t.Helper()
	for name, value := range map[string]string{"AZURE_OPENAI_ENDPOINT": "https://x.example", "AWS_REGION": "us-east-1", "GOOGLE_CLOUD_LOCATION": "global", "GOOGLE_CLOUD_PROJECT": "demo"} {
		t.Setenv(name, value)
	}
	m, err := c.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return m.(*Model)
}

// planned is what a model would be sent, and what would be said about it.
func planned(t *testing.T, m *Model, req *llm.Request) (string, []llm.Warning) {
	t.Helper()
	j, err := m.plan(req)
	if err != nil {
		t.Fatal(err)
	}
	b, warnings, err := j.codec.EncodeRequest(j.req, true)
	if err != nil {
		t.Fatal(err)
	}
	return string(b), append(j.warnings, warnings...)
}

// warned returns the warnings about a feature.
func warned(list []llm.Warning, feature string) []string {
	var out []string
	for _, w := range list {
		if w.Feature == feature {
			out = append(out, string(w.Code)+": "+w.Detail)
		}
	}
	return out
}

var lookup = llm.ToolDef{Name: "lookup", Schema: []byte(`{"type":"object","properties":{"q":{"type":"string"}}}`)}

// inTurn is a turn under way: a call, its result, and thinking before it if
// there is some.
func inTurn(thinking ...llm.Part) []llm.Message {
	call := llm.Call{ID: "call_1", Name: "lookup", Args: []byte(`{"q":"a"}`)}
	return []llm.Message{
		llm.User("look it up"), llm.Assistant(append(thinking, call)...),
		llm.Results(llm.Result{CallID: "call_1", Name: "lookup", Parts: []llm.Part{llm.Text{Text: "found"}}}),
	}
}

func signed(vendor string) llm.Thinking {
	return llm.Thinking{Text: "hm", State: llm.State{Vendor: vendor, Data: []byte(`{"signature":"c2ln"}`)}}
}

// A turn of Claude's that has calls must begin with its own thinking while its
// thinking is counted in tokens. Where it does not, the request is answered
// without, and says so.
func TestTurnBeginsWithThinking(t *testing.T) {
	next := append(inTurn(), llm.Assistant(llm.Text{Text: "here"}), llm.User("and now?"))
	two := append(inTurn(signed("anthropic/messages")), inTurn()[1:]...) // thinks once in a turn
	for _, c := range []struct {
		name, id string
		messages []llm.Message
		reason   llm.Reasoning
		thinks   bool
	}{
		{"begun by another", "anthropic/claude-sonnet-4-5", inTurn(), llm.Reasoning{Effort: "high"}, false},
		{"begun by another, with thinking", "anthropic/claude-sonnet-4-5", inTurn(llm.Thinking{Text: "hm"}), llm.Reasoning{Tokens: 3000}, false},
		{"begun by another, signed", "anthropic/claude-sonnet-4-5", inTurn(signed("gemini/gemini")), llm.Reasoning{Tokens: 3000}, false},
		{"begun by itself", "anthropic/claude-sonnet-4-5", inTurn(signed("anthropic/messages")), llm.Reasoning{Tokens: 3000}, true},
		{"begun by itself, two steps", "anthropic/claude-sonnet-4-5", two, llm.Reasoning{Tokens: 3000}, true},
		{"the next turn", "anthropic/claude-sonnet-4-5", next, llm.Reasoning{Tokens: 3000}, true},
		{"no rule for efforts", "anthropic/claude-opus-4-6", inTurn(), llm.Reasoning{Effort: "high"}, true},
		{"on Vertex", "vertex/claude-sonnet-4-5@20250929", inTurn(), llm.Reasoning{Tokens: 3000}, false},
		{"on Bedrock", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", inTurn(), llm.Reasoning{Tokens: 3000}, false},
		{"on Bedrock in Anthropic's format", "bedrock-claude/us.anthropic.claude-sonnet-4-5-20250929-v1:0", inTurn(), llm.Reasoning{Tokens: 3000}, false},
		{"another maker on Bedrock", "bedrock/us.amazon.nova-2-lite-v1:0", inTurn(), llm.Reasoning{Effort: "low"}, true},
	} {
		req := &llm.Request{Messages: c.messages, Tools: []llm.ToolDef{lookup}, Reasoning: &c.reason}
		text, warnings := planned(t, opened(t, &Client{}, c.id), req)
		asked := strings.Contains(text, `"thinking":{"type":"enabled"`) || strings.Contains(text, `"thinking":{"type":"adaptive"`) || strings.Contains(text, `"reasoningConfig"`)
		said := len(warned(warnings, "reasoning"))
		if asked != c.thinks || (said == 0) != c.thinks {
			t.Errorf("%s: thinks %v, want %v; %q\n%s", c.name, asked, c.thinks, warnings, text)
		}
		if req.Reasoning == nil || *req.Reasoning != c.reason {
			t.Errorf("%s: the caller's request was changed", c.name)
		}
	}
}

// Models that count no tokens are told an effort.
func TestBudgetBecomesEffort(t *testing.T) {
	for budget, effort := range map[int]string{1024: "low", 9000: "medium", 60000: "high"} {
		text, warnings := planned(t, opened(t, &Client{}, "anthropic/claude-opus-4-7"), &llm.Request{Messages: []llm.Message{llm.User("hi")}, Reasoning: &llm.Reasoning{Tokens: budget}})
		if !strings.Contains(text, `"thinking":{"type":"adaptive"}`) || !strings.Contains(text, `"effort":"`+effort+`"`) || len(warned(warnings, "reasoning.budget")) != 1 {
			t.Errorf("%d: %s %q", budget, text, warnings)
		}
	}
}

// Gemini since 3 refuses the first call of an answer of the turn under way if it
// is not signed; its documentation says what to send instead.
func TestUnsignedCalls(t *testing.T) {
	const sentinel = `"thoughtSignature":"skip_thought_signature_validator"`
	own := func(vendor string) []llm.Message {
		messages := inTurn()
		call := messages[1].Parts[0].(llm.Call)
		call.State = llm.State{Vendor: vendor, Data: []byte(`{"thoughtSignature":"c2ln"}`)}
		messages[1].Parts = []llm.Part{call}
		return messages
	}
	parallel := inTurn()
	parallel[1].Parts = append(parallel[1].Parts, llm.Call{ID: "call_2", Name: "lookup", Args: []byte(`{}`)})
	for _, c := range []struct {
		name, id string
		messages []llm.Message
		want     int
	}{
		{"one", "gemini/gemini-3-pro-preview", inTurn(), 1},
		{"two at once", "gemini/gemini-3-pro-preview", parallel, 1},
		{"two steps", "gemini/gemini-3-pro-preview", append(inTurn(), inTurn()[1:]...), 2},
		{"its own", "gemini/gemini-3-pro-preview", own("gemini/gemini"), 0},
		{"of another", "gemini/gemini-3.5-flash", own("anthropic/messages"), 1},
		{"an earlier turn", "gemini/gemini-3-pro-preview", append(inTurn(), llm.Assistant(llm.Text{Text: "here"}), llm.User("and?")), 0},
		{"the newest", "gemini/gemini-flash-latest", inTurn(), 1},
		{"on Vertex", "vertex/gemini-3-pro-preview", inTurn(), 1},
		{"at another address", "gemini+http://127.0.0.1:1/v1beta#gemini-3-pro-preview", inTurn(), 1},
		{"before 3", "gemini/gemini-2.5-pro", inTurn(), 0},
	} {
		text, warnings := planned(t, opened(t, &Client{}, c.id), &llm.Request{Messages: c.messages, Tools: []llm.ToolDef{lookup}})
		if got := strings.Count(text, sentinel); got != c.want {
			t.Errorf("%s: %d calls have the sentinel, want %d\n%s", c.name, got, c.want, text)
		}
		said := slices.ContainsFunc(warned(warnings, "history"), func(s string) bool { return strings.Contains(s, "not signed") })
		if said != (c.want > 0) {
			t.Errorf("%s: %q", c.name, warnings)
		}
		if c.name == "its own" && !strings.Contains(text, `"thoughtSignature":"c2ln"`) {
			t.Errorf("the model's own signature is gone: %s", text)
		}
	}
}

// A signature belongs to the vendor: it goes back to every address of his, and
// to nobody else.
func TestSignatureBelongsToTheVendor(t *testing.T) {
	for _, c := range []struct {
		vendor, id string
		kept       bool
	}{
		{"anthropic/messages", "anthropic/claude-sonnet-4-5", true},
		{"anthropic/messages", "anthropic+http://127.0.0.1:1/v1#claude-sonnet-4-5", true},
		{"anthropic/messages", "proxied/claude-sonnet-4-5", false},
		{"anthropic/messages", "vertex/claude-sonnet-4-5@20250929", true},
		{"anthropic/messages", "bedrock-claude/us.anthropic.claude-sonnet-4-5-20250929-v1:0", true},
		{"anthropic/messages", "bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0", true},
		{"anthropic/converse", "anthropic/claude-sonnet-4-5", true},
		{"bedrock/converse", "bedrock/us.amazon.nova-2-lite-v1:0", true},
		{"anthropic/messages", "bedrock/us.amazon.nova-2-lite-v1:0", false},
		{"bedrock/converse", "anthropic/claude-sonnet-4-5", false},
		{"gemini/gemini", "anthropic/claude-sonnet-4-5", false},
	} {
		client := &Client{Vendors: map[string]Vendor{"proxied": {BaseURL: "http://127.0.0.1:1/v1", Wires: []string{wire.Messages}}}}
		m := opened(t, client, c.id)
		text, _ := planned(t, m, &llm.Request{Messages: inTurn(signed(c.vendor)), Tools: []llm.ToolDef{lookup}})
		if kept := strings.Contains(text, "c2ln"); kept != c.kept {
			t.Errorf("%s to %s: kept %v\n%s", c.vendor, c.id, kept, text)
		}
	}
	// A row that moves a vendor's address is still the vendor; servers without a
	// name are each their own.
	moved := &Client{Vendors: map[string]Vendor{"anthropic": {BaseURL: "https://gateway.example/v1"}}}
	if m := opened(t, moved, "anthropic/claude-sonnet-4-5"); m.settled.codec.Vendor != "anthropic/messages" {
		t.Error(m.settled.codec.Vendor)
	}
	a, b := opened(t, &Client{}, "http://127.0.0.1:1/v1#x"), opened(t, &Client{}, "http://127.0.0.1:2/v1#x")
	if a.settled.codec.Vendor == b.settled.codec.Vendor {
		t.Errorf("two servers that nobody knows are one: %s", a.settled.codec.Vendor)
	}
}

// Where the format demands a limit it is all that the model gives, or what the
// window leaves, and it is said once.
func TestLimitDoesNotCut(t *testing.T) {
	client := &Client{}
	for _, c := range []struct {
		id   string
		text int // bytes of the question
		want int
	}{
		{"anthropic/claude-sonnet-4-5", 10, 64000},
		{"anthropic/claude-3-5-haiku-latest", 10, 8192},
		{"anthropic/claude-opus-4-7", 10, 128000},
		{"vertex/claude-sonnet-4-5@20250929", 10, 64000},
		{"bedrock-claude/us.anthropic.claude-sonnet-4-5-20250929-v1:0", 10, 64000},
		{"anthropic/claude-sonnet-4-5", 600_000, 32_054},
		{"anthropic/claude-sonnet-4-5", 4_000_000, room},
	} {
		m := opened(t, client, c.id)
		for i := range 2 {
			text, warnings := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User(strings.Repeat("word ", c.text/5))}})
			if want := fmt.Sprintf(`"max_tokens":%d,`, c.want); !strings.Contains(text, want) {
				t.Errorf("%s, %d bytes: no %s in %.200s", c.id, c.text, want, text)
			}
			if said := len(warned(warnings, "max_tokens")); i > 0 && said > 0 || i == 0 && said != 1 && c.text < 4_000_000 {
				t.Errorf("%s, %d bytes, request %d: %q", c.id, c.text, i, warnings)
			}
		}
	}
	m := opened(t, &Client{}, "anthropic/claude-sonnet-4-5")
	text, _ := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, MaxTokens: 77})
	if !strings.Contains(text, `"max_tokens":77,`) {
		t.Errorf("the caller's limit is gone: %s", text)
	}
	text, warnings := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, MaxTokens: 64001})
	if !strings.Contains(text, `"max_tokens":64000,`) || len(warned(warnings, "max_tokens")) != 1 {
		t.Errorf("a limit that the vendor refuses: %s %q", text, warnings)
	}
	text, _ = planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, Reasoning: &llm.Reasoning{Tokens: 100_000}})
	if !strings.Contains(text, `"max_tokens":64000,`) || !strings.Contains(text, `"budget_tokens":59904`) {
		t.Errorf("more thinking than the model gives: %s", text)
	}
}

// Models whose thinking goes back only by way of the Responses endpoint are asked
// there, and for thinking in a form that can go back.
func TestResponsesWhereThinkingGoesBack(t *testing.T) {
	for id, want := range map[string]string{
		"openai/gpt-5": wire.Responses, "openai/gpt-5.4-mini": wire.Responses, "azure/gpt-5.1": wire.Responses, "openai/o1-pro": wire.Responses, "openai/o3-pro": wire.Responses,
		"openai/o3-deep-research": wire.Responses, "openai/o4-mini-deep-research": wire.Responses, "openai/computer-use-preview": wire.Responses,
		"openai/gpt-4o": wire.Chat, "openai/gpt-5-chat-latest": wire.Chat, "openai/o3": wire.Chat, "openrouter/openai/gpt-5": wire.Chat, "openai+http://127.0.0.1:1/v1#gpt-5": wire.Chat, "openai+http://127.0.0.1:1/v1#o3-pro": wire.Responses, "groq/openai/gpt-oss-120b": wire.Chat,
	} {
		m := opened(t, &Client{}, id)
		if m.wire != want {
			t.Errorf("%s is asked in %s, want %s", id, m.wire, want)
		}
		text, _ := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}})
		keeps := strings.Contains(text, `"include":["reasoning.encrypted_content"]`) && strings.Contains(text, `"store":false`)
		if keeps != (want == wire.Responses) {
			t.Errorf("%s: %s", id, text)
		}
	}
	m := opened(t, &Client{}, "openai/gpt-5")
	for field, never := range map[string]string{"previous_response_id": `"include"`, "conversation": `"store"`} {
		text, _ := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, Extra: llm.Extra{wire.Responses: {field: json.RawMessage(`"x"`)}}})
		if strings.Contains(text, never) {
			t.Errorf("%s: %s", field, text)
		}
	}
	text, _ := planned(t, m, &llm.Request{Messages: []llm.Message{llm.User("hi")}, Extra: llm.Extra{wire.Responses: {"store": json.RawMessage("true")}}})
	if !strings.Contains(text, `"store":true`) {
		t.Errorf("what the caller says does not count: %s", text)
	}
}

// What a model refuses of temperature and its like is left out, with a warning.
func TestSampling(t *testing.T) {
	for id, want := range map[string]string{
		"anthropic/claude-3-7-sonnet-latest":   "temperature top_p top_k",
		"anthropic/claude-sonnet-4-5":          "temperature top_k",
		"anthropic/claude-opus-4-7":            "",
		"anthropic/claude-sonnet-5":            "",
		"bedrock/us.anthropic.claude-opus-4-7": "",
		"openai/gpt-4o":                        "temperature top_p",
		"openai/gpt-5":                         "",
		"openai/gpt-5.1":                       "temperature top_p",
		"openai/o3":                            "",
		"gemini/gemini-2.5-pro":                "temperature top_p top_k",
	} {
		text, warnings := planned(t, opened(t, &Client{}, id), &llm.Request{Messages: hello, Temperature: ptr(0.3), TopP: ptr(0.5), TopK: ptr(5)})
		for name, field := range map[string]string{"temperature": `"temperature":0.3`, "top_p": `:0.5`, "top_k": `:5`} {
			sent, said := strings.Contains(text, field+",") || strings.Contains(text, field+"}"), len(warned(warnings, name)) > 0
			if sent != strings.Contains(want, name) || sent == said {
				t.Errorf("%s: %s sent %v, said %v: %s %q", id, name, sent, said, text, warnings)
			}
		}
	}
}
