package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
)

// ServerState is how far a server has come. Each state includes those before it.
type ServerState int

// The states of a server.
const (
	Configured ServerState = iota // nothing is known but how to reach it
	Listed                        // its tools are known, perhaps from an earlier run
	Started                       // it runs, or its session is open
	Used                          // a tool of it was called
)

// String returns the state in one word.
func (s ServerState) String() string {
	return [...]string{"configured", "listed", "started", "used"}[min(max(s, Configured), Used)]
}

// remote is one configured server and its state. All methods are safe for concurrent
// use.
type remote struct {
	*connection.Endpoint
	host *Servers

	mu     sync.Mutex
	live   *liveSession   // nil if there is none
	trying chan struct{}  // closed when the attempt to connect is over; nil without one
	list   *toollist.List // nil until it is known
	fresh  bool           // list is of the live connection
	seen   int32          // how many changes of its list the live connection had announced before list was read
	used   bool
	record toollist.Memory   // the state that is kept between runs
	offer  offer             // the tools that are offered now
	noted  map[string]string // what was told of tools, by name
	failed error             // why there is no connection
	tries  int               // attempts in a row that failed
	retry  time.Time
}

// liveSession is an open session.
type liveSession struct {
	session *mcp.ClientSession
	process *connection.Process // nil without one
	calls   activeCalls
	heard   connection.Heard
	kind    config.Transport   // that is used, which may be another one than is configured
	end     context.CancelFunc // ends the requests of an HTTP server
}

// kill ends the connection, whatever the server does.
func (c *liveSession) kill() {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		if c.session != nil {
			_ = c.session.Close()
		}
	}()
	select {
	case <-closed:
	case <-time.After(2 * rpc.Patience):
	}
	if c.process != nil {
		c.process.Kill()
	}
	c.end()
	<-closed
}

// Backoff between attempts to connect: doubled each time.
const (
	firstWait = time.Second
	longWait  = time.Minute
)

// connect returns an open connection whose list is known. It waits for an attempt
// that is under way; ctx bounds the waiting, not the attempt.
func (l *remote) connect(ctx context.Context) (*liveSession, error) {
	trying, live, err := l.attempt()
	if live != nil || err != nil {
		return live, err
	}
	select {
	case <-trying:
	case <-ctx.Done():
		return nil, fmt.Errorf("the server is not ready yet: %w", ctx.Err())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil {
		return nil, l.failed
	}
	return l.live, nil
}

// attempt begins to connect unless that is done, under way or must wait.
func (l *remote) attempt() (trying <-chan struct{}, live *liveSession, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.live != nil:
		return nil, l.live, nil
	case l.trying != nil:
		return l.trying, nil, nil
	case l.host.life.Err() != nil:
		return nil, nil, errors.New("the servers were closed")
	case time.Now().Before(l.retry):
		return nil, nil, fmt.Errorf("%w; the next attempt is in %s", l.failed, time.Until(l.retry).Round(time.Second))
	}
	l.trying = make(chan struct{})
	l.host.running.Go(l.try)
	return l.trying, nil, nil
}

// try connects and reads the list.
func (l *remote) try() {
	live, list, seen, err := l.open()
	l.mu.Lock()
	defer l.mu.Unlock()
	defer func() {
		close(l.trying)
		l.trying = nil
	}()
	if err == nil && l.host.life.Err() != nil {
		err = errors.New("the servers were closed")
		live.kill()
	}
	if err != nil {
		l.tries++
		l.retry = time.Now().Add(min(firstWait<<min(l.tries-1, 10), longWait))
		l.failed = errors.New(l.Redact(connection.PlainError(err)))
		l.host.notify(config.Notice{Server: l.Name, Text: "is not there: " + l.failed.Error()})
		return
	}
	l.live, l.failed, l.tries = live, nil, 0
	if l.list == nil || l.list.Hash != list.Hash {
		l.host.changed()
	}
	l.take(list, seen)
	l.host.running.Go(func() { l.watch(live) })
}

// watch forgets a connection when it ends.
func (l *remote) watch(live *liveSession) {
	err := live.session.Wait()
	l.mu.Lock()
	gone := l.live == live
	if gone {
		l.live, l.fresh = nil, false
	}
	l.mu.Unlock()
	why := l.Redact(live.why(err)) // a program takes time to end
	l.mu.Lock()
	if gone && l.live == nil && l.trying == nil {
		l.failed = errors.New(why)
	}
	l.mu.Unlock()
	live.kill()
	if gone && l.host.life.Err() == nil {
		l.host.notify(config.Notice{Server: l.Name, Text: "ended: " + why})
	}
}

// pingTime is how long a server that has not answered a call may take to answer a ping.
const pingTime = 5 * time.Second

// alive reports whether a server that has not answered a call answers at all. Otherwise the server
// is ended, unless other calls wait for it, too.
func (l *remote) alive(live *liveSession) bool {
	if !live.calls.alone() {
		return true
	}
	ctx, cancel := context.WithTimeout(l.host.life, pingTime)
	defer cancel()
	if err := live.session.Ping(ctx, nil); err == nil || ctx.Err() == nil && !connection.Lost(err) || l.host.life.Err() != nil {
		return true // what it answers does not matter
	}
	l.drop(live, "answers neither the call nor a ping; it was ended, and is started again when it is needed")
	return false
}

