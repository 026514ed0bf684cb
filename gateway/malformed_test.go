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

// TestMalformedCalls: of a call that Gemini could not read itself the client is told that the model tried one and nothing was
// run, whether the vendor shows what was written or not.
func TestMalformedCalls(t *testing.T) {
	for _, message := range []string{"", "Malformed function call: print(get_weather(city='Rome'"} {
		up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			doc := `{"candidates":[{"content":{"role":"model","parts":[{"text":"Let me see."}]},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"` + message + `","index":0}]}`
			if strings.Contains(r.URL.Path, "stream") {
				w.Header().Set("Content-Type", "text/event-stream")
				doc = "data: " + doc + "\n\n"
			}
			_, _ = io.WriteString(w, doc)
		}))
		t.Cleanup(up.Close)
		client := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1beta", Wires: []string{wire.Gemini}}}, Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
		url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/gemini-2.5-pro")}})
		for _, format := range []string{wire.Chat, wire.Messages, wire.Responses} {
			for _, stream := range []bool{false, true} {
				codec, _ := wire.For(format)
				body, _, err := codec.EncodeRequest(question("m"), stream)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := http.Post(url+roots[format]+"/"+codec.Path("m", stream), "application/json", strings.NewReader(string(body)))
				if err != nil {
					t.Fatal(err)
				}
				answer, _ := io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				told := strings.Join(resp.Header.Values(gateway.WarningHeader), " ") + string(answer) // a stream has comments
				if want := "The model tried to make a call that the vendor could not read, and nothing was run."; !strings.Contains(told, "suspected_call; call; ") || !strings.Contains(told, want) {
					t.Errorf("%s, stream=%t, %q: it is told %s", format, stream, message, told)
				}
				if strings.Contains(string(answer), `"tool_calls"`) || strings.Contains(string(answer), `"tool_use"`) || strings.Contains(string(answer), `"function_call"`) {
					t.Errorf("%s, stream=%t: it has calls: %s", format, stream, answer)
				}
			}
		}
	}
}
