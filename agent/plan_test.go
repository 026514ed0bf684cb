package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// reader notes what a model is asked.
type reader struct {
	llm.Model
	asked []*llm.Request
}

func (r *reader) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	r.asked = append(r.asked, req.Clone())
	return r.Model.Stream(ctx, req)
}

// TestBeforeTurn: what a hook changes is what the model is asked with, in that turn
// only; the conversation stays as it was said, and the run replays.
func TestBeforeTurn(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	usual := &reader{Model: says(call("1", "dig", `{}`), "The end.")}
	other := &reader{Model: says(call("2", "fill", `{}`))}
	w := new(witness)
	warm := 0.5
	a := agent.Agent{Model: usual, ID: "usual", System: "Be brief.", Store: store, Observer: w, NewRun: func() string { return "r" },
		Tools: runner(counted("dig", &n, 0), counted("fill", &n, 0)),
		BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
			if p.Turn != 2 {
				return nil
			}
			if p.ID != "usual" || p.System != "Be brief." || len(p.Messages) != 3 || len(p.Tools) != 2 || p.Usage.Input != 10 {
				t.Errorf("the plan is %+v", p)
			}
			p.Model, p.ID, p.System = other, "other", "Be long."
			p.Tools = p.Tools[1:]
			p.Tools[0].Description = "Fills the hole."
			p.Messages = append(p.Messages[1:], llm.User("Hurry!"))
			p.Messages[0].Parts[0] = llm.Text{Text: "changed"} // a copy
			p.Request.Temperature = &warm
			return nil
		}}
	l := run(t, &a, "go")
	if l.err != nil || l.done.Text != "The end." || n != 2 {
		t.Fatal(l.err, l.done.Text, n)
	}
	if len(other.asked) != 1 || len(usual.asked) != 2 {
		t.Fatalf("%d and %d questions", len(other.asked), len(usual.asked))
	}
	q := other.asked[0]
	if q.System != "Be long." || len(q.Tools) != 1 || q.Tools[0].Name != "fill" || q.Tools[0].Description != "Fills the hole." || *q.Temperature != 0.5 ||
		q.Messages[0].Text() != "changed" || q.Messages[len(q.Messages)-1].Text() != "Hurry!" {
		t.Errorf("asked was %+v", q)
	}
	if q = usual.asked[1]; q.System != "Be brief." || len(q.Tools) != 2 || q.Temperature != nil || strings.Contains(conversation(q.Messages), "Hurry!") || strings.Contains(conversation(q.Messages), "changed") {
		t.Errorf("after it: %+v", q)
	}
	if got := conversation(l.done.Messages); strings.Contains(got, "Hurry!") || strings.Contains(got, "changed") {
		t.Errorf("the conversation is\n%s", got)
	}
	if s := of[agent.Switched](l); len(s) != 2 || s[0].To != "other" || s[1].To != "usual" {
		t.Errorf("switched: %+v", s)
	}
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Error(err)
	}
	var plans []journal.Entry
	for _, e := range verified(t, store, "r") {
		if e.Kind == "agent.plan" {
			plans = append(plans, e)
		}
	}
	if len(plans) != 1 {
		t.Fatalf("%d plans are on record", len(plans))
	}
	var body map[string]any
	if err := plans[0].Decode(&body); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"model", "system", "tools", "messages", "request"} {
		if body[name] == nil {
			t.Errorf("%s of the turn is not in the record", name)
		}
	}
	if len(w.runs) != 1 || w.open != 0 {
		t.Errorf("%d runs were observed, %d steps are open", len(w.runs), w.open)
	}
}

