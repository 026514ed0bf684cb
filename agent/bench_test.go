package agent_test

import (
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// BenchmarkRun is what a run of three turns costs besides the model: without a
// record, and with one in memory.
func BenchmarkRun(b *testing.B) {
	for name, store := range map[string]func() journal.Store{
		"unrecorded": func() journal.Store { return nil },
		"memory":     func() journal.Store { return new(journal.Memory) },
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			tools := runner(counted("a", &n, tool.ReadOnly))
			tools.LoopLimit = -1
			for b.Loop() {
				a := agent.Agent{Model: says(call("1", "a", `{"x":"1"}`), call("2", "a", `{"x":"2"}`), "fine"), Tools: tools, Store: store()}
				if _, err := a.Ask(b.Context(), llm.User("go")); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
