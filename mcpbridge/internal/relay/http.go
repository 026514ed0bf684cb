package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// Handler serves clients by streamable HTTP.
func (r *Relay) Handler(a serve.HTTPAccess) (http.Handler, error) {
	if err := a.Check(); err != nil {
		return nil, err
	}
	a = a.WithDefaults()
	r.closing.Go(func() { r.sweepFrom(a.IdleTime) })
	return a.Guard(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		switch {
		case r.foreign(req):
			http.Error(w, "the session belongs to another key", http.StatusForbidden)
		case r.unfit(w, req):
		case req.Method == http.MethodPost && !r.knows(req) && !r.admit(a, caller.UserOf(req)):
			w.Header().Set("Retry-After", "10")
			http.Error(w, "there are too many sessions; try again later", http.StatusServiceUnavailable)
		default:
			r.serve(w, req)
		}
	})), nil
}

// serve answers one request of a client.
func (r *Relay) serve(w http.ResponseWriter, req *http.Request) {
	if r.gone(w, req) {
		return
	}
	switch req.Method {
	case http.MethodPost:
		r.post(w, req)
	case http.MethodDelete:
		r.pass(w, req, nil, nil)
		if s := r.session(req, false); s != nil {
			r.drop(s)
		}
	case http.MethodGet:
		r.pass(w, req, nil, r.watch(req))
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		http.Error(w, "Method Not Allowed", http.StatusMethodNotAllowed)
	}
}

// post answers a message of a client.
func (r *Relay) post(w http.ResponseWriter, req *http.Request) {
	body, err := io.ReadAll(io.LimitReader(req.Body, rpc.MaxFrame))
	if err != nil {
		http.Error(w, "the request cannot be read", http.StatusBadRequest)
		return
	}
	e, err := rpc.ReadEnvelope(body)
	if err != nil {
		code := int64(jsonrpc.CodeInvalidRequest)
		if errors.Is(err, rpc.ErrNoMessage) {
			code = jsonrpc.CodeParseError
		}
		writeMessage(w, http.StatusBadRequest, rpc.ErrorResponse(nil, code, err.Error()))
		return
	}
	switch {
	case mismatched(req, e) != "":
		writeMessage(w, http.StatusBadRequest, rpc.ErrorResponse(e.ID, mcp.CodeHeaderMismatch, "the header "+mismatched(req, e)+" and the request differ"))
	case e.IsResponse() && r.answered(req, e):
		w.WriteHeader(http.StatusAccepted)
	case e.Method == "tools/call" && e.IsCall():
		r.call(w, req, body, e)
	case e.Method == "tools/call":
		writeMessage(w, http.StatusBadRequest, rpc.ErrorResponse(nil, jsonrpc.CodeInvalidRequest, "a call has an id"))
	case e.Method == "notifications/cancelled":
		r.pass(w, req, body, nil)
		r.cancelled(req, e)
	case e.Method == "tools/list" && e.IsCall():
		r.pass(w, req, body, r.watchList(req, e.ID))
	case e.Method == "initialize":
		r.pass(&introduced{ResponseWriter: w, relay: r, req: req, params: e.Params}, req, body, nil)
	default:
		r.pass(w, req, body, r.watch(req))
	}
}

// mismatched returns the header that names something else than the body, "" if there is none: a proxy that reads only
// headers would see another request.
func mismatched(req *http.Request, e rpc.Envelope) string {
	if sent := req.Header.Get("Mcp-Method"); sent != "" && sent != e.Method {
		return "Mcp-Method"
	}
	name, named := nameIn(e)
	sent := req.Header.Get("Mcp-Name")
	if sent == "" || !named || rpc.HeaderMeans(sent, name) {
		return ""
	}
	return "Mcp-Name"
}

// nameIn returns what a request names, if its method has a header for it.
func nameIn(e rpc.Envelope) (name string, named bool) {
	var p struct{ Name, URI, TaskID string }
	_ = json.Unmarshal(e.Params, &p) // what cannot be read has no name
	switch e.Method {
	case "tools/call", "prompts/get":
		return p.Name, true
	case "resources/read":
		return p.URI, true
	case "tasks/get", "tasks/update", "tasks/cancel":
		return p.TaskID, true
	}
	return "", false
}

// introduced notices the session that a server gives a client.
type introduced struct {
	http.ResponseWriter
	relay  *Relay
	req    *http.Request
	params json.RawMessage
}

// WriteHeader implements [http.ResponseWriter].
func (i *introduced) WriteHeader(status int) {
	if id := i.Header().Get("Mcp-Session-Id"); id != "" && status == http.StatusOK {
		i.req.Header.Set("Mcp-Session-Id", id)
		var p struct {
			ClientInfo   struct{ Name string }
			Capabilities json.RawMessage
		}
		_ = json.Unmarshal(i.params, &p)
		i.relay.session(i.req, true).introduce(p.ClientInfo, p.Capabilities)
	}
	i.ResponseWriter.WriteHeader(status)
}

// Unwrap gives [http.ResponseController] the writer below.
func (i *introduced) Unwrap() http.ResponseWriter { return i.ResponseWriter }

// watch returns what looks for responses to calls whose own stream has ended, and for
// news of the list of tools.
func (r *Relay) watch(req *http.Request) func([]byte) []byte {
	s := r.session(req, false)
	if s == nil {
		return nil
	}
	return func(data []byte) []byte {
		e, err := rpc.ReadEnvelope(data)
		if err != nil {
			return nil
		}
		s.heard(e)
		s.inside.Lock()
		defer s.inside.Unlock()
		if late := s.late[string(e.ID)]; e.IsResponse() && late != nil {
			select {
			case late <- data:
			default:
			}
		}
		return nil
	}
}

