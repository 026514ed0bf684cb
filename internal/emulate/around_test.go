package emulate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/llm"
)

// ownModel is a model of a program's own that knows nothing of tools. It gives
// one answer, in pieces, and remembers what it was asked.
type ownModel struct {
	answer string
	piece  int // bytes of a piece; 0 gives the answer whole
	finish llm.Reason
	err    error // in place of the end
	asked  *llm.Request
}

func (m *ownModel) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		m.asked = req
		for text := range pieces(m.answer, m.piece) {
			if !yield(llm.TextDelta{Text: text}, nil) {
				return
			}
		}
		if m.err != nil {
			yield(nil, m.err)
			return
		}
		finish := m.finish
		if finish == "" {
			finish = llm.Stop
		}
		yield(llm.Finish{Reason: finish}, nil)
	}
}

func pieces(text string, n int) iter.Seq[string] {
	return func(yield func(string) bool) {
		for n > 0 && len(text) > n {
			if !yield(text[:n]) {
				return
			}
			text = text[n:]
		}
		yield(text)
	}
}

var weather = llm.ToolDef{
	Name: "get_weather", Description: "Weather forecast for a city.",
	Schema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`),
}

var timer = llm.ToolDef{
	Name: "set_timer", Description: "Sets a timer.",
	Schema: json.RawMessage(`{"type":"object","properties":{"minutes":{"type":"integer"}},"required":["minutes"]}`),
}

func question(change ...func(*llm.Request)) *llm.Request {
	req := &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome for the next 3 days?")}, Tools: []llm.ToolDef{weather, timer}}
	for _, c := range change {
		c(req)
	}
	return req
}

// meaning writes what an answer means, and checks that the deltas of each call
// are its arguments.
func meaning(t *testing.T, m llm.Model, req *llm.Request) string {
	t.Helper()
	var b strings.Builder
	var text strings.Builder
	deltas := map[string]string{}
	flush := func() {
		if s := strings.TrimSpace(text.String()); s != "" {
			fmt.Fprintf(&b, "text %s\n", s)
		}
		text.Reset()
	}
	for ev, err := range m.Stream(t.Context(), req) {
		if err != nil {
			flush()
			fmt.Fprintf(&b, "error %s\n", llm.KindOf(err))
			break
		}
		switch ev := ev.(type) {
		case llm.TextDelta:
			text.WriteString(ev.Text)
			continue
		case llm.CallDelta:
			deltas[ev.ID] += ev.Args
		case llm.Call:
			flush()
			fmt.Fprintf(&b, "call %s %s\n", ev.Name, sameSpaces(t, ev.Args))
			if deltas[ev.ID] != string(ev.Args) {
				t.Errorf("the deltas of %s are %q, its arguments %q", ev.Name, deltas[ev.ID], ev.Args)
			}
		case llm.InvalidCall:
			flush()
			fmt.Fprintf(&b, "invalid %s %s\n", ev.Name, ev.Reason)
		case llm.Finish:
			flush()
			fmt.Fprintf(&b, "finish %s\n", ev.Reason)
		}
	}
	return b.String()
}

func sameSpaces(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// dialects are what the styles teach.
var dialects = map[string]string{
	"": "json_fence", "json": "json_fence", "markdown": "json_fence", "xml": "claude_xml", "pythonic": "pythonic", "hermes": "hermes_json", "react": "react",
}

// answerIn is an answer with a call as the style teaches it.
func answerIn(t *testing.T, style string) string {
	t.Helper()
	text, err := dialect.Builtin().Render(dialects[style], llm.Text{Text: "I look it up.\n"},
		llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome","days":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestEveryStyleIsTested(t *testing.T) {
	for _, s := range emulate.Styles() {
		if dialects[s] == "" {
			t.Errorf("the style %s is taught, but not tested", s)
		}
	}
}

// A model of a program's own calls tools in every style, whole and streamed in
// pieces of every size.
func TestAroundAnOwnModel(t *testing.T) {
	const want = "text I look it up.\ncall get_weather {\"city\":\"Rome\",\"days\":3}\nfinish tool_calls\n"
	for style := range dialects {
		answer := answerIn(t, style)
		for n := range len(answer) + 1 {
			own := &ownModel{answer: answer, piece: n}
			if diff := cmp.Diff(want, meaning(t, emulate.Emulation{Style: style}.Around(own), question())); diff != "" {
				t.Fatalf("style %q in pieces of %d: -want +got\n%s", style, n, diff)
			}
			if len(own.asked.Tools) > 0 || !strings.Contains(own.asked.System, "get_weather") {
				t.Fatalf("style %q: the model was asked with %d tools and the system prompt %q", style, len(own.asked.Tools), own.asked.System)
			}
		}
	}
}

// A call that was cut off is never a call, wherever the cut is.
func TestAroundCutAnswers(t *testing.T) {
	for style := range dialects {
		answer := answerIn(t, style)
		for end := range len(answer) {
			own := &ownModel{answer: answer[:end], piece: 1 + end%7, finish: llm.Length}
			got := meaning(t, emulate.Emulation{Style: style}.Around(own), question())
			if !strings.HasSuffix(got, "finish length\n") {
				t.Fatalf("style %q cut after %d bytes: %s", style, end, got)
			}
			for line := range strings.Lines(got) {
				if strings.HasPrefix(line, "call ") && line != "call get_weather {\"city\":\"Rome\",\"days\":3}\n" {
					t.Fatalf("style %q cut after %d bytes: %s", style, end, got)
				}
			}
		}
	}
}

// The choice of the request is taught and kept, or the answer is an error.
func TestAroundKeepsTheChoice(t *testing.T) {
	call, other := answerIn(t, "json"), "```json\n{\"tool\": \"set_timer\", \"arguments\": {\"minutes\": 3}}\n```"
	const called = "text I look it up.\ncall get_weather {\"city\":\"Rome\",\"days\":3}\nfinish tool_calls\n"
	for _, c := range []struct {
		why    string
		choice llm.ToolChoice
		answer string
		want   string
		system string // in the prompt
	}{
		{"free to call", llm.ToolChoice{}, call, called, "Call a tool only if you need one"},
		{"free not to", llm.ToolChoice{}, "Sunny.", "text Sunny.\nfinish stop\n", "Call a tool only if you need one"},
		{"demanded", llm.ToolChoice{Mode: llm.MustCall}, call, called, "you must call a tool"},
		{"demanded, not done", llm.ToolChoice{Mode: llm.MustCall}, "Sunny.", "text Sunny.\nerror broken_promise\n", "you must call a tool"},
		{"named", llm.ToolChoice{Mode: llm.MustCall, Name: "get_weather"}, call, called, "you must call the tool get_weather"},
		{"another than the named", llm.ToolChoice{Mode: llm.MustCall, Name: "get_weather"}, other, "invalid set_timer not_allowed\nerror broken_promise\n", "you must call the tool get_weather"},
		{"forbidden", llm.ToolChoice{Mode: llm.MustNotCall}, "Sunny.", "text Sunny.\nfinish stop\n", "Do not call any tool"},
		{"only some", llm.ToolChoice{Allowed: []string{"get_weather"}}, call, called, "get_weather"},
		{"nothing allowed", llm.ToolChoice{Allowed: []string{}}, "Sunny.", "text Sunny.\nfinish stop\n", "Do not call any tool"},
	} {
		own := &ownModel{answer: c.answer, piece: 3}
		req := question(func(r *llm.Request) { r.Choice = c.choice })
		if diff := cmp.Diff(c.want, meaning(t, emulate.Emulation{}.Around(own), req)); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.why, diff)
		}
		if !strings.Contains(own.asked.System, c.system) {
			t.Errorf("%s: %q is not in the prompt %q", c.why, c.system, own.asked.System)
		}
	}
	own := &ownModel{answer: call}
	if got := meaning(t, emulate.Emulation{}.Around(own), question(func(r *llm.Request) { r.Choice.Mode = llm.MustNotCall })); strings.Contains(got, "call get_weather") {
		t.Errorf("a forbidden call: %s", got)
	}
	own = &ownModel{answer: call + "\n" + other}
	if got := meaning(t, emulate.Emulation{}.Around(own), question(func(r *llm.Request) { r.OneCall = true })); strings.Count(got, "\ncall ") != 1 {
		t.Errorf("one call was allowed: %s", got)
	}
}

