package relay

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
	"github.com/toolpost/toolpost/mcpbridge/serve"
	"github.com/toolpost/toolpost/tool"
)

// Relay passes a whole MCP server on to clients: messages go both ways as they
// are, in every revision, whatever their methods. Only calls of tools stop on the
// way: they are validated against the server's schemas, decided on by a policy, and
// recorded. All methods are safe for concurrent use.
type Relay struct {
	options serve.ServiceOptions
	*connection.Endpoint
	server  config.ServerConfig // with its variables replaced
	memory  toollist.Memory
	tell    func(config.Notice)
	up      upstream
	asking  *invoke.Runner
	alone   *invoke.Runner
	slots   chan struct{}
	life    context.Context
	end     context.CancelFunc
	closing sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	sessions map[string]*relayed     // by user and session, or connection
	reported map[string]journal.Hash // changes of tools that were told, by name
	noted    map[string]string       // what was told of tools that are not checked in full, by name
}

// relayTime is how long a call may take if the configuration does not say: the
// server may ask a person in the middle of it.
const relayTime = 10 * time.Minute

// New returns a relay of a server; programs use the method Relay of the client's Servers. Of the options' Runner the tools are
// not used, and results are never shortened.
func New(e *connection.Endpoint, tell func(config.Notice), options serve.ServiceOptions) (*Relay, error) {
	name := e.Name
	server, err := e.Current()
	if err != nil {
		return nil, fmt.Errorf("mcp: server %s: %w", name, err)
	}
	options = options.WithDefaults()
	r := &Relay{options: options, Endpoint: e, server: server, tell: tell, slots: make(chan struct{}, options.MaxCalls), sessions: make(map[string]*relayed)}
	r.life, r.end = context.WithCancel(context.Background())
	if r.memory, err = toollist.Remember(e.Dir, e.ServerConfig); err != nil {
		return nil, err
	}
	switch server.Kind() {
	case config.HTTP:
		login, err := e.Tokens(server)
		if err != nil {
			return nil, fmt.Errorf("mcp: server %s: %w", name, err)
		}
		r.up = r.newHTTPUpstream(login)
	case config.Stdio:
		r.up = newStdioUpstream(server, e.Supervised, func(why string) {
			r.tell(config.Notice{Server: name, Text: "ended: " + r.redact(why)})
		})
	default:
		return nil, fmt.Errorf("mcp: server %s is of type %s, which cannot be relayed", name, server.Kind())
	}
	r.alone = new(invoke.Runner)
	if options.Runner != nil {
		r.alone = options.Runner.With(nil)
	}
	r.alone.Approve, r.alone.LoopLimit, r.alone.Attempts, r.alone.Breaker, r.alone.Cache = nil, -1, 1, invoke.Breaker{Off: true}, false
	r.alone.Exact = !options.Coerce
	r.alone.Output.MaxChars, r.alone.Output.NoSpill = rpc.MaxFrame, true
	r.alone.Timeout = cmp.Or(server.Call, relayTime)
	r.asking = r.alone.With(nil)
	r.asking.Approve = caller.ApproveByClient
	return r, nil
}

// Close ends all sessions and the server, if it is a program of ours.
func (r *Relay) Close() error {
	r.end()
	r.mu.Lock()
	r.closed = true
	all := make([]*relayed, 0, len(r.sessions))
	for _, s := range r.sessions {
		all = append(all, s)
	}
	r.mu.Unlock()
	var ending sync.WaitGroup
	for _, s := range all {
		ending.Go(func() {
			r.drop(s)
			<-s.Done
			r.forget(s)
		})
	}
	ending.Wait()
	r.up.close()
	r.closing.Wait()
	return nil
}

// relayed is a session of a client, or a request that belongs to none.
type relayed struct {
	*caller.Account
	relay *Relay
	key   string // "" without a session
	place string // among the sessions and connections
	user  string
	who   string // the client, for the record
	forms bool   // the client can ask a person by a form
	drop  sync.Once

	inside  sync.Mutex
	tools   map[string]*relayedTool // nil until they were listed
	listed  time.Time               // when they were
	follows following
	changes int // how often the server said that its list changed
	active  map[string]context.CancelFunc
	late    map[string]chan []byte       // responses that may come by another stream
	waits   map[string]chan rpc.Envelope // answers to questions of ours
	asked   int
	calls   int // of a connection without a session
	used    time.Time
}

// relayedTool is a tool as the session's server described it.
type relayedTool struct {
	def   config.ServerTool
	print journal.Hash
	tool  tool.Tool
	// set is that of this tool alone.
	set *tool.Set
}

func (r *Relay) newSession(key, user string) *relayed {
	return &relayed{
		Account: caller.NewAccount(r.life, r.options.Record, r.options.Failed), relay: r, key: key, place: key, user: user, used: time.Now(), active: make(map[string]context.CancelFunc),
		late: make(map[string]chan []byte), waits: make(map[string]chan rpc.Envelope),
	}
}

