package agent_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/tool"
)

// The conversation on record is the one that the run ended with: what was asked,
// called and answered. A run that nobody began is an error.
func TestConversation(t *testing.T) {
	store := new(journal.Memory)
	a := agent.Agent{Model: sim.Offline{}, Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(weatherTool())}}
	done, err := a.Ask(t.Context(), llm.User("What is the weather in Rome?"))
	if err != nil {
		t.Fatal(err)
	}
	messages, ended, err := agent.Conversation(t.Context(), store, done.Run)
	if err != nil || !ended {
		t.Fatal(ended, err)
	}
	if d := cmp.Diff(shape(done.Messages), shape(messages)); d != "" || len(messages) != 4 {
		t.Errorf("%d messages: %s", len(messages), d)
	}
	if _, _, err := agent.Conversation(t.Context(), store, "nobody"); err == nil {
		t.Error("a run that nobody began has a conversation")
	}
}

// shape returns who said what, and who called what.
func shape(messages []llm.Message) []string {
	var out []string
	for _, m := range messages {
		line := string(m.Role) + ": " + m.Text()
		for _, c := range m.Calls() {
			line += " " + c.Name + string(c.Args)
		}
		out = append(out, line)
	}
	return out
}
