package mcpbridge

import (
	"context"
	"strconv"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/tool"
)

// A flight is a call that a server is at.
type flight struct {
	token  string
	ctx    context.Context // of the request
	cancel context.CancelFunc
	caller context.Context // of the tool
}

// flights are the calls of a connection, by their tokens.
type flights struct {
	mu   sync.Mutex
	last int
	on   map[string]*flight
}

func (f *flights) begin(caller context.Context, limit time.Duration) *flight {
	ctx, cancel := context.WithTimeout(caller, limit)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.last++
	one := &flight{token: "call-" + strconv.Itoa(f.last), ctx: ctx, cancel: cancel, caller: caller}
	if f.on == nil {
		f.on = make(map[string]*flight)
	}
	f.on[one.token] = one
	return one
}

func (f *flights) end(one *flight) {
	one.cancel()
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.on, one.token)
}

// progress passes on what a server says of a call that it is at.
func (f *flights) progress(p *mcp.ProgressNotificationParams) {
	if p == nil {
		return
	}
	token, _ := p.ProgressToken.(string)
	f.mu.Lock()
	one := f.on[token]
	f.mu.Unlock()
	if one != nil {
		tool.ReportProgress(one.caller, tool.Progress{Message: clip(plainText(p.Message), 400), Done: p.Progress, Total: p.Total})
	}
}
