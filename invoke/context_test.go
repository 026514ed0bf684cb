package invoke_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// TestToolKnowsItsCall: the context of a tool says which call it is, in which
// attempt, and under which key.
func TestToolKnowsItsCall(t *testing.T) {
	var got []tool.Info
	f := doer("f", tool.Idempotent, func(ctx context.Context) (string, error) {
		if got = append(got, tool.InfoOf(ctx)); len(got) == 1 {
			return "", errors.New("connection refused")
		}
		return "", nil
	})
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Backoff: invoke.Backoff{Initial: time.Nanosecond}})
	s.Turn = 7
	outcomes(t, s, call("a", "f", ``))
	want := []tool.Info{{Call: "a", Run: "run", Turn: 7, Attempt: 1, Key: "a"}, {Call: "a", Run: "run", Turn: 7, Attempt: 2, Key: "a"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if tool.InfoOf(t.Context()) != (tool.Info{}) {
		t.Error("there is a call where there is none")
	}
	tool.ReportProgress(t.Context(), tool.Progress{}) // does nothing
}

// TestProgress: what a tool reports is an event of its call, in order, before its
// outcome, also if calls run side by side; it never holds the tool up.
func TestProgress(t *testing.T) {
	f := doer("f", tool.ReadOnly, func(ctx context.Context) (string, error) {
		for i := range 3 {
			tool.ReportProgress(ctx, tool.Progress{Message: "step", Done: float64(i + 1), Total: 3})
		}
		return "done", nil
	})
	flood := doer("flood", tool.ReadOnly, func(ctx context.Context) (string, error) {
		for range 100_000 {
			tool.ReportProgress(ctx, tool.Progress{Message: "drop"})
		}
		return "done", nil
	})
	for _, calls := range [][]llm.Call{{call("a", "f", ``)}, {call("a", "f", ``), call("b", "f", ``), call("c", "flood", ``)}} {
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f, flood)})
		seen := make(map[string]int)
		for ev, err := range s.Do(t.Context(), calls) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case invoke.Progress:
				if seen[ev.CallID]++; ev.Tool == "f" && ev.Done != float64(seen[ev.CallID]) {
					t.Errorf("%+v is the event %d", ev, seen[ev.CallID])
				}
			case invoke.Ended:
				if ev.Tool == "f" && seen[ev.CallID] != 3 {
					t.Errorf("%s ended after %d reports", ev.CallID, seen[ev.CallID])
				}
			}
		}
	}
}

type tenant struct{ name string }

func ExampleSession_tools() {
	greet := tool.Func("greet", "Greets.", func(ctx context.Context, _ struct{}) (string, error) {
		who, _ := tool.Value[tenant](ctx) // what the program put in
		info := tool.InfoOf(ctx)
		tool.ReportProgress(ctx, tool.Progress{Message: "looking for words", Done: 1, Total: 2})
		return fmt.Sprintf("hello %s, this is call %s with key %s", who.name, info.Call, info.Key), nil
	})
	rec, err := journal.Open(context.Background(), new(journal.Memory), "run")
	if err != nil {
		panic(err)
	}
	s, err := (&invoke.Runner{Tools: tool.MustSet(greet)}).Session(rec)
	if err != nil {
		panic(err)
	}
	ctx := tool.WithValue(context.Background(), tenant{"ada"})
	for ev := range s.Do(ctx, []llm.Call{{ID: "c1", Name: "greet"}}) {
		switch ev := ev.(type) {
		case invoke.Progress:
			fmt.Printf("%s %g/%g\n", ev.Message, ev.Done, ev.Total)
		case invoke.Outcome:
			fmt.Println(ev.Result.Text())
		}
	}
	// Output:
	// looking for words 1/2
	// hello ada, this is call c1 with key c1
}

// A person who declines to answer a question of a tool refuses no call: the event has the question, and the tool, which
// has begun, returns what it did.
func TestDeclinedQuestionIsNoRefusedCall(t *testing.T) {
	for _, held := range []bool{true, false} {
		f := doer("f", tool.Idempotent, func(ctx context.Context) (string, error) {
			_, err := tool.Ask(ctx, tool.Prompt{Message: "Which seat?", Held: held})
			if held {
				return "booked without a seat", nil
			}
			return "", err
		})
		s, _ := session(t, &invoke.Runner{Tools: tool.MustSet(f), Policy: invoke.AllowAll, Approve: func(_ context.Context, q invoke.Question) (journal.Approval, error) {
			return q.Answer(false, "ada", "later"), nil
		}})
		var declined []invoke.Decided
		var last invoke.Outcome
		for ev, err := range s.Do(t.Context(), []llm.Call{call("a", "f", ``)}) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case invoke.Decided:
				if !ev.Allowed {
					declined = append(declined, ev)
				}
			case invoke.Outcome:
				last = ev
			}
		}
		if len(declined) != 1 || declined[0].Prompt != "Which seat?" || declined[0].By != "ada" || declined[0].Reason != "ada declined to answer: later" {
			t.Errorf("held %t: decided %+v", held, declined)
		}
		if held && last.Receipt.Status != journal.OK {
			t.Errorf("the receipt is %+v", last.Receipt)
		}
	}
}

// A call that an earlier process began, and did not end, is of unknown outcome, also if nobody may allow it now.
func TestBegunCallIsNotRefused(t *testing.T) {
	for name, policy := range map[string]invoke.Policy{
		"asks": func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
			return invoke.Decision{Verdict: invoke.Ask}, nil
		},
		"refuses": func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
			return invoke.Decision{Verdict: invoke.Refuse}, nil
		},
		"allows": invoke.AllowAll,
	} {
		store, ran := new(journal.Memory), 0
		f := doer("f", 0, func(context.Context) (string, error) { ran++; return "", nil })
		first, err := journal.Open(t.Context(), store, "run")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := first.Intent(t.Context(), journal.Intent{Call: "a", Tool: "f", Args: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
		if err := first.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		s := sessionOn(t, &invoke.Runner{Tools: tool.MustSet(f), Policy: policy}, store)
		got := outcomes(t, s, call("a", "f", `{}`))
		if len(got) != 1 || got[0].Receipt.Status != journal.Unknown || ran != 0 {
			t.Errorf("the policy %s: %+v, run %d times", name, got, ran)
		}
	}
}
