package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http/httptest"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// searcher is a model whose vendor searches the web for it.
type searcher struct{ asked []*llm.Request }

func (m *searcher) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	m.asked = append(m.asked, req.Clone())
	resp := llm.Response{Finish: llm.Finish{Reason: llm.Stop}, Message: llm.Assistant(llm.Text{Text: "I know it."})}
	if def, ok := req.Tool(llm.WebSearch); ok && def.Kind == llm.HostedTool {
		resp.Message = llm.Assistant(
			llm.Call{ID: "srvtoolu_1", Name: llm.WebSearch, Args: json.RawMessage(`{"query":"go"}`), Hosted: true,
				State: llm.State{Vendor: wire.Messages, Data: json.RawMessage(`{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"go"}}`)}},
			llm.Result{CallID: "srvtoolu_1", Name: llm.WebSearch, Hosted: true, State: llm.State{Vendor: wire.Messages, Data: json.RawMessage(
				`{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","url":"https://go.dev","title":"Go","encrypted_content":"ZW5j"}]}`)}},
			llm.Text{Text: "It is at go.dev."})
		resp.Finish.Usage.Hosted = map[string]int{llm.WebSearch: 1}
	}
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range resp.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// TestTheProviderSearches: over HTTP, in the format of a vendor that runs web
// searches and of one that does not.
func TestTheProviderSearches(t *testing.T) {
	for _, c := range []struct {
		vendor, path, format string
		lane                 agent.Lane
		text                 string
	}{
		{"anthropic", "/v1", wire.Messages, agent.LaneNative, "It is at go.dev."},
		{"ollama", "/api", wire.Ollama, agent.LaneNever, "I know it."},
	} {
		model := new(searcher)
		server := httptest.NewServer(&sim.Server{Model: model})
		id := c.vendor + "+" + server.URL + c.path + "#sim/native"
		info := catalog.Default().Lookup(id)
		info.NativeTools = yes
		client := &provider.Client{HTTP: server.Client(), Catalog: catalog.Default().With(info)}
		opened, err := client.Open(id)
		if err != nil {
			t.Fatal(err)
		}
		store := new(journal.Memory)
		a := &agent.Agent{Model: opened, ID: id, Store: store, Request: llm.Request{MaxTokens: 1000},
			Hosted:        []agent.ProviderTool{{Name: llm.WebSearch, Config: llm.HostedConfig{MaxUses: 3}}},
			HostedSupport: agent.HostedSupportIn(c.format)}
		l := run(t, a, "Where is Go?")
		server.Close()
		if l.err != nil || l.done.Text != c.text || of[agent.LaneChosen](l)[0].Lane != c.lane {
			t.Errorf("%s: %q, lane %+v, error %v", c.vendor, l.done.Text, of[agent.LaneChosen](l), l.err)
			continue
		}
		if c.lane != agent.LaneNative {
			if len(model.asked[0].Tools) != 0 {
				t.Errorf("%s: offered %v", c.vendor, model.asked[0].Tools)
			}
			continue
		}
		if h := model.asked[0].Tools[0].Hosted; h == nil || h.MaxUses != 3 {
			t.Errorf("%s: the limit did not reach the vendor: %+v", c.vendor, h)
		}
		if len(of[llm.HostedCall](l)) != 1 || l.done.Usage.Hosted[llm.WebSearch] != 1 {
			t.Errorf("%s: %d hosted calls, usage %+v", c.vendor, len(of[llm.HostedCall](l)), l.done.Usage)
		}
		if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
			t.Error(err)
		}
	}
}

// TestEventsAreJSON: a run can be followed as lines of JSON, each with its own
// type.
func TestEventsAreJSON(t *testing.T) {
	n := 0
	a := &agent.Agent{Model: says(call("1", "a", `[]`), "", failed(llm.Incomplete, ""), failed(llm.Server, "")), Tools: runner(counted("a", &n, 0)), Budget: 5,
		Checkpoint: func(context.Context, agent.Checkpoint) (agent.Choice, error) {
			return agent.Choice{Action: agent.Abort}, nil
		}}
	l := run(t, a, "go")
	if !errors.As(l.err, new(*agent.AbortedError)) {
		t.Fatal(l.err)
	}
	seen := make(map[string]bool)
	events := append(l.events, agent.Switched{}, agent.LaneChosen{}, agent.Found{}, agent.Shortened{}, agent.Escalated{}, agent.Partial{Value: json.RawMessage("1")})
	for _, ev := range events {
		raw, err := llm.MarshalEvent(ev)
		var v struct{ Event string }
		if err != nil || json.Unmarshal(raw, &v) != nil || v.Event != ev.EventType() {
			t.Errorf("%T: %s %v", ev, raw, err)
		}
		seen[v.Event] = true
	}
	for _, name := range []string{"turn", "recovery", "retry", "checkpoint", "chosen", "outcome", "done", "switched", "lane", "found", "shortened", "escalated", "partial"} {
		if !seen[name] {
			t.Errorf("no event %s", name)
		}
	}
}
