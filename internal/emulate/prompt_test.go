package emulate

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"golang.org/x/tools/txtar"
)

var promptTools = []llm.ToolDef{
	{
		Name: "get_weather", Description: "Weather forecast for a city.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"city":{"type":"string","description":"Name of the city, without the country. Ask the user if it is missing."},
			"days":{"type":"integer","minimum":1,"maximum":7,"default":3,"description":"How many days"},
			"unit":{"enum":["c","f"]}},"required":["city"]}`),
	},
	{
		Name: "book", Description: "Books a table.\nNever call it before the user has agreed to time and place, because it cannot be undone.",
		Schema: json.RawMessage(`{"type":"object","properties":{
			"guests":{"type":"array","items":{"$ref":"#/$defs/guest"},"description":"Who comes"},
			"at":{"type":"string","format":"date-time"},
			"note":{"type":["string","null"]},
			"where":{"anyOf":[{"type":"string"},{"type":"object","properties":{"lat":{"type":"number"},"lon":{"type":"number"}},"required":["lat","lon"]}]}},
			"required":["guests","at"],
			"$defs":{"guest":{"type":"object","properties":{"name":{"type":"string","description":"Full name"},"age":{"type":"integer"}},"required":["name"]}}}`),
	},
	{Name: "ping"},
}

// All the prompts, to be read by people.
func TestPromptGolden(t *testing.T) {
	archive := txtar.Archive{Comment: []byte("What models are taught, by style, template and choice.\n")}
	add := func(name string, o PromptOptions) {
		o.Tools = promptTools
		e, err := Teach(o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		text := fmt.Sprintf("%s\n\n[reminder]\n%s\n\n[stop] %q [dialect] %s [results] %s\n", e.System, e.Reminder, e.Stop, e.Dialect, e.Results)
		archive.Files = append(archive.Files, txtar.File{Name: name, Data: []byte(text)})
	}
	for _, s := range []string{"json", "xml", "pythonic", "hermes", "react"} {
		add(s+" standard", PromptOptions{Style: s, Context: 32000})
		add(s+" parallel", PromptOptions{Style: s, Context: 32000, Parallel: true})
		add(s+" compact", PromptOptions{Style: s})
	}
	add("constrained compact", PromptOptions{Constrained: true})
	add("constrained parallel", PromptOptions{Constrained: true, Parallel: true, Context: 32000})
	add("compact, several calls", PromptOptions{Parallel: true})
	add("qwen thinks", PromptOptions{Family: "qwen", Context: 32000})
	add("required", PromptOptions{Choice: llm.ToolChoice{Mode: llm.MustCall}})
	add("one tool", PromptOptions{Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "ping"}})
	add("none", PromptOptions{Choice: llm.ToolChoice{Mode: llm.MustNotCall}})
	golden(t, "testdata/prompts.txtar", string(txtar.Format(&archive)))
}

// The template follows the context, whatever the parallel ability.
func TestPromptTemplate(t *testing.T) {
	for _, tt := range []struct {
		context  int
		parallel bool
		want     string
	}{
		{0, false, "compact"}, {0, true, "compact"}, {8191, true, "compact"}, {8192, false, "compact"}, {8192, true, "compact"},
		{8193, false, "standard"}, {8193, true, "parallel"}, {128000, false, "standard"},
	} {
		e, err := Teach(PromptOptions{Tools: promptTools, Context: tt.context, Parallel: tt.parallel})
		if err != nil || e.Template != tt.want {
			t.Errorf("context %d, parallel %v: %q, %v, want %q", tt.context, tt.parallel, e.Template, err, tt.want)
		}
	}
}

// The style is the one asked for, else the family's, else JSON; one without a
// prompt is refused and not ignored.
func TestPromptStyle(t *testing.T) {
	for _, tt := range []struct{ style, family, want string }{
		{"", "", "json_fence"}, {"", "qwen", "hermes_json"}, {"xml", "qwen", "claude_xml"}, {"", "unheard-of", "json_fence"}, {"pythonic", "", "pythonic"},
	} {
		e, err := Teach(PromptOptions{Tools: promptTools, Style: tt.style, Family: tt.family})
		if err != nil || e.Dialect != tt.want {
			t.Errorf("style %q, family %q: %q, %v", tt.style, tt.family, e.Dialect, err)
		}
	}
	for name, fam := range families {
		if _, ok := styles[fam.style]; fam.style != "" && !ok {
			t.Errorf("family %s wants the style %q, which nobody teaches", name, fam.style)
		}
	}
}

func TestPromptRefuses(t *testing.T) {
	hosted := llm.ToolDef{Kind: llm.HostedTool, Name: llm.WebSearch}
	for _, tt := range []struct {
		why  string
		o    PromptOptions
		kind llm.Kind
	}{
		{"no template", PromptOptions{Style: "markdown", Tools: promptTools}, llm.Unsupported},
		{"run by the provider", PromptOptions{Tools: []llm.ToolDef{hosted}}, llm.Unsupported},
		{"not offered", PromptOptions{Tools: promptTools, Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "other"}}, llm.Invalid},
		{"none allowed", PromptOptions{Tools: promptTools, Choice: llm.ToolChoice{Mode: llm.MustCall, Allowed: []string{}}}, llm.Invalid},
		{"markup as a name", PromptOptions{Tools: []llm.ToolDef{{Name: "a b"}}}, llm.Invalid},
		{"a parameter that is no Python name", PromptOptions{Style: "pythonic", Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(`{"properties":{"a-b":{}},"required":["a-b"]}`)}}}, llm.Unsupported},
		{"a schema that is none", PromptOptions{Constrained: true, Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(`[]`)}}}, llm.Invalid},
	} {
		if e, err := Teach(tt.o); llm.KindOf(err) != tt.kind || e.System != "" {
			t.Errorf("%s: %v, %q", tt.why, err, e.System)
		}
	}
	if e, err := Teach(PromptOptions{}); err != nil || e.System != "" || e.Stop != nil {
		t.Errorf("no tools: %+v, %v", e, err)
	}
}

// Only the tools the choice leaves are taught.
func TestPromptChoice(t *testing.T) {
	e, err := Teach(PromptOptions{Tools: promptTools, Choice: llm.ToolChoice{Allowed: []string{"ping"}}})
	if err != nil || strings.Contains(e.System, "get_weather") || !strings.Contains(e.System, "ping") {
		t.Errorf("%v\n%s", err, e.System)
	}
}

// A compact prompt keeps descriptions within their bounds and is much shorter
// than a standard one.
func TestPromptCompactIsShort(t *testing.T) {
	long := strings.Repeat("wörd ", 100)
	var b strings.Builder
	describe(&b, llm.ToolDef{
		Name: "f", Description: long,
		Schema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","description":"` + long + `"}}}`),
	}, true)
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines:\n%s", len(lines), b.String())
	}
	for i, bound := range []int{len("- f(a?: string): ") + 80, len("  a: ") + 60} {
		if n := utf8.RuneCountInString(lines[i]); n > bound || !strings.HasSuffix(lines[i], "…") {
			t.Errorf("%d runes, want at most %d: %s", n, bound, lines[i])
		}
	}
	small, _ := Teach(PromptOptions{Tools: promptTools})
	large, _ := Teach(PromptOptions{Tools: promptTools, Context: 32000})
	t.Logf("about %d tokens compact, %d standard", len(small.System)/4, len(large.System)/4)
	if len(small.System)*5 > len(large.System)*4 {
		t.Errorf("compact has %d bytes, standard %d", len(small.System), len(large.System))
	}
}

