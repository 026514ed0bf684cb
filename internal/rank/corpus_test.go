package rank

import (
	"bufio"
	"cmp"
	"encoding/json"
	"os"
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

func readLines[T any](t testing.TB, path string) []T {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 1<<24)
	for sc.Scan() {
		var v T
		if err := json.Unmarshal(sc.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

func indexOf(tools []corpusTool) *Index {
	docs := make([][]Field, len(tools))
	for i, tl := range tools {
		docs[i] = Document(tl.Name, tl.Description, tl.Parameters)
	}
	return New(docs)
}

// The least recall is what plain BM25 reaches on the same questions; ours must
// be better everywhere. Of the questions of bfcl that we miss, most have a
// dozen tools that differ in a word of their description, and one of them is
// called right.
func TestCorpusRecall(t *testing.T) {
	dir := corpus.Path(t, "tool_selection")
	for _, set := range []struct {
		name, tools, queries string
		least                [3]float64
	}{
		{"metatool", "metatool/tools.jsonl", "metatool/queries_single.jsonl", [3]float64{0.289, 0.466, 0.544}},
		{"metatool, two tools", "metatool/big_tools.jsonl", "metatool/queries_multi.jsonl", [3]float64{}},
		{"bfcl", "bfcl_catalogue/tools.jsonl", "bfcl_catalogue/queries.jsonl", [3]float64{0.360, 0.675, 0.792}},
	} {
		tools := readLines[corpusTool](t, filepath.Join(dir, set.tools))
		queries := readLines[corpusQuery](t, filepath.Join(dir, set.queries))
		x := indexOf(tools)
		var got, byName [3]float64
		for _, q := range queries {
			hits := x.Search(q.Query, 100)
			for i, k := range []int{1, 5, 10} {
				got[i] += recall(tools, hits[:min(k, len(hits))], q.Gold) / float64(len(queries))
				byName[i] += nameRecall(tools, hits, k, q.Gold) / float64(len(queries))
			}
		}
		t.Logf("%-20s %5d tools %6d questions: recall@1 %.3f @5 %.3f @10 %.3f", set.name, len(tools), len(queries), got[0], got[1], got[2])
		t.Logf("%-20s counting tools of one name as one:   @1 %.3f @5 %.3f @10 %.3f", "", byName[0], byName[1], byName[2])
		for i := range got {
			if got[i] <= set.least[i] {
				t.Errorf("%s: recall %.3f is not better than plain BM25's %.3f", set.name, got[i], set.least[i])
			}
		}
	}
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

// nameRecall is recall in a catalogue where a name stands once.
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

// Fit must tell questions that one of the tools offered with them answers from
// questions that none does. The figure is the chance that one of the former
// fits better than one of the latter; 0.5 is a coin.
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
	for _, row := range readLines[struct {
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

// share returns how many of the sorted values are below limit.
func share(sorted []float64, limit float64) float64 {
	return float64(sort.SearchFloat64s(sorted, limit)) / float64(len(sorted))
}

func BenchmarkSearchCatalogue(b *testing.B) {
	x := indexOf(readLines[corpusTool](b, corpus.Path(b, "tool_selection/bfcl_catalogue/tools.jsonl")))
	b.ReportAllocs()
	for b.Loop() {
		x.Search("Will I need an umbrella in Rome tomorrow, or a coat?", 10)
	}
}
