package eval_test

import (
	"context"
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// recordedRun is a run with one call of a tool with a large number.
func recordedRun(t *testing.T, store journal.Store) string {
	t.Helper()
	find := tool.New("find_order", "Finds an order.", []byte(`{"type":"object","properties":{"number":{"type":"integer"}},"required":["number"]}`),
		func(context.Context, json.RawMessage) (tool.Output, error) { return tool.Text("order of Ada"), nil })
	find.Effects = tool.ReadOnly
	a := agent.Agent{Model: sim.Offline{}, ID: "sim/offline", Store: store, Tools: &invoke.Runner{Tools: mustSet(t, find)}}
	done, err := a.Ask(t.Context(), llm.User("Find order 9007199254740993."))
	if err != nil || done.Ran != 1 {
		t.Fatalf("%v: %+v", err, done)
	}
	return done.Run
}

func mustSet(t *testing.T, tools ...tool.Tool) *tool.Set {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestCapturedRunIsACaseThatPasses(t *testing.T) {
	store := new(journal.Memory)
	line, err := eval.Capture(t.Context(), store, recordedRun(t, store))
	if err != nil {
		t.Fatal(err)
	}
	s, err := new(eval.Loader).Parse("captured.jsonl", line)
	if err != nil {
		t.Fatalf("%v\n%s", err, line)
	}
	r := runner(t, sim.Offline{})
	run, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := eval.Summarize(t.Context(), r.Store, s, run)
	if err != nil || len(sum.Rows) != 1 || !sum.Rows[0].CaseScore.Pass {
		t.Errorf("%v: %+v\n%s", err, sum, line)
	}
}

func TestProductionCountsOrdinaryRuns(t *testing.T) {
	store := new(journal.Memory)
	runs := []string{recordedRun(t, store), recordedRun(t, store)}
	r := runner(t, sim.Offline{})
	r.Store = store
	evaluation, err := r.Run(t.Context(), example(t))
	if err != nil {
		t.Fatal(err)
	}
	got, err := eval.FromRuns(t.Context(), store, append(runs, evaluation))
	if err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Runs != 2 || got[0].Answers != 4 || got[0].Calls != 2 || got[0].Ran != 2 || got[0].Invalid.Hits != 0 {
		t.Errorf("%+v", got)
	}
}
