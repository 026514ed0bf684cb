// Onetool is the smallest agent: a Go function as a tool, a model, and a question.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

type place struct {
	City string `json:"city" description:"Name of the city"`
}

func weather(_ context.Context, in place) (string, error) { return "sunny in " + in.City, nil }

func main() {
	look := tool.Func("get_weather", "Current weather in a city.", weather)
	a := &agent.Agent{Model: sim.Offline{}, // any model: see provider.Open
		Tools: &invoke.Runner{Tools: tool.MustSet(look)}}
	done, err := a.Ask(context.Background(), llm.User("What is the weather in Rome?"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Text)
}
