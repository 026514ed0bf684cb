package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(crashDir); dir != "" {
		fmt.Fprintln(os.Stderr, crashing(dir))
		os.Exit(1)
	}
	leaks.VerifyTestMain(m)
}

// echo returns its argument.
func echo() tool.Tool {
	return tool.Tool{
		Name: "echo", Effects: tool.ReadOnly, Origin: tool.Program,
		Input: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"],"additionalProperties":false}`),
		Call: func(_ context.Context, args json.RawMessage) (tool.Output, error) {
			var in struct{ Text string }
			err := json.Unmarshal(args, &in)
			return tool.Text(in.Text), err
		},
	}
}

// doer makes a tool from a function without arguments.
func doer(name string, e tool.Effects, fn func(context.Context) (string, error)) tool.Tool {
	return tool.Tool{Name: name, Effects: e, Origin: tool.Program, Call: func(ctx context.Context, _ json.RawMessage) (tool.Output, error) {
		text, err := fn(ctx)
		return tool.Text(text), err
	}}
}

func session(t testing.TB, r *invoke.Runner) (*invoke.Session, *journal.Memory) {
	t.Helper()
	store := new(journal.Memory)
	return sessionOn(t, r, store), store
}

func sessionOn(t testing.TB, r *invoke.Runner, store journal.Store) *invoke.Session {
	t.Helper()
	rec, err := journal.Open(context.Background(), store, "run")
	if err != nil {
		t.Fatal(err)
	}
	s, err := r.Session(rec)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(id, name, args string) llm.Call {
	return llm.Call{ID: id, Name: name, Args: json.RawMessage(args)}
}

// outcomes runs calls and returns their outcomes.
func outcomes(t testing.TB, s *invoke.Session, calls ...llm.Call) []invoke.Outcome {
	t.Helper()
	var out []invoke.Outcome
	for ev, err := range s.Do(context.Background(), calls) {
		if err != nil {
			t.Fatal(err)
		}
		if o, ok := ev.(invoke.Outcome); ok {
			out = append(out, o)
		}
	}
	if len(out) != len(calls) {
		t.Fatalf("%d outcomes of %d calls", len(out), len(calls))
	}
	return out
}

// statuses returns what is on record, in order: "intent a", "receipt a ok".
func statuses(t testing.TB, store journal.Store) []string {
	t.Helper()
	var out []string
	for e, err := range store.Read(context.Background(), "run", 0) {
		if err != nil {
			t.Fatal(err)
		}
		var r struct{ Call, Status string }
		if err := e.Decode(&r); err != nil {
			t.Fatal(err)
		}
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Kind, r.Call, r.Status)))
	}
	return out
}

// The table of the architecture: which reading of a model's text is good enough
// for which tool.
func TestRepairPolicy(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	classes := []llm.RepairClass{llm.Syntax, llm.Coercion, llm.Completion, llm.Guess, llm.Truncation, llm.Truncation + 1}
	for _, c := range []struct {
		effects tool.Effects
		guesses bool
		runs    string // one letter per class
	}{
		{tool.ReadOnly, false, "yyyynn"},
		{tool.ReadOnly, true, "yyyynn"},
		{tool.Idempotent, false, "yyynnn"},
		{tool.Idempotent, true, "yyynnn"},
		{0, false, "yynnnn"},
		{0, true, "yynnnn"},
	} {
		got := ""
		for i, class := range classes {
			attacks++
			ran := "n"
			tl := doer("f", c.effects, func(context.Context) (string, error) { ran = "y"; return "", nil })
			s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(tl), RunGuesses: c.guesses})
			cl := call(fmt.Sprint(i), "f", `{}`)
			cl.Provenance.Repairs = []llm.Repair{{Rule: "some-rule", Class: class}}
			if class == llm.Truncation {
				cl.Provenance = llm.Provenance{Truncated: true}
			}
			o := outcomes(t, s, cl)[0]
			if ran == "n" && (o.Receipt.Status != journal.Refused || o.Error.Code != tool.Validation || !o.Result.Failed) {
				t.Errorf("%s %s: not run, but %s %v", c.effects, class, o.Receipt.Status, o.Error)
			}
			got += ran
		}
		if got != c.runs {
			t.Errorf("effects %q, guesses %v: runs %s, want %s for %v", c.effects, c.guesses, got, c.runs, classes)
		}
	}
}

