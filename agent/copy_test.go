package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// marked is a tool with a definition that refers to much.
func marked() tool.Tool {
	t := tool.Func("look", "Looks.", func(context.Context, struct {
		Where string `json:"where"`
	}) (string, error) {
		return "nothing", nil
	})
	t.Effects = tool.ReadOnly
	t.Extra = llm.Extra{"messages": {"eager": json.RawMessage(`"yes"`)}}
	t.Examples = []json.RawMessage{json.RawMessage(`{"where":"here"}`)}
	return t
}

// scribble changes all that a plan refers to. It fails if somebody did before.
func scribble(p *agent.TurnStart) error {
	d := &p.Tools[0]
	if d.Extra["messages"]["cache_control"] != nil || string(d.Extra["messages"]["eager"]) != `"yes"` || !bytes.Contains(d.Schema, []byte(`"where"`)) ||
		string(d.Examples[0]) != `{"where":"here"}` || *p.Request.Temperature != 1 || string(p.Request.Output.Schema) != `{"type":"object"}` ||
		p.Request.Stop[0] != "END" || p.Messages[0].Parts[0].(llm.Text).Extra["messages"]["cache_control"] != nil {
		return fmt.Errorf("what a hook changed is still there: %+v %+v", p.Tools, p.Request)
	}
	d.Extra["messages"]["cache_control"] = json.RawMessage(`{"type":"ephemeral"}`)
	d.Extra["messages"]["eager"][1] = 'Y'
	d.Schema[bytes.Index(d.Schema, []byte(`where`))] = 'W'
	d.Examples[0][2] = 'W'
	*p.Request.Temperature = 2
	p.Request.Output.Schema[2] = 'T'
	p.Request.Stop[0] = "NOW"
	p.Messages[0].Parts[0].(llm.Text).Extra["messages"]["cache_control"] = json.RawMessage(`{}`)
	for _, m := range p.Messages {
		for _, part := range m.Parts {
			if c, ok := part.(llm.Call); ok {
				c.Args[10] = 'z'
			}
		}
	}
	p.Request.Output = nil
	return nil
}

// TestPlanIsACopy: whatever a hook writes to, and however deep, counts for its turn: not
// for the next one, not for the tools, the Agent and the conversation, and not for runs
// beside it.
func TestPlanIsACopy(t *testing.T) {
	warm := 1.0
	set := tool.MustSet(marked())
	a := agent.Agent{ID: "m", Tools: &invoke.Runner{Tools: set},
		Request: llm.Request{Temperature: &warm, Stop: []string{"END"}, Output: &llm.OutputFormat{Schema: json.RawMessage(`{"type":"object"}`)}}}
	a.BeforeTurn = func(_ context.Context, p *agent.TurnStart) error { return scribble(p) }
	before, err := json.Marshal(set.Defs())
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			own := a
			own.Model = says(call("1", "look", `{"where":"a"}`), call("2", "look", `{"where":"b"}`), "Done.")
			said := llm.User("go")
			said.Parts[0] = llm.Text{Text: "go", Extra: llm.Extra{"messages": {}}}
			done, err := own.Ask(context.Background(), said)
			if err != nil || done.Text != "Done." {
				t.Errorf("%v, %q", err, done.Text)
			}
			if got := conversation(done.Messages); strings.Contains(got, `"z"`) || said.Parts[0].(llm.Text).Extra["messages"]["cache_control"] != nil {
				t.Errorf("the conversation is\n%s", got)
			}
		})
	}
	all.Wait()
	if after, err := json.Marshal(set.Defs()); err != nil || string(after) != string(before) || warm != 1 || a.Request.Stop[0] != "END" {
		t.Errorf("%v: the tools are\n%s\nthey were\n%s\nthe temperature is %v", err, after, before, warm)
	}
}

// TestTurnEndIsACopy: a hook that writes to the conversation it is shown writes to its own.
func TestTurnEndIsACopy(t *testing.T) {
	m := &reader{Model: says(call("1", "look", `{"where":"a"}`), "Done.")}
	a := agent.Agent{Model: m, Tools: runner(marked()), AfterTurn: func(_ context.Context, e agent.TurnEnd) (string, error) {
		for _, msg := range e.Messages {
			for i, part := range msg.Parts {
				switch part := part.(type) {
				case llm.Call:
					copy(part.Args, "[]")
				case llm.Result:
					part.Parts[0] = llm.Text{Text: "changed"}
				}
				msg.Parts[i] = llm.Text{Text: "changed"}
			}
		}
		return "", nil
	}}
	l := run(t, &a, "go")
	if l.err != nil || l.done.Text != "Done." {
		t.Fatal(l.err, l.done.Text)
	}
	b, err := json.Marshal([]any{l.done.Messages, m.asked[1].Messages})
	if err != nil || strings.Contains(string(b), "changed") {
		t.Errorf("%v: %s", err, b)
	}
}
