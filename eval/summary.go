package eval

import (
	"context"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Summary is what a run says about its models.
type Summary struct {
	Run      string         `json:"run"`
	Plan     Experiment     `json:"plan"`
	Complete bool           `json:"complete"`
	Models   []ModelSummary `json:"models"`
	// Rows are the scored trials, by case, then by model, then by repeat.
	Rows []ScoredTrial `json:"rows"`
}

// ScoredTrial is a scored trial.
type ScoredTrial struct {
	Case      string    `json:"case"`
	Model     string    `json:"model"`
	Repeat    int       `json:"repeat"`
	Tags      []string  `json:"tags,omitempty"`
	Weight    float64   `json:"weight"`
	CaseScore CaseScore `json:"score"`
}

// ModelSummary is what a run says about one model.
type ModelSummary struct {
	Model string `json:"model"`
	// Right are the answers that pass. Weighted is their share by the weights of the cases.
	Right    Interval `json:"right"`
	Weighted float64  `json:"weighted"`
	// RightTools, RightArguments and FirstAttempt are of the cases that expect calls.
	RightTools     Interval `json:"right_tools"`
	RightArguments Interval `json:"right_arguments"`
	FirstAttempt   Interval `json:"first_attempt"`
	// ValidCalls are the calls that name an offered tool and match its schema; InvalidCalls were cut off or unreadable.
	ValidCalls   Interval `json:"valid_calls"`
	InvalidCalls int      `json:"invalid_calls"`
	// NeedlessCalls are the answers with a call to cases that expect none.
	NeedlessCalls Interval `json:"needless_calls"`
	// PassAtLeastOnce and PassAlways are pass@k and pass^k, with k = the repeats of the plan. They are missing for one repeat.
	PassAtLeastOnce *float64 `json:"pass_at_k,omitempty"`
	PassAlways      *float64 `json:"pass_all_k,omitempty"`
	// Errors are the answers that are missing.
	Errors   int                     `json:"errors"`
	Failures map[FailureKind]int     `json:"failures,omitempty"`
	Repairs  map[llm.RepairClass]int `json:"repairs,omitempty"`
	Retries  int                     `json:"retries"`
	Usage    llm.Usage               `json:"usage"`
	Cost     catalog.Money           `json:"cost,omitempty"`
	// Aside is what judges and simulated people used for the cases of the model, and AsideCost is its price.
	Aside     llm.Usage     `json:"aside,omitzero"`
	AsideCost catalog.Money `json:"aside_cost,omitempty"`
	// Latency and FirstCall are the median and the 95th percentile in milliseconds.
	Latency   [2]int64            `json:"latency_ms"`
	FirstCall [2]int64            `json:"first_call_ms"`
	Tags      map[string]Interval `json:"tags,omitempty"`
}

// Summarize scores the record of a run.
func Summarize(ctx context.Context, store journal.Store, s *Suite, run string) (*Summary, error) {
	plan, complete, err := ReadPlan(ctx, store, run)
	if err != nil {
		return nil, err
	}
	out := &Summary{Run: run, Plan: plan, Complete: complete}
	cases := make(map[string]int, len(s.Cases))
	for i := range s.Cases {
		cases[s.Cases[i].ID] = i
	}
	tallies := make(map[string]*tally)
	last, err := lastTrials(ctx, store, run)
	if err != nil {
		return nil, err
	}
	for t, err := range Trials(ctx, store, run) {
		if err != nil {
			return nil, err
		}
		k := key{t.Case, t.Model, t.Repeat}
		i, known := cases[t.Case]
		if last[k]--; last[k] > 0 || !known {
			continue
		}
		c := &s.Cases[i]
		row := ScoredTrial{Case: t.Case, Model: t.Model, Repeat: t.Repeat, Tags: c.Tags, Weight: c.Weight, CaseScore: Score(c, &t)}
		out.Rows = append(out.Rows, row)
		if tallies[t.Model] == nil {
			tallies[t.Model] = newTally(t.Model)
		}
		tallies[t.Model].add(c, &t, &row.CaseScore)
	}
	slices.SortFunc(out.Rows, func(a, b ScoredTrial) int {
		if a.Case != b.Case {
			return cases[a.Case] - cases[b.Case]
		}
		if a.Model != b.Model {
			return slices.Index(plan.Models, a.Model) - slices.Index(plan.Models, b.Model)
		}
		return a.Repeat - b.Repeat
	})
	for _, id := range plan.Models {
		if t := tallies[id]; t != nil {
			out.Models = append(out.Models, t.summary(plan.Repeat))
		} else {
			out.Models = append(out.Models, newTally(id).summary(plan.Repeat))
		}
	}
	return out, nil
}

// lastTrials counts the trials of each question, which lets a second pass find the last of each without keeping
// the answers.
func lastTrials(ctx context.Context, store journal.Store, run string) (map[key]int, error) {
	out := make(map[key]int)
	for e, err := range store.Read(ctx, run, 1) {
		if err != nil {
			return nil, err
		}
		if e.Kind != KindTrial {
			continue
		}
		var t struct {
			Case   string `json:"case"`
			Model  string `json:"model"`
			Repeat int    `json:"repeat"`
		}
		if err := json.Unmarshal(e.Body, &t); err != nil {
			return nil, err
		}
		out[key{t.Case, t.Model, t.Repeat}]++
	}
	return out, nil
}

// count is a share that is being counted.
type count struct{ hits, of int }

func (c *count) add(hit bool) {
	c.of++
	if hit {
		c.hits++
	}
}

func (c count) interval() Interval { return Wilson(c.hits, c.of) }

// tally counts the trials of one model.
type tally struct {
	ModelSummary
	right, tools, args, first, needless count
	valid                               count
	weight, weighted                    float64
	tags                                map[string]*count
	passes                              map[string]*count // by case
	latency, firstCall                  []float64
}

func newTally(model string) *tally {
	return &tally{
		ModelSummary: ModelSummary{Model: model, Failures: make(map[FailureKind]int), Repairs: make(map[llm.RepairClass]int)},
		tags:         make(map[string]*count), passes: make(map[string]*count),
	}
}

func counted(m map[string]*count, name string) *count {
	if m[name] == nil {
		m[name] = new(count)
	}
	return m[name]
}

func (t *tally) add(c *Case, trial *Trial, v *CaseScore) {
	if trial.Error != "" {
		t.Errors++
	}
	t.right.add(v.Pass)
	t.weight += c.Weight
	if v.Pass {
		t.weighted += c.Weight
	} else {
		t.Failures[v.Failure]++
	}
	for _, tag := range c.Tags {
		counted(t.tags, tag).add(v.Pass)
	}
	counted(t.passes, c.ID).add(v.Pass)
	if len(c.Expect.Calls) > 0 {
		t.tools.add(v.RightTools)
		t.args.add(v.RightArguments)
		t.first.add(v.Pass && v.FirstAttempt)
	}
	if c.Expect.NoCall {
		t.needless.add(v.Called > 0)
	}
	t.valid.hits += v.ValidCalls
	t.valid.of += v.Called
	t.InvalidCalls += len(trial.Invalid)
	for _, call := range trial.Calls {
		for _, r := range call.Provenance.Repairs {
			t.Repairs[r.Class]++
		}
	}
	t.Retries += trial.Retries
	t.Usage = t.Usage.Add(trial.Usage)
	t.Cost += trial.Cost
	t.Aside = t.Aside.Add(trial.Aside)
	t.AsideCost += trial.AsideCost
	t.latency = append(t.latency, float64(trial.Latency))
	if trial.FirstCall > 0 {
		t.firstCall = append(t.firstCall, float64(trial.FirstCall))
	}
}

func (t *tally) summary(repeat int) ModelSummary {
	out := t.ModelSummary
	out.Right, out.RightTools, out.RightArguments = t.right.interval(), t.tools.interval(), t.args.interval()
	out.FirstAttempt, out.ValidCalls, out.NeedlessCalls = t.first.interval(), t.valid.interval(), t.needless.interval()
	if t.weight > 0 {
		out.Weighted = t.weighted / t.weight
	}
	if repeat > 1 {
		out.PassAtLeastOnce, out.PassAlways = t.stability(repeat)
	}
	out.Latency = [2]int64{int64(percentile(t.latency, 0.5)), int64(percentile(t.latency, 0.95))}
	out.FirstCall = [2]int64{int64(percentile(t.firstCall, 0.5)), int64(percentile(t.firstCall, 0.95))}
	if len(t.tags) > 0 {
		out.Tags = make(map[string]Interval, len(t.tags))
		for _, name := range slices.Sorted(maps.Keys(t.tags)) {
			out.Tags[name] = t.tags[name].interval()
		}
	}
	return out
}

// stability returns the means of pass@k and pass^k over the cases with k answers.
func (t *tally) stability(k int) (atLeastOnce, always *float64) {
	var one, all, n float64
	for _, c := range t.passes {
		if c.of >= k {
			one += PassAt(k, c.of, c.hits)
			all += PassAll(k, c.of, c.hits)
			n++
		}
	}
	if n == 0 {
		return nil, nil
	}
	one, all = one/n, all/n
	return &one, &all
}

// percentile returns a percentile of values, which it sorts; 0 without values.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	return values[int(p*float64(len(values)-1)+0.5)]
}
