package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// TestCacheMarksAreInserted checks that a route with cache_marks marks the instructions and the last two turns of the user for
// upstreams with a prompt cache that needs marks, for clients of their own and of other formats, and no other route does.
func TestCacheMarksAreInserted(t *testing.T) {
	var sent string
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		sent = string(body)
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"seen"}}`)
	}))
	t.Cleanup(up.Close)
	vendor := func(wire string, q format.Quirks) provider.Vendor {
		return provider.Vendor{BaseURL: up.URL + "/v1", Wires: []string{wire}, Quirks: q}
	}
	client := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
		"claude": vendor(wire.Messages, format.Quirks{Members: "cache_control"}), "bedrock": vendor(wire.Converse, format.Quirks{ModelFields: names.AnthropicFields, Members: "cache_control"}),
		"nova": vendor(wire.Converse, format.Quirks{ModelFields: names.AmazonFields, Members: "cache_control"}), "llama": vendor(wire.Converse, format.Quirks{Members: "cache_control"}),
		"openai": vendor(wire.Chat, format.Quirks{}), "openrouter": vendor(wire.Chat, format.Quirks{Members: "cache_control"})}}
	var routes []gateway.ModelRoute
	for name := range client.Vendors {
		routes = append(routes, gateway.ModelRoute{Model: name, CacheMarks: true, Upstreams: []gateway.Upstream{{Model: name + "/m"}}})
	}
	routes = append(routes, gateway.ModelRoute{Model: "plain", Upstreams: []gateway.Upstream{{Model: "claude/m"}}})
	url := serve(t, gateway.Setup{Open: opening(client), Routes: routes})
	const turns = `"messages":[{"role":"user","content":"one"},{"role":"assistant","content":"two"},{"role":"user","content":"three"},{"role":"assistant","content":"four"},{"role":"user","content":"five"}]`
	const system, tool = `"system":"Be brief.",`, `"tools":[{"name":"t","input_schema":{"type":"object"}}],`
	chat := strings.Replace(`{"model":"M",`+turns+`}`, `[`, `[{"role":"system","content":"Be brief."},`, 1)
	messages := `{"model":"M","max_tokens":9,` + system + turns + `}`
	const mark, point = `"cache_control":{"type":"ephemeral"}`, `"cachePoint":{"type":"default"}`
	for _, c := range []struct {
		route, path, body, mark string
		n                       int
	}{
		{"claude", "/v1/messages", messages, mark, 3},
		{"claude", "/v1/chat/completions", chat, mark, 3},
		{"claude", "/v1/messages", `{"model":"M","max_tokens":9,` + tool + turns + `}`, mark, 3},
		{"claude", "/v1/messages", strings.Replace(messages, `"content":"one"`, `"content":[{"type":"text","text":"one",`+mark+`}]`, 1), mark, 1},
		{"bedrock", "/v1/messages", messages, point, 3},
		{"bedrock", "/v1/chat/completions", chat, point, 3},
		{"nova", "/v1/messages", messages, point, 3},
		{"nova", "/v1/messages", `{"model":"M","max_tokens":9,` + tool + turns + `}`, point, 2},
		{"openrouter", "/v1/chat/completions", chat, mark, 3},
		{"llama", "/v1/messages", messages, "cache", 0},
		{"openai", "/v1/chat/completions", chat, "cache", 0},
		{"openai", "/v1/messages", messages, "cache", 0},
		{"plain", "/v1/messages", messages, "cache", 0},
	} {
		sent = ""
		resp, body := send(t, "POST", url+c.path, "application/json", strings.Replace(c.body, `"M"`, `"`+c.route+`"`, 1))
		if n := strings.Count(sent, c.mark); n != c.n || sent == "" || strings.Contains(strings.Join(resp.Header.Values(exchange.WarningHeader), " "), "cache") {
			t.Errorf("%s %s: %d marks, want %d: %s; %v %s", c.route, c.body, n, c.n, sent, resp.Header, body)
		}
		if c.n == 3 && !strings.Contains(sent, `"five"`) || c.n == 3 && strings.Index(sent, c.mark) > strings.Index(sent, `"four"`) {
			t.Errorf("%s: %s", c.route, sent)
		}
	}
}
