package emulate

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestCopyingWithLengths: a bound on the length of a string does not stop it from
// being copied out of the conversation.
func TestCopyingWithLengths(t *testing.T) {
	e := evidenceFor(lastTurn([]llm.Message{llm.User("Look up the population of Reykjavik and of Oslo")}), "look_up")
	for _, c := range []struct{ schema, want, not string }{
		{`{"type":"string"}`, copiedKey, ""},
		{`{"type":"string","minLength":1}`, copiedKey, ""},
		{`{"type":"string","minLength":1,"maxLength":400}`, copiedKey, ""},
		{`{"type":"string","maxLength":4}`, `"Oslo"`, "Reykjavik"},
		{`{"type":"string","minLength":9,"maxLength":10}`, `"Reykjavik"`, `"Oslo"`},
	} {
		s, _ := readObject(json.RawMessage(c.schema))
		if got := string(e.text("what", s)); !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %s", c.schema, got)
		}
	}
	s, _ := readObject(json.RawMessage(`{"type":"string","minLength":1000}`))
	if got := e.text("what", s); got != nil {
		t.Errorf("a run of 1000 characters: %s", got)
	}
}

// TestPathsAndTexts: the file and the text of a request are found in it.
func TestPathsAndTexts(t *testing.T) {
	for _, c := range []struct{ say, path, content string }{
		{`Write "Hello, world!" to greeting.txt`, `["greeting.txt"]`, `["Hello, world!"]`},
		{`Write Hello to greeting.txt.`, `["greeting.txt"]`, `["Hello"]`},
		{`Create a file called notes/today.md with the text buy milk`, `["notes/today.md"]`, `["buy milk"]`},
		{`Create src/app/config.json containing {}`, `["src/app/config.json"]`, `["{}"]`},
		{`Save the line see you at five in the file plan.txt, please`, `["plan.txt"]`, `["see you at five"]`},
		{`Please make .env saying A=1`, `[".env"]`, `["A=1"]`},
		{`Write a poem about "Moby Dick" into whale.txt`, `["whale.txt"]`, ``},
		{`Write a poem about the sea to sea.txt`, `["sea.txt"]`, ``},
		{`Write the message of the day to motd.txt`, `["motd.txt"]`, ``},
		{`Write "<b>Hi</b>" to web/a.html`, `["web/a.html"]`, `["<b>Hi</b>"]`},
		{`Save the sentence The sea is wide. to sea.txt`, `["sea.txt"]`, `["The sea is wide."]`},
		{`Write me a poem`, ``, ``},
		{`Don't tell me what's in it, e.g. now and/or later`, ``, ``},
	} {
		e := evidenceFor(lastTurn([]llm.Message{llm.User(c.say)}), "write_file")
		if got := string(marshal(e.paths())); got != c.path && !(c.path == "" && got == "null") {
			t.Errorf("%s: paths %s, want %s", c.say, got, c.path)
		}
		if got := string(marshal(dictated(c.say))); got != c.content && !(c.content == "" && got == "null") {
			t.Errorf("%s: texts %s, want %s", c.say, got, c.content)
		}
	}
}

// TestWriter: a request that is one text for one file goes to the tool that takes
// both, however few words they share; any other does not.
func TestWriter(t *testing.T) {
	tools := []llm.ToolDef{
		{Name: "search_files", Schema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)},
		{Name: "write_file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"},"overwrite":{"type":"boolean"}},"required":["path","content"]}`)},
		{Name: "edit_file", Schema: json.RawMessage(`{"type":"object","properties":{"path":{"type":"string"},"old_text":{"type":"string"},"new_text":{"type":"string"}},"required":["path","old_text","new_text"]}`)},
	}
	for say, want := range map[string]int{
		`Save "42" to answer.txt`:                              1,
		`Please create todo.md that says "buy milk"`:           1,
		`Create the file a.txt and write "alpha" into it`:      1,
		`I need a file list.txt with the words eggs and ham`:   1,
		`Save the sentence The sea is wide. to sea.txt`:        1,
		`Save the text of a poem to sea.txt`:                   -1,
		`I want a new text file a.txt saying "alpha"`:          1,
		`I need the file a.txt that contains "alpha"`:          -1,
		`Search "foo" in src/main.go`:                          -1,
		`Write "a" to a.txt and read b.txt`:                    -1,
		`Write "a" to a.txt and delete it`:                     -1,
		`Write a poem to poem.txt`:                             -1,
		`Replace "a" by "b" in a.txt`:                          -1,
		`Do not write "a" to a.txt`:                            -1,
		`Tell me whether somebody wrote "a" to the file a.txt`: -1,
	} {
		if got := writer(tools, say); got != want {
			t.Errorf("%s: %d, want %d", say, got, want)
		}
	}
	if got := writer(append(tools, tools[1]), `Save "42" to answer.txt`); got != -1 {
		t.Errorf("of two such tools: %d", got)
	}
}

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
