package mcpbridge

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/tool"
)

// Relay passes a whole MCP server on to clients: messages go both ways as they
// are, in every revision, whatever their methods. Only calls of tools stop on the
// way: they are validated against the server's schemas, decided on by a policy, and
// recorded. All methods are safe for concurrent use.
type Relay struct {
	options ServiceOptions
	*endpoint
	server  ServerConfig // with its variables replaced
	memory  memory
	tell    func(Notice)
	up      upstream
	asking  *invoke.Runner
	alone   *invoke.Runner
	slots   chan struct{}
	life    context.Context
	end     context.CancelFunc
	closing sync.WaitGroup

	mu       sync.Mutex
	closed   bool
	sessions map[string]*relayed     // by user and session
	reported map[string]journal.Hash // changes of tools that were told, by name
}

// upstream is the server, which is spoken to as over HTTP.
type upstream interface {
	roundTrip(*http.Request) (*http.Response, error)
	// end ends a session that its client has left without a word.
	end(session string)
	// alive reports whether a session can still be there.
	alive(session string) bool
	// mute reports whether there is nothing without a session before the newest
	// revision.
	mute() bool
	close()
}

// relayTime is how long a call may take if the configuration does not say: the
// server may ask a person in the middle of it.
const relayTime = 10 * time.Minute

// newRelay returns a relay of a server. Of the options' Runner the tools are
// not used, and results are never shortened.
func newRelay(e *endpoint, tell func(Notice), options ServiceOptions) (*Relay, error) {
	name := e.Name
	server, err := e.current()
	if err != nil {
		return nil, fmt.Errorf("mcp: server %s: %w", name, err)
	}
	options = options.WithDefaults()
	r := &Relay{options: options, endpoint: e, server: server, tell: tell, slots: make(chan struct{}, options.MaxCalls), sessions: make(map[string]*relayed)}
	r.life, r.end = context.WithCancel(context.Background())
	if r.memory, err = remember(e.Dir, e.ServerConfig); err != nil {
		return nil, err
	}
	switch server.transport() {
	case HTTP:
		login, err := e.tokens(server)
		if err != nil {
			return nil, fmt.Errorf("mcp: server %s: %w", name, err)
		}
		r.up = r.newHTTPUpstream(login)
	case Stdio:
		r.up = newStdioUpstream(server, e.Supervised, func(why string) {
			r.tell(Notice{Server: name, Text: "ended: " + r.redact(why)})
		})
	default:
		return nil, fmt.Errorf("mcp: server %s is of type %s, which cannot be relayed", name, server.transport())
	}
	r.alone = new(invoke.Runner)
	if options.Runner != nil {
		r.alone = options.Runner.With(nil)
	}
	r.alone.Approve, r.alone.LoopLimit, r.alone.Attempts, r.alone.Breaker, r.alone.Cache = nil, -1, 1, invoke.Breaker{Off: true}, false
	r.alone.Output.MaxChars, r.alone.Output.NoSpill = maxFrame, true
	r.alone.Timeout = cmp.Or(server.Call, relayTime)
	r.asking = r.alone.With(nil)
	r.asking.Approve = approveByClient
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
			<-s.over
			r.up.end(s.key[len(s.user)+1:])
		})
	}
	ending.Wait()
	r.up.close()
	r.closing.Wait()
	return nil
}

// relayed is a session of a client, or a request that belongs to none.
type relayed struct {
	*account
	relay *Relay
	key   string
	user  string
	who   string // the client, for the record
	forms bool   // the client can ask a person by a form
	drop  sync.Once

	inside  sync.Mutex
	tools   map[string]*relayedTool // nil until they were listed
	changes int                     // how often the server said that its list changed
	active  map[string]context.CancelFunc
	late    map[string]chan []byte   // responses that may come by another stream
	waits   map[string]chan envelope // answers to questions of ours
	asked   int
	used    time.Time
}

// relayedTool is a tool as the session's server described it.
type relayedTool struct {
	def   ServerTool
	print journal.Hash
	tool  tool.Tool
	// set is that of this tool alone.
	set *tool.Set
}

func (r *Relay) newSession(key, user string) *relayed {
	return &relayed{
		account: newAccount(r.life, r.options.Record, r.options.Failed), relay: r, key: key, user: user, used: time.Now(), active: make(map[string]context.CancelFunc),
		late: make(map[string]chan []byte), waits: make(map[string]chan envelope),
	}
}

// drop ends a session and seals its record.
func (r *Relay) drop(s *relayed) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[s.key] == s {
		delete(r.sessions, s.key)
	}
	s.drop.Do(func() {
		s.leave()
		if r.closed { // Close waits already
			go s.finish()
			return
		}
		r.closing.Go(s.finish)
	})
}

