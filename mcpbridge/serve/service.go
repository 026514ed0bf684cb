package serve

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/convert"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/tool"
)

// ServiceOptions are the settings of a [Service]. Only Runner is needed.
type ServiceOptions struct {
	// Runner runs the calls, and its tools are offered. If its policy wants a person to decide, the
	// client is asked by elicitation. A client without elicitation has the call refused. Without a policy,
	// tools that only read run, and the client is asked about all others. Its Approve is not used.
	Runner *invoke.Runner
	// Record opens the record of a connection, or of a request that belongs to
	// none, when the first call is made. The Service seals it. Nil records
	// nothing.
	Record func(ctx context.Context) (*journal.Recorder, error)
	// Name, Version and Instructions are what clients are told of the server; an
	// empty Name means toolpost.
	Name, Version, Instructions string
	// Resources and Prompts are served besides the tools. A relay does not use them.
	Resources []ServedResource
	Prompts   []ServedPrompt
	// MaxCalls is how many calls may be under way at once, of all clients; 0
	// means 64. A call beyond it is refused.
	MaxCalls int
	// AskTime is how long a client may take to answer a question; 0 means 5 min.
	AskTime time.Duration
	// Drain is how long calls may go on when the input of ServePipe has ended; 0
	// means 5 s.
	Drain time.Duration
	// Coerce has a relay convert arguments to the types of the schema, like "3" to 3. By default a relay passes
	// arguments on as they are, or refuses them. A Service always converts.
	Coerce bool
	// Failed is told what went wrong on our side, like a record that cannot be
	// written.
	Failed func(error)
}

// The bounds of a Service that says nothing else.
const (
	defaultMaxCalls = 64
	defaultAskTime  = 5 * time.Minute
	defaultDrain    = 5 * time.Second
)

// WithDefaults returns o with its zero values replaced by the defaults.
func (o ServiceOptions) WithDefaults() ServiceOptions {
	o.MaxCalls, o.AskTime, o.Drain = cmp.Or(o.MaxCalls, defaultMaxCalls), cmp.Or(o.AskTime, defaultAskTime), cmp.Or(o.Drain, defaultDrain)
	if o.Failed == nil {
		o.Failed = func(error) {}
	}
	return o
}

// Service is an MCP server whose tools are run by a runtime: every call is
// validated, decided on by a policy, bounded and recorded like one of a model.
// There is one record for each connection. All methods are safe for concurrent
// use.
type Service struct {
	options  ServiceOptions
	server   *mcp.Server
	slots    chan struct{} // one for each call that may run
	life     context.Context
	end      context.CancelFunc
	closing  sync.WaitGroup
	requests rpc.HTTPRequests
	seats    seats
	records  records

	offering sync.Mutex // one at a time

	mu     sync.Mutex
	tools  *tool.Set      // that are offered
	asking *invoke.Runner // of clients that can ask a person
	alone  *invoke.Runner // for clients that cannot ask
	closed bool
	served map[*mcp.ServerSession]*served
	held   map[string]*heldCall // by the state that the client has
}

// NewService returns a server of the runner's tools. It refuses a tool that no
// client could call.
func NewService(options ServiceOptions) (*Service, error) {
	if options.Runner == nil || options.Runner.Tools == nil {
		return nil, errors.New("mcp: a service needs a runner with tools")
	}
	options = options.WithDefaults()
	s := &Service{options: options, slots: make(chan struct{}, options.MaxCalls), served: make(map[*mcp.ServerSession]*served), held: make(map[string]*heldCall)}
	s.life, s.end = context.WithCancel(context.Background())
	s.server = mcp.NewServer(&mcp.Implementation{Name: cmp.Or(options.Name, "toolpost"), Version: cmp.Or(options.Version, "dev")},
		&mcp.ServerOptions{Instructions: options.Instructions, Capabilities: options.capabilities()})
	s.server.AddReceivingMiddleware(s.refuseUndeclared)
	s.addContent()
	if err := s.Offer(options.Runner.Tools); err != nil {
		return nil, err
	}
	return s, nil
}

