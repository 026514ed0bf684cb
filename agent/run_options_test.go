package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// prepared gives prepared answers.
func prepared(t *testing.T, answers string) llm.Model {
	t.Helper()
	s, err := sim.ParseScript([]byte(answers))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestDoneHasTheWarningsOfTheRun(t *testing.T) {
	lost := llm.Warning{Code: llm.SuspectedCall, Feature: "weather", Detail: "it was not read as a call"}
	m := llm.Around(sim.Offline{}, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for range 2 {
				if !yield(lost, nil) {
					return
				}
			}
			for ev, err := range (sim.Offline{}).Stream(ctx, req) {
				if !yield(ev, err) {
					return
				}
			}
		}
	})
	done, err := (&agent.Agent{Model: m}).Ask(t.Context(), llm.User("Hello"))
	if err != nil || len(done.Warnings) != 1 || done.Warnings[0] != lost {
		t.Errorf("%v, %v", done.Warnings, err)
	}
}

func TestTheIDOfAnAgentIsThatOfItsModel(t *testing.T) {
	c := &provider.Client{HTTP: &http.Client{Transport: &inMemory{handler: &sim.Server{}}}}
	const id = "openai+http://good.test/v1#sim/native"
	m, err := c.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	store := new(journal.Memory)
	for want, a := range map[string]*agent.Agent{id: {Model: m, Store: store}, "mine": {Model: m, ID: "mine", Store: store}} {
		var turn agent.Turn
		var run string
		for ev, err := range a.Run(t.Context(), llm.User("Hello")) {
			switch ev := ev.(type) {
			case agent.Turn:
				turn = ev
			case agent.Done:
				run = ev.Run
			}
			if err != nil {
				t.Error(err)
			}
		}
		s, err := agent.ReadSettings(t.Context(), store, run)
		if err != nil || turn.Model != want || s.Model != want {
			t.Errorf("%q, %+v, %v, want %q", turn.Model, s, err, want)
		}
	}
}

func TestOptionsOfARun(t *testing.T) {
	store := new(journal.Memory)
	a := &agent.Agent{Model: sim.Offline{}, Store: store, Parent: "before", NewRun: func() string { return "by-agent" }}
	about := map[string]string{"user": "ada", "ticket": ""}
	done, err := agent.Last(a.RunWith(t.Context(), agent.RunOptions{ID: "mine", Parent: "other", Metadata: about}, llm.User("Hello")))
	s, serr := agent.ReadSettings(t.Context(), store, "mine")
	if err != nil || serr != nil || done.Run != "mine" || s.Parent != "other" || !maps.Equal(s.Metadata, about) {
		t.Errorf("%q %+v %v %v", done.Run, s, err, serr)
	}
	if done, err := a.Ask(t.Context(), llm.User("Hello")); err != nil || done.Run != "by-agent" {
		t.Errorf("%q %v", done.Run, err)
	}
	if _, err := agent.Last(a.RunWith(t.Context(), agent.RunOptions{ID: "mine"}, llm.User("Hello"))); !errors.Is(err, agent.ErrBegun) && !errors.Is(err, journal.ErrSealed) {
		t.Errorf("an id that is taken: %v", err)
	}
	for name, o := range map[string]agent.RunOptions{
		"id":    {ID: "../x"},
		"name":  {Metadata: map[string]string{"": "x"}},
		"value": {Metadata: map[string]string{"x": "\xff"}},
		"long":  {Metadata: map[string]string{"x": strings.Repeat("y", 5000)}},
	} {
		if _, err := agent.Last(a.RunWith(t.Context(), o, llm.User("Hello"))); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if err := agent.Replay(t.Context(), store, "mine"); err != nil {
		t.Error(err)
	}
}

const cent = catalog.Dollar / 100

type weatherReport struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
}

func TestIntoCallsToolsBeforeItAnswers(t *testing.T) {
	type city struct {
		City string `json:"city"`
	}
	ran := 0
	look := tool.Func("weather", "Current weather in a city", func(_ context.Context, in city) (string, error) {
		ran++
		return "25 degrees", nil
	})
	a := &agent.Agent{Store: new(journal.Memory), Tools: &invoke.Runner{Tools: tool.MustSet(look)}, Model: prepared(t, `
-- 1 --
call weather {"city":"Rome"}
-- 2 --
text {"city":"Rome","degrees":"warm"}
-- 3 --
text {"city":"Rome","degrees":25}
`)}
	v, done, err := agent.Into[weatherReport](t.Context(), a, []llm.Message{llm.User("Weather in Rome?")})
	if err != nil || v != (weatherReport{"Rome", 25}) || ran != 1 || done.Ran != 1 {
		t.Errorf("%+v, %d, %+v, %v", v, ran, done, err)
	}
	if a.Request.Output != nil {
		t.Error("Into changed the agent")
	}
	again, err := agent.Result(t.Context(), a.Store, done.Run)
	if err != nil || string(again.Value) != string(done.Value) {
		t.Errorf("%s, %v", again.Value, err)
	}
	if _, _, err := agent.Into[func()](t.Context(), a, []llm.Message{llm.User("x")}); llm.KindOf(err) != llm.Invalid {
		t.Errorf("a type without a schema: %v", err)
	}
}

