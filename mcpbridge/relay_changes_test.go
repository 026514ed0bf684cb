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
	"github.com/toolpost/toolpost/mcpbridge/serve"
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

// Without sessions, the relay has the server announce changes of its list, and lists the tools again only after one. A
// changed tool is not called. A server that announces nothing, or stops to, is asked for its list before each call.
func TestRelayFollowsTheListWithoutSessions(t *testing.T) {
	for _, way := range []string{"announced", "refused", "not agreed", "ended"} {
		t.Run(way, func(t *testing.T) {
			var lists, calls, follows atomic.Int32
			var description atomic.Value
			description.Store("Act.")
			change := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				id, method := requestOf(r)
				switch method {
				case "subscriptions/listen":
					follows.Add(1)
					if r.Header.Get("Mcp-Method") != "" || way == "refused" { // the client sent none
						writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"error":{"code":-32601,"message":"no such method"}}`, id)
						return
					}
					w.Header().Set("Content-Type", "text/event-stream")
					fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/subscriptions/acknowledged\",\"params\":{\"notifications\":{\"toolsListChanged\":%v}}}\n\n", way != "not agreed")
					_ = http.NewResponseController(w).Flush()
					select {
					case <-change:
						if way == "announced" {
							fmt.Fprintf(w, "data: %s\n\n", listChanged)
							_ = http.NewResponseController(w).Flush()
							<-r.Context().Done()
						}
					case <-r.Context().Done():
					}
				case "tools/list":
					lists.Add(1)
					writeAnswer(w, listOf("act", description.Load().(string)), id)
				default:
					calls.Add(1)
					writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
				}
			}))
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			r := relayOf(t, config.ServerConfig{Name: "web", URL: server.URL}, invoke.AllowAll)
			address, n := serveRelay(t, r, serve.HTTPAccess{}), 0
			act := func() string {
				n++
				_, text := post(t, http.DefaultClient, address, newestCall(n, "x", `{}`), nil)
				return text
			}
			act()
			if follows.Load() != 0 {
				t.Error("the first call begins a subscription")
			}
			act()
			until(t, "subscription", func() bool { return follows.Load() == 1 })
			keeps := func() bool {
				before := lists.Load()
				act()
				return lists.Load() == before
			}
			if way == "announced" || way == "ended" {
				until(t, "kept list", keeps)
			} else if first, second := keeps(), keeps(); first || second {
				t.Error("a list is kept, and nothing would tell of a change")
			}
			description.Store("Act on something else.")
			close(change)
			refused := func() bool { return strings.Contains(act(), "nobody has approved it") }
			if way == "announced" || way == "ended" {
				until(t, "refused call", refused)
			} else if !refused() {
				t.Error("the changed tool was called")
			}
			if before := calls.Load(); !refused() || calls.Load() != before || follows.Load() != 1 {
				t.Errorf("a changed tool was called, or %d subscriptions were begun", follows.Load())
			}
		})
	}
}
