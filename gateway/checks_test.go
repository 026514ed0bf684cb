package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/gateway"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// events are an answer.
func events(list ...llm.Event) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range list {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// calling is an answer that is one call: in the vendor's own way, or as text where the model was offered no tools.
func calling(req *llm.Request, name, args string) iter.Seq2[llm.Event, error] {
	if len(req.Tools) == 0 {
		return events(llm.TextDelta{Text: "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + args + "}\n</tool_call>"}, llm.Finish{Reason: llm.Stop})
	}
	return events(llm.CallStart{ID: "call_1", Name: name}, llm.CallDelta{ID: "call_1", Args: args}, llm.Call{ID: "call_1", Name: name, Args: json.RawMessage(args)}, llm.Finish{Reason: llm.ToolCalls})
}

// upstreamOf starts an upstream that sends what a model says as it comes.
func upstreamOf(t *testing.T, m llm.Model) *station {
	server := httptest.NewServer(speaker{m})
	t.Cleanup(server.Close)
	return &station{name: "up", server: server}
}

// TestChecks checks what becomes of calls that fit and that do not, for each check of a route, clients of every format, streamed
// and not, on every path.
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
					if c.prompt || kind == "unknown" && path == "emulated" { // without tools; a name of nobody in a text is a text
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

// fate is a call and what becomes of it.
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

// TestCutCalls checks that a call whose arguments break off, because the answer may not be longer or because the upstream is gone, never
// reaches a client as a whole one, and that the client learns that the answer was cut.
func TestCutCalls(t *testing.T) {
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
					continue // in other formats nobody would say so
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

// TestCallsLeftAsText checks that text which looks like a call and is none to the gateway is counted and told to clients of every
// format; and that calls which only repeat what a document says are left as text, unless the route lets them count.
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

// TestUnknownCallsInText checks that a call of a tool that was not offered, which a model wrote after the marker of its dialect, never reaches a
// client as a call, and that the client is told of it.
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

// TestCallsThatSayStop checks that an answer which has a call and says that it has just ended reaches clients of every format as one that ends with
// calls, on every path.
func TestCallsThatSayStop(t *testing.T) {
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

// finishWords are how formats say that an answer ends with calls. The others say nothing of it.
var finishWords = map[string]string{wire.Chat: `"finish_reason":"tool_calls"`, wire.Messages: `"stop_reason":"tool_use"`, wire.Converse: `"stopReason":"tool_use"`}
