package gateway_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// interruptions are answers that are not complete, each in the words of its vendor: in one piece, and as a stream.
var interruptions = []struct{ name, format, document, stream string }{
	{"DeepSeek lacks resources", wire.Chat,
		`{"id":"c1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"half of"},"finish_reason":"insufficient_system_resource"}]}`,
		"data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"half of\"}}]}\n\n" +
			"data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"insufficient_system_resource\"}]}\n\ndata: [DONE]\n\n"},
	{"Anthropic pauses", wire.Messages,
		`{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"half of"}],"stop_reason":"pause_turn","stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
		"event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"msg_1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"stop_sequence\":null,\"usage\":{\"input_tokens\":1,\"output_tokens\":1}}}\n\n" +
			"event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n" +
			"event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"half of\"}}\n\n" +
			"event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n" +
			"event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"pause_turn\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":1}}\n\n" +
			"event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"},
	{"OpenAI gives a reason that nobody knows", wire.Responses,
		`{"id":"resp_1","object":"response","created_at":1,"status":"incomplete","incomplete_details":{"reason":"power_cut"},"model":"m","output":[{"type":"message","id":"msg_1","status":"incomplete","role":"assistant","content":[{"type":"output_text","text":"half of","annotations":[]}]}]}`,
		"event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"in_progress\",\"model\":\"m\",\"output\":[]}}\n\n" +
			"event: response.output_item.added\ndata: {\"type\":\"response.output_item.added\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"msg_1\",\"status\":\"in_progress\",\"role\":\"assistant\",\"content\":[]}}\n\n" +
			"event: response.content_part.added\ndata: {\"type\":\"response.content_part.added\",\"sequence_number\":2,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"part\":{\"type\":\"output_text\",\"text\":\"\",\"annotations\":[]}}\n\n" +
			"event: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"sequence_number\":3,\"item_id\":\"msg_1\",\"output_index\":0,\"content_index\":0,\"delta\":\"half of\"}\n\n" +
			"event: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"sequence_number\":4,\"response\":{\"id\":\"resp_1\",\"object\":\"response\",\"created_at\":1,\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"power_cut\"},\"model\":\"m\",\"output\":[{\"type\":\"message\",\"id\":\"msg_1\",\"status\":\"incomplete\",\"role\":\"assistant\",\"content\":[{\"type\":\"output_text\",\"text\":\"half of\",\"annotations\":[]}]}]}}\n\n"},
}

// TestInterruptedAnswers checks that an answer that its vendor did not complete is not complete in any other format, and that
// the client is told the vendor's word.
func TestInterruptedAnswers(t *testing.T) {
	for _, of := range interruptions {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, _ := io.ReadAll(r.Body)
			if strings.Contains(string(b), `"stream":true`) {
				w.Header().Set("Content-Type", "text/event-stream")
				_, _ = io.WriteString(w, of.stream)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, of.document)
		}))
		t.Cleanup(up.Close)
		known := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{of.format}}}, Route: provider.Native}
		url := serve(t, gateway.Setup{Open: opening(known), Routes: []gateway.ModelRoute{to("m", "up/m")}})
		for _, c := range clients {
			if c.format == of.format {
				continue
			}
			for _, stream := range []bool{false, true} {
				got := c.ask(t, url, greeting("m"), stream)
				if !stream && !strings.Contains(strings.Join(got.header[gateway.WarningHeader], "\n"), "finish reason") {
					t.Errorf("%s, %s: told %q", of.name, c.name, got.header[gateway.WarningHeader])
				}
				if got.err != nil || got.Finish.Reason != llm.Length || !strings.Contains(got.Message.Text(), "half of") {
					t.Errorf("%s, %s, stream=%t: %v, finish %q: %.300s", of.name, c.name, stream, got.err, got.Finish.Reason, got.body)
				}
			}
		}
	}
}
