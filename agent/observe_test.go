package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/observe"
	"github.com/toolpost/toolpost/observe/slogobserve"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// witness notes what is observed: each step with those that it is inside of.
type witness struct {
	mu    sync.Mutex
	open  int
	over  []string
	calls []observe.ToolCall
	asked []*observe.ModelCall
	runs  []observe.Run
}

type witnessKey struct{}

func title(s observe.Step) string {
	switch s := s.(type) {
	case *observe.Run:
		return "run " + s.ID
	case *observe.Turn:
		return fmt.Sprintf("turn %d", s.N)
	case *observe.ModelCall:
		return "ask " + s.Model
	case *observe.ToolCall:
		return "call " + s.ID
	}
	return "?"
}

func (w *witness) Begin(ctx context.Context, s observe.Step) context.Context {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open++
	path := title(s)
	if outer, ok := ctx.Value(witnessKey{}).(string); ok {
		path = outer + " > " + path
	}
	return context.WithValue(ctx, witnessKey{}, path)
}

func (w *witness) End(ctx context.Context, s observe.Step) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.open--
	path, _ := ctx.Value(witnessKey{}).(string)
	if !strings.HasSuffix(path, title(s)) {
		path = "WRONG CONTEXT " + path + " of " + title(s)
	}
	w.over = append(w.over, path)
	switch s := s.(type) {
	case *observe.Run:
		w.runs = append(w.runs, *s)
	case *observe.ModelCall:
		w.asked = append(w.asked, s)
	case *observe.ToolCall:
		w.calls = append(w.calls, *s)
	}
}

