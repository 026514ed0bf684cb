package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestPingsBeforeARefusal: an upstream that says that it is there, and then refuses, has not answered: the head of the answer names the one that did. If
// the head had to be sent, because nothing came for long, the warning is a comment.
func TestPingsBeforeARefusal(t *testing.T) {
	const begin = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: ping\ndata: {\"type\":\"ping\"}\n\n"
	const end = "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"refusal\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"
	for name, silence := range map[string]time.Duration{"at once": 0, "after silence": 300 * time.Millisecond} {
		for _, c := range clients[:3] {
			t.Run(name+"/"+c.name, func(t *testing.T) {
				refuses := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, begin)
					w.(http.Flusher).Flush()
					time.Sleep(silence)
					_, _ = io.WriteString(w, end)
				}))
				t.Cleanup(refuses.Close)
				answers := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.Header().Set("Content-Type", "text/event-stream")
					_, _ = io.WriteString(w, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hello\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
				}))
				t.Cleanup(answers.Close)
				known := &provider.Client{Route: provider.Native, Vendors: map[string]provider.Vendor{
					"no": {BaseURL: refuses.URL + "/v1", Wires: []string{wire.Messages}}, "yes": {BaseURL: answers.URL + "/v1", Wires: []string{wire.Chat}}}}
				route := to("m", "no/m")
				route.Fallback = []string{"next"}
				url := serve(t, gateway.Setup{Open: opening(known), Routes: []gateway.ModelRoute{route, to("next", "yes/m")}, KeepAlive: 100 * time.Millisecond})
				got := c.ask(t, url, greeting("m"), true)
				if got.err != nil || got.Message.Text() != "Hello" {
					t.Fatalf("%v %q", got.err, got.Message.Text())
				}
				if !strings.Contains(got.warnings, "so yes/m was asked") || silence == 0 && got.header.Get(gateway.UpstreamHeader) != "yes/m" {
					t.Errorf("answered by %q, told %q", got.header.Get(gateway.UpstreamHeader), got.warnings)
				}
			})
		}
	}
}
