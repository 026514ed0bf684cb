package gateway_test

import (
	"context"
	"encoding/json"
	"iter"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// learner makes calls that do not fit until it was told n times what is wrong.
type learner struct {
	n     int
	wrong []llm.Call
	asked atomic.Int32
}

func (l *learner) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	l.asked.Add(1)
	told := 0
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok && strings.Contains(llm.Message{Parts: r.Parts}.Text(), "Send it again, corrected") {
				told++
			}
		}
	}
	calls := []llm.Call{{ID: "call_a", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}, {ID: "call_b", Name: "get_weather", Args: json.RawMessage(`{"city":"Oslo"}`)}}
	if told < l.n {
		calls = l.wrong
	}
	return func(yield func(llm.Event, error) bool) {
		if !yield(llm.TextDelta{Text: "Let me see. "}, nil) || !yield(llm.PartEnd{}, nil) {
			return
		}
		for _, c := range calls {
			if !yield(llm.CallStart{ID: c.ID, Name: c.Name}, nil) || !yield(llm.CallDelta{ID: c.ID, Args: string(c.Args)}, nil) || !yield(c, nil) {
				return
			}
		}
		yield(llm.Finish{Reason: llm.ToolCalls, Usage: llm.Usage{Input: 10, Output: 5}}, nil)
	}
}

// reaskingGateway serves a model in each format, and returns where.
func reaskingGateway(t *testing.T, m llm.Model, check gateway.Check) string {
	t.Helper()
	server := httptest.NewServer(&sim.Server{Model: m, Unknown: "sim/native"})
	t.Cleanup(server.Close)
	vendors := map[string]provider.Vendor{}
	var routes []gateway.ModelRoute
	for format, root := range roots {
		vendors["up-"+format] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
		routes = append(routes, gateway.ModelRoute{Model: format, Check: check, Upstreams: []gateway.Upstream{{Model: "up-" + format + "/sim/native"}}})
	}
	c := &provider.Client{Vendors: vendors, Retry: provider.Retry{Attempts: -1}, Route: provider.Native}
	return serve(t, gateway.Setup{Open: opening(c), Routes: routes})
}