func TestEveryCallHasAnID(t *testing.T) {
	s, store := session(t, &invoke.Runner{Tools: tool.MustSet(echo())})
	got := outcomes(t, s, call("", "echo", `{"text":"1"}`), call("call_2", "echo", `{"text":"2"}`), call("", "echo", `{"text":"3"}`),
		call("call_2", "echo", `{"text":"4"}`))
	var ids []string
	for _, o := range got {
		ids = append(ids, o.Result.CallID)
	}
	if diff := cmp.Diff([]string{"call_1", "call_2", "call_3", "call_2"}, ids); diff != "" {
		t.Error(diff)
	}
	if got[3].Error == nil || !strings.Contains(got[3].Result.Text(), "made before") {
		t.Errorf("an id was used twice, and that is fine: %v", got[3].Result)
	}
	want := []string{"receipt call_1 ok", "receipt call_2 ok", "receipt call_3 ok"}
	recorded := statuses(t, store)
	slices.Sort(recorded) // they ran side by side
	if diff := cmp.Diff(want, recorded); diff != "" {
		t.Error(diff)
	}
}

func TestIDsAreInjected(t *testing.T) {
	n := 0
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(echo()), NewID: func() string { n++; return fmt.Sprintf("id%d", n) }})
	if o := outcomes(t, s, call("", "echo", `{"text":"1"}`))[0]; o.Receipt.Call != "id1" {
		t.Errorf("id %s", o.Receipt.Call)
	}
}

func TestParallelIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		tl := doer("f", tool.ReadOnly, func(context.Context) (string, error) {
			most.Store(max(most.Load(), now.Add(1)))
			time.Sleep(time.Second)
			now.Add(-1)
			return "", nil
		})
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(tl), Parallel: 3, LoopLimit: -1})
		start := time.Now()
		outcomes(t, s, make([]llm.Call, 10)...) // names are empty: nothing runs
		var calls []llm.Call
		for range 10 {
			calls = append(calls, call("", "f", `{}`))
		}
		outcomes(t, s, calls...)
		if most.Load() != 3 || time.Since(start) != 4*time.Second {
			t.Errorf("%d at once, %s for 10 calls of 1 s", most.Load(), time.Since(start))
		}
	})
}

func TestStoppingEarlyCancelsAndRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := doer("wait", tool.ReadOnly, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		write := doer("write", 0, func(context.Context) (string, error) { t.Error("it ran"); return "", nil })
		s, store := session(t, &invoke.Runner{Tools: tool.MustSet(wait, write)})
		for ev, err := range s.Do(t.Context(), []llm.Call{call("a", "wait", ``), call("b", "wait", ``), call("c", "write", ``)}) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(invoke.Started); ok {
				break
			}
		}
		got := statuses(t, store)
		if len(got) != 3 || got[2] != "refusal c refused" {
			t.Errorf("on record: %q", got)
		}
	})
}

func TestCancellationIsNotTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := doer("wait", tool.ReadOnly, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(wait)})
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		results, err := s.Results(ctx, []llm.Call{call("a", "wait", ``), call("b", "wait", ``)})
		if err != nil || len(results) != 2 || !strings.Contains(results[0].Text(), "cancelled") {
			t.Errorf("%v %v", results, err)
		}
	})
}

func TestTimeoutIsNotCancellation(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		wait := doer("wait", 0, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(wait), Timeout: time.Minute})
		o := outcomes(t, s, call("a", "wait", ``))[0]
		if o.Error.Code != tool.Timeout || o.Next != tool.Escalate || o.Receipt.Attempts != 1 {
			t.Errorf("%v, next %s after %d attempts", o.Error, o.Next, o.Receipt.Attempts)
		}
	})
}

func TestToolCallsGoexit(t *testing.T) {
	quit := doer("quit", 0, func(context.Context) (string, error) { runtime.Goexit(); return "", nil })
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(quit)})
	if o := outcomes(t, s, call("a", "quit", ``))[0]; o.Error == nil || o.Error.Code != tool.Execution {
		t.Errorf("%v", o.Error)
	}
}

