package eval

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolpost/toolpost/llm"
)

// A Setting is a way to ask a model: values of its catalogue entry.
type Setting struct {
	Name   string            `json:"name"`
	Values map[string]string `json:"values,omitempty"`
}

// Tuned is a setting with its shares of right answers.
type Tuned struct {
	Setting
	// Chosen is its share on the half of the suite by which a setting is chosen.
	Chosen Interval `json:"chosen"`
	// Dropped reports that the first cases, which others passed, were all wrong, and that no more were asked.
	Dropped bool `json:"dropped,omitempty"`
}

// Tuning is the result of trying settings.
type Tuning struct {
	Model    string  `json:"model"`
	Suite    string  `json:"suite"`
	Settings []Tuned `json:"settings"`
	// Winner has the highest lower end of the interval on the first half. Before and After are the shares of the present
	// setting and of the winner on the other half, and Change compares them.
	Winner Setting           `json:"winner"`
	Before Interval          `json:"before"`
	After  Interval          `json:"after"`
	Change *PairedComparison `json:"change,omitempty"`
	// Better reports that the winner is better on the other half by more than chance. Otherwise nothing is recommended.
	Better bool `json:"better"`
}

// Evidence reports the result in a sentence.
func (t *Tuning) Evidence() string {
	if !t.Better {
		return fmt.Sprintf("no setting is shown to be better than the present one on suite %s", t.Suite)
	}
	return fmt.Sprintf("%s: %s right on the other half of suite %s, before %s, %s", t.Winner.Name, t.After, t.Suite, t.Before, chance(t.Change.P))
}

// screening is the number of cases that every setting is asked first.
const screening = 6

// minTuning is the number of cases that a suite must have: with fewer, no difference can be shown on half of them.
const minTuning = 12

// Tune tries settings of the one model of r, the first of which is the present one, on half of the cases of a suite, and
// measures the best and the present one on the other half. The record of r.Store keeps the answers, so that an
// interrupted tuning continues.
func (r *Evaluator) Tune(ctx context.Context, s *Suite, settings []Setting, open func(Setting) (llm.Model, error)) (*Tuning, error) {
	if len(r.Models) != 1 || len(settings) < 2 {
		return nil, errors.New("eval: tuning needs one model and at least two settings")
	}
	if len(s.Cases) < minTuning {
		return nil, fmt.Errorf("eval: the suite has %d cases, and tuning needs %d", len(s.Cases), minTuning)
	}
	place := make(map[string]int, len(s.Cases))
	for i := range s.Cases {
		place[s.Cases[i].ID] = i
	}
	half := func(rest int) *Suite { return s.part(func(c *Case) bool { return place[c.ID]%2 == rest }) }
	first, other := half(0), half(1)
	out := &Tuning{Model: r.Models[0], Suite: s.Name}
	measure := func(part *Suite, setting Setting) (*Summary, error) { return r.with(ctx, part, setting, open) }

	best := Interval{Low: -1}
	passed := false
	screened := make([]Interval, len(settings))
	for i, setting := range settings {
		sum, err := measure(first.Sample(screening), setting)
		if err != nil {
			return nil, err
		}
		screened[i] = sum.Models[0].Right
		passed = passed || screened[i].Hits > 0
	}
	for i, setting := range settings {
		t := Tuned{Setting: setting, Chosen: screened[i], Dropped: passed && screened[i].Hits == 0}
		if !t.Dropped {
			sum, err := measure(first, setting)
			if err != nil {
				return nil, err
			}
			if t.Chosen = sum.Models[0].Right; t.Chosen.Low > best.Low {
				best, out.Winner = t.Chosen, setting
			}
		}
		out.Settings = append(out.Settings, t)
	}
	before, err := measure(other, settings[0])
	if err != nil {
		return nil, err
	}
	after, err := measure(other, out.Winner)
	if err != nil {
		return nil, err
	}
	out.Before, out.After = before.Models[0].Right, after.Models[0].Right
	out.Change = Compare(before, before.Models[0].Model, after, after.Models[0].Model)
	out.Better = out.Change.Different() && out.Change.Difference > 0
	return out, nil
}

// with measures one setting on a part of a suite. Answers that fail count as wrong.
func (r *Evaluator) with(ctx context.Context, part *Suite, setting Setting, open func(Setting) (llm.Model, error)) (*Summary, error) {
	one := *r
	one.Models = []string{r.Models[0] + " " + setting.Name}
	one.Open = func(id string) (llm.Model, error) {
		if id == one.Models[0] {
			return open(setting)
		}
		return r.Open(id)
	}
	run, err := one.Run(ctx, part)
	if missing := new(MissingError); err != nil && !errors.As(err, &missing) {
		return nil, err
	}
	return Summarize(ctx, r.Store, part, run)
}
