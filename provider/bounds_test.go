package provider

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

const (
	claudeAtHome   = "anthropic/claude-sonnet-4-5"
	claudeAtAmazon = "bedrock/anthropic.claude-sonnet-4-5-20250929-v1:0"
	novaAtAmazon   = "bedrock/amazon.nova-pro-v1:0"
)

// bounded is a request that a vendor would refuse, and what it is sent.
type bounded struct {
	name    string
	id      string
	req     llm.Request
	has     string // in the body
	hasNot  string
	feature string // of the one warning; "" for none
	warns   string // how it begins
}

func turnsOf(turns ...string) []llm.Message {
	var list []llm.Message
	for i, text := range turns {
		role := llm.RoleUser
		if i%2 == 1 {
			role = llm.RoleAssistant
		}
		list = append(list, llm.Message{Role: role, Parts: []llm.Part{llm.Text{Text: text}}})
	}
	return list
}

func boundedRequests() []bounded {
	hot := func(f float64) llm.Request {
		return llm.Request{Messages: turnsOf("hi"), Temperature: &f, MaxTokens: 100}
	}
	stops := func(s ...string) llm.Request { return llm.Request{Messages: turnsOf("hi"), Stop: s, MaxTokens: 100} }
	talk := func(turns ...string) llm.Request { return llm.Request{Messages: turnsOf(turns...), MaxTokens: 100} }
	short := llm.Request{Messages: turnsOf("hi"), MaxTokens: 5}
	file := llm.Request{MaxTokens: 100, Messages: []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Media{Kind: llm.Document, MIME: "application/pdf", Name: "a", Data: []byte("%PDF-")}}}}}
	anyJSON := func(system, text string) llm.Request {
		return llm.Request{System: system, Messages: turnsOf(text), Output: &llm.OutputFormat{Name: "x"}, MaxTokens: 100}
	}
	return []bounded{
		{"hot", claudeAtHome, hot(1.7), `"temperature":1,`, "1.7", "temperature", "degraded: "},
		{"hot", claudeAtAmazon, hot(2), `"temperature":1}`, ":2", "temperature", "degraded: "},
		{"hot", "vertex-claude/claude-sonnet-4-5", hot(1.7), `"temperature":1}`, "1.7", "temperature", "degraded: "},
		{"warm", claudeAtHome, hot(0.7), `"temperature":0.7`, "", "temperature", ""},
		{"hot", novaAtAmazon, hot(1.5), `"temperature":1}`, "1.5", "temperature", "degraded: "},
		{"hot", "openai/gpt-4.1", hot(1.7), `"temperature":1.7`, "", "temperature", ""},

		{"six stops", "openai/gpt-4.1", stops("A", "B", "C", "D", "E", "F"), `["A","B","C","D"]`, "", "stop", "degraded: "},
		{"six stops", "gemini/gemini-2.5-pro", stops("A", "B", "C", "D", "E", "F"), `["A","B","C","D","E"]`, "", "stop", "degraded: "},
		{"six stops", "groq/llama-3.3-70b-versatile", stops("A", "B", "C", "D", "E", "F"), `["A","B","C","D"]`, "", "stop", "degraded: "},
		{"six stops", "together/meta-llama/Llama-3.3-70B-Instruct-Turbo", stops("A", "B", "C", "D", "E", "F"), `["A","B","C","D","E","F"]`, "", "stop", ""},
		{"blank stop", claudeAtHome, stops("\n"), "", "stop_sequences", "stop", "ignored: "},
		{"blank stop", claudeAtAmazon, stops("\n", "END"), `["END"]`, "", "stop", "ignored: "},
		{"blank stop", "openai/gpt-4.1", stops("\n"), `["\n"]`, "", "stop", ""},

		{"short", "openai/gpt-5.1", short, `"max_output_tokens":16`, "", "max_tokens", "degraded: "},
		{"short", "openai/gpt-4.1", short, `"max_completion_tokens":5`, "", "max_tokens", ""},
		{"short", "like-openai/any", short, `"max_output_tokens":5`, "", "max_tokens", ""},

		{"open end", claudeAtHome, talk("x", "foo "), `"foo"`, "foo ", "history", "degraded: "},
		{"open end", claudeAtAmazon, talk("x", "foo\n"), `"foo"`, `foo\n`, "history", "degraded: "},
		{"space within", claudeAtHome, talk("x", "foo ", "y"), `"foo "`, "", "history", ""},

		{"blank first", claudeAtHome, talk("", "a", "x"), `"(This message is empty.)"`, `""`, "history", "corrected: "},
		{"blank first", claudeAtAmazon, talk("", "a", "x"), `"(This message is empty.)"`, `begins with your`, "history", "corrected: "},
		{"blank last", claudeAtAmazon, talk("x", "a", " \n"), `"(This message is empty.)"`, `\n`, "history", "corrected: "},
		{"blank only", claudeAtHome, talk(" \n"), `"(This message is empty.)"`, `\n`, "history", "corrected: "},
		{"blank beside", claudeAtHome, llm.Request{MaxTokens: 100, Messages: append(turnsOf("x"), turnsOf(" \n")...)}, `"x"`, "empty", "history", "corrected: "},
		{"blank", "openai/gpt-4.1", talk(" \n"), `" \n"`, "", "history", ""},
		{"blank system", claudeAtAmazon, llm.Request{System: " ", Messages: turnsOf("x"), MaxTokens: 100}, "", "system", "history", ""},

		{"document", claudeAtAmazon, file, "See the document.", "", "document", "compatibility: "},
		{"document", novaAtAmazon, file, "See the document.", "", "document", "compatibility: "},
		{"document", claudeAtHome, file, "", "See the document.", "document", ""},

		{"no word", "openai/gpt-4.1", anyJSON("", "hi"), "Answer in JSON.", "", "output", "compatibility: "},
		{"no word", "openai/gpt-5.1", anyJSON("Be terse. JSON!", "hi"), "Answer in JSON.", "", "output", "compatibility: "},
		{"word", "openai/gpt-5.1", anyJSON("", "as Json"), "", "Answer in JSON.", "output", ""},
		{"word", "openai/gpt-4.1", anyJSON("JSON!", "hi"), "", "Answer in JSON.", "output", ""},
		{"no word", "deepseek/deepseek-chat", anyJSON("", "hi"), "Answer in JSON.", "", "output", "compatibility: "},
		{"no word", "groq/llama-3.3-70b-versatile", anyJSON("", "hi"), "Answer in JSON.", "", "output", "compatibility: "},
		{"word", "deepseek/deepseek-chat", anyJSON("As JSON.", "hi"), "", "Answer in JSON.", "output", ""},
		{"no word", "mistral/mistral-large-latest", anyJSON("", "hi"), "", "Answer in JSON.", "output", ""},
	}
}