func TestResultOfARun(t *testing.T) {
	store := new(journal.Memory)
	type city struct {
		City string `json:"city"`
	}
	weather := tool.Func("weather", "Current weather in a city", func(context.Context, city) (string, error) { return "25 degrees", nil })
	model := prepared(t, `
-- 1 --
call weather {"city":"Rome"}
-- 2 --
text 25 degrees
`)
	a := &agent.Agent{Model: model, Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(weather)}}
	done, err := a.Ask(t.Context(), llm.User("Weather in Rome?"))
	if err != nil {
		t.Fatal(err)
	}
	for from, read := range map[string]func() (agent.Done, error){
		"Result": func() (agent.Done, error) { return agent.Result(t.Context(), store, done.Run) },
		"Resume": func() (agent.Done, error) { return agent.Last(a.Resume(t.Context(), done.Run)) },
	} {
		got, err := read()
		if err != nil {
			t.Errorf("%s: %v", from, err)
		}
		got.Warnings = done.Warnings
		was, is := string(mustJSON(t, done)), string(mustJSON(t, got))
		if was != is {
			t.Errorf("%s:\n%s\nwant\n%s", from, is, was)
		}
	}
	if _, err := agent.Last(a.Resume(t.Context(), done.Run, llm.User("And in Florence?"))); !errors.Is(err, journal.ErrSealed) {
		t.Errorf("a message for a run that has ended: %v", err)
	}
	if _, err := agent.Result(t.Context(), store, "none"); err == nil {
		t.Error("a run that does not exist has a result")
	}

	a.Tools = &invoke.Runner{Tools: tool.MustSet(weather), Policy: invoke.AskFirst(invoke.AllowReadOnly),
		Approve: func(context.Context, invoke.Question) (journal.Approval, error) {
			return journal.Approval{}, &invoke.PendingError{}
		}}
	waits, err := a.Ask(t.Context(), llm.User("Weather in Rome?"))
	got, rerr := agent.Result(t.Context(), store, waits.Run)
	if err != nil || rerr != nil || got.Status != agent.StatusPending || len(got.Waiting) != 1 || !got.Open {
		t.Errorf("%+v, %v, %v", got, err, rerr)
	}
}

func mustJSON(t *testing.T, v any) []byte {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// TestPoolIsSharedByAgents: a hundred runs of two agents, one of them inside the other's calls,
// stop together.
func TestPoolIsSharedByAgents(t *testing.T) {
	pool := agent.NewPool(0, 10*cent)
	cost := func(string, llm.Usage) (catalog.Money, bool) { return cent, true }
	model := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		resp := &llm.Response{Message: llm.Assistant(llm.Text{Text: "done"}), Finish: llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Input: 5, Output: 5}}}
		if len(req.Tools) > 0 && len(req.Messages) == 1 {
			resp.Message = llm.Assistant(llm.Call{ID: "call_1", Name: "research", Args: []byte(`{"task":"look"}`)})
			resp.Finish.Reason = llm.ToolCalls
		}
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range resp.Events() {
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
	inner := &agent.Agent{Model: model, Pool: pool, Cost: cost}
	outer := &agent.Agent{Model: model, Pool: pool, Cost: cost, Tools: &invoke.Runner{Tools: tool.MustSet(inner.Tool("research", "Does research")), Policy: invoke.AllowAll}}
	var wg sync.WaitGroup
	var mu sync.Mutex
	refused := 0
	for range 4 { // three answers each
		wg.Go(func() {
			if _, err := outer.Ask(t.Context(), llm.User("Go")); err != nil {
				mu.Lock()
				defer mu.Unlock()
				var used *agent.BudgetError
				if refused++; !errors.As(err, &used) || !used.Pool || used.Money != 10*cent || used.Spent < used.Money || !strings.Contains(err.Error(), "of the pool is used up") {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
	tokens, spent := pool.Spent()
	if refused == 0 || spent < 10*cent || spent > 14*cent || tokens != 10*int(spent/cent) {
		t.Errorf("%d of 4 refused, %d tokens, %s", refused, tokens, spent)
	}
	if _, err := inner.Ask(t.Context(), llm.User("Go")); err == nil {
		t.Error("an empty pool lets another run begin")
	}
	unknown := &agent.Agent{Model: model, Pool: agent.NewPool(0, catalog.Dollar)}
	if _, err := unknown.Ask(t.Context(), llm.User("Go")); err == nil || !strings.Contains(err.Error(), "the price") {
		t.Errorf("a model without a price: %v", err)
	}
	few := &agent.Agent{Model: model, Pool: agent.NewPool(10, 0)}
	if _, err := few.Ask(t.Context(), llm.User("Go")); err != nil {
		t.Error(err)
	}
	if _, err := few.Ask(t.Context(), llm.User("Go")); err == nil || !strings.Contains(err.Error(), "10 tokens of the pool") {
		t.Errorf("tokens: %v", err)
	}
}
