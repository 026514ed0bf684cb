package dialect_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// The page about the dialects is made from the table.
func TestDocumentation(t *testing.T) {
	const file = "../docs/dialects.md"
	var b strings.Builder
	b.WriteString(`# Dialects

Look up a notation of calls in text. ` + "`toolpost parse`" + ` finds the dialect by itself; ` + "`toolpost explain`" + ` shows what
became of every byte. This page is made from the table in package dialect/spec; after changing it, run
` + "`go test ./dialect -update`" + `. A program adds a dialect of its own with ` + "`dialect.Builtin().With`" + `, which takes the same rows ([extend.md](extend.md)).

| dialect | written by | looks like | form | markers |
|---|---|---|---|---|
`)
	for _, d := range dialect.Builtin().All() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %s |\n", d.Name, d.Models, cell(d.Title), d.Form, markersOf(d))
	}
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil || string(got) != b.String() {
		t.Errorf("%s is out of date (%v): run go test ./dialect -update", file, err)
	}
}

func cell(s string) string { return strings.NewReplacer("|", `\|`, "\n", "⏎").Replace(s) }

func markersOf(d spec.Dialect) string {
	var list []string
	for _, p := range append(append([]spec.Pair{}, d.Wrap...), append(d.Call, d.Tags.Call)...) {
		if p.Open != "" && !strings.Contains(p.Open, "```") {
			list = append(list, "`"+cell(strings.ReplaceAll(p.Open, "%s", "NAME"))+"`")
		}
	}
	return strings.Join(list, " ")
}

// A model's answer arrives in pieces; thinking, text and calls come out in
// order.
func ExampleParser() {
	p := dialect.Parser{Tools: []llm.ToolDef{{
		Name:   "find_room",
		Schema: []byte(`{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"}}}`),
	}}}
	text := "<think>A room.</think>Let me look.\n<tool_call>\n<function=find_room>\n<parameter=town>\nSiena\n</parameter>\n" +
		"<parameter=beds>\n2\n</parameter>\n</function>\n</tool_call>"
	for ev, err := range p.Parse(dialect.Cut(text, 24)) {
		if err != nil {
			fmt.Println(err)
			return
		}
		switch ev := ev.(type) {
		case llm.CallStart:
			fmt.Println("calls", ev.Name)
		case llm.Call:
			fmt.Println(string(ev.Args), "in", ev.Provenance.Dialect)
		}
	}
	// Output:
	// calls find_room
	// {"town":"Siena","beds":2} in qwen3_coder_xml
}
