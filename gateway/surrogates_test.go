package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// Half of a surrogate pair in a request reaches an upstream of the same format unchanged. Other upstreams get U+FFFD,
// and the client is warned.
func TestLoneSurrogates(t *testing.T) {
	const half = `\ud83d`
	var got string
	up := new(sim.Server)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		got = string(b)
		r.Body = io.NopCloser(strings.NewReader(got))
		up.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		c.Vendors["up-"+format] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
		routes = append(routes, to(format, "up-"+format+"/sim/native"))
	}
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, `{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"`+half+`"},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":1,"total_tokens":2}}`)
	}))
	t.Cleanup(echo.Close)
	c.Vendors["echo"] = provider.Vendor{BaseURL: echo.URL + "/v1", Wires: []string{wire.Chat}}
	routes = append(routes, to("echo", "echo/m"))
	url := serve(t, gateway.Setup{Open: opening(c), Routes: routes})
	for format := range roots {
		resp, answer := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"`+format+`","messages":[{"role":"user","content":"a`+half+`b"}]}`)
		told := strings.Contains(strings.Join(resp.Header[exchange.WarningHeader], "\n"), "U+FFFD")
		same := format == wire.Chat
		if resp.StatusCode != http.StatusOK || told == same || strings.Contains(got, half) != same || strings.Contains(got, "\ufffd") == same {
			t.Errorf("%s: %d, %v, %s, %s", format, resp.StatusCode, resp.Header[exchange.WarningHeader], got, answer)
		}
	}
	// A relayed answer has lost nothing, another has.
	for path, same := range map[string]bool{"/v1/chat/completions": true, "/v1/messages": false} {
		resp, answer := send(t, "POST", url+path, "application/json", `{"model":"echo","max_tokens":5,"messages":[{"role":"user","content":"a"}]}`)
		told := strings.Contains(strings.Join(resp.Header[exchange.WarningHeader], "\n"), "U+FFFD")
		if resp.StatusCode != http.StatusOK || told == same || strings.Contains(string(answer), half) != same {
			t.Errorf("%s: %d, %v, %s", path, resp.StatusCode, resp.Header[exchange.WarningHeader], answer)
		}
	}
}
