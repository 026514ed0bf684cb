package eval

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/journal"
)

// PairedComparison is what changed from one run, or model, to another, case by case.
type PairedComparison struct {
	A string `json:"a"`
	B string `json:"b"`
	// Cases are the cases that both answered.
	Cases int `json:"cases"`
	// OnlyA and OnlyB are the cases that only one passed in most of its repeats.
	OnlyA []Change `json:"only_a"`
	OnlyB []Change `json:"only_b"`
	// P is the probability of so uneven a split by chance (exact McNemar test).
	P float64 `json:"p"`
	// Difference is B minus A in shares of passed answers, with its 95 % interval from a paired bootstrap.
	Difference float64 `json:"difference"`
	Low        float64 `json:"low"`
	High       float64 `json:"high"`
}

// Change is a case in which two runs differ.
type Change struct {
	Case     string    `json:"case"`
	Problems []Problem `json:"problems"` // of the answer that does not pass
	// A and B are the answers: one that passes and one that does not. AddAnswers sets them.
	A *Trial `json:"a,omitempty"`
	B *Trial `json:"b,omitempty"`

	repeatA, repeatB int // of these answers
}

// Different reports whether the runs differ by more than chance at 5 %.
func (c *PairedComparison) Different() bool { return c.P < 0.05 }

// String reports the result in a sentence.
func (c *PairedComparison) String() string {
	if !c.Different() {
		return fmt.Sprintf("no difference can be shown: %+.1f points, 95 %% interval %+.1f to %+.1f, %s over %d cases",
			100*c.Difference, 100*c.Low, 100*c.High, chance(c.P), c.Cases)
	}
	better := c.B
	if c.Difference < 0 {
		better = c.A
	}
	return fmt.Sprintf("%s is better: %+.1f points, 95 %% interval %+.1f to %+.1f, %s over %d cases",
		better, 100*c.Difference, 100*c.Low, 100*c.High, chance(c.P), c.Cases)
}

// chance writes a probability, which is never zero.
func chance(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}

// side is one run of a comparison: the share of passed repeats of each case, and a failed answer if there is one.
type side map[string]*outcome

type outcome struct {
	count
	problems       []Problem
	passed, failed int // a repeat that did
}

func sideOf(s *Summary, model string) side {
	out := make(side)
	for _, row := range s.Rows {
		if row.Model != model {
			continue
		}
		o := out[row.Case]
		if o == nil {
			o = new(outcome)
			out[row.Case] = o
		}
		o.add(row.CaseScore.Pass)
		if row.CaseScore.Pass {
			o.passed = row.Repeat
		} else {
			o.problems, o.failed = row.CaseScore.Problems, row.Repeat
		}
	}
	return out
}

func (o *outcome) share() float64 { return float64(o.hits) / float64(o.of) }

// Compare compares a model of run a with a model of run b, over the cases that both answered.
func Compare(a *Summary, modelA string, b *Summary, modelB string) *PairedComparison {
	left, right := sideOf(a, modelA), sideOf(b, modelB)
	out := &PairedComparison{A: modelA, B: modelB}
	if modelA == modelB {
		out.A, out.B = modelA+" in "+a.Run, modelB+" in "+b.Run
	}
	var differences []float64
	for name, l := range left {
		r := right[name]
		if r == nil {
			continue
		}
		out.Cases++
		differences = append(differences, r.share()-l.share())
		passedA, passedB := 2*l.hits > l.of, 2*r.hits > r.of
		switch {
		case passedA && !passedB:
			out.OnlyA = append(out.OnlyA, Change{Case: name, Problems: r.problems, repeatA: l.passed, repeatB: r.failed})
		case passedB && !passedA:
			out.OnlyB = append(out.OnlyB, Change{Case: name, Problems: l.problems, repeatA: l.failed, repeatB: r.passed})
		}
	}
	slices.Sort(differences) // the order of a map must not change the interval
	byCase := func(a, b Change) int { return cmp.Compare(a.Case, b.Case) }
	slices.SortFunc(out.OnlyA, byCase)
	slices.SortFunc(out.OnlyB, byCase)
	out.P = McNemar(len(out.OnlyA), len(out.OnlyB))
	out.Difference, out.Low, out.High = Bootstrap(differences)
	return out
}

// AddAnswers sets the answers of the changed cases from the records of the two runs that [Compare] compared.
func (c *PairedComparison) AddAnswers(ctx context.Context, storeA journal.Store, runA, modelA string, storeB journal.Store, runB, modelB string) error {
	wantA, wantB := make(map[key]**Trial), make(map[key]**Trial)
	for _, list := range [][]Change{c.OnlyA, c.OnlyB} {
		for i := range list {
			wantA[key{list[i].Case, modelA, list[i].repeatA}] = &list[i].A
			wantB[key{list[i].Case, modelB, list[i].repeatB}] = &list[i].B
		}
	}
	if err := addAnswers(ctx, storeA, runA, wantA); err != nil {
		return err
	}
	return addAnswers(ctx, storeB, runB, wantB)
}

func addAnswers(ctx context.Context, store journal.Store, run string, want map[key]**Trial) error {
	for t, err := range Trials(ctx, store, run) {
		if err != nil {
			return err
		}
		if place := want[key{t.Case, t.Model, t.Repeat}]; place != nil {
			*place = &t // the last one counts
		}
	}
	return nil
}
