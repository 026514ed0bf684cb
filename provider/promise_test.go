package provider

import (
	"encoding/json"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// script makes events of lines: "text …", "thinking …", "refusal …", "call name args",
// "finish reason".
func script(t *testing.T, src string) iter.Seq2[llm.Event, error] {
	t.Helper()
	return func(yield func(llm.Event, error) bool) {
		n := 0
		for line := range strings.Lines(src) {
			word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
			var evs []llm.Event
			switch word {
			case "text":
				evs = []llm.Event{llm.TextDelta{Text: rest}}
			case "refusal":
				evs = []llm.Event{llm.TextDelta{Text: rest, Part: &llm.Text{Refusal: true}}}
			case "thinking":
				evs = []llm.Event{llm.ThinkingDelta{Text: rest}}
			case "call":
				n++
				name, args, _ := strings.Cut(rest, " ")
				id := fmt.Sprint("c", n)
				evs = []llm.Event{llm.CallStart{ID: id, Name: name}, llm.CallDelta{ID: id, Args: args}, llm.Call{ID: id, Name: name, Args: json.RawMessage(args)}}
			case "finish":
				evs = []llm.Event{llm.Finish{Reason: llm.Reason(rest)}}
			default:
				t.Errorf("no event is called %q", word)
			}
			for _, ev := range evs {
				if !yield(ev, nil) {
					return
				}
			}
		}
	}
}

// transcript writes what came of a script.
func transcript(events iter.Seq2[llm.Event, error]) string {
	var b strings.Builder
	for ev, err := range events {
		switch ev := ev.(type) {
		case llm.TextDelta:
			fmt.Fprintln(&b, "text", ev.Text)
		case llm.ThinkingDelta:
			fmt.Fprintln(&b, "thinking", ev.Text)
		case llm.Call:
			fmt.Fprintln(&b, "call", ev.Name, string(ev.Args))
		case llm.InvalidCall:
			fmt.Fprintln(&b, "invalid", ev.Name, ev.Reason)
		case llm.Warning:
			fmt.Fprintln(&b, "warning", ev.Code, ev.Feature)
		case llm.Finish:
			fmt.Fprintln(&b, "finish", ev.Reason)
		}
		if err != nil {
			fmt.Fprintln(&b, "error", llm.KindOf(err))
		}
	}
	return b.String()
}

var (
	number = &llm.OutputFormat{Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
	option = &llm.OutputFormat{Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"},"m":{"type":"integer"}},"required":["n"]}`)}
	list   = &llm.OutputFormat{Schema: []byte(`{"type":"array","items":{"type":"integer"}}`)}
)

// What a request demands is what its answer is, or the answer is an error.
func TestPromises(t *testing.T) {
	required := llm.ToolChoice{Mode: llm.MustCall}
	named := llm.ToolChoice{Mode: llm.MustCall, Name: "f"}
	none := llm.ToolChoice{Mode: llm.MustNotCall}
	for _, c := range []struct {
		why     string
		wire    string
		req     llm.Request
		answer  string
		becomes string
	}{
		{"a call that was demanded", wire.Chat, llm.Request{Choice: named}, "call f {}\nfinish tool_calls", "call f {}\nfinish tool_calls"},
		{"prose instead", wire.Chat, llm.Request{Choice: required}, "text no\nfinish stop", "text no\nerror broken_promise"},
		{"prose that says it called", wire.Chat, llm.Request{Choice: required}, "text no\nfinish tool_calls", "text no\nerror broken_promise"},
		{"another call", wire.Chat, llm.Request{Choice: named}, "call g {}\nfinish tool_calls", "invalid g not_allowed\nerror broken_promise"},
		{"cut off before the call", wire.Chat, llm.Request{Choice: named}, "text I w\nfinish length", "text I w\nfinish length"},
		{"a refusal", wire.Chat, llm.Request{Choice: named}, "refusal no\nfinish stop", "text no\nfinish stop"},
		{"a call that was forbidden", wire.Chat, llm.Request{Choice: none}, "call f {}\nfinish tool_calls", "invalid f not_allowed\nerror broken_promise"},
		{"nothing allowed", wire.Chat, llm.Request{Choice: llm.ToolChoice{Allowed: []string{}}}, "call f {}\nfinish tool_calls", "invalid f not_allowed\nerror broken_promise"},
		{"outside the subset", wire.Messages, llm.Request{Choice: llm.ToolChoice{Allowed: []string{"f"}}}, "call g {}\nfinish tool_calls", "invalid g not_allowed\nerror broken_promise"},
		{"one call of two", wire.Gemini, llm.Request{OneCall: true}, "call f {}\ncall g {}\nfinish tool_calls", "call f {}\ninvalid g not_allowed\nfinish tool_calls"},
		{"two calls, both wanted", wire.Chat, llm.Request{}, "call f {}\ncall g {}\nfinish tool_calls", "call f {}\ncall g {}\nfinish tool_calls"},

		{"an answer by schema", wire.Chat, llm.Request{Output: number}, `text {"n":1}` + "\nfinish stop", `text {"n":1}` + "\nfinish stop"},
		{"one that breaks it", wire.Chat, llm.Request{Output: number}, `text {"n":"1"}` + "\nfinish stop", `text {"n":"1"}` + "\nerror broken_promise"},
		{"null for what may be left out", wire.Chat, llm.Request{Output: option}, `text {"n":1,"m":null}` + "\nfinish stop", `text {"n":1}` + "\nfinish stop"},
		{"prose", wire.Chat, llm.Request{Output: number}, "text one\nfinish stop", "text one\nerror broken_promise"},
		{"a call first", wire.Chat, llm.Request{Output: number}, "call f {}\nfinish tool_calls", "call f {}\nfinish tool_calls"},
		{"an answer cut off", wire.Chat, llm.Request{Output: number}, `text {"n"` + "\nfinish length", "text {\ntext \"n\"\nfinish length"},
		{"a list, which vendors only know in an object", wire.Chat, llm.Request{Output: list}, `text {"value":[1,2]}` + "\nfinish stop", "text [1,2]\nfinish stop"},
		{"emitted", wire.Gemini, llm.Request{Output: number}, `call emit_output {"n":1}` + "\nfinish tool_calls", `text {"n":1}` + "\nfinish stop"},
		{"emitted after some words", wire.Gemini, llm.Request{Output: number}, "text So:\n" + `call emit_output {"n":1}` + "\nfinish tool_calls", "thinking So:\n" + `text {"n":1}` + "\nfinish stop"},
		{"emitted twice", wire.Gemini, llm.Request{Output: number}, `call emit_output {"n":1}` + "\n" + `call emit_output {"n":2}` + "\nfinish tool_calls", "warning ignored output\n" + `text {"n":2}` + "\nfinish stop"},
		{"emitted wrongly", wire.Gemini, llm.Request{Output: number}, "call emit_output {}\nfinish tool_calls", "text {}\nerror broken_promise"},
		{"emitted beside a call", wire.Gemini, llm.Request{Output: number}, "call f {}\n" + `call emit_output {"n":1}` + "\nfinish tool_calls", "call f {}\nwarning ignored output\nfinish tool_calls"},
		{"not emitted but said", wire.Gemini, llm.Request{Output: number}, "text ```json\ntext {\"n\":1}```\nfinish stop", "text ```json{\"n\":1}```\nerror broken_promise"},
		{"said as it is", wire.Gemini, llm.Request{Output: number}, `text {"n":1}` + "\nfinish stop", `text {"n":1}` + "\nfinish stop"},
	} {
		t.Run(c.why, func(t *testing.T) {
			m := capable(t, wireVendor[c.wire], c.wire)
			c.req.Messages = []llm.Message{llm.User("hi")}
			c.req.Tools = []llm.ToolDef{{Name: "f"}, {Name: "g"}}
			j, err := m.plan(&c.req)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.becomes+"\n", transcript(j.answer.Pipeline().Read(script(t, c.answer)))); diff != "" {
				t.Errorf("-want +got\n%s", diff)
			}
		})
	}
}

// Requests that mean nothing are refused before anybody is asked.
func TestRefusedRequests(t *testing.T) {
	m := capable(t, "openai", wire.Chat)
	for _, c := range []struct {
		why string
		req llm.Request
	}{
		{"no messages", llm.Request{}},
		{"a tool without a name", llm.Request{Messages: hello, Tools: []llm.ToolDef{{}}}},
		{"two of a name", llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f"}, {Name: "f"}}}},
		{"a tool called emit_output", llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "emit_output"}}, Output: number}},
		{"a demand for nothing", llm.Request{Messages: hello, Choice: llm.ToolChoice{Mode: llm.MustCall}}},
		{"a demand for a stranger", llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f"}}, Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "g"}}},
		{"a demand that is not allowed", llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f"}}, Choice: llm.ToolChoice{Mode: llm.MustCall, Allowed: []string{}}}},
		{"a stranger allowed", llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f"}}, Choice: llm.ToolChoice{Allowed: []string{"g"}}}},
		{"a schema that is none", llm.Request{Messages: hello, Output: &llm.OutputFormat{Schema: []byte(`{"type":`)}}},
		{"a tool whose schema is none", llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f", Schema: []byte(`[`)}}}},
	} {
		if _, err := m.plan(&c.req); llm.KindOf(err) != llm.Invalid {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

var hello = []llm.Message{llm.User("hi")}

// Thinking brings its conditions along, and says so.
func TestThinking(t *testing.T) {
	hot, think := ptr(0.3), &llm.Reasoning{Effort: "high"}
	for _, c := range []struct {
		id     string
		req    llm.Request
		has    []string // in the body
		lacks  []string
		warned []string // features
	}{
		{"anthropic/claude-sonnet-4-5", llm.Request{Temperature: hot, TopK: ptr(3), TopP: ptr(0.2), Reasoning: think},
			[]string{`"budget_tokens":24576`, `"max_tokens":64000`}, []string{"temperature", "top_k", "top_p"}, []string{"temperature", "top_k", "top_p", "max_tokens", "reasoning.effort"}},
		{"anthropic/claude-sonnet-4-5", llm.Request{MaxTokens: 50000, Reasoning: &llm.Reasoning{Tokens: 2000}}, []string{`"max_tokens":50000`, `"budget_tokens":2000`}, nil, nil},
		{"anthropic/claude-sonnet-4-5", llm.Request{Reasoning: &llm.Reasoning{Tokens: 5}}, []string{`"budget_tokens":1024`}, nil, []string{"reasoning.budget", "max_tokens"}},
		{"anthropic/claude-opus-4-6", llm.Request{MaxTokens: 1000, Reasoning: think}, []string{`"adaptive"`, `"effort":"high"`}, nil, nil},
		{"anthropic/claude-sonnet-4-5", llm.Request{MaxTokens: 1000, Temperature: hot, Reasoning: &llm.Reasoning{Off: true}}, []string{`"temperature":0.3`, `"disabled"`}, nil, nil},
		{"openai/gpt-5", llm.Request{Temperature: hot, Reasoning: think}, []string{`"reasoning":{"effort":"high"}`}, []string{"temperature"}, []string{"temperature"}},
		{"openai/gpt-4o", llm.Request{Temperature: hot, Reasoning: think}, []string{`"temperature":0.3`}, []string{"reasoning"}, []string{"reasoning"}},
		{"gemini/gemini-2.5-pro", llm.Request{Reasoning: think}, []string{`"thinkingBudget":24576`}, []string{"thinkingLevel"}, []string{"reasoning.effort"}},
	} {
		m, err := new(Client).Open(c.id)
		if err != nil {
			t.Fatal(err)
		}
		c.req.Messages = hello
		j, err := m.(*Model).plan(&c.req)
		if err != nil {
			t.Fatal(err)
		}
		body, _, err := j.codec.EncodeRequest(j.req, true)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range c.has {
			if !strings.Contains(string(body), s) {
				t.Errorf("%s: %s lacks %s", c.id, body, s)
			}
		}
		for _, s := range c.lacks {
			if strings.Contains(string(body), s) {
				t.Errorf("%s: %s has %s", c.id, body, s)
			}
		}
		for _, f := range c.warned {
			if !strings.Contains(fmt.Sprint(j.warnings), f) {
				t.Errorf("%s: %v does not speak of %s", c.id, j.warnings, f)
			}
		}
		if c.warned == nil && len(j.warnings) > 0 {
			t.Errorf("%s: %v", c.id, j.warnings)
		}
	}
}

// A call that cannot be forced while the model thinks is asked for instead.
func TestForcedWhileThinking(t *testing.T) {
	m, err := new(Client).Open("anthropic/claude-sonnet-4-5")
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f"}, {Name: "g"}}, Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "f"}, Reasoning: &llm.Reasoning{Tokens: 2000}}
	j, err := m.(*Model).plan(req)
	if err != nil {
		t.Fatal(err)
	}
	if j.req.Choice.Mode != llm.MayCall || len(j.req.Tools) != 1 || !strings.Contains(j.req.System, "must answer with a call of the tool f") {
		t.Errorf("choice %+v, tools %d, system %q", j.req.Choice, len(j.req.Tools), j.req.System)
	}
	if got := transcript(j.answer.Pipeline().Read(script(t, "text no\nfinish stop"))); got != "text no\nerror broken_promise\n" {
		t.Error(got)
	}
}

// A forced call that a host cannot force is had from a schema.
func TestForcedBySchema(t *testing.T) {
	m, err := new(Client).Open("ollama/qwen3:8b")
	if err != nil {
		t.Fatal(err)
	}
	tools := []llm.ToolDef{{Name: "f"}}
	for _, c := range []struct {
		req  llm.Request
		kind RouteKind
	}{
		{llm.Request{}, Native},
		{llm.Request{Choice: llm.ToolChoice{Mode: llm.MustCall}}, Constrained},
		{llm.Request{Choice: llm.ToolChoice{Mode: llm.MustCall}, Reasoning: &llm.Reasoning{Effort: "high"}}, Native},
	} {
		c.req.Messages, c.req.Tools = hello, tools
		r, err := m.(*Model).Explain(&c.req)
		if err != nil || r.Kind != c.kind {
			t.Errorf("%+v: %s %v, want %s", c.req.Choice, r, err, c.kind)
		}
	}
}

// An unknown model is asked safely, and the user hears why.
func TestUnknownModel(t *testing.T) {
	m, err := new(Client).Open("http://127.0.0.1:1/v1#nobody-knows-me")
	if err != nil {
		t.Fatal(err)
	}
	req := &llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f"}}}
	if r, err := m.(*Model).Explain(req); err != nil || r.Kind != Prompted || len(r.Why) == 0 {
		t.Fatalf("%+v %v", r, err)
	}
	j, err := m.(*Model).plan(req)
	if err != nil || j.route.Kind != Prompted {
		t.Fatalf("%+v %v", j, err)
	}
	codes := map[llm.WarningCode]bool{}
	for _, w := range j.warnings {
		codes[w.Code] = true
	}
	if !codes[llm.UnknownModel] || !codes[llm.Emulated] {
		t.Errorf("warnings %v", j.warnings)
	}
	if m.(*Model).Info().NativeTools.Support != catalog.No {
		t.Error("an unknown model must not be taken to call tools")
	}
}

// A vendor that takes twenty strict tools gets twenty, and hears of the others
// as ordinary ones.
func TestStrictRoom(t *testing.T) {
	m, err := new(Client).Open("anthropic/claude-sonnet-4-5")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		schema string
		strict int
	}{
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, 20},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}`, 12},
	} {
		req := &llm.Request{Messages: hello, MaxTokens: 1000}
		for i := range 30 {
			req.Tools = append(req.Tools, llm.ToolDef{Name: fmt.Sprint("t", i), Schema: []byte(c.schema)})
		}
		j, err := m.(*Model).plan(req)
		if err != nil {
			t.Fatal(err)
		}
		strict := 0
		for _, def := range j.req.Tools {
			if def.Strict != nil && *def.Strict {
				strict++
			}
		}
		if strict != c.strict || len(j.warnings) != 30-strict {
			t.Errorf("%d strict tools and %d warnings, want %d", strict, len(j.warnings), c.strict)
		}
	}
}

// Planning a request is what every turn pays.
func BenchmarkPlan(b *testing.B) {
	m, err := new(Client).Open("anthropic/claude-sonnet-4-5")
	if err != nil {
		b.Fatal(err)
	}
	req := &llm.Request{Messages: hello}
	for i := range 20 {
		req.Tools = append(req.Tools, llm.ToolDef{Name: fmt.Sprint("t", i), Schema: []byte(`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`)})
	}
	for i := range 20 {
		id := fmt.Sprint("call_", i)
		req.Messages = append(req.Messages, llm.Assistant(llm.Call{ID: id, Name: "t1", Args: []byte(`{"a":"b"}`)}),
			llm.Results(llm.Result{CallID: id, Parts: []llm.Part{llm.Text{Text: "done"}}}))
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.(*Model).plan(req); err != nil {
			b.Fatal(err)
		}
	}
}

// A route without tools does not ask for the answer as a tool, which nobody
// would have taught.
func TestTextRouteAsksForOutput(t *testing.T) {
	m, err := (&Client{Route: Text}).Open("http://127.0.0.1:1/v1#nobody-knows-me")
	if err != nil {
		t.Fatal(err)
	}
	j, err := m.(*Model).plan(&llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f"}}, Output: number})
	if err != nil || j.route.Output != outputPrompted || strings.Contains(j.req.System, "emit_output") {
		t.Fatalf("output %s, system %q, %v", j.route.Output, j.req.System, err)
	}
	if got := transcript(j.answer.Pipeline().Read(script(t, "text ```json\ntext {\"n\":1}\nfinish stop"))); !strings.Contains(got, "error broken_promise") {
		t.Errorf("a broken fence counts: %s", got)
	}
	if got := transcript(j.answer.Pipeline().Read(script(t, `text {"n":1}`+"\nfinish stop"))); got != "text {\"n\":1}\nfinish stop\n" {
		t.Error(got)
	}
}
