package eval_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"testing"

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
	client := &provider.Client{Route: provider.Native, Retry: provider.Retry{Attempts: 1}}
	r := &eval.Evaluator{
		Store: new(journal.Memory), Models: []string{model}, Work: t.TempDir(),
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
		if d.Drifted || d.P < 1 {
			t.Errorf("%+v", d)
		}
	}
	if len(now.Passed) < 60 {
		t.Errorf("%d probes, want at least 60", len(now.Passed))
	}
}

func TestDriftNamesTheAbilitiesThatChanged(t *testing.T) {
	before := profile(t, "sim/native")
	for fault, want := range map[string][]string{
		"length":      {"call", "enumeration", "forced choice", "long arguments", "parallel", "results", "streaming", "unicode", "usage"},
		"think-call":  {"streaming"}, // calls that come with the thinking come in one piece
		"wrong-index": nil,           // the provider corrects it
		"seed=7":      nil,
	} {
		drift, err := eval.Drift(before, profile(t, "sim/native+"+fault))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range drift {
			if d.Drifted {
				got = append(got, d.Ability)
			}
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q drifted, want %q", fault, got, want)
		}
	}
}
