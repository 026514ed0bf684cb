package serve

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/mcpbridge/internal/caller"
	"github.com/toolpost/toolpost/mcpbridge/internal/rpc"
)

// HTTPAccess says who may reach an MCP server over HTTP. The zero value lets in programs
// of this machine, and pages of none.
type HTTPAccess struct {
	// Keys are the bearer keys of clients, each of which may use the sessions that
	// it began. Without any, everyone who reaches the address is let in.
	Keys []string
	// Hosts are the names, with or without a port, by which clients may ask for
	// the server, besides those of this machine. A request for another name comes
	// from a page that had its name point here.
	Hosts []string
	// Origins are those of pages that may use the server, like
	// https://app.example.org, besides those of the server's own host.
	Origins []string
	// MaxBody bounds a request; 0 means 4 MiB. BodyTime is how long a client may
	// take to send one; 0 means 30 s.
	MaxBody  int64
	BodyTime time.Duration
	// MaxSessions is how many sessions there may be; 0 means 256. MaxPerKey is how many of them one key may have; 0
	// means a quarter if there are several keys. A client beyond that gets the place of the session that was silent for
	// longest. IdleTime is how long one may be silent before it is ended; 0 means 30 min.
	MaxSessions, MaxPerKey int
	IdleTime               time.Duration
}

// The bounds of a HTTPAccess that says nothing else.
const (
	defaultBodyTime    = 30 * time.Second
	defaultMaxSessions = 256
	defaultIdleTime    = 30 * time.Minute
	leastKeyBytes      = 16
)

// WithDefaults returns g with its zero values replaced by the defaults.
func (g HTTPAccess) WithDefaults() HTTPAccess {
	g.MaxBody, g.BodyTime = cmp.Or(g.MaxBody, rpc.MaxClientFrame), cmp.Or(g.BodyTime, defaultBodyTime)
	g.MaxSessions, g.IdleTime = cmp.Or(g.MaxSessions, defaultMaxSessions), cmp.Or(g.IdleTime, defaultIdleTime)
	if g.MaxPerKey == 0 {
		g.MaxPerKey = g.MaxSessions
		if len(g.Keys) > 1 {
			g.MaxPerKey = max(g.MaxSessions/4, 1)
		}
	}
	return g
}

// Check returns the problem of g.
func (g HTTPAccess) Check() error {
	for _, key := range g.Keys {
		if len(key) < leastKeyBytes || strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
			return fmt.Errorf("mcp: a key has at least %d characters, without spaces", leastKeyBytes)
		}
	}
	for _, host := range g.Hosts {
		if host == "" || strings.ContainsAny(host, "/@ ") {
			return fmt.Errorf("mcp: %q is not a name of a host, like tools.example.org", host)
		}
	}
	for _, origin := range g.Origins {
		if u, err := url.Parse(origin); err != nil || u.Scheme == "" || u.Host == "" || u.Path != "" {
			return fmt.Errorf("mcp: %q is not an origin, like https://app.example.org", origin)
		}
	}
	return nil
}

// Handler serves clients by streamable HTTP: with sessions up to the revision
// 2025-11-25, without any from 2026-07-28 on.
func (s *Service) Handler(g HTTPAccess) (http.Handler, error) {
	if err := g.Check(); err != nil {
		return nil, err
	}
	get := func(*http.Request) *mcp.Server { return s.server }
	g = g.WithDefaults()
	// HTTPAccess checks hosts, for every address.
	sessions := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		SessionTimeout: g.IdleTime, DisableLocalhostProtection: true, MaxRequestBodyBytes: g.MaxBody})
	single := mcp.NewStreamableHTTPHandler(get, &mcp.StreamableHTTPOptions{
		Stateless: true, PropagateRequestCancellation: true, DisableLocalhostProtection: true, MaxRequestBodyBytes: g.MaxBody})
	return g.Guard(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Protocol-Version") >= rpc.Newest {
			s.requests.Serve(single, w, withOrigin(r, g))
			return
		}
		if r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") == "" && !s.seats.admit(s.server, g, caller.UserOf(r)) {
			w.Header().Set("Retry-After", "10")
			http.Error(w, "there are too many sessions; try again later", http.StatusServiceUnavailable)
			return
		}
		if r.Method == http.MethodDelete {
			s.leaves(r.Header.Get("Mcp-Session-Id"), caller.UserOf(r))
		}
		s.requests.Serve(sessions, s.seats.noticing(w, r), r)
		s.seats.left(r)
	})), nil
}

// Guard lets requests in that come from where they may, with a key if there are
// any, and reads their bodies.
func (g HTTPAccess) Guard(next http.Handler) http.Handler {
	g = g.WithDefaults()
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && !g.read(w, r) {
			return
		}
		next.ServeHTTP(w, r)
	})
	var inner http.Handler = h
	if len(g.Keys) > 0 {
		checked := auth.RequireBearerToken(g.verify, &auth.RequireBearerTokenOptions{AllowMissingExpiration: true})(h)
		inner = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { checked.ServeHTTP(challenging{w}, r) })
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Content-Type-Options", "nosniff")
		w.Header().Add("Vary", "Origin")
		switch {
		case !g.knowsHost(r.Host):
			http.Error(w, "this host name is not served here", http.StatusForbidden)
		case !g.knowsOrigin(r):
			http.Error(w, "pages of this origin may not use this server", http.StatusForbidden)
		case admitPage(w, r):
		default:
			inner.ServeHTTP(w, r)
		}
	})
}

