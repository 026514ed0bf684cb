package eval

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/toolpost/toolpost/llm"
)

//go:embed probes.yaml
var probesText []byte

// Probes returns the fixed set of probes of an endpoint. Its name has a version: results of two versions are not
// compared. Each probe has one tag, the ability that it tests.
var Probes = sync.OnceValue(func() *Suite {
	s, err := new(Loader).Parse("probes.yaml", probesText)
	if err != nil {
		panic(err) // the file is a part of the program, and a test reads it
	}
	for i := range s.Cases {
		s.Cases[i].ability = s.Cases[i].Tags[0]
	}
	return s
})

// The abilities whose probes look at the stream, and not only at the calls.
const (
	truncation = "truncation" // the answer ends with the reason length, and nothing of a cut call runs
	streaming  = "streaming"  // an answer comes in several pieces
	usage      = "usage"      // tokens are counted
)

// streamProblem returns the fault of a probe's stream, or "".
func streamProblem(c *Case, t *Trial) string {
	switch {
	case c.ability == truncation && t.Finish != llm.Length:
		return fmt.Sprintf("the answer was longer than %d tokens and ended with %q", c.MaxTokens, t.Finish)
	case c.ability == streaming && t.Pieces < 2:
		return "the answer came in one piece"
	case c.ability == usage && (t.Usage.Input == 0 || t.Usage.Output == 0):
		return fmt.Sprintf("%d tokens in and %d out are reported", t.Usage.Input, t.Usage.Output)
	}
	return ""
}

// Profile is what the probes say of an endpoint: a share per ability. The endpoint is seen through its [llm.Model]: what
// package provider corrects does not show.
type Profile struct {
	Probes    string              `json:"probes"` // the name and version of the set
	Model     string              `json:"model"`
	Abilities map[string]Interval `json:"abilities"`
	// Passed are the probes and whether each repeat passed.
	Passed map[string][]bool `json:"passed"`
	// Problems are those of the probes that failed.
	Problems map[string]string `json:"problems,omitempty"`
}

// Profile asks the model of r all probes and returns its abilities. The record of r.Store then has the answers.
func (r *Evaluator) Profile(ctx context.Context) (*Profile, error) {
	s := Probes()
	run, err := r.Run(ctx, s)
	if missing := new(MissingError); err != nil && !errors.As(err, &missing) {
		return nil, err
	} // a probe without an answer has failed
	sum, err := Summarize(ctx, r.Store, s, run)
	if err != nil {
		return nil, err
	}
	p := &Profile{Probes: s.Name, Model: r.Models[0], Abilities: make(map[string]Interval), Passed: make(map[string][]bool), Problems: make(map[string]string)}
	counts := make(map[string]*count)
	for _, row := range sum.Rows {
		if row.Model != p.Model {
			continue
		}
		p.Passed[row.Case] = append(p.Passed[row.Case], row.CaseScore.Pass)
		counted(counts, s.find(row.Case).ability).add(row.CaseScore.Pass)
		if !row.CaseScore.Pass {
			p.Problems[row.Case] = row.CaseScore.detail()
		}
	}
	for name, c := range counts {
		p.Abilities[name] = c.interval()
	}
	return p, nil
}

// AbilityDrift is the change of one ability.
type AbilityDrift struct {
	Ability string   `json:"ability"`
	Before  Interval `json:"before"`
	Now     Interval `json:"now"`
	// P is the probability of so large a change by chance (exact McNemar test of the probes).
	P float64 `json:"p"`
	// Drifted reports that the share left its former interval and chance does not explain it.
	Drifted bool `json:"drifted"`
	// Lost are the probes that passed before and fail now, with their problems.
	Lost map[string]string `json:"lost,omitempty"`
}

// Drift compares two profiles of the same probes, ability by ability, the largest change first.
func Drift(before, now *Profile) ([]AbilityDrift, error) {
	if before.Probes != now.Probes {
		return nil, fmt.Errorf("eval: %s and %s cannot be compared; ask the old endpoint the new probes", before.Probes, now.Probes)
	}
	var out []AbilityDrift
	for _, name := range slices.Sorted(maps.Keys(now.Abilities)) {
		d := AbilityDrift{Ability: name, Before: before.Abilities[name], Now: now.Abilities[name], Lost: make(map[string]string)}
		lost, won := 0, 0
		for probe, passed := range now.Passed {
			if !ofAbility(probe, name) {
				continue
			}
			was := before.Passed[probe]
			for i := range min(len(was), len(passed)) {
				switch {
				case was[i] && !passed[i]:
					lost++
					d.Lost[probe] = now.Problems[probe]
				case !was[i] && passed[i]:
					won++
				}
			}
		}
		d.P = McNemar(lost, won)
		outside := d.Now.Share < d.Before.Low || d.Now.Share > d.Before.High
		d.Drifted = outside && d.P < 0.1
		out = append(out, d)
	}
	slices.SortStableFunc(out, func(a, b AbilityDrift) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Ability, b.Ability))
	})
	return out, nil
}

// ofAbility reports whether a probe tests an ability: its id is the ability and a number.
func ofAbility(probe, ability string) bool {
	c := Probes().find(probe)
	return c != nil && c.ability == ability
}

// find returns a case by its id, nil if there is none.
func (s *Suite) find(id string) *Case {
	i := slices.IndexFunc(s.Cases, func(c Case) bool { return c.ID == id })
	if i < 0 {
		return nil
	}
	return &s.Cases[i]
}
