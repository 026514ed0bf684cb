package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// events is an answer.
func events(list ...llm.Event) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range list {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// calling returns an answer with one call: in the vendor's form, or as text if the model was offered no tools.
func calling(req *llm.Request, name, args string) iter.Seq2[llm.Event, error] {
	if len(req.Tools) == 0 {
		return events(llm.TextDelta{Text: "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + args + "}\n</tool_call>"}, llm.Finish{Reason: llm.Stop})
	}
	return events(llm.CallStart{ID: "call_1", Name: name}, llm.CallDelta{ID: "call_1", Args: args}, llm.Call{ID: "call_1", Name: name, Args: json.RawMessage(args)}, llm.Finish{Reason: llm.ToolCalls})
}

// upstreamOf starts an upstream that sends the events of a model immediately.
func upstreamOf(t *testing.T, m llm.Model) *station {
	server := httptest.NewServer(speaker{m})
	t.Cleanup(server.Close)
	return &station{name: "up", server: server}
}

// TestChecks checks the handling of matching and invalid calls, for each check of a route, every client, with and
// without streams, on every path.
func TestChecks(t *testing.T) {
	wrong := map[string]struct{ name, args, says string }{
		"valid":   {"get_weather", `{"city":"Rome"}`, ""},
		"invalid": {"get_weather", `{"town":"Rome"}`, "does not fit the schema of its tool"},
		"typed":   {"get_weather", `{"city":["Rome"]}`, "does not fit the schema of its tool"},
		"unknown": {"get_wether", `{"city":"Rome"}`, "is of a tool that was not offered"},
	}
	for kind, call := range wrong {
		var asked atomic.Int64
		up := upstreamOf(t, llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			if asked.Add(1) > 1 {
				return calling(req, "get_weather", `{"city":"Oslo"}`)
			}
			return calling(req, call.name, call.args)
		}))
		for _, check := range []gateway.Check{gateway.CheckOff, gateway.Annotate, gateway.Reask} {
			routes := throughAll("up")
			for i := range routes {
				routes[i].Check = check
			}
			url := serve(t, gateway.Setup{Open: opens(once, nil, up), Routes: routes})
			for _, c := range clients {
				for _, path := range paths {
					if c.prompt || kind == "unknown" && path == "emulated" { // without tools; an unknown name in text stays text
						continue
					}
					for _, stream := range []bool{false, true} {
						asked.Store(0)
						got := c.ask(t, url, question(c.name+"-"+path), stream)
						fate{kind, call.args, call.says, check}.look(t, fmt.Sprintf("%s call, check %q, %s, %s, stream=%t", kind, check, c.name, path, stream), got, asked.Load())
					}
				}
			}
		}
	}
}

// fate is a call and its outcome.
type fate struct {
	kind, args, says string
	check            gateway.Check
}

func (k fate) look(t *testing.T, where string, got told, asked int64) {
	t.Helper()
	calls := got.Message.Calls()
	if got.err != nil || len(calls) != 1 || got.Finish.Reason != llm.ToolCalls {
		t.Errorf("%s: %v, %+v", where, got.err, got.Response)
		return
	}
	args, times, said := k.args, int64(1), k.check == gateway.Annotate && k.says != ""
	if k.check == gateway.Reask && k.says != "" {
		args, times = `{"city":"Oslo"}`, 2
	}
	if string(calls[0].Args) != args || asked != times {
		t.Errorf("%s: asked %d times, the call has %s", where, asked, calls[0].Args)
	}
	if k.check == gateway.Reask && k.says != "" && strings.Contains(got.body, "Rome") {
		t.Errorf("%s: the client has seen the call that did not fit: %s", where, got.body)
	}
	if strings.Contains(got.warnings, "no native tools") {
		t.Errorf("%s: how the model is asked is decided, and the client is told %s", where, got.warnings)
	}
	if k.says != "" && said != strings.Contains(got.warnings, k.says) && k.check != gateway.Reask || k.says == "" && strings.Contains(got.warnings, "does not fit") {
		t.Errorf("%s: the client is told %s", where, got.warnings)
	}
}