// drop ends a session and seals its record.
func (r *Relay) drop(s *relayed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.place] == s {
		delete(r.sessions, s.place)
	}
	s.drop.Do(func() {
		s.Leave()
		if r.closed { // Close waits already
			go s.Finish()
			return
		}
		r.closing.Go(s.Finish)
	})
}

// session returns the session of a request, nil if there is none. The server may still know a
// session that is unknown here.
func (r *Relay) session(req *http.Request, make bool) *relayed {
	id := req.Header.Get("Mcp-Session-Id")
	if id == "" {
		return nil
	}
	key := caller.UserOf(req) + "\x00" + id
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[key]
	if s == nil && make {
		s = r.newSession(key, caller.UserOf(req))
		r.sessions[key] = s
	}
	if s != nil {
		s.touch()
	}
	return s
}

// connection returns what the requests of a client without a session share: those of one connection, from one user and one
// client.
func (r *Relay) connection(req *http.Request, info struct{ Name string }, capabilities json.RawMessage) *relayed {
	user := caller.UserOf(req)
	place := strings.Join([]string{connectionPlace(req.RemoteAddr), user, info.Name, string(capabilities)}, "\x00")
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[place]
	if s == nil {
		s = r.newSession("", user)
		s.place = place
		s.introduce(info, capabilities)
		r.sessions[place] = s
	}
	s.touch()
	return s
}

// knows reports whether a request is of a session or a connection that was admitted.
func (r *Relay) knows(req *http.Request) bool {
	if r.session(req, false) != nil {
		return true
	}
	begin := connectionPlace(req.RemoteAddr) + "\x00" + caller.UserOf(req) + "\x00"
	r.mu.Lock()
	defer r.mu.Unlock()
	for place := range r.sessions {
		if strings.HasPrefix(place, begin) {
			return true
		}
	}
	return false
}

// connectionPlace begins the places of the clients of a connection. No key of a user begins like it.
func connectionPlace(address string) string { return "\x01" + address }

// forget tells the server that a session is over.
func (r *Relay) forget(s *relayed) {
	if s.key != "" {
		r.up.end(s.key[len(s.user)+1:])
	}
}

// foreign reports whether the session of a request belongs to another key.
func (r *Relay) foreign(req *http.Request) bool {
	id := req.Header.Get("Mcp-Session-Id")
	if id == "" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[caller.UserOf(req)+"\x00"+id] != nil {
		return false
	}
	for _, s := range r.sessions {
		if s.key == s.user+"\x00"+id {
			return true
		}
	}
	return false
}

// admit makes room for another session of a user, and reports whether there is any: idle sessions end, and if there are too
// many, that of the client which was silent for longest.
func (r *Relay) admit(a serve.HTTPAccess, user string) bool {
	r.sweep(a.IdleTime)
	r.mu.Lock()
	all := make([]caller.Seat, 0, len(r.sessions))
	for _, s := range r.sessions {
		all = append(all, caller.Seat{ID: s.place, User: s.user, Idle: s.idle()})
	}
	id, room := caller.Admit(all, user, a.MaxSessions, a.MaxPerKey)
	old := r.sessions[id]
	r.mu.Unlock()
	if room && old != nil {
		r.drop(old)
		r.forget(old)
	}
	return room
}

// connectionIdle is how long a connection without a session may be silent until its record is sealed.
const connectionIdle = 5 * time.Minute

// sweep ends sessions that were silent for long.
func (r *Relay) sweep(idle time.Duration) {
	r.mu.Lock()
	var old []*relayed
	for _, s := range r.sessions {
		if limit := idle; s.idle() > limit || s.key == "" && s.idle() > min(limit, connectionIdle) {
			old = append(old, s)
		}
	}
	r.mu.Unlock()
	for _, s := range old {
		r.drop(s)
		r.forget(s)
	}
}

// sweepFrom sweeps regularly, which ends the programs of idle sessions.
func (r *Relay) sweepFrom(idle time.Duration) {
	tick := time.NewTicker(max(idle/4, time.Second))
	defer tick.Stop()
	for {
		select {
		case <-r.life.Done():
			return
		case <-tick.C:
			r.sweep(idle)
		}
	}
}

func (s *relayed) touch() {
	s.inside.Lock()
	defer s.inside.Unlock()
	s.used = time.Now()
}

func (s *relayed) idle() time.Duration {
	s.inside.Lock()
	defer s.inside.Unlock()
	if len(s.active) > 0 {
		return 0
	}
	return time.Since(s.used)
}

// introduce keeps what a client says of itself.
func (s *relayed) introduce(info struct{ Name string }, capabilities json.RawMessage) {
	var c struct {
		Elicitation *struct{ Form, URL json.RawMessage }
	}
	_ = json.Unmarshal(capabilities, &c)
	s.inside.Lock()
	defer s.inside.Unlock()
	s.who = clip.Bytes(rpc.PlainText(info.Name), 60)
	s.forms = c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}
