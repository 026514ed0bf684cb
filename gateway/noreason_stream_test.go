package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// A stream that is over without a reason gets one, once: clients wait for it, and a warning says that it was corrected.
// What the upstream said stays as it came.
func TestStreamsWithoutAReasonGetOne(t *testing.T) {
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