// quiet waits until everything that was begun is over.
func (w *witness) quiet(t *testing.T) {
	t.Helper()
	for range 3000 {
		w.mu.Lock()
		open := w.open
		w.mu.Unlock()
		if open == 0 {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("something is never over")
}

// same fails unless the steps that were observed are these, in any order.
func (w *witness) same(t *testing.T, want ...string) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	got := slices.Sorted(slices.Values(w.over))
	slices.Sort(want)
	if w.open != 0 || !slices.Equal(got, want) {
		t.Errorf("%d are open; over are\n%s\nnot\n%s", w.open, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestObserved: every run, turn, question and call is observed once, inside of what
// it belongs to, with the ids of the record; runs inside calls, too.
func TestObserved(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	w := new(witness)
	a := team(store, helper(`{}`, counted("dig", &n, 0)), call("a", "helper", `{"task":"dig"}`))
	a.Observer, a.ID = w, "m"
	if l := run(t, a, "go"); l.err != nil {
		t.Fatal(l.err)
	}
	w.same(t, "run r", "run r > turn 1", "run r > turn 1 > ask m", "run r > turn 2", "run r > turn 2 > ask m", "run r > turn 1 > call a",
		"run r > turn 1 > call a > run r.a", "run r > turn 1 > call a > run r.a > turn 1", "run r > turn 1 > call a > run r.a > turn 1 > ask ",
		"run r > turn 1 > call a > run r.a > turn 1 > call 1", "run r > turn 1 > call a > run r.a > turn 2", "run r > turn 1 > call a > run r.a > turn 2 > ask ")
	hashes := make(map[string]string)
	for _, id := range []string{"r", "r.a"} {
		for _, e := range verified(t, store, id) {
			hashes[string(e.Hash)] = string(e.Kind)
		}
	}
	for _, c := range w.calls {
		if hashes[c.Receipt] != string(journal.KindReceipt) || c.Status != "ok" || !c.Allowed || c.By != "policy" || c.Attempts != 1 || c.OutputHash == "" {
			t.Errorf("%+v", c)
		}
	}
	for _, m := range w.asked {
		if hashes[m.Asked] != string(journal.KindRequest) || hashes[m.Recorded] != string(journal.KindAnswer) || m.Usage.Input != 10 || m.Err != nil {
			t.Errorf("%+v", m)
		}
	}
	if len(w.runs) != 2 || w.runs[0].Parent != "r" || w.runs[0].Status != "finished" || w.runs[1].Usage.Input != 40 || w.runs[1].Turns != 2 || w.runs[1].Calls != 1 {
		t.Errorf("%+v", w.runs)
	}
}

// TestObservedInAReplay: a replay does nothing, so nothing is observed.
func TestObservedInAReplay(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	a := agent.Agent{Model: says(call("1", "dig", `{}`), "Done."), Store: store, Tools: runner(counted("dig", &n, 0)), NewRun: func() string { return "r" }}
	if l := run(t, &a, "go"); l.err != nil {
		t.Fatal(l.err)
	}
	w := new(witness)
	if err := agent.Replay(observe.With(t.Context(), w), store, "r"); err != nil {
		t.Fatal(err)
	}
	w.same(t)
}

// TestObservedFailures: what is refused, waits, fails or is broken off is observed
// to its end, with the reason.
func TestObservedFailures(t *testing.T) {
	n := 0
	for _, c := range []struct {
		name   string
		set    func(*agent.Agent)
		status string // of the call
		run    agent.Status
		failed bool
	}{
		{"refused", func(a *agent.Agent) {
			a.Tools.Policy = func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
				return invoke.Decision{Verdict: invoke.Refuse, Reason: "no"}, nil
			}
		}, "refused", agent.StatusFinished, true},
		{"waiting", func(a *agent.Agent) {
			a.Tools.Policy = func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
				return invoke.Decision{Verdict: invoke.Ask}, nil
			}
			a.Tools.Approve = func(context.Context, invoke.Question) (journal.Approval, error) {
				return journal.Approval{}, new(invoke.PendingError)
			}
		}, "waiting", agent.StatusPending, false},
		{"failed", func(a *agent.Agent) {
			bad := counted("dig", &n, 0)
			bad.Call = func(context.Context, json.RawMessage) (tool.Output, error) {
				return tool.Output{}, errors.New("no spade")
			}
			a.Tools.Tools = tool.MustSet(bad)
		}, "failed", agent.StatusFinished, true},
	} {
		w := new(witness)
		a := agent.Agent{Model: says(call("1", "dig", `{}`), "Done."), Store: new(journal.Memory), Tools: runner(counted("dig", &n, 0)), NewRun: func() string { return "r" }, Observer: w}
		c.set(&a)
		l := run(t, &a, "go")
		if l.err != nil || len(w.calls) != 1 || w.calls[0].Status != c.status || (w.calls[0].Err != nil) != c.failed || w.open != 0 || w.runs[0].Status != string(c.run) || w.runs[0].Err != nil {
			t.Errorf("%s: %v, %d open, %+v, %+v", c.name, l.err, w.open, w.calls, w.runs)
		}
	}
	w := new(witness)
	a := agent.Agent{Model: says(failed(llm.Auth, "")), Observer: w, NewRun: func() string { return "r" }, ID: "m"}
	if l := run(t, &a, "go"); l.err == nil {
		t.Fatal("no error")
	}
	w.same(t, "run r", "run r > turn 1", "run r > turn 1 > ask m")
	if llm.KindOf(w.asked[0].Err) != llm.Auth || llm.KindOf(w.runs[0].Err) != llm.Auth {
		t.Errorf("%v, %v", w.asked[0].Err, w.runs[0].Err)
	}
	w = new(witness)
	a.Observer, a.Model = w, says("Something long.")
	for ev := range a.Run(t.Context(), llm.User("go")) { // nobody listens any more
		if _, ok := ev.(llm.TextDelta); ok {
			break
		}
	}
	w.same(t, "run r", "run r > turn 1", "run r > turn 1 > ask m")
	if !errors.Is(w.asked[0].Err, context.Canceled) || w.runs[0].Status != string(agent.StatusInterrupted) {
		t.Errorf("%v, %+v", w.asked[0].Err, w.runs[0])
	}
}

// TestObservedSideBySide: calls that run side by side, and a model that asks others
// side by side, are observed each on its own.
func TestObservedSideBySide(t *testing.T) {
	w := new(witness)
	var calls []llm.Part
	for i := range 20 {
		calls = append(calls, call(fmt.Sprint("c", i), "look", fmt.Sprintf(`{"city":"%d"}`, i)))
	}
	look := tool.Func("look", "Looks.", func(ctx context.Context, p place) (string, error) {
		if path, _ := ctx.Value(witnessKey{}).(string); !strings.HasSuffix(path, "call "+tool.InfoOf(ctx).Call) {
			return "", fmt.Errorf("the context is that of %s", path)
		}
		return p.City, nil
	})
	look.Effects = tool.ReadOnly
	many := &refine.Best{Model: observing.Model(byTurn{says(calls, "Done.").lines}, "one"), Attempts: 3, Together: true, Score: func(*llm.Response) float64 { return 1 }}
	a := agent.Agent{Model: many, ID: "best", Tools: runner(look), Observer: w, NewRun: func() string { return "r" }}
	if l := run(t, &a, "go"); l.err != nil || l.done.Ran != 20 {
		t.Fatal(l.err, l.done.Ran)
	}
	w.quiet(t)
	if len(w.calls) != 20 {
		t.Errorf("%d calls", len(w.calls))
	}
	for _, c := range w.calls {
		if c.Err != nil || c.Run != "r" || c.Turn != 1 {
			t.Errorf("%+v", c)
		}
	}
	inside := 0
	for _, path := range w.over {
		if strings.Contains(path, "ask best > ask one") {
			inside++
		}
	}
	if inside < 2 {
		t.Errorf("%d questions inside, of at least one in each of 2 turns:\n%s", inside, strings.Join(w.over, "\n"))
	}
}

func ExampleAgent_observer() {
	logger := slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if slices.Contains([]string{"time", "took", "receipt", "entry", "input_tokens", "output_tokens"}, a.Key) { // another each time
			return slog.Attr{}
		}
		return a
	}}))
	a := agent.Agent{
		Model: sim.Offline{}, ID: "sim/offline", Store: new(journal.Memory), Tools: &invoke.Runner{Tools: tool.MustSet(weatherTool())},
		NewRun: func() string { return "r1" }, Observer: slogobserve.New(logger),
	}
	if _, err := a.Ask(context.Background(), llm.User("What is the weather in Rome?")); err != nil {
		fmt.Println(err)
	}
	// Output:
	// level=INFO msg="model call" run=r1 model=sim/offline turn=1 answered=sim/offline finish=tool_calls
	// level=INFO msg="tool call" run=r1 tool=weather call=call_1 turn=1 status=ok by=policy attempts=1 allowed=true
	// level=INFO msg="model call" run=r1 model=sim/offline turn=2 answered=sim/offline finish=stop
	// level=INFO msg=run run=r1 model=sim/offline status=finished turns=2 calls=1
}