// TestTruncatedCalls checks that a call with truncated arguments, because of the length limit or a lost upstream, never
// reaches a client as a complete one, and that the client learns of the truncation.
func TestTruncatedCalls(t *testing.T) {
	const half = `{"city":"Ro`
	for name, ends := range map[string][]llm.Event{"length": {llm.Finish{Reason: llm.Length}}, "says stop": {llm.Finish{Reason: llm.Stop}}, "hangs up": nil} {
		up := upstreamOf(t, llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			said := []llm.Event{llm.TextDelta{Text: "I look. "}, llm.PartEnd{}, llm.CallStart{ID: "call_1", Name: "get_weather"}, llm.CallDelta{ID: "call_1", Args: half}}
			if len(req.Tools) == 0 {
				said = []llm.Event{llm.TextDelta{Text: "I look. <tool_call>\n{\"name\": \"get_weather\", \"arguments\": " + half}}
			}
			return events(append(said, ends...)...)
		}))
		url := serve(t, gateway.Setup{Open: opens(once, nil, up), Routes: throughAll("up")})
		for _, c := range clients {
			for _, path := range paths {
				if c.prompt || path == "relay" && name == "says stop" && c.format != wire.Chat {
					continue // other formats do not report this
				}
				for _, stream := range []bool{false, true} {
					got := c.ask(t, url, question(c.name+"-"+path), stream)
					where := fmt.Sprintf("%s, %s, %s, stream=%t", name, c.name, path, stream)
					for _, call := range got.Message.Calls() {
						if json.Valid(call.Args) {
							t.Errorf("%s: the call is %s\n%s", where, call.Args, got.body)
						}
					}
					if got.err == nil && got.Finish.Reason == llm.ToolCalls {
						t.Errorf("%s: the answer ends with calls: %s", where, got.body)
					}
					if name == "length" && (got.err != nil || got.Finish.Reason != llm.Length) {
						t.Errorf("%s: %v, finish %q: %s", where, got.err, got.Finish.Reason, got.body)
					}
					if name == "hangs up" && got.err == nil {
						t.Errorf("%s: half of an answer is a whole one: %s", where, got.body)
					}
				}
			}
		}
	}
}

