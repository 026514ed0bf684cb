package serve

import (
	"context"
	"sync"
)

// turns lets calls that may change something run one after the other, in the order in which they came, and after the reads
// before them. Calls that only read wait for nothing: a command that takes long does not hold them up.
type turns struct {
	mu    sync.Mutex
	last  chan struct{}   // closed when the last call that changes things is over
	reads *sync.WaitGroup // that began after it
}

// heldTurn is the turn of a call, which it gives up while a person is asked about it.
type heldTurn struct {
	of     *turns
	reads  bool
	life   context.Context // of the connection
	cancel func()          // ends the call
	done   func()          // nil while the call does not have it
}

// take returns when the call has its turn. If ctx ended first it has none: the runtime
// refuses the call then, and records that. The end of the connection reaches its calls one after
// the other, so a call can get its turn because the one before it was ended: it is ended too.
func (h *heldTurn) take(ctx context.Context) {
	h.done, _ = h.of.wait(ctx, h.reads)
	if h.life.Err() != nil {
		h.cancel()
	}
}

func (h *heldTurn) release() {
	if h.done != nil {
		h.done()
		h.done = nil
	}
}

// wait returns when a call may run; the caller calls the function after it. An error
// means that ctx ended first, and that the call has given up its place.
func (t *turns) wait(ctx context.Context, reads bool) (func(), error) {
	var done func()
	t.mu.Lock()
	before, readers := t.last, t.reads
	if reads {
		if readers == nil {
			readers = new(sync.WaitGroup)
			t.reads = readers
		}
		readers.Add(1)
		done = readers.Done
	} else {
		mine := make(chan struct{})
		t.last, t.reads = mine, nil
		done = func() { close(mine) }
	}
	t.mu.Unlock()
	ready := make(chan struct{})
	go func() {
		defer close(ready)
		if before != nil && !reads {
			<-before
		}
		if !reads && readers != nil {
			readers.Wait()
		}
	}()
	select {
	case <-ready:
		return done, nil
	case <-ctx.Done():
		// Later calls still wait for earlier ones.
		go func() { <-ready; done() }()
		return nil, ctx.Err()
	}
}
