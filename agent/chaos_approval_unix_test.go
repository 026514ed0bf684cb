//go:build unix

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// approvalWorld begins the world of processes whose calls a person decides about.
const approvalWorld = "approvals "

// refusedByPerson reports what the person decides about the call of an id, which is always the same.
func refusedByPerson(id string) bool {
	return strings.HasSuffix(id, "3b") || strings.HasSuffix(id, "7a")
}

// decidedBy returns the decisions about questions.
func decidedBy(questions []invoke.Question) (grants []agent.Grant) {
	for _, q := range questions {
		grants = append(grants, agent.Grant{Call: q.CallID, ParamsHash: q.ParamsHash, Allowed: !refusedByPerson(q.CallID) && q.Repeats == "", By: "ada"})
	}
	return grants
}

// approvalProcess is [chaosProcess] with a policy that asks about every call. The person answers at once, with the next
// resume, or before it.
func approvalProcess() error {
	store, _, err := openChaos(os.Getenv(chaosStore))
	if err != nil {
		return err
	}
	world, err := os.OpenFile(filepath.Join(strings.TrimPrefix(os.Getenv(chaosWorld), approvalWorld), "effects"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	for n := 0; ; {
		name := fmt.Sprintf("run-%d", n)
		a := chaosAgent(world, store, name)
		a.Tools.LoopLimit, a.Tools.Policy = -1, func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
			return invoke.Decision{Verdict: invoke.Ask}, nil
		}
		a.Tools.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
			fmt.Println("asked")
			if rand.IntN(3) == 0 {
				return journal.Approval{}, new(invoke.PendingError)
			}
			return q.Answer(!refusedByPerson(q.CallID) && q.Repeats == "", "ada", ""), nil
		}
		over, err := approvalStep(a, store, name)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if over {
			n++
		}
	}
}

// approvalStep resumes a run or begins it, and reports whether it is over.
func approvalStep(a *agent.Agent, store journal.Store, name string) (over bool, err error) {
	open, err := agent.Waiting(context.Background(), store, name)
	if err != nil {
		open = nil // the run has not begun
	}
	grants := decidedBy(open)
	if len(grants) > 0 && rand.IntN(2) == 0 {
		if err := agent.Decide(context.Background(), store, name, grants...); err == nil {
			grants = nil
		}
		fmt.Println("decided")
	}
	l := watchChaos(a.ResumeWith(context.Background(), name, grants))
	var held *journal.HeldError
	switch {
	case errors.As(l.err, &held):
		fmt.Println("held")
		time.Sleep(time.Duration(rand.Int64N(int64(5 * time.Millisecond))))
		return false, nil
	case l.err != nil && strings.Contains(l.err.Error(), "has no run"):
		l = watchChaos(a.Run(context.Background(), llm.User("Change it all.")))
		if errors.As(l.err, &held) || errors.Is(l.err, agent.ErrBegun) {
			return false, nil
		}
	case errors.Is(l.err, journal.ErrSealed), errors.Is(l.err, agent.ErrNotWaiting): // another process was faster
		return errors.Is(l.err, journal.ErrSealed), nil
	}
	return l.err == nil && l.done.Status != agent.StatusPending, l.err
}

// TestKilledWithApprovalsInFlight kills processes at random moments while questions are open, answered, or answered and
// about to run. Every effect has an approval of exactly that call before its intent, no refused call runs, and no call runs
// twice. TOOLPOST_LONG=1 makes 100 kills on each store.
func TestKilledWithApprovalsInFlight(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"jsonl", "sqlite"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := &chaos{store: kind + " " + storeAddress(t, kind, dir), world: dir, workers: make([]*worker, 2)}
			defer func() {
				for _, w := range c.workers {
					if w != nil {
						w.kill(t)
					}
				}
			}()
			for c.kills < sample(6, 100) && !t.Failed() {
				for i, w := range c.workers {
					if w == nil {
						c.workers[i] = startWorker(t, c.store, approvalWorld+c.world)
					}
				}
				c.await(t, 1+rand.Int64N(12))
				i := rand.IntN(len(c.workers))
				c.workers[i].kill(t)
				c.workers[i] = nil
				c.kills++
			}
			for i, w := range c.workers {
				if w != nil {
					w.kill(t)
					c.workers[i] = nil
				}
			}
			c.inspectApprovals(t)
		})
	}
}

// inspectApprovals holds the record of approvals against the world.
func (c *chaos) inspectApprovals(t *testing.T) {
	t.Helper()
	store, closer, err := openChaos(c.store)
	if err != nil {
		t.Fatal(err)
	}
	defer closer.Close()
	intended, questions, granted := make(map[string]bool), 0, 0
	for name, err := range store.(journal.Lister).Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		approvals := make(map[journal.Hash]journal.Approval)
		for e, err := range store.Read(t.Context(), name, 0) {
			if err != nil {
				t.Fatal(err)
			}
			var a journal.Approval
			var in journal.Intent
			switch {
			case e.Kind == journal.KindQuestion:
				questions++
			case e.Kind == journal.KindApproval && e.Decode(&a) == nil:
				approvals[e.Hash] = a
				granted++
			case e.Kind == journal.KindIntent && e.Decode(&in) == nil:
				a, there := approvals[in.Approval]
				if !there || !a.Allowed || a.Call != in.Call || a.ParamsHash != in.ParamsHash {
					t.Errorf("%s: the intent of %s has the approval %+v", name, in.Call, a)
				}
				intended[name+"/"+in.Call] = true
			}
		}
		if _, err := journal.Verify(store.Read(t.Context(), name, 0)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	b, err := os.ReadFile(filepath.Join(c.world, "effects"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	seen := make(map[string]bool)
	for _, id := range strings.Fields(string(b)) {
		if seen[id] || !intended[id] || refusedByPerson(id) {
			t.Errorf("%s ran: twice %v, with an intent %v, refused by the person %v", id, seen[id], intended[id], refusedByPerson(id))
		}
		seen[id] = true
	}
	t.Logf("%d kills: %d questions, %d decisions, %d intents, %d effects", c.kills, questions, granted, len(intended), len(seen))
	if len(seen) == 0 {
		t.Error("the test has shown nothing: there was no effect")
	}
}
