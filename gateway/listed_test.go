package gateway_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/wire"
)

// TestListsKnowForWhomRoutesAre: a list of models has the names that a client of its format may ask for, and no others.
func TestListsKnowForWhomRoutesAre(t *testing.T) {
	var routes []gateway.ModelRoute
	for _, format := range []string{wire.Chat, wire.Responses, wire.Messages, wire.Gemini, wire.Ollama, wire.Converse} {
		r := to("only-"+format, "up-chat/sim/native")
		r.From = []string{format}
		routes = append(routes, r)
	}
	url := serve(t, gateway.Setup{Routes: append(routes, to("for-all", "up-chat/sim/native"))})
	for _, c := range []struct {
		list  []string // its path and headers
		one   string   // the path of one model
		names []string
	}{
		{[]string{"/v1/models"}, "/v1/models/", []string{"only-chat", "only-responses"}},
		{[]string{"/models"}, "/models/", []string{"only-chat", "only-responses"}},
		{[]string{"/openai/v1/models"}, "", []string{"only-chat", "only-responses"}},
		{[]string{"/v1/models", "Anthropic-Version", "2023-06-01"}, "/v1/models/", []string{"only-messages"}},
		{[]string{"/v1beta/models"}, "/v1beta/models/", []string{"only-gemini"}},
		{[]string{"/v1/models", "X-Goog-Api-Key", "x"}, "/v1/models/", []string{"only-gemini"}},
		{[]string{"/api/tags"}, "", []string{"only-ollama"}},
	} {
		_, body := send(t, "GET", url+c.list[0], "", "", c.list[1:]...)
		mine := " for-all " + strings.Join(c.names, " ") + " "
		for _, r := range append(routes, to("for-all", "")) {
			want := strings.Contains(mine, " "+r.Model+" ")
			if strings.Contains(body, r.Model) != want {
				t.Errorf("%v: %s is listed is not %t: %s", c.list, r.Model, want, body)
			}
			if c.one == "" {
				continue
			}
			if resp, got := send(t, "GET", url+c.one+r.Model, "", "", c.list[1:]...); (resp.StatusCode == 200) != want {
				t.Errorf("%s%s %v: %d %s", c.one, r.Model, c.list[1:], resp.StatusCode, got)
			}
		}
	}
}