// Offer replaces the offered tools, and tells the clients if they differ. It refuses a tool that no
// client could call, and changes nothing then. Running calls continue.
func (s *Service) Offer(tools *tool.Set) error {
	asking, alone := s.options.Runner.With(tools), s.options.Runner.With(tools)
	asking.Approve, alone.Approve = caller.ApproveByClient, nil
	for _, r := range []*invoke.Runner{asking, alone} {
		r.LoopLimit = -1 // each call has a separate session

		if r.Policy == nil { // the model that calls is not the program's own
			r.Policy = invoke.AskFirst(invoke.AllowReadOnly)
		}
		if _, err := r.Session(nil); err != nil {
			return err
		}
	}
	probe := mcp.NewServer(&mcp.Implementation{Name: "probe"}, nil) // the SDK reports a problem only when a tool is added
	defs := make(map[string]*mcp.Tool)
	for t := range tools.All() {
		def, err := convert.Definition(t)
		if err == nil {
			err = convert.AddTool(probe, def, nil)
		}
		if err != nil {
			return fmt.Errorf("mcp: tool %s cannot be offered: %w", t.Name, err)
		}
		defs[t.Name] = def
	}
	s.offering.Lock()
	defer s.offering.Unlock()
	s.mu.Lock()
	before := s.tools
	s.tools, s.asking, s.alone = tools, asking, alone
	s.mu.Unlock()
	for t := range tools.All() {
		if old, there := before.Lookup(t.Name); there && sameOffer(old, t) {
			continue
		}
		if err := convert.AddTool(s.server, defs[t.Name], func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return s.call(ctx, req, t)
		}); err != nil {
			return fmt.Errorf("mcp: tool %s cannot be offered: %w", t.Name, err)
		}
	}
	var gone []string
	for _, name := range before.Names() {
		if _, there := tools.Lookup(name); !there {
			gone = append(gone, name)
		}
	}
	s.server.RemoveTools(gone...)
	return nil
}

// sameOffer reports whether two tools are the same to a client. Which function is called
// the runner knows.
func sameOffer(a, b tool.Tool) bool {
	x, errX := journal.HashValue([]any{a.Def(), a.OutputSchema, a.Effects, a.Origin, a.Source, a.SourceHash})
	y, errY := journal.HashValue([]any{b.Def(), b.OutputSchema, b.Effects, b.Origin, b.Source, b.SourceHash})
	return errX == nil && errY == nil && x == y
}

// ServePipe serves one client by a stream of lines each way, like standard input
// and output, until the input or ctx ends. Calls that are under way then are
// given a moment to end.
func (s *Service) ServePipe(ctx context.Context, in io.Reader, out io.Writer) error {
	g := rpc.NewGate(in, out)
	defer g.Refusing.Wait() // all refusals are written before the end
	p := rpc.NewPipe(g, g, s.options.Drain, ctx.Done())
	return s.serve(ctx, &mcp.IOTransport{Reader: p, Writer: p, MaxLineLength: 2 * rpc.MaxClientFrame})
}

// Connect serves one client by a transport of the SDK, until the client or ctx
// ends: [mcp.NewInMemoryTransports] makes one for a client in this process.
func (s *Service) Connect(ctx context.Context, t mcp.Transport) error { return s.serve(ctx, t) }

func (s *Service) serve(ctx context.Context, t mcp.Transport) error {
	session, err := s.server.Connect(context.WithoutCancel(ctx), t, nil)
	if err != nil {
		return err
	}
	one := s.connection(session)
	s.mu.Lock()
	one.piped = true
	s.mu.Unlock()
	var ended error
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		ended = session.Wait()
	}()
	stop := context.AfterFunc(s.life, one.Leave)
	defer stop()
	select {
	case <-ctx.Done():
		one.Leave()
		_ = session.Close()
	case <-gone:
	}
	<-gone
	<-one.Done
	if connection.Lost(ended) || ctx.Err() != nil {
		return nil // the client has gone
	}
	return ended
}

// Close ends all connections, cancels what runs, and waits until it has ended and
// the records are sealed.
func (s *Service) Close() error {
	s.end()
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.requests.End(s.server)
	s.records.close()
	s.closing.Wait()
	return nil
}

// served is a connection, or a request without one. Its calls share a record. Calls that may change
// things run one after the other.
type served struct {
	*Service
	*caller.Account
	session *mcp.ServerSession
	turn    turns
	piped   bool                   // it lasts longer than a request
	user    atomic.Pointer[string] // whose key made its first call; nil before it
}

// connection returns what belongs to a session.
func (s *Service) connection(session *mcp.ServerSession) *served {
	s.mu.Lock()
	defer s.mu.Unlock()
	if one, ok := s.served[session]; ok {
		return one
	}
	one := &served{Service: s, session: session, Account: caller.NewAccount(s.life, s.options.Record, s.options.Failed)}
	s.served[session] = one
	watch := func() {
		_ = session.Wait()
		one.Leave()
		one.Finish()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.served, session)
	}
	if s.closed { // Close waits already, and no call begins
		one.Leave()
		go watch()
		return one
	}
	s.closing.Go(watch)
	return one
}

