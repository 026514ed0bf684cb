package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// stage is a model behind the simulator in every format, which keeps what it was asked.
type stage struct {
	llm.Model
	mu    sync.Mutex
	asked []*llm.Request
}

func (s *stage) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	s.mu.Lock()
	s.asked = append(s.asked, req.Clone())
	s.mu.Unlock()
	return s.Model.Stream(ctx, req)
}

// last is what the model was asked last.
func (s *stage) last() *llm.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[len(s.asked)-1]
}

// results are those that a request has.
func results(req *llm.Request) []llm.Result {
	var out []llm.Result
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// staged serves a route "m" whose model plays a script; with text it writes its calls as text
// and has to be taught its tools.
func staged(t *testing.T, m llm.Model, upstream string, tools *gateway.ServedTools) (string, *stage) {
	t.Helper()
	setup, s := stagedSetup(t, m, upstream, tools)
	return serve(t, setup), s
}

func stagedSetup(t *testing.T, m llm.Model, upstream string, tools *gateway.ServedTools) (gateway.Setup, *stage) {
	t.Helper()
	s := &stage{Model: m}
	server := httptest.NewServer(&sim.Server{Model: s})
	t.Cleanup(server.Close)
	c := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
	for format, root := range roots {
		c.Vendors["up-"+format] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
	}
	id := "up-" + upstream + "/sim/native+strict"
	if upstream == "text" {
		c.Vendors["up-text"] = provider.Vendor{BaseURL: server.URL + "/v1", Wires: []string{wire.Chat}}
		c.Route, c.Style, id = provider.Prompted, "hermes", "up-text/sim/hermes_json"
	}
	route := to("m", id)
	route.Tools = tools
	return gateway.Setup{Open: opening(c), Routes: []gateway.ModelRoute{route}}, s
}

func script(t *testing.T, answers ...string) *sim.Script {
	t.Helper()
	var src strings.Builder
	for i, a := range answers {
		name := fmt.Sprint(i + 1)
		if raw, ok := strings.CutPrefix(a, "raw "); ok { // untouched text
			name, a = name+".raw", raw
		}
		fmt.Fprintf(&src, "-- %s --\n%s\n", name, a)
	}
	s, err := sim.ParseScript([]byte(src.String()))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// counter counts the calls of tools.
type counter struct {
	mu   sync.Mutex
	args []string
}

func (c *counter) add(args json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.args = append(c.args, string(args))
}

func (c *counter) n() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.args)
}

// reading is a tool that only reads, with what it returns.
func reading(name, gives string, n *counter) tool.Tool {
	t := tool.New(name, "Looks something up: "+name+".", []byte(`{"type":"object","properties":{"what":{"type":"string"}},"required":["what"]}`),
		func(_ context.Context, args json.RawMessage) (tool.Output, error) {
			n.add(args)
			return tool.Text(gives), nil
		})
	t.Effects = tool.ReadOnly
	return t
}

// served are these tools.
func served(tools ...tool.Tool) *gateway.ServedTools {
	set := tool.MustSet(tools...)
	return &gateway.ServedTools{Tools: func(context.Context) (*tool.Set, error) { return set, nil }}
}

// TestServedTools: a model calls a tool of the gateway, then one of the gateway's and one of the
// client's in one answer, then answers. The client sees its own call alone, and what the gateway
// ran is part of the conversation when it comes back: strict upstreams refuse one in which a call
// has no result. In every format, streamed and not, over native models and one that writes text.
func TestServedTools(t *testing.T) {
	for _, upstream := range []string{wire.Chat, wire.Messages, wire.Responses, "text"} {
		for format := range roots {
			for _, stream := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s over %s, stream=%t", format, upstream, stream), func(t *testing.T) {
					servedTurns(t, upstream, format, stream)
				})
			}
		}
	}
}

