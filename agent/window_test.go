package agent_test

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// counting is a model that reports more or fewer tokens than are estimated, and knows
// its window.
type counting struct {
	llm.Model
	factor float64
	info   catalog.Model
	most   *int // tokens of a question, as it counts
}

func (m counting) Info() catalog.Model { return m.info }

func (m counting) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		n := int(float64(llm.EstimateRequest(req)) * m.factor)
		*m.most = max(*m.most, n)
		for ev, err := range m.Model.Stream(ctx, req) {
			if f, ok := ev.(llm.Finish); ok {
				f.Usage = llm.Usage{Input: n, Output: 5}
				ev = f
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// long is a tool whose results have about 1,000 tokens.
func long() tool.Tool {
	t := tool.Func("read", "Reads.", func(_ context.Context, in struct{ N int }) (string, error) {
		return strings.Repeat(fmt.Sprintf("page %d says much. ", in.N), 200), nil
	})
	t.Effects = tool.ReadOnly
	return t
}

func readAll(n int) llm.Model {
	var lines []any
	for i := range n {
		lines = append(lines, call(fmt.Sprint("c", i), "read", fmt.Sprintf(`{"N":%d}`, i)))
	}
	return byTurn{says(append(lines, "Read.")...).lines}
}

// TestWindow: what a vendor counts corrects the estimate, and the window of a model
// that the catalogue knows is kept without being told. Runs replay, also after a
// process that had learnt nothing took them up.
func TestWindow(t *testing.T) {
	known := catalog.Default().Lookup("openai/gpt-4o")
	known.ContextWindow, known.MaxOutput = 16000, 4000
	for name, c := range map[string]struct {
		context int
		info    catalog.Model
		factor  float64
		limit   int // that no question goes beyond by more than a result
	}{
		"as told":                      {12000, catalog.Model{}, 1, 12000},
		"as told, and counted double":  {12000, catalog.Model{}, 2, 12000},
		"as known":                     {0, known, 1, 12000},
		"as known, and counted double": {0, known, 2, 12000},
	} {
		most := 0
		store := new(journal.Memory)
		m := counting{readAll(18), c.factor, c.info, &most}
		a := agent.Agent{Model: m, ID: "m", Store: store, Tools: runner(long()), Context: c.context, NewRun: func() string { return "r" }}
		a.Tools.LoopLimit = -1
		turns := 0
		for ev, err := range a.Run(t.Context(), llm.User("Read it all.")) {
			if err != nil {
				t.Fatal(err)
			}
			if _, ok := ev.(agent.Turn); ok {
				if turns++; turns == 12 {
					break
				}
			}
		}
		first := most
		l := listen(a.Resume(t.Context(), "r"))
		if l.err != nil || l.done.Text != "Read." {
			t.Fatalf("%s: %v", name, l.err)
		}
		if len(of[agent.Shortened](l)) == 0 || first > c.limit*11/10 || first < c.limit/2 {
			t.Errorf("%s: up to %d tokens before the interruption, %d after, %d times cut", name, first, most, len(of[agent.Shortened](l)))
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	most := 0
	unknown := catalog.Default().Lookup("nobody/knows-it")
	a := agent.Agent{Model: counting{readAll(18), 1, unknown, &most}, Tools: runner(long())}
	a.Tools.LoopLimit = -1
	if l := run(t, &a, "Read it all."); l.err != nil || len(of[agent.Shortened](l)) != 0 {
		t.Errorf("a window that nobody knows was kept: %v, %d tokens", l.err, most)
	}
}

// TestWindowCutsNoMoreThanNeeded: the oldest results are cut first, only as many as it takes,
// and the newest one only as far as needed.
func TestWindowCutsNoMoreThanNeeded(t *testing.T) {
	t.Parallel()
	page := strings.Repeat("The page says much about it. ", 1400) // 40,600 characters
	read := tool.Func("read", "Reads.", func(context.Context, struct{ N int }) (string, error) { return page, nil })
	read.Effects = tool.ReadOnly
	each := llm.EstimateText(page)
	for name, c := range map[string]struct {
		results, context, cut int // cut is how many results are shortened at most
	}{
		"a little too much":      {12, each*12 - each/2, 3},
		"half":                   {12, each * 6, 8},
		"one result, too large":  {1, each * 2 / 3, 1},
		"the last does not fit":  {2, each + each/2, 2},
		"all fit":                {3, each * 4, 0},
		"much smaller than each": {4, each / 4, 4},
	} {
		most := 0
		asked := &reader{Model: counting{readAll(c.results), 1, catalog.Model{}, &most}}
		store := new(journal.Memory)
		a := agent.Agent{Model: asked, ID: "m", Store: store, Tools: &invoke.Runner{Tools: tool.MustSet(read), LoopLimit: -1}, Context: c.context, NewRun: func() string { return "r" }}
		l := run(t, &a, "Read it all.")
		if l.err != nil || l.done.Text != "Read." {
			t.Fatalf("%s: %v", name, l.err)
		}
		last := asked.asked[len(asked.asked)-1]
		cut, whole := 0, false
		for _, m := range last.Messages {
			for _, part := range m.Parts {
				r, ok := part.(llm.Result)
				if !ok {
					continue
				}
				if len(r.Text()) < len(page) {
					cut++
					if whole {
						t.Errorf("%s: a newer result is cut than one that is whole", name)
					}
				} else {
					whole = true
				}
			}
		}
		least := c.context*9/10 - each - 100 // one old result less than there is room for
		if c.results == 1 {
			least = c.context * 8 / 10
		}
		if n := llm.EstimateRequest(last); cut > c.cut || n > c.context || cut > 0 && n < least {
			t.Errorf("%s: %d results are cut, and the question has %d tokens of %d", name, cut, n, c.context)
		}
		if err := agent.Replay(t.Context(), store, "r"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
