package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
	"golang.org/x/tools/txtar"
)

// The tests of this file are the contract of a tooling adapter over an agent
// SDK, by the numbers of its requirements. The bridge's own numbers (0.1 to
// 0.5, 0.9, 0.10) belong to the package that is the bridge.

func TestExecutorsAndMaxTurnsAreSettings(t *testing.T) {
	defs := []llm.ToolDef{def("a", "x"), def("b")}
	set, missing, err := agent.Bind(defs, map[string]agent.Executor{
		"a": func(_ context.Context, in json.RawMessage) (any, error) { return "got " + string(in), nil },
		"b": func(context.Context, json.RawMessage) (any, error) { return map[string]int{"n": 1}, nil },
	})
	if err != nil || len(missing) != 0 {
		t.Fatal(missing, err)
	}
	m := says([]llm.Part{call("1", "a", `{"x":"1"}`), call("2", "b", `{}`)}, "ok")
	l := run(t, &agent.Agent{Model: m, Tools: &invoke.Runner{Tools: set}, MaxTurns: 7}, "go")
	var got []string
	for _, o := range of[invoke.Outcome](l) {
		got = append(got, o.Result.Text())
	}
	if diff := cmp.Diff([]string{`got {"x":"1"}`, `{"n":1}`}, got); diff != "" {
		t.Error(diff)
	}
	if turns := of[agent.Turn](l); len(turns) != 2 || turns[0].Max != 7 {
		t.Errorf("turns %+v", turns)
	}
	if _, _, err := agent.Bind(defs, map[string]agent.Executor{"c": nil}); err == nil {
		t.Error("an executor without a tool was accepted")
	}
	// To hand over a function is consent, unless a policy refuses.
	refuse := func(context.Context, tool.Tool, llm.Call) (invoke.Decision, error) { return invoke.Decision{}, nil }
	l = run(t, &agent.Agent{Model: says(call("1", "b", `{}`), "ok"), Tools: &invoke.Runner{Tools: set, Policy: refuse}}, "go")
	if o := of[invoke.Outcome](l); len(o) != 1 || o[0].Error == nil || o[0].Error.Code != tool.Permission {
		t.Errorf("outcomes %+v", o)
	}
}

func TestExecutorModeIffEveryToolHasAnExecutor(t *testing.T) {
	exec := func(context.Context, json.RawMessage) (any, error) { return "done", nil }
	for _, c := range []struct {
		name       string
		has        []string
		ran, asked int
		calls      int // for the caller
		warned     bool
	}{
		{"all", []string{"a", "b"}, 1, 2, 0, false},
		{"none", nil, 0, 1, 1, false},
		{"some", []string{"a"}, 0, 1, 1, true},
	} {
		executors := make(map[string]agent.Executor)
		for _, name := range c.has {
			executors[name] = exec
		}
		set, missing, err := agent.Bind([]llm.ToolDef{def("a"), def("b")}, executors)
		if err != nil {
			t.Fatal(err)
		}
		m := says(call("1", "a", `{}`), "ok")
		l := run(t, &agent.Agent{Model: m, Tools: &invoke.Runner{Tools: set}, Caller: missing, MaxTurns: 5}, "go")
		if l.err != nil || l.done.Ran != c.ran || len(m.asked) != c.asked || len(l.done.Calls) != c.calls || (len(of[llm.Warning](l)) > 0) != c.warned {
			t.Errorf("%s: ran %d, asked %d, calls %d, warnings %v, error %v", c.name, l.done.Ran, len(m.asked), len(l.done.Calls), of[llm.Warning](l), l.err)
		}
	}
}

