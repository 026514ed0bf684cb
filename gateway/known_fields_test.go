package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestLimitedKeysSendKnownFieldsOnly checks that fields that the gateway does not know reach the upstream only for keys
// without limits, and that the client is warned about the others.
func TestLimitedKeysSendKnownFieldsOnly(t *testing.T) {
	var sent string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		r.Body = io.NopCloser(strings.NewReader(sent))
		chatAnswer(w, r, "Hello")
	}))
	t.Cleanup(up.Close)
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}}
	g := &guarded{book: &access.Book{Store: new(access.Memory)}}
	g.url = serve(t, gateway.Setup{Open: opening(client), Forward: client.Forwarder, Access: g.book, Routes: []gateway.ModelRoute{{Model: "m", Upstreams: []gateway.Upstream{{Model: "up/m"}}, Pass: []string{"embeddings"}}}})
	keys := map[string]string{
		"free":     g.key(t, access.Key{}),
		"requests": g.key(t, access.Key{Limits: quotas(t, "requests/day=1000")}),
		"models":   g.key(t, access.Key{Models: []string{"m"}}),
		"routes":   g.key(t, access.Key{Routes: []string{"m"}}),
		"tools":    g.key(t, access.Key{Tools: []string{"x"}}),
		"tokens":   g.key(t, access.Key{Limits: quotas(t, "tokens/day=1000000")}),
	}
	const hi = `"messages":[{"role":"user","content":"hi","name":"x_new"}]`
	for _, c := range []struct{ path, body, unknown, known string }{
		{"/v1/chat/completions", `{"model":"m","x_new":{"model":"dear"},"top_k":3,"min_p":0.1,` + hi + `}`, `"x_new":{"model":"dear"}`, `"min_p":0.1`},
		{"/v1/chat/completions", `{"model":"m","stream":true,"x_new":1,"temperature":0.5,` + hi + `}`, `"x_new":1`, `"temperature":0.5`},
		{"/v1/chat/completions", `{"model":"m","x\u005fnew":1,"topK":3,` + hi + `}`, "new\":1", `"topK":3`},
		{"/v1/chat/completions", `{"model":"m","extra_body":{"x_new":1,"top_k":3},` + hi + `}`, `"x_new":`, `"top_k":3`},
		{"/v1/chat/completions", `{"model":"m","options":{"x_new":1,"num_ctx":4096},` + hi + `}`, `"x_new":1`, `"num_ctx":4096`},
		{"/v1/embeddings", `{"model":"m","input":"hi","x_new":1,"dimensions":8}`, `"x_new":1`, `"dimensions":8`},
	} {
		for name, key := range keys {
			sent = ""
			resp, body := send(t, "POST", g.url+c.path, "application/json", c.body, "Authorization", "Bearer "+key)
			free := name == "free" || name == "requests"
			if resp.StatusCode != 200 || !strings.Contains(sent, c.known) || strings.Contains(sent, c.unknown) != free {
				t.Errorf("%s with the key %q: %d %s; the upstream got %s", c.body, name, resp.StatusCode, body, sent)
			}
			if warned := strings.Contains(strings.Join(resp.Header.Values(exchange.WarningHeader), "\n"), "ignored; x_new; "); warned == free {
				t.Errorf("%s with the key %q: warnings %q", c.body, name, resp.Header.Values(exchange.WarningHeader))
			}
		}
	}
}
