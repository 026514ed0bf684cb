package relay

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// ServePipe serves one client by a stream of lines each way, like standard input
// and output, until the input or ctx ends. Requests that are under way then are
// given a moment to end.
func (r *Relay) ServePipe(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	p := rpc.NewPipe(in, out, r.options.Drain, ctx.Done())
	c := &lineClient{relay: r, ctx: ctx, address: "pipe " + rand.Text(), out: p, slots: make(chan struct{}, 4*cap(r.slots)), active: make(map[string]context.CancelFunc)}
	lines := make(chan []byte)
	failed := make(chan error, 1)
	go func() {
		defer close(lines)
		from := rpc.NewLineReader(p, rpc.MaxClientFrame)
		for {
			line, err := from.Next()
			if len(bytes.TrimSpace(line)) > 0 {
				select {
				case lines <- line:
				case <-ctx.Done():
					return
				}
			}
			if err != nil {
				failed <- err
				return
			}
		}
	}()
	for more := true; more; {
		select {
		case <-ctx.Done():
			more = false
		case line, ok := <-lines:
			if ok {
				c.line(line)
			}
			more = ok
		}
	}
	cancel()
	c.leave()
	c.busy.Wait()
	c.bye()
	select {
	case err := <-failed:
		if !connection.Lost(err) {
			return err
		}
	default:
	}
	return nil
}

// lineClient is a client that speaks in lines. To the relay it is one of HTTP.
type lineClient struct {
	relay   *Relay
	ctx     context.Context
	address string        // in the place of that of a connection over HTTP
	slots   chan struct{} // for requests under way
	busy    sync.WaitGroup

	writing sync.Mutex
	out     io.Writer

	mu       sync.Mutex
	session  string // that the server gave
	revision string
	hello    []byte // how the client began it
	// active are the requests without a session, by id. Over HTTP the end of such a request cancels it.
	active map[string]context.CancelFunc

	reviving sync.Mutex
}

// begin ends the session that there is: the client begins another one.
func (c *lineClient) begin(hello []byte) {
	c.leave()
	c.bye()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.session, c.revision, c.hello = "", "", hello
}

// revive starts the session again if its program has ended, because a client on stdio does not know
// of sessions.
func (c *lineClient) revive() {
	c.reviving.Lock()
	defer c.reviving.Unlock()
	c.mu.Lock()
	session, hello := c.session, c.hello
	c.mu.Unlock()
	if session == "" || c.relay.up.alive(session) || c.ctx.Err() != nil {
		return
	}
	c.begin(hello)
	e, err := rpc.ReadEnvelope(hello)
	if err != nil {
		return
	}
	c.again(hello, e)
	c.again([]byte(`{"jsonrpc":"2.0","method":"notifications/initialized"}`), rpc.Envelope{Method: "notifications/initialized"})
	c.listen()
}

// again sends what the client said before, without telling it the answer.
func (c *lineClient) again(text []byte, e rpc.Envelope) {
	req, err := http.NewRequestWithContext(c.ctx, http.MethodPost, "http://relay.invalid/", bytes.NewReader(text))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	c.addHeaders(req, e)
	w := &lineWriter{client: c, e: e, header: make(http.Header), quiet: true}
	c.relay.serve(w, req)
	w.finish()
}

// dispatchedKey is the key of a function that is called when a request has been sent.
type dispatchedKey struct{}

// dispatched reports that the request of ctx has been sent. The next request may follow.
func dispatched(ctx context.Context) {
	if f, ok := ctx.Value(dispatchedKey{}).(func()); ok {
		f()
	}
}

