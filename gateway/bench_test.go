package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// BenchmarkAnswers measures streams of 21 events with one call, which is parsed and checked, over real sockets:
// relayed, and translated for a client of another format. The costs of client and upstream are included; "direct" is
// their cost without a gateway.
func BenchmarkAnswers(b *testing.B) {
	var events []string
	add := func(delta, finish string) {
		events = append(events, `data: {"id":"chatcmpl-1","object":"chat.completion.chunk","created":1790000000,"model":"m","choices":[{"index":0,"delta":`+delta+`,"finish_reason":`+finish+"}]}\n\n")
	}
	add(`{"role":"assistant","tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"get_weather","arguments":""}}]}`, "null")
	args := `{"city":"Rome","days":3}`
	for i := range 18 {
		add(fmt.Sprintf(`{"tool_calls":[{"index":0,"function":{"arguments":%q}}]}`, args[i*len(args)/18:(i+1)*len(args)/18]), "null")
	}
	add(`{}`, `"tool_calls"`)
	events = append(events, "data: [DONE]\n\n")
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, e := range events {
			_, _ = io.WriteString(w, e)
			w.(http.Flusher).Flush()
		}
	}))
	defer upstream.Close()
	c := &provider.Client{Vendors: map[string]provider.Vendor{"up": {BaseURL: upstream.URL + "/v1", Wires: []string{wire.Chat}}}, Route: provider.Native}
	g, err := gateway.New(gateway.Setup{Open: opening(c), Routes: []gateway.ModelRoute{to("*", "up/*")}})
	if err != nil {
		b.Fatal(err)
	}
	server := httptest.NewServer(g)
	defer server.Close()
	const tool = `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`
	for _, way := range []struct{ name, url, body, has string }{
		{"direct", upstream.URL + "/v1/chat/completions", `{}`, `"tool_calls"`},
		{"relayed", server.URL + "/v1/chat/completions", `{"model":"m","stream":true,"messages":[{"role":"user","content":"Weather in Rome?"}],"tools":[{"type":"function","function":{"name":"get_weather","parameters":` + tool + `}}]}`, `"tool_calls"`},
		{"translated", server.URL + "/v1/messages", `{"model":"m","stream":true,"max_tokens":99,"messages":[{"role":"user","content":"Weather in Rome?"}],"tools":[{"name":"get_weather","input_schema":` + tool + `}]}`, `"tool_use"`},
	} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				resp, err := http.Post(way.url, "application/json", strings.NewReader(way.body))
				if err != nil {
					b.Fatal(err)
				}
				answer, err := io.ReadAll(resp.Body)
				if resp.Body.Close(); err != nil || resp.StatusCode != 200 || !strings.Contains(string(answer), way.has) {
					b.Fatalf("%v %d %s", err, resp.StatusCode, answer)
				}
			}
		})
	}
}
