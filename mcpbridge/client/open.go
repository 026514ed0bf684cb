package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
)

// opened is the outcome of an attempt to connect.
type opened struct {
	live *liveSession // nil if err is not
	list *toollist.List
	seen int32 // changes that were announced before list was read
	err  error
	// older means that the server may only know the older transport.
	older bool
}

var errSlow = errors.New("the server did not answer in time")

// open connects within the server's time.
func (l *remote) open() (*liveSession, *toollist.List, int32, error) {
	s, err := l.Current()
	if err != nil {
		return nil, nil, 0, err
	}
	revision := s.Revision()
	if revision == "" {
		l.mu.Lock()
		revision = l.record.Revision
		l.mu.Unlock()
	}
	ctx, cancel := context.WithTimeoutCause(l.host.life, s.ConnectTimeout(), errSlow)
	defer cancel()
	var o opened
	if revision == "" && s.Kind() == config.HTTP {
		o = l.openEither(ctx, s)
	} else {
		o = l.openAs(ctx, s, revision)
	}
	if revision == "" && connection.Lost(o.err) && ctx.Err() == nil {
		o = l.openAs(ctx, s, rpc.Legacy) // it ends when it is asked in the newest way
	}
	if o.err != nil && o.older && s.Revision() != rpc.Newest && ctx.Err() == nil {
		o = l.openOlder(ctx, s, o)
	}
	if errors.Is(o.err, errSlow) {
		o.err = fmt.Errorf("%w (%s)%s", errSlow, s.ConnectTimeout(), strings.TrimPrefix(o.err.Error(), errSlow.Error()))
		if s.Connect == 0 {
			o.err = fmt.Errorf("%w; if it needs longer, for example to be installed, set connect_timeout", o.err)
		}
	}
	return o.live, o.list, o.seen, o.err
}

// openEither asks an HTTP server in the newest way. A server that is silent for half of its time is asked in the older
// way, too, and the first connection is used.
func (l *remote) openEither(ctx context.Context, s config.ServerConfig) opened {
	ends := make(chan opened, 2)
	newest, stopNewest := context.WithCancel(ctx)
	older, stopOlder := context.WithCancel(ctx)
	l.host.running.Go(func() { defer stopNewest(); ends <- l.openAs(newest, s, "") })
	half := time.NewTimer(s.ConnectTimeout() / 2)
	defer half.Stop()
	select {
	case o := <-ends:
		stopOlder()
		return o
	case <-half.C:
	}
	l.host.running.Go(func() { defer stopOlder(); ends <- l.openAs(older, s, rpc.Legacy) })
	first := <-ends
	if first.err != nil {
		if second := <-ends; second.err == nil || errors.Is(first.err, errSlow) {
			return second
		}
		return first
	}
	stopNewest()
	stopOlder()
	l.host.running.Go(func() {
		if second := <-ends; second.err == nil {
			second.live.kill()
		}
	})
	return first
}

// openOlder connects by server-sent events, as the protocol demands of clients whose first POST is refused.
func (l *remote) openOlder(ctx context.Context, s config.ServerConfig, refused opened) opened {
	s.Transport = config.SSE
	o := l.openAs(ctx, s, rpc.Legacy)
	if o.err != nil {
		refused.err = fmt.Errorf("%w (nor does it answer as a server of type sse)", refused.err)
		return refused
	}
	l.host.notify(config.Notice{Server: l.Name, Text: "uses the older transport; set type: sse, which saves a request"})
	return o
}

