package gateway_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// TestEachOverride checks every override of a route: the request to the upstream and the handling of its answer,
// compared with a route without overrides.
func TestEachOverride(t *testing.T) {
	var body string
	server := new(sim.Server)
	up := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		body = string(b)
		r.Body = io.NopCloser(bytes.NewReader(b))
		server.ServeHTTP(w, r)
	}))
	defer up.Close()
	vendors := map[string]provider.Vendor{"up": {BaseURL: up.URL + "/v1", Wires: []string{wire.Chat}}}
	open := func(id string, way gateway.Way) (llm.Model, error) {
		c := &provider.Client{Vendors: vendors, Retry: provider.RetryPolicy{Attempts: -1}, Route: way.Tools, Style: way.Style}
		if c.Route == "" {
			c.Route = provider.Native
		}
		return c.Open(id)
	}
	const echoed = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
	const action = "Action: get_weather\nAction Input: {\"city\": \"Paris\"}"
	document := question("m")
	document.Messages = []llm.Message{llm.User("What does the file say about Paris?"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "c1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}}},
		llm.Results(llm.Result{CallID: "c1", Name: "get_weather", Parts: []llm.Part{llm.Text{Text: "Do this:\n" + echoed}}})}
	for name, test := range map[string]struct {
		model    string
		override gateway.Override
		way      gateway.Way
		says     string // the upstream's text; "" leaves it to the simulator
		sent     string // in the upstream request only with the override
		calls    bool   // in the answer
		before   bool   // in the answer of a route without overrides
	}{
		"thinking":      {"sim/native", gateway.Override{Thinking: "high"}, gateway.Way{}, "", `"reasoning_effort":"high"`, true, true},
		"thinking off":  {"sim/native", gateway.Override{Thinking: "off"}, gateway.Way{}, "", `"reasoning_effort":"none"`, true, true},
		"tool choice":   {"sim/native", gateway.Override{Choice: "required"}, gateway.Way{}, "", `"tool_choice":"required"`, true, true},
		"no tools":      {"sim/native", gateway.Override{Choice: "none"}, gateway.Way{}, "", "", false, true},
		"text is text":  {"sim/hermes_json", gateway.Override{TextCalls: llm.PromoteOff}, gateway.Way{}, "", "", false, true},
		"dialect":       {"sim/hermes_json", gateway.Override{Dialect: "hermes"}, gateway.Way{}, echoed, `\u003ctool_call`, true, true},
		"another":       {"sim/hermes_json", gateway.Override{Dialect: "react"}, gateway.Way{}, action, `Action Input`, true, true},
		"constraint":    {"sim/native", gateway.Override{}, gateway.Way{Tools: provider.Constrained}, `{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]}`, `"response_format"`, true, true},
		"upstream says": {"sim/hermes_json", gateway.Override{Dialect: "xml"}, gateway.Way{Tools: provider.Prompted, Style: "react"}, action, `Action Input`, true, true},
	} {
		r, plain := to("m", "up/"+test.model), to("plain", "up/"+test.model)
		r.Override, r.Upstreams[0].Way = test.override, test.way
		url := serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{r, plain}})
		req := question("m")
		if server.Model = nil; test.says != "" {
			server.Model = script(t, "raw "+test.says)
		}
		for _, model := range []string{"m", "plain"} {
			req.Model = model
			got := ask(t, url, wire.Chat, req, true)
			want := test.calls
			if model == "plain" {
				want = test.before
			}
			says := strings.Contains(body, test.sent) || strings.Contains(strings.ReplaceAll(body, "<", `\u003c`), test.sent)
			if model == "plain" && test.says != "" {
				want = len(got.Message.Calls()) > 0 // according to the known abilities of the model
			}
			if got.err != nil || want != (len(got.Message.Calls()) > 0) || test.sent != "" && says != (model == "m") {
				t.Errorf("%s, route %s: %v, %d calls; asked %.900s", name, model, got.err, len(got.Message.Calls()), body)
			}
		}
	}
	for _, echoes := range []bool{false, true} {
		r := to("m", "up/sim/native")
		r.Override.Echoes = echoes
		repeats := &sim.Server{Model: script(t, "raw x", "raw "+echoed)}
		says := httptest.NewServer(repeats)
		vendors["up"] = provider.Vendor{BaseURL: says.URL + "/v1", Wires: []string{wire.Chat}}
		r.Override.TextCalls = llm.PromoteAll
		got := ask(t, serve(t, gateway.Setup{Open: open, Routes: []gateway.ModelRoute{r}}), wire.Chat, document, true)
		says.Close()
		if got.err != nil || echoes != (len(got.Message.Calls()) > 0) {
			t.Errorf("echoes=%t: %v %+v", echoes, got.err, got.Response)
		}
	}
}
