package eval

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// ClaimResult is what a measurement says about a claim.
type ClaimResult string

// The results. A claim holds, or does not, if the whole 95 % interval says so.
const (
	Holds     ClaimResult = "holds"
	Contrary  ClaimResult = "does not hold"
	Undecided ClaimResult = "cannot be decided"
)

// Claim is a published statement about what a technique brings, and the measurement of it: the same cases with the
// technique off and on.
type Claim struct {
	Name string `json:"name"`
	// Text is the claim in words.
	Text string `json:"claim"`
	// Cases are the cases of the suite that the technique applies to. The rest is empty if there are none.
	Cases int `json:"cases"`
	// Off and On are the shares of right answers without and with the technique, and Change compares them.
	Off    Interval          `json:"off"`
	On     Interval          `json:"on"`
	Change *PairedComparison `json:"change,omitempty"`
	// Valid are the calls that match their schemas, without and with the technique.
	Valid [2]Interval `json:"valid_calls"`
	// Recovered are the answers that needed another question with the technique.
	Recovered Interval `json:"recovered"`
	// Tokens and Time are what the technique adds to a case, as shares of the case without it, on average.
	Tokens Effect `json:"tokens"`
	Time   Effect `json:"time"`
	// Measured is the figure that the claim is about.
	Measured Effect      `json:"measured"`
	Result   ClaimResult `json:"result"`
	// Skipped is why nothing was measured.
	Skipped string `json:"skipped,omitempty"`
}

// Effect is a mean over cases with its 95 % interval.
type Effect struct {
	Of   int     `json:"of"`
	Mean float64 `json:"mean"`
	Low  float64 `json:"low"`
	High float64 `json:"high"`
}

func (e Effect) String() string {
	if e.Of == 0 {
		return "-"
	}
	return fmt.Sprintf("%+.1f %% (%+.1f to %+.1f)", 100*e.Mean, 100*e.Low, 100*e.High)
}

// comparison is a technique with the claims about it.
type comparison struct {
	name    string
	applies func(*Case) bool
	off, on variant
	claims  []statement
}

// variant is one side of a comparison.
type variant struct {
	setting Setting
	change  func(*Evaluator)
	adapt   func(*Case)
}

// statement is a claim about one figure of a comparison: that it is at least, or at most, a value.
type statement struct {
	text    string
	value   float64
	atMost  bool
	measure func(*Claim) Effect
}

func (i Interval) effect() Effect { return Effect{i.Of, i.Share, i.Low, i.High} }

// improvement is the change of the share of right answers, relative to the share without the technique.
func improvement(c *Claim) Effect {
	if c.Off.Share == 0 {
		if c.Change.Low > 0 { // from nothing to something
			return Effect{Of: c.Change.Cases, Mean: 1, Low: 1, High: 1}
		}
		return Effect{Of: c.Change.Cases, Low: -1, High: 1}
	}
	d := c.Change
	return Effect{d.Cases, d.Difference / c.Off.Share, d.Low / c.Off.Share, d.High / c.Off.Share}
}

func difference(c *Claim) Effect {
	return Effect{c.Change.Cases, c.Change.Difference, c.Change.Low, c.Change.High}
}

func hasTools(c *Case) bool { return len(c.Tools) > 0 && c.Output == nil }

func strictness(on bool) variant {
	return variant{adapt: func(c *Case) {
		c.Tools = slices.Clone(c.Tools)
		for i := range c.Tools {
			c.Tools[i].Strict = &on
		}
	}}
}

func resultMode(m invoke.Mode) variant {
	return variant{change: func(r *Evaluator) { r.Results = m }}
}

func tries(n int) variant { return variant{change: func(r *Evaluator) { r.Loop = n }} }

// comparisons are the claims of the documents from which this project began, as comparisons.
func comparisons() []comparison {
	return []comparison{
		{"validation loop", func(c *Case) bool { return hasTools(c) && !c.IsConversation() }, tries(0), tries(3), []statement{
			{"returning invalid calls to the model improves the share of right calls by 40 % or more", 0.4, false, improvement}}},
		{"strict schemas", hasTools, strictness(false), strictness(true), []statement{
			{"with strict schemas every call matches its schema", 1, false, func(c *Claim) Effect { return c.Valid[1].effect() }},
			{"without strict schemas about 40 % of the calls match", 0.5, true, func(c *Claim) Effect { return c.Valid[0].effect() }}}},
		{"concise results", func(c *Case) bool { return hasTools(c) && len(c.Results) > 0 }, resultMode(invoke.Detailed), resultMode(invoke.Concise), []statement{
			{"concise results cost no right answer", 0, false, difference}}},
		{"native calling", hasTools, variant{setting: Setting{Name: "emulated", Values: map[string]string{"native_tools": "false"}}},
			variant{setting: Setting{Name: "native", Values: map[string]string{"native_tools": "true"}}}, []statement{
				{"native calling is right at least as often as emulated calling", 0, false, difference}}},
		{"structured output", func(c *Case) bool { return c.Output != nil && !c.IsConversation() }, tries(0), tries(3), []statement{
			{"fewer than 5 % of structured answers need a recovery", 0.05, true, func(c *Claim) Effect { return c.Recovered.effect() }},
			{"recoveries cost less than 10 % more tokens", 0.1, true, func(c *Claim) Effect { return c.Tokens }},
			{"recoveries cost less than 10 % more time", 0.1, true, func(c *Claim) Effect { return c.Time }}}},
	}
}

