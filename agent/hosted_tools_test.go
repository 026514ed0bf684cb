package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// search is a web search of our own that remembers its arguments.
func search(origin tool.Origin, schema string, got *[]string) tool.Tool {
	return tool.Tool{Name: "web_search", Description: "Searches.", Input: json.RawMessage(schema), Effects: tool.ReadOnly, Origin: origin,
		Call: func(_ context.Context, args json.RawMessage) (tool.Output, error) {
			*got = append(*got, string(args))
			return tool.Text("found"), nil
		}}
}

const (
	plainSearch = `{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`
	finerSearch = `{"type":"object","properties":{"query":{"type":"string"},"allowed_domains":{"type":"array","items":{"type":"string"}},"user_location":{"type":"object"}},"required":["query"]}`
)

func TestLanes(t *testing.T) { // requirements 3.1 to 3.7, C25, C26
	can := func(string, llm.ToolDef) error { return nil }
	cannot := func(string, llm.ToolDef) error { return errors.New("it has none") }
	allow := func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) {
		return invoke.Decision{Verdict: invoke.Allow}, nil
	}
	for _, c := range []struct {
		name   string
		lane   agent.Lane
		native func(string, llm.ToolDef) error
		own    tool.Origin // 0: there is none
		policy invoke.Policy
		want   agent.Lane // empty: refused
	}{
		{"3.7 native if it can be", agent.LaneAuto, can, tool.MCP, nil, agent.LaneNative},
		{"3.7 control wants ours", agent.LaneAuto, can, tool.MCP, allow, agent.LaneMCP},
		{"3.7 else MCP", agent.LaneAuto, cannot, tool.MCP, nil, agent.LaneMCP},
		{"else local", agent.LaneAuto, cannot, tool.Program, nil, agent.LaneLocal},
		{"else nobody", agent.LaneAuto, cannot, 0, nil, agent.LaneNever},
		{"C25 a policy is not bypassed", agent.LaneAuto, can, 0, allow, agent.LaneNever},
		{"3.2 native", agent.LaneNative, can, tool.MCP, nil, agent.LaneNative},
		{"native is not there", agent.LaneNative, cannot, tool.MCP, nil, ""},
		{"3.2 mcp", agent.LaneMCP, can, tool.MCP, nil, agent.LaneMCP},
		{"mcp is not there", agent.LaneMCP, can, tool.Program, nil, ""},
		{"local", agent.LaneLocal, can, tool.Program, nil, agent.LaneLocal},
		{"never", agent.LaneNever, can, tool.MCP, nil, agent.LaneNever},
		{"nobody knows", agent.LaneAuto, nil, tool.MCP, nil, agent.LaneMCP},
	} {
		var got []string
		tools := []tool.Tool{weatherTool()}
		if c.own != 0 {
			tools = append(tools, search(c.own, plainSearch, &got))
		}
		m := says("fine")
		a := &agent.Agent{Model: m, System: "Be brief.", Tools: runner(tools...), HostedSupport: c.native, Hosted: []agent.ProviderTool{{Name: llm.WebSearch, Lane: c.lane}}}
		a.Tools.Policy = c.policy
		l := run(t, a, "go")
		if c.want == "" {
			if l.err == nil {
				t.Errorf("%s: accepted", c.name)
			}
			continue
		}
		chosen := of[agent.LaneChosen](l)
		if l.err != nil || len(chosen) != 1 || chosen[0].Lane != c.want || chosen[0].Why == "" {
			t.Errorf("%s: %+v, error %v", c.name, chosen, l.err)
			continue
		}
		if c.native != nil && c.native("", llm.ToolDef{}) != nil && !strings.HasSuffix(chosen[0].Why, ": it has none") {
			t.Errorf("%s: why the provider does not run it is not said: %s", c.name, chosen[0].Why)
		}
		def, offered := m.asked[0].Tool("web_search")
		if offered != (c.want != agent.LaneNever) || offered && (def.Kind == llm.HostedTool) != (c.want == agent.LaneNative) {
			t.Errorf("%s: offered %v as %v", c.name, offered, def.Kind)
		}
		if _, ok := m.asked[0].Tool("weather"); !ok {
			t.Errorf("%s: the other tools are gone", c.name)
		}
		if m.asked[0].System != "Be brief." { // 4.3: nothing is promised that is not there
			t.Errorf("%s: the prompt says %q", c.name, m.asked[0].System)
		}
	}
}

