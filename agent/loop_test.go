package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

func TestTurnsAreBounded(t *testing.T) {
	n := 0
	again := func() llm.Model {
		return says(call("1", "step", `{"n":1}`), call("2", "step", `{"n":2}`), call("3", "step", `{"n":3}`))
	}
	a := &agent.Agent{Model: again(), Tools: runner(counted("step", &n, 0)), MaxTurns: 2, NoLastTurn: true}
	if l := run(t, a, "go"); l.err == nil || !strings.Contains(l.err.Error(), "Agentic loop exceeded maximum iterations (2)") || n != 2 {
		t.Errorf("ran %d, error %v", n, l.err)
	}
	a = &agent.Agent{Model: again(), Tools: runner(counted("step", &n, 0)), MaxTurns: 2}
	n = 0
	l := run(t, a, "go") // the model calls even when it must not
	if l.err == nil || n != 2 || !l.done.Partial {
		t.Errorf("ran %d, error %v", n, l.err)
	}
	valid(t, l.done.Messages)
	m := a.Model.(*actor)
	if c := m.asked[2].Choice; c.Mode != llm.MustNotCall {
		t.Errorf("the last question leaves %v", c)
	}
	a = &agent.Agent{Model: again(), Tools: runner(counted("step", &n, 0)), Tokens: 20}
	if l := run(t, a, "go"); l.err == nil || !strings.Contains(l.err.Error(), "20 tokens") || l.done.Turns != 2 {
		t.Errorf("turns %d, error %v", l.done.Turns, l.err)
	}
}

// TestOneBudget: whatever is wrong with the answers, they are asked for again as
// often as the budget says and no more; progress fills it.
func TestOneBudget(t *testing.T) {
	n := 0
	bad, good := call("", "step", `[]`), call("", "step", `{}`)
	for _, c := range []struct {
		name  string
		says  []any
		asked int
		ok    bool
	}{
		{"enough", []any{bad, failed(llm.Incomplete, ""), "fine"}, 3, true},
		{"mixed", []any{bad, failed(llm.Incomplete, ""), "", "fine"}, 3, false},
		{"only empty", []any{"", "", "", "fine"}, 3, false},
		{"only broken", []any{failed(llm.Malformed, "")}, 3, false},
		{"progress fills it", []any{bad, "", good, bad, "", "fine"}, 6, true},
		{"two at once count once", []any{[]llm.Part{bad, bad}, bad, "fine"}, 3, true},
	} {
		m := says(c.says...)
		l := run(t, &agent.Agent{Model: m, Tools: runner(counted("step", &n, 0)), RetryBudget: 2}, "go")
		if len(m.asked) != c.asked || c.ok != (l.err == nil) {
			t.Errorf("%s: asked %d times, error %v", c.name, len(m.asked), l.err)
		}
		for _, req := range m.asked {
			if req.RetryBudget == nil {
				t.Errorf("%s: a question without the budget", c.name)
			}
		}
	}
}

func TestACallIsDemandedOnce(t *testing.T) {
	n := 0
	m := says(call("1", "a", `{}`), "fine")
	a := &agent.Agent{Model: m, Tools: runner(counted("a", &n, 0)), Request: llm.Request{Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "a"}}}
	if l := run(t, a, "go"); l.err != nil || m.asked[0].Choice.Mode != llm.MustCall || m.asked[1].Choice.Mode != llm.MayCall {
		t.Errorf("choices %v and %v, error %v", m.asked[0].Choice, m.asked[1].Choice, l.err)
	}
	a.Model = says("no")
	l := run(t, a, "go")
	var e *tool.Error
	if !errors.As(l.err, &e) || e.Code != tool.ModelRefusal || len(a.Model.(*actor).asked) != 2 {
		t.Errorf("asked %d times, error %v", len(a.Model.(*actor).asked), l.err)
	}
}

