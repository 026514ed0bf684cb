package eval

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
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

// The abilities that every answer tests. An answer that lacks one of them counts only there, in this order, so that a
// fault is named once.
const (
	answering   = "answers"       // an answer comes, without an error of the server or the network
	takesTools  = "tools"         // the endpoint takes requests with tools
	tokenLimit  = "token limit"   // an answer has at most as many tokens as it may have
	wholeAnswer = "whole answers" // an answer is not cut off although there is room
	form        = "form"          // nothing about the answer has to be corrected
)

// general are the abilities that every answer tests, with what returns the fault of an answer, "" if there is none.
var general = []struct {
	name  string
	fault func(c *Case, t *Trial) string
}{
	{answering, func(_ *Case, t *Trial) string { return t.Error }},
	{takesTools, func(_ *Case, t *Trial) string {
		if t.Kind == llm.Unsupported {
			return t.Broke
		}
		return ""
	}},
	{tokenLimit, func(c *Case, t *Trial) string {
		// Hosts count the tokens around an answer differently.
		if limit := (c.MaxTokens + c.MaxTokens/10 + 8) * max(1, t.Turns); t.Usage.Output > limit {
			return fmt.Sprintf("%d tokens, and the limit was %d", t.Usage.Output, c.MaxTokens)
		}
		return ""
	}},
	{wholeAnswer, func(c *Case, t *Trial) string {
		if c.ability != truncation && t.Finish == llm.Length {
			return fmt.Sprintf("cut off after %d of %d tokens", t.Usage.Output, c.MaxTokens)
		}
		return ""
	}},
	{form, func(_ *Case, t *Trial) string {
		for _, w := range t.Warnings {
			if w.Code == llm.Corrected {
				return w.Feature + ": " + w.Detail
			}
		}
		return ""
	}},
}

// The abilities that are compared only: more or less of them is a change and not a fault.
const (
	thinking = "thinking" // the model thinks before the answer
	speed    = "speed"    // an answer takes about as long as before
)

// IsNeutral reports whether more or less of an ability of a profile is neither better nor worse.
func IsNeutral(ability string) bool { return ability == thinking || ability == speed }

// Profile is what the probes say of an endpoint: a share per ability. The endpoint is seen through its [llm.Model]: what
// package provider corrects without a warning does not show.
type Profile struct {
	Probes    string              `json:"probes"` // the name and version of the set
	Model     string              `json:"model"`
	At        time.Time           `json:"at"`
	Abilities map[string]Interval `json:"abilities"`
	// Passed are the answers that test each ability, and whether they pass. An answer is named after its probe.
	Passed map[string]map[string]bool `json:"passed"`
	// Problems are those of the answers that do not pass.
	Problems map[string]string `json:"problems,omitempty"`
	// Latency is how long each answer took, in milliseconds.
	Latency map[string]int64 `json:"latency_ms"`
}

// Profile asks the model of r all probes and returns its abilities. The record of r.Store then has the answers.
func (r *Evaluator) Profile(ctx context.Context) (*Profile, error) {
	s := Probes()
	run, err := r.Run(ctx, s)
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	p := &Profile{
		Probes: s.Name, Model: r.Models[0], At: time.Now().UTC().Truncate(time.Second), Abilities: make(map[string]Interval),
		Passed: make(map[string]map[string]bool), Problems: make(map[string]string), Latency: make(map[string]int64),
	}
	trials := make(map[string]Trial)
	for t, err := range Trials(ctx, r.Store, run) {
		if err != nil {
			return nil, err
		}
		trials[answerName(t.Case, t.Repeat)] = t
	}
	if len(trials) == 0 && err != nil {
		return nil, err
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		for repeat := 1; repeat <= max(1, r.Repeat); repeat++ {
			name := answerName(c.ID, repeat)
			t, asked := trials[name]
			if !asked { // the endpoint cannot be asked at all
				t.Error = "the probe was not asked, because others failed"
			}
			p.add(c, name, &t)
		}
	}
	for name, answers := range p.Passed {
		var n count
		for _, pass := range answers {
			n.add(pass)
		}
		p.Abilities[name] = n.interval()
	}
	return p, nil
}

// answerName names an answer after its probe.
func answerName(probe string, repeat int) string {
	if repeat == 1 {
		return probe
	}
	return fmt.Sprintf("%s #%d", probe, repeat)
}

// add counts an answer for the abilities that it tests.
func (p *Profile) add(c *Case, name string, t *Trial) {
	for _, g := range general {
		fault := g.fault(c, t)
		p.pass(g.name, name, fault == "", fault)
		if fault != "" {
			return
		}
	}
	p.Latency[name] = t.Latency
	p.pass(thinking, name, t.Thinks, "")
	score := Score(c, t)
	p.pass(c.ability, name, score.Pass, score.detail())
}

func (p *Profile) pass(ability, answer string, pass bool, problem string) {
	if p.Passed[ability] == nil {
		p.Passed[ability] = make(map[string]bool)
	}
	p.Passed[ability][answer] = pass
	if problem != "" {
		p.Problems[answer] = clip.Line(problem, maxDetail)
	}
}

// AbilityDrift is the change of one ability.
type AbilityDrift struct {
	Ability string   `json:"ability"`
	Before  Interval `json:"before"`
	Now     Interval `json:"now"`
	// P is the probability of so large a change by chance (exact McNemar test of the answers).
	P float64 `json:"p"`
	// Drifted reports that the share left its former interval and chance does not explain it.
	Drifted bool `json:"drifted"`
	// Lost are the answers that passed before and do not now, with their problems.
	Lost map[string]string `json:"lost,omitempty"`
}