func TestPartialExecutorsWarn(t *testing.T) {
	set, missing, err := agent.Bind([]llm.ToolDef{def("a"), def("x"), def("b")}, map[string]agent.Executor{
		"x": func(context.Context, json.RawMessage) (any, error) { return nil, errors.New("must not run") }})
	if err != nil {
		t.Fatal(err)
	}
	l := run(t, &agent.Agent{Model: says(call("1", "x", `{}`)), Tools: &invoke.Runner{Tools: set}, Caller: missing}, "go")
	want := []llm.Warning{{Code: "compatibility", Feature: "toolExecutors.partial",
		Detail: "toolExecutors is missing handlers for: a, b. Falling back to AI SDK tool loop with maxTurns=1."}}
	if diff := cmp.Diff(want, of[llm.Warning](l)); diff != "" {
		t.Error(diff)
	}
	if len(l.done.Calls) != 1 || l.done.Ran != 0 {
		t.Errorf("got %+v", l.done)
	}
}

func TestExecutorModeEndsByItself(t *testing.T) {
	n := 0
	m := says(call("1", "step", `{"n":1}`), call("2", "step", `{"n":2}`), call("3", "step", `{"n":3}`), "all done")
	l := run(t, &agent.Agent{Model: m, Tools: runner(counted("step", &n, 0)), MaxTurns: 4}, "go")
	if l.err != nil || n != 3 || l.done.Finish.Reason != llm.Stop || l.done.Text != "all done" || len(of[llm.Warning](l)) != 0 {
		t.Errorf("ran %d, done %+v, error %v", n, l.done, l.err)
	}
}

// modes are the two ways to have tools.
func modes(m llm.Model, names ...string) map[string]*agent.Agent {
	var n int
	caller, own := &agent.Agent{Model: m, RetryBudget: -1}, &agent.Agent{Model: m, RetryBudget: -1}
	var tools []tool.Tool
	for _, name := range names {
		caller.Caller = append(caller.Caller, llm.ToolDef{Name: name, Schema: json.RawMessage(`{"type":"object"}`)})
		tools = append(tools, counted(name, &n, tool.ReadOnly))
	}
	own.Tools = runner(tools...)
	return map[string]*agent.Agent{"caller": caller, "executor": own}
}

func TestEnvelopeIsAFallback(t *testing.T) {
	for mode := range modes(nil, "lookup_weather") {
		m := says(`{"type":"tool-calls","calls":[{"toolName":"lookup_weather","input":{"city":"seoul"}}]}`, "fine")
		l := run(t, modes(m, "lookup_weather")[mode], "go")
		calls := of[llm.Call](l)
		if l.err != nil || len(calls) != 1 || calls[0].Name != "lookup_weather" || string(calls[0].Args) != `{"city":"seoul"}` {
			t.Errorf("%s: calls %+v, error %v", mode, calls, l.err)
		}
		if mode == "caller" && l.done.Finish.Reason != llm.ToolCalls {
			t.Errorf("%s: finish %+v", mode, l.done.Finish)
		}
	}
	// A call that the model made as a call is not looked for in its text.
	m := says([]llm.Part{llm.Text{Text: `{"tool":"b","input":{}}`}, call("1", "a", `{}`)})
	if l := run(t, modes(m, "a", "b")["caller"], "go"); len(l.done.Calls) != 1 || l.done.Calls[0].Name != "a" || l.done.Text != `{"tool":"b","input":{}}` {
		t.Errorf("got %+v", l.done)
	}
}

func TestEmptyAnswersAreAnError(t *testing.T) {
	for _, said := range []any{"", "   ", "\n\t", []llm.Part{llm.Thinking{Text: "hmm"}}} {
		for mode, a := range modes(says(said), "a") {
			l := run(t, a, "go")
			var e *llm.Error
			if !errors.As(l.err, &e) || e.Code != "empty-tool-routing-output" {
				t.Errorf("%s %q: error %v", mode, said, l.err)
			}
			if f := l.done.Finish; f.Reason != "error" || f.Raw != "empty-tool-routing-output" || l.done.Text != "Tool routing produced no tool call or text response." {
				t.Errorf("%s %q: finish %+v, text %q", mode, said, f, l.done.Text)
			}
		}
	}
	// With a budget the model is asked again first.
	m := says("", "here I am")
	if l := run(t, &agent.Agent{Model: m}, "go"); l.err != nil || l.done.Text != "here I am" || len(of[refine.Recovery](l)) != 1 {
		t.Errorf("done %+v, error %v", l.done, l.err)
	}
}

