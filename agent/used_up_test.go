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
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

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
