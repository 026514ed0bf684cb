package mcpbridge_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// TestClosingWhileClientsCome: a session that begins while the service is closed is closed with
// it. One that stayed open is found at the end of all tests, as a goroutine that is left.
func TestClosingWhileClientsCome(t *testing.T) {
	for range 20 {
		s := serveOwn(t, nil)
		h, err := s.Handler(serve.HTTPAccess{})
		if err != nil {
			t.Fatal(err)
		}
		var clients sync.WaitGroup
		for range 8 {
			clients.Go(func() {
				if code := comes(h); code != http.StatusOK && code != http.StatusServiceUnavailable {
					t.Error(code)
				}
			})
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		clients.Wait()
		if code := comes(h); code != http.StatusServiceUnavailable {
			t.Fatalf("who comes behind the end gets %d", code)
		}
	}
}

// comes has a client begin a session.
func comes(h http.Handler) int {
	const hello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"late","version":"1"}}}`
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/", strings.NewReader(hello))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}
