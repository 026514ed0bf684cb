package tool_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// byColour embeds a text by the colours it has.
func byColour(_ context.Context, texts []string) ([][]float32, error) {
	out := make([][]float32, len(texts))
	for i, t := range texts {
		out[i] = []float32{
			float32(strings.Count(t, "rouge") + strings.Count(t, "red")), float32(strings.Count(t, "bleu") + strings.Count(t, "blue")), 0.01,
		}
	}
	return out, nil
}

func TestRankerWithEmbedder(t *testing.T) {
	defs := []llm.ToolDef{{Name: "a", Description: "Paints it blue."}, {Name: "b", Description: "Paints it red."}, {Name: "c"}}
	r, err := tool.NewRankerWith(t.Context(), defs, tool.Embedder(byColour))
	if err != nil {
		t.Fatal(err)
	}
	ranked, err := r.RankContext(t.Context(), "rouge")
	if err != nil || len(ranked) != 3 || ranked[0].Name != "b" {
		t.Errorf("%v, error %v", ranked, err)
	}
	kept, left, err := r.SelectContext(t.Context(), "rouge", tool.Selection{Tools: 1})
	if diff := cmp.Diff([]int{1}, kept); diff != "" || len(left) != 2 || err != nil {
		t.Errorf("left %v, error %v\n%s", left, err, diff)
	}
	if ranked := r.Rank("paints rouge"); len(ranked) != 3 || ranked[2].Name != "c" {
		t.Errorf("by words alone: %v", ranked)
	}
}

func TestEmbedderThatFails(t *testing.T) {
	defs := []llm.ToolDef{{Name: "a"}, {Name: "b"}}
	broken := errors.New("no connection")
	for name, answer := range map[string]func(n int) ([][]float32, error){
		"an error":          func(int) ([][]float32, error) { return nil, broken },
		"too few":           func(int) ([][]float32, error) { return [][]float32{}, nil },
		"different lengths": func(int) ([][]float32, error) { return [][]float32{{1}, {1, 2}}, nil },
		"empty vectors":     func(n int) ([][]float32, error) { return make([][]float32, n), nil },
		"not a number":      func(int) ([][]float32, error) { return [][]float32{{1}, {float32(math.NaN())}}, nil },
	} {
		_, err := tool.NewRankerWith(t.Context(), defs, tool.Embedder(func(_ context.Context, texts []string) ([][]float32, error) {
			return answer(len(texts))
		}))
		if err == nil {
			t.Errorf("%s is taken", name)
		}
	}
	calls := 0
	r, err := tool.NewRankerWith(t.Context(), defs, tool.Embedder(func(_ context.Context, texts []string) ([][]float32, error) {
		if calls++; calls > 1 {
			return nil, broken
		}
		return [][]float32{{1}, {2}}, nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.RankContext(t.Context(), "x"); !errors.Is(err, broken) {
		t.Errorf("error %v", err)
	}
	if r, err := tool.NewRankerWith(t.Context(), nil, nil); err != nil || len(r.Rank("x")) != 0 {
		t.Errorf("without definitions: error %v", err)
	}
}

// TestAQuestionOfAnotherWidth is an error, and not a selection by words alone.
func TestAQuestionOfAnotherWidth(t *testing.T) {
	for _, width := range []int{2, 4} {
		r, err := tool.NewRankerWith(t.Context(), []llm.ToolDef{{Name: "a"}, {Name: "b"}}, tool.Embedder(func(_ context.Context, texts []string) ([][]float32, error) {
			if len(texts) == 1 {
				return [][]float32{make([]float32, width)}, nil
			}
			return [][]float32{{1, 2, 3}, {3, 2, 1}}, nil
		}))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.SelectContext(t.Context(), "a", tool.Selection{Tools: 1}); err == nil || !strings.Contains(err.Error(), "those of the tools have 3") {
			t.Errorf("%d numbers: error %v", width, err)
		}
	}
}

// TestCostsDoNotOverflow: a cost above any budget leaves no room.
func TestCostsDoNotOverflow(t *testing.T) {
	r := tool.NewRanker([]llm.ToolDef{{Name: "read_file"}, {Name: "write_file"}, {Name: "c"}})
	kept, left := r.Select("read a file", tool.Selection{Cost: 10, CostOf: func(llm.ToolDef) int { return math.MaxInt }})
	if len(kept) != 1 || len(left) != 2 {
		t.Errorf("kept %v, left %v", kept, left)
	}
}