// Where calls are forbidden, a call that the model writes all the same stays
// text, with a warning that says so; nobody is told to ask for it again, or
// that tools were taught.
func TestAroundForbiddenCall(t *testing.T) {
	call := llm.Call{Name: "get_weather", Args: json.RawMessage(`{"city":"Rome","days":3}`)}
	for style, name := range dialects {
		for _, before := range []string{"", "I look it up.\n"} {
			for _, choice := range []llm.ToolChoice{{Mode: llm.MustNotCall}, {Allowed: []string{}}} {
				answer, err := dialect.Builtin().Render(name, llm.Text{Text: before}, call)
				if err != nil {
					t.Fatal(err)
				}
				for _, e := range []emulate.Emulation{{Style: style}, {Style: style, Host: emulate.OutputHost, Gate: emulate.GateOn, Decider: smallmodel.Wording{}}} {
					r, err := llm.Generate(t.Context(), e.Around(&ownModel{answer: answer, piece: 3}), question(func(r *llm.Request) { r.Choice = choice }))
					if err != nil {
						t.Fatalf("%s: %v", style, err)
					}
					if len(r.Message.Calls())+len(r.Invalid) > 0 || r.Message.Text() != answer {
						t.Errorf("%s, %+v: %+v", style, choice, r.Message)
					}
					if len(r.Warnings) == 0 || slices.ContainsFunc(r.Warnings, func(w llm.Warning) bool { return w.Code != llm.SuspectedCall }) {
						t.Errorf("%s, %+v, gate %q: warnings %v", style, choice, e.Gate, r.Warnings)
					}
				}
			}
		}
	}
}

