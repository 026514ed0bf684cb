package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// team is an agent with an agent as a tool, which has tools of its own.
func team(store journal.Store, inner *agent.Agent, calls ...llm.Part) *agent.Agent {
	inner.Store = store
	return &agent.Agent{Model: byTurn{says(calls, "The boss is content.").lines}, Store: store, Tools: runner(inner.Tool("helper", "Does a task.")), NewRun: func() string { return "r" }}
}

func helper(args string, tools ...tool.Tool) *agent.Agent {
	return &agent.Agent{Model: byTurn{says(call("1", tools[0].Name, args), "The helper is done.").lines}, Tools: runner(tools...)}
}

// TestAgentAsTool: the run inside names the run outside as its parent, its events
// are passed on, and its usage is added.
func TestAgentAsTool(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	a := team(store, helper(`{}`, counted("dig", &n, 0)), call("a", "helper", `{"task":"dig"}`))
	l := run(t, a, "go")
	if l.err != nil || n != 1 || l.done.Text != "The boss is content." || !strings.Contains(conversation(l.done.Messages), "result a: The helper is done.") {
		t.Fatalf("%d, %v\n%s", n, l.err, conversation(l.done.Messages))
	}
	var start journal.Start
	for _, e := range verified(t, store, "r.a") {
		if e.Kind == journal.KindStart {
			if err := e.Decode(&start); err != nil {
				t.Fatal(err)
			}
		}
	}
	if start.Parent != "r" {
		t.Errorf("the parent is %q", start.Parent)
	}
	kinds := make(map[string]int)
	for _, in := range of[agent.Inside](l) {
		kinds[in.Event.EventType()]++
		if b, err := llm.MarshalEvent(in); err != nil || in.Run != "r.a" || in.CallID != "a" || !strings.Contains(string(b), `"inner":{"event":"`+in.Event.EventType()) {
			t.Fatalf("%s, %v", b, err)
		}
	}
	if kinds["turn"] != 2 || kinds["outcome"] != 1 || kinds["done"] != 1 || kinds["text_delta"]+kinds["text"] == 0 {
		t.Errorf("passed on were %v", kinds)
	}
	if u := l.done.Usage; u.Input != 40 || u.Output != 20 { // two answers here, two inside
		t.Errorf("the usage is %+v", u)
	}
	for _, id := range []string{"r", "r.a"} {
		if err := agent.Replay(t.Context(), store, id); err != nil {
			t.Errorf("%s: %v", id, err)
		}
	}
}

// TestBudgetOfRunsInside: what is left of each budget of the run outside bounds the runs
// inside, at any depth, and what they use counts outside.
func TestBudgetOfRunsInside(t *testing.T) {
	forever := func(n *int) *agent.Agent {
		look := counted("look", n, tool.ReadOnly)
		a := &agent.Agent{Model: endless{}, Tools: runner(look)}
		a.Tools.LoopLimit, a.Tools.Parallel = -1, 1
		return a
	}
	for _, c := range []struct {
		name string
		set  func(a *agent.Agent)
		most int
		says string
	}{
		{"calls", func(a *agent.Agent) { a.Tools.Budget.Calls = 5 }, 4, "the budget of 5 calls is used up"},
		{"bytes", func(a *agent.Agent) { a.Tools.Budget.Bytes = 40 }, 4, "the budget of 40 bytes"},
		{"tokens", func(a *agent.Agent) { a.Tokens = 90 }, 6, "the budget of 90 tokens"},
		{"time", func(a *agent.Agent) {
			at := time.Now()
			a.Tools.Budget.Time = 10 * time.Second
			a.Tools.Now = func() time.Time { at = at.Add(time.Second); return at }
		}, 10, "the budget of 10s is used up"},
	} {
		for depth := 1; depth <= 2; depth++ {
			t.Run(fmt.Sprintf("%s/%d", c.name, depth), func(t *testing.T) {
				n := 0
				inner := forever(&n)
				if depth == 2 {
					inner = &agent.Agent{Model: byTurn{says(call("m", "deeper", `{"task":"x"}`), "enough").lines}, Tools: runner(inner.Tool("deeper", "Does it."))}
				}
				a := team(nil, inner, call("a", "helper", `{"task":"look for ever"}`))
				c.set(a)
				l := run(t, a, "go")
				if n == 0 || n > c.most || !strings.Contains(fmt.Sprint(l.events, l.err), c.says) {
					t.Errorf("%d calls inside, error %v\n%s", n, l.err, conversation(l.done.Messages))
				}
			})
		}
	}
}

// endless is a model that calls look with other arguments each time.
type endless struct{}

func (endless) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return says(call(fmt.Sprint("c", len(req.Messages)), "look", fmt.Sprintf(`{"n":%d}`, len(req.Messages)))).Stream(ctx, req)
}

// TestCancelledInside: a run inside is cancelled with the call, and goes on where
// it was when the run outside is resumed and the call is made again.
func TestCancelledInside(t *testing.T) {
	store := new(journal.Memory)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	wait := tool.Func("wait", "Waits.", func(ctx context.Context, _ struct{}) (string, error) {
		if n++; n == 1 {
			cancel()
			<-ctx.Done()
			return "", ctx.Err()
		}
		return "over", nil
	})
	wait.Effects = tool.ReadOnly
	a := team(store, helper(`{}`, wait), call("a", "helper", `{"task":"wait"}`))
	if l := listen(a.Run(ctx, llm.User("go"))); !errors.Is(l.err, context.Canceled) || l.done.Status != agent.StatusInterrupted {
		t.Fatalf("%s, %v", l.done.Status, l.err)
	}
	l := listen(a.Resume(t.Context(), "r"))
	if l.err != nil || n != 2 || !strings.Contains(conversation(l.done.Messages), "The helper is done.") {
		t.Errorf("%d, %v\n%s", n, l.err, conversation(l.done.Messages))
	}
	begun := 0
	for _, e := range verified(t, store, "r.a") {
		if e.Kind == "agent.begin" {
			begun++
		}
	}
	if begun != 1 {
		t.Errorf("the run inside was begun %d times", begun)
	}
}

