package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"

	"github.com/toolpost/toolpost/internal/rank"
	"github.com/toolpost/toolpost/llm"
)

// Ranker finds the definitions that fit a question, by the words and the
// meaning of names, descriptions and parameters. It does not change and is safe
// for concurrent use.
type Ranker struct {
	defs  []llm.ToolDef
	index *rank.Index
	embed Embedder // nil means the table of package rank
	width int      // of the vectors of embed
}

// Embedder turns texts into vectors, one for each text and all of one length;
// the smaller the angle between two, the more alike their texts.
type Embedder func(ctx context.Context, texts []string) ([][]float32, error)

// NewRanker prepares definitions for questions, by words and by meaning. Their names need not be valid
// or unique.
func NewRanker(defs []llm.ToolDef) *Ranker {
	return &Ranker{defs: slices.Clone(defs), index: rank.New(documents(defs))}
}

// NewRankerWith is [NewRanker] with vectors of e instead of the built-in table.
// It embeds the name and description of each definition. Rank questions for
// such a ranker with [Ranker.RankContext] or [Ranker.SelectContext]; the other
// methods use words alone.
func NewRankerWith(ctx context.Context, defs []llm.ToolDef, e Embedder) (*Ranker, error) {
	texts := make([]string, len(defs))
	for i, d := range defs {
		texts[i] = d.Name + ": " + d.Description
	}
	vectors, err := embed(ctx, e, texts)
	if err != nil {
		return nil, err
	}
	r := &Ranker{defs: slices.Clone(defs), index: rank.NewWith(documents(defs), vectors), embed: e}
	if len(vectors) > 0 {
		r.width = len(vectors[0])
	}
	return r, nil
}

// embed embeds texts and checks the result.
func embed(ctx context.Context, e Embedder, texts []string) ([][]float32, error) {
	if len(texts) == 0 {
		return nil, nil
	}
	vectors, err := e(ctx, texts)
	if err != nil {
		return nil, fmt.Errorf("embed %d texts: %w", len(texts), err)
	}
	if len(vectors) != len(texts) {
		return nil, fmt.Errorf("embed %d texts: got %d vectors", len(texts), len(vectors))
	}
	for i, v := range vectors {
		if len(v) == 0 || len(v) != len(vectors[0]) {
			return nil, fmt.Errorf("embed %d texts: vector %d has %d numbers, the first has %d", len(texts), i, len(v), len(vectors[0]))
		}
		for _, x := range v {
			if x-x != 0 { // neither NaN nor infinite
				return nil, fmt.Errorf("embed %d texts: vector %d holds %v", len(texts), i, x)
			}
		}
	}
	return vectors, nil
}

// documents returns the texts by which definitions are ranked.
func documents(defs []llm.ToolDef) [][]rank.Field {
	docs := make([][]rank.Field, len(defs))
	for i, d := range defs {
		var input map[string]any
		if json.Unmarshal(d.Schema, &input) != nil {
			input = nil // a schema may be true or false, or none
		}
		docs[i] = rank.Document(d.Name, withoutEnhancement(d), input)
	}
	return docs
}

// Ranked is a definition and how well it fits a question.
type Ranked struct {
	Index int // among the definitions
	Name  string
	Score float64 // greater is better; 0 means nothing in common
}

// Rank returns all definitions, best match for the question first. Equal
// matches keep their order.
func (r *Ranker) Rank(question string) []Ranked { return r.ranked(r.index.Search(question, 0)) }

// RankContext is [Ranker.Rank] for a ranker with an [Embedder], which it asks
// for the vector of the question. Without an Embedder it equals Rank.
func (r *Ranker) RankContext(ctx context.Context, question string) ([]Ranked, error) {
	if r.embed == nil || len(r.defs) == 0 {
		return r.Rank(question), nil
	}
	v, err := embed(ctx, r.embed, []string{question})
	if err != nil {
		return nil, err
	}
	if len(v[0]) != r.width {
		return nil, fmt.Errorf("embed a question: its vector has %d numbers, those of the tools have %d", len(v[0]), r.width)
	}
	return r.ranked(r.index.SearchWith(question, v[0], 0)), nil
}