func TestEverySurfaceReportsTheSame(t *testing.T) {
	for name, said := range recovered() {
		var want string
		for _, chunk := range []int{0, 1, 3} {
			for _, surface := range []string{"run", "ask", "end"} {
				m := says(said)
				m.chunk = chunk
				a := modes(m, "bash")["caller"]
				got := report(t, a, surface)
				if want == "" {
					want = got
				}
				if got != want {
					t.Errorf("%s: %s in pieces of %d reports\n%s\nand not\n%s", name, surface, chunk, got, want)
				}
			}
		}
	}
}

// recovered are answers that need recovery.
func recovered() map[string]line {
	text := func(s string) []llm.Part { return []llm.Part{llm.Text{Text: s}} }
	return map[string]line{
		"envelope":              {parts: text(`{"tool":"bash","parameters":{"c":"ls"}}`)},
		"text envelope":         {parts: text(`{"type":"text","text":"hello"}`)},
		"calls before an error": {parts: []llm.Part{call("toolu_stream_1", "bash", `{}`)}, err: failed(llm.Unknown, "error_max_turns")},
		"calls without an end":  {parts: []llm.Part{call("toolu_stream_1", "bash", `{}`)}, finish: llm.Finish{Raw: "none"}},
		"structured":            {parts: text("best effort"), err: failed(llm.Unknown, "error_max_structured_output_retries")},
		"nothing":               {finish: llm.Finish{Raw: "none"}},
		"empty":                 {parts: text(" ")},
		"plain":                 {parts: text("hi")},
	}
}

// report is what a surface says about the end of a run.
func report(t *testing.T, a *agent.Agent, surface string) string {
	var done agent.Done
	var err error
	switch surface {
	case "run":
		l := run(t, a, "go")
		done, err = l.done, l.err
	case "ask":
		done, err = a.Ask(t.Context(), llm.User("go"))
	case "end":
		for ev, e := range a.Run(t.Context(), llm.User("go")) {
			if d, ok := ev.(agent.Done); ok {
				done = d
			}
			err = e
		}
	}
	return fmt.Sprintf("%s %s %+v %+v %q %v", done.Finish.Reason, done.Finish.Raw, done.Finish.Usage, done.Usage, done.Text, err)
}

func TestToolModeNeedsToolsAndLeave(t *testing.T) {
	env := `{"tool":"a","input":{}}`
	none := llm.Request{Choice: llm.ToolChoice{Mode: llm.MustNotCall}}
	for name, c := range map[string]struct {
		agent agent.Agent
		calls int
	}{
		"tools":         {agent.Agent{Caller: []llm.ToolDef{def("a")}}, 1},
		"choice none":   {agent.Agent{Caller: []llm.ToolDef{def("a")}, Request: none}, 0},
		"no tools":      {agent.Agent{}, 0},
		"JSON mode":     {agent.Agent{Request: llm.Request{Output: &llm.OutputFormat{}}}, 0},
		"other tools":   {agent.Agent{Caller: []llm.ToolDef{def("b")}, RetryBudget: -1}, 0},
		"a hosted tool": {agent.Agent{Hosted: []agent.ProviderTool{{Name: "a"}}, HostedSupport: func(string, llm.ToolDef) error { return nil }}, 0},
	} {
		c.agent.Model = says(env)
		l := run(t, &c.agent, "go")
		if l.err != nil || len(l.done.Calls) != c.calls || c.calls == 0 && l.text() != env {
			t.Errorf("%s: calls %v, text %q, error %v", name, l.done.Calls, l.text(), l.err)
		}
	}
}

