// Budget runs 100 tasks, ten at a time, under one budget of half a dollar. When it is used up, the
// tasks that are left fail at once instead of asking the model.
package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// cent is the price of an answer. Models of package provider know their own.
func cent(string, llm.Usage) (catalog.Money, bool) { return catalog.Dollar / 100, true }

func main() {
	pool := agent.NewPool(0, catalog.Dollar/2) // tokens and money; 0 means no bound
	a := &agent.Agent{Model: sim.Offline{}, Pool: pool, Cost: cent}
	tasks := make(chan int)
	var workers sync.WaitGroup
	var answered, refused atomic.Int32
	for range 10 {
		workers.Go(func() {
			for n := range tasks {
				o := agent.RunOptions{Metadata: map[string]string{"task": fmt.Sprint(n)}}
				run := a.RunWith(context.Background(), o, llm.User("Greet the guest."))
				_, err := agent.Last(run)
				if err != nil {
					refused.Add(1)
				} else {
					answered.Add(1)
				}
			}
		})
	}
	for n := range 100 {
		tasks <- n
	}
	close(tasks)
	workers.Wait()
	_, spent := pool.Spent()
	fmt.Println("answered or refused:", answered.Load()+refused.Load())
	fmt.Println("between 50 and 59 answered:", answered.Load() >= 50 && answered.Load() < 60)
	fmt.Println("more than half a dollar and a tenth spent:", spent > catalog.Dollar*6/10)
}
