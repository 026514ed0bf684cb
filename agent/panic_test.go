package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// TestPanicsOfHooks: a hook that panics ends the run with an error, and its record is sealed.
// A panic of whoever reads the events is not a hook's, and reaches them.
func TestPanicsOfHooks(t *testing.T) {
	n := 0
	for name, hook := range map[string]func(*agent.Agent){
		"before turn 2": func(a *agent.Agent) {
			a.BeforeTurn = func(_ context.Context, p *agent.Plan) error {
				if p.Turn == 2 {
					panic("no plan")
				}
				return nil
			}
		},
		"after turn 1": func(a *agent.Agent) {
			a.AfterTurn = func(context.Context, agent.TurnEnd) (string, error) { panic("no plan") }
		},
		"the run was ended": func(a *agent.Agent) {
			a.Model = says(failed(llm.Server, ""))
			a.Checkpoint = func(context.Context, agent.Checkpoint) (agent.Choice, error) { panic("no plan") }
		},
	} {
		store := new(journal.Memory)
		a := &agent.Agent{Model: says(call("1", "look", `{}`), "Seen."), Store: store, Tools: runner(counted("look", &n, 0)), NewRun: func() string { return "r" }}
		hook(a)
		l := run(t, a, "go")
		var ended *agent.AbortedError
		if !errors.As(l.err, &ended) || !strings.Contains(l.err.Error(), name) || !strings.Contains(l.err.Error(), "the hook panicked: no plan") || l.done.Open || l.done.Status != agent.StatusFailed {
			t.Errorf("%s: %v, open %v, %s", name, l.err, l.done.Open, l.done.Status)
		}
		if report, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil || report.State() != "sealed" {
			t.Errorf("%s: the record is %s, %v", name, report.State(), err)
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	defer func() {
		if recover() != "mine" {
			t.Error("a panic of the caller was kept from it")
		}
	}()
	for range (&agent.Agent{Model: says("Hi.")}).Run(t.Context(), llm.User("go")) {
		panic("mine")
	}
}
