package gateway_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/wire"
)

// Clients that write messages of a developer, several system messages, or instructions among the messages are served by
// upstreams that refuse them, with and without tools, natively and by prompt.
func TestInstructionsOfClientsReachStrictUpstreams(t *testing.T) {
	const tool = `{"type":"function","function":{"name":"now","parameters":{"type":"object","properties":{}}}}`
	for _, model := range []string{"deepseek-chat", "qwen3-8b"} {
		for _, kind := range []provider.RouteKind{provider.Native, provider.Prompted} {
			client := upstreams(t)
			client.Route = kind
			url := serve(t, gateway.Setup{Open: opening(client), Routes: []gateway.ModelRoute{to("m", "up-chat/sim/native+strict="+model)}})
			for _, tools := range []string{"", `"tools":[` + tool + `],`} {
				for _, messages := range []string{
					`{"role":"developer","content":"Be brief."},{"role":"user","content":"Hello"}`,
					`{"role":"system","content":"Be brief."},{"role":"developer","content":"Be kind."},{"role":"user","content":"Hello"}`,
					`{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"},{"role":"system","content":"Be kind."}`,
					`{"role":"system","content":"Be brief."},{"role":"user","content":"Hello"}`,
				} {
					for _, stream := range []string{"", `"stream":true,`} {
						resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"m",`+stream+tools+`"messages":[`+messages+`]}`)
						if resp.StatusCode != http.StatusOK || strings.Contains(body, "must be at the beginning") {
							t.Errorf("%s, %v, %s%s: %d %s", model, kind, tools, messages, resp.StatusCode, body)
						}
					}
				}
			}
			resp, body := send(t, "POST", url+"/v1/responses", "application/json", fmt.Sprintf(`{"model":"m","instructions":"Be brief.","tools":[%s],"input":[{"role":"developer","content":"Be kind."},{"role":"user","content":"Hello"}]}`,
				`{"type":"function","name":"now","parameters":{"type":"object","properties":{}}}`))
			if resp.StatusCode != http.StatusOK {
				t.Errorf("%s, %s: %d %s", model, wire.Responses, resp.StatusCode, body)
			}
		}
	}
}
