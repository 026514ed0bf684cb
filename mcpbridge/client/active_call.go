package client

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// An activeCall is a call that a server is working on.
type activeCall struct {
	token  string
	ctx    context.Context // of the request
	cancel context.CancelFunc
	caller context.Context // of the tool

	sampled
	late, stuck bool // it was not answered in time; nor was a ping then

	mu     sync.Mutex
	asks   error // that the call ends with, because a person has to answer first
	timer  *time.Timer
	left   time.Duration // of the time of the call, while it is paused
	since  time.Time     // when the timer was started
	paused int
}

// pause stops the time of the call, while a person is asked. The returned function lets it run again.
func (f *activeCall) pause() (resume func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.paused++; f.paused == 1 && f.timer.Stop() {
		f.left = max(f.left-time.Since(f.since), time.Millisecond)
	}
	return func() {
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.paused--; f.paused == 0 {
			f.since = time.Now()
			f.timer.Reset(f.left)
		}
	}
}

// activeCallKey is the key of the activeCall in the context of its request.
type activeCallKey struct{}

// waits ends the call: a person has to answer first.
func (f *activeCall) waits(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.asks == nil {
		f.asks = err
	}
	f.cancel()
}

func (f *activeCall) waiting() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.asks
}

// activeCalls are the calls of a connection, by their tokens.
type activeCalls struct {
	mu   sync.Mutex
	last int
	on   map[string]*activeCall
}

func (f *activeCalls) begin(caller context.Context, limit time.Duration) *activeCall {
	ctx, cancel := context.WithCancel(caller)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	one := &activeCall{token: "call-" + strconv.Itoa(f.last), cancel: cancel, caller: caller, left: limit, since: time.Now()}
	one.timer = time.AfterFunc(limit, cancel)
	one.ctx = context.WithValue(ctx, activeCallKey{}, one)
	if f.on == nil {
		f.on = make(map[string]*activeCall)
	}
	f.on[one.token] = one
	return one
}

func (f *activeCalls) end(one *activeCall) {
	one.cancel()
	one.timer.Stop()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.on, one.token)
}

// alone reports whether there is no more than one call.
func (f *activeCalls) alone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.on) <= 1
}

// asking returns the call of a question: the call of the context or, because
// older revisions do not name it, the only active call. It is nil if there are several.
func (f *activeCalls) asking(ctx context.Context) *activeCall {
	if one, ok := ctx.Value(activeCallKey{}).(*activeCall); ok {
		return one
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.on) != 1 {
		return nil
	}
	for _, one := range f.on {
		return one
	}
	return nil
}

// progress passes on the progress of an active call.
func (f *activeCalls) progress(p *mcp.ProgressNotificationParams) {
	if p == nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	f.mu.Lock()
	one := f.on[token]
	f.mu.Unlock()
	if one != nil {
		tool.ReportProgress(one.caller, tool.Progress{Message: clip.Bytes(rpc.PlainText(p.Message), 400), Done: p.Progress, Total: p.Total})
	}
}

// sampled are the questions of one call.
type sampled struct {
	samples atomic.Int32
	usage   llm.Usage // with effects under the lock of the activeCall
	effects []tool.SideEffect
}
