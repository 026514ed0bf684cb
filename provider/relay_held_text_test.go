package provider_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// TestRelayKeepsHeldText: text that may be the beginning of a call in words is kept back; it reaches the client though a call follows
// that has to be written anew.
func TestRelayKeepsHeldText(t *testing.T) {
	chunk := func(delta, reason string) string {
		return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + reason + `}]}` + "\n\n"
	}
	const body = `{"model":"qwen3-32b","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":{"type":"object","properties":{}}}}]}`
	for name, pieces := range map[string][]string{
		"whole":  {`{"index":0,"id":"c1","type":"function","function":{"name":"get_weather","arguments":"{}"}}`},
		"no id":  {`{"index":0,"type":"function","function":{"name":"get_weather","arguments":"{}"}}`},
		"pieces": {`{"index":0,"id":"c1","type":"function","function":{"name":"get_","arguments":""}}`, `{"index":0,"function":{"name":"weather"}}`, `{"index":0,"function":{"arguments":"{}"}}`},
	} {
		answer := chunk(`{"role":"assistant","content":"Look: a <tool_"}`, "null")
		for _, p := range pieces {
			answer += chunk(`{"tool_calls":[`+p+`]}`, "null")
		}
		answer += chunk(`{}`, `"tool_calls"`) + "data: [DONE]\n\n"
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, answer)
		}))
		t.Cleanup(s.Close)
		m, err := (&provider.Client{}).Open(s.URL + "/v1#qwen3-32b")
		if err != nil {
			t.Fatal(err)
		}
		in, _ := wire.For(wire.Chat)
		req, _, err := in.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		asked := &provider.ClientRequest{Format: wire.Chat, Body: []byte(body), Stream: true, Says: req}
		relayed, err := m.(*provider.Model).Relay(t.Context(), asked, &out, func(llm.Event) {})
		if !relayed || err != nil || !strings.Contains(out.String(), "Look: a") || !strings.Contains(out.String(), "<tool_") || !strings.Contains(out.String(), `"get_weather"`) {
			t.Errorf("%s: %v, %v, and the client has\n%s", name, relayed, err, out.String())
		}
	}
}
