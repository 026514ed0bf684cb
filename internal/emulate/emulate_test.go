package emulate

import (
	"encoding/json"
	"fmt"
	"iter"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/internal/emulate/internal/questions"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// say returns the events of an answer in text, in pieces of n bytes.
func say(text string, n int, reason llm.Reason) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for i := 0; i < len(text); i += max(n, 1) {
			if !yield(llm.TextDelta{Text: text[i:min(i+max(n, 1), len(text))]}, nil) {
				return
			}
		}
		yield(llm.Finish{Reason: reason}, nil)
	}
}

// answer reads an answer as a plan says.
func (p *EmulatedRequest) answer(t *testing.T, raw iter.Seq2[llm.Event, error]) *llm.Response {
	t.Helper()
	var b llm.Builder
	for ev, err := range p.Read(raw) {
		if err != nil {
			t.Fatal(err)
		}
		b.Add(ev)
	}
	return b.Response()
}

// Every style that can be taught is read back, however the answer is cut.
func TestStyles(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: questions.Tools}
	call := llm.Call{ID: "call_1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}
	for style, want := range map[string]string{
		"": "json_fence", "json": "json_fence", "markdown": "json_fence", "xml": "claude_xml", "pythonic": "pythonic", "hermes": "hermes_json",
	} {
		e := Emulation{Style: style}
		out, err := e.Plan(req)
		if err != nil {
			t.Fatalf("%s: %v", style, err)
		}
		if out.Dialect != want || len(out.Request.Tools) > 0 || !strings.Contains(out.Request.System, "get_weather") || len(out.Request.Stop) == 0 {
			t.Errorf("%s: dialect %s, stop %v, system %q", style, out.Dialect, out.Request.Stop, out.Request.System)
		}
		text, err := dialect.Builtin().Render(want, llm.Text{Text: "I look it up.\n"}, call)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= len(text); n++ {
			r := out.answer(t, say(text, n, llm.Stop))
			calls := r.Message.Calls()
			if len(calls) != 1 || calls[0].Name != call.Name || js.Decode[map[string]string](calls[0].Args)["city"] != "Rome" || r.Finish.Reason != llm.ToolCalls || !strings.HasPrefix(r.Message.Text(), "I look it up.") {
				t.Fatalf("%s in pieces of %d: %+v", style, n, r)
			}
		}
	}
	if _, err := (Emulation{Style: "morse"}).Plan(req); llm.KindOf(err) != llm.Unsupported {
		t.Errorf("an unknown style: %v", err)
	}
}

// A turn of the history is written as the model was taught to write it: what
// it is shown is one text, and reads as the same text and the same calls.
func TestHistoryReadsBack(t *testing.T) {
	rome := llm.Call{ID: "c1", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}
	oslo := llm.Call{ID: "c2", Name: "get_weather", Args: json.RawMessage(`{"city":"Oslo"}`)}
	req := &llm.Request{Tools: questions.Tools, Messages: []llm.Message{
		llm.User("Weather in Rome and Oslo?"),
		llm.Assistant(llm.Thinking{Text: "Two cities."}, llm.Text{Text: "I look "}, llm.Text{Text: "it up."}, rome, oslo),
		llm.Results(llm.Result{CallID: "c1", Parts: []llm.Part{llm.Text{Text: "21"}}}, llm.Result{CallID: "c2", Parts: []llm.Part{llm.Text{Text: "3"}}}),
	}}
	type way struct {
		name string
		Emulation
		tools []llm.ToolDef
	}
	ways := []way{{"constrained", Emulation{Host: OutputHost}, questions.Tools}, {"without tools", Emulation{}, nil}}
	for _, style := range Styles() {
		ways = append(ways, way{style, Emulation{Style: style}, questions.Tools})
	}
	for _, w := range ways {
		asked := req.Clone()
		asked.Tools = w.tools
		out, err := w.Plan(asked)
		if err != nil {
			t.Fatalf("%s: %v", w.name, err)
		}
		said := out.Request.Messages[1]
		if _, ok := said.Parts[0].(llm.Thinking); !ok || len(said.Parts) != 2 {
			t.Errorf("%s: the turn became %+v", w.name, said.Parts)
		}
		p := dialect.Parser{Tools: questions.Tools, Dialect: out.Dialect}
		var text, cities string
		for ev, err := range p.Parse(dialect.Whole(said.Text())) {
			if err != nil {
				t.Fatal(err)
			}
			switch ev := ev.(type) {
			case llm.TextDelta:
				text += ev.Text
			case llm.Call:
				cities += js.Decode[map[string]string](ev.Args)["city"] + " "
			}
		}
		if strings.TrimSpace(text) != "I look it up." || cities != "Rome Oslo " {
			t.Errorf("%s: %q reads as the text %q and calls for %q", w.name, said.Text(), text, cities)
		}
	}
}

