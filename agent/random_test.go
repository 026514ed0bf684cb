package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// palette is what a model may say.
func palette(r *rand.Rand, i int) line {
	text := func(s string) llm.Part { return llm.Text{Text: s} }
	id := fmt.Sprint("c", i, r.IntN(3))
	lines := []line{
		{parts: []llm.Part{text("Fine.")}},
		{parts: []llm.Part{text("")}},
		{parts: []llm.Part{llm.Thinking{Text: "Hm."}}},
		{parts: []llm.Part{text("Now."), call(id, "read", fmt.Sprintf(`{"n":%d}`, r.IntN(9)))}},
		{parts: []llm.Part{call("", "write", fmt.Sprintf(`{"n":%d}`, i)), call("", "read", `{}`)}},
		{parts: []llm.Part{call(id, "fail", `{}`)}},
		{parts: []llm.Part{call(id, "wriet", `{}`)}},
		{parts: []llm.Part{call(id, "write", `[1]`)}},
		{parts: []llm.Part{text(`{"tool":"read","input":{}}`)}},
		{parts: []llm.Part{text(`{"tool":"nobody","arguments":{}}`)}},
		{parts: []llm.Part{text(`{"answer":"x"}`)}},
		{parts: []llm.Part{text("half")}, err: failed(llm.Incomplete, "")},
		{parts: []llm.Part{call(id, "read", `{}`)}, err: failed(llm.Network, "")},
		{err: failed(llm.Kind(r.IntN(int(llm.Canceled))), "")},
		{finish: llm.Finish{Raw: "none"}},
		{invalid: []llm.InvalidCall{{ID: id, Name: "write", Raw: `{"n":`, Reason: llm.CutOff, Problem: "cut off"}}, finish: llm.Finish{Reason: llm.Length}},
		{invalid: []llm.InvalidCall{{ID: id, Name: "x", Raw: "<x>", Reason: llm.UnknownTool, Problem: "no tool", Provenance: llm.Provenance{Dialect: "hermes_json"}}}},
		{invalid: []llm.InvalidCall{{ID: id, Name: "write", Raw: `{"n":1}`, Reason: llm.NotAllowed, Problem: "not allowed"}}, parts: []llm.Part{call(id+"b", "read", `{}`)}},
	}
	return lines[r.IntN(len(lines))]
}

// anyAgent is an agent with some of the settings there are.
func anyAgent(r *rand.Rand, ran *int) (*agent.Agent, *actor) {
	m := &actor{chunk: r.IntN(4)}
	for i := range 40 {
		m.lines = append(m.lines, palette(r, i))
	}
	fail := tool.Func("fail", "Fails.", func(context.Context, struct{}) (string, error) {
		*ran++
		return "", errors.New([]string{"permission denied", "it exploded", "no such file"}[r.IntN(3)])
	})
	a := &agent.Agent{Model: m, ID: "m", Store: new(journal.Memory), MaxTurns: 1 + r.IntN(6), RetryBudget: r.IntN(5) - 1, NoLastTurn: r.IntN(4) == 0,
		Tools: &invoke.Runner{Tools: tool.MustSet(counted("read", ran, 0), counted("write", ran, 0), fail), Breaker: invoke.Breaker{Off: true}}}
	if r.IntN(3) == 0 {
		a.Ladder = &agent.Ladder{Stronger: m, StrongerID: "strong"}
	}
	if r.IntN(5) == 0 {
		a.Caller = []llm.ToolDef{def("theirs")}
	}
	if r.IntN(4) == 0 {
		a.Request.Choice.Mode = llm.MustCall
	}
	if r.IntN(4) == 0 {
		a.Request.Output = &llm.OutputFormat{Schema: []byte(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)}
	}
	if r.IntN(2) == 0 {
		left := 5 // nobody answers for ever
		a.Checkpoint = func(_ context.Context, c agent.Checkpoint) (agent.Choice, error) {
			if left--; left < 0 {
				return agent.Choice{Action: agent.Abort, By: "ada"}, nil
			}
			return agent.Choice{Action: c.Options[r.IntN(len(c.Options))], Text: "by hand", By: "ada"}, nil
		}
	}
	return a, m
}

