package gateway_test

import (
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestUsagePerUpstream checks that the usage of an upstream whose filter blocked the answer is recorded for that
// upstream, and that the request and later usage are recorded for the upstream that answered.
func TestUsagePerUpstream(t *testing.T) {
	filtered := `{"id":"1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":""},"finish_reason":"content_filter"}],"usage":{"prompt_tokens":41,"completion_tokens":3}}`
	bad, _ := answering(t, 200, filtered)
	good, _ := answering(t, 200, `{"id":"2","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hello."},"finish_reason":"stop"}],"usage":{"prompt_tokens":17,"completion_tokens":2}}`)
	first := to("m", "up/first")
	first.Fallback = []string{"spare"}
	for _, format := range []string{wire.Chat, wire.Messages} { // relayed and translated
		g := &guarded{book: &access.Book{Store: new(access.Memory)}}
		g.url = serve(t, gateway.Setup{Open: func(id string, _ gateway.Way) (llm.Model, error) {
			if id == "up/first" {
				return bad.Open(id)
			}
			return good.Open(id)
		}, Routes: []gateway.ModelRoute{first, to("spare", "up/second")}, Access: g.book})
		key := g.key(t, access.Key{})
		body := `{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"hi"}]}`
		path := map[string]string{wire.Chat: "/v1/chat/completions", wire.Messages: "/v1/messages"}[format]
		if resp, said := send(t, "POST", g.url+path, "application/json", body, "Authorization", "Bearer "+key); resp.StatusCode != 200 {
			t.Fatalf("%s: %d %s", format, resp.StatusCode, said)
		}
		got, err := g.book.Usage(t.Context(), time.Time{}, access.ByUpstream)
		want := []access.Spend{{Upstream: "up/first", Input: 41, Output: 3, Unpriced: 1}, {Upstream: "up/second", Requests: 1, Input: 17, Output: 2, Unpriced: 1}}
		if err != nil || len(got) != 2 || got[0] != want[0] || got[1] != want[1] {
			t.Errorf("%s: %+v %v", format, got, err)
		}
		log, err := g.book.Log(t.Context(), 1)
		if err != nil || len(log) != 1 || log[0].Upstream != "up/second" || log[0].Input != 58 || log[0].Output != 5 {
			t.Errorf("%s: %+v %v", format, log, err)
		}
	}
}
