package invoke_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount"`
}

func TestPolicyChangesArguments(t *testing.T) {
	capped := func(_ context.Context, _ tool.Tool, c llm.Call) (invoke.Decision, error) {
		var p payment
		if err := json.Unmarshal(c.Args, &p); err != nil {
			return invoke.Decision{}, err
		}
		switch {
		case p.To == "invalid":
			return invoke.Decision{Verdict: invoke.Change, Args: json.RawMessage(`{"to":1}`)}, nil
		case p.To == "forever":
			p.Amount++
		case p.To == "refused" && p.Amount == 10:
			return invoke.Decision{Verdict: invoke.Refuse, Reason: "not to them"}, nil
		case p.To == "same":
		case p.Amount > 10:
			p.Amount = 10
		default:
			return invoke.Decision{Verdict: invoke.Allow}, nil
		}
		args, err := json.Marshal(p)
		return invoke.Decision{Verdict: invoke.Change, Args: args, Reason: "at most 10"}, err
	}
	for to, want := range map[string]struct {
		paid   int
		status journal.Status
	}{"ada": {10, journal.OK}, "invalid": {0, journal.Refused}, "forever": {0, journal.Refused}, "refused": {0, journal.Refused}, "same": {500, journal.OK}} {
		paid := 0
		pay := tool.Func("pay", "Pays", func(_ context.Context, p payment) (string, error) { paid = p.Amount; return "paid", nil })
		s, store := session(t, &invoke.Runner{Tools: tool.MustSet(pay), Policy: capped})
		var out invoke.Outcome
		for ev, err := range s.Do(t.Context(), []llm.Call{{ID: "c1", Name: "pay", Args: json.RawMessage(`{"to":"` + to + `","amount":500}`)}}) {
			if err != nil {
				t.Fatal(err)
			}
			if o, ok := ev.(invoke.Outcome); ok {
				out = o
			}
		}
		if paid != want.paid || out.Receipt.Status != want.status {
			t.Errorf("%s: paid %d, %s %v", to, paid, out.Receipt.Status, out.Error)
		}
		if to != "ada" {
			continue
		}
		if a := out.Receipt.Approval; a == nil || a.By != "policy" || a.Reason != "at most 10" || a.ParamsHash == out.Receipt.ParamsHash {
			t.Errorf("the receipt has the approval %+v", a)
		}
		if !strings.Contains(string(out.Receipt.Args), `"amount":10`) || !strings.Contains(out.Result.Text(), "the policy changed the arguments") {
			t.Errorf("args %s, result %q", out.Receipt.Args, out.Result.Text())
		}
		recorded := false
		for e := range store.Read(t.Context(), onlyRun(t, store), 0) {
			recorded = recorded || e.Kind == journal.KindApproval && strings.Contains(string(e.Body), `"amount":10`) && strings.Contains(string(e.Body), `"by":"policy"`)
		}
		if !recorded {
			t.Error("the change is not in the record")
		}
	}
}

// onlyRun returns the only run of a store.
func onlyRun(t *testing.T, store *journal.Memory) string {
	t.Helper()
	for run, err := range store.Runs(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		return run
	}
	t.Fatal("no run")
	return ""
}

func TestNilContextExplains(t *testing.T) {
	defer func() {
		if p, ok := recover().(string); !ok || !strings.Contains(p, "context.Background()") {
			t.Errorf("panic %v", p)
		}
	}()
	s, _ := session(t, &invoke.Runner{Tools: tool.MustSet()})
	var none context.Context
	s.Do(none, nil)
}