// drop gives a connection up, and reports why. The next call starts another one.
func (l *remote) drop(live *liveSession, why string) {
	l.mu.Lock()
	gone := l.live == live
	if gone {
		l.live, l.fresh = nil, false
		l.host.running.Go(live.kill) // under the lock: Close waits for it
	}
	l.mu.Unlock()
	if gone && live.process != nil {
		live.process.Cancel()
	}
	if gone && why != "" {
		l.host.notify(config.Notice{Server: l.Name, Text: why})
	}
}

// why returns how a connection ended.
func (c *liveSession) why(err error) string {
	if c.process != nil {
		select {
		case <-c.process.Ended():
		case <-time.After(rpc.Patience): // its output ended before it
		}
		if why := c.process.Why(); why != "" {
			return why
		}
	}
	if err == nil {
		return "the server closed the connection"
	}
	return err.Error()
}

// handlers are what the server may ask us and tell us.
func (l *remote) handlers(live *liveSession) *mcp.ClientOptions {
	o := &mcp.ClientOptions{
		Capabilities: &mcp.ClientCapabilities{Elicitation: &mcp.ElicitationCapabilities{Form: &mcp.FormElicitationCapabilities{}, URL: &mcp.URLElicitationCapabilities{}}},
		ToolListChangedHandler: func(context.Context, *mcp.ToolListChangedRequest) {
			l.mu.Lock()
			defer l.mu.Unlock()
			if l.live == live {
				l.host.changed()
			}
		},
		ElicitationHandler: func(ctx context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return l.elicit(ctx, live, req.Params)
		},
	}
	o.Capabilities.AddExtension(rpc.TasksExtension, nil)
	l.hearLogs(o)
	l.allowSampling(live, o)
	return o
}

// logLevel is the least level of the log messages that servers are asked for.
const logLevel = "info"

// take makes a list the current one, which was read after the server had announced so many changes. The caller holds the
// lock.
func (l *remote) take(list *toollist.List, seen int32) {
	l.list, l.fresh, l.seen = list, true, seen
	for _, n := range list.Unusable {
		l.host.notify(n)
	}
	for _, n := range l.record.Learn(l.ServerConfig, list) {
		l.host.notify(n)
	}
	l.record.List = list.Defs
	if l.ServerConfig.Revision() == "" && l.live != nil && l.live.session.InitializeResult().ProtocolVersion <= rpc.Legacy {
		l.record.Revision = rpc.Legacy
	}
	if l.live != nil {
		c := l.live.session.InitializeResult().Capabilities
		l.record.Resources = c != nil && c.Resources != nil
	}
	if err := l.record.Save(l.Dir, l.ServerConfig); err != nil {
		l.host.notify(config.Notice{Server: l.Name, Text: "cannot be remembered: " + err.Error()})
	}
	l.rebuild()
}

// stale reports whether the list should be read again: the server announced a change, or the time of the list is over.
func (l *remote) stale() (live *liveSession, changed, old bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live == nil {
		return nil, false, false
	}
	return l.live, l.live.heard.ListChanges() != l.seen, l.list != nil && l.list.TTL > 0 && time.Since(l.list.At) > l.list.TTL
}

// refresh reads the list again if the server said that it changed. A list that
// cannot be read leaves the old one.
func (l *remote) refresh(ctx context.Context) {
	live, changed, old := l.stale()
	if !changed && !old {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, l.ConnectTimeout())
	defer cancel()
	list, seen, err := l.readTools(ctx, live)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.live != live {
		return
	}
	if err != nil {
		l.host.notify(config.Notice{Server: l.Name, Text: "changed its tools, and the new list cannot be read: " + l.Redact(err.Error())})
		return
	}
	l.take(list, seen)
}

// close ends the connection.
func (l *remote) close() {
	l.mu.Lock()
	live := l.live
	l.live = nil
	l.mu.Unlock()
	if live != nil {
		live.kill()
	}
}

// Status is the state of a server.
type Status struct {
	Name      string
	Transport config.Transport // that is used; without a connection, that of the configuration
	State     ServerState
	Tools     int    // that are offered
	ListHash  string // of all that the server listed
	Revision  string // of the protocol; "" without a connection
	// Err is why the server is not available; nil if it is, or was never started.
	Err error
	// Stderr is the end of what a running Stdio server wrote there.
	Stderr   string
	Disabled bool
}

func (l *remote) status() Status {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := Status{Name: l.Name, Transport: l.Kind(), Err: l.failed, Tools: l.offer.set.Len(), Disabled: l.Disabled}
	if l.list != nil {
		s.State, s.ListHash = Listed, string(l.list.Hash)
	}
	if l.live == nil {
		return s
	}
	s.State, s.Transport, s.Revision = Started, l.live.kind, l.live.session.InitializeResult().ProtocolVersion
	if l.used {
		s.State = Used
	}
	if l.live.process != nil {
		s.Stderr = l.RedactHidden(l.live.process.Stderr.String())
	}
	return s
}