// challenging says with every 401 what kind of key is wanted.
type challenging struct{ http.ResponseWriter }

// WriteHeader implements [http.ResponseWriter].
func (c challenging) WriteHeader(status int) {
	if status == http.StatusUnauthorized && c.Header().Get("WWW-Authenticate") == "" {
		c.Header().Set("WWW-Authenticate", "Bearer")
	}
	c.ResponseWriter.WriteHeader(status)
}

// Unwrap gives [http.ResponseController] the writer below.
func (c challenging) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// Flush implements [http.Flusher].
func (c challenging) Flush() { _ = http.NewResponseController(c.ResponseWriter).Flush() }

// The headers that pages may send and read.
const (
	pageSends = "Authorization, Content-Type, Accept, Last-Event-ID, Mcp-Session-Id, Mcp-Protocol-Version, Mcp-Method, Mcp-Name, *"
	pageReads = "Mcp-Session-Id, Mcp-Protocol-Version, Retry-After, WWW-Authenticate"
)

// admitPage tells a browser that a page whose origin is known may use the server. It
// reports whether that was all the browser asked: it does so before it sends a request,
// without a key.
func admitPage(w http.ResponseWriter, r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin == "" {
		return false
	}
	w.Header().Set("Access-Control-Allow-Origin", origin)
	w.Header().Set("Access-Control-Expose-Headers", pageReads)
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	w.Header().Set("Access-Control-Allow-Methods", "GET, POST, DELETE")
	w.Header().Set("Access-Control-Allow-Headers", pageSends)
	w.Header().Set("Access-Control-Max-Age", "600")
	w.WriteHeader(http.StatusNoContent)
	return true
}

// verify says whose key a token is, in the same time for every token. The name is
// made from the key and tells nothing of it.
func (g HTTPAccess) verify(_ context.Context, token string, _ *http.Request) (*auth.TokenInfo, error) {
	sent, found := sha256.Sum256([]byte(token)), 0
	for _, key := range g.Keys {
		kept := sha256.Sum256([]byte(key))
		found |= subtle.ConstantTimeCompare(sent[:], kept[:])
	}
	if found == 0 {
		return nil, auth.ErrInvalidToken
	}
	name := sha256.Sum256(sent[:])
	return &auth.TokenInfo{UserID: hex.EncodeToString(name[:16])}, nil
}

// knowsHost reports whether a request for that host is meant for us.
func (g HTTPAccess) knowsHost(host string) bool {
	name := host
	if h, _, err := net.SplitHostPort(host); err == nil {
		name = h
	}
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if strings.EqualFold(name, "localhost") {
		return true
	}
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return slices.ContainsFunc(g.Hosts, func(h string) bool { return strings.EqualFold(h, host) || strings.EqualFold(h, name) })
}

// knowsOrigin reports whether a request comes from outside of a page, or from a page that may
// use the server.
func (g HTTPAccess) knowsOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	if len(origins) > 1 {
		return false
	}
	if slices.ContainsFunc(g.Origins, func(o string) bool { return strings.EqualFold(o, origins[0]) }) {
		return true
	}
	u, err := url.Parse(origins[0])
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && strings.EqualFold(u.Host, r.Host)
}

// read reads the body of a request before it is handled, and refuses batches that are too long. A
// slow client delays only itself.
func (g HTTPAccess) read(w http.ResponseWriter, r *http.Request) bool {
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(g.BodyTime))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.MaxBody))
	if err == nil {
		_ = control.SetReadDeadline(time.Time{})
	} else {
		w.Header().Set("Connection", "close") // the rest is not read
	}
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, fmt.Sprintf("a request may have %d bytes", large.Limit), http.StatusRequestEntityTooLarge)
		return false
	case err != nil:
		http.Error(w, "the request did not arrive in time", http.StatusRequestTimeout)
		return false
	case !shortBatch(body):
		http.Error(w, fmt.Sprintf("a batch may have %d messages", rpc.MaxBatch), http.StatusBadRequest)
		return false
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return true
}

// shortBatch reports whether a body is a single message, or a batch of a few messages.
func shortBatch(body []byte) bool {
	body = bytes.TrimLeft(body, " \t\r\n")
	if len(body) == 0 || body[0] != '[' {
		return true
	}
	d := json.NewDecoder(bytes.NewReader(body))
	if _, err := d.Token(); err != nil {
		return true // text that is not JSON is refused later
	}
	for n := 0; d.More(); n++ {
		var skip json.RawMessage
		if n == rpc.MaxBatch || d.Decode(&skip) != nil {
			return n < rpc.MaxBatch
		}
	}
	return true
}
