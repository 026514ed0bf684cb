package caller

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolpost/toolpost/journal"
)

// Account is what the calls of one connection share: a record, numbers, and an end.
type Account struct {
	open    func(context.Context) (*journal.Recorder, error) // nil records nothing
	failed  func(error)
	Context context.Context // of its calls
	cancel  context.CancelFunc
	Done    chan struct{} // closed when its record is sealed
	calls   atomic.Int64  // numbers the calls

	mu      sync.Mutex
	Running sync.WaitGroup
	left    bool // no call begins any more
	rec     *journal.Recorder
}

// NewAccount returns the account of a connection that ends with life.
func NewAccount(life context.Context, open func(context.Context) (*journal.Recorder, error), failed func(error)) *Account {
	a := &Account{open: open, failed: failed, Done: make(chan struct{})}
	a.Context, a.cancel = context.WithCancel(life)
	return a
}

// NewID is the id of another call.
func (a *Account) NewID() string { return fmt.Sprintf("call_%d", a.calls.Add(1)) }

// Begin counts a call, unless the client has gone.
func (a *Account) Begin() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.left {
		return false
	}
	a.Running.Add(1)
	return true
}

// Leave refuses new calls and cancels the running ones.
func (a *Account) Leave() {
	a.mu.Lock()
	a.left = true
	a.mu.Unlock()
	a.cancel()
}

// Finish waits for the calls and seals the record. It is called once, after leave.
func (a *Account) Finish() {
	defer close(a.Done)
	a.Running.Wait()
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rec == nil {
		return
	}
	if _, err := a.rec.Seal(context.WithoutCancel(a.Context)); err != nil {
		a.failed(fmt.Errorf("mcp: the record of a connection: %w", err))
	}
}

// Record returns the record of the connection, nil if nothing is recorded.
func (a *Account) Record() (*journal.Recorder, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rec != nil || a.open == nil {
		return a.rec, nil
	}
	var err error
	a.rec, err = a.open(context.WithoutCancel(a.Context))
	return a.rec, err
}

// Errors of the protocol, for calls that were never begun.
var (
	ErrBusy = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "too many calls are under way; try again later"}
	ErrGone = &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the connection is ending"}
)

// UserOf names the key of a request, "" without one.
func UserOf(req *http.Request) string {
	if info := auth.TokenInfoFromContext(req.Context()); info != nil {
		return info.UserID
	}
	return ""
}
