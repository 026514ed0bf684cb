package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

type bill struct {
	Net   int `json:"net"`
	Tax   int `json:"tax"`
	Total int `json:"total"`
}

func (b bill) Validate() error {
	if b.Net+b.Tax != b.Total {
		return fmt.Errorf("net and tax are %d, not %d", b.Net+b.Tax, b.Total)
	}
	return nil
}

var invoice17 = []llm.Message{llm.User("Read invoice 17.")}

const threeBills = `
-- 1 --
text {"net":100,"tax":19,"total":120}
-- 2 --
text {"net":200,"tax":38,"total":238}
-- 3 --
text {"net":100,"tax":19,"total":119}
`

// TestIntoChecksAnswers: a check of the type and Agent.Check refuse an answer, the model is
// told why, and a replay takes the same steps without them.
func TestIntoChecksAnswers(t *testing.T) {
	known := errors.New("invoice 17 has a net sum of 100")
	var told []string

	a := &agent.Agent{Store: new(journal.Memory), Model: prepared(t, threeBills), Check: func(value json.RawMessage) error {
		var b bill
		if err := json.Unmarshal(value, &b); err != nil || b.Net == 100 {
			return err
		}
		return known
	}}
	b, done, err := agent.Into(t.Context(), a, invoice17, bill.Validate)
	if err != nil || b != (bill{100, 19, 119}) {
		t.Fatalf("%+v, %v", b, err)
	}
	for e, err := range a.Store.Read(t.Context(), done.Run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Kind == "agent.check" {
			var c struct{ Error string }
			if err := e.Decode(&c); err != nil {
				t.Fatal(err)
			}
			told = append(told, c.Error)
		}
	}
	if strings.Join(told, "; ") != "net and tax are 119, not 120; "+known.Error() {
		t.Errorf("recorded %q", told)
	}
	if err := agent.Replay(t.Context(), a.Store, done.Run); err != nil {
		t.Error(err)
	}

	a.Model, a.RetryBudget = prepared(t, strings.ReplaceAll(threeBills, "100", "200")), -1
	var tried *refine.OutputError
	if _, _, err := agent.Into(t.Context(), a, invoice17, bill.Validate); !errors.As(err, &tried) {
		t.Errorf("no answer was accepted: %v", err)
	}
}

// TestCheckThatCannotBeMade: such an error is not told to the model, and a panic ends the run for good.
func TestCheckThatCannotBeMade(t *testing.T) {
	for name, c := range map[string]struct {
		check func(json.RawMessage) error
		is    func(error) bool
	}{
		"llm error": {func(json.RawMessage) error {
			return &llm.Error{Op: "ledger", Kind: llm.Network, Err: errors.New("no route")}
		}, func(err error) bool { return strings.Contains(err.Error(), "no route") }},
		"context": {func(json.RawMessage) error { return context.DeadlineExceeded }, func(err error) bool { return errors.Is(err, context.DeadlineExceeded) }},
		"panic": {func(json.RawMessage) error { panic("no ledger") }, func(err error) bool {
			return errors.As(err, new(*agent.AbortedError)) && strings.Contains(err.Error(), "no ledger")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			calls := 0
			a := &agent.Agent{Store: new(journal.Memory), Model: prepared(t, threeBills), Check: func(v json.RawMessage) error {
				calls++
				return c.check(v)
			}}
			_, done, err := agent.Into[map[string]int](t.Context(), a, invoice17)
			if err == nil || !c.is(err) || calls != 1 {
				t.Errorf("checked %d times: %v", calls, err)
			}
			if err := agent.Replay(t.Context(), a.Store, done.Run); name == "panic" && err != nil {
				t.Error(err)
			}
		})
	}
}
