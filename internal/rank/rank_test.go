package rank

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWords(t *testing.T) {
	for _, c := range []struct{ text, want, why string }{
		{"getHTTPStatus", "get http status", "humps, and an abbreviation before one"},
		{"read_file.v2-beta", "read file v2 beta", "every separator"},
		{"3D ec2 70kg", "3d ec2 70kg", "digits belong to the word they touch"},
		{"don't stop", "don t stop", "an apostrophe separates; the rest are stop words"},
		{"Füße ÉCOLE", "füße école", "letters of any alphabet, in lower case"},
		{"天气 forecast", "天 气 forecast", "scripts without spaces"},
		{"  ", "", "nothing"},
	} {
		var got []string
		words(c.text, func(w string) { got = append(got, w) })
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("words(%q) = %q, want %q: %s", c.text, s, c.want, c.why)
		}
	}
}

// The pairs are of one word each; the stem itself is nobody's business.
func TestStemsConflate(t *testing.T) {
	for _, group := range []string{
		"calculate calculates calculated calculating calculation calculator",
		"flight flights", "city cities", "hop hopping hopped", "relational relate",
		"restaurant restaurants", "bookings booking book",
	} {
		words := strings.Fields(group)
		for _, w := range words[1:] {
			if stem(w) != stem(words[0]) {
				t.Errorf("stem(%s) = %s, stem(%s) = %s", w, stem(w), words[0], stem(words[0]))
			}
		}
	}
	for _, w := range []string{"bus", "is", "gas", "news", "analysis", "sky", "s"} {
		if got := stem(w); got == "" {
			t.Errorf("stem(%s) is empty", w)
		}
	}
}

func index(docs ...string) *Index {
	fields := make([][]Field, len(docs))
	for i, d := range docs {
		name, text, _ := strings.Cut(d, ": ")
		fields[i] = Document(name, text, nil)
	}
	return New(fields)
}

func TestSearch(t *testing.T) {
	x := index(
		"get_weather: Returns the forecast for a place.",
		"book_flight: Books a seat on a plane.",
		"read_file: Reads a file.",
		"write_file: Writes a file.",
	)
	for _, c := range []struct {
		question string
		want     int
		why      string
	}{
		{"What's the weather in Rome?", 0, "the word itself"},
		{"Will I need an umbrella tomorrow?", 0, "another word of the same concept"},
		{"I need airline tickets to Rome", 1, "a concept, past the stop words"},
		{"reading files", 2, "inflected"},
		{"WriteFile", 3, "written as a program would"},
	} {
		hits := x.Search(c.question, 1)
		if len(hits) != 1 || hits[0].Doc != c.want {
			t.Errorf("%q: %v, want document %d: %s", c.question, hits, c.want, c.why)
		}
	}
	if hits := x.Search("the of and 42", 0); len(hits) != 0 {
		t.Errorf("stop words and numbers found %v", hits)
	}
	if hits := index().Search("anything", 3); len(hits) != 0 {
		t.Errorf("an empty index found %v", hits)
	}
}

func TestEqualDocumentsKeepTheirOrder(t *testing.T) {
	x := index("a: same text", "b: same text", "c: same text")
	want := []Hit{{0, 0}, {1, 0}, {2, 0}}
	for range 20 {
		got := x.Search("same text", 0)
		for i := range got {
			got[i].Score = 0
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestSearchIsDeterministic(t *testing.T) {
	docs := []string{"alpha: one two three four", "beta: three four five six", "gamma: five six one two"}
	q := "one two three four five six alpha beta gamma"
	want := index(docs...).Search(q, 0)
	for range 50 {
		if diff := cmp.Diff(want, index(docs...).Search(q, 0)); diff != "" {
			t.Fatal(diff)
		}
	}
}

func TestFit(t *testing.T) {
	x := index("get_weather: Returns the forecast for a city.", "book_flight: Books a seat on a plane.")
	near, far := x.Fit("What is the weather in Paris?"), x.Fit("Prove that the square root of two is irrational")
	if near < 0.4 || far > 0.1 {
		t.Errorf("fit of a question about weather %.2f, of one about nothing there %.2f", near, far)
	}
	if got := x.Fit(""); got != 0 {
		t.Errorf("no question fits %.2f", got)
	}
	if got := index().Fit("weather"); got != 0 {
		t.Errorf("no document fits %.2f", got)
	}
}

func TestDocumentReadsParameters(t *testing.T) {
	schema := map[string]any{"properties": map[string]any{
		"kind":  map[string]any{"description": "profession", "enum": []any{"Psychologist", 3}},
		"where": map[string]any{"properties": map[string]any{"town": map[string]any{}}},
		"list":  map[string]any{"items": map[string]any{"properties": map[string]any{"price": true}}},
	}}
	x := New([][]Field{Document("find", "", schema)})
	for _, q := range []string{"psychologist", "profession", "town", "price"} {
		if len(x.Search(q, 1)) == 0 {
			t.Errorf("%q is not found", q)
		}
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("get_weather: forecast", "What's the weather?")
	f.Add("天气", "yyyyyyyyyyyyyyyyyyyyyyyyyyy")
	f.Fuzz(func(t *testing.T, doc, q string) {
		x := index(doc, "other: text")
		if fit := x.Fit(q); fit < 0 || fit > 1.000001 {
			t.Errorf("fit %f", fit)
		}
		for _, h := range x.Search(q, 2) {
			if h.Doc < 0 || h.Doc > 1 || !(h.Score > 0) {
				t.Errorf("hit %v", h)
			}
		}
	})
}

func BenchmarkSearch(b *testing.B) {
	x := index("get_weather: Returns the forecast for a place.", "book_flight: Books a seat on a plane.")
	b.ReportAllocs()
	for b.Loop() {
		x.Search("Will I need an umbrella in Rome tomorrow, or a coat?", 5)
	}
}