// madeBy keeps whose key the calls of the connection come with, which never changes.
func (o *served) madeBy(req *mcp.CallToolRequest) {
	user := keyOf(req)
	o.user.CompareAndSwap(nil, &user)
}

// leaves cancels the calls of a session that its user ends: the SDK waits for them.
func (s *Service) leaves(session, user string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.served {
		if by := one.user.Load(); by != nil && *by == user && session != "" && one.session.ID() == session {
			one.Leave()
		}
	}
}

// call runs one call of a client.
func (s *Service) call(ctx context.Context, req *mcp.CallToolRequest, t tool.Tool) (*mcp.CallToolResult, error) {
	if token, held := strings.CutPrefix(req.Params.RequestState, heldPrefix); held {
		return s.resume(ctx, req, t, token)
	}
	one := s.connection(req.Session)
	if !one.Begin() {
		return nil, caller.ErrGone
	}
	one.madeBy(req)
	select {
	case s.slots <- struct{}{}:
	default:
		one.Running.Done()
		return nil, caller.ErrBusy
	}
	run := func(ctx context.Context, cancel func(), c *clientCall, rec *journal.Recorder) (*mcp.CallToolResult, error) {
		c.turn = &heldTurn{of: &one.turn, reads: t.Effects.Has(tool.ReadOnly), life: one.Context, cancel: cancel}
		c.turn.take(ctx)
		defer c.turn.release()
		return one.run(ctx, c, rec, t)
	}
	account, end := s.account(ctx, one, req)
	over := func() { <-s.slots; end(); one.Running.Done() }
	c, rec, err := s.newCall(account, req)
	if err != nil {
		over()
		return nil, err
	}
	if !c.direct && c.canAsk() {
		return s.hold(ctx, one, c, t, func(ctx context.Context, cancel func()) (*mcp.CallToolResult, error) {
			defer over()
			return run(ctx, cancel, c, rec)
		})
	}
	defer over()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(one.Context, cancel)()
	return run(ctx, cancel, c, rec)
}

// newCall returns a call of a client, and the record that it belongs to.
func (s *Service) newCall(account *caller.Account, req *mcp.CallToolRequest) (*clientCall, *journal.Recorder, error) {
	rec, err := account.Record()
	if err != nil {
		s.options.Failed(err)
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call cannot be recorded, and was not run"}
	}
	c, err := newClientCall(req, s.options.AskTime)
	if err != nil {
		return nil, nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: err.Error()}
	}
	c.of, c.account = s, account
	return c, rec, nil
}

// run has the runtime run a call, and passes on what happens.
func (o *served) run(ctx context.Context, c *clientCall, rec *journal.Recorder, t tool.Tool) (*mcp.CallToolResult, error) {
	o.Service.mu.Lock()
	runner := o.alone
	if c.canAsk() {
		runner = o.asking
	}
	o.Service.mu.Unlock()
	session, err := runner.Session(rec)
	if err != nil {
		return nil, err
	}
	call := llm.Call{ID: c.account.NewID(), Name: t.Name, Args: c.req.Params.Arguments}
	if len(call.Args) == 0 {
		call.Args = json.RawMessage("{}")
	}
	var out *invoke.Outcome
	ctx, original := convert.WithOriginal(context.WithValue(ctx, caller.ClientCallKey{}, c))
	for ev, err := range session.Do(ctx, []llm.Call{call}) {
		if err != nil {
			o.Service.options.Failed(err)
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call could not be recorded"}
		}
		switch ev := ev.(type) {
		case invoke.Progress:
			c.progress(ctx, ev.Progress)
		case invoke.Outcome:
			out = &ev
		}
	}
	if out == nil {
		return nil, &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: "the call has no outcome"}
	}
	if res := c.asks(); res != nil {
		return res, nil
	}
	return convert.ServedResult(t, out, original, hides(runner)), nil
}

// hides returns a function that reports whether a text contains what results lose.
func hides(r *invoke.Runner) func(text string) bool {
	return func(text string) bool {
		if _, n := r.Output.Secrets.RedactValues(text); n > 0 || r.Redact == nil {
			return n > 0
		}
		clean, ok := r.Redact.RedactJSON([]byte(text))
		return !ok || string(clean) != text
	}
}
