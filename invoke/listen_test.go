package invoke_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// Whenever the listener goes, what comes next is cancelled, and the call is
// recorded all the same.
func TestListenerGoes(t *testing.T) {
	for _, effects := range []tool.Effects{tool.ReadOnly, 0} {
		for n := 1; ; n++ { // goes after n events
			var policy, ran error
			asked, heard := false, ""
			f := doer("f", effects, func(ctx context.Context) (string, error) { ran = ctx.Err(); return "", ctx.Err() })
			s, store := session(t, &invoke.Runner{Tools: tool.MustSet(f), Policy: func(ctx context.Context, _ tool.Tool, _ llm.Call) (invoke.Decision, error) {
				asked, policy = true, ctx.Err()
				return invoke.Decision{Verdict: invoke.Allow}, nil
			}})
			left := n
			for ev := range s.Do(t.Context(), []llm.Call{call("a", "f", `{}`)}) {
				heard = ev.EventType()
				if left--; left == 0 {
					break
				}
			}
			if left > 0 {
				if n < 6 {
					t.Errorf("%d events", n-left)
				}
				break // all of them were heard
			}
			if heard == "checked" && !(asked && errors.Is(policy, context.Canceled)) {
				t.Errorf("gone after %s: the policy saw %v", heard, policy)
			}
			want := "refusal a refused"
			switch heard {
			case "intended", "started":
				want = "receipt a failed"
				if effects == 0 { // it may have taken effect
					want = "receipt a unknown"
				}
				if !errors.Is(ran, context.Canceled) {
					t.Errorf("gone after %s: the tool saw %v", heard, ran)
				}
			case "ended", "outcome":
				want = "receipt a ok"
			}
			if got := statuses(t, store); got[len(got)-1] != want {
				t.Errorf("%s, gone after %s: %v, want %s", effects, heard, got, want)
			}
		}
	}
}

// doBadly runs calls and panics at the first event of a type.
func doBadly(s *invoke.Session, at string, calls ...llm.Call) (recovered any) {
	defer func() { recovered = recover() }()
	for ev := range s.Do(context.Background(), calls) {
		if ev.EventType() == at {
			panic("the listener broke down")
		}
	}
	return nil
}

// A listener that panics while calls run side by side leaves none behind: each
// is told to stop, and recorded.
func TestListenerPanics(t *testing.T) {
	slow := doer("slow", tool.ReadOnly, func(ctx context.Context) (string, error) { <-ctx.Done(); return "", ctx.Err() })
	for _, at := range []string{"started", "checked", "planned", "ended", "outcome"} {
		s, store := session(t, &invoke.Runner{Tools: tool.MustSet(slow, echo())})
		calls := []llm.Call{call("a", "echo", `{"text":"x"}`), call("b", "slow", ``), call("c", "slow", ``)}
		if doBadly(s, at, calls...) == nil {
			t.Fatalf("no event %s", at)
		}
		got := statuses(t, store)
		slices.Sort(got)
		want := 0
		if at != "checked" && at != "planned" {
			want = len(calls)
		}
		if len(got) != want {
			t.Errorf("a panic at %s: on record are %v", at, got)
		}
		if o := outcomes(t, s, call("d", "echo", `{"text":"y"}`))[0]; o.Result.Text() != "y" {
			t.Errorf("a panic at %s: then %s", at, o.Result.Text())
		}
	}
}

// A probe that a listener's panic cut short is nobody's: the next call may try.
func TestListenerPanicsAtAProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ran := 0
		f := doer("f", 0, func(context.Context) (string, error) { ran++; return "", errors.New("connection refused") })
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), LoopLimit: -1, Breaker: invoke.Breaker{Failures: 1}})
		outcomes(t, s, call("", "f", ``))
		time.Sleep(2 * time.Minute)
		if doBadly(s, "started", call("", "f", ``)) == nil || ran != 1 {
			t.Fatalf("the tool ran %d times", ran)
		}
		if outcomes(t, s, call("", "f", ``)); ran != 2 {
			t.Error("nobody may try any more")
		}
	})
}

// What a listener does with its time is not the tool's time.
func TestSlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := doer("f", 0, func(context.Context) (string, error) { time.Sleep(time.Second); return "", nil })
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f)})
		for ev := range s.Do(t.Context(), []llm.Call{call("", "f", ``)}) {
			time.Sleep(time.Minute)
			if o, ok := ev.(invoke.Outcome); ok && o.Receipt.LatencyMS != 1000 {
				t.Errorf("%d ms", o.Receipt.LatencyMS)
			}
		}
		if spent := s.Spent().Time; spent != time.Second {
			t.Errorf("spent %s", spent)
		}
	})
}

// An abandoned tool keeps its own call, whatever its session does meanwhile.
func TestAbandonedToolKeepsItsCall(t *testing.T) {
	release := make(chan struct{})
	args := make(chan string, 1)
	stuck := tool.Tool{Name: "stuck", Origin: tool.Program, Effects: tool.ReadOnly, Timeout: time.Millisecond}
	stuck.Call = func(_ context.Context, raw json.RawMessage) (tool.Output, error) {
		<-release
		args <- string(raw)
		panic("too late")
	}
	s, store := session(t, &invoke.Runner{Tools: tool.MustSet(stuck, echo()), Grace: time.Millisecond})
	if o := outcomes(t, s, call("a", "stuck", `{"n":1}`))[0]; o.Receipt.Status != journal.Abandoned {
		t.Fatalf("%+v", o.Receipt)
	}
	for i := range 3 {
		outcomes(t, s, call(fmt.Sprint("b", i), "echo", `{"text":"x"}`))
	}
	close(release)
	if got := <-args; got != `{"n":1}` {
		t.Errorf("the tool was left with %s", got)
	}
	if got := strings.Join(statuses(t, store), ", "); got != "receipt a abandoned, receipt b0 ok, receipt b1 ok, receipt b2 ok" {
		t.Error(got)
	}
}
