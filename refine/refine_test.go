package refine_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// actor is a model that says one thing after the other and remembers what it
// was asked. A line is text, a call "name {…}" after "call ", or an error.
type actor struct {
	says []any // string, []llm.Part or error; the last one for ever

	mu    sync.Mutex
	asked []*llm.Request
}

func (a *actor) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	a.mu.Lock()
	n := len(a.asked)
	a.asked = append(a.asked, req.Clone())
	a.mu.Unlock()
	return func(yield func(llm.Event, error) bool) {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		resp := llm.Response{Finish: llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Input: 10, Output: 1}}}
		var failed error
		switch v := a.says[min(n, len(a.says)-1)].(type) {
		case string:
			resp.Message = llm.Assistant(llm.Text{Text: v})
		case []llm.Part:
			resp.Message = llm.Assistant(v...)
		case error:
			failed = v
		}
		for _, ev := range chopped(resp.Events()) {
			if _, end := ev.(llm.Finish); end && failed != nil {
				yield(nil, failed)
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// chopped cuts text into pieces of seven bytes.
func chopped(events []llm.Event) []llm.Event {
	var out []llm.Event
	for _, ev := range events {
		d, ok := ev.(llm.TextDelta)
		if !ok {
			out = append(out, ev)
			continue
		}
		for len(d.Text) > 7 {
			out = append(out, llm.TextDelta{Text: d.Text[:7]})
			d.Text = d.Text[7:]
		}
		out = append(out, d)
	}
	return out
}

func call(name, args string) llm.Call {
	return llm.Call{ID: "c1", Name: name, Args: json.RawMessage(args)}
}

func broken(kind llm.Kind) error {
	return &llm.Error{Op: "test", Kind: kind, Err: errors.New("it broke")}
}

func ask() *llm.Request { return &llm.Request{Messages: []llm.Message{llm.User("go")}} }

func TestRetryAsksAgainWhatNobodyElseDoes(t *testing.T) {
	for kind := llm.Unknown; kind <= llm.Stalled; kind++ {
		m := &actor{says: []any{broken(kind), "fine"}}
		resp, err := llm.Generate(t.Context(), refine.Retry(m, 3), ask())
		again := kind == llm.Incomplete || kind == llm.Malformed || kind == llm.BrokenPromise
		if again != (err == nil) || again != (len(m.asked) == 2) {
			t.Errorf("%s: asked %d times, error %v", kind, len(m.asked), err)
		}
		if again && resp.Message.Text() != "fine" {
			t.Errorf("%s: a broken answer left a trace: %q", kind, resp.Message.Text())
		}
	}
}

func TestAttemptsAddUpAndNeverMultiply(t *testing.T) {
	m := &actor{says: []any{broken(llm.Incomplete)}}
	stacked := refine.Retry(refine.Retry(refine.Structured(refine.Retry(m, 4), 3), 4), 4)
	req := ask()
	req.RetryBudget = llm.NewRetryBudget(5)
	if _, err := llm.Generate(t.Context(), stacked, req); llm.KindOf(err) != llm.Incomplete {
		t.Fatal(err)
	}
	if len(m.asked) != 6 || req.RetryBudget.Left() != 0 {
		t.Errorf("asked %d times with a budget of 5, left %d", len(m.asked), req.RetryBudget.Left())
	}
	// Without a budget the outermost brings one.
	m.asked = nil
	if _, err := llm.Generate(t.Context(), stacked, ask()); err == nil || len(m.asked) != 4 {
		t.Errorf("asked %d times, error %v", len(m.asked), err)
	}
}

func TestRetryTellsWhichPromiseWasBroken(t *testing.T) {
	m := &actor{says: []any{broken(llm.BrokenPromise), "fine"}}
	if _, err := llm.Generate(t.Context(), refine.Retry(m, 2), ask()); err != nil {
		t.Fatal(err)
	}
	last := m.asked[1].Messages
	if got := last[len(last)-1].Text(); !strings.Contains(got, "it broke") {
		t.Errorf("the model was told %q", got)
	}
}

func TestFallback(t *testing.T) {
	bad, good := &actor{says: []any{broken(llm.Auth)}}, &actor{says: []any{"fine"}}
	resp, err := llm.Generate(t.Context(), refine.Fallback(bad, good), ask())
	if err != nil || resp.Message.Text() != "fine" || len(resp.Warnings) != 1 {
		t.Errorf("got %v %v", resp, err)
	}
	for _, kind := range []llm.Kind{llm.Invalid, llm.Canceled} { // the next model cannot help
		good.asked = nil
		_, err := llm.Generate(t.Context(), refine.Fallback(&actor{says: []any{broken(kind)}}, good), ask())
		if llm.KindOf(err) != kind || len(good.asked) != 0 {
			t.Errorf("%s: error %v, the next was asked %d times", kind, err, len(good.asked))
		}
	}
	half := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if yield(llm.TextDelta{Text: "half"}, nil) {
				yield(nil, broken(llm.Incomplete))
			}
		}
	})
	if resp, err := llm.Generate(t.Context(), refine.Fallback(half, good), ask()); err == nil || resp.Message.Text() != "half" {
		t.Errorf("an answer that had begun was mixed with another: %v %v", resp.Message, err)
	}
	if resp, err := llm.Generate(t.Context(), refine.Fallback(refine.Whole(half), &actor{says: []any{"fine"}}), ask()); err != nil || resp.Message.Text() != "fine" {
		t.Errorf("half an answer left a trace: %v %v", resp.Message, err)
	}
}