func TestFailureDoesNotAffectOtherCalls(t *testing.T) {
	bad := doer("bad", tool.ReadOnly, func(context.Context) (string, error) { return "", errors.New("broken") })
	good := doer("good", tool.ReadOnly, func(ctx context.Context) (string, error) {
		time.Sleep(10 * time.Millisecond)
		return "fine", ctx.Err()
	})
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(bad, good)})
	got := outcomes(t, s, call("a", "bad", ``), call("b", "good", ``))
	if got[0].Error == nil || got[1].Error != nil {
		t.Errorf("%v %v", got[0].Error, got[1].Error)
	}
}

// brokenStore fails to append entries of one kind.
type brokenStore struct {
	journal.Memory
	kind journal.Kind
}

func (b *brokenStore) Append(ctx context.Context, e journal.Entry) (journal.Entry, error) {
	if e.Kind == b.kind {
		return journal.Entry{}, errors.New("disk full")
	}
	return b.Memory.Append(ctx, e)
}

func TestUnrecordedCallDoesNotRun(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	ran := 0
	write := doer("write", 0, func(context.Context) (string, error) { ran++; return "", nil })
	r := &invoke.Runner{Tools: tool.MustSet(write)}
	for _, c := range []struct {
		kind journal.Kind
		runs int
	}{{journal.KindIntent, 0}, {journal.KindReceipt, 1}} {
		attacks++
		ran = 0
		s := sessionOn(t, r, &brokenStore{kind: c.kind})
		_, err := s.Results(t.Context(), []llm.Call{call("a", "write", ``), call("b", "write", ``)})
		if err == nil || !strings.Contains(err.Error(), "disk full") || ran != c.runs {
			t.Errorf("no %s can be written: %d calls ran, error %v", c.kind, ran, err)
		}
	}
}

func TestUnknownOutcomeIsNotRepeated(t *testing.T) {
	store := new(journal.Memory)
	before, err := journal.Open(t.Context(), store, "run")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := before.Intent(t.Context(), journal.Intent{Call: "a", Tool: "pay", Args: json.RawMessage(`{}`)}); err != nil {
		t.Fatal(err)
	}
	if err := before.Close(t.Context()); err != nil { // the crash
		t.Fatal(err)
	}
	ran := 0
	pay := doer("pay", 0, func(context.Context) (string, error) { ran++; return "paid", nil })
	s := sessionOn(t, &invoke.Runner{Tools: tool.MustSet(pay)}, store) // after the crash
	got := outcomes(t, s, call("a", "pay", `{}`), call("b", "pay", `{"n":2}`), call("c", "pay", `{}`))
	if got[0].Receipt.Status != journal.Unknown || !strings.Contains(got[0].Result.Text(), "unknown") || got[0].Next != tool.Abort {
		t.Errorf("%s %s", got[0].Receipt.Status, got[0].Result.Text())
	}
	if ran != 1 || got[1].Receipt.Status != journal.OK || got[2].Receipt.Status != journal.Refused {
		t.Errorf("ran %d times, the second %s, the same as the first %s", ran, got[1].Receipt.Status, got[2].Receipt.Status)
	}
	if diff := cmp.Diff([]string{"intent a", "refusal c refused", "receipt a unknown", "intent b", "receipt b ok"}, statuses(t, store)); diff != "" {
		t.Error(diff)
	}
}

func TestConcurrentDoRefused(t *testing.T) {
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(echo())})
	next, stop := iter.Pull2(s.Do(t.Context(), []llm.Call{call("a", "echo", `{"text":"x"}`)}))
	defer stop()
	next()
	if _, err := s.Results(t.Context(), nil); err == nil {
		t.Error("two at once")
	}
	if _, err := s.Refuse(t.Context(), llm.InvalidCall{}); err == nil {
		t.Error("two at once")
	}
}

