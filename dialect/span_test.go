package dialect_test

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
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
		var places []dialect.Span
		p := dialect.Parser{Tools: append(caseTools[:len(caseTools):len(caseTools)], blindTools...), Markup: true, Suspected: func(s dialect.Span) { places = append(places, s) }}
		for ev, err := range p.Parse(dialect.Whole(text)) {
			if err != nil {
				t.Fatal(err)
			}
			if m, ok := ev.(dialect.Markup); ok {
				spans = append(spans, [2]int{m.Start, m.Start + len(m.Text)})
			}
		}
		end := 0
		for _, found := range places {
			if found.Start < end || found.End <= found.Start || found.End > len(text) {
				t.Errorf("%d to %d is suspected after %d, of %d bytes of\n%s", found.Start, found.End, end, len(text), text)
			}
			end = found.End
			for _, s := range spans {
				if found.Start < s[1] && s[0] < found.End {
					t.Errorf("%+v is suspected and shares bytes with the call at %v of\n%s", found, s, text)
				}
			}
		}
	}
}

// TestSuspectedTextHasBounds: the same bounds in one piece, cut at every byte, and fed.
func TestSuspectedTextHasBounds(t *testing.T) {
	text := "I could write {\"name\": \"find_room\", \"arguments\": {\"town\": \"Siena\"}} here, but the hotel is full.\nThat is all."
	read := func(cut int, fed bool) (list []dialect.Span) {
		p := dialect.Parser{Tools: caseTools, Suspected: func(s dialect.Span) { list = append(list, s) }}
		var said strings.Builder
		collect := func(ev llm.Event, err error) bool {
			if d, ok := ev.(llm.TextDelta); ok {
				said.WriteString(d.Text)
			}
			return err == nil
		}
		if fed {
			f := p.Open(collect)
			defer f.Stop()
			f.Add(text[:cut])
			f.Add(text[cut:])
			f.End(nil)
		} else {
			for ev, err := range p.Parse(func(yield func(string, error) bool) { _ = yield(text[:cut], nil) && yield(text[cut:], nil) }) {
				collect(ev, err)
			}
		}
		if said.String() != text {
			t.Errorf("cut at %d, fed %v: %q", cut, fed, said.String())
		}
		return list
	}
	want := read(0, false)
	if len(want) != 1 || want[0].Tool != "find_room" || !strings.HasPrefix(text[want[0].Start:], `{"name"`) || !strings.HasSuffix(text[:want[0].End], "the hotel is full.") {
		t.Fatalf("%+v", want)
	}
	for cut := range len(text) {
		for _, fed := range []bool{false, true} {
			if got := read(cut, fed); !slices.Equal(got, want) {
				t.Errorf("cut at %d, fed %v: %+v, not %+v", cut, fed, got, want)
			}
		}
	}
}

// TestSuspectedTextEndsBeforeACall: the bounds of suspected text do not reach into the call that follows it.
func TestSuspectedTextEndsBeforeACall(t *testing.T) {
	const shown = `{"name": "find_room", "arguments": {"town": "Siena"}}`
	const call = "<tool_call>" + shown + "</tool_call>"
	for _, before := range []string{"I could write " + shown + " here.\n", "Like this: " + shown + " or so.\n\n", "Say `" + shown + "`.\n"} {
		var found []string
		text := before + call
		p := dialect.Parser{Tools: caseTools, Suspected: func(s dialect.Span) { found = append(found, text[s.Start:s.End]) }}
		calls := 0
		for ev := range p.Parse(dialect.Whole(text)) {
			if _, ok := ev.(llm.Call); ok {
				calls++
			}
		}
		if calls != 1 || len(found) != 1 || strings.Contains(found[0], "<tool_call>") {
			t.Errorf("%q: %d calls, suspected %q", text, calls, found)
		}
	}
}
