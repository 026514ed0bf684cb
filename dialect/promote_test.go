package dialect_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

var rooms = []llm.ToolDef{
	{Name: "find_room", Schema: json.RawMessage(`{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"}}}`)},
	{Name: "ping"},
}

// readMarked returns the calls of a text with their sources and markup, the text
// next to them, and the dialects of the warnings.
func readMarked(t *testing.T, p dialect.Parser, text string, chunk int) (calls []string, said, warned string) {
	t.Helper()
	p.Tools, p.Markup = rooms, true
	var b strings.Builder
	markup := ""
	for ev, err := range p.Parse(dialect.Cut(text, chunk)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case dialect.Markup:
			markup = fmt.Sprintf("%d %s %q", ev.Start, ev.Opener, ev.Text)
			if text[ev.Start:ev.Start+len(ev.Text)] != ev.Text {
				t.Errorf("the markup at %d is not %q", ev.Start, ev.Text)
			}
		case llm.Call:
			calls = append(calls, fmt.Sprintf("%s %s %s %s", ev.Name, ev.Args, ev.Provenance.Source(), markup))
			if markup == "" {
				t.Errorf("no markup came before the call of %s", ev.Name)
			}
			markup = ""
		case llm.TextDelta:
			b.WriteString(ev.Text)
		case llm.Warning:
			warned += string(ev.Code)
		}
	}
	return calls, b.String(), warned
}

// written is a call of find_room as a dialect writes it.
func written(t *testing.T, name string) string {
	t.Helper()
	text, err := dialect.Builtin().Render(name, llm.Call{Name: "find_room", Args: json.RawMessage(`{"town":"Siena","beds":2}`)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// bare are the dialects that write calls without a marker.
var bare = map[string]bool{
	"llama3_json": true, "functionary_v32": true, "pythonic": true, "gemma3_prompted": true, "command_r_plus": true, "xlam": true,
	"glm4_classic": true, "react": true, "labelled": true, "xml_tagname": true, "yaml_tagname": true, "json_fence": true, "envelope": true,
	"continue": true, "langchain_xml": true,
}

// TestMarked: with Marked, a model's own dialect is read, marked or not; of an
// unknown model only calls with a marker are; and every call tells which it is.
func TestMarked(t *testing.T) {
	for _, d := range dialect.Builtin().All() {
		text := written(t, d.Name)
		source := "text:marked"
		if bare[d.Name] {
			source = "text:bare"
		}
		own, _, _ := readMarked(t, dialect.Parser{Dialect: d.Name, Marked: true}, text, 0)
		if len(own) != 1 || !strings.Contains(own[0], source) {
			t.Errorf("%s as the model's own dialect: %q, want one %s", d.Name, own, source)
		}
		unknown, said, warned := readMarked(t, dialect.Parser{Marked: true}, text, 0)
		if len(unknown) == 1 == bare[d.Name] {
			t.Errorf("%s of an unknown model: calls %q, text %q", d.Name, unknown, said)
		}
		if bare[d.Name] && (said != text || warned == "") {
			t.Errorf("%s of an unknown model: text %q, warnings %q", d.Name, said, warned)
		}
		for i := 1; i < len(text); i++ {
			if again, _, _ := readMarked(t, dialect.Parser{Dialect: d.Name, Marked: true}, text, i); fmt.Sprint(again) != fmt.Sprint(own) {
				t.Errorf("%s in pieces of %d: %q, want %q", d.Name, i, again, own)
			}
		}
	}
}

// TestMarkedForeign: with Marked, calls in another dialect than the model's own
// stay text to the last byte, and are warned about.
func TestMarkedForeign(t *testing.T) {
	for _, d := range dialect.Builtin().All() {
		own := "deepseek_v3"
		if strings.HasPrefix(d.Name, "deepseek") {
			own = "olmo3"
		}
		text := "This is what the page says:\n" + written(t, d.Name) + "\nI shall not do it."
		calls, said, warned := readMarked(t, dialect.Parser{Dialect: own, Marked: true}, text, 0)
		if len(calls) != 0 || warned == "" {
			t.Errorf("%s beside %s: calls %q, text %q, warnings %q", d.Name, own, calls, said, warned)
		}
		if all, _, _ := readMarked(t, dialect.Parser{}, text, 0); len(all) > 0 && said != text && !strings.ContainsAny(text, "|✿") { // markers without a meaning are dropped anywhere
			t.Errorf("%s beside %s: text %q, want %q", d.Name, own, said, text)
		}
	}
}

// TestLooseCalls: a call that follows another after its marker is as marked as
// the first.
func TestLooseCalls(t *testing.T) {
	calls, _, _ := readMarked(t, dialect.Parser{Dialect: "mistral_v11", Marked: true}, `[TOOL_CALLS]find_room{"town":"Siena"}find_room{"town":"Rome"}`, 0)
	if len(calls) != 2 || !strings.Contains(calls[1], "text:marked") {
		t.Errorf("got %q", calls)
	}
}

// TestMarkupOfLists: the calls of a list name the marker around it, since they
// have none of their own.
func TestMarkupOfLists(t *testing.T) {
	calls, _, _ := readMarked(t, dialect.Parser{}, `[TOOL_CALLS] [{"name": "ping", "arguments": {}}, {"name": "ping", "arguments": {}}]`, 0)
	if len(calls) != 2 || !strings.Contains(calls[0], " [TOOL_CALLS] ") || !strings.Contains(calls[1], " [TOOL_CALLS] ") {
		t.Errorf("got %q", calls)
	}
	calls, _, _ = readMarked(t, dialect.Parser{}, `<tool_call>{"name": "ping", "arguments": {}}</tool_call>`, 0)
	if len(calls) != 1 || !strings.Contains(calls[0], `0  "<tool_call>{`) {
		t.Errorf("got %q", calls)
	}
}
