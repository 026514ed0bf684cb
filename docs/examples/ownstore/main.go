// Ownstore keeps runs in a store of the program, which knows nothing of leases. With a lock of
// three methods its runs have one owner at a time, and can be resumed.
package main

import (
	"context"
	"fmt"
	"log"
	"sync"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// store represents a database of the program. It has the two methods of a journal.Store.
type store struct{ journal.Store }

// locks is a lock for each run. A real one is in the medium that the processes share.
type locks struct {
	mu   sync.Mutex
	held map[string]journal.Lease
}

func (k *locks) TryLock(_ context.Context, l journal.Lease) (journal.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if h, ok := k.held[l.Run]; ok {
		return h, nil
	}
	k.held[l.Run] = l
	return journal.Lease{}, nil
}

func (k *locks) Holder(_ context.Context, run string) (journal.Lease, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.held[run], nil
}

func (k *locks) Unlock(_ context.Context, l journal.Lease) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.held[l.Run].Token == l.Token {
		delete(k.held, l.Run)
	}
	return nil
}

func main() {
	ctx, stop := context.WithCancel(context.Background())
	runs := journal.Leased(store{new(journal.Memory)}, &locks{held: map[string]journal.Lease{}})
	a := &agent.Agent{Model: sim.Offline{}, Store: runs}
	a.BeforeTurn = func(context.Context, *agent.TurnStart) error { stop(); return context.Canceled }
	done, err := a.Ask(ctx, llm.User("Hello"))
	fmt.Println(done.Status, err != nil)
	a.BeforeTurn = nil
	done, err = agent.Last(a.Resume(context.Background(), done.Run))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(done.Status)
	again, err := agent.Result(context.Background(), runs, done.Run)
	fmt.Println(again.Text == done.Text, err)
}
