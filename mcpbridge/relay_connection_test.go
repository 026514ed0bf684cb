package mcpbridge_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// newestCall is a call of revision 2026-07-28.
func newestCall(id int, client, args string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"act","arguments":%s,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":%q,"version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`, id, args, client)
}

// post sends a message over HTTP and returns the status and the answer.
func post(t *testing.T, client *http.Client, url, body string, headers map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// serveRelay serves a relay over HTTP.
func serveRelay(t *testing.T, r *relaying, access serve.HTTPAccess) string {
	t.Helper()
	h, err := r.Relay.Handler(access)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(h)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// typedTool is a server whose tool wants an integer, and notes the arguments that it gets.
func typedTool(t *testing.T, got *atomic.Value) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(strings.NewReader(string(body)))
		id, method := requestOf(r)
		switch method {
		case "initialize":
			w.Header().Set("Mcp-Session-Id", "s"+id)
			writeAnswer(w, handshakeOf("2025-06-18"), id)
		case "tools/list":
			writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"act","description":"Act.","inputSchema":{"type":"object","properties":{"n":{"type":"integer"}}}}]}}`, id)
		case "tools/call":
			got.Store(string(body))
			writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// The calls of a connection in revision 2026-07-28 are in one record, over HTTP and by lines; another client of the same
// connection has a separate one.
func TestRelayWritesOneRunPerConnection(t *testing.T) {
	var got atomic.Value
	upstream := config.ServerConfig{Name: "web", URL: typedTool(t, &got)}
	t.Run("http", func(t *testing.T) {
		r := relayOf(t, upstream, invoke.AllowAll)
		url := serveRelay(t, r, serve.HTTPAccess{})
		for i := range 50 {
			if status, text := post(t, http.DefaultClient, url, newestCall(1, "a", fmt.Sprintf(`{"n":%d}`, i)), nil); status != http.StatusOK || !strings.Contains(text, "done") {
				t.Fatal(status, text)
			}
		}
		post(t, http.DefaultClient, url, newestCall(1, "b", `{}`), nil)
		r.Relay.Close()
		if len(r.runs) != 2 || len(r.receipts(t)) != 51 {
			t.Errorf("there are %d runs and %d receipts", len(r.runs), len(r.receipts(t)))
		}
	})
	t.Run("lines", func(t *testing.T) {
		r := relayOf(t, upstream, invoke.AllowAll)
		l := byLines(t, r.Relay.ServePipe)
		for i := range 50 {
			l.send(newestCall(i, "a", `{"n":1}`))
			if text := l.answer(fmt.Sprint(i)); !strings.Contains(text, "done") {
				t.Fatal(text)
			}
		}
		l.in.Close()
		<-l.over
		r.Relay.Close()
		if len(r.runs) != 1 || len(r.receipts(t)) != 50 {
			t.Errorf("there are %d runs and %d receipts", len(r.runs), len(r.receipts(t)))
		}
	})
}

