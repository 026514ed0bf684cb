// Guardrails checks the input and the output of a run: a message is blocked, an answer is
// changed, a policy caps a payment, and account numbers reach neither model nor record.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

type payment struct {
	Amount int `json:"amount" description:"Amount in euros"`
}

func pay(_ context.Context, in payment) (string, error) {
	return fmt.Sprintf("paid %d euros to DE02 1203", in.Amount), nil
}

func capped(_ context.Context, _ tool.Tool, c llm.Call) (invoke.Decision, error) {
	var p payment
	if err := json.Unmarshal(c.Args, &p); err != nil || p.Amount <= 100 {
		return invoke.Decision{Verdict: invoke.Allow}, err
	}
	args := []byte(`{"amount":100}`)
	return invoke.Decision{Verdict: invoke.Change, Args: args, Reason: "at most 100"}, nil
}

func noWeapons(_ context.Context, text string) (refine.GuardDecision, error) {
	if strings.Contains(strings.ToLower(text), "weapon") {
		why := "weapons are not sold here"
		return refine.GuardDecision{Verdict: refine.GuardBlock, Reason: why}, nil
	}
	return refine.GuardDecision{Verdict: refine.GuardAllow}, nil
}

func polite(_ context.Context, text string) (refine.GuardDecision, error) {
	return refine.GuardDecision{Verdict: refine.GuardChange, Text: text + " Have a nice day."}, nil
}

func main() {
	a := &agent.Agent{Model: sim.Offline{}, // any model: see provider.Open
		Guardrails: []refine.Guardrail{{Name: "shop", Input: noWeapons, Output: polite}},
		Tools: &invoke.Runner{Tools: tool.MustSet(tool.Func("pay", "Pay an amount of euros.", pay)),
			Policy: capped, Redact: invoke.Redact(`DE\d\d \d{4}`)}}
	for _, task := range []string{"Pay an amount of 500", "Pay for a weapon"} {
		done, err := a.Ask(context.Background(), llm.User(task))
		fmt.Println(done.Text, err)
	}
}
