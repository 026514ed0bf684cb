package tool

import (
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
)

// Ranker says which definitions fit a question, by their words: names,
// descriptions, parameters. It does not change and is safe for concurrent use.
type Ranker struct {
	defs  []llm.ToolDef
	index *rank.Index
}

// NewRanker prepares definitions for questions. Their names need not be valid
// or unique.
func NewRanker(defs []llm.ToolDef) *Ranker {
	docs := make([][]rank.Field, len(defs))
	for i, d := range defs {
		var input map[string]any
		if json.Unmarshal(d.Schema, &input) != nil {
			input = nil // a schema may be true or false, or none
		}
		docs[i] = rank.Document(d.Name, d.Description, input)
	}
	return &Ranker{slices.Clone(defs), rank.New(docs)}
}

// Ranked is a definition and how well it fits a question.
type Ranked struct {
	Index int // among the definitions
	Name  string
	Score float64 // greater is better; 0 means nothing in common
}

// Rank returns all definitions, those that fit the question best first. Those
// that fit equally well stay in their order.
func (r *Ranker) Rank(question string) []Ranked {
	out := make([]Ranked, 0, len(r.defs))
	found := make([]bool, len(r.defs))
	for _, h := range r.index.Search(question, 0) {
		found[h.Doc] = true
		out = append(out, Ranked{h.Doc, r.defs[h.Doc].Name, h.Score})
	}
	for i, d := range r.defs {
		if !found[i] {
			out = append(out, Ranked{i, d.Name, 0})
		}
	}
	return out
}

// Fit says how much the question and the tool that fits it best have in common,
// from 0, nothing, to 1. Below 0.1 it is a poor guess that any of the tools was
// meant.
func (r *Ranker) Fit(question string) float64 { return r.index.Fit(question) }

// SelectionBudget bounds a selection. The zero value bounds nothing.
type SelectionBudget struct {
	Tools int // how many; 0 means any number
	Cost  int // of all definitions together; 0 means any
	// CostOf is the cost of one definition; nil means [llm.EstimateTool].
	CostOf func(llm.ToolDef) int
}

// Omitted is a tool that was left out of a selection.
type Omitted struct {
	Name string
	Cost int
}

// Select returns the places of the definitions that fit the question best
// within the budget, in their own order, so that what is sent to a model
// stays the same from question to question as far as it can; and what was left
// out, best first. Something is always kept, even if it alone is over the
// budget. The same question always selects the same.
func (r *Ranker) Select(question string, b SelectionBudget) (kept []int, left []Omitted) {
	costOf := b.CostOf
	if costOf == nil {
		costOf = llm.EstimateTool
	}
	spent := 0
	for _, c := range r.Rank(question) {
		cost := costOf(r.defs[c.Index])
		full := b.Tools > 0 && len(kept) >= b.Tools || b.Cost > 0 && spent+cost > b.Cost
		if full && len(kept) > 0 {
			left = append(left, Omitted{c.Name, cost})
			continue
		}
		kept = append(kept, c.Index)
		spent += cost
	}
	slices.Sort(kept)
	return kept, left
}

// Ranker returns the ranker of the set's definitions.
func (s *Set) Ranker() *Ranker {
	if s == nil {
		return NewRanker(nil)
	}
	return s.ranker()
}

// Select returns the tools that fit the question best within the budget, in
// the order of the set, and what was left out, best first. A set that is not
// empty gives a selection that is not empty. See [Ranker.Select].
func (s *Set) Select(question string, b SelectionBudget) (*Set, []Omitted) {
	kept, left := s.Ranker().Select(question, b)
	if left == nil {
		return s, nil
	}
	return s.subset(kept), left
}