// A schema that is broken or leads in circles still gives a prompt.
func TestPromptForgivesSchemas(t *testing.T) {
	for _, s := range []string{
		`{`, `[]`, `true`, `"x"`, `{"properties":3}`, `{"type":"object","properties":{"a":{"$ref":"#/properties/a"}}}`,
		`{"type":"object","properties":{"a":{"$ref":"#"}},"required":["a"]}`, `{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}}}`,
		`{"type":"dict","properties":{"a":{"type":"tuple","items":{"type":"float"}}},"required":["a"]}`, `{"anyOf":[{"type":"object"}]}`,
		`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"enum":[]},"b":{"const":null},"c":{"type":[]}},"required":["a","b","c"]}`,
	} {
		for _, context := range []int{0, 32000} {
			e, err := Teach(PromptOptions{Context: context, Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(s)}}})
			if err != nil || e.System == "" {
				t.Errorf("%s: %v", s, err)
			}
		}
	}
}

// References that multiply do not: the prompt stays bounded.
func TestPromptIsBounded(t *testing.T) {
	var props []string
	for i := range 50 {
		props = append(props, fmt.Sprintf(`"p%d":{"$ref":"#"}`, i))
	}
	s := `{"type":"object","properties":{` + strings.Join(props, ",") + `},"required":["p1","p2","p3","p4"]}`
	for _, context := range []int{0, 32000} {
		e, err := Teach(PromptOptions{Context: context, Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(s)}}})
		if err != nil || len(e.System) > 64<<10 {
			t.Errorf("%d bytes, %v", len(e.System), err)
		}
	}
}

