package smallmodel

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// TestCopyingWithLengths: a bound on the length of a string does not stop it from
// being copied out of the conversation.
func TestCopyingWithLengths(t *testing.T) {
	e := conversationOf([]llm.Message{llm.User("Look up the population of Reykjavik and of Oslo")}).evidence(llm.ToolDef{Name: "look_up"})
	for _, c := range []struct{ schema, want, not string }{
		{`{"type":"string"}`, `"x-copied"`, ""},
		{`{"type":"string","minLength":1}`, `"x-copied"`, ""},
		{`{"type":"string","minLength":1,"maxLength":400}`, `"x-copied"`, ""},
		{`{"type":"string","maxLength":4}`, `"Oslo"`, "Reykjavik"},
		{`{"type":"string","minLength":9,"maxLength":10}`, `"Reykjavik"`, `"Oslo"`},
	} {
		s := json.RawMessage(c.schema)
		if got := string(e.Text("what", s)); !strings.Contains(got, c.want) || c.not != "" && strings.Contains(got, c.not) {
			t.Errorf("%s: %s", c.schema, got)
		}
	}
	s := json.RawMessage(`{"type":"string","minLength":1000}`)
	if got := e.Text("what", s); got != nil {
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
		e := conversationOf([]llm.Message{llm.User(c.say)}).evidence(llm.ToolDef{Name: "write_file"})
		if got := string(js.Marshal(e.paths())); got != c.path && !(c.path == "" && got == "null") {
			t.Errorf("%s: paths %s, want %s", c.say, got, c.path)
		}
		if got := string(js.Marshal(dictated(c.say))); got != c.content && !(c.content == "" && got == "null") {
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
