package emulate

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

var writeDef = llm.ToolDef{Name: "write_file", Description: "Write a file. For example greet.txt.",
	Schema:   json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","description":"Where, like docs/notes.md."},"content":{"type":"string","examples":["Dear Sir"]},"mode":{"type":"string","enum":["new","docs/notes.md"]},"lines":{"type":"integer","description":"How many, e.g. 25."},"owner":{"type":"string","default":"nobody","description":"Such as nobody."}}}`),
	Examples: []json.RawMessage{json.RawMessage(`{"path":"a/b.md","content":"# Title\n"}`)}}

func TestCopiedExample(t *testing.T) {
	user := llm.User("Write a note")
	for _, c := range []struct {
		why, args string
		said      []llm.Message
		want      string
	}{
		{"of a description", `{"path":"docs/notes.md"}`, []llm.Message{user}, `"docs/notes.md"`},
		{"of the tool's description", `{"path":"greet.txt"}`, []llm.Message{user}, `"greet.txt"`},
		{"of the schema", `{"path":"x.md", "content": "Dear Sir"}`, []llm.Message{user}, `"Dear Sir"`},
		{"of the examples", `{"path":"x.md","content":"# Title\n"}`, []llm.Message{user}, `"# Title\n"`},
		{"a number", `{"lines":25}`, []llm.Message{user}, `25`},
		{"the user said it", `{"path":"docs/notes.md"}`, []llm.Message{llm.User("Write to DOCS/notes.md")}, ""},
		{"the user said it in words", `{"lines":25}`, []llm.Message{llm.User("Write 2.5 dozen and 25 lines")}, ""},
		{"a result says it", `{"path":"docs/notes.md"}`, []llm.Message{user, llm.Results(llm.Result{Parts: []llm.Part{llm.Text{Text: "docs/notes.md\na.txt"}}})}, ""},
		{"a failed result says it", `{"path":"docs/notes.md"}`, []llm.Message{user, llm.Results(llm.Result{Failed: true, Parts: []llm.Part{llm.Text{Text: "docs/notes.md is an example"}}})}, `"docs/notes.md"`},
		{"we said it", `{"path":"docs/notes.md"}`, []llm.Message{user, llm.Note("not docs/notes.md")}, `"docs/notes.md"`},
		{"the model said it just now", `{"path":"docs/notes.md"}`, []llm.Message{user, llm.Assistant(llm.Text{Text: "I take docs/notes.md"})}, `"docs/notes.md"`},
		{"the user answered since", `{"path":"docs/notes.md"}`, []llm.Message{user, llm.Assistant(llm.Text{Text: "May I take docs/notes.md?"}), llm.User("Yes.")}, ""},
		{"a picture may say it", `{"path":"docs/notes.md"}`, []llm.Message{{Role: llm.RoleUser, Parts: []llm.Part{llm.Text{Text: "Do it"}, llm.Media{Kind: llm.Image, Data: []byte{1}}}}}, ""},
		{"a value of a list", `{"mode":"docs/notes.md"}`, []llm.Message{user}, ""},
		{"the default", `{"owner":"nobody"}`, []llm.Message{user}, ""},
		{"a part of a word", `{"path":"notes"}`, []llm.Message{user}, ""},
		{"a value of its own", `{"path":"other.md","content":"text"}`, []llm.Message{user}, ""},
		{"no object", `[]`, []llm.Message{user}, ""},
	} {
		r, ok := CopiedExample(writeDef, json.RawMessage(c.args), "", c.said)
		got := ""
		if ok {
			got = c.args[r.Start:r.End]
		}
		if got != c.want || ok && (r.Class != llm.Guess || r.Rule != ExampleRule) {
			t.Errorf("%s: %q, want %q", c.why, got, c.want)
		}
	}
	if _, ok := CopiedExample(writeDef, json.RawMessage(`{"path":"docs/notes.md"}`), "Notes go to docs/notes.md.", []llm.Message{user}); ok {
		t.Error("the system prompt says it")
	}
	if slices.Contains(exampleCues, "") {
		t.Error("a cue must be a word")
	}
}