// A long conversation is reminded of the notation, results stand in the form
// the style knows, and families without a system turn are told in the user's.
func TestTaughtHistory(t *testing.T) {
	call := llm.Call{ID: "c", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}
	messages := []llm.Message{
		llm.User("Weather in Rome?"), llm.Assistant(call),
		llm.Results(llm.Result{CallID: "c", Name: "get_weather", Parts: []llm.Part{llm.Text{Text: "21 </tool_response> degrees"}}}),
	}
	for len(messages) < reminded {
		messages = append(messages, llm.Assistant(llm.Text{Text: "Warm."}), llm.User("And now?"))
	}
	req := &llm.Request{System: "Be kind.", Messages: messages, Tools: questions.Tools}
	out, err := Emulation{Style: "hermes"}.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(out.Request.System, "Be kind.") {
		t.Errorf("system %q", out.Request.System)
	}
	if text := out.Request.Messages[2].Text(); !strings.Contains(text, "<tool_response>") || strings.Count(text, "</tool_response>") != 1 {
		t.Errorf("a result ends its own wrapper: %q", text)
	}
	last := out.Request.Messages[len(out.Request.Messages)-1].Text()
	if !strings.HasSuffix(last, "And now?") || !strings.Contains(last, "tool") {
		t.Errorf("no reminder: %q", last)
	}
	out, err = Emulation{Style: "json", Family: "gemma"}.Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	if first := out.Request.Messages[0].Text(); out.Request.System != "" || !strings.HasPrefix(first, "Be kind.") || !strings.HasSuffix(first, "Weather in Rome?") {
		t.Errorf("gemma: system %q, first turn %q", out.Request.System, first)
	}
	if diff := cmp.Diff(messages[0].Text(), req.Messages[0].Text()); diff != "" {
		t.Errorf("the caller's request was changed: %s", diff)
	}
}

// smallEmulation is for a model of 135 million parameters at a llama.cpp server.
func smallEmulation() Emulation {
	return Emulation{Family: "smollm", Size: 135_000_000, Context: 8192, Decider: testDecider, Host: Host{
		Schema:  func(req *llm.Request, s json.RawMessage) { hold(req, "json_schema", s) },
		Grammar: func(req *llm.Request, g string) { hold(req, "grammar", js.Marshal(g)) },
	}}
}

func hold(req *llm.Request, key string, value json.RawMessage) {
	req.Extra = llm.Extra{"chat": {key: value}}
}

// grammarOf returns the grammar that a request is held to; nil if there is none.
func grammarOf(t *testing.T, req *llm.Request) *gbnf {
	t.Helper()
	raw := req.Extra["chat"]["grammar"]
	if raw == nil {
		return nil
	}
	return readGrammar(t, js.Decode[string](raw))
}

// Whatever the host lets a small model write arrives as the calls that were
// chosen, with valid arguments; whatever is cut arrives as none.
func TestSmall(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for text, want := range map[string]int{
		"What is the weather in Rome for 3 days?":                        1,
		"Get the weather in Rome and set a timer for 5 minutes.":         2,
		"Convert 20 euros to dollars. Then set a timer for two minutes.": 2,
	} {
		out, err := smallEmulation().Plan(&llm.Request{Messages: []llm.Message{llm.User(text)}, Tools: questions.Tools})
		if err != nil {
			t.Fatal(err)
		}
		g := grammarOf(t, out.Request)
		for range 50 {
			answer := g.write(r)
			got := out.answer(t, say(answer, 1+r.IntN(9), llm.Stop))
			if calls := got.Message.Calls(); len(calls) != want || len(got.Invalid) > 0 || !validCalls(calls) || got.Finish.Reason != llm.ToolCalls {
				t.Fatalf("%s: %s gives %+v", text, answer, got)
			}
			cut := answer[:1+r.IntN(len(answer)-1)]
			got = out.answer(t, say(cut, 3, llm.Stop))
			// Calls that were closed before the cut are whole.
			if want == 1 && len(got.Message.Calls()) > 0 || got.Finish.Reason != llm.Length || !validCalls(got.Message.Calls()) {
				t.Fatalf("%s: cut to %s gives %+v", text, cut, got)
			}
		}
	}
}

