package observing_test

import (
	"context"
	"testing"

	"github.com/toolpost/toolpost/internal/observe/observing"
	"github.com/toolpost/toolpost/observe"
)

// TestFreeWhenUnset: without an observer nothing that the layers ask allocates.
func TestFreeWhenUnset(t *testing.T) {
	ctx := context.WithValue(t.Context(), struct{ any }{}, 1)
	n := testing.AllocsPerRun(100, func() {
		if observe.From(ctx) != nil || observing.CallOf(ctx) != nil {
			t.Fatal("there is an observer")
		}
		c, run := observing.BeginRun(ctx, observe.Run{ID: "r"})
		c, turn := observing.BeginTurn(c, observe.Turn{N: 1})
		c, call := observing.BeginTool(c, observe.ToolCall{ID: "1"})
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
		c, _ := observing.BeginRun(ctx, observe.Run{ID: "r"})
		c, _ = observing.BeginTurn(c, observe.Turn{N: 1})
		c, _ = observing.BeginTool(c, observe.ToolCall{ID: "1"})
		if observe.From(c) != nil || observing.CallOf(c) != nil {
			b.Fatal("there is an observer")
		}
	}
}
