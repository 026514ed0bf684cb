package mcpbridge

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/toolpost/toolpost/journal"
)

// account is what the calls of one connection share: a record, numbers, and an end.
type account struct {
	open   func(context.Context) (*journal.Recorder, error) // nil records nothing
	failed func(error)
	ctx    context.Context // of its calls
	cancel context.CancelFunc
	over   chan struct{} // closed when its record is sealed
	calls  atomic.Int64  // numbers the calls

	mu      sync.Mutex
	running sync.WaitGroup
	left    bool // no call begins any more
	rec     *journal.Recorder
}

func newAccount(life context.Context, open func(context.Context) (*journal.Recorder, error), failed func(error)) *account {
	a := &account{open: open, failed: failed, over: make(chan struct{})}
	a.ctx, a.cancel = context.WithCancel(life)
	return a
}

// newID is the id of another call.
func (a *account) newID() string { return fmt.Sprintf("call_%d", a.calls.Add(1)) }

// begin counts a call, unless the client has gone.
func (a *account) begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left {
		return false
	}
	a.running.Add(1)
	return true
}

// leave refuses new calls and cancels the running ones.
func (a *account) leave() {
	a.mu.Lock()
	a.left = true
	a.mu.Unlock()
	a.cancel()
}

// finish waits for the calls and seals the record. It is called once, after leave.
func (a *account) finish() {
	defer close(a.over)
	a.running.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rec == nil {
		return
	}
	if _, err := a.rec.Seal(context.WithoutCancel(a.ctx)); err != nil {
		a.failed(fmt.Errorf("mcp: the record of a connection: %w", err))
	}
}

// record returns the record of the connection, nil if nothing is recorded.
func (a *account) record() (*journal.Recorder, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rec != nil || a.open == nil {
		return a.rec, nil
	}
	var err error
	a.rec, err = a.open(context.WithoutCancel(a.ctx))
	return a.rec, err
}