// TestPlanRefused: a plan that cannot be followed is an error, and the run can be
// resumed.
func TestPlanRefused(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*agent.TurnStart) error
		says   string
	}{
		"a tool that is not there": {func(p *agent.TurnStart) error { p.Tools = append(p.Tools, def("fly")); return nil }, "a plan offers fly, which nothing runs"},
		"no message":               {func(p *agent.TurnStart) error { p.Messages = nil; return nil }, "a plan needs a message"},
		"system in two places":     {func(p *agent.TurnStart) error { p.Request.System = "x"; return nil }, "must be empty"},
		"a choice of nothing": {func(p *agent.TurnStart) error {
			p.Tools, p.Request.Choice = nil, llm.ToolChoice{Mode: llm.MustCall}
			return nil
		}, "a call is demanded, and there are no tools"},
		"an error": {func(*agent.TurnStart) error { return errors.New("not today") }, "before turn 1: not today"},
	} {
		n := 0
		store := new(journal.Memory)
		a := agent.Agent{Model: says("Hi."), Store: store, Tools: runner(counted("dig", &n, 0)), NewRun: func() string { return "r" },
			BeforeTurn: func(_ context.Context, p *agent.TurnStart) error { return c.change(p) }}
		l := run(t, &a, "go")
		if l.err == nil || !strings.Contains(l.err.Error(), c.says) || !l.done.Open {
			t.Errorf("%s: %v, open %v", name, l.err, l.done.Open)
		}
		a.BeforeTurn = nil
		if l := listen(a.Resume(t.Context(), "r")); l.err != nil || l.done.Text != "Hi." {
			t.Errorf("%s: after Resume %v, %q", name, l.err, l.done.Text)
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnofferedIsNotRun: a tool that the turn does not offer is not run, though the
// runner has it.
func TestUnofferedIsNotRun(t *testing.T) {
	dug, filled := 0, 0
	store := new(journal.Memory)
	a := agent.Agent{Model: says([]llm.Part{call("1", "dig", `{}`), call("2", "fill", `{}`)}, "The end."), Store: store, NewRun: func() string { return "r" },
		Tools: runner(counted("dig", &dug, 0), counted("fill", &filled, 0)),
		BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
			p.Tools = p.Tools[1:]
			return nil
		}}
	l := run(t, &a, "go")
	if l.err != nil || dug != 0 || filled != 1 || !strings.Contains(conversation(l.done.Messages), "dig is not offered in this turn") {
		t.Fatalf("%v, dug %d, filled %d\n%s", l.err, dug, filled, conversation(l.done.Messages))
	}
	valid(t, l.done.Messages)
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Error(err)
	}
}

// TestAfterTurn: a hook ends the run after a turn; that is in the record, and the run
// replays. One that fails leaves the run open.
func TestAfterTurn(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	var seen []string
	m := byTurn{says(call("1", "dig", `{}`), call("2", "dig", `{"n":2}`), "Never said.").lines}
	a := agent.Agent{Model: m, Store: store, Tools: runner(counted("dig", &n, 0)), NewRun: func() string { return "r" },
		AfterTurn: func(_ context.Context, e agent.TurnEnd) (string, error) {
			seen = append(seen, fmt.Sprint(e.Turn, e.Over, len(e.Messages), e.Usage.Input))
			if e.Turn == 2 {
				return "two holes are enough", nil
			}
			return "", nil
		}}
	l := run(t, &a, "go")
	if l.err != nil || n != 2 || l.done.Stopped != "two holes are enough" || l.done.Status != agent.StatusFinished || fmt.Sprint(seen) != "[1 false 3 10 2 false 5 20]" {
		t.Fatal(l.err, n, l.done, seen)
	}
	valid(t, l.done.Messages)
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Error(err)
	}
	fails := a
	fails.Store, fails.AfterTurn = new(journal.Memory), func(context.Context, agent.TurnEnd) (string, error) { return "", errors.New("no more ink") }
	if l = run(t, &fails, "go"); l.err == nil || !strings.Contains(l.err.Error(), "after turn 1: no more ink") || !l.done.Open {
		t.Fatal(l.err, l.done.Open)
	}
	fails.AfterTurn = nil
	if l = listen(fails.Resume(t.Context(), "r")); l.err != nil || l.done.Text != "Never said." || l.done.Stopped != "" {
		t.Fatal(l.err, l.done)
	}
	if err := agent.Replay(t.Context(), fails.Store, "r"); err != nil {
		t.Error(err)
	}
}

// TestHooksAcrossProcesses: a run with hooks that is interrupted in any turn and resumed
// by another process goes on as it would have, and replays.
func TestHooksAcrossProcesses(t *testing.T) {
	for stop := 1; stop <= 4; stop++ {
		n := 0
		store := new(journal.Memory)
		m := byTurn{says(call("1", "dig", `{"n":1}`), call("2", "dig", `{"n":2}`), call("3", "dig", `{"n":3}`), "The end.").lines}
		a := agent.Agent{Model: m, Store: store, Tools: runner(counted("dig", &n, 0), counted("fill", &n, 0)), NewRun: func() string { return "r" },
			BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
				p.System = fmt.Sprint("turn ", p.Turn)
				p.Messages = append(p.Messages, llm.User("And?"))
				p.Tools = p.Tools[:1]
				return nil
			},
			AfterTurn: func(_ context.Context, e agent.TurnEnd) (string, error) { return "", nil }}
		turns := 0
		for ev, err := range a.Run(t.Context(), llm.User("go")) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(agent.Turn); ok {
				if turns++; turns == stop {
					break
				}
			}
		}
		l := listen(a.Resume(t.Context(), "r"))
		if l.err != nil || n != 3 || l.done.Text != "The end." {
			t.Errorf("interrupted in turn %d: %v, %d, %q", stop, l.err, n, l.done.Text)
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("interrupted in turn %d: %v", stop, err)
		}
	}
}

