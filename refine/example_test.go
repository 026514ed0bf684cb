package refine_test

import (
	"context"
	"fmt"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

func ExampleFallback() {
	busy := &actor{says: []any{broken(llm.Overloaded)}}
	other := &actor{says: []any{"Good morning."}}
	resp, err := llm.Generate(context.Background(), refine.Fallback(busy, other), ask())
	fmt.Println(resp.Message.Text(), err)
	fmt.Println(resp.Warnings[0].Detail)
	// Output:
	// Good morning. <nil>
	// model 1 failed, so the next one is asked: test: overloaded: it broke
}

func ExampleBestOf() {
	model := &actor{says: []any{"A.", "A longer answer.", "An answer."}}
	longest := func(r *llm.Response) float64 { return float64(len(r.Message.Text())) / 100 }
	resp, err := llm.Generate(context.Background(), refine.BestOf(model, 3, longest), ask())
	fmt.Println(resp.Message.Text(), err)
	// Output: A longer answer. <nil>
}

func ExampleStream() {
	type note struct {
		Text string `json:"text"`
	}
	model := &actor{says: []any{`{"text": "one two three four five six"}`}}
	for v, err := range refine.Stream[note](context.Background(), model, ask(), 1) {
		fmt.Printf("%q %v %v\n", v.Value.Text, v.Whole, err)
	}
	// Output:
	// "" false <nil>
	// "one two three four" false <nil>
	// "one two three four five six" true <nil>
}
