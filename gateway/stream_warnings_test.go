package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// strangeStreams are answers with content that only their own format has, or that is unknown.
var strangeStreams = []struct{ format, stream, lost string }{
	{wire.Chat, "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\",\"x_new\":1}}]}\n\n" +
		"data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n", "x_new"},
	{wire.Messages, "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
		"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
		"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
		"event: x_new\ndata: {\"type\":\"x_new\",\"a\":1}\n\n" +
		"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n", "x_new"},
	{wire.Gemini, "data: {\"candidates\":[{\"index\":0,\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"},{\"xNew\":{\"a\":1}}]},\"finishReason\":\"STOP\"}],\"usageMetadata\":{\"promptTokenCount\":1,\"candidatesTokenCount\":1,\"totalTokenCount\":2}}\n\n", "xNew"},
	{wire.Responses, "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}}\n\n" +
		"event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"type\":\"x_new\",\"id\":\"q1\",\"a\":1}}\n\n" +
		"event: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":2,\"output_index\":0,\"item\":{\"type\":\"x_new\",\"id\":\"q1\",\"a\":1}}\n\n" +
		"event: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":3,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"completed\",\"model\":\"m\",\"output\":[{\"type\":\"x_new\",\"id\":\"q1\",\"a\":1}],\"usage\":{\"input_tokens\":1,\"output_tokens\":1,\"total_tokens\":2}}}\n\n", "x_new"},
}

// TestStreamsWarnAboutLostContent checks that content that the client's format cannot carry is named in its stream, before
// the end of the answer, or in a trailer if the format has no comments.
func TestStreamsWarnAboutLostContent(t *testing.T) {
	for _, of := range strangeStreams {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, of.stream)
		}))
		t.Cleanup(up.Close)
		known := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + roots[of.format], Wires: []string{of.format}}}, Route: provider.Native}
		url := serve(t, gateway.Setup{Open: opening(known), Routes: []gateway.ModelRoute{to("m", "up/m")}})
		for _, c := range clients {
			if c.format == of.format {
				continue
			}
			got := c.ask(t, url, greeting("m"), true)
			if got.err != nil {
				t.Errorf("%s over %s: %v", c.name, of.format, got.err)
			}
			at := strings.LastIndex(got.body, ": ignored; ")
			if !strings.Contains(got.warnings, of.lost) || at >= 0 && !strings.Contains(got.body[at:], "data: ") {
				t.Errorf("%s over %s is told %s\n%s", c.name, of.format, got.warnings, got.body)
			}
		}
	}
}
