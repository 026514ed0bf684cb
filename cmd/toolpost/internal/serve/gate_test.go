package serve

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
)

// gate: off offers all tools to a small model, also where no tool fits the request.
func TestGateOfAnUpstream(t *testing.T) {
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/chat/completions") {
			http.NotFound(w, r)
			return
		}
		text, _ := io.ReadAll(r.Body)
		body = string(text)
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "data: {\"choices\":[{\"delta\":{\"content\":\"Because.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
	}))
	defer server.Close()
	id := "llamacpp+" + server.URL + "/v1#SmolLM2-135M-Instruct"
	tools := []llm.ToolDef{{Name: "get_weather", Description: "Weather of a city.", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}}
	for _, c := range []struct {
		setting, upstream string
		offered           bool
	}{
		{"", "", false}, {"auto", "auto", false}, {"", "off", true}, {"off", "", true},
	} {
		s := settings.Defaults()
		s.Gate = c.setting
		way := gateway.Way{Gate: openmodel.GateOf(c.upstream)}
		s.Gateway.Routes = []settings.RouteConfig{{Model: "m", To: []settings.UpstreamConfig{{Model: id, Gate: c.upstream}}}}
		open, err := upstreamOpener(&s.ModelOptions, s.Gateway)
		if err != nil {
			t.Fatal(err)
		}
		model, err := open(id, way)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := llm.Generate(context.Background(), model, &llm.Request{Messages: []llm.Message{llm.User("Why is the sky blue?")}, Tools: tools}); err != nil {
			t.Fatal(err)
		}
		if offered := strings.Contains(body, "get_weather"); offered != c.offered {
			t.Errorf("gate %q, upstream %q: offered %v, want %v: %s", c.setting, c.upstream, offered, c.offered, body)
		}
	}
}
