package sim_test

import (
	"encoding/json"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// TestTaught checks that a model without tools calls the tools in its prompt, several at once, the demanded tool, and
// answers with the results.
func TestTaught(t *testing.T) {
	server := httptest.NewServer(new(sim.Server))
	defer server.Close()
	for _, context := range []string{"8192", "100000"} { // the prompts differ
		t.Run(context, func(t *testing.T) { taught(t, server.URL, context) })
	}
}

func taught(t *testing.T, url, context string) {
	own, err := catalog.Default().Load("sim", []byte(`rules: [{name: sim, match: {id: "*"}, set: {context_window: `+context+`}}]`))
	if err != nil {
		t.Fatal(err)
	}
	client := &provider.Client{Catalog: own, Route: provider.Prompted, Vendors: map[string]provider.Vendor{"up": {BaseURL: url + "/v1", Wires: []string{wire.Chat}}}}
	tools := []llm.ToolDef{
		{Name: "get_weather", Description: "Current weather in a city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"unit":{"enum":["c","f"]}},"required":["city"]}`)},
		{Name: "get_time", Description: "Current time in a city", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`)},
	}
	model, err := client.Open("up/sim/taught")
	if err != nil {
		t.Fatal(err)
	}
	ask := func(req *llm.Request) *llm.Response {
		t.Helper()
		req.Tools = tools
		r, err := llm.Generate(t.Context(), model, req)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	calls := func(r *llm.Response) string {
		var b strings.Builder
		for _, c := range r.Message.Calls() {
			b.WriteString(c.Name + strings.ReplaceAll(string(c.Args), " ", ""))
		}
		return b.String()
	}
	two := llm.User("What is the weather in Rome? What is the weather in Paris?")
	first := ask(&llm.Request{Messages: []llm.Message{two}})
	if got := calls(first); !strings.HasPrefix(got, `get_weather{"city":"Rome"}`) {
		t.Errorf("calls %s, text %q", got, first.Message.Text())
	}
	named := ask(&llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "get_time"}})
	if got := calls(named); got != `get_time{"city":"Rome"}` {
		t.Errorf("the call that was demanded: %s", got)
	}
	question := llm.User("What is the weather in Rome?")
	one := ask(&llm.Request{Messages: []llm.Message{question}})
	call := one.Message.Calls()[0]
	last := ask(&llm.Request{Messages: []llm.Message{question, one.Message, llm.Results(llm.Result{CallID: call.ID, Name: call.Name, Parts: []llm.Part{llm.Text{Text: "sunny, 25 degrees"}}})}})
	if len(last.Message.Calls()) > 0 || !strings.Contains(last.Message.Text(), "sunny, 25 degrees") {
		t.Errorf("after the result: %s %q", calls(last), last.Message.Text())
	}
}
