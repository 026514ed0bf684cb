package eval_test

import (
	"context"
	"fmt"
	"iter"
	"testing"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// instant answers at once, so that a run costs only what the runner adds.
type instant struct{}

func (instant) Stream(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		_ = yield(llm.Call{ID: "call_1", Name: "get_weather", Args: []byte(`{"city":"Rome"}`)}, nil) &&
			yield(llm.Finish{Reason: llm.ToolCalls}, nil)
	}
}

// BenchmarkRun is the cost of one case next to its answer: to ask, to record and, in the end, to score.
func BenchmarkRun(b *testing.B) {
	store, err := journal.OpenDir(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	s := &eval.Suite{Name: "bench"}
	for i := range b.N {
		s.Cases = append(s.Cases, eval.Case{
			ID: fmt.Sprint("case ", i), Messages: []llm.Message{llm.User("What is the weather in Rome?")}, Weight: 1,
			Tools:  []llm.ToolDef{{Name: "get_weather", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}},
			Expect: eval.Expect{Calls: []eval.ExpectedCall{{Name: "get_weather", Args: map[string]eval.Match{"city": {Value: []byte(`"Rome"`)}}}}},
		})
	}
	r := &eval.Evaluator{Store: store, Models: []string{"a"}, Open: func(string) (llm.Model, error) { return instant{}, nil }}
	b.ReportAllocs()
	b.ResetTimer()
	run, err := r.Run(b.Context(), s)
	if err != nil {
		b.Fatal(err)
	}
	sum, err := eval.Summarize(b.Context(), store, s, run)
	if err != nil || sum.Models[0].Right.Hits != b.N {
		b.Fatal(err)
	}
}
