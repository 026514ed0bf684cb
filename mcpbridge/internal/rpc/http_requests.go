package rpc

import (
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// HTTPRequests counts the HTTP requests to a server of the SDK. A request that is running while the
// server is closed could start a session that is never closed.
type HTTPRequests struct {
	mu    sync.Mutex
	ended bool
	under sync.WaitGroup
}

// Serve has next answer a request, unless the server is closed.
func (v *HTTPRequests) Serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
	v.mu.Lock()
	ended := v.ended
	if !ended {
		v.under.Add(1)
	}
	v.mu.Unlock()
	if ended {
		http.Error(w, "the server ends", http.StatusServiceUnavailable)
		return
	}
	defer v.under.Done()
	next.ServeHTTP(w, r)
}

// End refuses new requests and closes the sessions of the server: the existing ones,
// which ends the requests that listen to them, and the ones that a request started meanwhile.
func (v *HTTPRequests) End(server *mcp.Server) {
	v.mu.Lock()
	v.ended = true
	v.mu.Unlock()
	closeSessions(server)
	over := make(chan struct{})
	go func() {
		defer close(over)
		v.under.Wait()
	}()
	select {
	case <-over:
	case <-time.After(Patience): // a client does not read its answer
	}
	closeSessions(server)
}

func closeSessions(server *mcp.Server) {
	var closing sync.WaitGroup
	for session := range server.Sessions() {
		closing.Go(func() { _ = session.Close() })
	}
	closing.Wait()
}
