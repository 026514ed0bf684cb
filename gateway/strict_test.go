package gateway_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
)

// The vendors' libraries ask for strict schemas with members that some upstreams cannot be held to: they are asked for, and
// the answer is checked.
func TestStrictSchemas(t *testing.T) {
	c := upstreams(t)
	c.StrictByCheck = true
	var routes []gateway.ModelRoute
	formats := []string{"chat", "responses", "messages", "gemini", "converse", "ollama"}
	for _, f := range formats {
		routes = append(routes, to(f, "up-"+f+"/sim/native"))
	}
	url := serve(t, gateway.Setup{Open: opening(c), Routes: routes})
	for _, f := range formats {
		body := `{"model":"` + f + `","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"W","strict":true,
			"schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}}`
		resp, got := send(t, "POST", url+"/v1/chat/completions", "application/json", body)
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
		}
		if f == "responses" || f == "messages" || f == "converse" { // nothing holds an unknown model to a schema there, and this one does not care
			if resp.StatusCode != http.StatusBadGateway || !strings.Contains(got, "broken_promise") {
				t.Errorf("%s: an answer that does not match: %d %s", f, resp.StatusCode, got)
			}
			continue
		}
		if resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(got), &answer) != nil || len(answer.Choices) != 1 || !strings.Contains(answer.Choices[0].Message.Content, `"city"`) {
			t.Errorf("%s: %d %v %s", f, resp.StatusCode, resp.Header[gateway.WarningHeader], got)
		}
	}
}
