package client

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/relay"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// Options are what all servers share. The zero value is a safe choice.
type Options struct {
	// Dir is the folder in which lists and accepted definitions are kept between
	// runs, one file for each server. Empty keeps them no longer than the Servers.
	Dir string
	// Lookup returns the value of a variable; nil knows none.
	Lookup func(name string) (string, bool)
	// Wait is how long [Servers.Tools] waits for servers whose tools are not known;
	// 0 means 10 s. A server that comes later is used from the next turn on.
	Wait time.Duration
	// Supervised runs Stdio servers under a supervisor: everything they
	// start ends with them and with this process. The supervisor is the program of this process,
	// whose main must call builtin.Supervise first. Only Linux has it.
	Supervised bool
	// Notify is told what a person should know: servers that are not there, tools
	// that were changed or left out. It is called by one goroutine at a time.
	Notify func(config.Notice)
	// Changed is told when a server says that its tools have changed, or has come with
	// tools that were not known; [Servers.Refresh] has them. It must not wait for
	// anything.
	Changed func()
	// Sample asks the model of the run for a server that may ask it (see
	// ServerConfig.Sampling); nil means no model. The receipt of the call has its usage.
	Sample func(ctx context.Context, server string, req *llm.Request) (*llm.Response, error)
	// Log gets the log messages of servers, cleaned and bounded. Nil means that servers are not asked for any.
	Log func(server, level, text string)
	// Secrets are values that must not reach a person, the model or the stored state through a
	// server. Nil knows none.
	Secrets *journal.Secrets
	// Version is that of the program, which servers are told.
	Version string
}

// Servers are MCP servers that are started when they are needed. All methods are
// safe for concurrent use. The caller of Open closes them.
type Servers struct {
	options Options
	remotes []*remote
	life    context.Context
	end     context.CancelFunc
	running sync.WaitGroup
	telling sync.Mutex
}

// Open returns the servers and starts none. It refuses configurations that cannot
// be honoured and two servers of one name.
func Open(options Options, servers ...config.ServerConfig) (*Servers, error) {
	s := &Servers{options: options}
	s.life, s.end = context.WithCancel(context.Background())
	names := make(map[string]bool)
	for _, config := range servers {
		if err := config.Check(); err != nil {
			return nil, err
		}
		if names[config.Name] {
			return nil, fmt.Errorf("mcp: two servers are called %s", config.Name)
		}
		names[config.Name] = true
		record, err := toollist.Remember(options.Dir, config)
		if err != nil {
			return nil, fmt.Errorf("mcp: what is known of server %s: %w", config.Name, err)
		}
		l := &remote{host: s, record: record, Endpoint: &connection.Endpoint{
			ServerConfig: config, Dir: options.Dir, Lookup: options.Lookup, Supervised: options.Supervised, Hidden: options.Secrets,
		}}
		if record.List != nil {
			l.list = toollist.New(record.List)
		}
		l.rebuild()
		s.remotes = append(s.remotes, l)
	}
	return s, nil
}

// Close ends all servers and waits until they have ended.
func (s *Servers) Close() error {
	s.end()
	var closing sync.WaitGroup
	for _, l := range s.remotes {
		closing.Go(l.close)
	}
	closing.Wait()
	s.running.Wait()
	return nil
}

func (s *Servers) notify(n config.Notice) {
	if s.options.Notify == nil {
		return
	}
	n.Tool, _ = s.options.Secrets.RedactValues(n.Tool)
	n.Text, _ = s.options.Secrets.RedactValues(n.Text)
	s.telling.Lock()
	defer s.telling.Unlock()
	s.options.Notify(n)
}

// enabled yields the servers that may be used.
func (s *Servers) enabled() []*remote {
	return slices.DeleteFunc(slices.Clone(s.remotes), func(l *remote) bool { return l.Disabled || l.Tools != nil && len(l.Tools) == 0 })
}

const defaultWait = 10 * time.Second

// Tools returns the tools of all servers, in the order of the servers. Servers without a known list
// are started together, and waited for up to Options.Wait. A server that is not ready by then has no
// tools, and is reported.
func (s *Servers) Tools(ctx context.Context) (*tool.Set, error) {
	wait := s.options.Wait
	if wait == 0 {
		wait = defaultWait
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errLate)
	defer cancel()
	var listing sync.WaitGroup
	for _, l := range s.enabled() {
		if l.known() {
			continue
		}
		listing.Go(func() {
			if _, err := l.connect(ctx); err != nil && ctx.Err() != nil {
				s.notify(config.Notice{Server: l.Name, Text: fmt.Sprintf("has not answered within %s; its tools are used as soon as it has, for which it has %s (connect_timeout)", wait, l.ConnectTimeout())})
			}
		})
	}
	listing.Wait()
	if err := ctx.Err(); err != nil && !errors.Is(context.Cause(ctx), errLate) {
		return nil, err
	}
	return s.current()
}

var errLate = errors.New("mcp: some servers are late")

// Connect starts the named server, if it does not run, and reads its list.
func (s *Servers) Connect(ctx context.Context, name string) error {
	l, err := s.named(name)
	if err != nil {
		return err
	}
	if _, err := l.connect(ctx); err != nil {
		return fmt.Errorf("mcp: server %s: %w", name, err)
	}
	return nil
}