func TestAnEnvelopeNeverLeaksAsText(t *testing.T) {
	for _, text := range []string{
		`{"type":"tool-calls","calls":[{"toolName":"a","input":{"x":"}"}}]}`,
		"```json\n{\"tool\":\"a\",\"arguments\":{}}\n```",
		"\n\n  {\"tool_calls\":[{\"tool\":\"a\",\"input\":{}}]}\n",
	} {
		for chunk := range 8 {
			for mode := range modes(nil, "a") {
				m := says(text, "fine")
				m.chunk = chunk
				l := run(t, modes(m, "a")[mode], "go")
				if len(of[llm.Call](l)) != 1 || strings.ContainsAny(l.text(), "{}`") {
					t.Errorf("%s in pieces of %d, %s mode: text %q, calls %v", text, chunk, mode, l.text(), of[llm.Call](l))
				}
			}
		}
	}
	// What only begins like one is text, every byte of it.
	for _, text := range []string{`{"name": "Bob"} is a user.`, "```go\nfunc f() {}\n```", `{"tool":"b","input":{}}`, "`x`", "{", "```", `{"type":"tool-calls","calls":[]}`} {
		for chunk := range 8 {
			m := says(text)
			m.chunk = chunk
			if l := run(t, modes(m, "a")["caller"], "go"); l.text() != text || len(l.done.Calls) != 0 {
				t.Errorf("%q in pieces of %d: text %q, calls %v, error %v", text, chunk, l.text(), l.done.Calls, l.err)
			}
		}
	}
	// Text that cannot be one is passed on at once.
	m := says("Hello there", "x")
	m.chunk = 1
	if l := run(t, modes(m, "a")["executor"], "go"); len(of[llm.TextDelta](l)) != 11 {
		t.Errorf("text was held back: %d pieces", len(of[llm.TextDelta](l)))
	}
}

func TestToolInputIsNormalised(t *testing.T) {
	for in, want := range map[string]string{
		`""`: `{}`, `"  "`: `{}`, `null`: `{}`, `{ "a" : 1 }`: `{"a":1}`, `"{\"a\": 1}"`: `{"a":1}`, `" {\"a\":1} "`: `{"a":1}`,
	} {
		l := run(t, modes(says(`{"tool":"a","input":`+in+`}`), "a")["caller"], "go")
		if len(l.done.Calls) != 1 || compact(l.done.Calls[0].Args) != want {
			t.Errorf("%s became %v %v", in, l.done.Calls, l.done.Invalid)
		}
	}
	// What is not an object goes through as it is, and nobody runs it as a call.
	for _, in := range []string{`"ls -l"`, `[1]`, `7`} {
		text := `{"tool":"a","input":` + in + `}`
		l := run(t, modes(says(text), "a")["caller"], "go")
		if len(l.done.Calls) != 0 || l.done.Text != text && (len(l.done.Invalid) != 1 || l.done.Invalid[0].Raw != text) {
			t.Errorf("%s became %v %v, text %q", in, l.done.Calls, l.done.Invalid, l.done.Text)
		}
	}
}

