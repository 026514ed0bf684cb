package provider_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/provider"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// The matrix: every format, every route, streamed and whole, every kind of
// request, every fault, over real sockets. A cell ends in the right events or
// in a clear error.

// host is a vendor whose format the simulator speaks.
type host struct {
	wire, vendor, root string
	constrain          string
}

var hosts = []host{
	{wire.Chat, "openai", "/v1", "response_format"},
	{wire.Responses, "openai", "/v1", "response_format"},
	{wire.Messages, "anthropic", "/v1", "response_format"},
	{wire.Gemini, "gemini", "/v1beta", "response_format"},
	{wire.Ollama, "ollama", "/api", "format"},
	{wire.Converse, "bedrock", "", "response_format"},
}

var routes = []provider.RouteKind{provider.Native, provider.Constrained, provider.Prompted}

// scenario is a kind of request and what it has to come to.
type scenario struct {
	name  string
	req   func() *llm.Request
	calls []string // arguments of the calls
	text  string   // of the answer
}

func ask(text string) *llm.Request {
	return &llm.Request{Messages: []llm.Message{llm.User(text)}, Tools: []llm.ToolDef{weather, clock}, MaxTokens: 1000}
}

var clock = llm.ToolDef{Name: "get_time", Description: "The time in a city", Schema: weather.Schema}

const (
	rome   = `{"city":"Rome"}`
	paris  = `{"city":"Paris"}`
	answer = `{"degrees":21}`
)

var scenarios = []scenario{
	{"single", func() *llm.Request { return ask("single") }, []string{rome}, ""},
	{"parallel", func() *llm.Request { return ask("parallel") }, []string{rome, paris}, ""},
	{"forced", func() *llm.Request {
		r := ask("forced")
		r.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "get_weather"}
		return r
	}, []string{rome}, ""},
	{"none", func() *llm.Request {
		r := ask("none")
		r.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
		return r
	}, nil, "It is warm."},
	{"schema", func() *llm.Request {
		r := ask("schema")
		r.Output = &llm.OutputFormat{Name: "weather", Schema: []byte(`{"type":"object","properties":{"degrees":{"type":"integer"}},"required":["degrees"],"additionalProperties":false}`)}
		return r
	}, nil, answer},
}