func TestBreaker(t *testing.T) {
	now := time.Unix(0, 0)
	m := &actor{says: []any{broken(llm.Server)}}
	b := &refine.Breaker{Model: m, Failures: 2, Cooldown: time.Minute, Now: func() time.Time { return now }}
	get := func() error { _, err := llm.Generate(t.Context(), b, ask()); return err }
	for range 4 {
		if get() == nil {
			t.Fatal("a failing model answered")
		}
	}
	if len(m.asked) != 2 {
		t.Errorf("asked %d times, want 2", len(m.asked))
	}
	var e *llm.Error
	if err := get(); !errors.As(err, &e) || e.Kind != llm.Overloaded || e.RetryAfter != time.Minute {
		t.Errorf("got %v", err)
	}
	now = now.Add(time.Minute)
	m.says = []any{"fine"}
	if err := get(); err != nil {
		t.Error(err)
	}
	m.says = []any{broken(llm.Invalid)} // says nothing about the vendor
	for range 5 {
		if err := get(); llm.KindOf(err) != llm.Invalid {
			t.Error(err)
		}
	}
}

// A question that the caller gave up says nothing about the model: the trial is
// still to be made.
func TestBreakerLearnsNothingFromCancelledQuestions(t *testing.T) {
	now := time.Unix(0, 0)
	m := &actor{says: []any{broken(llm.Server), "fine", broken(llm.Server), "fine"}}
	b := &refine.Breaker{Model: m, Failures: 1, Cooldown: time.Minute, Now: func() time.Time { return now }}
	llm.Generate(t.Context(), b, ask())
	now = now.Add(time.Minute)
	for range b.Stream(t.Context(), ask()) {
		break
	}
	if _, err := llm.Generate(t.Context(), b, ask()); llm.KindOf(err) != llm.Server {
		t.Errorf("the next question was not the trial: %v", err)
	}
	if _, err := llm.Generate(t.Context(), b, ask()); llm.KindOf(err) != llm.Overloaded {
		t.Errorf("got %v", err)
	}
}

func TestRefinement(t *testing.T) {
	length := func(r *llm.Response) float64 { return float64(len(r.Message.Text())) / 10 }
	for _, c := range []struct {
		name  string
		best  refine.Best
		says  []any
		want  string
		asked int
	}{
		{"no reward: the first success", refine.Best{}, []any{broken(llm.Server), "a", "b"}, "a", 2},
		{"3 is the total", refine.Best{}, []any{broken(llm.Server)}, "", 3},
		{"the first at the threshold wins", refine.Best{Score: length}, []any{"aa", "aaaaa", "aaaaaaaa"}, "aaaaa", 2},
		{"best of n asks all", refine.Best{Score: length, All: true}, []any{"aa", "aaaaa", "aaaa"}, "aaaaa", 3},
		{"best of n takes any", refine.Best{Score: length, All: true}, []any{"", "a", ""}, "a", 3},
		{"half the threshold is enough in the end", refine.Best{Score: length}, []any{"a", "aaa", "a"}, "aaa", 3},
		{"less is not", refine.Best{Score: length}, []any{"a", "aa", "a"}, "", 3},
		{"the first among equals", refine.Best{Score: length, All: true}, []any{"ab", "cd", "ef"}, "ab", 3},
	} {
		m := &actor{says: c.says}
		c.best.Model = m
		resp, err := llm.Generate(t.Context(), &c.best, ask())
		if resp.Message.Text() != c.want || (c.want == "") != (err != nil) || len(m.asked) != c.asked {
			t.Errorf("%s: %q after %d questions, error %v", c.name, resp.Message.Text(), len(m.asked), err)
		}
		if err == nil && resp.Finish.Usage.Input < 10*(c.asked-1) {
			t.Errorf("%s: usage %+v is not that of all", c.name, resp.Finish.Usage)
		}
	}
	m := &actor{says: []any{"a"}}
	_, err := llm.Generate(t.Context(), &refine.Best{Model: m, Score: length}, ask())
	if err == nil || !strings.Contains(err.Error(), "refine failed after 3 attempts: no prediction met threshold 0.5") {
		t.Error(err)
	}
}

func TestBestVaries(t *testing.T) {
	m := &actor{says: []any{"a"}}
	best := &refine.Best{Model: m, Together: true, Vary: func(i int, req *llm.Request) {
		refine.Views("You are an analyst.", "You are a pragmatist.")(i, req)
		refine.Temperatures(0.2, 0.5, 0.8)(i, req)
	}}
	if _, err := llm.Generate(t.Context(), best, ask()); err != nil {
		t.Fatal(err)
	}
	got := make(map[float64]string)
	for _, r := range m.asked {
		got[*r.Temperature] = r.System
	}
	want := map[float64]string{0.2: "You are an analyst.", 0.5: "You are a pragmatist.", 0.8: "You are an analyst."}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestAModelThatPanicsBesideOthers has failed; the others answer.
func TestAModelThatPanicsBesideOthers(t *testing.T) {
	var asked atomic.Int32
	once := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		if asked.Add(1) == 1 {
			panic("no such table")
		}
		return (&actor{says: []any{"fine"}}).Stream(ctx, req)
	})
	resp, err := llm.Generate(t.Context(), &refine.Best{Model: once, Together: true}, ask())
	if err != nil || resp.Message.Text() != "fine" || asked.Load() != 3 {
		t.Errorf("%v, error %v", resp, err)
	}
	always := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] { panic("no such table") })
	if _, err := llm.Generate(t.Context(), &refine.Best{Model: always, Together: true}, ask()); err == nil || !strings.Contains(err.Error(), "the model panicked: no such table") {
		t.Errorf("error %v", err)
	}
}