func TestWhatAModelWroteGoesBackAsItWroteIt(t *testing.T) {
	n := 0
	raw := `<tool_call>{"name":"stop","arguments":{}}</tool_call>`
	for _, c := range []struct {
		name string
		line line
		want []string // of the conversation after it
	}{
		{"a dialect's text", line{invalid: []llm.InvalidCall{{ID: "1", Name: "stop", Raw: raw, Reason: llm.UnknownTool, Problem: "there is no tool stop", Nearest: []string{"step"}, Provenance: llm.Provenance{Dialect: "hermes_json"}}}},
			[]string{"assistant " + raw, "user The call of stop is not valid. (attempt 1 of 3)"}},
		{"a vendor's call", line{invalid: []llm.InvalidCall{{ID: "1", Name: "stop", Raw: `{"a":1}`, Reason: llm.NotAllowed, Problem: "it was not allowed"}}},
			[]string{"assistant call stop", "tool The call of stop was refused: it is not permitted."}},
		{"arguments that are no JSON", line{parts: []llm.Part{llm.Text{Text: "Now."}}, invalid: []llm.InvalidCall{{ID: "1", Name: "step", Raw: `{"a":`, Reason: llm.CutOff, Problem: "cut off"}}, finish: llm.Finish{Reason: llm.Length}},
			[]string{"assistant Now.", "user The call of step is not valid. (attempt 1 of 3)"}},
	} {
		m := says(c.line, "fine")
		l := run(t, &agent.Agent{Model: m, Tools: runner(counted("step", &n, 0))}, "go")
		if l.err != nil || len(m.asked) != 2 {
			t.Errorf("%s: asked %d times, error %v", c.name, len(m.asked), l.err)
			continue
		}
		var got []string
		for _, msg := range m.asked[1].Messages[1:] {
			text := msg.Text()
			for _, p := range msg.Parts {
				switch p := p.(type) {
				case llm.Call:
					text += "call " + p.Name
				case llm.Result:
					text += p.Text()
				}
			}
			first, _, _ := strings.Cut(text, "\n")
			got = append(got, string(msg.Role)+" "+first)
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	if n != 0 {
		t.Errorf("%d calls ran", n)
	}
}

func TestIDsAreUnique(t *testing.T) {
	n := 0
	m := says([]llm.Part{call("x", "a", `{}`), call("x", "a", `{"n":1}`)}, call("x", "a", `{"n":2}`), call("", "a", `{"n":3}`), "fine")
	l := run(t, &agent.Agent{Model: m, Tools: runner(counted("a", &n, 0)), Store: new(journal.Memory)}, "go")
	seen := make(map[string]bool)
	for _, c := range of[llm.Call](l) {
		if seen[c.ID] || c.ID == "" {
			t.Errorf("id %q twice", c.ID)
		}
		seen[c.ID] = true
	}
	if n != 4 || l.err != nil {
		t.Errorf("ran %d, error %v", n, l.err)
	}
	valid(t, l.done.Messages)
}

func TestCheckpointsOfModels(t *testing.T) {
	for _, c := range []struct {
		choices []agent.Choice
		says    []any
		text    string
		fails   bool
		sealed  bool
	}{
		{[]agent.Choice{{Action: agent.Retry, By: "ada"}}, []any{failed(llm.Auth, ""), "fine"}, "fine", false, true},
		{[]agent.Choice{{Action: agent.Manual, Text: "try harder", By: "ada"}}, []any{failed(llm.Server, ""), "fine"}, "fine", false, true},
		{[]agent.Choice{{Action: agent.Abort, By: "ada"}}, []any{failed(llm.Server, ""), "fine"}, "", true, true},
		{[]agent.Choice{{Action: agent.Skip, By: "ada"}}, []any{failed(llm.Server, ""), "fine"}, "", true, false}, // not on offer
		{nil, []any{failed(llm.Server, ""), "fine"}, "", true, false},
	} {
		store := new(journal.Memory)
		a := &agent.Agent{Model: says(c.says...), ID: "gpt-9", Store: store}
		if c.choices != nil {
			a.Checkpoint = func(_ context.Context, p agent.Checkpoint) (agent.Choice, error) {
				if p.Model != "gpt-9" || p.Error == nil || p.Error.Fix == "" || p.Cause != agent.ModelFailed {
					t.Errorf("checkpoint %+v", p)
				}
				return c.choices[0], nil
			}
		}
		l := run(t, a, "go")
		if l.done.Text != c.text || c.fails != (l.err != nil) || l.done.Open == c.sealed {
			t.Errorf("%v: text %q, open %v, error %v", c.choices, l.done.Text, l.done.Open, l.err)
		}
		if len(of[agent.Checkpoint](l)) != 1 {
			t.Errorf("%v: %d checkpoints", c.choices, len(of[agent.Checkpoint](l)))
		}
		if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
			t.Errorf("%v: the replay differs: %v", c.choices, err)
		}
	}
}

func TestAPersonWhoWasAskedIsNotAskedAgain(t *testing.T) {
	n := 0
	tl := counted("a", &n, 0)
	tl.Origin = tool.MCP
	a := &agent.Agent{Model: says(call("1", "a", `{}`), "fine"), Tools: runner(tl),
		Checkpoint: func(context.Context, agent.Checkpoint) (agent.Choice, error) {
			t.Error("the person had refused already")
			return agent.Choice{Action: agent.Skip}, nil
		}}
	a.Tools.Policy = invoke.AskFirst(nil)
	a.Tools.Approve = func(_ context.Context, q invoke.Question) (journal.Approval, error) {
		return q.Answer(false, "ada", "no"), nil
	}
	if l := run(t, a, "go"); l.err != nil || n != 0 {
		t.Errorf("ran %d, error %v", n, l.err)
	}
}

func TestContextIsOutgrown(t *testing.T) {
	long := strings.Repeat("é", 9000)
	tl := tool.Func("read", "Reads.", func(context.Context, struct {
		N int `json:"n"`
	}) (string, error) {
		return long, nil
	})
	tl.Effects = tool.ReadOnly
	store := new(journal.Memory)
	too := failed(llm.TooLong, "")
	m := says(call("1", "read", `{"n":1}`), call("2", "read", `{"n":2}`), call("3", "read", `{"n":3}`), too, too, "fine")
	l := run(t, &agent.Agent{Model: m, Tools: runner(tl), Store: store, RetryBudget: -1}, "go")
	if l.err != nil || len(of[agent.Shortened](l)) != 2 {
		t.Fatalf("shortened %v, error %v", of[agent.Shortened](l), l.err)
	}
	sizes := func(req *llm.Request) (out []int) {
		for _, msg := range req.Messages {
			for _, p := range msg.Parts {
				if r, ok := p.(llm.Result); ok {
					out = append(out, len([]rune(r.Text())))
				}
			}
		}
		return out
	}
	last := sizes(m.asked[len(m.asked)-1])
	if last[0] > 600 || last[1] > 600 || last[2] < 9000 {
		t.Errorf("results have %v characters: the oldest go first", last)
	}
	if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
		t.Error(err)
	}
	m = says(call("1", "read", `{"n":1}`), too)
	l = run(t, &agent.Agent{Model: m, ID: "tiny", Tools: runner(tl)}, "go")
	if llm.KindOf(l.err) != llm.TooLong || !strings.Contains(l.err.Error(), "longer than tiny can take") || len(m.asked) > 5 {
		t.Errorf("asked %d times, error %v", len(m.asked), l.err)
	}
	l = run(t, &agent.Agent{Model: says("hi"), Context: 10}, strings.Repeat("word ", 100))
	if llm.KindOf(l.err) != llm.TooLong {
		t.Errorf("error %v", l.err)
	}
}