// servedTurns are the turns of one client.
func servedTurns(t *testing.T, upstream, format string, stream bool) {
	var n counter
	url, model := staged(t, script(t, "text Let me look.\ncall look {\"what\":\"one\"}", "call look {\"what\":\"two\"}\ncall get_weather {\"city\":\"Paris\"}", "text It is sunny.", "text You are welcome."),
		upstream, served(reading("look", "found", &n)))
	req := question("m")
	first := ask(t, url, format, req, stream)
	if first.err != nil {
		t.Fatal(first.err)
	}
	calls := first.Message.Calls()
	if len(calls) != 1 || calls[0].Name != "get_weather" || first.Finish.Reason != llm.ToolCalls || !strings.Contains(first.Message.Text(), "Let me look.") {
		t.Fatalf("calls %+v, text %q, finish %s", calls, first.Message.Text(), first.Finish.Reason)
	}
	if n.n() != 2 {
		t.Errorf("the tool ran with %q", n.args)
	}
	if one := model.asked[0]; first.Finish.Usage.Input <= llm.EstimateText(one.Messages[0].Text()) && upstream != "text" {
		t.Errorf("usage %+v is not that of both rounds", first.Finish.Usage)
	}
	req.Messages = append(req.Messages, first.Message, llm.Results(llm.Result{CallID: calls[0].ID, Name: "get_weather", Parts: []llm.Part{llm.Text{Text: "sunny, 21 degrees"}}}))
	second := ask(t, url, format, req, stream)
	if second.err != nil || second.Message.Text() != "It is sunny." || second.Finish.Reason != llm.Stop {
		t.Fatalf("%v: %+v", second.err, second.Response)
	}
	if said := fmt.Sprint(model.last().Messages); n.n() != 2 || strings.Count(said, "found") < 2 || strings.Count(said, "21 degrees") != 1 {
		t.Errorf("%d runs; the model was asked %+v", n.n(), model.last().Messages)
	}
	req.Messages = append(req.Messages, second.Message, llm.User("Thanks."))
	if third := ask(t, url, format, req, stream); third.err != nil || third.Message.Text() != "You are welcome." || n.n() != 2 {
		t.Errorf("%v: %+v", third.err, third.Response)
	}
}

// TestServedAlone: a client without tools gets one answer, with what the model said on the way.
func TestServedAlone(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			var n counter
			url, _ := staged(t, script(t, "text Let me look.\ncall look {\"what\":\"one\"}", "text It is sunny."), wire.Messages, served(reading("look", "found", &n)))
			req := question("m")
			req.Tools = nil
			got := ask(t, url, format, req, stream)
			if got.err != nil || got.Message.Text() != "Let me look.\n\nIt is sunny." || got.Finish.Reason != llm.Stop || n.n() != 1 || len(got.Message.Calls()) > 0 {
				t.Errorf("%s stream=%t: %v %+v, %d runs", format, stream, got.err, got.Response, n.n())
			}
			req.Choice.Mode = llm.MustCall
			if got = ask(t, url, format, req, stream); got.err == nil && got.Message.Text() != "Let me look.\n\nIt is sunny." {
				t.Errorf("%s stream=%t: a call that must be made is one of the gateway's: %+v", format, stream, got.Response)
			}
		}
	}
}

// TestServedNamesClash: a client's tool never hides one of the gateway's, nor the other way
// round.
func TestServedNamesClash(t *testing.T) {
	var n counter
	url, model := staged(t, script(t, "call Get_weather {\"what\":\"x\"}"), wire.Chat, served(reading("Get_weather", "found", &n)))
	for format := range roots {
		for _, stream := range []bool{false, true} {
			got := ask(t, url, format, question("m"), stream)
			if got.status != 400 || !strings.Contains(fmt.Sprint(got.err), `the tool "get_weather" of the request has the name of a tool that this gateway runs`) {
				t.Errorf("%s: %d %v", format, got.status, got.err)
			}
		}
	}
	for _, member := range []string{`"functions":[{"name":"get_weather","parameters":{"type":"object"}}]`, `"functions":[{"name":"other"},{"name":"GET_WEATHER"}],"function_call":"auto"`} {
		resp, body := send(t, "POST", url+"/v1/chat/completions", "application/json", `{"model":"m","messages":[{"role":"user","content":"hi"}],`+member+`}`)
		if resp.StatusCode != 400 || !strings.Contains(body, "has the name of a tool that this gateway runs") {
			t.Errorf("%s: %d %s", member, resp.StatusCode, body)
		}
	}
	if len(model.asked) > 0 || n.n() > 0 {
		t.Error("and yet the model was asked")
	}
}