// Approve starts the named server and accepts the current definitions of its tools.
// It returns the names of the tools that were not accepted before.
func (s *Servers) Approve(ctx context.Context, name string) ([]string, error) {
	if err := s.Connect(ctx, name); err != nil {
		return nil, err
	}
	l, _ := s.named(name)
	l.mu.Lock()
	defer l.mu.Unlock()
	names := l.record.Approve(l.list)
	l.rebuild()
	return names, l.record.Save(s.options.Dir, l.ServerConfig)
}

// Changes returns the tools of the named server that it describes otherwise, when it was
// last listed, than when they were accepted.
func (s *Servers) Changes(name string) []config.ToolChange {
	l, err := s.named(name)
	if err != nil {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list == nil {
		return nil
	}
	return l.record.Changes(l.list)
}

// Relay returns a relay of the named server. Of the options' Runner the tools are
// not used, and results are never shortened.
func (s *Servers) Relay(name string, options serve.ServiceOptions) (*relay.Relay, error) {
	l, err := s.named(name)
	if err != nil {
		return nil, err
	}
	return relay.New(l.Endpoint, s.notify, options)
}

func (s *Servers) named(name string) (*remote, error) {
	i := slices.IndexFunc(s.remotes, func(l *remote) bool { return l.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("mcp: no server is called %s", name)
	}
	if s.remotes[i].Disabled {
		return nil, fmt.Errorf("mcp: server %s is not enabled", name)
	}
	return s.remotes[i], nil
}

// Definitions returns what the named server said of its tools when it was last
// listed, and whether each is used.
func (s *Servers) Definitions(name string) (defs []config.ServerTool, used func(tool string) bool) {
	l, err := s.named(name)
	if err != nil {
		return nil, func(string) bool { return false }
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.list != nil {
		defs = slices.Clone(l.list.Defs)
	}
	offered := l.offer.names
	return defs, func(tool string) bool { return offered[tool] != "" }
}

// Status returns the state of each server, in their order.
func (s *Servers) Status() []Status {
	out := make([]Status, len(s.remotes))
	for i, l := range s.remotes {
		out[i] = l.status()
	}
	return out
}

// Original returns the server and the tool of the name of a tool that is offered now.
func (s *Servers) Original(name string) (server, tool string, ok bool) {
	for _, l := range s.remotes {
		l.mu.Lock()
		for own, offered := range l.offer.names {
			if offered == name {
				server, tool, ok = l.Name, own, true
			}
		}
		l.mu.Unlock()
	}
	return server, tool, ok
}

func (s *Servers) current() (*tool.Set, error) {
	var sets []*tool.Set
	for _, l := range s.enabled() {
		l.mu.Lock()
		sets = append(sets, l.offer.set)
		l.mu.Unlock()
	}
	set, err := tool.Join(sets...)
	if err != nil {
		return nil, fmt.Errorf("mcp: %w", err)
	}
	return set, nil
}

// BeforeTurn returns an [agent.Agent.BeforeTurn] for a run that began with the tools
// first, of these servers, whatever others it has. Before each turn it reads the lists
// that changed, and has the model and the runner use the tools that the servers have
// then. Servers that are not there are tried again meanwhile.
func (s *Servers) BeforeTurn(first *tool.Set) func(context.Context, *agent.TurnStart) error {
	began := nameSet(first)
	return func(ctx context.Context, plan *agent.TurnStart) error {
		s.catchUp(ctx)
		now, err := s.current()
		if err != nil {
			return err
		}
		plan.Set = now
		plan.Tools = replan(plan.Tools, began, now)
		return nil
	}
}

// Refresh reads the lists that changed and returns the tools of all servers then.
func (s *Servers) Refresh(ctx context.Context) (*tool.Set, error) {
	s.catchUp(ctx)
	return s.current()
}

// changed tells that there may be other tools now.
func (s *Servers) changed() {
	if s.options.Changed != nil {
		s.options.Changed()
	}
}

// catchUp reads the lists that changed and tries servers that are not there, without
// waiting for these.
func (s *Servers) catchUp(ctx context.Context) {
	var reading sync.WaitGroup
	for _, l := range s.enabled() {
		if !l.known() {
			_, _, _ = l.attempt() // an error is reported by those who need the server
			continue
		}
		reading.Go(func() { l.refresh(ctx) })
	}
	reading.Wait()
}

// replan replaces the definitions of servers by the current ones. began are the names at the
// beginning of the run: a name among them that was not offered then is not offered now.
func replan(offered []llm.ToolDef, began map[string]bool, now *tool.Set) []llm.ToolDef {
	var out []llm.ToolDef
	for _, d := range offered {
		t, there := now.Lookup(d.Name)
		switch {
		case there:
			out = append(out, t.Def())
		case !began[d.Name]:
			out = append(out, d) // not of a server
		}
	}
	for t := range now.All() {
		if !began[t.Name] {
			out = append(out, t.Def())
		}
	}
	return out
}

func nameSet(s *tool.Set) map[string]bool {
	out := make(map[string]bool, s.Len())
	for _, name := range s.Names() {
		out[name] = true
	}
	return out
}