func TestNoRetryAbortForwardedNoResultExplicit(t *testing.T) {
	for _, err := range []error{failed(llm.Incomplete, ""), failed(llm.Server, ""), errors.New("plain")} {
		m := says(err)
		if l := run(t, modes(m, "a")["caller"], "go"); l.err == nil || len(m.asked) != 1 || l.done.Finish.Raw != "stream-bridge-error" {
			t.Errorf("%v: asked %d times, finish %+v, error %v", err, len(m.asked), l.done.Finish, l.err)
		}
	}
	m := says(line{finish: llm.Finish{Raw: "none"}})
	l := run(t, modes(m, "a")["caller"], "go")
	var e *llm.Error
	if !errors.As(l.err, &e) || e.Code != "agent-sdk-no-result" || l.done.Finish.Raw != "agent-sdk-no-result" || len(m.asked) != 1 {
		t.Errorf("finish %+v, error %v", l.done.Finish, l.err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if l := listen(modes(m, "a")["caller"].Run(ctx, llm.User("go"))); !errors.Is(l.err, context.Canceled) {
		t.Errorf("error %v", l.err)
	}
}

func TestNoOptionIsIgnoredInSilence(t *testing.T) {
	ok := agent.Agent{Model: says("x")}
	for name, change := range map[string]func(*agent.Agent){
		"no model":           func(a *agent.Agent) { a.Model = nil },
		"negative turns":     func(a *agent.Agent) { a.MaxTurns = -1 },
		"tools twice":        func(a *agent.Agent) { a.Caller = []llm.ToolDef{def("a"), def("a")} },
		"choice not offered": func(a *agent.Agent) { a.Request.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "a"} },
		"allowed elsewhere":  func(a *agent.Agent) { a.Request.Choice = llm.ToolChoice{Allowed: []string{"a"}} },
		"call without tools": func(a *agent.Agent) { a.Request.Choice = llm.ToolChoice{Mode: llm.MustCall} },
		"messages in two places": func(a *agent.Agent) {
			a.Request.Messages = []llm.Message{llm.User("x")}
		},
		"emit_output": func(a *agent.Agent) {
			a.Request.Output, a.Caller = &llm.OutputFormat{}, []llm.ToolDef{def("emit_output")}
		},
		"no such lane":      func(a *agent.Agent) { a.Hosted = []agent.ProviderTool{{Name: "web_search", Lane: "sideways"}} },
		"lane is not there": func(a *agent.Agent) { a.Hosted = []agent.ProviderTool{{Name: "web_search", Lane: agent.LaneNative}} },
		"runner":            func(a *agent.Agent) { a.Tools = &invoke.Runner{Timeout: -1} },
	} {
		a := ok
		change(&a)
		if l := run(t, &a, "go"); l.err == nil {
			t.Errorf("%s was accepted", name)
		}
	}
}

func TestTheLifeOfAStream(t *testing.T) {
	m := says([]llm.Part{llm.Text{Text: "Let me see. "}, call("1", "a", `{"x":"12345"}`), call("2", "a", `{"x":"67890"}`)}, "fine")
	for chunk := range 6 {
		m.asked, m.chunk = nil, chunk
		l := run(t, modes(m, "a")["executor"], "go")
		state := make(map[string]string)
		args := make(map[string]string)
		for _, ev := range l.events {
			switch ev := ev.(type) {
			case llm.CallStart:
				state[ev.ID] += "s"
			case llm.CallDelta:
				args[ev.ID] += ev.Args
				if !strings.HasSuffix(state[ev.ID], "d") {
					state[ev.ID] += "d"
				}
			case llm.Call:
				state[ev.ID] += "c"
				if args[ev.ID] != string(ev.Args) {
					t.Errorf("deltas %q, arguments %s", args[ev.ID], ev.Args)
				}
			case invoke.Outcome:
				state[ev.Call.ID] += "o"
			}
		}
		if diff := cmp.Diff(map[string]string{"1": "sdco", "2": "sdco"}, state); diff != "" {
			t.Error(diff)
		}
		if l.done.Usage.Input != 20 || l.done.Usage.Output != 10 || l.done.Finish.Reason != llm.Stop {
			t.Errorf("usage %+v, finish %+v", l.done.Usage, l.done.Finish)
		}
	}
}

// Whole and streamed answers of the simulator report the same end and the same
// usage.
func TestWholeAndStreamedAgree(t *testing.T) {
	in, err := txtar.ParseFile("testdata/journeys/h03_observe.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range [][2]form{{forms[0], forms[1]}, {forms[3], forms[4]}} {
		var got [2]string
		for i, f := range pair {
			s := newStage(t, in, f)
			s.cast()
			done, err := s.agent.Ask(t.Context(), llm.User(s.user))
			got[i] = fmt.Sprintf("%s %s %+v %+v %v", done.Finish.Reason, done.Finish.Raw, done.Finish.Usage, done.Usage, err)
		}
		if got[0] != got[1] {
			t.Errorf("%s reports %s, %s reports %s", pair[0].name, got[0], pair[1].name, got[1])
		}
	}
}
