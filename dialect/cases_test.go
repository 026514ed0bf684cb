package dialect_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

var update = dialect.Update

// caseTools are offered in every case unless its name begins with "any".
var caseTools = []llm.ToolDef{
	{Name: "find_room", Schema: []byte(`{"type":"object","properties":{"town":{"type":"string"},"beds":{"type":"integer"},"notes":{"type":["string","null"]},"tags":{"type":"array","items":{"type":"string"}},"owner":{"type":"object"}},"required":["town"]}`)},
	{Name: "make_note", Schema: []byte(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
	{Name: "ping", Schema: []byte(`{"type":"object","properties":{}}`)},
	{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}}}`)},
}

// manyTools are offered in the cases whose name begins with "many".
var manyTools = []llm.ToolDef{
	{Name: "write_file", Schema: []byte(`{"type":"object","properties":{"path":{"type":"string"},"content":{"type":"string"}},"required":["path","content"]}`)},
	{Name: "get_weather", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["c","f"]}},"required":["city"]}`)},
	{Name: "search_docs", Schema: []byte(`{"type":"object","properties":{"query":{"type":"string"},"limit":{"type":"integer"}},"required":["query"]}`)},
	{Name: "delete_rows", Schema: []byte(`{"type":"object","properties":{"table":{"type":"string"},"ids":{"type":"array","items":{"type":"integer"}}},"required":["table","ids"]}`)},
	{Name: "send_mail", Schema: []byte(`{"type":"object","properties":{"to":{"type":"string"},"subject":{"type":"string"},"body":{"type":"string"}},"required":["to","subject","body"]}`)},
	{Name: "run_query", Schema: []byte(`{"type":"object","properties":{"sql":{"type":"string"}},"required":["sql"]}`)},
	{Name: "set_lamp", Schema: []byte(`{"type":"object","properties":{"room":{"type":"string"},"on":{"type":"boolean"},"level":{"type":"number"}},"required":["room","on"]}`)},
	{Name: "ping_host", Schema: []byte(`{"type":"object","properties":{"host":{"type":"string"},"count":{"type":"integer"}},"required":["host"]}`)},
	{Name: "list_tables", Schema: []byte(`{"type":"object","properties":{}}`)},
}

// Every dialect has a file of cases. A case is a text and what it means; the
// first lines of the file tell why each case exists. A case called "cut …" ends
// because the model ran out of tokens, one called "filtered …" because a filter
// cut it off, one called "open …" begins inside thinking, one called "off …" was asked not to think, "any …" accepts every
// name, "none …" offers no tool, "many …" offers nine others, and "hint …" tells the dialect.
func TestCases(t *testing.T) {
	files, err := filepath.Glob("testdata/cases/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	seen := make(map[string]bool)
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txtar")
		seen[name] = true
		t.Run(name, func(t *testing.T) { runCases(t, file) })
	}
	for _, d := range dialect.Builtin().All() {
		if !seen[d.Name] {
			t.Errorf("%s has no cases", d.Name)
		}
	}
}

func runCases(t *testing.T, file string) {
	archive, err := txtar.ParseFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(archive.Files); i += 2 {
		in, out := archive.Files[i], &archive.Files[i+1]
		if !strings.Contains(string(archive.Comment), in.Name+": ") {
			t.Errorf("%s does not say why the case %q exists", file, in.Name)
		}
		text := strings.TrimSuffix(string(in.Data), "\n")
		p := caseParser(in.Name)
		if strings.HasPrefix(in.Name, "hint ") {
			p.Dialect = strings.TrimSuffix(filepath.Base(file), ".txtar")
		}
		got := transcript(t, p, text, len(text))
		if *update {
			out.Name, out.Data = in.Name+" means", []byte(got)
			continue
		}
		if want := string(out.Data); got != want {
			t.Errorf("%s:\n%s\nmeans\n%s\nwant\n%s", in.Name, text, got, want)
		}
		if cut := transcript(t, p, text, 1); cut != got {
			t.Errorf("%s:\n%s\nmeans byte by byte\n%s\nwhole\n%s", in.Name, text, cut, got)
		}
	}
	if *update {
		if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func caseParser(name string) dialect.Parser {
	p := dialect.Parser{Tools: caseTools}
	word, _, _ := strings.Cut(name, " ")
	switch strings.TrimSuffix(word, ",") {
	case "any":
		p.Tools = nil
	case "many":
		p.Tools = manyTools
	case "none":
		p.Tools = []llm.ToolDef{}
	case "cut":
		p.Finish = func() llm.Reason { return llm.Length }
	case "filtered":
		p.Finish = func() llm.Reason { return llm.ContentFilter }
	case "open":
		p.ThinkingOpen = true
	case "off":
		p.ThinkingOff = true
	}
	return p
}

// transcript tells what a text means, one line per event.
func transcript(t *testing.T, p dialect.Parser, text string, chunk int) string {
	var b llm.Builder
	for ev, err := range p.Parse(dialect.Cut(text, max(chunk, 1))) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(ev)
	}
	var out strings.Builder
	r := b.Response()
	for _, part := range r.Message.Parts {
		switch part := part.(type) {
		case llm.Text:
			fmt.Fprintf(&out, "text %q\n", part.Text)
		case llm.Thinking:
			fmt.Fprintf(&out, "thinking %q\n", part.Text)
		case llm.Call:
			fmt.Fprintf(&out, "call %s %s in %s%s\n", part.Name, compact(t, part.Args), part.Provenance.Dialect, repairs(part.Provenance))
		}
	}
	for _, c := range r.Invalid {
		fmt.Fprintf(&out, "invalid %s %s: %s\n", c.Reason, c.Name, c.Problem)
	}
	for _, w := range r.Warnings {
		fmt.Fprintf(&out, "warning %s %s\n", w.Code, w.Feature)
	}
	return out.String()
}

func compact(t *testing.T, raw json.RawMessage) string {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return b.String()
}

func repairs(p llm.Provenance) string {
	var s string
	for _, r := range p.Repairs {
		s += fmt.Sprintf(", %s (%s)", r.Rule, r.Class)
	}
	return s
}
