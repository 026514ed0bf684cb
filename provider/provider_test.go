package provider_test

import (
	"net/http/httptest"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

// roots are where the simulator serves each vendor's API.
var roots = map[string]string{
	"openai": "/v1", "responses": "/v1", "anthropic": "/v1", "gemini": "/v1beta", "ollama": "/api",
}

// serve starts the simulator.
func serve(t *testing.T, s *sim.Server) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server
}

var weather = llm.ToolDef{Name: "get_weather", Description: "Current weather in a city",
	Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)}

func TestNative(t *testing.T) {
	server := serve(t, new(sim.Server))
	for vendor, root := range roots {
		if vendor == "responses" {
			continue
		}
		t.Run(vendor, func(t *testing.T) {
			id := vendor + "+" + server.URL + root + "#sim/native"
			info := catalog.Default().Lookup(id)
			info.NativeTools = catalog.Answer{Support: catalog.Yes}
			c := &provider.Client{Catalog: catalog.Default().With(info), HTTP: server.Client()}
			m, err := c.Open(id)
			if err != nil {
				t.Fatal(err)
			}
			r, err := llm.Generate(t.Context(), m, &llm.Request{
				Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: []llm.ToolDef{weather},
			})
			if err != nil {
				t.Fatal(err)
			}
			if calls := r.Message.Calls(); len(calls) != 1 || string(calls[0].Args) != `{"city":"Rome"}` {
				t.Errorf("calls %+v, warnings %+v", calls, r.Warnings)
			}
		})
	}
}

func TestPrompted(t *testing.T) {
	server := serve(t, new(sim.Server))
	c := &provider.Client{HTTP: server.Client()}
	m, err := c.Open("http://" + server.Listener.Addr().String() + "/v1#sim/json_fence")
	if err != nil {
		t.Fatal(err)
	}
	r, err := llm.Generate(t.Context(), m, &llm.Request{
		Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: []llm.ToolDef{weather},
	})
	t.Logf("%+v %v", r, err)
}
