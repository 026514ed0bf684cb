package mcpbridge_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// webTool is a server with the tool act whose requests are seen before they are answered. See returns true for a request
// that it has answered.
func webTool(t *testing.T, see func(w http.ResponseWriter, method, id string) bool) (address string, calls *atomic.Int32) {
	calls = new(atomic.Int32)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			w.WriteHeader(http.StatusMethodNotAllowed)
			return
		}
		id, method := requestOf(r)
		switch {
		case see(w, method, id):
		case method == "initialize":
			writeAnswer(w, handshakeOf("2025-06-18"), id)
		case method == "tools/list":
			writeAnswer(w, listOf("act", "Act."), id)
		case method == "tools/call":
			calls.Add(1)
			writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
		case method == "server/discover":
			w.WriteHeader(http.StatusBadRequest)
		default:
			w.WriteHeader(http.StatusAccepted)
		}
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL, calls
}

// A tool that its server changes is not called until somebody approves it, also if the server announces the change while
// its list is read, or in the answer to the call before.
func TestToolsThatChangeDuringTheListAreNotCalled(t *testing.T) {
	for when, c := range map[string]struct {
		changesAt     func(list int32) bool // lists in which the tool changes after it is described
		inCall        bool                  // the first call changes the tool, too
		first, second string                // the result or error of two calls
		calls         int32
	}{
		"never":                  {changesAt: func(int32) bool { return false }, first: "done", second: "done", calls: 2},
		"while it connects":      {changesAt: func(n int32) bool { return n == 1 }, first: "done", second: "done", calls: 2}, // the second list is the first that is accepted
		"in every list":          {changesAt: func(int32) bool { return true }, first: "its new list cannot be read", second: "its new list cannot be read"},
		"in a call":              {changesAt: func(int32) bool { return false }, inCall: true, first: "done", second: "changed this tool", calls: 1},
		"in a call and its list": {changesAt: func(n int32) bool { return n == 2 }, inCall: true, first: "done", second: "changed this tool", calls: 1},
	} {
		t.Run(when, func(t *testing.T) {
			var version, lists atomic.Int32
			calls := new(atomic.Int32)
			url, others := webTool(t, func(w http.ResponseWriter, method, id string) bool {
				text := ""
				switch {
				case method == "tools/list":
					text = listOf("act", fmt.Sprintf("Act %d.", version.Load()))
					if c.changesAt(lists.Add(1)) {
						version.Add(1)
						text = listChanged + "\n\ndata: " + text
					}
				case method == "tools/call" && c.inCall:
					calls.Add(1)
					version.Add(1)
					text = listChanged + "\n\ndata: " + `{"jsonrpc":"2.0","id":ID,"result":{"content":[{"type":"text","text":"done"}]}}`
				default:
					return false
				}
				w.Header().Set("Content-Type", "text/event-stream")
				fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(text, "ID", id))
				return true
			})
			s, _ := open(t, client.Options{}, config.ServerConfig{Name: "web", URL: url})
			set := toolsOf(t, s)
			for i, want := range []string{c.first, c.second} {
				out, err := call(t, set, "web__act", "{}")
				if got := fmt.Sprint(textOf(out), err); !strings.Contains(got, want) {
					t.Errorf("call %d: %s", i+1, got)
				}
			}
			if n := calls.Load() + others.Load(); n != c.calls {
				t.Errorf("it was called %d times", n)
			}
		})
	}
}

// A client whose first POST is refused with 400, 404 or 405 uses the older transport, and does not after other refusals.
func TestOlderTransportAfterRefusedPost(t *testing.T) {
	older := mcptest.HTTP(t, mcptest.Ordinary(), nil) + "/sse"
	for status, want := range map[int]bool{400: true, 404: true, 405: true, 401: false, 403: false, 429: false, 500: false, 406: false, 415: false} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			var gets atomic.Int32
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.Method == http.MethodPost && r.URL.Path == "/mcp" {
					http.Error(w, "no", status)
					return
				}
				gets.Add(1)
				r.URL.Path = strings.Replace(r.URL.Path, "/mcp", "/sse", 1)
				proxyTo(older, w, r)
			}))
			t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
			s, told := open(t, client.Options{}, config.ServerConfig{Name: "one", URL: server.URL + "/mcp"})
			err := s.Connect(t.Context(), "one")
			if want {
				if err != nil {
					t.Fatal(err)
				}
				told.wait(t, "set type: sse")
				if out, err := call(t, toolsOf(t, s), "one__echo", `{"text":"x"}`); err != nil || textOf(out) != "x" {
					t.Errorf("%q, %v", textOf(out), err)
				}
				return
			}
			if err == nil || gets.Load() != 0 {
				t.Errorf("after %d requests by the older transport: %v", gets.Load(), err)
			}
		})
	}
}

