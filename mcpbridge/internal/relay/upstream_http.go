package relay

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/mcpbridge/internal/connection"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

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

// httpUpstream is a server over HTTP.
type httpUpstream struct {
	client *http.Client
	home   string
}

func (r *Relay) newHTTPUpstream(login *connection.Tokens) upstream {
	client := outbound.New(outbound.Rules{Connect: r.server.ConnectTimeout(), Redirect: connection.SameServer})
	home := mustURL(r.server.URL)
	client.Transport = &connection.GuardedTransport{Life: context.Background(), Home: home, Headers: r.server.Headers, Login: login, Next: client.Transport}
	return &httpUpstream{client, r.server.URL}
}

// alive implements [upstream]: only the server knows.
func (u *httpUpstream) alive(string) bool { return true }

// mute implements [upstream]: there are servers without sessions.
func (u *httpUpstream) mute() bool { return false }

func (u *httpUpstream) close() { u.client.CloseIdleConnections() }

func (u *httpUpstream) end(session string) {
	ctx, cancel := context.WithTimeout(context.Background(), rpc.Patience)
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
