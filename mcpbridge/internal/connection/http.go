package connection

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// NewHTTPTransport returns the transport to an HTTP or SSE server, whose variables are
// resolved.
// All its requests end with life. Heard is told of the answers; it may be nil.
func NewHTTPTransport(life context.Context, s config.ServerConfig, login *Tokens, heard *Heard) (mcp.Transport, error) {
	home, err := url.Parse(s.URL)
	if err != nil {
		return nil, errors.New("the url cannot be read")
	}
	client := outbound.New(outbound.Rules{Connect: s.ConnectTimeout(), Redirect: SameServer})
	client.Transport = &GuardedTransport{Life: life, Home: home, Headers: s.Headers, Login: login, decoded: true, heard: heard, Next: client.Transport}
	if s.Kind() == config.SSE {
		return &mcp.SSEClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: rpc.MaxFrame}, nil
	}
	return &mcp.StreamableClientTransport{Endpoint: s.URL, HTTPClient: client, MaxEventSize: rpc.MaxFrame, MaxRetries: 2}, nil
}

// SameServer allows redirects that stay with the server that was named.
func SameServer(next *url.URL, via []*http.Request) error {
	if next.Host != via[0].URL.Host || next.Scheme != via[0].URL.Scheme {
		return &RedirectError{next}
	}
	return nil
}

// GuardedTransport keeps requests to the server that was named: an SSE server chooses where
// it is asked, and any server may redirect. It adds the headers and bounds answers.
type GuardedTransport struct {
	Life    context.Context
	Home    *url.URL
	Headers map[string]string
	Login   *Tokens // nil without one
	decoded bool    // the SDK decodes the messages; they are bounded in all, and repaired
	heard   *Heard
	Next    http.RoundTripper
}

// RoundTrip implements [http.RoundTripper].
func (g *GuardedTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host != g.Home.Host || req.URL.Scheme != g.Home.Scheme {
		return nil, &RedirectError{req.URL}
	}
	ctx, cancel := context.WithCancel(req.Context())
	stop := context.AfterFunc(g.Life, cancel)
	over := func() { stop(); cancel() }
	req = req.Clone(ctx)
	addName(req)
	resp, err := g.sendPatiently(req)
	if err != nil {
		over()
		return nil, err
	}
	if req.Method == http.MethodPost {
		g.heard.post(resp.StatusCode)
	}
	resp.Body = &ending{resp.Body, over}
	// The events of a stream are bounded one by one, those of an answer also in all;
	// a stream that a client listens to is not bounded.
	if g.decoded && req.Method == http.MethodPost && req.Header.Get("Mcp-Method") != "subscriptions/listen" {
		resp.Body = &bounded{resp.Body, rpc.MaxStream, rpc.MaxStream}
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	stream := kind == "text/event-stream" && resp.StatusCode == http.StatusOK
	if !stream {
		body := &bounded{resp.Body, rpc.MaxFrame, rpc.MaxFrame}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{rpc.WithoutMark(body), body}
	}
	switch {
	case !g.decoded: // a relay passes messages on unchanged
	case stream:
		resp.Body = struct {
			io.Reader
			io.Closer
		}{rpc.ServerEvents(resp.Body, g.heard.message), resp.Body}
	default:
		resp.Body = &rpc.ServerBody{ReadCloser: resp.Body}
	}
	return resp, nil
}

// BusyError reports that a server did not take a request, because there were too many (HTTP 429).
type BusyError struct {
	wait time.Duration // that the server asks for; 0 if it does not say
}

func (e *BusyError) Error() string {
	if e.wait == 0 {
		return "the server does not take more requests now (HTTP 429)"
	}
	return fmt.Sprintf("the server does not take more requests now (HTTP 429), and asks to wait %s", e.wait)
}

// The bounds of waiting for a server that takes no more requests.
const (
	maxBusyWait     = 30 * time.Second
	maxBusyAttempts = 4
)

// patienceKey is the key of how long a request may wait until it is sent, in its context.
type patienceKey struct{}

// WithPatience bounds how long requests wait for a server that asks for a pause. The default is 30 s.
func WithPatience(ctx context.Context, limit time.Duration) context.Context {
	return context.WithValue(ctx, patienceKey{}, limit)
}

// nameKey is the key of what a request names, in its context.
type nameKey struct{}

// WithName sets what requests about a task name in their header. The SDK sets the names of its own methods only.
func WithName(ctx context.Context, name string) context.Context {
	return context.WithValue(ctx, nameKey{}, name)
}

// addName adds the name of a task to the headers of a request about it, since revision 2026-07-28.
func addName(req *http.Request) {
	name, ok := req.Context().Value(nameKey{}).(string)
	if ok && strings.HasPrefix(req.Header.Get("Mcp-Method"), "tasks/") {
		req.Header.Set("Mcp-Name", rpc.HeaderText(name))
	}
}

// sendPatiently sends a request, and again after the pause that a busy server asks for: it has not taken the request.
func (g *GuardedTransport) sendPatiently(req *http.Request) (*http.Response, error) {
	left, bounded := req.Context().Value(patienceKey{}).(time.Duration)
	if !bounded || left > maxBusyWait {
		left = maxBusyWait
	}
	for attempt := 1; ; attempt++ {
		resp, err := g.send(req)
		if err != nil || !g.decoded || resp.StatusCode != http.StatusTooManyRequests {
			return resp, err
		}
		resp.Body.Close()
		busy := &BusyError{retryAfter(resp.Header)}
		body, err := again(req)
		if left -= busy.wait; busy.wait == 0 || left < 0 || attempt == maxBusyAttempts || err != nil {
			return nil, busy
		}
		select {
		case <-time.After(busy.wait):
		case <-req.Context().Done():
			return nil, busy
		}
		req = req.Clone(req.Context())
		req.Body = body
	}
}

// retryAfter is the pause that a server asks for, 0 if it asks for none: a number of seconds or a date.
func retryAfter(header http.Header) time.Duration {
	text := header.Get("Retry-After")
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if seconds < 0 || seconds != seconds {
			return 0
		}
		return max(time.Duration(min(seconds, 1e6)*float64(time.Second)), time.Millisecond)
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), time.Millisecond)
	}
	return 0
}

