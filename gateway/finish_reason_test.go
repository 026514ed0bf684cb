package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// interruptions are incomplete answers of each vendor, as documents and streams.
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

// TestInterruptedAnswers checks that an incomplete answer is incomplete in every other format, and that the client sees
// the vendor's finish reason.
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
				if !stream && !strings.Contains(strings.Join(got.header[exchange.WarningHeader], "\n"), "finish reason") {
					t.Errorf("%s, %s: told %q", of.name, c.name, got.header[exchange.WarningHeader])
				}
				if got.err != nil || got.Finish.Reason != llm.Length || !strings.Contains(got.Message.Text(), "half of") {
					t.Errorf("%s, %s, stream=%t: %v, finish %q: %.300s", of.name, c.name, stream, got.err, got.Finish.Reason, got.body)
				}
			}
		}
	}
}

// A stream that ends without a finish reason gets one, once, because clients wait for it. A warning reports the
// correction. The upstream's own data stays unchanged.
func TestMissingFinishReasonInStream(t *testing.T) {
	chunk := func(choices, more string) string {
		return `data: {"id":"a1","object":"chat.completion.chunk","created":1,"model":"m","choices":[` + choices + `]` + more + "}\n\n"
	}
	text := func(index, text string) string {
		return chunk(`{"index":`+index+`,"delta":{"role":"assistant","content":"`+text+`"},"finish_reason":null}`, "")
	}
	ends := func(index string) string {
		return chunk(`{"index":`+index+`,"delta":{},"finish_reason":"stop"}`, "")
	}
	call := chunk(`{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{\"city\":\"Rome\"}"}}]},"finish_reason":null}`, "")
	usage := chunk("", `,"usage":{"prompt_tokens":1,"completion_tokens":2,"total_tokens":3}`)
	for name, c := range map[string]struct {
		said    string
		reasons []string // by choice
	}{
		"text":           {text("0", "Hi"), []string{"stop"}},
		"with usage":     {text("0", "Hi") + usage, []string{"stop"}},
		"a call":         {call, []string{"tool_calls"}},
		"with a reason":  {text("0", "Hi") + ends("0") + usage, []string{"stop"}},
		"both":           {text("0", "Hi") + text("1", "Ho") + usage, []string{"stop", "stop"}},
		"the second":     {text("0", "Hi") + text("1", "Ho") + ends("0") + usage, []string{"stop", "stop"}},
		"the first":      {text("0", "Hi") + text("1", "Ho") + ends("1"), []string{"stop", "stop"}},
		"neither of two": {text("0", "Hi") + text("1", "Ho") + ends("1") + ends("0") + usage, []string{"stop", "stop"}},
	} {
		t.Run(name, func(t *testing.T) {
			url := answersOf(t, wire.Chat, "gpt-4o", func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				io.WriteString(w, c.said+"data: [DONE]\n\n")
			}, llm.Limits{})
			_, _, got := allOf(t, url, "/v1/chat/completions", `{"model":"m","n":2,"stream":true,"stream_options":{"include_usage":true},"messages":[{"role":"user","content":"Weather?"}],`+weatherTool+`}`)
			if !strings.HasPrefix(got, c.said) || !strings.HasSuffix(got, "data: [DONE]\n\n") || strings.Count(got, "[DONE]") != 1 {
				t.Errorf("got\n%s\nwhich does not begin with\n%s", got, c.said)
			}
			all := choicesOf(t, got)
			for i, reason := range c.reasons {
				if one := all[i]; one == nil || one.Reason != reason || one.Ends != 1 {
					t.Errorf("choice %d is %+v in\n%s", i, one, got)
				}
			}
			if n := strings.Count(got, `"usage":{`); n != strings.Count(c.said, `"usage":{`) {
				t.Errorf("%d usages in\n%s", n, got)
			}
		})
	}
}

// TestFinishReasons checks that an unknown finish reason is relayed unchanged. On every other path it becomes one of the
// client's format, and only a warning names it.
func TestFinishReasons(t *testing.T) {
	client := saying(t, `{"role":"assistant","content":"hi"}`, "because_i_can")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	for _, c := range clients {
		for _, stream := range []bool{false, true} {
			got := c.ask(t, url, greeting("m"), stream)
			want := map[bool]llm.Reason{false: llm.Stop, true: llm.OtherReason}[c.format == wire.Chat]
			if got.err != nil || got.Finish.Reason != want || strings.Contains(withoutComments(got.body), "because_i_can") != (c.format == wire.Chat) {
				t.Errorf("%s, stream=%t: %v, finish %q: %s", c.name, stream, got.err, got.Finish.Reason, fmt.Sprintf("%.300s", got.body))
			}
		}
	}
}

// TestUnknownFinishReason checks that an unknown finish reason reaches a client of another format as one of its own.
func TestUnknownFinishReason(t *testing.T) {
	client := saying(t, `{"role":"assistant","content":"hi"}`, "because_i_can")
	url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
	words := map[string]string{wire.Chat: `"finish_reason":"stop"`, wire.Messages: `"end_turn"`, wire.Gemini: `"STOP"`, wire.Ollama: `"stop"`, wire.Responses: `"completed"`, wire.Converse: `"end_turn"`}
	for format, word := range words {
		codec, _ := wire.For(format)
		body, _, _ := codec.EncodeRequest(question("m"), false)
		got := string(raw(t, url, format, "m", body, false))
		if strings.Contains(got, "because_i_can") || !strings.Contains(strings.ReplaceAll(got, `": "`, `":"`), word) {
			t.Errorf("%s: %s", format, got)
		}
	}
}

// TestAnswerWithThinkingOnly checks that an answer with only thinking causes a warning.
func TestAnswerWithThinkingOnly(t *testing.T) {
	for _, upstream := range []string{wire.Messages, wire.Gemini} {
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", "up-"+upstream+"/sim/native+think-call")}})
		for format := range roots {
			got := ask(t, url, format, question("m"), false)
			if got.err != nil || len(got.Message.Calls()) > 0 || got.Message.Text() != "" {
				continue
			}
			if w := fmt.Sprint(got.header.Values(exchange.WarningHeader)); !strings.Contains(w, "thinking") {
				t.Errorf("%s over %s: empty, and the warnings are %s", format, upstream, w)
			}
		}
	}
}
