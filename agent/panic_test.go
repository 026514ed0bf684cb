package agent_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// TestPanicsOfHooks: a hook that panics ends the run with an error, and its record is sealed.
// A panic of whoever reads the events is not a hook's, and reaches them.
func TestPanicsOfHooks(t *testing.T) {
	n := 0
	for name, hook := range map[string]func(*agent.Agent){
		"before turn 2": func(a *agent.Agent) {
			a.BeforeTurn = func(_ context.Context, p *agent.TurnStart) error {
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

// TestPanicsOfPlainHooks: hooks that return no error end the run in the same way. One that
// panics before there is a record is the error of the run.
func TestPanicsOfPlainHooks(t *testing.T) {
	n := 0
	turn2 := func(what string) func(int) (llm.Model, string) {
		return func(turn int) (llm.Model, string) {
			if turn == 2 {
				panic(what)
			}
			return nil, ""
		}
	}
	later := func() func() bool { // false the first times
		calls := 0
		return func() bool { calls++; return calls > 2 }
	}
	for name, c := range map[string]struct {
		hook   func(*agent.Agent)
		sealed bool
	}{
		"Route, in turn 2": {func(a *agent.Agent) { a.Route = turn2("no plan") }, true},
		"Cost, of an answer": {func(a *agent.Agent) {
			a.Money = catalog.Dollar
			past := later()
			a.Cost = func(string, llm.Usage) (catalog.Money, bool) {
				if past() {
					panic("no plan")
				}
				return 1, true
			}
		}, true},
		"NewID": {func(a *agent.Agent) {
			a.Model = says(call("", "look", `{}`), "Seen.")
			a.NewID = func() string { panic("no plan") }
		}, true},
		"Now": {func(a *agent.Agent) {
			past := later()
			a.Now = func() time.Time {
				if past() {
					panic("no plan")
				}
				return time.Unix(1, 0)
			}
		}, false},
		"NewRun":         {func(a *agent.Agent) { a.NewRun = func() string { panic("no plan") } }, false},
		"Route, at once": {func(a *agent.Agent) { a.Route = func(int) (llm.Model, string) { panic("no plan") } }, false},
		"Cost, at once": {func(a *agent.Agent) {
			a.Money = catalog.Dollar
			a.Cost = func(string, llm.Usage) (catalog.Money, bool) { panic("no plan") }
		}, false},
		"Offer.CostOf": {func(a *agent.Agent) {
			a.Offer = tool.Selection{Cost: 1, CostOf: func(llm.ToolDef) int { panic("no plan") }}
		}, false},
		"Offer.GroupOf": {func(a *agent.Agent) {
			a.Offer = tool.Selection{Tools: 1, GroupOf: func(llm.ToolDef) string { panic("no plan") }}
			a.Tools = runner(counted("look", &n, 0), counted("see", &n, 0))
		}, false},
	} {
		store := new(journal.Memory)
		a := &agent.Agent{Model: used(says(call("1", "look", `{}`), "Seen.")), Store: store, Tools: runner(counted("look", &n, 0)), NewRun: func() string { return "r" }}
		c.hook(a)
		l := run(t, a, "go")
		if l.err == nil || !strings.Contains(l.err.Error(), "panicked: no plan") || !strings.Contains(l.err.Error(), strings.Split(name, ",")[0]) {
			t.Errorf("%s: %v", name, l.err)
		}
		if rec, err := journal.Open(t.Context(), store, "r"); err != nil && !c.sealed {
			t.Errorf("%s: the run is still held: %v", name, err)
		} else if err == nil {
			_ = rec.Close(t.Context())
		}
		if !c.sealed {
			continue
		}
		if report, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil || report.State() != "sealed" || l.done.Open || l.done.Status != agent.StatusFailed {
			t.Errorf("%s: the record is %s, %v; %+v", name, report.State(), err, l.done)
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// used is a model whose answers say that tokens were used.
func used(m llm.Model) llm.Model {
	return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for ev, err := range m.Stream(ctx, req) {
				if f, ok := ev.(llm.Finish); ok {
					f.Usage = llm.Usage{Input: 10, Output: 5}
					ev = f
				}
				if !yield(ev, err) {
					return
				}
			}
		}
	})
}
