package rank

import (
	"cmp"
	"flag"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
)

type corpusTool struct {
	ID, Name, Description string
	Parameters            map[string]any
}

type corpusQuery struct {
	Query string
	Gold  []string
}

func documents(tools []corpusTool) [][]Field {
	docs := make([][]Field, len(tools))
	for i, tl := range tools {
		docs[i] = Document(tl.Name, tl.Description, tl.Parameters)
	}
	return docs
}

func indexOf(tools []corpusTool) *Index { return New(documents(tools)) }

var ingredients = flag.Bool("ingredients", false, "ask every question of the corpus, also of each ingredient alone")

// Each ingredient alone and both together on the public half of the questions:
//
//	go test ./internal/rank -run CorpusRecall -v -ingredients
//
// Without the flag every fourth question is asked. A function of bfcl counts by
// its name: many functions there have the same name and differ in a word of
// their description.
func TestCorpusRecall(t *testing.T) {
	dir := corpus.Path(t, "tool_selection")
	for _, set := range []struct {
		name, tools, queries string
		least                float64 // recall@5
	}{
		{"metatool", "metatool/tools.jsonl", "metatool/queries_single.jsonl", 0.77},
		{"metatool, two tools", "metatool/big_tools.jsonl", "metatool/queries_multi.jsonl", 0.86},
		{"bfcl", "bfcl_catalogue/tools.jsonl", "bfcl_catalogue/queries.jsonl", 0.915},
	} {
		tools := corpus.Lines[corpusTool](t, filepath.Join(dir, set.tools))
		queries := corpus.Lines[corpusQuery](t, filepath.Join(dir, set.queries))
		x := indexOf(tools)
		if *ingredients {
			logRecall(t, set.name, "words", tools, queries, x, mix{words: 1})
			logRecall(t, set.name, "meaning", tools, queries, x, mix{meaning: 1})
		} else {
			queries = everyFourth(queries)
		}
		if got := logRecall(t, set.name, "both", tools, queries, x, both); got < set.least {
			t.Errorf("%s: recall@5 %.3f, want at least %.3f", set.name, got, set.least)
		}
	}
}

func everyFourth(all []corpusQuery) []corpusQuery {
	var out []corpusQuery
	for i := 0; i < len(all); i += 4 {
		out = append(out, all[i])
	}
	return out
}

// logRecall logs recall by id and by name and returns recall@5 by name.
func logRecall(t *testing.T, set, what string, tools []corpusTool, queries []corpusQuery, x *Index, m mix) float64 {
	var byID, byName [3]float64
	for _, q := range queries {
		hits := x.search(q.Query, nil, 100, m)
		for i, k := range []int{1, 5, 10} {
			byID[i] += recall(tools, hits[:min(k, len(hits))], q.Gold) / float64(len(queries))
			byName[i] += nameRecall(tools, hits, k, q.Gold) / float64(len(queries))
		}
	}
	t.Logf("%-20s %-8s %6d questions, %4d tools: recall@1 %.3f @5 %.3f @10 %.3f; by id @1 %.3f @5 %.3f @10 %.3f", set, what,
		len(queries), len(tools), byName[0], byName[1], byName[2], byID[0], byID[1], byID[2])
	return byName[1]
}

func recall(tools []corpusTool, hits []Hit, gold []string) float64 {
	n := 0
	for _, h := range hits {
		if slices.Contains(gold, cmp.Or(tools[h.Doc].ID, tools[h.Doc].Name)) {
			n++
		}
	}
	return float64(n) / float64(len(gold))
}

// nameRecall is recall in a catalogue without duplicate names.
func nameRecall(tools []corpusTool, hits []Hit, k int, gold []string) float64 {
	var names, want []string
	for _, h := range hits {
		if name := tools[h.Doc].Name; len(names) < k && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, g := range gold {
		if name, _, _ := strings.Cut(g, "#"); !slices.Contains(want, name) {
			want = append(want, name)
		}
	}
	n := 0
	for _, w := range want {
		if slices.Contains(names, w) {
			n++
		}
	}
	return float64(n) / float64(len(want))
}

// Fit must distinguish questions that one of the offered tools answers from
// questions that none answers. The figure is the chance that a question of the
// first kind fits better than one of the second; 0.5 is a coin.
func TestCorpusFit(t *testing.T) {
	dir := filepath.Dir(corpus.Path(t, "bfcl/v4/BFCL_v4_irrelevance.json"))
	for _, set := range []struct {
		name, relevant, irrelevant string
		least                      float64
	}{
		{"written for the test", "BFCL_v4_simple_python.json", "BFCL_v4_irrelevance.json", 0.9},
		{"from users", "BFCL_v4_live_simple.json", "BFCL_v4_live_irrelevance.json", 0.7},
	} {
		yes, no := fits(t, filepath.Join(dir, set.relevant)), fits(t, filepath.Join(dir, set.irrelevant))
		got := chance(yes, no)
		t.Logf("%-20s %4d with, %4d without a tool that fits: %.3f", set.name, len(yes), len(no), got)
		for _, limit := range []float64{0.1, 0.2, 0.3} {
			t.Logf("%20s a limit of %.1f keeps %.2f of the former and turns away %.2f of the latter", "", limit,
				1-share(yes, limit), share(no, limit))
		}
		if got < set.least {
			t.Errorf("%s: %.3f, want at least %.2f", set.name, got, set.least)
		}
	}
}

func fits(t *testing.T, path string) []float64 {
	var out []float64
	for _, row := range corpus.Lines[struct {
		Question [][]struct{ Role, Content string }
		Function []corpusTool
	}](t, path) {
		text := ""
		for _, m := range row.Question[0] {
			if m.Role == "user" {
				text = m.Content
			}
		}
		out = append(out, indexOf(row.Function).Fit(text))
	}
	sort.Float64s(out)
	return out
}

func chance(yes, no []float64) float64 {
	sum := 0.0
	for _, y := range yes {
		below := sort.SearchFloat64s(no, y)
		same := sort.Search(len(no), func(i int) bool { return no[i] > y }) - below
		sum += float64(below) + float64(same)/2
	}
	return sum / float64(len(yes)) / float64(len(no))
}

// share returns the share of the sorted values below limit.
func share(sorted []float64, limit float64) float64 {
	return float64(sort.SearchFloat64s(sorted, limit)) / float64(len(sorted))
}

func BenchmarkSearchCatalogue(b *testing.B) {
	x := indexOf(corpus.Lines[corpusTool](b, corpus.Path(b, "tool_selection/bfcl_catalogue/tools.jsonl")))
	b.ReportAllocs()
	for b.Loop() {
		x.Search("Will I need an umbrella in Rome tomorrow, or a coat?", 10)
	}
}

// BenchmarkIndex is the cost of preparing the catalogue of 2,405 functions.
func BenchmarkIndex(b *testing.B) {
	docs := documents(corpus.Lines[corpusTool](b, corpus.Path(b, "tool_selection/bfcl_catalogue/tools.jsonl")))
	New(docs[:1]) // the table is read once in a process
	b.ReportAllocs()
	for b.Loop() {
		New(docs)
	}
}

// BenchmarkRank is the cost of a question to 500 functions.
func BenchmarkRank(b *testing.B) {
	docs := documents(corpus.Lines[corpusTool](b, corpus.Path(b, "tool_selection/bfcl_catalogue/tools.jsonl"))[:500])
	x := New(docs)
	b.ReportAllocs()
	for b.Loop() {
		x.Search("Find the area of a triangle with a base of 10 units and a height of 5 units, and tell me about the weather in Rome.", 5)
	}
}
