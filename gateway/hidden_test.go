package gateway_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
)

// TestHiddenRoutes: the name of a hidden route is in no list of models, in no format, and who knows it gets what it is asked for.
func TestHiddenRoutes(t *testing.T) {
	secret := to("backstage", "up-chat/sim/native")
	secret.Hidden = true
	url := serve(t, gateway.Setup{Routes: []gateway.ModelRoute{to("onstage", "up-chat/sim/native"), secret}})
	for _, list := range [][]string{
		{"/v1/models"}, {"/v1/models", "Anthropic-Version", "2023-06-01"}, {"/models"}, {"/openai/v1/models"},
		{"/v1beta/models"}, {"/v1/models", "X-Goog-Api-Key", "x"}, {"/api/tags"},
	} {
		resp, body := send(t, "GET", url+list[0], "", "", list[1:]...)
		if resp.StatusCode != 200 || !strings.Contains(body, "onstage") || strings.Contains(body, "backstage") {
			t.Errorf("%v: %d %s", list, resp.StatusCode, body)
		}
	}
	for path, body := range map[string]string{
		"/v1/chat/completions": hello, "/v1/responses": `{"model":"chat","input":"hi"}`, "/v1/messages": `{"model":"chat","max_tokens":900,"messages":[{"role":"user","content":"hi"}]}`,
		"/v1beta/models/backstage:generateContent": `{"contents":[{"parts":[{"text":"hi"}]}]}`, "/model/backstage/converse": `{"messages":[{"role":"user","content":[{"text":"hi"}]}]}`,
		"/api/chat": hello, "/api/show": `{"model":"chat"}`,
	} {
		if resp, got := send(t, "POST", url+path, "application/json", strings.Replace(body, `"chat"`, `"backstage"`, 1)); resp.StatusCode != 200 {
			t.Errorf("%s: %d %s", path, resp.StatusCode, got)
		}
	}
	for _, path := range []string{"/v1/models/backstage", "/v1beta/models/backstage"} {
		if resp, got := send(t, "GET", url+path, "", ""); resp.StatusCode != 200 || !strings.Contains(got, "backstage") {
			t.Error(fmt.Sprint(path, ": ", resp.StatusCode, " ", got))
		}
	}
}
