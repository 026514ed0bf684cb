package agent_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// TestInterruptedCallLosesItsApproval: a person approves a call, and it is interrupted
// before it began. On every path the next process asks again before it runs.
func TestInterruptedCallLosesItsApproval(t *testing.T) {
	t.Parallel()
	yes := []agent.Grant{{Call: "a", Allowed: true, By: "ada"}, {Call: "b", Allowed: true, By: "ada"}}
	cancelled := func(t *testing.T) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		return ctx
	}
	// Each returns the record after an approval of a that was interrupted.
	for name, leave := range map[string]func(t *testing.T, store journal.Store, did map[string]int){
		"run, cancelled at the next question": func(t *testing.T, store journal.Store, did map[string]int) {
			ctx, cancel := context.WithCancel(t.Context())
			a := twoChanges(store, did)
			a.Tools.Approve = func(ctx context.Context, q invoke.Question) (journal.Approval, error) {
				if q.CallID == "b" {
					cancel()
					return journal.Approval{}, ctx.Err()
				}
				return q.Answer(true, "ada", ""), nil
			}
			listen(a.Run(ctx, llm.User("pay")))
		},
		"run, killed at the next question": func(t *testing.T, store journal.Store, did map[string]int) {
			now := new(journal.Memory)
			a := twoChanges(now, did)
			a.Tools.Approve = func(ctx context.Context, q invoke.Question) (journal.Approval, error) {
				if q.CallID == "b" {
					copyRecord(t, killed(t, now), store)
					return journal.Approval{}, context.Canceled
				}
				return q.Answer(true, "ada", ""), nil
			}
			ctx, cancel := context.WithCancel(t.Context())
			for ev := range a.Run(ctx, llm.User("pay")) {
				if d, ok := ev.(invoke.Decided); ok && d.CallID == "b" {
					cancel()
				}
			}
			cancel()
			clear(did)
		},
		"decided later, cancelled before it runs": func(t *testing.T, store journal.Store, did map[string]int) {
			waiting(t, store, time.Time{})
			must(t, agent.Decide(t.Context(), store, "r", yes...))
			stopAtPlan(t, twoChanges(store, did), nil)
		},
		"resumed with a decision, cancelled before it runs": func(t *testing.T, store journal.Store, did map[string]int) {
			waiting(t, store, time.Time{})
			stopAtPlan(t, twoChanges(store, did), yes)
		},
		"gateway, the client goes away": func(t *testing.T, store journal.Store, did map[string]int) {
			waiting(t, store, time.Time{})
			must(t, agent.Decide(t.Context(), store, "r", yes...))
			rec, err := journal.Open(t.Context(), store, "r")
			must(t, err)
			defer rec.Close(t.Context())
			s, err := twoChanges(store, did).Tools.Session(rec)
			must(t, err)
			for e, err := range journal.Whole(store.Read(t.Context(), "r", 0)) {
				must(t, err)
				must(t, s.Recall(e))
			}
			for _, err := range s.Do(cancelled(t), []llm.Call{call("a", "pay", `{"n":"a"}`)}) {
				must(t, err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			store, did := new(journal.Memory), make(map[string]int)
			leave(t, store, did)
			if len(did) != 0 {
				t.Fatalf("%v ran before", did)
			}
			var asked []string
			a := twoChanges(store, did)
			a.Tools.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
				asked = append(asked, q.CallID)
				return journal.Approval{}, new(invoke.PendingError)
			}
			l := listen(a.Resume(t.Context(), "r"))
			if l.err != nil || l.done.Status != agent.StatusPending || !slices.Contains(asked, "a") || did["a"] != 0 {
				t.Fatalf("status %s, asked %v, did %v, %v", l.done.Status, asked, did, l.err)
			}
			open, err := agent.Waiting(t.Context(), store, "r")
			if err != nil || !slices.ContainsFunc(open, func(q invoke.Question) bool { return q.CallID == "a" }) {
				t.Fatalf("waiting %v, %v", open, err)
			}
			must(t, agent.Decide(t.Context(), store, "r", yes[:len(open)]...)) // it can be approved once more, and runs once
			if l = listen(a.Resume(t.Context(), "r")); l.err != nil || fmt.Sprint(did) != "map[a:1 b:1]" {
				t.Errorf("did %v, %v", did, l.err)
			}
			verified(t, store, "r")
			must(t, agent.Replay(t.Context(), store, "r"))
		})
	}
}

// stopAtPlan resumes a run and cancels it when its calls have been decided.
func stopAtPlan(t *testing.T, a *agent.Agent, grants []agent.Grant) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for ev := range a.ResumeWith(ctx, "r", grants) {
		if _, ok := ev.(invoke.Planned); ok {
			cancel()
		}
	}
	if ctx.Err() == nil {
		t.Fatal("the calls were not planned")
	}
}

func copyRecord(t *testing.T, from, to journal.Store) {
	t.Helper()
	for e, err := range from.Read(t.Context(), "r", 0) {
		must(t, err)
		_, err = to.Append(t.Context(), e)
		must(t, err)
	}
}