// TestLanesMix: a server's tool and one of ours can stand in for the same tool of the
// provider. Only those of the chosen lane are offered.
func TestLanesMix(t *testing.T) { // requirements 3.7
	can := func(string, llm.ToolDef) error { return nil }
	cannot := func(string, llm.ToolDef) error { return errors.New("it has none") }
	for _, c := range []struct {
		name   string
		hosted agent.ProviderTool
		native func(string, llm.ToolDef) error
		want   string
	}{
		{"a server before ours", agent.ProviderTool{Name: llm.WebSearch}, cannot, "docs__web_search"},
		{"ours if asked for", agent.ProviderTool{Name: llm.WebSearch, Lane: agent.LaneLocal}, cannot, "web_search"},
		{"a tool of another name", agent.ProviderTool{Name: llm.WebSearch, Lane: agent.LaneLocal, Own: "weather"}, cannot, "docs__web_search weather web_search"},
		{"the provider, if the policy leaves it", agent.ProviderTool{Name: llm.WebSearch, Uncontrolled: true}, can, "web_search (hosted)"},
		{"not the provider, if a policy wants control", agent.ProviderTool{Name: llm.WebSearch}, can, "docs__web_search"},
		{"nobody", agent.ProviderTool{Name: llm.WebSearch, Lane: agent.LaneNever}, can, ""},
	} {
		var got []string
		remote := search(tool.MCP, plainSearch, &got)
		remote.Name, remote.Source = "docs__web_search", "docs"
		m := says("fine")
		a := &agent.Agent{Model: m, Tools: runner(weatherTool(), search(tool.Builtin, plainSearch, &got), remote), HostedSupport: c.native, Hosted: []agent.ProviderTool{c.hosted}}
		a.Tools.Policy = invoke.AllowAll
		if l := run(t, a, "go"); l.err != nil {
			t.Errorf("%s: %v", c.name, l.err)
			continue
		}
		var names []string
		for _, d := range m.asked[0].Tools {
			if d.Name == "weather" && c.hosted.Own == "" {
				continue
			}
			if d.Kind == llm.HostedTool {
				d.Name += " (hosted)"
			}
			names = append(names, d.Name)
		}
		slices.Sort(names)
		if strings.Join(names, " ") != c.want {
			t.Errorf("%s: offered are %q", c.name, names)
		}
	}
}

func TestParseLane(t *testing.T) {
	for in, want := range map[string]agent.Lane{"": agent.LaneAuto, "ai-web-search": agent.LaneNative, "mcp": agent.LaneMCP, "duckduckgo": agent.LaneLocal, "never": agent.LaneNever, "native": agent.LaneNative, "local": agent.LaneLocal, "auto": agent.LaneAuto} {
		if got, err := agent.ParseLane(in); err != nil || got != want {
			t.Errorf("%q: %s %v", in, got, err)
		}
	}
	if _, err := agent.ParseLane("google"); err == nil {
		t.Error("google is a lane")
	}
}

func TestLimitsReachTheLaneOrAreRefused(t *testing.T) { // 4.3
	limits := llm.HostedConfig{MaxUses: 2, AllowedDomains: []string{"go.dev"}, Location: &llm.Location{City: "Rome"}}
	var got []string
	m := says(call("1", "web_search", `{"query":"a","allowed_domains":["evil.example"]}`), call("2", "web_search", `{"query":"b"}`), call("3", "web_search", `{"query":"c"}`), "fine")
	a := &agent.Agent{Model: m, Tools: runner(search(tool.Program, finerSearch, &got)), Hosted: []agent.ProviderTool{{Name: llm.WebSearch, Config: limits}}}
	l := run(t, a, "go")
	want := []string{
		`{"allowed_domains":["go.dev"],"query":"a","user_location":{"city":"Rome","country":"","region":"","timezone":"","type":"approximate"}}`,
		`{"allowed_domains":["go.dev"],"query":"b","user_location":{"city":"Rome","country":"","region":"","timezone":"","type":"approximate"}}`,
	}
	if diff := cmp.Diff(want, got); diff != "" || l.err != nil {
		t.Errorf("error %v: %s", l.err, diff)
	}
	if o := of[invoke.Outcome](l); o[2].Error == nil || o[2].Error.Code != tool.Permission {
		t.Errorf("the third use gave %v", o[2].Error)
	}
	got = nil
	a.Model = says(call("1", "web_search", `{"query":"a"}`), "fine")
	if l := run(t, a, "go"); len(got) != 1 || l.err != nil { // each run has uses of its own
		t.Errorf("ran %d times, error %v", len(got), l.err)
	}
	a = &agent.Agent{Model: says("x"), Tools: runner(search(tool.Program, plainSearch, &got)), Hosted: []agent.ProviderTool{{Name: llm.WebSearch, Config: limits}}}
	if l := run(t, a, "go"); l.err == nil || !strings.Contains(l.err.Error(), "cannot be restricted") {
		t.Errorf("limits that cannot be kept were accepted: %v", l.err)
	}
	m = says("x")
	a = &agent.Agent{Model: m, HostedSupport: func(string, llm.ToolDef) error { return nil }, Hosted: []agent.ProviderTool{{Name: llm.WebSearch, Lane: agent.LaneNative, Config: limits}}}
	if l := run(t, a, "go"); l.err != nil || m.asked[0].Tools[0].Hosted.MaxUses != 2 {
		t.Errorf("tools %+v, error %v", m.asked[0].Tools, l.err)
	}
}