// line answers a message. Requests are answered side by side, and sent in the order
// in which they came.
func (c *lineClient) line(text []byte) {
	e, err := rpc.ReadEnvelope(text)
	if err != nil {
		code := int64(jsonrpc.CodeInvalidRequest)
		if err == rpc.ErrNoMessage {
			code = jsonrpc.CodeParseError
		}
		c.write(rpc.ErrorResponse(nil, code, err.Error()))
		return
	}
	if e.Method == "notifications/cancelled" && c.cancelled(e) {
		return
	}
	if !e.IsCall() || e.Method == "initialize" {
		c.post(c.ctx, text, e, func() {})
		if e.Method == "notifications/initialized" {
			c.listen()
		}
		return
	}
	select {
	case c.slots <- struct{}{}:
	default:
		c.write(rpc.ErrorResponse(e.ID, caller.ErrBusy.Code, "too many requests are under way; try again later"))
		return
	}
	away := make(chan struct{})
	once := sync.OnceFunc(func() { close(away) })
	c.busy.Go(func() {
		defer func() { <-c.slots }()
		defer once()
		ctx, done := c.cancellable(e)
		defer done()
		c.post(context.WithValue(ctx, dispatchedKey{}, once), text, e, once)
	})
	select {
	case <-away:
	case <-c.ctx.Done():
	}
}

// cancellable returns the context of a request, which the client can cancel if there is no session. Done ends it.
func (c *lineClient) cancellable(e rpc.Envelope) (ctx context.Context, done func()) {
	id := string(e.ID)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" || c.active[id] != nil {
		return c.ctx, func() {}
	}
	ctx, cancel := context.WithCancel(c.ctx)
	c.active[id] = cancel
	return ctx, func() {
		cancel()
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.active, id)
	}
}

// cancelled cancels a request without a session, and reports whether there is one.
func (c *lineClient) cancelled(e rpc.Envelope) bool {
	var p struct{ RequestID json.RawMessage }
	if json.Unmarshal(e.Params, &p) != nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	cancel := c.active[string(p.RequestID)]
	if cancel != nil {
		cancel()
	}
	return cancel != nil
}

