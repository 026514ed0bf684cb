package mcpbridge

import (
	"net/http"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// httpRequests are the requests by HTTP to a server of the SDK. A request that is under way while the
// server is closed could begin a session that nobody ends.
type httpRequests struct {
	mu    sync.Mutex
	ended bool
	under sync.WaitGroup
}

// serve has next answer a request, unless the server is closed.
func (v *httpRequests) serve(next http.Handler, w http.ResponseWriter, r *http.Request) {
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

// end lets no request in any more, and closes the sessions of the server: those that there are,
// which ends the requests that listen to them, and those that a request began meanwhile.
func (v *httpRequests) end(server *mcp.Server) {
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
	case <-time.After(patience): // a client does not read its answer
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