// TestCallsLeftAsText checks that text that looks like a call but is not one is counted and reported to clients of
// every format. Calls that only repeat a document stay text, unless the route allows echoes.
func TestCallsLeftAsText(t *testing.T) {
	const echoed = "<tool_call>\n{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\"}}\n</tool_call>"
	up := upstreamOf(t, says(echoed))
	document := []llm.Message{llm.User("What does the file say about Paris?"),
		{Role: llm.RoleAssistant, Parts: []llm.Part{llm.Call{ID: "c1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}}},
		llm.Results(llm.Result{CallID: "c1", Name: "get_weather", Parts: []llm.Part{llm.Text{Text: "Do this:\n" + echoed}}})}
	for _, echoes := range []bool{false, true} {
		routes := throughAll("up")
		for i := range routes {
			routes[i].Override = gateway.Override{Echoes: echoes, TextCalls: llm.PromoteAll}
		}
		off := throughAll("up")
		for i := range off {
			off[i].Model = "off-" + off[i].Model
			off[i].Override = gateway.Override{TextCalls: llm.PromoteOff}
		}
		_, url := live(t, gateway.Setup{Open: opens(once, nil, up), Routes: append(routes, off...)})
		for _, c := range clients {
			for _, path := range paths {
				if c.prompt {
					continue
				}
				for _, stream := range []bool{false, true} {
					where := fmt.Sprintf("echoes=%t, %s, %s, stream=%t", echoes, c.name, path, stream)
					req := question(c.name + "-" + path)
					req.Messages = document
					got := c.ask(t, url, req, stream)
					if n := len(got.Message.Calls()); got.err != nil || (n == 1) != echoes || !echoes && !strings.Contains(got.Message.Text(), "get_weather") {
						t.Errorf("%s: %v, %d calls, %q", where, got.err, n, got.Message.Text())
					}
					if !echoes && !strings.Contains(got.warnings, "call") {
						t.Errorf("%s: the client is told %s", where, got.warnings)
					}
					if path == "emulated" {
						continue // text is the only way
					}
					if got = c.ask(t, url, question("off-"+c.name+"-"+path), stream); got.err != nil || len(got.Message.Calls()) > 0 || !strings.Contains(got.warnings, "call") {
						t.Errorf("%s: %v, %d calls, told %s", where, got.err, len(got.Message.Calls()), got.warnings)
					}
				}
			}
		}
		quiet(t, url)
		_, text := get(t, url+"/metrics")
		for _, c := range clients {
			for _, path := range paths {
				for _, model := range []string{c.name + "-" + path, "off-" + c.name + "-" + path} {
					if c.prompt || path == "emulated" && model[:3] == "off" || echoes && model[:3] != "off" {
						continue
					}
					if !strings.Contains(text, `toolpost_unpromoted_calls_total{route="`+model+`",`) {
						t.Errorf("echoes=%t: what was left as text on %s is not counted", echoes, model)
					}
				}
			}
		}
	}
}

// TestUnknownCallsInText checks that a call of an unknown tool, written after the marker of the model's dialect, never
// reaches a client as a call, and that the client is warned.
func TestUnknownCallsInText(t *testing.T) {
	for _, check := range []gateway.Check{gateway.CheckOff, gateway.Annotate} {
		up := upstreamOf(t, llm.ModelFunc(func(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
			return calling(req, "get_wether", `{"city":"Rome"}`)
		}))
		routes := throughAll("up")
		for i := range routes {
			routes[i].Check = check
		}
		url := serve(t, gateway.Setup{Open: opens(once, nil, up), Routes: routes})
		for _, c := range clients {
			for _, stream := range []bool{false, true} {
				if c.prompt {
					continue
				}
				got := c.ask(t, url, question(c.name+"-emulated"), stream)
				where := fmt.Sprintf("check %q, %s, stream=%t", check, c.name, stream)
				if got.err != nil || len(got.Message.Calls()) > 0 || got.Finish.Reason != llm.Stop || !strings.Contains(got.Message.Text(), "get_wether") || !strings.Contains(got.warnings, `there is no tool called "get_wether"`) {
					t.Errorf("%s: %v, finish %q, told %s: %s", where, got.err, got.Finish.Reason, got.warnings, got.body)
				}
			}
		}
	}
}

// TestCallsWithStopReason checks that an answer with a call and the finish reason "stop" reaches clients of every format
// with the finish reason for calls, on every path.
func TestCallsWithStopReason(t *testing.T) {
	var routes []gateway.ModelRoute
	for _, c := range clients {
		for _, path := range []string{"relay", "translate"} {
			id := strings.TrimSuffix(c.via(path, "up"), "/m")
			routes = append(routes, to(c.name+"-"+path, id+"/sim/native+wrong-finish"))
		}
	}
	url := serve(t, gateway.Setup{Routes: routes})
	for _, c := range clients {
		for _, path := range []string{"relay", "translate"} {
			for _, stream := range []bool{false, true} {
				if c.prompt {
					continue
				}
				got := c.ask(t, url, question(c.name+"-"+path), stream)
				if got.err != nil || len(got.Message.Calls()) != 1 || got.Finish.Reason != llm.ToolCalls || finishWords[c.format] != "" && !strings.Contains(got.body, finishWords[c.format]) {
					t.Errorf("%s, %s, stream=%t: %v, finish %q: %s", c.name, path, stream, got.err, got.Finish.Reason, got.body)
				}
			}
		}
	}
}

// finishWords are the finish reasons for calls. The other formats have none.
var finishWords = map[string]string{wire.Chat: `"finish_reason":"tool_calls"`, wire.Messages: `"stop_reason":"tool_use"`, wire.Converse: `"stopReason":"tool_use"`}

// learner makes invalid calls until it was told n times about the error.
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

// reaskingGateway serves a model in each format, and returns the address.
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
	c := &provider.Client{Vendors: vendors, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native}
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

// With reask, a client of any format sees only valid calls, over an upstream of its own format and of another.
func TestReask(t *testing.T) {
	t.Parallel()
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

// A model that keeps making invalid calls is asked three times. Then the request fails with an error in the client's
// format.
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

// A valid answer needs one request. Without reask, the client gets the model's answer unchanged.
func TestReaskIsOptional(t *testing.T) {
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

// The text of a free-text tool must match its grammar, also if the upstream does not support grammars.
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
			warned := strings.Contains(strings.Join(got.header.Values(exchange.WarningHeader), " "), "grammar")
			if check == gateway.Reask && (string(c.Args) != `"*** x"` || asked.Load() != 2) || check == gateway.Annotate && (string(c.Args) != `"no patch"` || !warned) {
				t.Errorf("%q over %s: asked %d times, %s, warned %v", check, upstream, asked.Load(), c.Args, warned)
			}
		}
	}
}

// The vendors' libraries ask for strict schemas in fields that some upstreams cannot enforce. The upstream is asked
// anyway, and the answer is checked.
func TestStrictSchemas(t *testing.T) {
	c := upstreams(t)
	c.StrictByCheck = true
	var routes []gateway.ModelRoute
	formats := []string{"chat", "responses", "messages", "gemini", "converse", "ollama"}
	for _, f := range formats {
		routes = append(routes, to(f, "up-"+f+"/sim/native"))
	}
	url := serve(t, gateway.Setup{Open: opening(c), Routes: routes})
	for _, f := range formats {
		body := `{"model":"` + f + `","messages":[{"role":"user","content":"hi"}],"response_format":{"type":"json_schema","json_schema":{"name":"W","strict":true,
			"schema":{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}}}}`
		resp, got := send(t, "POST", url+"/v1/chat/completions", "application/json", body)
		var answer struct {
			Choices []struct{ Message struct{ Content string } }
		}
		if f == "responses" || f == "messages" || f == "converse" { // no unknown model is held to a schema there, and this one ignores schemas
			if resp.StatusCode != http.StatusBadGateway || !strings.Contains(got, "broken_promise") {
				t.Errorf("%s: an answer that does not match: %d %s", f, resp.StatusCode, got)
			}
			continue
		}
		if resp.StatusCode != http.StatusOK || json.Unmarshal([]byte(got), &answer) != nil || len(answer.Choices) != 1 || !strings.Contains(answer.Choices[0].Message.Content, `"city"`) {
			t.Errorf("%s: %d %v %s", f, resp.StatusCode, resp.Header[exchange.WarningHeader], got)
		}
	}
}

// strictAnswers are answers of models to a request for {"city": "…"}.
var strictAnswers = []struct {
	name, text string
	reason     llm.Reason
}{
	{"prose", "It is sunny in Paris.", llm.Stop},
	{"member", `{"town":"Paris"}`, llm.Stop},
	{"kind", `{"city":7}`, llm.Stop},
	{"more", `{"city":"Paris","mood":"sunny"}`, llm.Stop},
	{"half", `{"city":"Par`, llm.Stop},
	{"cut", `{"city":"Par`, llm.Length},
	{"right", `{"city":"Paris"}`, llm.Stop},
}

// TestWrongAnswersToStrictSchemas asks for an answer of a strict schema, in every format over every format, with and
// without streams, from a model that violates it. The client gets an error, and never a successful answer.
func TestWrongAnswersToStrictSchemas(t *testing.T) {
	t.Parallel()
	c := &provider.Client{Vendors: map[string]provider.Vendor{}, Retry: provider.RetryPolicy{Attempts: -1}, Route: provider.Native, StrictByCheck: true}
	var routes []gateway.ModelRoute
	for _, a := range strictAnswers {
		model := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
			return func(yield func(llm.Event, error) bool) {
				if yield(llm.TextDelta{Text: a.text}, nil) {
					yield(llm.Finish{Reason: a.reason}, nil)
				}
			}
		})
		server := httptest.NewServer(&sim.Server{Model: model, Unknown: "sim/native"})
		t.Cleanup(server.Close)
		for format, root := range roots {
			vendor := a.name + "-" + format
			c.Vendors[vendor] = provider.Vendor{BaseURL: server.URL + root, Wires: []string{format}}
			unchecked := to("off-"+vendor, vendor+"/sim/native")
			unchecked.Check = gateway.CheckOff // of calls; answers are still checked
			routes = append(routes, to("plain-"+vendor, vendor+"/sim/native"), unchecked)
		}
	}
	url := serve(t, gateway.Setup{Open: opening(c), Routes: routes})
	for _, route := range []string{"plain-", "off-"} {
		for _, a := range strictAnswers {
			for from := range roots {
				for up := range roots {
					for _, stream := range []bool{false, true} {
						got := ask(t, url, from, strictQuestion(route+a.name+"-"+up), stream)
						if problem := strictProblem(got, a.name, a.text, from, up, stream); problem != "" {
							t.Errorf("%s%s, %s over %s, stream=%t: status %d, %v: %s", route, a.name, from, up, stream, got.status, got.err, problem)
						}
					}
				}
			}
		}
	}
}

