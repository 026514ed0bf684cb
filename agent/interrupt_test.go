package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// job is a conversation with everything in it: text, a reading and a changing
// call, one that is not valid, and an answer.
func job(wrote *int) *agent.Agent {
	var read int
	return &agent.Agent{
		Model: says([]llm.Part{llm.Text{Text: "Let me see."}, call("1", "read", `{}`), call("2", "write", `{"n":1}`)},
			[]llm.Part{call("3", "wriet", `{}`), call("4", "write", `{"n":2}`)}, "All is done."),
		Tools: runner(counted("read", &read, tool.ReadOnly), counted("write", wrote, 0)),
		Store: new(journal.Memory),
	}
}

// byTurn is a model whose answer depends on the conversation, like that of a
// real one, so that a question can be asked again.
type byTurn struct{ lines []line }

func (m byTurn) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	said := 0
	for _, msg := range req.Messages {
		if msg.Role == llm.RoleAssistant {
			said++
		}
	}
	return (&actor{lines: m.lines[min(said, len(m.lines)-1):], chunk: 3}).Stream(ctx, req)
}

// TestInterruptedAnywhereAndResumed stops a run at every event, by cancelling or
// by not listening any more, and resumes it: the end is the same, no change is
// made twice, and the record verifies.
func TestInterruptedAnywhereAndResumed(t *testing.T) {
	t.Parallel()
	const stopAtMost = 200
	for _, how := range []string{"cancel", "break"} {
		for at := 1; at < stopAtMost; at++ {
			wrote := 0
			a := job(&wrote)
			a.Model = byTurn{a.Model.(*actor).lines}
			run, stopped := interrupt(t, a, how, at)
			if !stopped {
				if at < 20 {
					t.Fatalf("only %d events", at)
				}
				break
			}
			l := listen(a.Resume(t.Context(), run))
			if l.err != nil || l.done.Text != "All is done." || l.done.Partial {
				t.Fatalf("%s at event %d: resumed to %q, error %v", how, at, l.done.Text, l.err)
			}
			valid(t, l.done.Messages)
			if r := receipts(t, a.Store, run); wrote != r["write"] || wrote < 1 {
				t.Errorf("%s at event %d: write ran %d times, %d receipts of runs", how, at, wrote, r["write"])
			}
			verified(t, a.Store, run)
			if err := agent.Replay(t.Context(), a.Store, run); err != nil {
				t.Errorf("%s at event %d: the replay differs: %v", how, at, err)
			}
		}
	}
}

// interrupt runs a and stops it at the event of that number.
func interrupt(t *testing.T, a *agent.Agent, how string, at int) (run string, stopped bool) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	a.NewRun = func() string { run = journal.NewRun(); return run }
	n := 0
	var done agent.Done
	for ev, err := range a.Run(ctx, llm.User("go")) {
		if d, ok := ev.(agent.Done); ok {
			done = d
			if stopped && (!d.Partial || !d.Open) {
				t.Errorf("stopped at event %d: partial=%v open=%v", at, d.Partial, d.Open)
			}
		}
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("stopped at event %d: %v", at, err)
		}
		if n++; n == at && done.Run == "" {
			stopped = true
			if how == "break" {
				break
			}
			cancel()
		}
	}
	if how == "cancel" && stopped {
		valid(t, done.Messages)
	}
	return run, stopped
}

// receipts counts the calls that ran, by tool.
func receipts(t *testing.T, store journal.Store, run string) map[string]int {
	n := make(map[string]int)
	for _, e := range verified(t, store, run) {
		if e.Kind != journal.KindReceipt {
			continue
		}
		var r journal.Receipt
		if err := e.Decode(&r); err != nil {
			t.Fatal(err)
		}
		if r.Status == journal.OK {
			n[r.Tool]++
		}
	}
	return n
}

// torn is a store that dies after so many entries.
type torn struct {
	journal.Memory
	left int
}

func (s *torn) Append(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	if s.left--; s.left < 0 {
		return journal.Entry{}, errors.New("the machine is gone")
	}
	return s.Memory.Append(ctx, e)
}

// TestCrashedAnywhereAndResumed has the machine die after every entry of the
// record. What was begun and has no receipt is reported as unknown and never run
// again; what has one is not run again either.
func TestCrashedAnywhereAndResumed(t *testing.T) {
	t.Parallel()
	for left := 2; ; left++ {
		wrote := 0
		a := job(&wrote)
		a.Model = byTurn{a.Model.(*actor).lines}
		store := &torn{left: left}
		a.Store = store
		a.NewRun = func() string { return "r" }
		if l := run(t, a, "go"); l.err == nil {
			if left < 12 {
				t.Fatalf("only %d entries", left)
			}
			return
		}
		before := wrote
		store.left = 1 << 30
		l := listen(a.Resume(t.Context(), "r"))
		if errors.Is(l.err, journal.ErrSealed) {
			continue // only the seal's answer was lost
		}
		if l.err != nil || l.done.Text != "All is done." {
			t.Fatalf("after %d entries: %q, error %v", left, l.done.Text, l.err)
		}
		valid(t, l.done.Messages)
		if said := conversation(l.done.Messages); strings.Count(said, "Let me see.") != 1 {
			t.Errorf("after %d entries: a text of the model is lost, or there twice:\n%s", left, said)
		}
		if wrote > 2 {
			t.Errorf("after %d entries: write ran %d times, %d of them before the crash", left, wrote, before)
		}
		unknown := 0
		for _, o := range of[invoke.Outcome](l) {
			if o.Receipt.Status == journal.Unknown {
				unknown++
				if !strings.Contains(o.Result.Text(), "unknown") {
					t.Errorf("the model was told %q", o.Result.Text())
				}
			}
		}
		if r := receipts(t, store, "r"); wrote != r["write"]+unknown && wrote != r["write"] {
			t.Errorf("after %d entries: write ran %d times, %d receipts, %d unknown", left, wrote, r["write"], unknown)
		}
	}
}