// A tool is offered only after another one was called.
func ExampleAgent_dynamicTools() {
	login := tool.Func("login", "Logs in.", func(context.Context, struct{}) (string, error) { return "welcome", nil })
	transfer := tool.Func("transfer", "Sends money.", func(context.Context, struct{}) (string, error) { return "sent", nil })
	a := agent.Agent{
		Model: says(call("1", "login", `{}`), call("2", "transfer", `{}`), "Done."),
		Tools: &invoke.Runner{Tools: tool.MustSet(login, transfer)},
		BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
			loggedIn := slices.ContainsFunc(p.Messages, func(m llm.Message) bool { return m.Role == llm.RoleTool })
			p.Tools = slices.DeleteFunc(p.Tools, func(d llm.ToolDef) bool { return (d.Name == "transfer") != loggedIn })
			fmt.Println("turn", p.Turn, "offers", p.Tools[0].Name)
			return nil
		},
	}
	done, err := a.Ask(context.Background(), llm.User("Send the money."))
	fmt.Println(done.Text, err)
	// Output:
	// turn 1 offers login
	// turn 2 offers transfer
	// turn 3 offers transfer
	// Done. <nil>
}

// The conversation up to the newest message is marked for the vendor's cache. The
// mark is not kept: it moves on with each turn.
func ExampleAgent_promptCaching() {
	mark := llm.Extra{"messages": {"cache_control": json.RawMessage(`{"type":"ephemeral"}`)}}
	a := agent.Agent{
		Model: says("Hello!"), System: "You are a long prompt.",
		BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
			last := p.Messages[len(p.Messages)-1].Parts
			if text, ok := last[len(last)-1].(llm.Text); ok {
				text.Extra = mark
				last[len(last)-1] = text
				fmt.Println("marked:", text.Text)
			}
			return nil
		},
	}
	done, err := a.Ask(context.Background(), llm.User("Hi!"))
	fmt.Println(done.Text, done.Messages[0].Parts[0].(llm.Text).Extra == nil, err)
	// Output:
	// marked: Hi!
	// Hello! true <nil>
}

// The run ends as soon as a tool has been called, or more than 1,000 tokens were read.
func ExampleAgent_stopConditions() {
	a := agent.Agent{
		Model: says(call("1", "weather", `{"city":"Rome"}`), "Never said."),
		Tools: &invoke.Runner{Tools: tool.MustSet(weatherTool())},
		AfterTurn: func(_ context.Context, e agent.TurnEnd) (string, error) {
			switch {
			case e.Usage.Input > 1000:
				return "it has read enough", nil
			case e.Messages[len(e.Messages)-1].Role == llm.RoleTool:
				return "the weather is known", nil
			}
			return "", nil
		},
	}
	done, err := a.Ask(context.Background(), llm.User("What is the weather in Rome?"))
	fmt.Println(done.Stopped, done.Status, done.Ran, err)
	// Output: the weather is known finished 1 <nil>
}

// TestATurnBringsTools: a hook may bring tools that the run did not begin with; they
// run, those of the Agent stay, and a tool of the same name is replaced.
func TestATurnBringsTools(t *testing.T) {
	said := func(name, text string) tool.Tool {
		return tool.Func(name, "Say something.", func(context.Context, struct{}) (string, error) { return text, nil })
	}
	script, err := sim.ParseScript([]byte("Tools come.\n-- 1 --\ncall old\n-- 2 --\ncall old\ncall new\ncall stays\n-- 3 --\ntext Done.\n"))
	if err != nil {
		t.Fatal(err)
	}
	a := &agent.Agent{Model: script, Store: new(journal.Memory), Tools: &invoke.Runner{Tools: tool.MustSet(said("old", "of the agent"), said("stays", "still here"))},
		BeforeTurn: func(_ context.Context, p *agent.TurnStart) error {
			if p.Turn > 1 {
				p.Set = tool.MustSet(said("old", "of the turn"), said("new", "brought along"))
				if !slices.ContainsFunc(p.Tools, func(d llm.ToolDef) bool { return d.Name == "new" }) {
					added, _ := p.Set.Lookup("new")
					p.Tools = append(p.Tools, added.Def())
				}
			}
			return nil
		}}
	done, err := a.Ask(t.Context(), llm.User("Go."))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range done.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				got = append(got, r.Text())
			}
		}
	}
	if want := []string{"of the agent", "of the turn", "brought along", "still here"}; !slices.Equal(got, want) {
		t.Errorf("the results are %q, want %q", got, want)
	}
}
