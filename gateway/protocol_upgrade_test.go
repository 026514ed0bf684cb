package gateway_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
)

// TestProtocolUpgrade checks that a client that offers to switch to another protocol, as Java's does with
// HTTP/2, is answered in the protocol of its request, at every kind of endpoint. WebSockets are refused, however their
// name is written.
func TestProtocolUpgrade(t *testing.T) {
	passes, _ := passing(t)
	answers := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("chat", "up-chat/sim/native")}})
	const question = `{"model":"chat","messages":[{"role":"user","content":"hi"}]}`
	endpoints := []struct{ method, url, body string }{
		{"POST", answers + "/v1/chat/completions", question},
		{"POST", answers + "/v1/chat/completions", strings.Replace(question, "{", `{"stream":true,`, 1)},
		{"POST", answers + "/v1/messages/count_tokens", question},
		{"POST", passes + "/v1/embeddings", `{"model":"embed-1","input":"hi"}`},
		{"GET", answers + "/v1/models", ""},
	}
	for upgrade, status := range map[string]int{
		"":                     http.StatusOK,
		"h2c":                  http.StatusOK,
		"TLS/1.0, IRC/6.9":     http.StatusOK,
		"websockets":           http.StatusOK,
		"websocket":            http.StatusNotImplemented,
		"WebSocket/13":         http.StatusNotImplemented,
		"h2c , WebSocket, foo": http.StatusNotImplemented,
	} {
		for _, e := range endpoints {
			var header []string
			if upgrade != "" {
				header = []string{"Connection", "Upgrade, HTTP2-Settings", "Upgrade", upgrade, "HTTP2-Settings", "AAMAAABkAAQAAP__"}
			}
			if resp, body := send(t, e.method, e.url, "application/json", e.body, header...); resp.StatusCode != status {
				t.Errorf("Upgrade: %s, %s: %d %s", upgrade, e.url, resp.StatusCode, body)
			}
		}
	}
}