// The inner model reads the history as text: its own calls as it was taught to
// write them, results in the wrapper that the prompt announces.
func TestAroundShowsTheHistory(t *testing.T) {
	call := llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}
	lost := llm.Call{ID: "call_2", Name: "set_timer", Args: json.RawMessage(`{"minutes":3}`)}
	for style, name := range dialects {
		own := &ownModel{answer: "Sunny."}
		req := question(func(r *llm.Request) {
			r.Messages = append(r.Messages, llm.Assistant(call, lost),
				llm.Results(llm.Result{CallID: "call_1", Parts: []llm.Part{llm.Text{Text: "21 degrees"}}}))
		})
		before := fmt.Sprintf("%+v", req)
		if got := meaning(t, emulate.Emulation{Style: style}.Around(own), req); got != "text Sunny.\nfinish stop\n" {
			t.Errorf("%s: %s", style, got)
		}
		if fmt.Sprintf("%+v", req) != before {
			t.Errorf("%s: the caller's request was changed", style)
		}
		written, err := dialect.Builtin().Render(name, call, lost)
		if err != nil {
			t.Fatal(err)
		}
		said, answered := own.asked.Messages[1], own.asked.Messages[2]
		if said.Role != llm.RoleAssistant || !strings.Contains(said.Text(), written) {
			t.Errorf("%s: the call became %q, want %q", style, said.Text(), written)
		}
		if answered.Role != llm.RoleUser || !strings.Contains(answered.Text(), "21 degrees") || !strings.Contains(answered.Text(), "interrupted") {
			t.Errorf("%s: the results became %s %q", style, answered.Role, answered.Text())
		}
		for _, m := range own.asked.Messages {
			for _, p := range m.Parts {
				if _, ok := p.(llm.Text); !ok {
					t.Errorf("%s: the model was sent a %T", style, p)
				}
			}
		}
		if len(own.asked.Stop) == 0 {
			t.Errorf("%s: nothing stops the model from inventing a result", style)
		}
	}
}

// A model that can be held to a schema is held to that of the envelope.
func TestAroundConstrains(t *testing.T) {
	e := emulate.Emulation{Host: emulate.OutputHost, OneCall: true}
	for _, c := range []struct{ why, answer, want string }{
		{"a call", `{"name": "get_weather", "arguments": {"city": "Rome", "days": 3}}`, "call get_weather {\"city\":\"Rome\",\"days\":3}\nfinish tool_calls\n"},
		{"text", `{"type": "text", "text": "It is \"sunny\"."}`, "text It is \"sunny\".\nfinish stop\n"},
	} {
		for n := range len(c.answer) + 1 {
			own := &ownModel{answer: c.answer, piece: n}
			if diff := cmp.Diff(c.want, meaning(t, e.Around(own), question())); diff != "" {
				t.Fatalf("%s in pieces of %d: -want +got\n%s", c.why, n, diff)
			}
			if own.asked.Output == nil || !strings.Contains(string(own.asked.Output.Schema), "get_weather") {
				t.Fatalf("%s: the model was not held to a schema", c.why)
			}
		}
		for end := 1; end < len(c.answer); end++ {
			got := meaning(t, e.Around(&ownModel{answer: c.answer[:end], piece: 3}), question())
			if strings.Contains(got, "call get_weather {") || !strings.HasSuffix(got, "finish length\n") {
				t.Fatalf("%s, cut after %d bytes without saying so: %s", c.why, end, got)
			}
		}
	}
}

var forecast = &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object","properties":{"degrees":{"type":"integer"}},"required":["degrees"]}`)}

