package dialect

import (
	"bytes"
	"encoding/json"
	"fmt"
	"iter"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
)

// hardTools are the tools of the identity tests; one parameter per type.
var hardTools = []llm.ToolDef{
	{Name: "say", Schema: json.RawMessage(`{"type":"object","properties":{
		"s":{"type":"string"},"n":{"type":"number"},"i":{"type":"integer"},"b":{"type":"boolean"},"z":{"type":"null"},
		"o":{"type":"object"},"l":{"type":"array"},
		"order":{"type":"object","properties":{"items":{"type":"array","items":{"type":"object","properties":{"sku":{"type":"string"},"qty":{"type":"integer"}}}},"note":{"type":"string"}}}}}`)},
	{Name: "get_time", Schema: json.RawMessage(`{"type":"object","properties":{"tz":{"type":"string"}}}`)},
	{Name: "ns.sub-tool", Schema: json.RawMessage(`{"type":"object","properties":{"s":{"type":"string"}}}`)},
}

// hardArgs are arguments that break careless writers and readers.
var hardArgs = []struct{ why, args string }{
	{"plain", `{"s":"Paris"}`},
	{"none", `{}`},
	{"several", `{"s":"a","n":-1.5,"i":3,"b":true,"z":null}`},
	{"both quotes", `{"s":"it's \"John's\" turn"}`},
	{"lines", `{"s":"one\ntwo\n\n  three"}`},
	{"newlines around", `{"s":"\n  one\n  two\n"}`},
	{"a newline at the end", `{"s":"one\n  two\n"}`},
	{"indented lines", `{"s":"  one\n  two"}`},
	{"two newlines around", `{"s":"\n\none\ntwo\n\n"}`},
	{"a tab and a return", `{"s":"a\tb\rc"}`},
	{"backslashes", `{"s":"C:\\new\\table\\x"}`},
	{"an emoji", `{"s":"naïve 🙂 日本"}`},
	{"escaped emoji", `{"s":"\ud83d\ude42"}`},
	{"JSON in a string", `{"s":"{\"a\": [1, \"b\"]}"}`},
	{"a word that is a literal", `{"s":"true"}`},
	{"a number in a string", `{"s":"007"}`},
	{"null in a string", `{"s":"null"}`},
	{"empty", `{"s":""}`},
	{"spaces inside", `{"s":"a  b"}`},
	{"code", `{"s":"if a<b && c>d { x[\"k\"] = f(1, 'y') } // ok"}`},
	{"markup", `{"s":"<b class=\"x\">bold</b> &amp; <br/>"}`},
	{"a fence", "{\"s\":\"see ```json\\n{}\\n``` there\"}"},
	{"commas and colons", `{"s":"a, note: b; c=d, e"}`},
	{"brackets", `{"s":"a)b]c}d(e[f{g"}`},
	{"a big integer", `{"i":90071992547409931234567890}`},
	{"an exponent", `{"n":1e5}`},
	{"a small number", `{"n":-0.000125}`},
	{"false", `{"b":false}`},
	{"an empty object", `{"o":{}}`},
	{"an empty list", `{"l":[]}`},
	{"a list", `{"l":["a","b c"]}`},
	{"one item", `{"l":["a"]}`},
	{"numbers", `{"l":[1,2.5,-3]}`},
	{"lists of lists", `{"l":[[1],[2,[3]]]}`},
	{"nested", `{"order":{"items":[{"sku":"b-1","qty":2},{"sku":"c","qty":1}],"note":"soon"}}`},
	{"an object of anything", `{"o":{"k":"v","deep":{"list":[1,"x",null,true]}}}`},
}

// reread is what a text says when it is read again.
type reread struct {
	Text, Thinking string
	Calls          []string // name and canonical arguments
	Invalid        []string
	Warnings       []string
	Repairs        []string
	Dialect        string
}

func readAgain(t *testing.T, p Parser, chunks iter.Seq2[string, error]) reread {
	t.Helper()
	var b llm.Builder
	for ev, err := range p.Parse(chunks) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(ev)
	}
	resp := b.Response()
	var r reread
	for _, part := range resp.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			r.Text += part.Text
		case llm.Thinking:
			r.Thinking += part.Text
		case llm.Call:
			r.Calls = append(r.Calls, part.Name+" "+canonical(t, part.Args))
			r.Dialect = part.Provenance.Dialect
			for _, fix := range part.Provenance.Repairs {
				r.Repairs = append(r.Repairs, fix.Rule)
			}
		}
	}
	r.Text, r.Thinking = strings.TrimSpace(r.Text), strings.TrimSpace(r.Thinking)
	for _, bad := range resp.Invalid {
		r.Invalid = append(r.Invalid, bad.Name+" "+bad.Raw)
	}
	for _, w := range resp.Warnings {
		r.Warnings = append(r.Warnings, w.Detail)
	}
	return r
}