// post passes a message on as a request of HTTP. Heard is called when something comes
// back for it.
func (c *lineClient) post(ctx context.Context, text []byte, e rpc.Envelope, heard func()) {
	if e.Method == "initialize" {
		c.begin(text)
	} else {
		c.revive()
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://relay.invalid/", bytes.NewReader(text))
	if err != nil {
		return
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	c.addHeaders(req, e)
	w := &lineWriter{client: c, e: e, header: make(http.Header), heard: heard}
	c.relay.serve(w, req)
	w.finish()
}

// addHeaders adds the HTTP headers of a message.
func (c *lineClient) addHeaders(req *http.Request, e rpc.Envelope) {
	req.RemoteAddr = c.address
	var p struct {
		Meta struct {
			Revision string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	_ = json.Unmarshal(e.Params, &p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
	}
	if v := cmp.Or(p.Meta.Revision, c.revision); v != "" {
		req.Header.Set("Mcp-Protocol-Version", rpc.PlainHeader(v))
	}
	if p.Meta.Revision == "" {
		return
	}
	if rpc.PlainHeader(e.Method) == e.Method {
		req.Header.Set("Mcp-Method", e.Method)
	}
	if name, _ := nameIn(e); name != "" && len(name) <= rpc.MaxHeader {
		req.Header.Set("Mcp-Name", rpc.HeaderText(name))
	}
}

// listen takes what the server says between requests.
func (c *lineClient) listen() {
	c.mu.Lock()
	session, revision := c.session, c.revision
	c.mu.Unlock()
	if session == "" {
		return
	}
	c.busy.Go(func() {
		req, err := http.NewRequestWithContext(c.ctx, http.MethodGet, "http://relay.invalid/", nil)
		if err != nil {
			return
		}
		req.Header.Set("Accept", "text/event-stream")
		req.Header.Set("Mcp-Session-Id", session)
		req.Header.Set("Mcp-Protocol-Version", revision)
		c.relay.serve(&lineWriter{client: c, header: make(http.Header)}, req)
	})
}

// leave cancels the calls of the session, which outlive the requests of HTTP that they
// came with.
func (c *lineClient) leave() {
	c.mu.Lock()
	key := "\x00" + c.session
	c.mu.Unlock()
	c.relay.mu.Lock()
	var own []*relayed
	for place, s := range c.relay.sessions {
		if place == key || strings.HasPrefix(place, connectionPlace(c.address)+"\x00") {
			own = append(own, s)
		}
	}
	c.relay.mu.Unlock()
	for _, s := range own {
		c.relay.drop(s)
	}
}

// bye ends the session, and the server forgets it.
func (c *lineClient) bye() {
	c.mu.Lock()
	session, revision := c.session, c.revision
	c.mu.Unlock()
	if session == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.ctx), rpc.Patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodDelete, "http://relay.invalid/", nil)
	if err != nil {
		return
	}
	req.Header.Set("Mcp-Session-Id", session)
	req.Header.Set("Mcp-Protocol-Version", revision)
	c.relay.serve(&lineWriter{client: c, header: make(http.Header)}, req)
}

// write sends a message as a line.
func (c *lineClient) write(text []byte) {
	var line bytes.Buffer
	if json.Compact(&line, text) != nil {
		return // text that is not a message is dropped
	}
	line.WriteByte('\n')
	c.writing.Lock()
	defer c.writing.Unlock()
	_, _ = c.out.Write(line.Bytes())
}

// lineWriter turns an answer of HTTP into lines.
type lineWriter struct {
	client *lineClient
	e      rpc.Envelope // the request; zero if there is none
	header http.Header
	status int
	body   bytes.Buffer
	told   bool // the request has its response
	quiet  bool // the client is not told the response
	heard  func()
}

// Header implements [http.ResponseWriter].
func (w *lineWriter) Header() http.Header { return w.header }

// WriteHeader implements [http.ResponseWriter].
func (w *lineWriter) WriteHeader(status int) {
	if w.status != 0 {
		return
	}
	w.status = status
	if id := w.header.Get("Mcp-Session-Id"); id != "" && w.e.Method == "initialize" {
		w.client.mu.Lock()
		w.client.session = id
		w.client.mu.Unlock()
	}
}

// Flush implements [http.Flusher]. Complete events are written at once.
func (w *lineWriter) Flush() {}

// Write implements [io.Writer].
func (w *lineWriter) Write(b []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if w.heard != nil {
		defer w.heard()
	}
	w.body.Write(b)
	if w.header.Get("Content-Type") != "text/event-stream" {
		return len(b), nil
	}
	for {
		block, rest, whole := bytes.Cut(w.body.Bytes(), []byte("\n\n"))
		if !whole {
			return len(b), nil
		}
		in := rpc.NewEvents(bytes.NewReader(append(bytes.Clone(block), "\n\n"...)))
		rest = bytes.Clone(rest)
		w.body.Reset()
		w.body.Write(rest)
		if e, err := in.Next(); err == nil && len(e.Data) > 0 {
			w.message(e.Data)
		}
	}
}

// message passes a message of the server on.
func (w *lineWriter) message(text []byte) {
	if w.e.IsCall() && rpc.Answers(text, w.e.ID) {
		w.told = true
		if w.e.Method == "initialize" {
			var res struct {
				Result struct{ ProtocolVersion string }
			}
			_ = json.Unmarshal(text, &res)
			w.client.mu.Lock()
			w.client.revision = rpc.PlainHeader(res.Result.ProtocolVersion)
			w.client.mu.Unlock()
		}
		if w.quiet {
			return
		}
	}
	w.client.write(text)
}

// finish sees to it that a request has a response.
func (w *lineWriter) finish() {
	if w.body.Len() > 0 && w.header.Get("Content-Type") != "text/event-stream" {
		if e, err := rpc.ReadEnvelope(w.body.Bytes()); err == nil && e.IsResponse() {
			w.message(w.body.Bytes())
		}
	}
	if w.e.IsCall() && !w.told && !w.quiet && w.client.ctx.Err() == nil {
		text := "the server did not answer"
		if w.status >= http.StatusBadRequest {
			text += ": " + clip.Bytes(rpc.PlainText(w.body.String()), 200)
		}
		w.client.write(rpc.ErrorResponse(w.e.ID, jsonrpc.CodeInternalError, text))
	}
}
