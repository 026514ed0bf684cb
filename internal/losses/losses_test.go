package losses_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/losses"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

const asked = `{"model":"m","metadata":{"user":"u1"},"messages":[{"role":"system","content":"Be brief."},{"role":"user","content":"What is in a.txt?"},
	{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"read","arguments":"{\"path\":\"a.txt\"}"}}]},
	{"role":"tool","tool_call_id":"c1","content":"helo"}],
	"tools":[{"type":"function","function":{"name":"read","description":"Reads a file.","parameters":{"type":"object","properties":{"path":{"type":"string","minLength":1}},"required":["path"]}}}]}`

// Each omission of a translation is found, wherever it is.
func TestSilent(t *testing.T) {
	whole, err := losses.Translate(wire.Chat, wire.Messages, []byte(asked))
	if err != nil {
		t.Fatal(err)
	}
	if lost := whole.Silent(); len(lost) > 0 {
		t.Fatal(lost)
	}
	for what, cut := range map[string]func(*losses.Translation){
		"Be brief.":           replace("Be brief.", "Be."),
		"Reads a file.":       replace("Reads a file.", ""),
		"schema of read":      replace(`"minLength":1`, `"minLength":2`),
		"read is not offered": replace(`"name":"read","description"`, `"name":"write","description"`),
		"call 1":              replace(`{"path":"a.txt"}`, `{}`),
		"helo":                replace("helo", "hello"),
		"u1":                  func(t *losses.Translation) { t.Warnings = nil },
	} {
		less := whole
		cut(&less)
		if lost := strings.Join(less.Silent(), "\n"); !strings.Contains(lost, what) {
			t.Errorf("%s is missing, and what is found is %q", what, lost)
		}
	}
}

func replace(old, with string) func(*losses.Translation) {
	return func(t *losses.Translation) { t.Out = []byte(strings.ReplaceAll(string(t.Out), old, with)) }
}

// A member without effect is found, unless a warning names it.
func TestIdle(t *testing.T) {
	idle, err := losses.Idle(wire.Chat, wire.Messages, []byte(asked))
	if err != nil || len(idle) > 0 {
		t.Fatal(idle, err)
	}
	idle, err = losses.Idle(wire.Chat, wire.Messages, []byte(strings.Replace(asked, `"content":"helo"`, `"content":"helo","content_filter":null,"n":1`, 1)))
	if err != nil || len(idle) > 0 { // warnings name the other members; null has no effect
		t.Fatal(idle, err)
	}
}

// A large request has the demanded tools and size, and is still a request.
func TestLarge(t *testing.T) {
	body, err := losses.Large(wire.Chat, []byte(asked), 40, 60000)
	if err != nil {
		t.Fatal(err)
	}
	req, _, err := wire.Codec{Format: wire.Chat}.DecodeRequest(body)
	if err != nil || len(req.Tools) != 40 || len(body) < 60000 || len(body) > 75000 {
		t.Fatalf("%d tools, %d bytes, %v", len(req.Tools), len(body), err)
	}
	for _, m := range req.Messages {
		if c := m.Calls(); m.Role == llm.RoleAssistant && (len(c) != 1 || string(c[0].Args) != `{"path":"a.txt"}`) {
			t.Errorf("what the model said was changed: %v", c)
		}
	}
}
