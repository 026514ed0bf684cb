package observe_test

import (
	"context"
	"testing"

	"github.com/toolpost/toolpost/observe"
)

// TestFreeWhenUnset: without an observer nothing that the layers ask allocates.
func TestFreeWhenUnset(t *testing.T) {
	ctx := context.WithValue(t.Context(), struct{ any }{}, 1)
	n := testing.AllocsPerRun(100, func() {
		if observe.From(ctx) != nil || observe.CallOf(ctx) != nil {
			t.Fatal("there is an observer")
		}
		c, run := observe.BeginRun(ctx, observe.Run{ID: "r"})
		c, turn := observe.BeginTurn(c, observe.Turn{N: 1})
		c, call := observe.BeginTool(c, observe.ToolCall{ID: "1"})
		if c != ctx || run != nil || turn != nil || call != nil {
			t.Fatal("something is observed")
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkUnset is what a run, a turn, a question and a call cost without an
// observer, apart from what they do.
func BenchmarkUnset(b *testing.B) {
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		c, _ := observe.BeginRun(ctx, observe.Run{ID: "r"})
		c, _ = observe.BeginTurn(c, observe.Turn{N: 1})
		c, _ = observe.BeginTool(c, observe.ToolCall{ID: "1"})
		if observe.From(c) != nil || observe.CallOf(c) != nil {
			b.Fatal("there is an observer")
		}
	}
}