// TestPendingInside: a call inside that needs a person has the run outside wait;
// answered, both go on, and the call is made once.
func TestPendingInside(t *testing.T) {
	for _, allowed := range []bool{true, false} {
		t.Run(fmt.Sprint(allowed), func(t *testing.T) {
			n := 0
			store := new(journal.Memory)
			inner := helper(`{ "x": 1 }`, counted("pay", &n, 0))
			inner.Tools.Policy = func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
				return invoke.Decision{Verdict: invoke.Ask, Reason: "money"}, nil
			}
			a := team(store, inner, call("a", "helper", `{"task":"pay"}`))
			a.Tools.Approve = later(time.Time{})
			l := run(t, a, "go")
			if l.err != nil || l.done.Status != agent.StatusPending || len(l.done.Waiting) != 1 || l.done.Waiting[0].Message != `helper wants to call pay (1) with {"x":1}: money` || n != 0 {
				t.Fatalf("%s %+v %v", l.done.Status, l.done.Waiting, l.err)
			}
			value := json.RawMessage(fmt.Sprintf(`{"allowed":%v,"by":"ada","reason":"so"}`, allowed))
			l = listen(a.ResumeWith(t.Context(), "r", []agent.Grant{{Call: "a", Allowed: true, By: "ada", Value: value}}))
			want := map[bool]int{true: 1}[allowed]
			if l.err != nil || l.done.Status != agent.StatusFinished || n != want {
				t.Errorf("%s, paid %d times, %v\n%s", l.done.Status, n, l.err, conversation(l.done.Messages))
			}
			for _, id := range []string{"r", "r.a"} {
				verified(t, store, id)
				if err := agent.Replay(t.Context(), store, id); err != nil {
					t.Errorf("%s: %v", id, err)
				}
			}
		})
	}
}

// TestCacheMarksOfTools: a vendor's field on a tool reaches that vendor's request,
// and no other's.
func TestCacheMarksOfTools(t *testing.T) {
	n := 0
	mark := counted("look", &n, tool.ReadOnly)
	mark.Extra = llm.Extra{wire.Messages: {"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}}
	m := says("hi")
	if l := run(t, &agent.Agent{Model: m, Tools: runner(mark)}, "go"); l.err != nil {
		t.Fatal(l.err)
	}
	for format, want := range map[string]bool{wire.Messages: true, wire.Chat: false} {
		req := m.asked[0].Clone()
		req.Model = "x"
		body, _, err := wire.Codec{Format: format}.EncodeRequest(req, false)
		if err != nil || strings.Contains(string(body), `"cache_control":{"type":"ephemeral"}`) != want {
			t.Errorf("%s: %s, %v", format, body, err)
		}
	}
}

func ExampleAgent_Tool() {
	find := tool.Func("find", "Finds a book.", func(context.Context, struct{}) (string, error) { return "shelf 7", nil })
	librarian := &agent.Agent{Model: says(call("1", "find", `{}`), "It is on shelf 7."), Tools: &invoke.Runner{Tools: tool.MustSet(find)}}
	a := agent.Agent{
		Model:  says(call("1", "librarian", `{"task":"Where is Moby-Dick?"}`), "Look on shelf 7."),
		Tools:  &invoke.Runner{Tools: tool.MustSet(librarian.Tool("librarian", "Knows where books are."))},
		Tokens: 10_000, // for both
	}
	for ev := range a.Run(context.Background(), llm.User("I want to read Moby-Dick.")) {
		switch ev := ev.(type) {
		case agent.Inside:
			if o, ok := ev.Event.(invoke.Outcome); ok {
				fmt.Println("inside:", o.Call.Name, o.Result.Text())
			}
		case agent.Done:
			fmt.Println(ev.Text, ev.Usage.Input, ev.Usage.Output)
		}
	}
	// Output:
	// inside: find shelf 7
	// Look on shelf 7. 40 20
}

// TestRunsInsideSideBySide: agents that only read run side by side, each in a run
// of its own, and what they use is counted once.
func TestRunsInsideSideBySide(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	a := team(store, helper(`{}`, counted("look", &n, tool.ReadOnly)), call("a", "helper", `{"task":"x"}`), call("b", "helper", `{"task":"y"}`), call("c", "helper", `{"task":"z"}`))
	a.Tokens = 10_000
	l := run(t, a, "go")
	if u := l.done.Usage; l.err != nil || n != 3 || u.Input != 80 || u.Output != 40 { // two answers here, two in each
		t.Errorf("%d calls inside, usage %+v, error %v", n, u, l.err)
	}
	for _, id := range []string{"r", "r.a", "r.b", "r.c"} {
		verified(t, store, id)
	}
}

// TestSettingsNameTheParent: whoever reads the settings of a run learns which run it is
// part of.
func TestSettingsNameTheParent(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	run(t, team(store, helper(`{}`, counted("dig", &n, 0)), call("a", "helper", `{"task":"dig"}`)), "go")
	for id, want := range map[string]string{"r": "", "r.a": "r"} {
		if s, err := agent.ReadSettings(t.Context(), store, id); err != nil || s.Parent != want {
			t.Errorf("%s: %+v, %v", id, s, err)
		}
	}
}
