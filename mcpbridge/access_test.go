package mcpbridge_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/mcpbridge/serve"
)

// askedBy returns the answer to a request with headers.
func askedBy(t *testing.T, method, address, body string, header map[string]string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return resp
}

// A browser lets a page use the server if its origin may, and no other.
func TestPagesOfKnownOrigins(t *testing.T) {
	access := serve.HTTPAccess{Keys: []string{"0123456789abcdef"}, Origins: []string{"https://app.example.org"}}
	for name, address := range map[string]string{
		"service": serveOwn(t, nil).address(t, access),
		"relay":   relayOf(t, wholeServer(t, "stdio", "2025-06-18"), invoke.AllowAll).url(t, access),
	} {
		preflight := map[string]string{"Origin": "https://app.example.org", "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,mcp-session-id"}
		resp := askedBy(t, http.MethodOptions, address, "", preflight)
		h := resp.Header
		if resp.StatusCode != http.StatusNoContent || h.Get("Access-Control-Allow-Origin") != "https://app.example.org" || !strings.Contains(h.Get("Access-Control-Allow-Headers"), "Authorization") || !strings.Contains(h.Get("Access-Control-Allow-Methods"), "DELETE") {
			t.Errorf("%s: %d %v", name, resp.StatusCode, h)
		}
		if resp := askedBy(t, http.MethodPost, address, initialize, nil); resp.StatusCode != http.StatusUnauthorized || resp.Header.Get("WWW-Authenticate") != "Bearer" {
			t.Errorf("%s: without a key %d %v", name, resp.StatusCode, resp.Header)
		}
		preflight["Origin"] = "https://evil.example.org"
		if resp := askedBy(t, http.MethodOptions, address, "", preflight); resp.StatusCode != http.StatusForbidden || resp.Header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: another origin: %d %v", name, resp.StatusCode, resp.Header)
		}
		resp = askedBy(t, http.MethodPost, address, initialize, map[string]string{"Origin": "https://app.example.org", "Authorization": "Bearer 0123456789abcdef", "Content-Type": "application/json", "Accept": "application/json, text/event-stream"})
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Access-Control-Allow-Origin") != "https://app.example.org" || !strings.Contains(resp.Header.Get("Access-Control-Expose-Headers"), "Mcp-Session-Id") {
			t.Errorf("%s: %d %v", name, resp.StatusCode, resp.Header)
		}
	}
}

// A host is a name.
func TestHostsAreNames(t *testing.T) {
	for host, good := range map[string]bool{"tools.example.org": true, "tools.example.org:8232": true, "": false, "http://x/y": false, "u@x": false} {
		if err := (serve.HTTPAccess{Hosts: []string{host}}).Check(); (err == nil) != good {
			t.Errorf("%q: %v", host, err)
		}
	}
}

// A relay takes over HTTP what a server takes, and no more.
func TestRelayTakesOnlyRequestsOfTheProtocol(t *testing.T) {
	address := relayOf(t, wholeServer(t, "stdio", "2025-06-18"), invoke.AllowAll).url(t, serve.HTTPAccess{})
	call := `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"text":"x"}}}`
	for name, c := range map[string]struct {
		method, body string
		header       map[string]string
		want         int
	}{
		"initialize":        {"POST", initialize, nil, 200},
		"no session":        {"POST", call, nil, 400},
		"another type":      {"POST", initialize, map[string]string{"Content-Type": "text/plain"}, 415},
		"no stream":         {"POST", initialize, map[string]string{"Accept": "application/json"}, 406},
		"an old revision":   {"POST", initialize, map[string]string{"Mcp-Protocol-Version": "1900-01-01"}, 400},
		"an end of nothing": {"DELETE", "", nil, 400},
	} {
		header := map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
		for k, v := range c.header {
			header[k] = v
		}
		if resp := askedBy(t, c.method, address, c.body, header); resp.StatusCode != c.want {
			t.Errorf("%s: %d", name, resp.StatusCode)
		}
	}
}