// send adds the headers and the token. A server that does not take the token is asked
// again with a new one, if there is one to be had.
func (g *GuardedTransport) send(req *http.Request) (*http.Response, error) {
	for name, value := range g.Headers {
		req.Header.Set(name, value)
	}
	if g.Login == nil || req.Header.Get("Authorization") != "" {
		return g.Next.RoundTrip(req)
	}
	for first := true; ; first = false {
		token, err := g.Login.header(req.Context())
		if err != nil {
			return nil, err
		}
		if token != "" {
			req.Header.Set("Authorization", token)
		}
		resp, err := g.Next.RoundTrip(req)
		if err != nil {
			return nil, err
		}
		asked := challengeOf(resp)
		if asked == nil {
			return resp, nil
		}
		resp.Body.Close()
		body, err := again(req)
		if !first || err != nil || asked.Status != http.StatusUnauthorized || !g.Login.spoil(token) {
			return nil, g.Login.refused(asked)
		}
		req = req.Clone(req.Context())
		req.Body = body
	}
}

// again returns the body of a request for another attempt.
func again(req *http.Request) (io.ReadCloser, error) {
	switch {
	case req.Body == nil || req.Body == http.NoBody:
		return req.Body, nil
	case req.GetBody == nil:
		return nil, errors.New("the body cannot be sent twice")
	}
	return req.GetBody()
}

// ending tells when a body is closed.
type ending struct {
	io.ReadCloser
	over func()
}

// Close implements [io.Closer].
func (e *ending) Close() error {
	defer e.over()
	return e.ReadCloser.Close()
}

// bounded fails when more is read than there may be.
type bounded struct {
	io.ReadCloser
	left, limit int
}

// Read implements [io.Reader].
func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		var probe [1]byte
		if n, err := b.ReadCloser.Read(probe[:]); n == 0 {
			return 0, err
		}
		return 0, fmt.Errorf("the server's answer has more than %d bytes", b.limit)
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") || strings.HasSuffix(strings.ToLower(host), ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && (ip.IsLoopback() || ip.IsUnspecified())
}
