package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// Unknown event fields do not prevent a stream from being relayed byte for byte, and cause no warning.
func TestStreamsWithUnknownFieldsAreRelayed(t *testing.T) {
	for name, tt := range map[string]struct{ format, model, path, ask, said string }{
		"messages": {wire.Messages, "claude-sonnet-4-5", "/v1/messages",
			`{"model":"m","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f","input_schema":{"type":"object","properties":{}}}]}`,
			"event: message_start\n" + `data: {"type":"message_start","zq":1,"message":{"id":"msg_1","type":"message","role":"assistant","model":"x","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}` + "\n\n" +
				"event: content_block_start\n" + `data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":"","zq":1}}` + "\n\n" +
				"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"One ","zq":1}}` + "\n\n" +
				"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"moment."},"zq":1}` + "\n\n" +
				"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":0,"zq":1}` + "\n\n" +
				"event: content_block_start\n" + `data: {"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"f","input":{},"caller":{"type":"direct"}}}` + "\n\n" +
				"event: content_block_delta\n" + `data: {"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{}","zq":1}}` + "\n\n" +
				"event: content_block_stop\n" + `data: {"type":"content_block_stop","index":1}` + "\n\n" +
				"event: message_delta\n" + `data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":5}}` + "\n\n" +
				"event: message_stop\n" + `data: {"type":"message_stop","zq":1}` + "\n\n"},
		"gemini": {wire.Gemini, "gemini-2.5-flash", "/v1beta/models/m:streamGenerateContent?alt=sse",
			`{"contents":[{"role":"user","parts":[{"text":"Hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{}}}]}]}`,
			`data: {"candidates":[{"content":{"parts":[{"text":"One ","zq":1}],"role":"model","zq":1},"index":0}],"modelVersion":"x","responseId":"r"}` + "\n\n" +
				`data: {"candidates":[{"content":{"parts":[{"text":"moment.","zq":1}],"role":"model"},"index":0}],"modelVersion":"x","responseId":"r"}` + "\n\n" +
				`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{},"zq":1},"zq":1}],"role":"model"},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":2,"totalTokenCount":3},"modelVersion":"x","responseId":"r"}` + "\n\n"},
		"responses": {wire.Responses, "gpt-5", "/v1/responses",
			`{"model":"m","store":false,"stream":true,"input":"Hi","tools":[{"type":"function","name":"f","strict":false,"parameters":{"type":"object","properties":{}}}]}`,
			"event: response.created\n" + `data: {"type":"response.created","sequence_number":0,"response":{"id":"resp_1","object":"response","created_at":1,"status":"in_progress","model":"x","output":[],"zq":1}}` + "\n\n" +
				"event: response.output_item.added\n" + `data: {"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress","role":"assistant","content":[],"zq":1}}` + "\n\n" +
				"event: response.content_part.added\n" + `data: {"type":"response.content_part.added","sequence_number":2,"item_id":"msg_1","output_index":0,"content_index":0,"part":{"type":"output_text","text":"","annotations":[],"zq":1}}` + "\n\n" +
				"event: response.output_text.delta\n" + `data: {"type":"response.output_text.delta","sequence_number":3,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"One moment.","zq":1}` + "\n\n" +
				"event: response.output_item.done\n" + `data: {"type":"response.output_item.done","sequence_number":4,"output_index":0,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"One moment.","annotations":[{"type":"url_citation","start_index":0,"end_index":3,"url":"https://e.org","title":"E"}],"zq":1}],"zq":1}}` + "\n\n" +
				"event: response.completed\n" + `data: {"type":"response.completed","sequence_number":5,"zq":1,"response":{"id":"resp_1","object":"response","created_at":1,"status":"completed","model":"x","output":[{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"One moment.","annotations":[{"type":"url_citation","start_index":0,"end_index":3,"url":"https://e.org","title":"E"}],"zq":1}],"zq":1}],"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},"zq":1}}` + "\n\n"},
	} {
		for _, model := range []string{tt.model, "qwen3-32b"} { // the text of the second model is searched for calls
			url := answersOf(t, tt.format, model, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, tt.said)
			}, llm.Limits{})
			_, warning, got := allOf(t, url, tt.path, tt.ask)
			if got != tt.said || strings.Contains(warning, "zq") {
				t.Errorf("%s, %s: warned of %q, got\n%s\nwant\n%s", name, model, warning, got, tt.said)
			}
		}
	}
}