func strictQuestion(model string) *llm.Request {
	return &llm.Request{Model: model, MaxTokens: 2048, Messages: []llm.Message{llm.User("Which city?")}, Output: &llm.OutputFormat{
		Name: "place", Strict: true, Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"}},"required":["city"],"additionalProperties":false}`),
	}}
}

// strictProblem returns the problem in a client's answer. A valid answer must arrive, a truncated one must report that,
// and any other must be an error, by its status or by a stream without an end.
func strictProblem(got reply, name, text, from, up string, stream bool) string {
	refused := 502
	if from == wire.Converse {
		refused = 424 // the vendor's status for a failed model
	}
	// A host that enforces schemas writes complete values, so an incomplete value was truncated, whatever the finish
	// reason.
	cut := name == "cut" || name == "half" && up == wire.Ollama
	switch {
	case name == "right" && (got.err != nil || got.Message.Text() != text || got.Finish.Reason != llm.Stop):
		return "the right answer did not arrive"
	case cut && (got.err != nil || got.Finish.Reason != llm.Length):
		return "it does not say that it was cut off"
	case name == "right", cut:
	case got.err == nil:
		return fmt.Sprintf("it ended well: %q", got.Message.Text())
	case got.status != refused && (!stream || got.status != 200):
		return "another status"
	case got.status == 200 && got.Finish.Reason != "":
		return fmt.Sprintf("the stream has an end: %+v", got.Finish)
	}
	return ""
}
