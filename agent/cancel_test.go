package agent_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	_ "modernc.org/sqlite"
)

// everyStore are the stores that a run can be resumed from.
var everyStore = map[string]func(t *testing.T) journal.Store{
	"memory": func(*testing.T) journal.Store { return new(journal.Memory) },
	"jsonl": func(t *testing.T) journal.Store {
		d, err := journal.OpenDir(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		return d
	},
	"sqlite": func(t *testing.T) journal.Store {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "runs.db")+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(OFF)")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		s, err := journal.OpenSQL(db)
		if err != nil {
			t.Fatal(err)
		}
		return s
	},
}

// twoChanges is a run whose one turn reads, makes two changes, each of which a
// person is asked about, and answers. A change that was told to stop does not
// happen. did counts the changes.
func twoChanges(store journal.Store, did map[string]int) *agent.Agent {
	type in struct {
		N string `json:"n"`
	}
	pay := tool.Func("pay", "Pays.", func(ctx context.Context, p in) (string, error) {
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		did[p.N]++
		return "paid " + p.N, nil
	})
	look := tool.Func("look", "Looks.", func(ctx context.Context, p in) (string, error) { return "seen " + p.N, ctx.Err() })
	look.Effects = tool.ReadOnly
	lines := says([]llm.Part{call("r", "look", `{"n":"x"}`), call("a", "pay", `{"n":"a"}`), call("b", "pay", `{"n":"b"}`)}, "All is paid.").lines
	return &agent.Agent{
		Model: byTurn{lines}, Store: store, NewRun: func() string { return "r" },
		Tools: &invoke.Runner{Tools: tool.MustSet(pay, look), Policy: invoke.AskFirst(refuseChanges), Approve: func(ctx context.Context, q invoke.Question) (journal.Approval, error) {
			if ctx.Err() != nil { // as a terminal does
				return journal.Approval{}, ctx.Err()
			}
			return q.Answer(true, "ada", ""), nil
		}},
	}
}

func refuseChanges(_ context.Context, t tool.Tool, _ llm.Call) (invoke.Decision, error) {
	if t.Effects.Has(tool.ReadOnly) {
		return invoke.Decision{Verdict: invoke.Allow}, nil
	}
	return invoke.Decision{Reason: t.Name + " changes things"}, nil
}

// killed copies the record as it is now: what a process leaves that is killed.
func killed(t *testing.T, store journal.Store) journal.Store {
	t.Helper()
	c := new(journal.Memory)
	for e, err := range store.Read(t.Context(), "r", 0) {
		if err == nil {
			e.Lease = ""
			_, err = c.Append(t.Context(), e)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return c
}

// conversation is what the model was told, in a few lines.
func conversation(msgs []llm.Message) string {
	var b strings.Builder
	for _, m := range msgs {
		for _, p := range m.Parts {
			switch p := p.(type) {
			case llm.Text:
				fmt.Fprintf(&b, "%s: %s\n", m.Role, p.Text)
			case llm.Call:
				fmt.Fprintf(&b, "call %s\n", p.ID)
			case llm.Result:
				fmt.Fprintf(&b, "result %s: %s\n", p.CallID, p.Text())
			}
		}
	}
	return b.String()
}

// TestCancelledIsKilled stops a run at every event, by cancelling and by not
// listening any more, on every store. Resumed, it goes on as if the process had
// been killed there: the conversation is the same, no call is given up that was
// not begun, and one that was begun is of unknown outcome.
func TestCancelledIsKilled(t *testing.T) {
	for name, open := range everyStore {
		for _, how := range []string{"cancel", "break"} {
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				for at := 1; ; at++ {
					if !cancelledIsKilled(t, open(t), how, at) {
						if at < 20 {
							t.Fatalf("only %d events", at)
						}
						return
					}
					if t.Failed() {
						return
					}
				}
			})
		}
	}
}