func TestResumeRefuses(t *testing.T) {
	a := &agent.Agent{Model: says("hi"), Store: new(journal.Memory)}
	if l := listen(a.Resume(t.Context(), "nothing")); l.err == nil {
		t.Error("a run that is not there was resumed")
	}
	done, err := a.Ask(t.Context(), llm.User("go"))
	if err != nil {
		t.Fatal(err)
	}
	if l := listen(a.Resume(t.Context(), done.Run, llm.User("more"))); !errors.Is(l.err, journal.ErrSealed) {
		t.Errorf("a run that ended was resumed with a message: %v", l.err)
	}
	b := &agent.Agent{Model: says("hi")}
	if l := listen(b.Resume(t.Context(), done.Run)); l.err == nil {
		t.Error("a run was resumed without a store")
	}
}

// TestPartialStructuredAnswer: an interruption in the middle of a structured
// answer leaves the best there is, marked as partial.
func TestPartialStructuredAnswer(t *testing.T) {
	m := says(`{"title":"A very long title of something","items":["one","two","three"]}`)
	m.chunk = 4
	a := &agent.Agent{Model: m, Store: new(journal.Memory), Request: llm.Request{Output: &llm.OutputFormat{Schema: json.RawMessage(
		`{"type":"object","properties":{"title":{"type":"string"},"items":{"type":"array","items":{"type":"string"}}},"required":["title","items"]}`)}}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var done agent.Done
	for ev := range a.Run(ctx, llm.User("go")) {
		if _, ok := ev.(refine.Partial); ok {
			if n++; n == 3 {
				cancel()
			}
		}
		if d, ok := ev.(agent.Done); ok {
			done = d
		}
	}
	var v struct{ Title string }
	if err := json.Unmarshal(done.Value, &v); err != nil || !done.Partial || !done.Open || done.Finish.Raw != "interrupted" || !strings.HasPrefix("A very long title of something", v.Title) || v.Title == "" {
		t.Errorf("value %s, partial %v, error %v", done.Value, done.Partial, err)
	}
	l := listen(a.Resume(t.Context(), done.Run))
	if l.err != nil || l.done.Partial || string(l.done.Value) != `{"title":"A very long title of something","items":["one","two","three"]}` {
		t.Errorf("resumed to %s, error %v", l.done.Value, l.err)
	}
}

func ExampleAgent_Resume() {
	store := new(journal.Memory)
	a := agent.Agent{Model: says(call("1", "look", `{}`), "It is there."), Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(
		tool.Func("look", "Looks.", func(context.Context, struct{}) (string, error) { return "something", nil }))}}
	var run string
	a.NewRun = func() string { run = journal.NewRun(); return run }
	for ev := range a.Run(context.Background(), llm.User("What is there?")) {
		if _, ok := ev.(invoke.Outcome); ok {
			break // the process is stopped here
		}
	}
	for ev := range a.Resume(context.Background(), run) {
		if d, ok := ev.(agent.Done); ok {
			fmt.Println(d.Text, d.Ran)
		}
	}
	// Output: It is there. 1
}

// TestInterruptedAtACheckpoint: whoever was being asked is asked again.
func TestInterruptedAtACheckpoint(t *testing.T) {
	tl := tool.Func("open", "Opens.", func(context.Context, struct{}) (string, error) { return "", errors.New("permission denied") })
	away := errors.New("nobody is there")
	a := &agent.Agent{Model: says(call("1", "open", `{}`), "fine"), Tools: runner(tl), Store: new(journal.Memory),
		Checkpoint: func(context.Context, agent.Checkpoint) (agent.Choice, error) { return agent.Choice{}, away }}
	l := run(t, a, "go")
	if !errors.Is(l.err, away) || !l.done.Open {
		t.Fatalf("open %v, error %v", l.done.Open, l.err)
	}
	valid(t, l.done.Messages)
	a.Checkpoint = func(_ context.Context, c agent.Checkpoint) (agent.Choice, error) {
		return agent.Choice{Action: agent.Manual, Text: "it is open", By: "ada"}, nil
	}
	r := listen(a.Resume(t.Context(), l.done.Run))
	if r.err != nil || len(of[agent.Checkpoint](r)) != 1 || r.done.Text != "fine" || r.done.Ran != 1 {
		t.Errorf("checkpoints %v, done %+v, error %v", of[agent.Checkpoint](r), r.done, r.err)
	}
	if asked := a.Model.(*actor).asked[1].Messages; !strings.Contains(asked[len(asked)-1].Parts[0].(llm.Result).Text(), "it is open") {
		t.Errorf("the model saw %v", asked[len(asked)-1])
	}
	if err := agent.Replay(t.Context(), a.Store, l.done.Run); err != nil {
		t.Error(err)
	}
}