func weatherRequest(model string) *llm.Request {
	return &llm.Request{Model: model, MaxTokens: 100, Messages: []llm.Message{llm.User("What is the weather in Rome and Oslo?")}, Tools: []llm.ToolDef{{
		Name: "get_weather", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}`),
	}}}
}

var wrongCalls = map[string][]llm.Call{
	"a member is missing":  {{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"town":"Rome"}`)}},
	"of the wrong type":    {{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":7}`)}},
	"a tool of nobody":     {{ID: "call_1", Name: "get_wether", Args: json.RawMessage(`{"city":"Rome"}`)}},
	"one of two":           {{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}, {ID: "call_2", Name: "get_weather", Args: json.RawMessage(`{}`)}},
	"not even an object":   {{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`"Rome"`)}},
	"nothing but the name": {{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{}`)}},
}

// With reask a client of any format sees only calls that fit, over an upstream of its own format
// and of another.
func TestReask(t *testing.T) {
	for name, wrong := range wrongCalls {
		for format := range roots {
			for _, upstream := range []string{format, map[bool]string{true: wire.Messages, false: wire.Chat}[format == wire.Chat]} {
				for _, stream := range []bool{false, true} {
					l := &learner{n: 1, wrong: wrong}
					got := ask(t, reaskingGateway(t, l, gateway.Reask), format, weatherRequest(upstream), stream)
					if got.err != nil {
						t.Errorf("%s, %s over %s, stream %v: %v", name, format, upstream, stream, got.err)
						continue
					}
					var args []string
					for _, c := range got.Message.Calls() {
						args = append(args, string(c.Args))
					}
					if l.asked.Load() != 2 || strings.Join(args, " ") != `{"city":"Rome"} {"city":"Oslo"}` || got.Finish.Reason != llm.ToolCalls {
						t.Errorf("%s, %s over %s, stream %v: asked %d times, calls %v, %s", name, format, upstream, stream, l.asked.Load(), args, got.Finish.Reason)
					}
					if !strings.Contains(got.Message.Text(), "Let me see.") {
						t.Errorf("%s over %s, stream %v: it says %q", format, upstream, stream, got.Message.Text())
					}
				}
			}
		}
	}
}

// A model that does not learn it is asked three times, and then the request fails, in the words
// of the client's vendor.
func TestReaskEnds(t *testing.T) {
	for format := range roots {
		for _, stream := range []bool{false, true} {
			l := &learner{n: 99, wrong: wrongCalls["a member is missing"]}
			got := ask(t, reaskingGateway(t, l, gateway.Reask), format, weatherRequest(format), stream)
			if l.asked.Load() != 3 || got.err == nil || !strings.Contains(got.err.Error(), "city") {
				t.Errorf("%s, stream %v: asked %d times, %v, %+v", format, stream, l.asked.Load(), got.err, got.Response)
			}
		}
	}
}

// What fits at once is asked once; without reask the client gets what the model wrote.
func TestReaskOnlyWhereItIsAskedFor(t *testing.T) {
	for check, want := range map[gateway.Check]int{gateway.Reask: 1, gateway.Annotate: 1, gateway.CheckOff: 1} {
		l := &learner{n: 0}
		if got := ask(t, reaskingGateway(t, l, check), wire.Chat, weatherRequest(wire.Chat), true); got.err != nil || len(got.Message.Calls()) != 2 || int(l.asked.Load()) != want {
			t.Errorf("%q: asked %d times, %v", check, l.asked.Load(), got.err)
		}
		l = &learner{n: 9, wrong: wrongCalls["of the wrong type"]}
		if got := ask(t, reaskingGateway(t, l, check), wire.Chat, weatherRequest(wire.Chat), true); check != gateway.Reask && (got.err != nil || l.asked.Load() != 1 || string(got.Message.Calls()[0].Args) != `{"city":7}`) {
			t.Errorf("%q: asked %d times, %v", check, l.asked.Load(), got.err)
		}
	}
}

// The text of a free-text tool is held to its grammar, also where the upstream knows nothing of it.
func TestReaskOfFreeText(t *testing.T) {
	for _, upstream := range []string{wire.Responses, wire.Messages} {
		for _, check := range []gateway.Check{gateway.Reask, gateway.Annotate} {
			var asked atomic.Int32
			m := llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
				text := `"no patch"`
				if asked.Add(1) > 1 {
					text = `"*** x"`
				}
				c := llm.Call{ID: "call_1", Name: "apply_patch", Args: json.RawMessage(text), Kind: llm.FreeTool}
				if req.Tools[0].Kind == llm.FunctionTool {
					c.Kind, c.Args = llm.FunctionTool, json.RawMessage(`{"input":`+text+`}`)
				}
				return func(yield func(llm.Event, error) bool) {
					_ = yield(llm.CallStart{ID: c.ID, Name: c.Name, Kind: c.Kind}, nil) && yield(llm.CallDelta{ID: c.ID, Args: string(c.Args)}, nil) && yield(c, nil) && yield(llm.Finish{Reason: llm.ToolCalls}, nil)
				}
			})
			req := &llm.Request{Model: upstream, Messages: []llm.Message{llm.User("Mend it.")}, Tools: []llm.ToolDef{{Name: "apply_patch", Kind: llm.FreeTool, Grammar: &llm.Grammar{Syntax: "lark", Definition: "start: \"*** \" /.+/"}}}}
			got := ask(t, reaskingGateway(t, m, check), wire.Responses, req, false)
			if got.err != nil {
				t.Errorf("over %s: %v", upstream, got.err)
				continue
			}
			c := got.Message.Calls()[0]
			warned := strings.Contains(strings.Join(got.header.Values(gateway.WarningHeader), " "), "grammar")
			if check == gateway.Reask && (string(c.Args) != `"*** x"` || asked.Load() != 2) || check == gateway.Annotate && (string(c.Args) != `"no patch"` || !warned) {
				t.Errorf("%q over %s: asked %d times, %s, warned %v", check, upstream, asked.Load(), c.Args, warned)
			}
		}
	}
}
