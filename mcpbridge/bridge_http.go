package mcpbridge

import (
	"crypto/rand"
	"net"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// BridgeAddress is where an agent program on this machine reaches a bridge.
type BridgeAddress struct {
	// URL is an address of this machine. Key is the bearer key without which it
	// answers nobody; it is made for this bridge and ends with it.
	URL, Key string

	server *mcp.Server
	visits visits
	http   *http.Server
	done   chan struct{}
}

// The bounds of a bridge, which has one client.
const (
	bridgeSessions = 8
	bridgeHeaders  = 32 << 10
)

// Listen serves the bridge by streamable HTTP on a free port of this machine, until it is
// closed.
func (b *Bridge) Listen() (*BridgeAddress, error) {
	server, err := b.Server()
	if err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &BridgeAddress{URL: "http://" + l.Addr().String() + "/mcp", Key: rand.Text(), server: server, done: make(chan struct{})}
	handler := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, nil)
	limited := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if n := a.sessions(); n >= bridgeSessions && r.Header.Get("Mcp-Session-Id") == "" {
			http.Error(w, "there are too many sessions", http.StatusServiceUnavailable)
			return
		}
		a.visits.serve(handler, w, r)
	})
	a.http = &http.Server{Handler: HTTPAccess{Keys: []string{a.Key}}.guard(limited), ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: bridgeHeaders}
	go func() {
		defer close(a.done)
		_ = a.http.Serve(l) // it ends when it is closed
	}()
	return a, nil
}

func (a *BridgeAddress) sessions() int {
	n := 0
	for range a.server.Sessions() {
		n++
	}
	return n
}

// Close ends the bridge. Calls that are under way are cancelled.
func (a *BridgeAddress) Close() {
	_ = a.http.Close()
	<-a.done
	a.visits.end(a.server)
}
