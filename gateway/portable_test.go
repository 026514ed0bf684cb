package gateway_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
)

// What only the client's vendor runs is left out with a warning, whoever answers: coding agents
// offer it with every request.
func TestHostedToolsThatTheUpstreamDoesNotRun(t *testing.T) {
	const body = `{"model":"m","stream":true,"input":"What is the weather in Rome?","tools":[
		{"type":"web_search","external_web_access":false},
		{"type":"function","name":"get_weather","parameters":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}}]}`
	for _, upstream := range []string{"up-chat/sim/native", "up-messages/sim/native", "up-gemini/sim/native", "up-ollama/sim/native", "up-text/sim/native"} {
		open := upstreams(t)
		if strings.HasPrefix(upstream, "up-text/") {
			open = toolless(t)
		}
		url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("m", upstream)}, Open: opening(open)})
		resp, err := http.Post(url+"/v1/responses", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		answer, _ := io.ReadAll(resp.Body)
		resp.Body.Close()
		warnings := strings.Join(resp.Header.Values("Toolpost-Warning"), "\n")
		if resp.StatusCode != 200 || !strings.Contains(string(answer), `"name":"get_weather"`) || !strings.Contains(warnings, "web_search") {
			t.Errorf("%s: %d, warnings %q: %s", upstream, resp.StatusCode, warnings, answer)
		}
	}
}