// A header that names another method or tool than the body is refused: a proxy would have decided about another request.
func TestRelayRefusesMismatchedHeaders(t *testing.T) {
	var got atomic.Value
	url := serveRelay(t, relayOf(t, config.ServerConfig{Name: "web", URL: typedTool(t, &got)}, invoke.AllowAll), serve.HTTPAccess{})
	for header, ok := range map[string]bool{
		"Mcp-Method: tools/call": true, "Mcp-Method: tools/list": false, "Mcp-Method: TOOLS/CALL": false, "Mcp-Method: ping": false,
		"Mcp-Name: act": true, "Mcp-Name: Act": false, "Mcp-Name: other": false, "Mcp-Name: =?base64?YWN0?=": true, "Mcp-Name: =?base64?b3RoZXI=?=": false, "Mcp-Name: =?base64?***?=": false,
	} {
		name, value, _ := strings.Cut(header, ": ")
		status, text := post(t, http.DefaultClient, url, newestCall(1, "a", `{}`), map[string]string{name: value})
		if ok != (status == http.StatusOK) || !ok && !strings.Contains(text, "-32020") {
			t.Errorf("%s: %d %s", header, status, text)
		}
	}
	status, text := post(t, http.DefaultClient, url, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, map[string]string{"Mcp-Method": "tools/call"})
	if status != http.StatusBadRequest {
		t.Errorf("%d %s", status, text)
	}
	l := byLines(t, relayOf(t, config.ServerConfig{Name: "web", URL: typedTool(t, &got)}, invoke.AllowAll).Relay.ServePipe)
	for i, name := range []string{"äct", "act\\u0000", strings.Repeat("a", 2000)} { // a line has no headers
		l.send(strings.Replace(newestCall(i, "a", `{}`), `"name":"act"`, `"name":"`+strings.ReplaceAll(name, `\\`, `\`)+`"`, 1))
		if text := l.answer(fmt.Sprint(i)); !strings.Contains(text, "unknown tool") {
			t.Error(text)
		}
	}
}

// A relay does not convert arguments, unless that is asked for.
func TestRelayPassesArgumentsAsTheyAre(t *testing.T) {
	for _, coerce := range []bool{false, true} {
		var got atomic.Value
		got.Store("nothing")
		s, _ := open(t, client.Options{}, config.ServerConfig{Name: "web", URL: typedTool(t, &got)})
		r, err := s.Relay("web", serve.ServiceOptions{Runner: &invoke.Runner{Policy: invoke.AllowAll}, Coerce: coerce})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { r.Close() })
		l := byLines(t, r.ServePipe)
		l.send(initialize)
		l.answer("1")
		l.call(2, "act", `{"n":"3"}`)
		text, sent := l.answer("2"), got.Load().(string)
		if coerce && !strings.Contains(sent, `{"n":3}`) || !coerce && (sent != "nothing" || !strings.Contains(text, "/n")) {
			t.Errorf("coerce %v: the server got %s, and the client %s", coerce, sent, text)
		}
		l.call(3, "act", `{"n":3,  "m":"4"}`)
		if text, sent := l.answer("3"), got.Load().(string); !strings.Contains(text, "done") || !strings.Contains(sent, `{"n":3,  "m":"4"}`) {
			t.Errorf("coerce %v: the server got %s, and the client %s", coerce, sent, text)
		}
	}
}

// One key cannot take the sessions of all: it has a quarter of them at most, and its session that was silent for longest
// gives way to another one.
func TestSessionsAreBoundedPerKey(t *testing.T) {
	keys := []string{"key-of-ada-0123456789", "key-of-bob-0123456789"}
	access := serve.HTTPAccess{Keys: keys, MaxSessions: 8}
	var got atomic.Value
	handlers := map[string]func(t *testing.T) string{
		"relay": func(t *testing.T) string {
			return serveRelay(t, relayOf(t, config.ServerConfig{Name: "web", URL: typedTool(t, &got)}, invoke.AllowAll), access)
		},
		"serve": func(t *testing.T) string {
			h, err := serveOwn(t, nil).Handler(access)
			if err != nil {
				t.Fatal(err)
			}
			server := httptest.NewServer(h)
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			return server.URL
		},
	}
	for name, start := range handlers {
		t.Run(name, func(t *testing.T) {
			url := start(t)
			begin := func(key string, id int) string {
				req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(strings.Replace(initialize, `"id":1`, fmt.Sprintf(`"id":%d`, id), 1)))
				req.Header.Set("Content-Type", "application/json")
				req.Header.Set("Accept", "application/json, text/event-stream")
				req.Header.Set("Authorization", "Bearer "+key)
				resp, err := http.DefaultClient.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, resp.Body)
				resp.Body.Close()
				if resp.StatusCode != http.StatusOK {
					t.Fatalf("session %d of %s: %s", id, key, resp.Status)
				}
				return resp.Header.Get("Mcp-Session-Id")
			}
			alive := func(key, session string) int {
				status, _ := post(t, http.DefaultClient, url, `{"jsonrpc":"2.0","id":9,"method":"tools/list"}`, map[string]string{"Authorization": "Bearer " + key, "Mcp-Session-Id": session, "Mcp-Protocol-Version": "2025-06-18"})
				return status
			}
			bob := begin(keys[1], 1)
			var sessions []string
			for i := range 20 {
				sessions = append(sessions, begin(keys[0], 100+i))
			}
			if status := alive(keys[1], bob); status != http.StatusOK {
				t.Errorf("the session of another key was ended: %d", status)
			}
			if status := alive(keys[0], sessions[19]); status != http.StatusOK {
				t.Errorf("the last session does not work: %d", status)
			}
			if name == "serve" {
				until(t, "the end of the first session", func() bool { return alive(keys[0], sessions[0]) == http.StatusNotFound })
			}
		})
	}
}
