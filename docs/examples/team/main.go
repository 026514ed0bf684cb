// Team is an agent with two agents as its tools, and one budget for all three:
// "team [-calls N] [-tokens N] [-money DOLLARS] [-time DURATION] TASK".
package main

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

type place struct{ City string }
type amount struct{ Euros float64 }

func weather(_ context.Context, in place) (string, error) { return "sunny in " + in.City, nil }
func crowns(_ context.Context, in amount) (string, error) { return fmt.Sprint(in.Euros * 11), nil }

// price is what the offline model would cost; models of package provider know what they cost.
func price(_ string, u llm.Usage) (catalog.Money, bool) {
	return catalog.Money(u.Input+u.Output) * catalog.Dollar / 100_000, true
}

var store = new(journal.Memory)

// team is an agent with these tools. Any model will do: see provider.Open.
func team(tools ...tool.Tool) *agent.Agent {
	return &agent.Agent{Model: sim.Offline{}, ID: "sim/offline", Cost: price, Store: store,
		Tools: &invoke.Runner{Tools: tool.MustSet(tools...)}}
}

func main() {
	forecaster := team(tool.Func("get_weather", "Current weather in a city.", weather))
	banker := team(tool.Func("to_crowns", "Turns euros into crowns.", crowns))
	boss := team(forecaster.Tool("forecaster", "Knows the weather."),
		banker.Tool("banker", "Knows what money is worth."))
	boss.NewRun, boss.Money = func() string { return "trip" }, catalog.Dollar/2
	flag.IntVar(&boss.Tools.Budget.Calls, "calls", 10, "tool calls")
	flag.DurationVar(&boss.Tools.Budget.Time, "time", time.Minute, "that tools take")
	flag.IntVar(&boss.Tokens, "tokens", 10_000, "tokens of models")
	flag.Func("money", "dollars", func(s string) (err error) {
		boss.Money, err = catalog.ParseMoney(s)
		return err
	})
	flag.Parse()
	ctx := context.Background()
	for ev, err := range boss.Run(ctx, llm.User(flag.Arg(0))) {
		if err != nil {
			fmt.Println("error:", err)
			break
		}
		show("", ev)
	}
	for run := range store.Runs(ctx) {
		s, err := agent.ReadSettings(ctx, store, run)
		fmt.Printf("on record: %s, part of %q, %v\n", run, s.Parent, err)
	}
}

func show(by string, ev llm.Event) {
	switch ev := ev.(type) {
	case agent.Inside:
		show("  ", ev.Event)
	case invoke.Outcome:
		fmt.Println(by+ev.Call.Name, string(ev.Call.Args), ev.Receipt.Status, ev.Receipt.Reason)
	case agent.Done:
		fmt.Println(by+string(ev.Status), ev.Usage.Input+ev.Usage.Output, "tokens,", ev.Cost)
		if by == "" {
			fmt.Println(ev.Text)
		}
	}
}
