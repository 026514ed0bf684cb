package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
)

// Servers whose answers cannot go on as they are: a client gets no key of the gateway's, in no spelling,
// and what a header says was corrected is corrected.
func TestRelayMendsWhatItSays(t *testing.T) {
	const key = "sk-upstream-SECRET-0123456789abcdef"
	const base64 = "c2stdXBzdHJlYW0tU0VDUkVULTAxMjM0NTY3ODlhYmNkZWY"
	chunk := func(delta, finish string) string {
		return fmt.Sprintf("data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":%s,\"finish_reason\":%s}]}\n\n", delta, finish)
	}
	call := func(index int, id, args string) string {
		return chunk(fmt.Sprintf(`{"tool_calls":[{"index":%d,"id":%q,"type":"function","function":{"name":"look","arguments":%q}}]}`, index, id, args), "null")
	}
	end := chunk("{}", `"tool_calls"`) + "data: [DONE]\n\n"
	for _, c := range []struct {
		name, stream string
		not, has     string
	}{
		{"an error that repeats the key", chunk(`{"content":"The weather is fine today. And "}`, "null") + `data: {"error":{"message":"boom ` + key + `","code":500}}` + "\n\n", key, "boom [stripped:value]"},
		{"in base64", chunk(`{"content":"The weather is fine today. And "}`, "null") + `data: {"error":{"message":"boom ` + base64 + `","code":500}}` + "\n\n", base64, "boom"},
		{"an error without it is as it was", chunk(`{"content":"The weather is fine today. And "}`, "null") + `data: {"error":{"message":"boom","code":500, "own":1}}` + "\n\n", key, `"own":1`},
		{"two calls with one id", call(0, "x", `{"a":1}`) + call(1, "x", `{"a":2}`) + end, `"index":1,"id":"x"`, `"id":"x"`},
		{"arguments after their end", call(0, "x", `{"a":1}`) + chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"b\":2}"}}]}`, "null") + end, "[DONE]", `"code":"malformed"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/event-stream")
				first, rest, _ := strings.Cut(c.stream, "\n\n")
				fmt.Fprint(w, first+"\n\n")
				_ = http.NewResponseController(w).Flush()
				time.Sleep(100 * time.Millisecond) // so that it has been passed on
				fmt.Fprint(w, rest)
			}))
			defer up.Close()
			client := &provider.Client{Route: provider.Native, Key: func(string) (string, error) { return key, nil },
				Vendors: map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{"chat"}, KeyEnv: "UP_KEY"}}}
			url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up/m")}})
			body := `{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"look","parameters":{"type":"object","properties":{"a":{"type":"integer"}}}}}]}`
			resp, err := http.Post(url+"/v1/chat/completions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			all, err := io.ReadAll(resp.Body)
			if err != nil {
				t.Fatal(err)
			}
			got := string(all)
			if strings.Contains(got, c.not) || !strings.Contains(got, c.has) {
				t.Errorf("the client got\n%s", got)
			}
		})
	}
}