// Claims measures the published claims about validation loops, strict schemas, concise results, native calling and
// structured output with the cases of a suite and the one model of r. The answers are recorded, so an interrupted
// measurement continues. open opens the model with other values of its catalogue entry; an error of open skips a claim.
func (r *Evaluator) Claims(ctx context.Context, s *Suite, open func(Setting) (llm.Model, error)) ([]Claim, error) {
	if len(r.Models) != 1 {
		return nil, errors.New("eval: claims are measured with one model")
	}
	var out []Claim
	for _, c := range comparisons() {
		measured, err := r.compare(ctx, s, c, open)
		if err != nil {
			return nil, err
		}
		for _, st := range c.claims {
			one := *measured
			one.Text = st.text
			if one.Skipped == "" {
				one.Measured = st.measure(measured)
				one.Result = st.verdict(one.Measured)
			}
			out = append(out, one)
		}
	}
	return out, nil
}

func (st statement) verdict(e Effect) ClaimResult {
	low, high := e.Low >= st.value, e.High < st.value
	if st.atMost {
		low, high = e.High <= st.value, e.Low > st.value
	}
	switch {
	case e.Of == 0:
		return Undecided
	case low:
		return Holds
	case high:
		return Contrary
	}
	return Undecided
}

// compare measures both sides of a comparison.
func (r *Evaluator) compare(ctx context.Context, s *Suite, c comparison, open func(Setting) (llm.Model, error)) (*Claim, error) {
	out := &Claim{Name: c.name}
	part := s.part(c.applies)
	if out.Cases = len(part.Cases); out.Cases == 0 {
		out.Skipped = "the suite has no case for it"
		return out, nil
	}
	var sums [2]*Summary
	var usage [2]map[string]spent
	for i, v := range []variant{c.off, c.on} {
		one, cases := *r, *part
		if v.change != nil {
			v.change(&one)
		}
		setting := Setting{Name: []string{"off", "on"}[i]}
		opened := func(Setting) (llm.Model, error) { return r.Open(r.Models[0]) }
		if v.setting.Name != "" {
			if _, err := open(v.setting); err != nil {
				out.Skipped = err.Error()
				return out, nil
			}
			setting, opened = v.setting, open
		}
		one.Label += " " + c.name
		if v.adapt != nil {
			cases.Cases = slices.Clone(part.Cases)
			for k := range cases.Cases {
				v.adapt(&cases.Cases[k])
			}
		}
		var err error
		if sums[i], err = one.with(ctx, &cases, setting, opened); err != nil {
			return nil, err
		}
		if usage[i], err = spentOf(ctx, one.Store, sums[i].Run); err != nil {
			return nil, err
		}
	}
	off, on := sums[0].Models[0], sums[1].Models[0]
	out.Off, out.On, out.Valid = off.Right, on.Right, [2]Interval{off.ValidCalls, on.ValidCalls}
	out.Change = Compare(sums[0], off.Model, sums[1], on.Model)
	out.Change.A, out.Change.B = "off", "on"
	out.Recovered, out.Tokens, out.Time = added(usage[0], usage[1])
	return out, nil
}

// spent is what the answers to a case cost.
type spent struct {
	tokens, time float64
	again        bool
}

// spentOf returns what each case of a run cost.
func spentOf(ctx context.Context, store journal.Store, run string) (map[string]spent, error) {
	out := make(map[string]spent)
	for t, err := range Trials(ctx, store, run) {
		if err != nil {
			return nil, err
		}
		if t.Error == "" {
			was := out[t.Case]
			out[t.Case] = spent{was.tokens + float64(t.Usage.Input+t.Usage.Output), was.time + float64(t.Latency), was.again || t.Retries > 0}
		}
	}
	return out, nil
}

// shortest is the time in milliseconds from which answers are compared: below it, the clock decides.
const shortest = 20

// added returns the share of cases that were asked again with the technique, and what it adds to the tokens and the time
// of a case.
func added(off, on map[string]spent) (again Interval, tokens, time Effect) {
	var n count
	var moreTokens, moreTime []float64
	for _, name := range slices.Sorted(maps.Keys(on)) {
		b := on[name]
		n.add(b.again)
		a, both := off[name]
		if both && a.tokens > 0 {
			moreTokens = append(moreTokens, b.tokens/a.tokens-1)
		}
		if both && a.time >= shortest {
			moreTime = append(moreTime, b.time/a.time-1)
		}
	}
	return n.interval(), mean(moreTokens), mean(moreTime)
}

func mean(values []float64) Effect {
	m, low, high := Bootstrap(values)
	return Effect{len(values), m, low, high}
}
