package mcpbridge_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/internal/mcptest"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/sim"
)

// asking returns an agent whose model calls the tool that asks for a name.
func asking(t *testing.T, server config.ServerConfig, approve func(context.Context, invoke.Question) (journal.Approval, error)) *agent.Agent {
	t.Helper()
	script, err := sim.ParseScript([]byte("A question.\n-- 1 --\ncall one__ask\n-- 2 --\ntext Done.\n"))
	if err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, client.Options{}, server)
	return &agent.Agent{Model: script, Store: new(journal.Memory), Tools: &invoke.Runner{Tools: toolsOf(t, s), Policy: invoke.AllowAll, Approve: approve}}
}

// said returns the results of the calls of a run.
func said(done agent.Done) string {
	var b strings.Builder
	for _, m := range done.Messages {
		for _, p := range m.Parts {
			if r, ok := p.(llm.Result); ok {
				b.WriteString(r.Text())
			}
		}
	}
	return b.String()
}

// TestElicitation: a question of a server waits for a person like any other, over
// each transport and so in each form of the protocol.
func TestElicitation(t *testing.T) {
	t.Parallel()
	address := mcptest.HTTP(t, mcptest.Ordinary(), nil)
	for name, server := range map[string]config.ServerConfig{
		"stdio": stdio("one", "ordinary"),
		"http":  {Name: "one", URL: address + "/mcp"},
		"sse":   {Name: "one", URL: address + "/sse", Transport: config.SSE},
	} {
		t.Run(name, func(t *testing.T) {
			a := asking(t, server, func(context.Context, invoke.Question) (journal.Approval, error) {
				return journal.Approval{}, new(invoke.PendingError)
			})
			done, err := a.Ask(t.Context(), llm.User("Go."))
			if err != nil || done.Status != agent.StatusPending || len(done.Waiting) != 1 {
				t.Fatalf("the run is %s, waits for %v, %v: %s", done.Status, done.Waiting, err, said(done))
			}
			q := done.Waiting[0]
			if q.Message != "MCP server one asks: Who are you?" || !strings.Contains(string(q.Schema), `"name"`) {
				t.Errorf("the question is %q with %s", q.Message, q.Schema)
			}
			if _, err := agent.Last(a.ResumeWith(t.Context(), done.Run, []agent.Grant{{Call: q.CallID, Allowed: true, Value: json.RawMessage(`{"nom":"Ada"}`)}})); err == nil {
				t.Error("an answer that does not match the schema was taken")
			}
			done, err = agent.Last(a.ResumeWith(t.Context(), done.Run, []agent.Grant{{Call: q.CallID, Allowed: true, Value: json.RawMessage(`{"name":"Ada"}`)}}))
			if err != nil || !strings.Contains(said(done), "accept Ada") {
				t.Errorf("the call returned %q, %v", said(done), err)
			}
		})
	}
}

// TestNobodyToAsk: without anybody, the server is told no, and goes on.
func TestNobodyToAsk(t *testing.T) {
	a := asking(t, stdio("one", "ordinary"), nil)
	done, err := a.Ask(t.Context(), llm.User("Go."))
	if err != nil || !strings.Contains(said(done), "decline") {
		t.Errorf("the call returned %q, %v", said(done), err)
	}
}
