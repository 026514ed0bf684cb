// Ownmodel is a model of the program itself: a function that yields events. The agent, the tools
// and structured answers work with it as with any other.
package main

import (
	"context"
	"fmt"
	"iter"
	"log"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

type report struct {
	City    string `json:"city"`
	Degrees int    `json:"degrees"`
}

type place struct {
	City string `json:"city"`
}

func weather(_ context.Context, in place) (report, error) { return report{in.City, 25}, nil }

// rules calls the tool first, and answers with its result.
func rules(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		last := req.Messages[len(req.Messages)-1]
		var ev llm.Event = llm.Call{ID: "1", Name: "weather", Args: []byte(`{"city":"Rome"}`)}
		finish := llm.Finish{Reason: llm.ToolCalls}
		if last.Role == llm.RoleTool {
			ev, finish.Reason = llm.TextDelta{Text: last.Parts[0].(llm.Result).Text()}, llm.Stop
		}
		_ = yield(ev, nil) && yield(finish, nil)
	}
}

func main() {
	tools := tool.MustSet(tool.Func("weather", "Current weather in a city.", weather))
	a := &agent.Agent{Model: llm.ModelFunc(rules), Tools: &invoke.Runner{Tools: tools}}
	ask := []llm.Message{llm.User("Weather in Rome?")}
	r, done, err := agent.Into[report](context.Background(), a, ask)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(r.City, r.Degrees, "after", done.Ran, "call")
}