// A server that refuses both transports is described by its first answer.
func TestNoTransport(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	defer server.Close()
	s, _ := open(t, client.Options{}, config.ServerConfig{Name: "one", URL: server.URL})
	err := s.Connect(t.Context(), "one")
	if err == nil || !strings.Contains(err.Error(), "Not Found") || !strings.Contains(err.Error(), "type sse") {
		t.Errorf("the error is %v", err)
	}
}

// A call that a busy server refuses with HTTP 429 is sent again after the pause that the server asks for. It was not run,
// and is never said to have an unknown outcome.
func TestBusyServerGetsTheCallAgain(t *testing.T) {
	for name, c := range map[string]struct {
		after   string // Retry-After
		refused int32  // requests
		method  string
		fails   bool
	}{
		"soon":           {after: "0.001", refused: 2, method: "tools/call"},
		"at once":        {after: "0", refused: 1, method: "tools/call"},
		"the handshake":  {after: "0.001", refused: 1, method: "initialize"},
		"the list":       {after: "0.001", refused: 1, method: "tools/list"},
		"too late":       {after: "3600", refused: 1, method: "tools/call", fails: true},
		"too often":      {after: "0.001", refused: 99, method: "tools/call", fails: true},
		"no time":        {after: "", refused: 1, method: "tools/call", fails: true},
		"an odd time":    {after: "NaN", refused: 1, method: "tools/call", fails: true},
		"another time":   {after: "-1", refused: 1, method: "tools/call", fails: true},
		"a time of past": {after: "Mon, 02 Jan 2006 15:04:05 GMT", refused: 1, method: "tools/call"},
	} {
		t.Run(name, func(t *testing.T) {
			var seen atomic.Int32
			url, calls := webTool(t, func(w http.ResponseWriter, method, _ string) bool {
				if method != c.method || seen.Add(1) > c.refused {
					return false
				}
				if c.after != "" {
					w.Header().Set("Retry-After", c.after)
				}
				w.WriteHeader(http.StatusTooManyRequests)
				return true
			})
			s, _ := open(t, client.Options{}, config.ServerConfig{Name: "web", URL: url})
			out, err := call(t, toolsOf(t, s), "web__act", "{}")
			if !c.fails {
				if err != nil || textOf(out) != "done" || calls.Load() != 1 {
					t.Errorf("after %d calls: %q, %v", calls.Load(), textOf(out), err)
				}
				return
			}
			var e *tool.Error
			if !errors.As(err, &e) || e.Code != tool.RateLimit || !strings.Contains(e.Message, "did not run the call") || calls.Load() != 0 {
				t.Errorf("after %d calls: %v", calls.Load(), err)
			}
			if name == "too often" && seen.Load() > 5 {
				t.Errorf("it was asked %d times", seen.Load())
			}
		})
	}
}

// The setting protocol chooses the revision, and a server that does not have it is an error that names the setting.
func TestProtocolSetting(t *testing.T) {
	both := mcptest.HTTP(t, mcptest.Ordinary(), nil)
	older, _ := webTool(t, func(http.ResponseWriter, string, string) bool { return false })
	for _, c := range []struct{ url, protocol, want string }{
		{both + "/stateless", "", "2026-07-28"},
		{both + "/stateless", "auto", "2026-07-28"},
		{both + "/mcp", "2025-11-25", "2025-11-25"},
		{both + "/stateless", "2026-07-28", "2026-07-28"},
		{older, "2025-11-25", "2025-06-18"},
		{older, "auto", "2025-06-18"},
		{older, "2026-07-28", "protocol demands 2026-07-28"},
	} {
		s, _ := open(t, client.Options{}, config.ServerConfig{Name: "one", URL: c.url, Protocol: c.protocol})
		err := s.Connect(t.Context(), "one")
		if got := s.Status()[0].Revision; got != c.want && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%+v: %s, %v", c, got, err)
		}
	}
	bad := config.ServerConfig{Name: "one", URL: older, Protocol: "2024-11-05"}
	if err := bad.Check(); err == nil || !strings.Contains(err.Error(), "2025-11-25") {
		t.Errorf("another revision: %v", err)
	}
}

