package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// Half of a surrogate pair that a client sends reaches an upstream of the same format as it is; others get U+FFFD, and the
// client is told.
func TestHalvesOfPairs(t *testing.T) {
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
	c := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		c.Vendors["up-"+format] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
		routes = append(routes, to(format, "up-"+format+"/sim/native"))
	}
	url := serve(t, gateway.Setup{Open: opening(c), Routes: routes})
	for format := range roots {
		resp, answer := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"`+format+`","messages":[{"role":"user","content":"a`+half+`b"}]}`)
		told := strings.Contains(strings.Join(resp.Header[gateway.WarningHeader], "\n"), "U+FFFD")
		same := format == wire.Chat
		if resp.StatusCode != http.StatusOK || told == same || strings.Contains(got, half) != same || strings.Contains(got, "\ufffd") == same {
			t.Errorf("%s: %d, %v, %s, %s", format, resp.StatusCode, resp.Header[gateway.WarningHeader], got, answer)
		}
	}
}
