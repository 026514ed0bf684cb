package dialect

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/llm"
)

// The envelopes that older bridges write, wherever the stream is cut.
func TestEnvelopeReading(t *testing.T) {
	files, err := filepath.Glob("testdata/envelope/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			wrote, want := strings.TrimSuffix(string(archive.Files[0].Data), "\n"), string(archive.Files[1].Data)
			for _, hint := range []string{"", "envelope"} {
				p := Parser{Tools: []llm.ToolDef{{Name: "bash"}, {Name: "lookup_weather"}}, Dialect: hint}
				for i := range wrote {
					chunks := func(yield func(string, error) bool) { _ = yield(wrote[:i], nil) && yield(wrote[i:], nil) }
					if got := said(readAgain(t, p, chunks)); got != want {
						t.Fatalf("cut at %d, hint %q:\n%s\nwant:\n%s", i, hint, got, want)
					}
				}
			}
		})
	}
}

// said writes what was read as the cases do.
func said(r reread) string {
	var b strings.Builder
	if r.Text != "" {
		b.WriteString("text " + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(r.Text) + "\n")
	}
	for _, c := range r.Calls {
		b.WriteString("call " + c + "\n")
	}
	for _, c := range r.Invalid {
		b.WriteString("invalid " + c + "\n")
	}
	return b.String()
}

// Every byte of an envelope is accounted for.
func TestEnvelopeTrace(t *testing.T) {
	const wrote = ` {"type":"text", "text":"a\n\u00e9 b"}` + "\n"
	at := 0
	p := Parser{Trace: func(s Span) {
		if s.Start != at {
			t.Errorf("span %+v begins at %d, want %d", s, s.Start, at)
		}
		at = s.End
	}}
	if got := readAgain(t, p, Cut(wrote, 1)); got.Text != "a\né b" {
		t.Errorf("%q", got.Text)
	}
	if at != len(wrote) {
		t.Errorf("the trace ends at %d of %d", at, len(wrote))
	}
}