// openAs connects in one way. The end of ctx ends the attempt.
func (l *remote) openAs(ctx context.Context, s config.ServerConfig, revision string) opened {
	// A connection outlives the life of the servers by the time it takes to say
	// good-bye.
	life, end := context.WithCancel(context.Background())
	live := &liveSession{end: end, kind: s.Kind()}
	live.heard.Progress = live.calls.progress
	transport, err := l.dial(life, s, live)
	if err != nil {
		end()
		return opened{err: err}
	}
	stop := context.AfterFunc(ctx, func() {
		end()
		if live.process != nil {
			live.process.Cancel()
		}
	})
	client := toollist.NewClient(&mcp.Implementation{Name: "toolpost", Version: l.host.options.Version}, l.handlers(live))
	client.AddReceivingMiddleware(l.refuseSampling, l.takeElicitation(live))
	allowTasks(client)
	var o opened
	live.session, err = client.Connect(life, transport, &mcp.ClientSessionOptions{ProtocolVersion: revision})
	if err == nil {
		err = demanded(s, live.session)
	}
	if err == nil {
		l.wantLogs(life, live)
		o.live = live
		o.list, o.seen, err = l.readTools(life, live)
	}
	if stop() && err == nil {
		return o
	}
	ended := live.lastWords(connection.Lost(err))
	live.kill()
	slow := context.Cause(ctx) == errSlow
	switch {
	case connection.WantsLogin(err) != nil:
		err = connection.WantsLogin(err)
	case slow && ended != "":
		err = fmt.Errorf("%w; %s", errSlow, ended)
	case slow:
		err = errSlow
	case ctx.Err() != nil:
		err = ctx.Err()
	case ended != "" && connection.Lost(err):
		err = &endedError{ended, err}
	case ended != "":
		err = &endedError{connection.PlainError(err) + "; " + ended, err}
	}
	return opened{err: err, older: s.Kind() == config.HTTP && live.heard.OlderTransport()}
}

// demanded returns an error if a session is of another revision than the configuration demands.
func demanded(s config.ServerConfig, session *mcp.ClientSession) error {
	got := session.InitializeResult().ProtocolVersion
	if s.Revision() != rpc.Newest || got == rpc.Newest {
		return nil
	}
	return fmt.Errorf("the server speaks revision %s of the protocol, and its setting protocol demands %s", got, rpc.Newest)
}

// readTools reads the list of a connection, and returns how many changes were announced before. A list that the server
// changes meanwhile is read again.
func (l *remote) readTools(ctx context.Context, live *liveSession) (*toollist.List, int32, error) {
	for attempt := 1; ; attempt++ {
		seen := live.heard.ListChanges()
		list, err := l.ReadTools(ctx, live.session)
		if err != nil || live.heard.ListChanges() == seen || attempt == maxListAttempts {
			return list, seen, err
		}
	}
}

// maxListAttempts limits how often a list that changes while it is read is read again. It is read again before the next
// call or turn then.
const maxListAttempts = 3

// lastWords ends the program of a connection that failed, and returns what it had to say;
// if it ended by itself, how.
func (c *liveSession) lastWords(byItself bool) string {
	if c.process == nil {
		return ""
	}
	c.process.Close()
	said := c.process.Stderr.LastLines(3)
	if byItself {
		said = c.process.Why()
	}
	if printed := c.process.Printed(); printed != "" {
		said = strings.TrimPrefix(said+"; ", "; ") + "on its standard output, where messages belong: " + printed
	}
	if byItself || said == "" {
		return said
	}
	return "it said: " + said
}

// endedError is the error of a connection that could not be made, in words that say
// what the program had to say, too.
type endedError struct {
	text string
	err  error
}

func (e *endedError) Error() string { return e.text }

func (e *endedError) Unwrap() error { return e.err }

// dial starts the server, if it is a program of ours, or names its address.
func (l *remote) dial(life context.Context, s config.ServerConfig, live *liveSession) (mcp.Transport, error) {
	if s.Kind() != config.Stdio {
		login, err := l.Tokens(s)
		if err != nil {
			return nil, err
		}
		return connection.NewHTTPTransport(life, s, login, &live.heard)
	}
	process, err := l.Start(s)
	if err == nil {
		process.Heard = &live.heard
	}
	live.process = process
	return process, err
}
