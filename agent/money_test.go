package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
)

// cents has every token of some models cost one cent.
func cents(ids ...string) func(string, llm.Usage) (catalog.Money, bool) {
	return func(id string, u llm.Usage) (catalog.Money, bool) {
		for _, known := range ids {
			if id == known {
				return catalog.Money(u.Input+u.Output) * catalog.Dollar / 100, true
			}
		}
		return 0, false
	}
}

// TestMoney: a run ends when its money is used up, in the words of its budget, and
// its record replays. An answer of the test's models is 15 tokens.
func TestMoney(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	a := agent.Agent{Model: endless{}, ID: "m", Store: store, Tools: runner(counted("look", &n, 0)), NewRun: func() string { return "r" }, Money: catalog.Dollar / 2, Cost: cents("m")}
	a.Tools.LoopLimit = -1
	l := run(t, &a, "go")
	if l.err == nil || l.err.Error() != "agent: the budget of $0.50 is used up: $0.60 were spent in 4 turns" || l.done.Cost != catalog.Dollar*60/100 || !l.done.Open {
		t.Fatalf("%v, cost %s, open %v", l.err, l.done.Cost, l.done.Open)
	}
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Error(err)
	}
	if l = listen(a.Resume(t.Context(), "r")); l.err == nil || !strings.Contains(l.err.Error(), "$0.60 were spent") {
		t.Errorf("after Resume: %v", l.err)
	}
	a.Money = catalog.Dollar
	if l = listen(a.Resume(t.Context(), "r")); l.err == nil || !strings.Contains(l.err.Error(), "the budget of $1.00 is used up: $1.05 were spent in 7 turns") {
		t.Errorf("with more money: %v", l.err)
	}
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Error(err)
	}
}

// TestMoneyOfRunsInside: what runs inside calls cost is paid by the runs outside, at
// any depth, and bounded by what those have left.
func TestMoneyOfRunsInside(t *testing.T) {
	n := 0
	inner := &agent.Agent{Model: endless{}, ID: "cheap", Tools: runner(counted("look", &n, 0)), Cost: cents("cheap")}
	inner.Tools.LoopLimit = -1
	store := new(journal.Memory)
	middle := &agent.Agent{Model: byTurn{says(call("1", "inner", `{"task":"look"}`), "Middle.").lines}, ID: "mid", Store: store, Cost: cents("mid"), Tools: runner(inner.Tool("inner", "Looks."))}
	a := team(store, middle, call("a", "helper", `{"task":"look"}`))
	a.ID, a.Money, a.Cost = "m", catalog.Dollar, cents("m")
	l := run(t, a, "go")
	// 15 cents each: one here, one in the middle, then five inside, whose last call is not run.
	if l.err == nil || !strings.Contains(l.err.Error(), "the budget of $1.00 is used up: $1.05 were spent") || n != 4 {
		t.Errorf("%v after %d calls", l.err, n)
	}
	if l.done.Cost != catalog.Dollar*105/100 {
		t.Errorf("the cost is %s", l.done.Cost)
	}
}

// TestMoneyUnknown: a budget with a model whose price is not known is refused before
// anything is asked, in one line.
func TestMoneyUnknown(t *testing.T) {
	asked := &reader{Model: says("Hi.")}
	for name, c := range map[string]struct {
		a    agent.Agent
		says string
	}{
		"a model without a price": {agent.Agent{Model: asked, ID: "lab/new"}, "the price of lab/new is not known"},
		"a stronger one":          {agent.Agent{Model: asked, ID: "m", Cost: cents("m"), Ladder: &agent.Ladder{Stronger: asked, StrongerID: "big"}}, "the price of big is not known"},
		"the one of a turn": {agent.Agent{Model: asked, ID: "m", Cost: cents("m"), BeforeTurn: func(_ context.Context, p *agent.Plan) error {
			p.Model, p.ID = asked, "other"
			return nil
		}}, "the price of other is not known"},
	} {
		c.a.Money = catalog.Dollar
		l := run(t, &c.a, "go")
		if l.err == nil || !strings.Contains(l.err.Error(), "agent: the budget of $1.00 cannot be kept, because "+c.says) || strings.Contains(l.err.Error(), "\n") {
			t.Errorf("%s: %v", name, l.err)
		}
	}
	if len(asked.asked) != 0 {
		t.Errorf("%d questions were asked", len(asked.asked))
	}
	inner := &agent.Agent{Model: asked, ID: "lab/new"}
	a := team(new(journal.Memory), inner, call("a", "helper", `{"task":"x"}`))
	a.ID, a.Money, a.Cost = "m", catalog.Dollar, cents("m")
	if l := run(t, a, "go"); l.err != nil || !strings.Contains(conversation(l.done.Messages), "helper could not do it: agent: the budget of $1.00 of run r, which this one is part of, cannot be kept, because the price of lab/new is not known") || len(asked.asked) != 0 {
		t.Errorf("%v\n%s", l.err, conversation(l.done.Messages))
	}
}