func cancelledIsKilled(t *testing.T, store journal.Store, how string, at int) bool {
	did := make(map[string]int)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, last, stopped := 0, "", false
	var dead journal.Store
	var before map[string]int
	for ev, err := range twoChanges(store, did).Run(ctx, llm.User("pay")) {
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("at event %d: %v", at, err)
		}
		if d, over := ev.(agent.Done); over {
			if stopped && d.Status != agent.StatusInterrupted {
				t.Errorf("at event %d: the status is %q", at, d.Status)
			}
			continue
		}
		if n++; n != at {
			continue
		}
		stopped, last = true, fmt.Sprintf("%T", ev)
		dead, before = killed(t, store), map[string]int{"a": did["a"], "b": did["b"]}
		if how == "break" {
			break
		}
		cancel()
	}
	if !stopped {
		return false
	}
	was := listen(twoChanges(dead, before).Resume(t.Context(), "r"))
	is := listen(twoChanges(store, did).Resume(t.Context(), "r"))
	if was.err != nil || is.err != nil || is.done.Text != "All is paid." {
		t.Fatalf("%s at event %d (%s): resumed to %q, error %v; killed: %v", how, at, last, is.done.Text, is.err, was.err)
	}
	if a, b := conversation(was.done.Messages), conversation(is.done.Messages); a != b {
		t.Errorf("%s at event %d (%s): killed there, the conversation is\n%s\nand stopped there\n%s", how, at, last, a, b)
	}
	receipts := make(map[string]journal.Receipt) // of each call: one that was interrupted has another receipt
	for _, e := range verified(t, store, "r") {
		var r journal.Receipt
		if e.Kind != journal.KindReceipt && e.Kind != journal.KindRefusal {
			continue
		}
		if err := e.Decode(&r); err != nil {
			t.Fatal(err)
		}
		receipts[r.Call] = r
	}
	unknown := 0
	for _, r := range receipts {
		switch {
		case r.Status == journal.Unknown:
			unknown++
		case r.Status != journal.OK:
			t.Errorf("%s at event %d (%s): %s ended as %s: %s", how, at, last, r.Call, r.Status, r.Reason)
		case r.Tool == "pay" && did[r.Call] != 1:
			t.Errorf("%s at event %d (%s): %s is on record as done and was done %d times", how, at, last, r.Call, did[r.Call])
		}
	}
	if unknown+did["a"]+did["b"] != 2 || unknown > 1 {
		t.Errorf("%s at event %d (%s): %d unknown, done %v", how, at, last, unknown, did)
	}
	if err := agent.Replay(t.Context(), store, "r"); err != nil {
		t.Errorf("%s at event %d (%s): the replay differs: %v", how, at, last, err)
	}
	return true
}

// TestUnknownIsNotFailed: after a crash between the effect and the receipt, the
// model is told that nobody knows, and the same call is not simply run again.
func TestUnknownIsNotFailed(t *testing.T) {
	type in struct {
		Amount int `json:"amount"`
	}
	for _, c := range []struct {
		name    string
		effects tool.Effects
		keys    bool
		ask     string // what a person says: "", "yes" or "no"
		charged int
		asked   int
	}{
		{name: "nobody to ask", charged: 1},
		{name: "a person refuses", ask: "no", charged: 1, asked: 1},
		{name: "a person allows", ask: "yes", charged: 2, asked: 1},
		{name: "honours keys", keys: true, charged: 2},
		{name: "idempotent", effects: tool.Idempotent, charged: 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			charged, asked := 0, 0
			var keys []string
			charge := tool.Func("charge", "Charges a card.", func(ctx context.Context, _ in) (string, error) {
				charged++
				keys = append(keys, tool.InfoOf(ctx).Key)
				return "charged", nil
			})
			charge.Effects, charge.HonoursKeys = c.effects, c.keys
			m := says(call("1", "charge", `{"amount":5}`), call("2", "charge", `{"amount":5}`), "fine")
			store := &torn{left: 1 << 30}
			a := &agent.Agent{Model: byTurn{m.lines}, Store: store, Tools: runner(charge), NewRun: func() string { return "r" }}
			if c.ask != "" {
				a.Tools.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
					asked++
					if q.Repeats != "1" || !strings.Contains(q.Reason, "unknown") {
						t.Errorf("asked %+v", q)
					}
					return q.Answer(c.ask == "yes", "ada", ""), nil
				}
			}
			for ev := range a.Run(t.Context(), llm.User("go")) {
				if _, ok := ev.(invoke.Intended); ok {
					store.left = 0 // the machine dies before the receipt
				}
			}
			store.left = 1 << 30
			l := listen(a.Resume(t.Context(), "r"))
			if l.err != nil || l.done.Text != "fine" {
				t.Fatalf("%q, %v", l.done.Text, l.err)
			}
			said := conversation(l.done.Messages)
			if strings.Contains(said, "was run and failed") || !strings.Contains(said, "is unknown") {
				t.Errorf("the model was told\n%s", said)
			}
			if charged != c.charged || asked != c.asked {
				t.Errorf("charged %d times, want %d; asked %d times, want %d\n%s", charged, c.charged, asked, c.asked, said)
			}
			for _, k := range keys {
				if k != "1" {
					t.Errorf("the keys were %v", keys)
				}
			}
			if err := agent.Replay(t.Context(), store, "r"); err != nil {
				t.Error(err)
			}
		})
	}
}
