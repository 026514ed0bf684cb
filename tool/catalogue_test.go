package tool_test

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

type corpusTool struct {
	ID, Name, Description string
	Parameters            json.RawMessage
}

type corpusQuery struct {
	Query string
	Gold  []string
}

// The figures of shorter definitions: how much shorter they become, and how
// often the tool that a question needs is still among them:
//
//	go test ./tool -run DefinitionsShrink -v
func TestDefinitionsShrink(t *testing.T) {
	dir := corpus.Path(t, "tool_selection")
	for _, c := range []struct {
		set, queries  string
		tools         int // of the set, the needed ones included
		budget        float64
		shrink, still float64
	}{
		{"bfcl_catalogue/tools.jsonl", "bfcl_catalogue/queries.jsonl", 500, 0.10, 0.90, 0.95},
		{"metatool/tools.jsonl", "metatool/queries_single.jsonl", 199, 0.20, 0.80, 0.85},
	} {
		all := corpus.Lines[corpusTool](t, filepath.Join(dir, c.set))
		random := rand.New(rand.NewPCG(20, 4))
		queries := corpus.Lines[corpusQuery](t, filepath.Join(dir, c.queries))
		random.Shuffle(len(queries), func(i, j int) { queries[i], queries[j] = queries[j], queries[i] })
		queries = queries[:400]
		var saved, found float64
		for chunk := range slices.Chunk(queries, 40) {
			defs, whole := chosen(random, all, chunk, c.tools), 0
			for _, d := range defs {
				whole += llm.EstimateTool(d)
			}
			r := tool.NewRanker(defs)
			b := tool.Selection{Cost: int(float64(whole) * c.budget)}
			for _, q := range chunk {
				kept, _ := r.Follow([]llm.Message{llm.User(q.Query)}, b)
				cost, gold := 0, false
				for _, i := range kept {
					cost += llm.EstimateTool(defs[i])
					gold = gold || slices.ContainsFunc(q.Gold, func(g string) bool { return functionName(g) == defs[i].Name })
				}
				saved += 1 - float64(cost)/float64(whole)
				if gold {
					found++
				}
			}
		}
		n := float64(len(queries))
		t.Logf("%s: %d of %d tools at most, definitions shrink by %.1f %%, the tool is still offered in %.1f %% of %d questions",
			filepath.Dir(c.set), c.tools, len(all), 100*saved/n, 100*found/n, len(queries))
		if saved/n < c.shrink || found/n < c.still {
			t.Errorf("%s: want %.0f %% and %.0f %%", c.set, 100*c.shrink, 100*c.still)
		}
	}
}

// functionName returns the name of a function from its id in the catalogue.
func functionName(id string) string {
	name, _, _ := strings.Cut(id, "#")
	return name
}

// chosen returns n definitions with different names, including the ones that
// the questions need.
func chosen(random *rand.Rand, all []corpusTool, queries []corpusQuery, n int) []llm.ToolDef {
	needed := make(map[string]bool)
	for _, q := range queries {
		for _, g := range q.Gold {
			needed[g] = true
		}
	}
	order := random.Perm(len(all))
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Compare(rankOf(needed, all[i]), rankOf(needed, all[j]))
	})
	var defs []llm.ToolDef
	seen := make(map[string]bool)
	for _, i := range order {
		if d := all[i]; len(defs) < n && !seen[d.Name] {
			seen[d.Name] = true
			defs = append(defs, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Parameters})
		}
	}
	random.Shuffle(len(defs), func(i, j int) { defs[i], defs[j] = defs[j], defs[i] })
	return defs
}

// rankOf puts needed definitions first.
func rankOf(needed map[string]bool, d corpusTool) int {
	if needed[cmp.Or(d.ID, d.Name)] {
		return 0
	}
	return 1
}

var update = flag.Bool("update", false, "write the golden files anew")

// The findings of the audit in thirty functions of the catalogue, each of which
// was compared with its findings by hand. Losses at vendors, and names that
// several functions of the catalogue have, are left out.
func TestAuditCatalogue(t *testing.T) {
	dir := corpus.Path(t, "tool_selection")
	all := corpus.Lines[corpusTool](t, filepath.Join(dir, "bfcl_catalogue", "tools.jsonl"))
	var defs []llm.ToolDef
	for _, d := range all {
		defs = append(defs, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Parameters})
	}
	begin := time.Now()
	reports := tool.Audit(defs)
	t.Logf("%d definitions in %v", len(defs), time.Since(begin))
	var got strings.Builder
	for _, i := range []int{110, 307, 333, 379, 415, 422, 512, 619, 693, 818, 845, 854, 1064, 1298, 1307, 1341, 1346, 1374, 1658, 1666, 1685, 1687, 1750, 1840, 1943, 2015, 2121, 2346, 2347, 2378} {
		fmt.Fprintf(&got, "%s %.1f", all[i].ID, reports[i].Score)
		for _, f := range reports[i].Findings {
			if !slices.Contains([]string{"vendor-loss", "broken-schema", "duplicate-name"}, f.Rule) {
				got.WriteString(" " + strings.TrimSuffix(f.Rule+":"+f.Parameter, ":"))
			}
		}
		got.WriteString("\n")
	}
	golden := filepath.Join("testdata", "audit_catalogue.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got.String()); diff != "" {
		t.Error(diff)
	}
}