// TestMoneyUnpriced: a run that asked a model without a price says so, also if that was in a run
// inside or in an earlier process. One whose models all have prices does not.
func TestMoneyUnpriced(t *testing.T) {
	m := func() llm.Model { return says("Hi.") }
	for name, c := range map[string]struct {
		a        *agent.Agent
		unpriced bool
	}{
		"a function":     {&agent.Agent{Model: llm.ModelFunc(m().Stream), ID: "m"}, true},
		"of several":     {&agent.Agent{Model: refine.Fallback(m(), m()), ID: "m"}, true},
		"with a price":   {&agent.Agent{Model: m(), ID: "m", Cost: cents("m")}, false},
		"of another one": {&agent.Agent{Model: m(), ID: "m", Cost: cents("other")}, true},
	} {
		if l := run(t, c.a, "go"); l.err != nil || l.done.Unpriced != c.unpriced || c.unpriced == (l.done.Cost > 0) {
			t.Errorf("%s: unpriced %v, cost %s, %v", name, l.done.Unpriced, l.done.Cost, l.err)
		}
	}
	store := new(journal.Memory)
	a := team(store, &agent.Agent{Model: m(), ID: "lab/new", Store: store}, call("a", "helper", `{"task":"x"}`))
	a.ID, a.Cost = "m", cents("m")
	stopped := false
	for ev, err := range a.Run(t.Context(), llm.User("go")) {
		if turn, ok := ev.(agent.Turn); err != nil || ok && turn.N == 2 {
			stopped = ok
			break
		}
	}
	if l := listen(a.Resume(t.Context(), "r")); !stopped || l.err != nil || !l.done.Unpriced || l.done.Cost == 0 {
		t.Errorf("inside, and resumed: unpriced %v, cost %s, %v", l.done.Unpriced, l.done.Cost, l.err)
	}
}

// TestMoneyOfTheCatalogue: models of package provider know what they cost.
func TestMoneyOfTheCatalogue(t *testing.T) {
	c := &provider.Client{Key: func(string) (string, error) { return "k", nil }}
	for id, refused := range map[string]bool{"openai/gpt-4o": false, "openai/nobody-knows-it": true} {
		m, err := c.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel() // nothing is asked
		a := agent.Agent{Model: m, ID: id, Money: catalog.Dollar}
		_, err = a.Ask(ctx, llm.User("Hi."))
		if err == nil || strings.Contains(err.Error(), "is not known") != refused {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestMoneyOfWrappedModels: a model around one that knows its price and its window costs as
// much and takes as much. Of several, none of them is the one: the price is not known.
func TestMoneyOfWrappedModels(t *testing.T) {
	info := catalog.Default().Lookup("openai/gpt-4o")
	info.ContextWindow, info.MaxOutput = 2000, 500
	for name, c := range map[string]struct {
		wrap    func(llm.Model) llm.Model
		refused bool
	}{
		"Retry":         {func(m llm.Model) llm.Model { return refine.Retry(m, 2) }, false},
		"Whole":         {refine.Whole, false},
		"Breaker":       {func(m llm.Model) llm.Model { return &refine.Breaker{Model: m} }, false},
		"Best":          {func(m llm.Model) llm.Model { return refine.BestOf(m, 1, nil) }, false},
		"Structured":    {func(m llm.Model) llm.Model { return refine.Structured(m, 1) }, false},
		"observe":       {func(m llm.Model) llm.Model { return observe.Model(m, "x") }, false},
		"several":       {func(m llm.Model) llm.Model { return refine.Retry(refine.Whole(refine.Whole(m)), 1) }, false},
		"Fallback":      {func(m llm.Model) llm.Model { return refine.Fallback(m, m) }, true},
		"of a function": {func(m llm.Model) llm.Model { return llm.ModelFunc(m.Stream) }, true},
	} {
		most := 0
		a := agent.Agent{Model: c.wrap(counting{readAll(2), 1, info, &most}), ID: "lab/new", Tools: runner(long()), Money: catalog.Dollar}
		l := run(t, &a, "Read it all.")
		if c.refused {
			if l.err == nil || !strings.Contains(l.err.Error(), "the price of lab/new is not known") {
				t.Errorf("%s: %v", name, l.err)
			}
			continue
		}
		if l.err != nil || l.done.Text != "Read." {
			t.Fatalf("%s: %v, %q", name, l.err, l.done.Text)
		}
		if want, ok := info.Cost(l.done.Usage); !ok || want == 0 || l.done.Cost != want || len(of[agent.Shortened](l)) == 0 {
			t.Errorf("%s: the cost is %s, not %s, and %d times something was cut", name, l.done.Cost, want, len(of[agent.Shortened](l)))
		}
	}
}
