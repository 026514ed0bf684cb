package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
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
		"the one of a turn": {agent.Agent{Model: asked, ID: "m", Cost: cents("m"), BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
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
		"observe":       {func(m llm.Model) llm.Model { return observing.Model(m, "x") }, false},
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

// TestNothingRunsAfterTheBudget: the calls of an answer that used up the money or the tokens of
// a run are not run, their results say so, and a larger budget runs them.
func TestNothingRunsAfterTheBudget(t *testing.T) {
	for name, set := range map[string]func(a *agent.Agent, much bool){
		"money": func(a *agent.Agent, much bool) {
			a.Money, a.Cost = catalog.Dollar/10, cents("m")
			if much {
				a.Money = catalog.Dollar
			}
		},
		"tokens": func(a *agent.Agent, much bool) {
			if a.Tokens = 15; much {
				a.Tokens = 100
			}
		},
	} {
		n := 0
		store := new(journal.Memory)
		a := agent.Agent{Model: byTurn{says(call("1", "look", `{}`), "Seen.").lines}, ID: "m", Store: store, Tools: runner(counted("look", &n, 0)), NewRun: func() string { return "r" }}
		set(&a, false)
		l := run(t, &a, "go")
		if l.err == nil || !strings.Contains(l.err.Error(), "is used up") || !strings.HasSuffix(l.err.Error(), "in 1 turn") || l.done.Turns != 1 || n != 0 || !l.done.Open {
			t.Errorf("%s: %v; %d turns, %d calls", name, l.err, l.done.Turns, n)
		}
		if said := conversation(l.done.Messages); !strings.Contains(said, "the budget of the run is used up; it was not run") {
			t.Errorf("%s: %s", name, said)
		}
		if l = listen(a.Resume(t.Context(), "r")); l.err == nil || !strings.HasSuffix(l.err.Error(), "in 1 turn") || n != 0 {
			t.Errorf("%s, resumed: %v, %d calls", name, l.err, n)
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		set(&a, true)
		if l = listen(a.Resume(t.Context(), "r")); l.err != nil || n != 1 || l.done.Text != "Seen." {
			t.Errorf("%s, with more: %v, %d calls, %q", name, l.err, n, l.done.Text)
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestAllowedIsKept: a call of a tool that the choice does not allow is refused, also if the
// model was offered the tool; the model may try again.
func TestAllowedIsKept(t *testing.T) {
	n, m := 0, 0
	store := new(journal.Memory)
	a := agent.Agent{Model: says(call("1", "dig", `{}`), call("2", "look", `{}`), "Done."), Store: store, Tools: runner(counted("dig", &n, 0), counted("look", &m, 0)), NewRun: func() string { return "r" }}
	a.Request.Choice.Allowed = []string{"look"}
	l := run(t, &a, "go")
	if l.err != nil || n != 0 || m != 1 || l.done.Text != "Done." {
		t.Errorf("%v; dig ran %d times, look %d; %q", l.err, n, m, l.done.Text)
	}
	if said := conversation(l.done.Messages); !strings.Contains(said, "dig may not be called in this turn; these may: look") {
		t.Error(said)
	}
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Error(err)
	}
}

// TestTooLongNamesWhatIsLong: the error counts what is left of a question and says where it is.
func TestTooLongNamesWhatIsLong(t *testing.T) {
	a := agent.Agent{Model: says("Hi."), ID: "m", Context: 500, System: strings.Repeat("Mind the gap. ", 500)}
	l := run(t, &a, "go")
	if llm.KindOf(l.err) != llm.TooLong || !strings.Contains(l.err.Error(), "when all that can be left out of the conversation is") || !strings.Contains(l.err.Error(), "of the instructions (System), 0 of tools") {
		t.Error(l.err)
	}
}

// TestWholeConversation: the record gives back what a compacted run left out.
func TestWholeConversation(t *testing.T) {
	store := new(journal.Memory)
	a := agent.Agent{Model: &actor{lines: readAll(30).(byTurn).lines, chunk: 3}, MaxTurns: 40, Store: store, Context: 2500, Tools: runner(long()), NewRun: func() string { return "r" }}
	l := run(t, &a, "Read it all.")
	if l.err != nil || len(of[agent.Compacted](l)) == 0 {
		t.Fatal(l.err, "not compacted")
	}
	short, _, err := agent.Conversation(t.Context(), store, "r")
	if err != nil || len(short) != len(l.done.Messages) {
		t.Error(len(short), err)
	}
	whole, ended, err := agent.WholeConversation(t.Context(), store, "r")
	if err != nil || !ended || len(whole) != 62 {
		t.Fatalf("%d messages, ended %v, %v", len(whole), ended, err)
	}
	for i := range 30 {
		if result := whole[2+2*i].Parts[0].(llm.Result).Text(); len(result) < 3000 {
			t.Errorf("result %d was cut: %.80s", i, result)
		}
	}
}

// TestKilledBeforeTheEnd: a process that died between the last answer and the seal has nothing
// left to ask: whoever resumes the run gets that answer.
func TestKilledBeforeTheEnd(t *testing.T) {
	for _, output := range []*llm.OutputFormat{nil, {Name: "n", Schema: json.RawMessage(`{"type":"object"}`)}} {
		n, after := 0, 0
		whole := new(journal.Memory)
		text := `{"seen":true}`
		a := agent.Agent{Model: byTurn{says(call("1", "look", `{}`), text).lines}, ID: "m", Store: whole, Tools: runner(counted("look", &n, 0)), NewRun: func() string { return "r" },
			AfterTurn: func(_ context.Context, e agent.TurnEnd) (string, error) {
				if e.Over {
					after++
				}
				return "", nil
			}}
		a.Request.Output = output
		was := run(t, &a, "go")
		if was.err != nil {
			t.Fatal(was.err)
		}
		entries := verified(t, whole, "r")
		last := 0
		for i, e := range entries {
			if e.Kind == "agent.turn" {
				last = i
			}
		}
		model := a.Model
		died := func(left int) *torn {
			store := &torn{left: left}
			a.Store, a.Model = store, model
			run(t, &a, "go")
			store.left, after = 1<<30, 0
			return store
		}
		for left := last + 1; left < len(entries); left++ {
			store := died(left)
			asked := &reader{Model: says("Once more.")}
			a.Model = asked
			l := listen(a.Resume(t.Context(), "r"))
			if l.err != nil || len(asked.asked) != 0 || l.done.Text != text || string(l.done.Value) != string(was.done.Value) || l.done.Status != agent.StatusFinished || l.done.Turns != 2 || l.done.Finish.Reason != was.done.Finish.Reason || after != 1 {
				t.Errorf("after %d of %d: %v; asked %d times, %q, %+v", left, len(entries), l.err, len(asked.asked), l.done.Text, l.done)
			}
			if report, err := journal.Verify(store.Read(t.Context(), "r", 0)); err != nil || report.State() != "sealed" {
				t.Errorf("after %d: %s, %v", left, report.State(), err)
			}
			if err := agent.Replay(t.Context(), store, "r"); err != nil {
				t.Errorf("after %d: %v", left, err)
			}
			died(left)
			a.Model = asked
			if l = listen(a.Resume(t.Context(), "r", llm.User("And now?"))); len(asked.asked) == 0 {
				t.Errorf("after %d: a new question was not asked: %v", left, l.err)
			}
		}
	}
}

// narrow is a model that takes questions of so many tokens and does not say so before.
type narrow struct {
	llm.Model
	most    int
	refused *int
}

func (m narrow) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	if llm.EstimateRequest(req) > m.most {
		*m.refused++
		return func(yield func(llm.Event, error) bool) {
			yield(nil, &llm.Error{Op: "narrow", Kind: llm.TooLong, Err: errors.New("too long")})
		}
	}
	return m.Model.Stream(ctx, req)
}

// TestWindowsAreRemembered: the runs of a chat learn once how much a model can take.
func TestWindowsAreRemembered(t *testing.T) {
	refused := 0
	a := agent.Agent{Model: narrow{byTurn{says("Yes.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes.", "Yes.").lines}, 2000, &refused}, ID: "m", Windows: new(agent.Windows)}
	var messages []llm.Message
	learnt := 0
	for i := range 12 {
		messages = append(messages, llm.User(strings.Repeat("This is long. ", 100)))
		done, err := a.Ask(t.Context(), messages...)
		if err != nil {
			t.Fatal(i, err)
		}
		if messages = done.Messages; refused > 0 && learnt == 0 {
			learnt = refused
		}
	}
	if learnt == 0 || refused != learnt {
		t.Errorf("the model refused %d questions, %d of them in the run that learnt it", refused, learnt)
	}
}

// TestProvidersKnowWhatTheyRun: a model of package provider needs no HostedSupport, also inside
// of another one.
func TestProvidersKnowWhatTheyRun(t *testing.T) {
	for id, want := range map[string]agent.Lane{
		"anthropic/claude-sonnet-4-5": agent.LaneNative, "gemini/gemini-2.5-pro": agent.LaneNative,
		"groq/llama-3.3-70b": agent.LaneLocal, "ollama/qwen3:8b": agent.LaneLocal,
	} {
		m, err := (&provider.Client{Key: func(string) (string, error) { return "k", nil }}).Open(id)
		if err != nil {
			t.Fatal(err)
		}
		search := tool.Func(llm.WebSearch, "Searches.", func(context.Context, struct{ Query string }) (string, error) { return "", nil })
		for _, m := range []llm.Model{m, refine.Retry(m, 2)} {
			a := &agent.Agent{Model: m, ID: id, Tools: runner(search), Hosted: []agent.ProviderTool{{Name: llm.WebSearch}}}
			ctx, cancel := context.WithCancel(t.Context())
			var chosen []agent.LaneChosen
			for ev := range a.Run(ctx, llm.User("go")) {
				if c, ok := ev.(agent.LaneChosen); ok {
					chosen = append(chosen, c)
					cancel()
					break
				}
			}
			cancel()
			if !slices.ContainsFunc(chosen, func(c agent.LaneChosen) bool { return c.Lane == want }) {
				t.Errorf("%s: %+v", id, chosen)
			}
		}
	}
}