// canonical writes JSON with sorted keys and its numbers unchanged.
func canonical(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return fmt.Sprintf("%s: %v", raw, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// What is rendered reads back the same: every dialect, every hard value, whole
// and byte by byte.
func TestRenderIdentity(t *testing.T) {
	same, total := 0, 0
	for _, name := range sortedNames() {
		for _, tt := range hardArgs {
			parts := []llm.Part{
				llm.Thinking{Text: "Need it."}, llm.Text{Text: "Let me check."},
				llm.Call{ID: "call_1", Name: "say", Args: json.RawMessage(tt.args)},
				llm.Call{ID: "call_2", Name: "get_time", Args: json.RawMessage(`{"tz":"UTC"}`)},
			}
			if writtenWhole(name) {
				parts = slices.Delete(parts, 1, 2)
			}
			text, err := Builtin().Render(name, parts...)
			if err != nil {
				t.Errorf("%s, %s: %v", name, tt.why, err)
				continue
			}
			want := reread{Text: "Let me check.", Thinking: "Need it.", Calls: []string{"say " + canonical(t, json.RawMessage(tt.args)), `get_time {"tz":"UTC"}`}}
			if writtenWhole(name) {
				want.Text = ""
			}
			p := Parser{Tools: hardTools, Dialect: name}
			got := readAgain(t, p, Whole(text))
			total++
			got.Dialect = "" // several dialects share a spelling
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %s:\n%s\n%s", name, tt.why, text, diff)
			} else {
				same++
			}
			cut := readAgain(t, p, Cut(text, 1))
			cut.Dialect = ""
			if diff := cmp.Diff(got, cut); diff != "" {
				t.Errorf("%s, %s: byte by byte it says something else:\n%s\n%s", name, tt.why, text, diff)
			}
		}
	}
	t.Logf("%d of %d renderings read back the same", same, total)
}

// unhinted are the dialects whose markup is ordinary text to a reader who was
// not told the dialect, and why.
var unhinted = map[string]string{
	"ernie45":         "<response> may be an element the user asked for",
	"functionary_v32": "a first line that is the word all may be text",
	"react":           "a line may begin with Thought: in any text",
	"yaml_tagname":    "an element whose name is a word may stand in a document",
}

// shown are the dialects whose calls are shown, and not called, if text continues
// after them, and why.
var shown = map[string]string{
	"json_fence": "a fence of JSON between paragraphs is a document",
}

// Turns of every shape read back the same, with the hint and, where the markup
// can be nothing else, without it.
func TestRenderIdentityOfTurns(t *testing.T) {
	think, text, more := llm.Thinking{Text: "Need it."}, llm.Text{Text: "Let me check."}, llm.Text{Text: "Done now."}
	call := llm.Call{ID: "call_1", Name: "say", Args: json.RawMessage(`{"s":"a"}`)}
	for _, parts := range [][]llm.Part{
		{text}, {think, text}, {call}, {think, call}, {text, call}, {text, call, more}, {call, text, call},
	} {
		var want reread
		for _, p := range parts {
			switch p := p.(type) {
			case llm.Text:
				want.Text += p.Text
			case llm.Thinking:
				want.Thinking += p.Text
			case llm.Call:
				want.Calls = append(want.Calls, `say {"s":"a"}`)
			}
		}
		for _, name := range sortedNames() {
			said, err := Builtin().Render(name, parts...)
			if err != nil && !writtenWhole(name) {
				t.Errorf("%s: %v", name, err)
			}
			for _, hint := range []string{name, ""} {
				if _, ok := unhinted[name]; err != nil || ok && hint == "" {
					continue
				}
				if _, ok := shown[name]; ok && len(parts) == 3 && len(want.Calls) == 1 {
					continue
				}
				got := readAgain(t, Parser{Tools: hardTools, Dialect: hint}, Cut(said, 1))
				got.Dialect, got.Text = "", strings.ReplaceAll(got.Text, "\n", "")
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, hint %q:\n%s\n%s", name, hint, said, diff)
				}
			}
		}
	}
}

// An answer that is one JSON object says its text in one string.
func TestRenderIdentityOfEnvelopedText(t *testing.T) {
	const said = "Line \"one\"\n\ttwo \\ 🙂"
	text, err := Builtin().Render("envelope", llm.Text{Text: said})
	if err != nil {
		t.Fatal(err)
	}
	if got := readAgain(t, Parser{Tools: hardTools}, Cut(text, 1)); got.Text != said || got.Warnings != nil {
		t.Errorf("%s became %+v", text, got)
	}
}

// pathOfWindows is a string that begins like C:\new, written with one backslash.
var pathOfWindows = regexp.MustCompile(`"[A-Za-z]:\\[^\\"/]`)

// Whatever the arguments are, what is rendered as JSON reads back the same.
func FuzzRenderIdentity(f *testing.F) {
	for _, tt := range hardArgs {
		f.Add(tt.args)
	}
	f.Add(`{"A":"A:\"\b"}`) // a quote behind A: is escaped, and no path of Windows
	names := []string{"hermes_json", "mistral_v11", "kimi_k2", "json_fence", "pythonic", "envelope"}
	f.Fuzz(func(t *testing.T, args string) {
		var entries map[string]json.RawMessage
		if json.Unmarshal([]byte(args), &entries) != nil || len(entries) == 0 || strings.ContainsRune(args, '\uFFFD') {
			t.Skip()
		}
		if pathOfWindows.MatchString(args) {
			return // a control character after C: is read as a path whose backslash was not escaped, as a guess
		}
		for _, name := range names {
			text, err := Builtin().Render(name, llm.Call{Name: "say", Args: json.RawMessage(args)})
			if err != nil {
				continue // a key that is not Python name
			}
			got := readAgain(t, Parser{Tools: []llm.ToolDef{{Name: "say"}}, Dialect: name}, Whole(text))
			if want := []string{"say " + canonical(t, json.RawMessage(args))}; !slices.Equal(got.Calls, want) {
				t.Errorf("%s: %s\n%s", name, text, cmp.Diff(want, got.Calls))
			}
		}
	})
}