// TestAnyModel: whatever a model says and however the agent is set, a run ends,
// within bounds, with a Done, with a conversation in which every call has its
// result, and with a record that verifies and goes the same way again.
func TestAnyModel(t *testing.T) {
	t.Parallel()
	for seed := range uint64(sample(150, 400)) {
		r := rand.New(rand.NewPCG(seed, 1))
		ran := 0
		a, m := anyAgent(r, &ran)
		l := run(t, a, "go")
		name := fmt.Sprintf("seed %d", seed)
		if len(l.events) == 0 || l.done.Run == "" {
			t.Fatalf("%s: no end, error %v", name, l.err)
		}
		if _, last := l.events[len(l.events)-1].(agent.Done); !last || len(of[agent.Done](l)) != 1 {
			t.Errorf("%s: the last event is %T", name, l.events[len(l.events)-1])
		}
		if (l.err != nil) != l.done.Partial {
			t.Errorf("%s: partial %v, error %v", name, l.done.Partial, l.err)
		}
		// Each of the turns, the last one and five more after checkpoints may use up the whole budget, three questions at a time.
		if most := (a.MaxTurns + 7) * 3 * 5; len(m.asked) > most {
			t.Errorf("%s: %d questions", name, len(m.asked))
		}
		msgs := l.done.Messages
		if last := len(msgs) - 1; len(a.Caller) > 0 && msgs[last].Role == llm.RoleAssistant && l.err == nil {
			msgs = msgs[:last] // the results are the caller's to give
		}
		valid(t, msgs)
		if ran != l.done.Ran {
			t.Errorf("%s: %d calls ran, Done says %d", name, ran, l.done.Ran)
		}
		verified(t, a.Store, l.done.Run)
		if err := agent.Replay(t.Context(), a.Store, l.done.Run); err != nil {
			t.Errorf("%s: the replay differs: %v", name, err)
		}
		if t.Failed() {
			t.Fatal(name) // one is enough to look at
		}
	}
}

// TestAnyModelInterrupted: the same runs, stopped somewhere and resumed, up to
// three times if they fail.
func TestAnyModelInterrupted(t *testing.T) {
	t.Parallel()
	for seed := range uint64(sample(100, 301)) {
		if seed == 300 {
			seed = 1309 // an id that was given to a call run again at a checkpoint must not be given again
		}
		r := rand.New(rand.NewPCG(seed, 7))
		ran := 0
		a, _ := anyAgent(r, &ran)
		name := ""
		a.NewRun = func() string { name = journal.NewRun(); return name }
		ctx, cancel := context.WithCancel(t.Context())
		at, n, leave := 1+r.IntN(30), 0, r.IntN(2) == 0
		for range a.Run(ctx, llm.User("go")) {
			if n++; n != at {
				continue
			}
			if leave {
				break
			}
			cancel()
		}
		cancel()
		var l *log
		for range 3 {
			if l = listen(a.Resume(t.Context(), name)); l.err == nil {
				break
			}
		}
		if errors.Is(l.err, journal.ErrSealed) { // it had ended before it was stopped
			continue
		}
		msgs := l.done.Messages
		if last := len(msgs) - 1; last >= 0 && len(a.Caller) > 0 && msgs[last].Role == llm.RoleAssistant && l.err == nil {
			msgs = msgs[:last]
		}
		valid(t, msgs)
		verified(t, a.Store, name)
		if err := agent.Replay(t.Context(), a.Store, name); err != nil {
			t.Errorf("the replay differs: %v", err)
		}
		if t.Failed() {
			t.Fatalf("seed %d, stopped at event %d", seed, at)
		}
	}
}
