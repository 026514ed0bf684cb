package dialect_test

import (
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
)

// A part of a text is a call, or it is reported as text that looks like a call, but not both.
func TestOneResultPerSpan(t *testing.T) {
	var texts []string
	files, _ := filepath.Glob("testdata/cases/*.txtar")
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i := 0; i < len(archive.Files); i += 2 {
			texts = append(texts, strings.TrimSuffix(string(archive.Files[i].Data), "\n"))
		}
	}
	sets, _ := filepath.Glob("testdata/blind/*.jsonl")
	for _, set := range sets {
		for _, row := range blindRows(t, strings.TrimSuffix(filepath.Base(set), ".jsonl")) {
			texts = append(texts, row.Text)
		}
	}
	for _, text := range texts {
		var spans [][2]int
		var places []int
		p := dialect.Parser{Tools: append(caseTools[:len(caseTools):len(caseTools)], blindTools...), Markup: true, Suspected: func(at int) { places = append(places, at) }}
		for ev, err := range p.Parse(dialect.Whole(text)) {
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := ev.(dialect.Markup); ok {
				spans = append(spans, [2]int{m.Start, m.Start + len(m.Text)})
			}
		}
		for _, at := range places {
			for _, s := range spans {
				if s[0] <= at && at < s[1] {
					t.Errorf("byte %d is suspected and in the call at %v of\n%s", at, s, text)
				}
			}
		}
	}
}