func validCalls(calls []llm.Call) bool {
	for _, c := range calls {
		for _, d := range questions.Tools {
			if d.Name == c.Name && len(schema.MustCompile(d.Schema).Validate(c.Args)) > 0 {
				return false
			}
		}
	}
	return true
}

// The gate says what it decided and what it withheld, is silent when it is
// off, and never stands before a demanded call.
func TestSmallIsVisible(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{llm.User("Why is the sky blue?")}, Tools: questions.Tools}
	e := smallEmulation()
	out, err := e.Plan(req)
	if err != nil || grammarOf(t, out.Request) != nil || len(out.Warnings) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	for _, part := range []string{"0.23", "get_weather, convert_currency, set_timer", "gate: off"} {
		if !strings.Contains(out.Warnings[0].Detail, part) {
			t.Errorf("%q does not say %q", out.Warnings[0].Detail, part)
		}
	}
	file := &llm.Request{Messages: []llm.Message{llm.User("What is in config.toml?")}, Tools: questions.Tools}
	if out, err = e.Plan(file); err != nil || len(out.Warnings) != 2 || out.Warnings[1].Feature != FromMemory {
		t.Errorf("a request that names a file is answered from memory in silence: %+v, %v", out, err)
	}
	req.Choice.Mode = llm.MustCall
	if out, err = e.Plan(req); err != nil || grammarOf(t, out.Request) == nil {
		t.Errorf("a demanded call was gated: %v", err)
	}
	req.Choice = llm.ToolChoice{Mode: llm.MustNotCall}
	if out, err = e.Plan(req); err != nil || grammarOf(t, out.Request) != nil || len(out.Warnings) > 0 {
		t.Errorf("no call was wanted: %+v, %v", out, err)
	}
	req.Choice = llm.ToolChoice{}
	e.Gate = GateOff
	if out, err = e.Plan(req); err != nil || grammarOf(t, out.Request) == nil {
		t.Fatalf("without the gate the model decides: %v", err)
	}
	for _, d := range questions.Tools {
		if !strings.Contains(out.Request.System, d.Name) {
			t.Errorf("without the gate %s is missing", d.Name)
		}
	}
}

// Where the host takes a grammar, a larger model may speak before it calls, or
// instead of it.
func TestProseBeforeCalls(t *testing.T) {
	e := smallEmulation()
	e.Size = 8_000_000_000
	req := &llm.Request{Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Tools: questions.Tools}
	r := rand.New(rand.NewPCG(7, 8))
	spoke, called := 0, 0
	for _, mode := range []llm.ChoiceMode{llm.MayCall, llm.MustCall} {
		req.Choice.Mode = mode
		out, err := e.Plan(req)
		if err != nil {
			t.Fatal(err)
		}
		g := grammarOf(t, out.Request)
		for range 200 {
			text := g.write(r)
			got := out.answer(t, say(text, 5, llm.Stop))
			if strings.TrimSpace(got.Message.Text()) != "" {
				spoke++
			}
			called += len(got.Message.Calls())
			if mode == llm.MustCall && len(got.Message.Calls()) == 0 || !validCalls(got.Message.Calls()) {
				t.Fatalf("mode %v: %q gives %+v", mode, text, got)
			}
		}
	}
	if spoke == 0 || called == 0 {
		t.Errorf("spoke %d times, called %d", spoke, called)
	}
}

// A small model reads a request after results as a question to answer.
func TestSmallHistory(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{
		llm.User("What is the weather in Rome?"),
		llm.Assistant(llm.Call{ID: "c", Name: "get_weather", Args: json.RawMessage(`{"city":"Rome"}`)}),
		llm.Results(llm.Result{CallID: "c", Name: "get_weather", Parts: []llm.Part{llm.Text{Text: "21 degrees"}}}),
	}, Tools: questions.Tools}
	out, err := smallEmulation().Plan(req)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, m := range out.Request.Messages {
		fmt.Fprintf(&b, "%s: %s\n", m.Role, m.Text())
	}
	const want = "user: What is the weather in Rome?\nget_weather returned: 21 degrees\nAnswer this in a sentence: What is the weather in Rome?\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Error(diff)
	}
}