func TestRefuse(t *testing.T) {
	s, store := session(t, &invoke.Runner{Tools: tool.MustSet(echo())})
	o, err := s.Refuse(t.Context(), llm.InvalidCall{ID: "a", Name: "ecko", Raw: `{"text": "x`, Reason: llm.CutOff,
		Problem: "The call was cut off.", Nearest: []string{"echo"}})
	if err != nil {
		t.Fatal(err)
	}
	if !o.Result.Failed || o.Result.CallID != "a" || !strings.Contains(o.Result.Text(), "cut off") || !strings.Contains(o.Result.Text(), "echo") {
		t.Errorf("%v", o.Result)
	}
	if diff := cmp.Diff([]string{"repair a", "refusal a refused"}, statuses(t, store)); diff != "" {
		t.Error(diff)
	}
	if _, err := journal.Verify(store.Read(t.Context(), "run", 0)); err != nil {
		t.Error(err)
	}
}

func TestInvalidSettings(t *testing.T) {
	for why, r := range map[string]*invoke.Runner{
		"a negative timeout":      {Timeout: -1},
		"too few characters":      {Output: invoke.ResultView{MaxChars: 999}},
		"a tail beyond the limit": {Output: invoke.ResultView{MaxChars: 1000, Tail: 1001}},
		"no such mode":            {Output: invoke.ResultView{Mode: 9}},
		"a negative budget":       {Budget: invoke.Budget{Calls: -1}},
		"negative waits":          {Backoff: invoke.Backoff{Max: -1}},
		"a negative breaker":      {Breaker: invoke.Breaker{Failures: -1}},
	} {
		if _, err := r.Session(nil); err == nil {
			t.Errorf("%s is accepted", why)
		}
	}
}

func TestWithoutARecorder(t *testing.T) {
	s, err := (&invoke.Runner{Tools: tool.MustSet(echo())}).Session(nil)
	if err != nil {
		t.Fatal(err)
	}
	if o := outcomes(t, s, call("", "echo", `{"text":"x"}`))[0]; o.Result.Text() != "x" || o.Receipt.OutputHash == "" {
		t.Errorf("%v", o)
	}
}

func TestNoTools(t *testing.T) {
	s, _ := session(t, new(invoke.Runner))
	if o := outcomes(t, s, call("a", "f", ``))[0]; o.Receipt.Status != journal.Refused || !strings.Contains(o.Result.Text(), "There are no tools") {
		t.Errorf("%v", o.Result)
	}
}

func TestManySessionsOfOneRunner(t *testing.T) {
	r := &invoke.Runner{Tools: tool.MustSet(echo())}
	var running sync.WaitGroup
	for i := range 8 {
		running.Go(func() {
			s, _ := session(t, r)
			for n := range 20 {
				results, err := s.Results(t.Context(), []llm.Call{call("", "echo", fmt.Sprintf(`{"text":"%d"}`, n)), call("", "echo", `{"text":"x"}`)})
				if err != nil || len(results) != 2 {
					t.Errorf("session %d: %v %v", i, results, err)
					return
				}
			}
		})
	}
	running.Wait()
}

// A Runner over other tools keeps every setting, also those that are added to
// it later.
func TestWithKeepsEverySetting(t *testing.T) {
	r := new(invoke.Runner)
	v := reflect.ValueOf(r).Elem()
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case !f.CanSet() || v.Type().Field(i).Name == "Tools":
		case f.Kind() == reflect.Func:
			f.Set(reflect.MakeFunc(f.Type(), func([]reflect.Value) []reflect.Value { return nil }))
		case f.Kind() == reflect.Bool:
			f.SetBool(true)
		case f.CanInt():
			f.SetInt(7)
		case f.Kind() == reflect.Pointer:
			f.Set(reflect.New(f.Type().Elem()))
		case f.Kind() == reflect.Struct:
			f.Field(f.NumField() - 1).Set(reflect.New(f.Field(f.NumField() - 1).Type()).Elem())
		}
	}
	r.Backoff.Initial, r.Breaker.Failures, r.Budget.Calls, r.Output.MaxChars = 1, 2, 3, 4000
	w := reflect.ValueOf(r.With(tool.MustSet())).Elem()
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; v.Field(i).CanSet() && name != "Tools" && (w.Field(i).IsZero() || v.Field(i).Comparable() && !v.Field(i).Equal(w.Field(i))) {
			t.Errorf("%s is lost", name)
		}
	}
}