// actor is the model behind the simulator. It does what the last message asks
// for, with tools if it has some, else in the words its prompt taught it.
func actor(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	r := &llm.Response{Finish: llm.Finish{Reason: llm.Stop}}
	calls := act(req)
	switch {
	case len(calls) == 0:
		text := "It is warm."
		if req.Output != nil && strings.Contains(string(req.Output.Schema), "degrees") && !strings.Contains(string(req.Output.Schema), "get_weather") {
			text = answer
		} else if constrained(req) {
			text = `{"type":"text","text":"It is warm."}`
		}
		r.Message = llm.Assistant(llm.Text{Text: text})
	case len(req.Tools) > 0:
		r.Finish.Reason = llm.ToolCalls
		r.Message = llm.Assistant(calls...)
	default:
		r.Message = llm.Assistant(llm.Text{Text: written(req, calls)})
	}
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range r.Events() {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// act decides on calls.
func act(req *llm.Request) []llm.Part {
	last := req.Messages[len(req.Messages)-1].Text()
	offers := func(name string) bool {
		_, ok := req.Tool(name)
		return ok && req.Choice.Mode != llm.MustNotCall || len(req.Tools) == 0 && teaches(req, name)
	}
	call := func(name, args string, id int) llm.Part {
		return llm.Call{ID: fmt.Sprint("call_", id), Name: name, Args: json.RawMessage(args)}
	}
	switch {
	case strings.Contains(last, "schema") && offers("emit_output"):
		return []llm.Part{call("emit_output", answer, 1)}
	case strings.Contains(last, "schema") || !offers("get_weather"):
		return nil
	case strings.Contains(last, "parallel"):
		return []llm.Part{call("get_weather", rome, 1), call("get_weather", paris, 2)}
	case strings.Contains(last, "forced") && len(req.Tools) > 0 && req.Choice.Mode != llm.MustCall:
		return nil // it calls only what it has to
	}
	return []llm.Part{call("get_weather", rome, 1)}
}

// teaches reports whether the prompt offers a tool.
func teaches(req *llm.Request, name string) bool {
	text := req.System
	for _, m := range req.Messages {
		text += m.Text()
	}
	return strings.Contains(text, name) && !strings.Contains(text, "Do not call any tool")
}

func constrained(req *llm.Request) bool {
	return req.Output != nil || req.Extra["chat"]["json_schema"] != nil
}

// written is calls in the words of the prompt.
func written(req *llm.Request, calls []llm.Part) string {
	if !constrained(req) {
		text, err := dialect.Builtin().Render("json_fence", calls...)
		if err != nil {
			return err.Error()
		}
		return text
	}
	var list []string
	for _, c := range calls {
		c := c.(llm.Call)
		list = append(list, fmt.Sprintf(`{"name":%q,"arguments":%s}`, c.Name, c.Args))
	}
	if req.Output != nil && !strings.Contains(string(req.Output.Schema), "tool_calls") {
		return list[0]
	}
	return `{"tool_calls":[` + strings.Join(list, ",") + `]}`
}

// cell is one place of the matrix.
type cell struct {
	host  host
	route provider.RouteKind
	whole bool
	sc    scenario
	fault string
	n     int // of the cell, so that faults that end are counted for it alone
}

func (c cell) String() string {
	mode := "stream"
	if c.whole {
		mode = "whole"
	}
	return fmt.Sprintf("%s/%s/%s/%s/%s", c.host.wire, c.route, mode, c.sc.name, c.fault)
}

// client opens the model of a cell.
func (c cell) open(t *testing.T, server *httptest.Server) llm.Model {
	id := c.host.vendor + "+" + server.URL + c.host.root + "#sim/native"
	if c.fault != "" {
		id += "+" + c.fault
	}
	if strings.Contains(c.fault, "times") {
		id += fmt.Sprintf("+seed=%d", c.n+1)
	}
	yes := catalog.Answer{Support: catalog.Yes}
	info := catalog.Model{ID: catalog.ID{Raw: id}, Kind: "chat", Wire: c.host.wire, NativeTools: yes, ParallelTools: yes, ToolChoiceRequired: yes,
		JSONSchema: yes, JSONMode: yes, Constrain: c.host.constrain, Emulation: "json", Dialect: "hermes_json", ContextWindow: 100000}
	client := &provider.Client{
		Catalog: catalog.Default().With(info), HTTP: server.Client(), Whole: c.whole,
		Retry: provider.RetryPolicy{Initial: time.Millisecond, Max: 2 * time.Millisecond}, Timeouts: provider.Timeouts{First: 5 * time.Second},
	}
	switch c.fault { // a machine under load is slow too, so the second chance is not the last
	case "stall=1h":
		client.Timeouts.First, client.Retry.Attempts = 40*time.Millisecond, 2
	case "stall=1h+times=1":
		client.Timeouts.First, client.Retry.Attempts = 60*time.Millisecond, 10
	}
	if c.route != provider.Native {
		client.Route = c.route
	}
	m, err := client.Open(id)
	if err != nil {
		t.Fatalf("%s: %v", c, err)
	}
	return m
}

// outcome is what came of a cell.
type outcome struct {
	*llm.Response
	err error
}

// run asks, and checks what holds for every answer.
func (c cell) run(t *testing.T, server *httptest.Server) outcome {
	req := c.sc.req()
	var b llm.Builder
	var out outcome
	deltas := map[string]string{}
	finished := false
	for ev, err := range c.open(t, server).Stream(t.Context(), req) {
		if out.err != nil || finished {
			t.Errorf("%s: %T %v came after the end", c, ev, err)
		}
		if err != nil {
			out.err = err
			continue
		}
		b.Add(ev)
		switch ev := ev.(type) {
		case llm.CallDelta:
			deltas[ev.ID] += ev.Args
		case llm.Call:
			if d, streamed := deltas[ev.ID]; streamed && d != string(ev.Args) {
				t.Errorf("%s: the pieces %q are not the arguments %q", c, d, ev.Args)
			}
			if !req.Choice.Permits(ev.Name) || req.Choice.Mode == llm.MustNotCall {
				t.Errorf("%s: the call %s was not allowed", c, ev.Name)
			}
			if !slices.Contains(c.sc.calls, compact(string(ev.Args))) {
				t.Errorf("%s: nobody made the call %s %s", c, ev.Name, ev.Args)
			}
		case llm.Finish:
			finished = true
		}
	}
	out.Response = b.Response()
	if (out.err == nil) != finished {
		t.Errorf("%s: finish %v, error %v", c, finished, out.err)
	}
	var known *llm.Error
	if out.err != nil && (!errors.As(out.err, &known) || known.Kind == llm.Unknown) {
		t.Errorf("%s: unclear error %v", c, out.err)
	}
	return out
}

// right says how an answer differs from what the scenario has to come to.
func (c cell) right(o outcome) error {
	if o.err != nil {
		return o.err
	}
	var calls []string
	for _, call := range o.Message.Calls() {
		calls = append(calls, compact(string(call.Args)))
	}
	if !slices.Equal(calls, c.sc.calls) {
		return fmt.Errorf("calls %q, want %q; text %q; invalid %+v", calls, c.sc.calls, o.Message.Text(), o.Invalid)
	}
	if text := compact(o.Message.Text()); c.sc.text != "" && !strings.HasSuffix(text, c.sc.text) {
		return fmt.Errorf("text %q, want %q", text, c.sc.text)
	}
	if len(calls) > 0 && o.Finish.Reason != llm.ToolCalls || len(calls) == 0 && o.Finish.Reason != llm.Stop {
		return fmt.Errorf("%d calls and the reason %q", len(calls), o.Finish.Reason)
	}
	return nil
}

// compact takes the space out of JSON.
func compact(s string) string {
	var b bytes.Buffer
	if json.Compact(&b, []byte(s)) != nil {
		return strings.TrimSpace(s)
	}
	return b.String()
}

// kinds says that an answer must end in an error of one of these kinds.
func kinds(want ...llm.Kind) func(cell, outcome) error {
	return func(_ cell, o outcome) error {
		if got := llm.KindOf(o.err); o.err == nil || !slices.Contains(want, got) {
			return fmt.Errorf("error %v of kind %s, want %v", o.err, got, want)
		}
		return nil
	}
}

// either accepts what one of several checks accepts.
func either(checks ...func(cell, outcome) error) func(cell, outcome) error {
	return func(c cell, o outcome) error {
		var all []error
		for _, check := range checks {
			err := check(c, o)
			if err == nil {
				return nil
			}
			all = append(all, err)
		}
		return errors.Join(all...)
	}
}

// cutOff says that an answer ended too early, and that nothing of it runs that
// was not whole.
func cutOff(_ cell, o outcome) error {
	if o.err == nil && o.Finish.Reason != llm.Length {
		return fmt.Errorf("finish %q after an answer that was cut off", o.Finish.Reason)
	}
	return nil
}

// faults are all that the simulator can do wrong, and what must come of it.
var faults = []struct {
	name  string
	check func(cell, outcome) error
}{
	{"", cell.right},
	{"429", kinds(llm.RateLimited)},
	{"429+times=1", cell.right},
	{"500", kinds(llm.Server)},
	{"500+times=2", cell.right},
	{"503", kinds(llm.Overloaded)},
	{"401", kinds(llm.Auth)},
	{"no-tools", cell.right},
	{"cut=20", either(kinds(llm.Network, llm.Incomplete, llm.Malformed), cutOff)},
	{"cut=120", either(kinds(llm.Network, llm.Incomplete, llm.Malformed), cutOff, cell.right)},
	{"cut=20+times=1", cell.right},
	{"stall=1h", kinds(llm.Timeout)},
	{"stall=1h+times=1", cell.right},
	{"slow-args=1ms", cell.right},
	{"slow=1ms", cell.right},
	{"fail=3", kinds(llm.Overloaded, llm.Server)},                             // Ollama says no code
	{"fail=3+times=1", either(cell.right, kinds(llm.Overloaded, llm.Server))}, // after the first piece nobody asks again
	{"garbage", either(cell.right, kinds(llm.Malformed, llm.Incomplete, llm.Network))},
	{"wrong-index", cell.right},
	{"wrong-finish", cell.right},
	{"length", cutOff},
	{"ignore-choice", either(cell.right, kinds(llm.BrokenPromise))},
	{"think", cell.right},
	{"strict", cell.right},
	{"think-call", cell.right},
	{"huge=9000", either(cell.right, kinds(llm.BrokenPromise))},
	{"window=4", kinds(llm.TooLong)},
	{"window=100000", cell.right},
	{"seed=7", cell.right},
}

func TestMatrix(t *testing.T) {
	covered := map[string]bool{}
	for _, f := range faults {
		for _, one := range strings.Split(f.name, "+") {
			name, _, _ := strings.Cut(one, "=")
			covered[name] = true
		}
	}
	for _, f := range sim.Faults() {
		if !covered[f.Name] {
			t.Errorf("the fault %s of the simulator is not in the matrix", f.Name)
		}
	}
	for _, h := range hosts {
		t.Run(h.wire, func(t *testing.T) {
			t.Parallel()
			server := serve(t, &sim.Server{Model: llm.ModelFunc(actor)})
			for _, c := range cells(h) {
				if err := c.check(c.run(t, server)); err != nil {
					t.Errorf("%s: %v", c, err)
				}
			}
			t.Logf("%d cells", len(cells(h)))
		})
	}
}

// cells are the places of the matrix for one host.
func cells(h host) []cell {
	var all []cell
	for _, f := range faults {
		for _, route := range routes {
			for _, whole := range []bool{false, true} {
				for _, sc := range scenarios {
					all = append(all, cell{h, route, whole, sc, f.name, len(all)})
				}
			}
		}
	}
	return all
}

// check finds what must come of the cell's fault.
func (c cell) check(o outcome) error {
	for _, f := range faults {
		if f.name == c.fault {
			return f.check(c, o)
		}
	}
	return errors.New("no such fault")
}
