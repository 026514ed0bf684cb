// Switch begins a conversation with one vendor's model and continues with another's:
// "switch FIRST SECOND TASK". The first calls the tool, the second reads the result and answers.
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/tool"
)

type place struct {
	City string `json:"city" description:"Name of the city"`
}

func weather(_ context.Context, in place) (string, error) { return "sunny in " + in.City, nil }

func main() {
	if len(os.Args) != 4 {
		log.Fatal("usage: switch FIRST SECOND TASK, like openai/gpt-5 anthropic/claude-sonnet-4-5")
	}
	var models [2]llm.Model
	for i, id := range os.Args[1:3] {
		m, err := provider.Open(id)
		if err != nil {
			log.Fatal(err)
		}
		models[i] = m
	}
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	look.Effects = tool.ReadOnly
	a := &agent.Agent{Tools: &invoke.Runner{Tools: tool.MustSet(look)},
		Route: func(turn int) (llm.Model, string) { // the first turn, and all others
			i := min(turn, 2) - 1
			return models[i], os.Args[1+i]
		}}
	for ev, err := range a.Run(context.Background(), llm.User(os.Args[3])) {
		if err != nil {
			log.Fatal(err)
		}
		switch ev := ev.(type) {
		case agent.Turn:
			fmt.Println("turn", ev.N, "by", ev.Model)
		case agent.Switched:
			fmt.Println("from", ev.From, "to", ev.To)
		case invoke.Outcome:
			fmt.Println(ev.Call.Name, string(ev.Call.Args), ev.Receipt.Status)
		case llm.TextDelta:
			fmt.Print(ev.Text)
		case agent.Done:
			fmt.Println("\n"+string(ev.Status), len(ev.Messages), "messages")
		}
	}
}
