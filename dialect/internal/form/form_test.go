package form

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

var builtin = New(spec.Builtin())

var tools = []llm.ToolDef{{Name: "find_room", Schema: []byte(`{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"}},"required":["town"]}`)}}

// pieces yields text in pieces of n bytes.
func pieces(text string, n int) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for p := range slices.Chunk([]byte(text), n) {
			if !yield(string(p), nil) {
				return
			}
		}
	}
}

// meaning returns the text and the calls of an answer.
func meaning(t *testing.T, text string, n int) string {
	t.Helper()
	var out strings.Builder
	for ev, err := range Parse(builtin, &engine.Options{Tools: tools}, pieces(text, n)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			out.WriteString(ev.Text)
		case llm.Call:
			fmt.Fprintf(&out, "[%s %s %s]", ev.Name, ev.Args, ev.Provenance.Dialect)
		case llm.InvalidCall:
			fmt.Fprintf(&out, "[invalid %s %s]", ev.Name, ev.Reason)
		}
	}
	return out.String()
}

// Each form of call has a reader, and the result does not depend on how the text is cut into chunks.
func TestForms(t *testing.T) {
	const args = `{"town":"Siena","beds":2}`
	for _, c := range []struct{ form, text string }{
		{"JSON", `<tool_call>{"name":"find_room","arguments":` + args + `}</tool_call>`},
		{"JSON in a fence", "```json\n" + `{"name":"find_room","arguments":` + args + "}\n```"},
		{"name and JSON", `[TOOL_CALLS]find_room[ARGS]` + args},
		{"tags", "<tool_call><function=find_room><parameter=town>Siena</parameter><parameter=beds>2</parameter></function></tool_call>"},
		{"element", "<find_room>\n<town>Siena</town>\n<beds>2</beds>\n</find_room>"},
		{"Python", `[find_room(town="Siena", beds=2)]`},
		{"braces", `<|tool_call>call:find_room{town:<|"|>Siena<|"|>,beds:2}<tool_call|>`},
		{"header", `<|channel|>commentary to=functions.find_room <|constrain|>json<|message|>` + args + `<|call|>`},
		{"lines", "Action: find_room\nAction Input: " + args},
	} {
		whole := meaning(t, c.text, len(c.text))
		if want := "[find_room " + args; !strings.HasPrefix(strings.TrimSpace(whole), want) {
			t.Errorf("%s: %s, want %s …", c.form, whole, want)
		}
		for n := 1; n < len(c.text); n++ {
			if cut := meaning(t, c.text, n); cut != whole {
				t.Errorf("%s in pieces of %d: %s, want %s", c.form, n, cut, whole)
				break
			}
		}
	}
}

// A look ahead never moves the position, because the buffer moves while it waits. A long answer moves the buffer again and
// again, with the end of a chunk at every place of a call.
func TestFormsInLongAnswers(t *testing.T) {
	for _, c := range []struct{ form, call string }{
		{"tags", "<tool_call>\n<function=find_room>\n<parameter=town>\nSiena\n</parameter>\n</function>\n</tool_call>\n"},
		{"tags with attributes", `<function_calls><invoke name="find_room"><parameter name="town">Siena</parameter></invoke></function_calls>` + "\n"},
		{"values in attributes", `<function_calls><invoke name="find_room"><parameter name="town" value="Siena"/></invoke></function_calls>` + "\n"},
		{"names in text", "<tool_call>\n<function=find_room>\n<parameter>town</parameter>\n<value>Siena</value>\n</function>\n</tool_call>\n"},
	} {
		text := strings.Repeat(c.call, 3000/len(c.call))
		whole := meaning(t, text, len(text))
		if got := strings.Count(whole, `[find_room {"town":"Siena"}`); got != 3000/len(c.call) {
			t.Errorf("%s: %d calls, want %d: %s", c.form, got, 3000/len(c.call), whole)
		}
		for n := 1; n < 2*len(c.call); n++ {
			if cut := meaning(t, text, n); cut != whole {
				t.Errorf("%s in pieces of %d: %s, want %s", c.form, n, cut, whole)
				break
			}
		}
	}
}

// A menu lists the readers in order for each marker and each first byte.
func TestMenu(t *testing.T) {
	if len(builtin.readers.forms.lists) == 0 || len(builtin.readers.forms.marked) != len(builtin.Tokens()) {
		t.Fatalf("the menu of forms has %d lists for %d markers", len(builtin.readers.forms.lists), len(builtin.Tokens()))
	}
	names := func(s spot) (list []string) {
		for _, r := range builtin.readers.forms.at(s) {
			list = append(list, r.name)
		}
		return list
	}
	if got := names(spot{c: '{'}); !slices.Contains(got, "JSON object") || slices.Contains(got, "list") {
		t.Errorf("at a brace: %q", got)
	}
	if got := names(spot{tok: builtin.Tree.Find("<function")}); !slices.Contains(got, "tags") {
		t.Errorf("at a tag: %q", got)
	}
}
