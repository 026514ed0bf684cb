package agent_test

import (
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/llm"
)

// Whoever runs the calls, they have the same arguments: those that match the
// schema, with what it took to get there on the call.
func TestCallerGetsArgumentsThatMatch(t *testing.T) {
	def := llm.ToolDef{Name: "add", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}
	for _, c := range []struct {
		args, want string
		repairs    int
	}{
		{`{"n":3}`, `{"n":3}`, 0},
		{`{"n":3.0}`, `{"n":3.0}`, 0},
		{`{"n":"3"}`, `{"n":3}`, 1},
	} {
		l := run(t, &agent.Agent{Model: says(call("1", "add", c.args)), Caller: []llm.ToolDef{def}}, "go")
		if len(l.done.Calls) != 1 || string(l.done.Calls[0].Args) != c.want || len(l.done.Calls[0].Provenance.Repairs) != c.repairs {
			t.Errorf("%s: got %+v", c.args, l.done.Calls)
		}
		if said := l.done.Messages[1].Calls()[0].Args; string(said) != c.args {
			t.Errorf("the conversation holds %s instead of what the model said", said)
		}
	}
	l := run(t, &agent.Agent{Model: says(call("1", "add", ` `)), Caller: []llm.ToolDef{{Name: "add"}}}, "go")
	if len(l.done.Calls) != 1 || string(l.done.Calls[0].Args) != `{}` {
		t.Errorf("blank arguments: got %+v", l.done)
	}
}