// A schema from outside never breaks a prompt.
func FuzzPrompt(f *testing.F) {
	for _, t := range promptTools {
		f.Add(string(t.Schema))
	}
	f.Add(`{"$ref":"#/$defs/n","$defs":{"n":{"type":"object","properties":{"next":{"$ref":"#/$defs/n"}},"required":["next"]}}}`)
	f.Fuzz(func(t *testing.T, s string) {
		tools := []llm.ToolDef{{Name: "f", Schema: json.RawMessage(s)}}
		for _, o := range []PromptOptions{{Tools: tools}, {Tools: tools, Context: 32000}} {
			if e, err := Teach(o); err != nil || e.System == "" {
				t.Errorf("%v", err)
			}
		}
		if raw, err := Envelope(EnvelopeOptions{Tools: tools, MaxString: 5}); err == nil && !json.Valid(raw) {
			t.Errorf("an envelope that is no JSON: %s", raw)
		}
	})
}

// What the prompts show as an example is read as the calls it shows.
func TestPromptExamplesAreRead(t *testing.T) {
	for _, o := range []PromptOptions{
		{Style: "json"}, {Style: "xml"}, {Style: "pythonic"}, {Style: "hermes"}, {Style: "react"}, {Constrained: true},
		{Style: "json", Parallel: true}, {Style: "xml", Parallel: true}, {Style: "pythonic", Parallel: true},
		{Style: "hermes", Parallel: true}, {Style: "react", Parallel: true}, {Constrained: true, Parallel: true},
	} {
		o.Tools = promptTools
		e, err := Teach(o)
		if err != nil {
			t.Fatal(err)
		}
		_, shown, _ := strings.Cut(e.System, "Example:\n")
		shown, _, _ = strings.Cut(shown, "\nCall a tool only")
		var b llm.Builder
		for ev, err := range (&dialect.Parser{Tools: promptTools, Dialect: e.Dialect}).Parse(dialect.Whole(shown)) {
			if err != nil {
				t.Fatal(err)
			}
			b.Add(ev)
		}
		want := []string{`get_weather map[city:some city]`}
		if o.Parallel {
			want = append(want, `book map[at:2025-01-31T12:00:00Z guests:[map[name:some name]]]`)
		}
		var got []string
		for _, c := range b.Response().Message.Calls() {
			if len(c.Provenance.Repairs) > 0 {
				t.Errorf("style %q, parallel %v: repaired: %+v", o.Style, o.Parallel, c)
			}
			got = append(got, fmt.Sprint(c.Name, " ", js.Decode[map[string]any](c.Args)))
		}
		if diff := cmp.Diff(want, got); diff != "" || len(b.Response().Invalid) > 0 {
			t.Errorf("style %q, parallel %v: %s\n%s", o.Style, o.Parallel, shown, diff)
		}
	}
}
