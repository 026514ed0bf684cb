package rank

import (
	"strconv"
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
		{"Füße ÉCOLE École", "füße école école", "letters of any alphabet, in lower case"},
		{"ÄÖÜÉcole", "äöü école", "a hump of any alphabet"},
		{"天气 forecast", "天 气 forecast", "scripts without spaces"},
		{"  ", "", "nothing"},
	} {
		var got []string
		words(c.text, func(w []byte) { got = append(got, string(w)) })
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("words(%q) = %q, want %q: %s", c.text, s, c.want, c.why)
		}
	}
}

// The words of a group have one stem; the stem itself does not matter.
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

// Definitions come from anywhere; none of these may fail, and an order there is
// always.
func TestUnusualInput(t *testing.T) {
	long := strings.Repeat("a description that never ends ", 1<<15)
	many := make([][]Field, 10_000)
	for i := range many {
		many[i] = Document("tool_"+strconv.Itoa(i), "Does thing number "+strconv.Itoa(i)+".", nil)
	}
	many[7777] = Document("water_plants", "Waters the plants in the garden.", nil)
	for _, c := range []struct {
		name, question string
		docs           [][]Field
		first          int // -1: no hit
	}{
		{"no documents", "anything", nil, -1},
		{"no question", "", [][]Field{Document("a", "b", nil)}, -1},
		{"one document that does not fit", "zzzzqqq", [][]Field{Document("get_weather", "Forecast.", nil)}, -1},
		{"a script the table does not have", "今天罗马的天气怎么样", [][]Field{Document("get_weather", "Forecast.", nil)}, -1},
		{"accents", "la météo", [][]Field{Document("read_file", "Reads.", nil), Document("meteo", "", nil)}, 1},
		{"a document of a megabyte", "weather", [][]Field{Document("long", long, nil), Document("get_weather", "Forecast.", nil)}, 1},
		{"a question of a megabyte", long + "weather", [][]Field{Document("x", "y", nil), Document("describe", "A description.", nil)}, 1},
		{"ten thousand documents", "the flowers in my garden are dry", many, 7777},
		{"fields without text", "weather", [][]Field{{}, {{}}, Document("get_weather", "", nil)}, 2},
	} {
		hits := New(c.docs).Search(c.question, 1)
		if len(hits) == 0 && c.first >= 0 || len(hits) > 0 && hits[0].Doc != c.first {
			t.Errorf("%s: %v, want document %d first", c.name, hits, c.first)
		}
	}
}

func TestOwnVectors(t *testing.T) {
	docs := [][]Field{Document("a", "one", nil), Document("b", "two", nil), Document("c", "three", nil)}
	x := NewWith(docs, [][]float32{{1, 0}, {0, 5}, {1, 1}})
	var got []int
	for _, h := range x.SearchWith("unheard", []float32{0, 2}, 0) {
		got = append(got, h.Doc)
	}
	if diff := cmp.Diff([]int{1, 2}, got); diff != "" {
		t.Errorf("by their vectors:\n%s", diff)
	}
	for name, v := range map[string][]float32{"none": nil, "too short": {1}, "too long": {1, 2, 3}} {
		if hits := x.SearchWith("one", v, 0); len(hits) != 1 || hits[0].Doc != 0 {
			t.Errorf("with a vector that is %s, words decide: %v", name, hits)
		}
	}
}

// The table is used in the way it was trained: the pieces of a word are the
// longest that it begins with, and the sum of their vectors is its meaning.
func TestTable(t *testing.T) {
	v := table()
	if len(v.rows) < 20_000 || len(tableData) > 8_000_000 {
		t.Fatalf("%d pieces in %d bytes", len(v.rows), len(tableData))
	}
	for _, c := range []struct{ word, want string }{
		{"weather", "weather"}, {"tokenizer", "token ##izer"}, {"naïve", "naive"}, {"天", ""}, {"", ""},
	} {
		byRow := make(map[int32]string)
		for piece, row := range v.rows {
			byRow[row] = piece
		}
		var got []string
		v.pieces(plain([]byte(c.word)), func(row int32) { got = append(got, byRow[row]) })
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("%q is %q, want %q", c.word, s, c.want)
		}
	}
	alike := func(a, b string) float32 {
		x, y := make([]float32, Dimensions), make([]float32, Dimensions)
		v.addMeaning(x, a, 1)
		v.addMeaning(y, b, 1)
		unit(x)
		unit(y)
		return dot(x, y)
	}
	if near, far := alike("airline tickets", "book a flight"), alike("airline tickets", "water the plants"); near < far+0.2 {
		t.Errorf("likeness of what is alike %.2f, of what is not %.2f", near, far)
	}
}

func TestSearchAllocates(t *testing.T) {
	docs := make([][]Field, 500)
	for i := range docs {
		docs[i] = Document("tool_"+strconv.Itoa(i), "Shows the weather of town number "+strconv.Itoa(i), nil)
	}
	x := New(docs)
	if n := testing.AllocsPerRun(50, func() { x.Search("What is the weather in Rome and how do I get there?", 5) }); n > 10 {
		t.Errorf("a question to 500 documents takes %.0f allocations", n)
	}
}

func BenchmarkSearch(b *testing.B) {
	x := index("get_weather: Returns the forecast for a place.", "book_flight: Books a seat on a plane.")
	b.ReportAllocs()
	for b.Loop() {
		x.Search("Will I need an umbrella in Rome tomorrow, or a coat?", 5)
	}
}