func TestHostedCallsAreSeenAndRecorded(t *testing.T) { // C25
	hosted := llm.Call{ID: "srv_1", Name: "web_search", Args: json.RawMessage(`{"query":"go"}`), Hosted: true}
	found := llm.Result{CallID: "srv_1", Name: "web_search", Hosted: true, Parts: []llm.Part{llm.Text{Text: "go.dev"}}}
	store := new(journal.Memory)
	a := &agent.Agent{Model: says([]llm.Part{hosted, found, llm.Text{Text: "It is at go.dev."}}), Store: store,
		HostedSupport: func(string, llm.ToolDef) error { return nil }, Hosted: []agent.ProviderTool{{Name: llm.WebSearch}}}
	l := run(t, a, "go")
	if l.err != nil || len(of[llm.HostedCall](l)) != 1 || len(of[llm.HostedResult](l)) != 1 || l.done.Ran != 0 {
		t.Errorf("events %v, error %v", l.events, l.err)
	}
	n := 0
	for _, e := range verified(t, store, l.done.Run) {
		var r journal.Receipt
		if e.Kind == journal.KindReceipt && e.Decode(&r) == nil && r.ExecutedBy == journal.ByProvider && r.Call == "srv_1" && r.Result.Text() == "go.dev" {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d receipts of the provider's call", n)
	}
	if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
		t.Error(err)
	}
}

func TestASwitchDecidesLanesAnew(t *testing.T) { // H11
	var got []string
	first, second := says(call("1", "web_search", `{"query":"a"}`), "x"), says("fine")
	a := &agent.Agent{Model: first, ID: "one", Store: new(journal.Memory), Tools: runner(search(tool.Program, plainSearch, &got)),
		Hosted: []agent.ProviderTool{{Name: llm.WebSearch}},
		HostedSupport: func(id string, _ llm.ToolDef) error {
			if id == "two" {
				return nil
			}
			return errors.New("it has none")
		},
		Route: func(turn int) (llm.Model, string) {
			if turn > 1 {
				return second, "two"
			}
			return first, "one"
		}}
	l := run(t, a, "go")
	if l.err != nil || len(got) != 1 || len(of[agent.Switched](l)) != 1 || len(of[agent.LaneChosen](l)) != 2 {
		t.Errorf("ran %d, switched %v, error %v", len(got), of[agent.Switched](l), l.err)
	}
	if first.asked[0].Tools[0].Kind != llm.FunctionTool || second.asked[0].Tools[0].Kind != llm.HostedTool {
		t.Errorf("offered %v, then %v", first.asked[0].Tools, second.asked[0].Tools)
	}
	if err := agent.Replay(t.Context(), a.Store, l.done.Run); err != nil {
		t.Error(err)
	}
}

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
	a := &agent.Agent{Model: says(call("1", "a", `[]`), "", failed(llm.Incomplete, ""), failed(llm.Server, "")), Tools: runner(counted("a", &n, 0)), RetryBudget: 5,
		Checkpoint: func(context.Context, agent.Checkpoint) (agent.Choice, error) {
			return agent.Choice{Action: agent.Abort}, nil
		}}
	l := run(t, a, "go")
	if !errors.As(l.err, new(*agent.AbortedError)) {
		t.Fatal(l.err)
	}
	seen := make(map[string]bool)
	events := append(l.events, agent.Switched{}, agent.LaneChosen{}, agent.Found{}, agent.Shortened{}, agent.Escalated{}, refine.Partial{Value: json.RawMessage("1")})
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