// TestServedFinderIsFree: where all tools are offered, find_tools is a name like any other.
func TestServedFinderIsFree(t *testing.T) {
	var n counter
	url, _ := staged(t, script(t, "call find_tools {\"city\":\"x\"}"), wire.Chat, served(reading("look", "found", &n)))
	req := question("m")
	req.Tools[0].Name = tool.FinderName
	if got := ask(t, url, wire.Chat, req, true); got.err != nil || len(got.Message.Calls()) != 1 {
		t.Errorf("%v %+v", got.err, got.Response)
	}
}

// TestServedConsent: what needs a person's consent is refused, the model learns why, and the
// answer goes on.
func TestServedConsent(t *testing.T) {
	var n counter
	write := reading("write", "written", &n)
	write.Effects, write.Origin = 0, tool.MCP
	url, model := staged(t, script(t, "call write {\"what\":\"x\"}", "text I may not."), wire.Chat, served(write))
	got := ask(t, url, wire.Chat, question("m"), true)
	res := results(model.last())
	if got.err != nil || got.Message.Text() != "I may not." || n.n() != 0 || len(res) != 1 || !res[0].Failed && !strings.Contains(res[0].Text(), "no policy allows it") {
		t.Errorf("%v %+v, %d runs, %+v", got.err, got.Response, n.n(), res)
	}
}

// TestServedRounds: a model that never stops calling is asked a bounded number of times, and
// then answers without these tools.
func TestServedRounds(t *testing.T) {
	var n counter
	calls := 0
	endless := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			calls++
			if req.Choice.Mode == llm.MustNotCall || len(req.Tools) == 0 {
				_ = yield(llm.TextDelta{Text: "Enough."}, nil) && yield(llm.Finish{Reason: llm.Stop}, nil)
				return
			}
			id := fmt.Sprint("c", calls)
			_ = yield(llm.CallStart{ID: id, Name: "look"}, nil) && yield(llm.Call{ID: id, Name: "look", Args: json.RawMessage(fmt.Sprintf(`{"what":"%d"}`, calls))}, nil) &&
				yield(llm.Finish{Reason: llm.ToolCalls}, nil)
		}
	})
	tools := served(reading("look", "found", &n))
	tools.Rounds = 3
	url, _ := staged(t, endless, wire.Chat, tools)
	req := question("m")
	req.Tools = nil
	got := ask(t, url, wire.Messages, req, true)
	if got.err != nil || got.Message.Text() != "Enough." || n.n() != 3 || got.Finish.Reason != llm.Stop {
		t.Errorf("%v %+v, %d runs", got.err, got.Response, n.n())
	}
	// The same call again and again is stopped by the runtime before that.
	var same counter
	again := served(reading("look", "found", &same))
	again.Rounds = 50
	url, _ = staged(t, script(t, "call look {\"what\":\"x\"}"), wire.Chat, again)
	got = ask(t, url, wire.Chat, req, true)
	if got.err != nil || same.n() > 10 {
		t.Errorf("%v %+v, %d runs", got.err, got.Response, same.n())
	}
}

// TestServedMany: of more tools than there is room for, those are offered that fit, which the
// client is told, and the model finds the others.
func TestServedMany(t *testing.T) {
	var n counter
	var tools []tool.Tool
	for i := range 40 {
		one := reading(fmt.Sprintf("record_%d", i), "found", &n)
		one.Description = fmt.Sprintf("Looks up records of kind %d.", i)
		tools = append(tools, one)
	}
	tools[33].Name, tools[33].Description = "tide", "Measures how high the water in a harbour is."
	many := served(tools...)
	many.Offer = tool.SelectionBudget{Tools: 5}
	url, model := staged(t, script(t, "call find_tools {\"query\":\"height of water in the harbour\"}", "call tide {\"what\":\"x\"}", "text High."), wire.Chat, many)
	req := question("m")
	req.Messages[0] = llm.User("Look up records of kind 7.")
	for _, stream := range []bool{false, true} {
		n = counter{}
		got := ask(t, url, wire.Chat, req, stream)
		if got.err != nil || got.Message.Text() != "High." || n.n() != 1 {
			t.Fatalf("%v %+v, %d runs, asked %+v", got.err, got.Response, n.n(), model.last())
		}
		if w := got.header.Get(gateway.WarningHeader); !strings.Contains(w, "5 of the 40 tools that the gateway runs are offered; find_tools finds the others") {
			t.Errorf("the client is told %q", w)
		}
	}
	offered := func(r *llm.Request, name string) bool {
		return slices.ContainsFunc(r.Tools, func(d llm.ToolDef) bool { return d.Name == name })
	}
	if first := model.asked[0]; len(first.Tools) != 7 || offered(first, "tide") || !offered(first, "record_7") || !offered(model.asked[1], "tide") || !offered(first, "get_weather") {
		t.Errorf("offered %d tools", len(first.Tools))
	}
}

