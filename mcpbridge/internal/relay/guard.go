package relay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
	"github.com/toolpost/toolpost/mcpbridge/internal/toollist"
)

// told returns a message of the server for clients, without our secrets. Other messages do not
// change, to the byte.
func (r *Relay) told(text []byte) []byte {
	out := []byte(r.RedactHidden(string(text)))
	if bytes.Equal(out, text) {
		return text
	}
	if json.Valid(out) || !json.Valid(text) {
		return out
	}
	// A number was a secret.
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	out, err := json.Marshal(r.redactJSON(v))
	if err != nil {
		return nil
	}
	return out
}

// redactJSON returns a value of JSON without secrets of ours.
func (r *Relay) redactJSON(v any) any {
	switch v := v.(type) {
	case string:
		return r.RedactHidden(v)
	case json.Number:
		if s := r.RedactHidden(v.String()); s != v.String() {
			return s
		}
	case []any:
		for i := range v {
			v[i] = r.redactJSON(v[i])
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[r.RedactHidden(key)] = r.redactJSON(value)
		}
		return out
	}
	return v
}

// toldEvent is an event of the server as clients get it.
func (r *Relay) toldEvent(e rpc.Event) rpc.Event {
	if e.Data == nil {
		return e
	}
	if data := r.told(e.Data); !bytes.Equal(data, e.Data) {
		return e.With(data)
	}
	return e
}

// errUnanswered is why a request is given up that the server does not answer.
var errUnanswered = errors.New("the server did not answer in time")

// limited bounds how long the server may take to answer a request that is passed on:
// connect_timeout for the first answer, else the timeout of a call. Streams
// that are meant to stay open have no bound.
func (r *Relay) limited(ctx context.Context, e rpc.Envelope) (context.Context, context.CancelFunc, time.Duration) {
	var limit time.Duration
	switch e.Method {
	case "initialize", "server/discover", "tools/list", "ping":
		limit = r.server.ConnectTimeout()
	case "subscriptions/listen":
	default:
		limit = r.alone.Timeout
	}
	if !e.IsCall() || limit == 0 {
		ctx, cancel := context.WithCancel(ctx)
		return ctx, cancel, 0
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limit, errUnanswered)
	return ctx, cancel, limit
}

// slow is the answer to a request that the server did not answer in time.
func (r *Relay) slow(e rpc.Envelope, limit time.Duration) []byte {
	r.tell(config.Notice{Server: r.server.Name, Text: fmt.Sprintf("did not answer %s within %s", clip.Bytes(rpc.PlainText(e.Method), 60), limit)})
	return rpc.ErrorResponse(e.ID, jsonrpc.CodeInternalError, fmt.Sprintf("the server %s did not answer within %s", r.server.Name, limit))
}

// review learns from a list of tools that goes to a client, and reports which of its tools may be
// used. A tool that the server changed may not, until a person approves it. The session forgets the
// earlier definition of a tool that is another one now.
func (r *Relay) review(s *relayed, defs []config.ServerTool) map[string]bool {
	for i, d := range defs {
		defs[i], _ = r.RedactTool(d)
	}
	list := toollist.New(defs)
	r.mu.Lock()
	r.learn(list)
	use := make(map[string]bool, len(defs))
	for _, d := range defs {
		use[d.Name] = r.memory.Accepts(d, list.Prints[d.Name])
	}
	sessions := []*relayed{s}
	if s == nil { // which connection it was is not known
		sessions = slices.DeleteFunc(slices.Collect(maps.Values(r.sessions)), func(s *relayed) bool { return s.key != "" })
	}
	r.mu.Unlock()
	for _, s := range sessions {
		s.compare(list)
	}
	return use
}

// compare has the tools listed again for the next call if the list has another definition of one.
func (s *relayed) compare(list *toollist.List) {
	s.inside.Lock()
	defer s.inside.Unlock()
	for name, one := range s.tools {
		if print, listed := list.Prints[name]; listed && print != one.print {
			s.forgetTools()
			return
		}
	}
}

// learn keeps the definitions of a list or page that are new, and reports each new tool once. The caller holds the lock.
func (r *Relay) learn(list *toollist.List) {
	if r.reported == nil {
		r.reported = make(map[string]journal.Hash)
	}
	for _, n := range r.memory.Learn(r.server, list) {
		if now := list.Prints[n.Tool]; r.reported[n.Tool] != now {
			if len(r.reported) < toollist.MaxKnown {
				r.reported[n.Tool] = now
			}
			r.tell(n)
		}
	}
	if err := r.memory.SaveKnown(r.Dir, r.ServerConfig); err != nil {
		r.options.Failed(fmt.Errorf("mcp: what is known of server %s cannot be kept: %w", r.server.Name, err))
	}
}

// heard notices what a message of the server says of its list of tools.
func (s *relayed) heard(e rpc.Envelope) {
	if e.Method != "notifications/tools/list_changed" {
		return
	}
	s.inside.Lock()
	defer s.inside.Unlock()
	s.forgetTools()
}

// gone ends a session whose program has ended, and reports whether the request is of one.
func (r *Relay) gone(w http.ResponseWriter, req *http.Request) bool {
	id := req.Header.Get("Mcp-Session-Id")
	if id == "" || r.up.alive(id) {
		return false
	}
	if s := r.session(req, false); s != nil {
		r.drop(s)
	}
	http.Error(w, "session not found", http.StatusNotFound)
	return true
}

// unfit refuses requests of HTTP that are none of the protocol, and reports whether it did.
func (r *Relay) unfit(w http.ResponseWriter, req *http.Request) bool {
	kind, _, _ := mime.ParseMediaType(req.Header.Get("Content-Type"))
	accept := strings.Join(req.Header.Values("Accept"), ",")
	streams := strings.Contains(accept, "text/event-stream") || strings.Contains(accept, "*/*")
	revision, session := req.Header.Get("Mcp-Protocol-Version"), req.Header.Get("Mcp-Session-Id")
	post := req.Method == http.MethodPost
	switch {
	case post && kind != "application/json":
		http.Error(w, "Content-Type must be application/json", http.StatusUnsupportedMediaType)
	case post && !(streams && (strings.Contains(accept, "application/json") || strings.Contains(accept, "*/*"))):
		http.Error(w, "Accept must have application/json and text/event-stream", http.StatusNotAcceptable)
	case revision != "" && revision < rpc.Oldest:
		http.Error(w, "there is no such revision of the protocol", http.StatusBadRequest)
	case req.Method == http.MethodDelete && session == "":
		http.Error(w, "a session is ended by its Mcp-Session-Id", http.StatusBadRequest)
	case post && session == "" && revision < rpc.Newest && r.mute() && !begins(req):
		http.Error(w, "a session is needed, which initialize begins", http.StatusBadRequest)
	default:
		return false
	}
	return true
}

func (r *Relay) mute() bool { return r.up.mute() }

// begins reports whether a request, whose body was read, may come without a session, or
// is none, which others say better.
func begins(req *http.Request) bool {
	body, err := io.ReadAll(req.Body)
	req.Body = io.NopCloser(bytes.NewReader(body))
	e, bad := rpc.ReadEnvelope(body)
	return err != nil || bad != nil || e.Method == "initialize" || e.Method == "server/discover" || e.Method == "ping"
}
