package agent

import (
	"context"
	"fmt"
	"iter"
	"slices"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Comparison is how another model answers one question of a recorded run.
type Comparison struct {
	Turn int        `json:"turn"`
	Was  []llm.Call `json:"was,omitempty"` // on record
	Is   []llm.Call `json:"is,omitempty"`
	// WasText and IsText are the texts of the two answers.
	WasText string `json:"was_text,omitempty"`
	IsText  string `json:"is_text,omitempty"`
	// Same says that the calls are the same, in name and arguments.
	Same bool  `json:"same"`
	Err  error `json:"-"` // why the model did not answer
}

// Against asks m every question of a recorded run, with the answers and results
// that are on record before it, and yields how its calls differ. No tool is
// run, and nothing is recorded. The error it may end with is one of the record.
func Against(ctx context.Context, store journal.Store, run string, m llm.Model) iter.Seq2[Comparison, error] {
	return func(yield func(Comparison, error) bool) {
		p := newRecordedRun()
		for e, err := range journal.Whole(store.Read(ctx, run, 0)) {
			if err != nil {
				yield(Comparison{}, err)
				return
			}
			if e.Kind == kindTurn {
				c, err := p.against(ctx, e, m)
				if err != nil {
					yield(Comparison{}, fmt.Errorf("agent: entry %d: %w", e.Seq, err))
					return
				}
				if !yield(c, nil) {
					return
				}
			}
			if err := p.take(e); err != nil {
				yield(Comparison{}, fmt.Errorf("agent: entry %d: %w", e.Seq, err))
				return
			}
		}
		if !p.begun {
			yield(Comparison{}, fmt.Errorf("agent: the record has no run %s that an agent began", run))
		}
	}
}

// against asks the question that the turn of entry e answered.
func (p *recordedRun) against(ctx context.Context, e journal.Entry, m llm.Model) (Comparison, error) {
	var t turnEntry
	if err := e.Decode(&t); err != nil {
		return Comparison{}, err
	}
	p.answered()
	req, err := p.begin.template()
	if err != nil {
		return Comparison{}, err
	}
	req.System, req.Messages, req.Tools = p.begin.System, p.messages, append(slices.Clone(p.begin.Lanes.Defs), p.begin.Caller...)
	if p.called && req.Choice.Mode == llm.MustCall {
		req.Choice.Mode, req.Choice.Name = llm.MayCall, ""
	}
	c := Comparison{Turn: t.Turn, Was: t.Message.Calls(), WasText: t.Message.Text()}
	resp, err := llm.Generate(ctx, m, &req)
	c.Is, c.IsText, c.Err = resp.Message.Calls(), resp.Message.Text(), err
	c.Same = err == nil && sameCalls(c.Was, c.Is)
	return c, nil
}

// sameCalls reports whether two lists of calls ask for the same.
func sameCalls(a, b []llm.Call) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i].Name != b[i].Name || journal.ParamsHash(a[i].Args) != journal.ParamsHash(b[i].Args) {
			return false
		}
	}
	return true
}