func TestReplayFindsTheFirstDifference(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	a := &agent.Agent{Model: says(call("1", "a", `{}`), "fine"), Tools: runner(counted("a", &n, 0)), Store: store, NewRun: func() string { return "r" }}
	if l := run(t, a, "go"); l.err != nil {
		t.Fatal(l.err)
	}
	changed := new(journal.Memory)
	for e := range journal.Whole(store.Read(t.Context(), "r", 0)) { // what the tool said is changed
		e.Body = []byte(strings.ReplaceAll(string(e.Body), "a is done", "a is not done"))
		if e.Kind == journal.KindRequest {
			e.Body = []byte(strings.ReplaceAll(string(e.Body), "a is not done", "a is done"))
		}
		if _, err := changed.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	err := agent.Replay(t.Context(), changed, "r")
	var d *journal.Difference
	if !errors.As(err, &d) || d.What != "request 2" || !strings.Contains(d.Was, "a is done") || !strings.Contains(d.Is, "a is not done") {
		t.Errorf("got %v", err)
	}
	if err := agent.Replay(t.Context(), store, "nothing"); err == nil || errors.As(err, &d) {
		t.Errorf("a run that is not there: %v", err)
	}
	if n != 1 {
		t.Errorf("a ran %d times", n)
	}
}

func TestAgainst(t *testing.T) {
	n := 0
	store := new(journal.Memory)
	a := &agent.Agent{Model: says(call("1", "a", `{"x":1}`), call("2", "a", `{"x":2}`), "fine"), Tools: runner(counted("a", &n, 0)), Store: store}
	l := run(t, a, "go")
	var same []bool
	for c, err := range agent.Against(t.Context(), store, l.done.Run, says(call("9", "a", `{ "x": 1 }`), call("9", "a", `{"x":3}`), "otherwise")) {
		if err != nil {
			t.Fatal(err)
		}
		same = append(same, c.Same)
	}
	if diff := cmp.Diff([]bool{true, false, true}, same); diff != "" || n != 2 {
		t.Errorf("ran %d: %s", n, diff)
	}
	for _, err := range agent.Against(t.Context(), store, "nothing", says("x")) {
		if err == nil {
			t.Error("a run that is not there was compared")
		}
	}
}

// TestStructuredOutputInTheLoop: structured output beside tools, by the numbers of the
// requirements.
func TestStructuredOutputInTheLoop(t *testing.T) {
	n := 0
	out := llm.Request{Output: &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string"}},"required":["answer"],"additionalProperties":false}`)}}
	for _, c := range []struct {
		name       string
		says       []any
		asked, ran int
		value      string
	}{
		{"2.2 text JSON", []any{`{"answer":"x"}`}, 1, 0, `{"answer":"x"}`},
		{"2.2 the other tools first", []any{call("1", "mcp", `{}`), `{"answer":"x"}`}, 2, 1, `{"answer":"x"}`},
		{"2.6 a call is no parse error", []any{call("1", "mcp", `{}`), call("2", "mcp", `{"n":2}`), call("3", "mcp", `{"n":3}`), `{"answer":"x"}`}, 4, 3, `{"answer":"x"}`},
		{"2.2 an answer beside calls is given again", []any{[]llm.Part{call("1", "emit_output", `{"answer":"early"}`), call("2", "mcp", `{}`)}, call("3", "emit_output", `{"answer":"x"}`)}, 2, 1, `{"answer":"x"}`},
		{"2.3 recovery within the loop", []any{call("1", "mcp", `{}`), `{"answer":[1]}`, "no", `{"answer":"x"}`}, 4, 1, `{"answer":"x"}`},
		{"2.3 exhausted", []any{"no"}, 3, 0, ""},
	} {
		n = 0
		m := says(c.says...)
		l := run(t, &agent.Agent{Model: m, Tools: runner(counted("mcp", &n, 0)), Request: out}, "go")
		if len(m.asked) != c.asked || n != c.ran || string(l.done.Value) != c.value || (c.value == "") != (l.err != nil) {
			t.Errorf("%s: asked %d times, ran %d, value %s, error %v", c.name, len(m.asked), n, l.done.Value, l.err)
		}
		var e *refine.OutputError
		if c.value == "" && (!errors.As(l.err, &e) || len(e.Attempts) != 3) {
			t.Errorf("%s: error %v", c.name, l.err)
		}
	}
}

// TestATextThatIsACall: a text that is nothing but a call is questioned once;
// said again, it is the answer. Text with more in it is an answer at once.
func TestATextThatIsACall(t *testing.T) {
	n := 0
	for _, c := range []struct {
		says  []any
		asked int
		told  string
	}{
		{[]any{"```json\n{\"tool\":\"b\",\"arguments\":{\"x\":1}}\n```", "fine"}, 2, `there is no tool called "b"`},
		{[]any{"<tool_call>\n{\"name\":\"a\",\"arguments\":{}}\n</tool_call>\n```", "fine"}, 1, ""},
		{[]any{"[TOOL_CALLS] [{\"name\":\"a\",\"arguments\":{}}]", "fine"}, 2, "a call of a was written as text"},
		{[]any{`{"tool":"b","arguments":{}}`}, 2, `there is no tool called "b"`},
		{[]any{`An example: {"tool":"b","arguments":{}}`, "fine"}, 1, ""},
		{[]any{`{"name":"Bob","age":3}`, "fine"}, 1, ""},
	} {
		m := says(c.says...)
		l := run(t, &agent.Agent{Model: m, Tools: runner(counted("a", &n, 0))}, "go")
		if l.err != nil || len(m.asked) != c.asked {
			t.Errorf("%q: asked %d times, error %v", c.says[0], len(m.asked), l.err)
			continue
		}
		if c.asked == 2 {
			last := m.asked[1].Messages
			if text := last[len(last)-1].Text(); !strings.Contains(text, c.told) {
				t.Errorf("%q: the model was told %q", c.says[0], text)
			}
		}
	}
}
