package tool_test

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Only facts of the schema are added, and only once.
func TestEnhance(t *testing.T) {
	rooms := def("list_rooms", "Lists free rooms.", `{"properties":{"on":{"type":"string","format":"date"},"seats":{"type":"integer","minimum":1,"maximum":40,"default":2},"view":{"type":"string"}}}`)
	better, added := tool.Enhance(rooms, tool.ReadOnly)
	want := []string{"It only reads.", "on: in the format date.", "seats: at least 1, at most 40, 2 if left out."}
	if diff := cmp.Diff(want, added); diff != "" {
		t.Error(diff)
	}
	if better.Description != "Lists free rooms.\nIt only reads. on: in the format date. seats: at least 1, at most 40, 2 if left out." {
		t.Error(better.Description)
	}
	if again, more := tool.Enhance(better, tool.ReadOnly); len(more) > 0 || again.Description != better.Description {
		t.Errorf("again: %v", more)
	}
	if same, none := tool.Enhance(def("now", "Returns the time.", ""), 0); len(none) > 0 || same.Description != "Returns the time." {
		t.Errorf("nothing follows: %v", none)
	}
}

// Enhanced definitions are found as well as plain ones.
func TestEnhanceKeepsSelection(t *testing.T) {
	dir := filepath.Join(corpus.Path(t, "tool_selection"), "bfcl_catalogue")
	var plain, enhanced []llm.ToolDef
	seen := make(map[string]bool)
	for _, d := range corpus.Lines[corpusTool](t, filepath.Join(dir, "tools.jsonl")) {
		if seen[d.Name] {
			continue
		}
		seen[d.Name] = true
		def := llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Parameters}
		plain = append(plain, def)
		better, _ := tool.Enhance(def, 0)
		enhanced = append(enhanced, better)
	}
	before, after := tool.NewRanker(plain), tool.NewRanker(enhanced)
	var was, is int
	for i, q := range corpus.Lines[corpusQuery](t, filepath.Join(dir, "queries.jsonl")) {
		if i%16 == 0 {
			was, is = was+found(before, q), is+found(after, q)
		}
	}
	t.Logf("among the best five: %d plain, %d enhanced", was, is)
	if is < was {
		t.Errorf("%d of %d questions find their tool", is, was)
	}
}

// found returns 1 if a tool of the question is among the best five.
func found(r *tool.Ranker, q corpusQuery) int {
	ranked := r.Rank(q.Query)[:5]
	for _, g := range q.Gold {
		if slices.ContainsFunc(ranked, func(c tool.Ranked) bool { return c.Name == functionName(g) }) {
			return 1
		}
	}
	return 0
}
