package mcpbridge_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

const listChanged = `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`

// A server that changes a tool while the relay reads the list announces it in the stream of the list or in the stream
// between requests. The changed tool is not called.
func TestRelayRefusesToolsThatChangeDuringTheList(t *testing.T) {
	for _, way := range []string{"the stream of the list", "the stream between requests"} {
		t.Run(way, func(t *testing.T) {
			var lists, calls atomic.Int32
			between, heard := make(chan struct{}), make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodGet {
					w.Header().Set("Content-Type", "text/event-stream")
					_ = http.NewResponseController(w).Flush()
					select {
					case <-between:
						fmt.Fprintf(w, "data: %s\n\n", listChanged)
						_ = http.NewResponseController(w).Flush()
						<-r.Context().Done()
					case <-r.Context().Done():
					}
					return
				}
				id, method := requestOf(r)
				switch method {
				case "initialize":
					w.Header().Set("Mcp-Session-Id", "s1")
					writeAnswer(w, handshakeOf("2025-06-18"), id)
				case "tools/list":
					w.Header().Set("Content-Type", "text/event-stream")
					description := "Act on something else."
					if lists.Add(1) == 1 {
						description = "Act."
						if way == "the stream of the list" {
							fmt.Fprintf(w, "data: %s\n\n", listChanged)
						} else {
							close(between)
							<-heard
						}
					}
					fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(listOf("act", description), "ID", id))
				case "tools/call":
					calls.Add(1)
					writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
				default:
					w.WriteHeader(http.StatusAccepted)
				}
			}))
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			l := relayLines(t, relayOf(t, config.ServerConfig{Name: "web", URL: server.URL}, invoke.AllowAll))
			l.call(2, "act", `{}`)
			l.hear("notifications/tools/list_changed") // the client is told, too
			close(heard)
			if got := l.answer("2"); !strings.Contains(got, "nobody has approved it") || calls.Load() != 0 || lists.Load() != 2 {
				t.Errorf("after %d lists and %d calls it said %s", lists.Load(), calls.Load(), got)
			}
		})
	}
}
