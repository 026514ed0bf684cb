package eval_test

import (
	"context"
	"errors"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

// profile asks a simulated server over HTTP.
func profile(t *testing.T, model string) *eval.Profile {
	t.Helper()
	server := httptest.NewServer(&sim.Server{})
	defer server.Close()
	client := &provider.Client{Route: provider.Native, Retry: provider.RetryPolicy{Attempts: 1}}
	r := &eval.Evaluator{
		Store: new(journal.Memory), Models: []string{model}, Work: t.TempDir(), Parallel: 70,
		Open: func(id string) (llm.Model, error) { return client.Open(server.URL + "/v1#" + id) },
	}
	p, err := r.Profile(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestSameEndpointShowsNoDrift(t *testing.T) {
	before, now := profile(t, "sim/native"), profile(t, "sim/native")
	drift, err := eval.Drift(before, now)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range drift {
		if (d.Drifted || d.P < 1) && d.Ability != "speed" {
			t.Errorf("%+v", d)
		}
	}
	if probes := len(eval.Probes().Cases); probes < 60 {
		t.Errorf("%d probes, want at least 60", probes)
	}
}

// TestDriftNamesEachFaultByTheAbilityItHits checks all faults of the simulator. The faults without an ability are those
// that are none, or that the provider corrects without a warning. think-call thinks, too.
func TestDriftNamesEachFaultByTheAbilityItHits(t *testing.T) {
	abilities := map[string]string{
		"429": "answers", "500": "answers", "503": "answers", "401": "answers", "cut=300": "answers", "fail=5": "answers",
		"no-tools": "tools", "length": "whole answers", "huge=9000": "token limit", "ignore-choice": "forced choice",
		"wrong-finish": "form", "think-call": "form, thinking", "think": "thinking", "stall=4s": "speed",
		"wrong-index": "", "garbage": "", "strict": "", "seed=7": "", "window=8000": "", "times=1": "",
	}
	longer := map[string]bool{"slow": true, "slow-args": true} // they hit speed, in minutes
	for _, f := range sim.Faults() {
		named := longer[f.Name]
		for fault := range abilities {
			name, _, _ := strings.Cut(fault, "=")
			named = named || name == f.Name
		}
		if !named {
			t.Errorf("the fault %s is not tested", f.Name)
		}
	}
	before := profile(t, "sim/native")
	for fault, want := range abilities {
		t.Run(fault, func(t *testing.T) {
			drift, err := eval.Drift(before, profile(t, "sim/native+"+fault))
			if err != nil {
				t.Fatal(err)
			}
			for _, d := range drift {
				slowHere := d.Ability == "speed" && want != "speed" // by the load of this machine
				if d.Drifted != slices.Contains(strings.Split(want, ", "), d.Ability) && !slowHere {
					t.Errorf("%+v", d)
				}
			}
			for _, name := range strings.Split(want, ", ") {
				if want != "" && !slices.ContainsFunc(drift, func(d eval.AbilityDrift) bool { return d.Ability == name }) {
					t.Errorf("%s is not among the abilities", name)
				}
			}
		})
	}
}

func TestKeptProfilesAreReadInOrder(t *testing.T) {
	store := new(journal.Memory)
	for _, at := range []string{"probes-0", "probes-1"} {
		p := &eval.Profile{Probes: at, Model: "sim/native"}
		if err := p.Keep(t.Context(), store); err != nil {
			t.Fatal(err)
		}
	}
	got, err := eval.Profiles(t.Context(), store, "sim/native")
	if err != nil || len(got) != 2 || got[1].Probes != "probes-1" {
		t.Errorf("%v: %+v", err, got)
	}
	if _, err := eval.Drift(got[0], got[1]); err == nil {
		t.Error("profiles of different probes were compared")
	}
}

// Recheck keeps the first result as the baseline, uses a young result again, and tells a changed model from one that does
// not answer.
func TestRecheckMeasuresAgreementWithTheFirstResult(t *testing.T) {
	store := new(journal.Memory)
	var asked atomic.Int64
	of := func(m llm.Model) llm.Model {
		return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			asked.Add(1)
			return m.Stream(ctx, req)
		})
	}
	check := func(m llm.Model, maxAge time.Duration) (float64, error) {
		return eval.Recheck(t.Context(), store, "m", of(m), maxAge)
	}
	if share, err := check(sim.Offline{}, time.Hour); err != nil || share != 1 {
		t.Fatalf("%v, %v", share, err)
	}
	before := asked.Load()
	if share, err := check(sim.Offline{}, time.Hour); err != nil || share != 1 || asked.Load() != before {
		t.Errorf("%v, %v, %d more questions", share, err, asked.Load()-before)
	}
	mute := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			_ = yield(llm.TextDelta{Text: "No."}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
		}
	})
	if share, err := check(mute, 0); err != nil || share > 0.5 {
		t.Errorf("a model without calls: %v, %v", share, err)
	}
	down := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			yield(nil, &llm.Error{Op: "m", Kind: llm.Overloaded, Err: errors.New("busy")})
		}
	})
	if share, err := check(down, 0); err == nil {
		t.Errorf("a server that does not answer: %v", share)
	}
	if share, err := check(sim.Offline{}, 0); err != nil || share != 1 {
		t.Errorf("the first model again: %v, %v", share, err)
	}
}