// session returns the session of a request, nil if there is none. The server may still know a
// session that is unknown here.
func (r *Relay) session(req *http.Request, make bool) *relayed {
	id := req.Header.Get("Mcp-Session-Id")
	if id == "" {
		return nil
	}
	key := userOf(req) + "\x00" + id
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.sessions[key]
	if s == nil && make {
		s = r.newSession(key, userOf(req))
		r.sessions[key] = s
	}
	if s != nil {
		s.touch()
	}
	return s
}

// foreign reports whether the session of a request belongs to another key.
func (r *Relay) foreign(req *http.Request) bool {
	id := req.Header.Get("Mcp-Session-Id")
	if id == "" {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessions[userOf(req)+"\x00"+id] != nil {
		return false
	}
	for _, s := range r.sessions {
		if s.key == s.user+"\x00"+id {
			return true
		}
	}
	return false
}

// full reports whether there are too many sessions, after it ended the idle ones.
func (r *Relay) full(a HTTPAccess) bool {
	n := r.sweep(a.IdleTime)
	return n >= a.MaxSessions
}

// sweep ends sessions that were silent for long, and returns how many there are.
func (r *Relay) sweep(idle time.Duration) int {
	r.mu.Lock()
	var old []*relayed
	for _, s := range r.sessions {
		if s.idle() > idle {
			old = append(old, s)
		}
	}
	n := len(r.sessions) - len(old)
	r.mu.Unlock()
	for _, s := range old {
		r.drop(s)
		r.up.end(s.key[len(s.user)+1:])
	}
	return n
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
	s.who = clip.Bytes(plainText(info.Name), 60)
	s.forms = c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// httpUpstream is a server over HTTP.
type httpUpstream struct {
	client *http.Client
	home   string
}

func (r *Relay) newHTTPUpstream(login *tokens) upstream {
	client := outbound.New(outbound.Rules{Connect: r.server.connectTimeout(), Redirect: sameServer})
	home := mustURL(r.server.URL)
	client.Transport = &guarded{life: context.Background(), home: home, headers: r.server.Headers, login: login, next: client.Transport}
	return &httpUpstream{client, r.server.URL}
}

// alive implements [upstream]: only the server knows.
func (u *httpUpstream) alive(string) bool { return true }

// mute implements [upstream]: there are servers without sessions.
func (u *httpUpstream) mute() bool { return false }

func (u *httpUpstream) close() { u.client.CloseIdleConnections() }

func (u *httpUpstream) end(session string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, u.home, nil)
	if err != nil {
		return
	}
	req.Header.Set("Mcp-Session-Id", session)
	if resp, err := u.client.Do(req); err == nil {
		resp.Body.Close()
	}
}

// passed are the headers of requests that the server gets, and of answers that the
// client gets. Credentials are of one connection each.
var (
	passed   = []string{"Accept", "Content-Type", "Last-Event-Id", "Mcp-Session-Id", "Mcp-Protocol-Version", "Mcp-Method", "Mcp-Name"}
	returned = []string{"Content-Type", "Mcp-Session-Id", "Mcp-Protocol-Version", "Allow", "Retry-After", "Cache-Control"}
)

func (u *httpUpstream) roundTrip(req *http.Request) (*http.Response, error) {
	out, err := http.NewRequestWithContext(req.Context(), req.Method, u.home, req.Body)
	if err != nil {
		return nil, err
	}
	out.ContentLength, out.GetBody = req.ContentLength, req.GetBody
	out.Header = req.Header
	if req.Header.Get("Mcp-Method") != "subscriptions/listen" { // which counts when it is answered
		dispatched(req.Context())
	}
	resp, err := u.client.Do(out)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode == http.StatusUnauthorized || resp.StatusCode == http.StatusProxyAuthRequired {
		resp.Body.Close()
		return nil, errors.New("the server wants a key that it was not given")
	}
	return resp, nil
}

// requestTo makes a request to the server from one of a client.
func requestTo(ctx context.Context, from *http.Request, body []byte) *http.Request {
	var text io.Reader
	if body != nil {
		text = bytes.NewReader(body)
	}
	req, _ := http.NewRequestWithContext(ctx, from.Method, "http://relay.invalid/", text) // a method that was read is valid
	for _, name := range passed {
		if v := from.Header.Values(name); len(v) > 0 {
			req.Header[name] = v
		}
	}
	for name, v := range from.Header {
		if len(name) > len("Mcp-Param-") && name[:len("Mcp-Param-")] == "Mcp-Param-" {
			req.Header[name] = v
		}
	}
	return req
}