// ranked names the definitions found, and after them the others.
func (r *Ranker) ranked(hits []rank.Hit) []Ranked {
	out := make([]Ranked, 0, len(r.defs))
	found := make([]bool, len(r.defs))
	for _, h := range hits {
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

// Fit returns the similarity of the question and the tool that fits it best,
// from 0, nothing in common, to 1. Below 0.1 it is a poor guess that any of the
// tools was meant.
func (r *Ranker) Fit(question string) float64 { return r.index.Fit(question) }

// Selection limits how many tools are selected. The zero value means no limit.
type Selection struct {
	Tools int // maximum number; 0 means any number
	Cost  int // of all definitions together; 0 means any
	// CostOf is the cost of one definition; nil means [llm.EstimateTool].
	CostOf func(llm.ToolDef) int
	// Pinned are the names of tools that are selected whatever they cost.
	// Unknown names are ignored.
	Pinned []string
	// GroupOf names the group of a definition, such as the namespace that
	// [Set.Original] returns. All tools of a group are selected, or none,
	// unless the group alone is over the budget. Nil, or "", means without a
	// group.
	GroupOf func(llm.ToolDef) string
}

// filled returns the budget with a function in place of nil.
func (b Selection) filled() Selection {
	if b.CostOf == nil {
		b.CostOf = llm.EstimateTool
	}
	return b
}

// holds reports whether so many tools of that cost are within the budget.
func (b Selection) holds(tools, cost int) bool {
	return (b.Tools <= 0 || tools <= b.Tools) && (b.Cost <= 0 || cost <= b.Cost)
}

// Omitted is a tool that was left out of a selection.
type Omitted struct {
	Name string
	Cost int
}

// Select returns the indices of the definitions that fit the question best
// within the budget, in their original order. This order keeps the request to a
// model as stable as possible from question to question. It also returns the
// omitted definitions, best first. At least one definition is always kept, even
// if it alone is over the budget. The same question always gives the same
// selection.
func (r *Ranker) Select(question string, b Selection) (kept []int, left []Omitted) {
	return r.within(b, r.Rank(question), nil)
}

// SelectContext is [Ranker.Select] for a ranker with an [Embedder].
func (r *Ranker) SelectContext(ctx context.Context, question string, b Selection) (kept []int, left []Omitted, err error) {
	ranked, err := r.RankContext(ctx, question)
	if err != nil {
		return nil, nil, err
	}
	kept, left = r.within(b, ranked, nil)
	return kept, left, nil
}

// within returns the ranked definitions that are within the budget, in addition
// to those in must.
func (r *Ranker) within(b Selection, ranked []Ranked, must []int) (kept []int, left []Omitted) {
	b = b.filled()
	t := &taking{r: r, b: b, taken: make([]bool, len(r.defs))}
	if b.GroupOf != nil {
		t.groups = make(map[string][]int)
		for i, d := range r.defs {
			t.groups[b.GroupOf(d)] = append(t.groups[b.GroupOf(d)], i)
		}
	}
	t.take(slices.Concat(r.places(b.Pinned), must))
	for _, c := range ranked {
		if !t.taken[c.Index] {
			t.choose(c.Index)
		}
	}
	for _, c := range ranked {
		if !t.taken[c.Index] {
			left = append(left, Omitted{c.Name, b.CostOf(r.defs[c.Index])})
		}
	}
	slices.Sort(t.kept)
	return t.kept, left
}

// taking is the state of a selection.
type taking struct {
	r      *Ranker
	b      Selection
	groups map[string][]int // nil without groups
	taken  []bool
	kept   []int
	spent  int
}

// choose takes a definition with its group, or alone if the group is over the
// budget, if there is room. There is always room for the first.
func (t *taking) choose(i int) {
	alone := []int{i}
	if name := t.group(i); name != "" {
		if group := t.groups[name]; t.b.holds(len(group), t.r.cost(t.b, group)) {
			alone = group
		}
	}
	if len(t.kept) == 0 || t.b.holds(len(t.kept)+len(alone), plus(t.spent, t.r.cost(t.b, alone))) {
		t.take(alone)
	}
}

// group names the group of a definition, "" if it has none.
func (t *taking) group(i int) string {
	if t.groups == nil {
		return ""
	}
	return t.b.GroupOf(t.r.defs[i])
}

// take takes definitions, each once.
func (t *taking) take(places []int) {
	for _, i := range places {
		if !t.taken[i] {
			t.taken[i] = true
			t.kept = append(t.kept, i)
			t.spent = plus(t.spent, t.r.cost(t.b, []int{i}))
		}
	}
}

// cost returns the total cost of definitions.
func (r *Ranker) cost(b Selection, places []int) int {
	sum := 0
	for _, i := range places {
		sum = plus(sum, b.CostOf(r.defs[i]))
	}
	return sum
}

// plus adds a cost, which counts as 0 if it is below, without overflow.
func plus(sum, cost int) int {
	if cost = max(cost, 0); cost > math.MaxInt-sum {
		return math.MaxInt
	}
	return sum + cost
}

// places returns where the definitions of these names are.
func (r *Ranker) places(names []string) []int {
	var places []int
	for i, d := range r.defs {
		if slices.Contains(names, d.Name) {
			places = append(places, i)
		}
	}
	return places
}

// Ranker returns the ranker of the set's definitions; see [Set.ByMeaning].
func (s *Set) Ranker() *Ranker {
	if s == nil {
		return s.RankerOf(nil)
	}
	return s.ranker()
}

// RankerOf returns a ranker of other definitions that ranks as the set does.
func (s *Set) RankerOf(defs []llm.ToolDef) *Ranker {
	if s == nil || s.rank == nil {
		return &Ranker{defs: slices.Clone(defs), index: rank.NewByWords(documents(defs))}
	}
	return s.rank(defs)
}

// Exceeds reports whether the tools of the set are over the budget together.
func (s *Set) Exceeds(b Selection) bool {
	b = b.filled()
	cost := 0
	for _, d := range s.Defs() {
		if b.Cost > 0 {
			cost = plus(cost, b.CostOf(d))
		}
	}
	return !b.holds(s.Len(), cost)
}

// Follow returns the tools for a conversation within the budget, in the order
// of their first selection, and the omitted tools, best first. See
// [Ranker.Follow].
func (s *Set) Follow(conversation []llm.Message, b Selection) (*Set, []Omitted) {
	if !s.Exceeds(b) {
		return s, nil
	}
	kept, left := s.Ranker().Follow(conversation, b)
	return s.subset(kept), left
}

// Select returns the tools that fit the question best within the budget, in the
// order of the set, and the omitted tools, best first. The selection of a
// non-empty set is not empty. See [Ranker.Select].
func (s *Set) Select(question string, b Selection) (*Set, []Omitted) {
	kept, left := s.Ranker().Select(question, b)
	if left == nil {
		return s, nil
	}
	return s.subset(kept), left
}