// An HTTP server that is slow has the whole timeout: it is asked in the older way, too, and its first answer counts.
func TestSlowHTTPServerHasTheWholeTimeout(t *testing.T) {
	t.Parallel()
	for _, answers := range []string{"server/discover", "initialize"} {
		t.Run(answers, func(t *testing.T) {
			t.Parallel()
			second := make(chan struct{})
			url, _ := webTool(t, func(w http.ResponseWriter, method, id string) bool {
				switch {
				case method == "initialize":
					close(second)
					if answers == method {
						return false
					}
				case method == "server/discover":
					<-second
					if answers == method {
						writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}`, id)
						return true
					}
				default:
					return false
				}
				time.Sleep(time.Second) // the other one is first
				return true
			})
			s, _ := open(t, client.Options{}, config.ServerConfig{Name: "one", URL: url, Connect: 3 * time.Second})
			if err := s.Connect(t.Context(), "one"); err != nil {
				t.Error(err)
			}
			if got := s.Status()[0].Revision; (got == "2026-07-28") != (answers == "server/discover") {
				t.Errorf("it speaks %q", got)
			}
		})
	}
}

// proxyTo passes a request on to a server at that address.
func proxyTo(address string, w http.ResponseWriter, r *http.Request) {
	u, _ := url.Parse(address)
	(&httputil.ReverseProxy{FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0), Rewrite: func(p *httputil.ProxyRequest) {
		p.Out.URL.Scheme, p.Out.URL.Host, p.Out.Host = u.Scheme, u.Host, u.Host
	}}).ServeHTTP(w, r)
}

// A tool whose schema has keywords that cannot be checked here is used, by the client and the relay, and the server checks
// it. The person is told once.
func TestSchemasThatCannotBeCheckedWhole(t *testing.T) {
	input := `{"type":"object","properties":{"n":{"type":"integer"},"a":{"type":"string","pattern":"^P(?!$)x"}},"required":["n"]}`
	for name, list := range map[string]string{
		"pattern":        `"inputSchema":` + input,
		"$schema":        `"inputSchema":` + strings.Replace(input, `{`, `{"$schema":"https://example.org/odd",`, 1),
		"draft 4":        `"inputSchema":` + strings.Replace(input, `"integer"`, `"integer","minimum":0,"exclusiveMinimum":true`, 1),
		"results":        `"inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"outputSchema":` + input,
		"lost reference": `"inputSchema":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]},"outputSchema":{"type":"object","properties":{"x":{"$ref":"#/nowhere"}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			url, calls := webTool(t, func(w http.ResponseWriter, method, id string) bool {
				if method != "tools/list" {
					return false
				}
				writeAnswer(w, `{"jsonrpc":"2.0","id":ID,"result":{"tools":[{"name":"act","description":"Act.",`+list+`}]}}`, id)
				return true
			})
			server := config.ServerConfig{Name: "web", URL: url}
			s, told := open(t, client.Options{}, server)
			runner := &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll}
			session, err := runner.Session(nil)
			if err != nil {
				t.Fatal(err)
			}
			results, err := session.Results(t.Context(), []llm.Call{{ID: "1", Name: "web__act", Args: []byte(`{"n":1,"a":"no match"}`)}, {ID: "2", Name: "web__act", Args: []byte(`{"n":"x y"}`)}})
			if err != nil || len(results) != 2 || results[0].Failed || !results[1].Failed || calls.Load() != 1 {
				t.Errorf("%+v, %v after %d calls", results, err, calls.Load())
			}
			if _, err := s.Approve(t.Context(), "web"); err != nil {
				t.Error(err)
			}
			if got := strings.Count(told.String(), "only checked by its server"); got != 1 {
				t.Errorf("it was told %d times: %s", got, told)
			}
			l := relayLines(t, relayOf(t, server, invoke.AllowAll))
			l.call(2, "act", `{"n":1,"a":"no match"}`)
			if got := l.answer("2"); !strings.Contains(got, "done") {
				t.Errorf("the relay said %s", got)
			}
		})
	}
}

// A tool that fails because it asks the user in an older way is explained once, with the setting that helps.
func TestElicitationOfOlderServersNamesTheSetting(t *testing.T) {
	server := mcp.NewServer(&mcp.Implementation{Name: "s", Version: "1"}, nil)
	server.AddTool(&mcp.Tool{Name: "order", InputSchema: json.RawMessage(`{"type":"object"}`)}, func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: "Elicitation is not supported in this context"}}}, nil
	})
	address := mcptest.HTTP(t, server, nil)
	for protocol, want := range map[string]int{"": 1, "2025-11-25": 0} {
		s, told := open(t, client.Options{}, config.ServerConfig{Name: "one", URL: address + "/stateless", Protocol: protocol})
		set := toolsOf(t, s)
		for range 2 {
			if _, err := call(t, set, "one__order", "{}"); err == nil {
				t.Error("the call succeeded")
			}
		}
		if got := strings.Count(told.String(), "set protocol: 2025-11-25"); got != want {
			t.Errorf("%q: %s", protocol, told)
		}
	}
}