// TestServedRecord: each run of a tool is on the record of its request, which is sealed.
func TestServedRecord(t *testing.T) {
	var n counter
	store := new(journal.Memory)
	tools := served(reading("look", "found", &n))
	var of gateway.ServedRun
	tools.Record = func(ctx context.Context, run gateway.ServedRun) (*journal.Recorder, error) {
		of = run
		return journal.Open(ctx, store, run.ID)
	}
	url, _ := staged(t, script(t, "call look {\"what\":\"one\"}", "text Done."), wire.Chat, tools)
	got := ask(t, url, wire.Chat, question("m"), true)
	run := got.header.Get(gateway.RequestHeader)
	kinds := map[journal.Kind]int{}
	for e, err := range store.Read(t.Context(), run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		kinds[e.Kind]++
	}
	if got.err != nil || kinds[journal.KindReceipt] != 1 || kinds[journal.KindSeal] != 1 {
		t.Errorf("%v; the record %s has %v", got.err, run, kinds)
	}
	if of.ID != run || of.Team != "" || of.Route == "" {
		t.Errorf("the record of %s is told that it is of %+v", run, of)
	}
}

// TestServedPolicyAndSecrets: a policy of the route decides, and values that are secret do not
// leave for the upstream.
func TestServedPolicyAndSecrets(t *testing.T) {
	var n counter
	write := reading("write", "the key is hunter2hunter2, written", &n)
	write.Effects, write.Origin = 0, tool.MCP
	tools := served(write)
	tools.Runner = &invoke.Runner{Policy: invoke.AllowNamed("write"), Output: invoke.ResultView{Secrets: &journal.Secrets{Values: []string{"hunter2hunter2"}}}}
	url, model := staged(t, script(t, "call write {\"what\":\"x\"}", "text Done."), wire.Chat, tools)
	got := ask(t, url, wire.Chat, question("m"), true)
	res := results(model.last())
	if got.err != nil || n.n() != 1 || len(res) != 1 || !strings.Contains(res[0].Text(), "written") || strings.Contains(fmt.Sprint(model.last()), "hunter2") {
		t.Errorf("%v, %d runs, %+v", got.err, n.n(), res)
	}
}

// TestServedCounted: the calls that the gateway runs are counted, by how they ended.
func TestServedCounted(t *testing.T) {
	var n counter
	write := reading("write", "written", &n)
	write.Effects, write.Origin = 0, tool.MCP
	setup, _ := stagedSetup(t, script(t, "call look {\"what\":\"one\"}\ncall write {\"what\":\"two\"}", "text Done."), wire.Chat, served(reading("look", "found", &n), write))
	live, err := gateway.NewLive(setup)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(live.Close)
	server := httptest.NewServer(live)
	t.Cleanup(server.Close)
	if got := ask(t, server.URL, wire.Chat, question("m"), true); got.err != nil {
		t.Fatal(got.err)
	}
	w := httptest.NewRecorder()
	live.Metrics().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	for _, want := range []string{`toolpost_served_calls_total{route="m",status="ok"} 1`, `toolpost_served_calls_total{route="m",status="refused"} 1`} {
		if !strings.Contains(w.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, w.Body.String())
		}
	}
}

// TestServedOverride: what a route decides in the place of its clients holds for its tools, too.
func TestServedOverride(t *testing.T) {
	var n counter
	setup, model := stagedSetup(t, script(t, "text No call."), wire.Chat, served(reading("look", "found", &n)))
	setup.Routes[0].Override = gateway.Override{Choice: "none"}
	got := ask(t, serve(t, setup), wire.Chat, question("m"), true)
	if first := model.asked[0]; got.err != nil || slices.ContainsFunc(first.Tools, func(d llm.ToolDef) bool { return d.Name == "look" }) || len(first.Tools) > 0 && first.Choice.Mode != llm.MustNotCall {
		t.Errorf("%v; asked %+v", got.err, first)
	}
}