// Drift compares two profiles of the same probes, ability by ability, the largest change first. Abilities that one of
// them did not measure are left out: another ability names the reason.
func Drift(before, now *Profile) ([]AbilityDrift, error) {
	if before.Probes != now.Probes {
		return nil, fmt.Errorf("eval: %s and %s cannot be compared; ask the old endpoint the new probes", before.Probes, now.Probes)
	}
	var out []AbilityDrift
	for name, answers := range now.Passed {
		if before.Passed[name] != nil {
			out = append(out, compareAbility(name, before.Passed[name], answers, now.Problems))
		}
	}
	limit := before.slowest()
	slow := compareAbility(speed, before.within(limit), now.within(limit), nil)
	slow.Drifted = slow.Drifted && slow.Now.Share < 0.5 // a busy hour is not another model
	if slow.Now.Of > 0 {
		out = append(out, slow)
	}
	slices.SortFunc(out, func(a, b AbilityDrift) int {
		return cmp.Or(cmp.Compare(a.P, b.P), cmp.Compare(a.Ability, b.Ability))
	})
	return out, nil
}

func compareAbility(name string, before, now map[string]bool, problems map[string]string) AbilityDrift {
	d := AbilityDrift{Ability: name, Lost: make(map[string]string)}
	var was, is count
	lost, won := 0, 0
	for answer, passes := range now {
		passed, both := before[answer]
		if !both {
			continue
		}
		was.add(passed)
		is.add(passes)
		switch {
		case passed && !passes:
			lost++
			d.Lost[answer] = problems[answer]
		case !passed && passes:
			won++
		}
	}
	d.Before, d.Now, d.P = was.interval(), is.interval(), McNemar(lost, won)
	outside := d.Now.Share < d.Before.Low || d.Now.Share > d.Before.High
	d.Drifted = outside && d.P < 0.1 && is.of > 0
	return d
}

// slowest returns how long an answer may take in order to count as fast as those of p.
func (p *Profile) slowest() int64 {
	values := make([]float64, 0, len(p.Latency))
	for _, ms := range p.Latency {
		values = append(values, float64(ms))
	}
	return 3*int64(percentile(values, 0.5)) + 500
}

func (p *Profile) within(limit int64) map[string]bool {
	out := make(map[string]bool, len(p.Latency))
	for name, ms := range p.Latency {
		out[name] = ms <= limit
	}
	return out
}

// Agreement returns the share of the probes that passed in the first of two profiles and still pass in p. Probes without
// an answer in p do not count.
func (p *Profile) Agreement(first *Profile) Interval {
	var agree count
	for probe := range first.Passed[answering] {
		if first.Problems[probe] == "" && p.Passed[answering][probe] {
			agree.add(p.Problems[probe] == "")
		}
	}
	return agree.interval()
}

// measured reports whether at least half of the probes were answered. Otherwise p is about the server, not the model.
func (p *Profile) measured() bool {
	answered := 0
	for _, pass := range p.Passed[answering] {
		if pass {
			answered++
		}
	}
	return answered > 0 && 2*answered >= len(p.Passed[answering])
}

// Recheck asks a model the probes, keeps the result and returns its agreement with the first kept result. The last kept
// result counts again if it is younger than maxAge. The first result of a model agrees with itself.
func Recheck(ctx context.Context, store journal.Store, id string, m llm.Model, maxAge time.Duration) (float64, error) {
	all, err := Profiles(ctx, store, id)
	if err != nil {
		return 0, err
	}
	all = slices.DeleteFunc(all, func(p *Profile) bool { return p.Probes != Probes().Name })
	var now *Profile
	if n := len(all); n > 0 && time.Since(all[n-1].At) < maxAge {
		now = all[n-1]
	} else {
		r := &Evaluator{Store: new(journal.Memory), Models: []string{id}, Open: func(string) (llm.Model, error) { return m, nil }, Parallel: 2}
		if now, err = r.Profile(ctx); err != nil {
			return 0, err
		}
		if !now.measured() {
			return 0, fmt.Errorf("eval: %s answered fewer than half of the probes", id)
		}
		if err := now.Keep(ctx, store); err != nil {
			return 0, err
		}
	}
	first := now
	if len(all) > 0 {
		first = all[0]
	}
	agree := now.Agreement(first)
	if agree.Of == 0 {
		return 0, fmt.Errorf("eval: the first result of %s has no right answer to compare with", id)
	}
	return agree.Share, nil
}

// KindProfile is the kind of entries with a [Profile] in the journal.
const KindProfile journal.Kind = "eval.profile"

// profiles names the record of the profiles of a model.
func profiles(model string) string { return profilePrefix + hashText(model) }

const profilePrefix = "drift-"

func isProfiles(run string) bool { return strings.HasPrefix(run, profilePrefix) }

// Keep adds the profile to those of its model.
func (p *Profile) Keep(ctx context.Context, store journal.Store) (err error) {
	rec, err := journal.Open(ctx, store, profiles(p.Model))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rec.Close(context.WithoutCancel(ctx))) }()
	_, err = rec.Write(ctx, KindProfile, p)
	return err
}

// Profiles returns the kept profiles of a model, the oldest first.
func Profiles(ctx context.Context, store journal.Store, model string) ([]*Profile, error) {
	var out []*Profile
	for e, err := range journal.Whole(store.Read(ctx, profiles(model), 1)) {
		if err != nil {
			return nil, err
		}
		if e.Kind != KindProfile {
			continue
		}
		p := new(Profile)
		if err := json.Unmarshal(e.Body, p); err != nil {
			return nil, fmt.Errorf("eval: entry %d of %s: %w", e.Seq, profiles(model), err)
		}
		out = append(out, p)
	}
	return out, nil
}
