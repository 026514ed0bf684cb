package text

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/dialect"
)

var updateExplain = flag.Bool("update-explain", false, "rewrite what the cases of explain show")

// The output of explain in a pipe.
func TestExplain(t *testing.T) {
	files, err := filepath.Glob("testdata/explain/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			tools := filepath.Join(t.TempDir(), "tools.json")
			if err := os.WriteFile(tools, archive.Files[0].Data, 0o600); err != nil {
				t.Fatal(err)
			}
			r := toolpost(t, string(archive.Files[1].Data), "explain", "--tools", tools)
			if invalid := strings.Contains(string(archive.Files[2].Data), "\ninvalid "); (r.code == cli.ExitFailed) != invalid || r.code == cli.ExitUsage {
				t.Fatalf("exit %d: %s", r.code, r.errOut)
			}
			if *updateExplain {
				archive.Files[2].Data = []byte(r.out)
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(archive.Files[2].Data), r.out); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The spans of the JSON form, joined, are the text.
func TestExplainCoversEveryByte(t *testing.T) {
	const text = "Sure. <tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"é\"}}</tool_call> Done {\"x\": 1}."
	r := toolpost(t, text, "explain", "--json")
	var e explanation
	if err := json.Unmarshal([]byte(r.out), &e); err != nil {
		t.Fatal(err, r.errOut)
	}
	var joined strings.Builder
	for _, s := range e.Spans {
		joined.WriteString(s.Text)
	}
	if joined.String() != text || e.Bytes != len(text) || len(e.Calls) != 1 {
		t.Errorf("%q, %d calls", joined.String(), len(e.Calls))
	}
}

// A hint that changes the result is found and shown.
func TestNearest(t *testing.T) {
	if a, b := likeness("<tool_call>{", "<tool_call>["), likeness("<tool_call>{", "functools["); a <= b || likeness("abc", "abc") != 1 || likeness("", "abc") != 0 {
		t.Errorf("likeness: %v, %v", a, b)
	}
	span := func(from, to int, k dialect.SpanKind) dialect.Span {
		return dialect.Span{Start: from, End: to, Kind: k}
	}
	a := []dialect.Span{span(0, 5, dialect.TextSpan), span(5, 9, dialect.ArgsSpan)}
	b := []dialect.Span{span(0, 7, dialect.TextSpan), span(7, 9, dialect.ArgsSpan)}
	if got := overlap(a, b); got != 7 {
		t.Errorf("overlap: %d, want 7", got)
	}
}

func TestExplainUsage(t *testing.T) {
	if r := toolpost(t, strings.Repeat("a", maxExplained+1), "explain"); r.code != cli.ExitFailed || !strings.Contains(r.errOut, "too much to explain") {
		t.Errorf("a long text: %d, %s", r.code, r.errOut)
	}
	if r := toolpost(t, "", "explain", "--dialects"); r.code != cli.ExitOK || !strings.Contains(r.out, "hermes_json") {
		t.Errorf("--dialects: %d, %s", r.code, r.errOut)
	}
	r := toolpost(t, "", "explain", "--dialects", "--json")
	var rows []struct{ Name, Title, Models, Form string }
	if err := json.Unmarshal([]byte(r.out), &rows); err != nil || len(rows) != len(dialect.Builtin().All()) || rows[0].Title == "" {
		t.Errorf("%v: %s", err, r.out)
	}
}
