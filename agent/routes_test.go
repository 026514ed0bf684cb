package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/emulate"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/wire"
)

// toolHost is a server with a format, and the field by which it holds answers to a schema.
type toolHost struct{ vendor, root, wire, constrain string }

var toolHosts = []toolHost{
	{"openai", "/v1", wire.Chat, "response_format"},
	{"openai", "/v1", wire.Responses, "response_format"},
	{"anthropic", "/v1", wire.Messages, "response_format"},
	{"gemini", "/v1beta", wire.Gemini, "response_format"},
	{"ollama", "/api", wire.Ollama, "format"},
	{"bedrock", "", wire.Converse, "response_format"},
	{"llamacpp", "/v1", wire.Chat, "json_schema"},
	{"vllm", "/v1", wire.Chat, "structured_outputs"},
}

// toolRoute is a way in which a model is asked for calls, and what such a model writes.
type toolRoute struct {
	name  string
	kind  provider.RouteKind
	style string
	gate  emulate.Gate
	call  string // the text of the call; empty if the vendor delivers calls
	after string // the text after the result
}

const florence = `{"city":"Florence"}`

func toolRoutes(t *testing.T) []toolRoute {
	said := `{"type":"text","text":"It is sunny."}`
	one := `{"name":"weather","arguments":` + florence + `}`
	list := []toolRoute{
		{name: "native", kind: provider.Native, after: "It is sunny."},
		{name: "one call", kind: provider.Constrained, call: one, after: said},
		{name: "list of calls", kind: provider.Constrained, call: `{"tool_calls":[` + one + `]}`, after: said},
		{name: "small model", kind: provider.Constrained, gate: emulate.GateOn, call: florence, after: "It is sunny."},
	}
	for _, style := range emulate.Styles() {
		p, err := emulate.Teach(emulate.PromptOptions{Style: style, Tools: []llm.ToolDef{{Name: "weather", Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}}}`)}}})
		if err != nil {
			t.Fatal(err)
		}
		text, err := dialect.Builtin().Render(p.Dialect, llm.Call{ID: "call_1", Name: "weather", Args: json.RawMessage(florence)})
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, toolRoute{name: style, kind: provider.Prompted, style: style, call: text, after: "It is sunny."})
	}
	return list
}

// Stream answers as a model on this route does.
func (r toolRoute) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	answered := false
	for _, m := range req.Messages {
		answered = answered || strings.Contains(m.Text(), "25 degrees")
		for _, p := range m.Parts {
			_, result := p.(llm.Result)
			answered = answered || result
		}
	}
	resp := &llm.Response{Message: llm.Assistant(llm.Text{Text: r.call}), Finish: llm.Finish{Reason: llm.Stop}}
	switch {
	case answered:
		resp.Message = llm.Assistant(llm.Text{Text: r.after})
	case r.call == "":
		resp = &llm.Response{Message: llm.Assistant(llm.Call{ID: "call_1", Name: "weather", Args: json.RawMessage(florence)}), Finish: llm.Finish{Reason: llm.ToolCalls}}
	}
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range resp.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// open opens the model of a host that answers on this route.
func (r toolRoute) open(t *testing.T, h toolHost, whole bool) llm.Model {
	t.Helper()
	server := httptest.NewServer(&sim.Server{Model: r})
	t.Cleanup(server.Close)
	id := h.vendor + "+" + server.URL + h.root + "#sim/native+seed=3"
	yes, no := catalog.Answer{Support: catalog.Yes}, catalog.Answer{Support: catalog.No}
	info := catalog.Model{ID: catalog.ID{Raw: id}, Kind: "chat", Wire: h.wire, NativeTools: yes, JSONSchema: yes, JSONMode: yes,
		ParallelTools: no, Constrain: h.constrain, Emulation: "json", Dialect: "hermes_json", ContextWindow: 100000}
	if strings.HasPrefix(r.name, "list") {
		info.ParallelTools = yes
	}
	c := &provider.Client{Catalog: catalog.Default().With(info), HTTP: server.Client(), Whole: whole, Style: r.style, Gate: r.gate, Route: r.kind}
	if r.kind == provider.Native {
		c.Route = ""
	}
	m, err := c.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestAFunctionRunsOnEveryRoute runs the program of the README, whose tool declares no
// effects and whose Runner has no policy, on every route that a request can take.
func TestAFunctionRunsOnEveryRoute(t *testing.T) {
	t.Parallel()
	type city struct {
		City string `json:"city"`
	}
	for _, h := range toolHosts {
		for _, r := range toolRoutes(t) {
			for _, whole := range []bool{false, true} {
				name := fmt.Sprintf("%s %s, %s %s, whole %v", h.vendor, h.wire, r.kind, r.name, whole)
				ran := 0
				look := tool.Func("weather", "Current weather in a city", func(_ context.Context, in city) (string, error) {
					if in.City == "Florence" {
						ran++
					}
					return "25 degrees", nil
				})
				model, store := r.open(t, h, whole), new(journal.Memory)
				a := agent.Agent{Model: model, Tools: &invoke.Runner{Tools: tool.MustSet(look)}, Store: store}
				var told []string
				for ev, err := range a.Run(t.Context(), llm.User("Weather in Florence?")) {
					if err != nil {
						t.Errorf("%s: %v", name, err)
					}
					switch ev := ev.(type) {
					case llm.Call:
						want := llm.MarkedSource
						if r.kind == provider.Native {
							want = llm.NativeSource
						}
						if got := ev.Provenance.Source(); got != want {
							t.Errorf("%s: the source of the call is %q (%s), not %q", name, got, ev.Provenance.Dialect, want)
						}
					case invoke.Outcome:
						told = append(told, ev.Receipt.Tool, string(ev.Receipt.Status))
					}
				}
				if ran != 1 {
					t.Errorf("%s: the function ran %d times: %q", name, ran, told)
				}
			}
		}
	}
}
