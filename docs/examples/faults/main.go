// Faults asks a model that is always overloaded, with a fallback. The fallback takes over before
// the caller has seen anything. A breaker then leaves the first model alone.
package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
)

func main() {
	asked := 0
	overloaded := func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			asked++
			err := errors.New("too many requests")
			yield(nil, &llm.Error{Op: "example", Kind: llm.Overloaded, Err: err})
		}
	}
	first := &refine.Breaker{Model: llm.ModelFunc(overloaded), Failures: 2}
	model := refine.Fallback(first, sim.Offline{}) // any models: see provider.Open
	req := &llm.Request{Messages: []llm.Message{llm.User("Hello")}}
	for range 5 {
		resp, err := llm.Generate(context.Background(), model, req)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(len(resp.Warnings), "warning,", resp.Finish.Reason)
	}
	fmt.Println("the first model was asked", asked, "times")
}