// What a vendor would refuse is changed, and said, where it has such a bound; what it takes, and what it is sent as its
// own client wrote it, stays as it is.
func TestBoundsAreKept(t *testing.T) {
	c := &Client{Vendors: map[string]Vendor{"like-openai": {BaseURL: "http://localhost:1/v1", Wires: []string{wire.Responses}}}}
	for _, test := range boundedRequests() {
		m := opened(t, c, test.id)
		body, warnings := planned(t, m, &test.req)
		if !strings.Contains(body, test.has) || test.hasNot != "" && strings.Contains(body, test.hasNot) {
			t.Errorf("%s, %s: want %s, not %s: %s", test.name, test.id, test.has, test.hasNot, body)
		}
		got := warned(warnings, test.feature)
		if test.warns == "" && len(got) > 0 || test.warns != "" && (len(got) != 1 || !strings.HasPrefix(got[0], test.warns)) {
			t.Errorf("%s, %s: warnings %q, want %q", test.name, test.id, got, test.warns)
		}
		if j, err := m.planned(&test.req, true); err != nil || len(warned(j.warnings, test.feature)) > 0 {
			t.Errorf("%s, %s: as it is: %v %v", test.name, test.id, err, j.warnings)
		}
	}
}

// The caller's request is not changed.
func TestBoundsChangeACopy(t *testing.T) {
	c := &Client{Vendors: map[string]Vendor{"like-openai": {BaseURL: "http://localhost:1/v1", Wires: []string{wire.Responses}}}}
	for _, test := range boundedRequests() {
		before, _ := json.Marshal(test.req)
		planned(t, opened(t, c, test.id), &test.req)
		if after, _ := json.Marshal(test.req); string(after) != string(before) {
			t.Errorf("%s, %s: %s became %s", test.name, test.id, before, after)
		}
	}
}

// Amazon takes closed schemas only, like Anthropic: what can be closed is, and what is open is asked for in another way.
func TestConverseClosesOutput(t *testing.T) {
	c := new(Client)
	half := `{"type":"object","properties":{"a":{"type":"integer"},"o":{"type":"object","properties":{"b":{"type":"string"}}}},"required":["a"]}`
	free := `{"type":"object","properties":{"a":{"type":"object"}},"required":["a"]}`
	for _, strict := range []bool{true, false} {
		for _, id := range []string{claudeAtAmazon, claudeAtHome} {
			req := &llm.Request{Messages: turnsOf("hi"), MaxTokens: 100, Output: &llm.OutputFormat{Name: "x", Schema: json.RawMessage(half), Strict: strict}}
			body, _ := planned(t, opened(t, c, id), req)
			plain := strings.ReplaceAll(body, `\"`, `"`)
			if n := strings.Count(plain, `"additionalProperties":false`); n != 2 || !strings.Contains(plain, "json_schema") {
				t.Errorf("%s: %d closed objects in %s", id, n, body)
			}
		}
	}
	req := &llm.Request{Messages: turnsOf("hi"), MaxTokens: 100, Output: &llm.OutputFormat{Name: "x", Schema: json.RawMessage(free)}}
	body, warnings := planned(t, opened(t, c, claudeAtAmazon), req)
	if strings.Contains(body, "outputConfig") || !strings.Contains(body, "emit_output") || len(warned(warnings, "output")) == 0 {
		t.Errorf("%s, %v", body, warnings)
	}
}