// watchList does so, too, and looks at a list of tools.
func (r *Relay) watchList(req *http.Request, id json.RawMessage) func([]byte) []byte {
	s, watch := r.session(req, false), r.watch(req)
	return func(data []byte) []byte {
		if watch != nil {
			watch(data)
		}
		return r.filterList(s, data, id)
	}
}

// pass passes a request on and its answer back. Each message of the answer is shown
// to look, which may return another one in its place.
func (r *Relay) pass(w http.ResponseWriter, req *http.Request, body []byte, look func([]byte) []byte) {
	e, _ := rpc.ReadEnvelope(body)
	ctx, cancel, limit := r.limited(req.Context(), e)
	defer cancel()
	defer context.AfterFunc(r.life, cancel)()
	resp, err := r.up.roundTrip(requestTo(ctx, req, body))
	if err != nil && context.Cause(ctx) == errUnanswered {
		writeMessage(w, http.StatusGatewayTimeout, r.slow(e, limit))
		return
	}
	if err != nil {
		r.absent(w, body, err)
		return
	}
	defer resp.Body.Close()
	copyHeaders(w.Header(), resp.Header)
	if !isStream(resp) {
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			r.absent(w, body, err)
			return
		}
		if look != nil {
			if other := look(text); other != nil {
				text = other
			}
		}
		w.WriteHeader(resp.StatusCode)
		_, _ = w.Write(r.told(text))
		return
	}
	out := &stream{w: w}
	out.begin()
	if !r.passEvents(out, rpc.NewEvents(resp.Body), e, look) && context.Cause(ctx) == errUnanswered {
		_ = out.event(rpc.EventOf(r.slow(e, limit)))
		if e.Method == "initialize" {
			r.up.end(resp.Header.Get("Mcp-Session-Id"))
		}
	}
}

// passEvents passes a stream on until it ends, and reports whether the request has been
// answered then.
func (r *Relay) passEvents(out *stream, in *rpc.Events, request rpc.Envelope, look func([]byte) []byte) (answered bool) {
	for {
		e, err := in.Next()
		if err != nil {
			return answered // the client sees that the stream has ended
		}
		answered = answered || request.IsCall() && e.Data != nil && rpc.Answers(e.Data, request.ID)
		if look != nil && e.Data != nil {
			if other := look(e.Data); other != nil {
				e = e.With(other)
			}
		}
		if out.event(r.toldEvent(e)) != nil {
			return true // the reader has stopped
		}
	}
}

// absent tells a client that the server cannot be reached, or wants to know who we are.
func (r *Relay) absent(w http.ResponseWriter, body []byte, err error) {
	e, _ := rpc.ReadEnvelope(body)
	said, told := "cannot be reached: "+r.redact(connection.PlainError(err)), "cannot be reached"
	if asks := connection.WantsLogin(err); asks != nil {
		said, told = "does not answer: "+asks.Error(), "wants a login that this relay does not have"
	}
	r.tell(config.Notice{Server: r.server.Name, Text: said})
	writeMessage(w, http.StatusBadGateway, rpc.ErrorResponse(e.ID, jsonrpc.CodeInternalError, "the server "+r.server.Name+" "+told))
}

// redact is [endpoint.redact] that also removes headers and the address, which may hold a secret.
func (r *Relay) redact(text string) string {
	text = rpc.PlainText(text)
	if r.server.URL != "" {
		text = strings.ReplaceAll(text, r.server.URL, "its address")
	}
	return r.Endpoint.Redact(text, slices.Collect(maps.Values(r.server.Headers))...)
}

func isStream(resp *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return kind == "text/event-stream" && resp.StatusCode == http.StatusOK
}

func copyHeaders(to, from http.Header) {
	for _, name := range returned {
		if v := from.Values(name); len(v) > 0 {
			to[name] = v
		}
	}
}

// stream writes events to a client. After close it writes nothing.
type stream struct {
	mu     sync.Mutex
	w      http.ResponseWriter
	begun  bool
	closed bool
}

var errClosedStream = errors.New("the stream has ended")

// begin sends the headers, once.
func (s *stream) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.start()
}

func (s *stream) start() {
	if s.begun || s.closed {
		return
	}
	s.begun = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	s.w.Header().Set("Cache-Control", "no-cache, no-transform")
	s.w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(s.w).Flush()
}

func (s *stream) event(e rpc.Event) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errClosedStream
	}
	s.start()
	if _, err := s.w.Write(append(bytes.Clone(e.Lines), '\n')); err != nil {
		return err
	}
	return http.NewResponseController(s.w).Flush()
}

// message sends a response, in the stream if it has begun, else as the whole answer.
func (s *stream) message(status int, text []byte) {
	s.mu.Lock()
	begun, closed := s.begun, s.closed
	s.mu.Unlock()
	switch {
	case closed:
	case begun:
		_ = s.event(rpc.EventOf(text))
	default:
		writeMessage(s.w, status, text)
	}
}

func (s *stream) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func writeMessage(w http.ResponseWriter, status int, text []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text)
}

func mustURL(address string) *url.URL {
	u, err := url.Parse(address)
	if err != nil {
		panic(err) // it was checked
	}
	return u
}