// An answer has the form the request demands: as a tool beside other tools, by
// the host's schema, or by asking for it.
func TestAroundStructuredAnswers(t *testing.T) {
	final := "```json\n{\"tool\": \"" + emulate.FinalTool + "\", \"arguments\": {\"degrees\": 21}}\n```"
	alone := func(r *llm.Request) { r.Tools = nil }
	for _, c := range []struct {
		why    string
		e      emulate.Emulation
		req    *llm.Request
		answer string
		want   string
	}{
		{"beside tools", emulate.Emulation{}, question(), final, "text {\"degrees\": 21}\nfinish stop\n"},
		{"a tool first", emulate.Emulation{}, question(), answerIn(t, "json"), "text I look it up.\ncall get_weather {\"city\":\"Rome\",\"days\":3}\nfinish tool_calls\n"},
		{"by asking", emulate.Emulation{}, question(alone), "Here:\n```json\n{\"degrees\": 21}\n```", "text {\"degrees\": 21}\nfinish stop\n"},
		{"broken", emulate.Emulation{}, question(alone), `{"degrees": "hot"}`, "text {\"degrees\": \"hot\"}\nerror broken_promise\n"},
		{"by schema", emulate.Emulation{Host: emulate.OutputHost}, question(alone), `{"degrees": 21}`, "text {\"degrees\": 21}\nfinish stop\n"},
	} {
		for n := range len(c.answer) + 1 {
			req := c.req.Clone()
			req.Output = forecast
			if diff := cmp.Diff(c.want, meaning(t, c.e.Around(&ownModel{answer: c.answer, piece: n}), req)); diff != "" {
				t.Fatalf("%s in pieces of %d: -want +got\n%s", c.why, n, diff)
			}
		}
	}
	strict := question(alone, func(r *llm.Request) { r.Output = &llm.OutputFormat{Schema: forecast.Schema, Strict: true} })
	if got := meaning(t, emulate.Emulation{}.Around(&ownModel{}), strict); got != "error unsupported\n" {
		t.Errorf("nothing holds the model to a strict schema: %s", got)
	}
}

// Errors come last and are the inner model's own; a caller that stops stops the
// inner model; requests that mean nothing do not reach it.
func TestAroundErrors(t *testing.T) {
	broken := errors.New("the line is dead")
	own := &ownModel{answer: "Let me", piece: 1, err: broken}
	var last error
	for _, err := range (emulate.Emulation{}).Around(own).Stream(t.Context(), question()) {
		if last != nil {
			t.Error("something follows the error")
		}
		last = err
	}
	if !errors.Is(last, broken) {
		t.Errorf("the error became %v", last)
	}
	n := 0
	endless := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for yield(llm.TextDelta{Text: "on and "}, nil) {
				n++
			}
		}
	})
	for ev := range (emulate.Emulation{}).Around(endless).Stream(t.Context(), question()) {
		if _, ok := ev.(llm.TextDelta); ok {
			break
		}
	}
	if n > 2 {
		t.Errorf("the model went on for %d pieces after the caller stopped", n)
	}
	for _, change := range []func(*llm.Request){
		func(r *llm.Request) { r.Messages = nil },
		func(r *llm.Request) { r.Tools = append(r.Tools, r.Tools[0]) },
		func(r *llm.Request) { r.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: "nobody"} },
	} {
		own := &ownModel{}
		if got := meaning(t, emulate.Emulation{}.Around(own), question(change)); got != "error invalid\n" || own.asked != nil {
			t.Errorf("%s", got)
		}
	}
}

// What the emulation does is said before the answer.
func TestAroundWarns(t *testing.T) {
	r, err := llm.Generate(t.Context(), emulate.Emulation{}.Around(&ownModel{answer: "Sunny."}), question())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Warnings, func(w llm.Warning) bool { return w.Code == llm.Emulated && strings.Contains(w.Detail, "json_fence") }) {
		t.Errorf("%v", r.Warnings)
	}
}

// A program teaches a dialect of its own, and reads it.
func TestAroundTeachesAnOwnDialect(t *testing.T) {
	list, err := dialect.Builtin().With(spec.Dialect{
		Name: "angles", Title: "name and JSON between double angles", Form: spec.NameJSON,
		Call: []spec.Pair{{Open: "<<call:", Close: "<<done>>"}}, Sep: []string{">>"},
		Write:   spec.Writing{Call: "<<call:$name>>$args<<done>>", Sep: "\n"},
		Results: spec.Results{Role: llm.RoleUser, Each: "<<result>>$text<<done>>", Stop: []string{"<<result>>"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := list.Render("angles", llm.Text{Text: "I look it up.\n"}, llm.Call{Name: "get_weather", Args: json.RawMessage(`{"city":"Rome","days":3}`)})
	if err != nil {
		t.Fatal(err)
	}
	e := emulate.Emulation{Style: "angles", Dialects: list}
	for n := range len(answer) + 1 {
		own := &ownModel{answer: answer, piece: n}
		if got := meaning(t, e.Around(own), question()); got != "text I look it up.\ncall get_weather {\"city\":\"Rome\",\"days\":3}\nfinish tool_calls\n" {
			t.Fatalf("in pieces of %d: %s", n, got)
		}
		if !strings.Contains(own.asked.System, "<<call:get_weather") {
			t.Fatalf("the dialect is not taught: %s", own.asked.System)
		}
	}
}