// clumsy is an observer that panics at one kind of step, or returns no context.
type clumsy struct {
	begin, end func(observe.Step) bool
	begun      atomic.Int64
	ended      atomic.Int64
}

func (c *clumsy) Begin(ctx context.Context, s observe.Step) context.Context {
	c.begun.Add(1)
	if c.begin(s) {
		panic("begin")
	}
	if _, ok := s.(*observe.Turn); ok {
		return nil
	}
	return ctx
}

func (c *clumsy) End(_ context.Context, s observe.Step) {
	c.ended.Add(1)
	if c.end(s) {
		panic("end")
	}
}

// TestObserverPanics: an observer that panics changes nothing of a run, also in calls that
// run beside others, where nobody of the program could recover.
func TestObserverPanics(t *testing.T) {
	never := func(observe.Step) bool { return false }
	always := func(observe.Step) bool { return true }
	kind := func(want observe.Step) func(observe.Step) bool {
		return func(s observe.Step) bool { return fmt.Sprintf("%T", s) == fmt.Sprintf("%T", want) }
	}
	for name, c := range map[string]struct {
		begin, end   func(observe.Step) bool
		begun, ended int64
	}{
		"never":                   {never, never, 9, 9}, // a run, two turns with a question each, four calls
		"at the beginning":        {always, always, 1, 0},
		"at every end":            {never, always, 9, 9},
		"at each turn":            {kind(new(observe.Turn)), never, 3, 1},
		"at each question":        {kind(new(observe.ModelCall)), never, 9, 7},
		"at each call":            {kind(new(observe.ToolCall)), never, 9, 5},
		"at the end of each call": {never, kind(new(observe.ToolCall)), 9, 9},
	} {
		n := 0
		o := &clumsy{begin: c.begin, end: c.end}
		calls := []llm.Part{call("1", "look", `{"a":1}`), call("2", "look", `{"a":2}`), call("3", "look", `{"a":3}`), call("4", "look", `{"a":4}`)}
		a := agent.Agent{Model: says(calls, "The end."), ID: "m", Observer: o, Tools: runner(counted("look", &n, tool.ReadOnly)), Store: new(journal.Memory), NewRun: func() string { return "r" }}
		l := run(t, &a, "go")
		if l.err != nil || l.done.Text != "The end." || l.done.Ran != 4 {
			t.Errorf("%s: %v, %q after %d calls", name, l.err, l.done.Text, l.done.Ran)
		}
		if o.begun.Load() != c.begun || o.ended.Load() != c.ended {
			t.Errorf("%s: %d began and %d ended, not %d and %d", name, o.begun.Load(), o.ended.Load(), c.begun, c.ended)
		}
		if err := agent.Replay(t.Context(), a.Store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
