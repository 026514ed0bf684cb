// Handoff gives a conversation from one agent to another: the desk calls a tool that hands over.
// Then billing answers, with its own instructions and tools.
package main

import (
	"context"
	"fmt"
	"log"
	"slices"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

type none struct{}
type invoice struct{ Number string }

func hours(context.Context, none) (string, error)           { return "9 to 5", nil }
func toBilling(context.Context, none) (string, error)       { return "billing continues", nil }
func payBack(_ context.Context, in invoice) (string, error) { return in.Number + " is paid", nil }

// answers are those of the model; provider.Open opens a real one.
const answers = `
-- 1 --
call to_billing {}
-- 2 --
call refund {"Number":"2026-17"}
-- 3 --
text Your money is on its way.`

// handOver looks for the call in the conversation, so a run that is resumed hands over as well.
func handOver(_ context.Context, p *agent.TurnStart) error {
	who, tools := "You are the desk.", []string{"hours", "to_billing"}
	for _, m := range p.Messages {
		for _, c := range m.Calls() {
			if c.Name == "to_billing" {
				who, tools = "You are billing.", []string{"refund"}
			}
		}
	}
	p.System = who
	p.Tools = slices.DeleteFunc(p.Tools, func(d llm.ToolDef) bool {
		return !slices.Contains(tools, d.Name) // a call of another tool is refused
	})
	fmt.Println(who, tools)
	return nil
}

func main() {
	model, err := sim.ParseScript([]byte(answers))
	if err != nil {
		log.Fatal(err)
	}
	tools := tool.MustSet(tool.Func("hours", "When the shop is open.", hours),
		tool.Func("to_billing", "Hands the customer over to billing.", toBilling),
		tool.Func("refund", "Pays an invoice back.", payBack))
	a := &agent.Agent{Model: model, Tools: &invoke.Runner{Tools: tools}, BeforeTurn: handOver}
	done, err := a.Ask(context.Background(), llm.User("I want my money back for 2026-17."))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Text)
}
