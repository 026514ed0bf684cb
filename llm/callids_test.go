package llm_test

import (
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

func TestCallIDs(t *testing.T) {
	constant := func() string { return "mine" }
	for name, c := range map[string]struct {
		ids  llm.CallIDs
		in   []string
		want []string
	}{
		"numbered":                      {in: []string{"", "", ""}, want: []string{"call_1", "call_2", "call_3"}},
		"their own":                     {in: []string{"toolu_1", "", "x"}, want: []string{"toolu_1", "call_1", "x"}},
		"twice the same":                {in: []string{"a", "a", "a"}, want: []string{"a", "call_1", "call_2"}},
		"a model that numbers, too":     {in: []string{"call_2", "", ""}, want: []string{"call_2", "call_1", "call_3"}},
		"later in the conversation":     {ids: llm.CallIDs{After: 7}, in: []string{"", "b", ""}, want: []string{"call_8", "b", "call_9"}},
		"another prefix":                {ids: llm.CallIDs{Prefix: "call_text_"}, in: []string{""}, want: []string{"call_text_1"}},
		"a maker that repeats itself":   {ids: llm.CallIDs{New: constant}, in: []string{"", "", "c"}, want: []string{"mine", "call_1", "c"}},
		"ids that are on record":        {ids: llm.CallIDs{Known: func(id string) bool { return id == "call_1" || id == "r" }}, in: []string{"r", ""}, want: []string{"call_2", "call_3"}},
		"a maker that makes empty ones": {ids: llm.CallIDs{New: func() string { return "" }}, in: []string{""}, want: []string{"call_1"}},
	} {
		var got []string
		for _, id := range c.in {
			got = append(got, c.ids.Take(id))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q becomes %q, want %q", name, c.in, got, c.want)
		}
	}
}

// Ids that were made and released leave no trace: the ids equal those of a
// maker that was never asked for them.
func TestCallIDsTakenBack(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		var ids, plain llm.CallIDs
		var tries []llm.CallIDs
		var log []string // the expected ids
		var lens []int
		for range 30 {
			switch rnd.IntN(4) {
			case 0:
				tries, lens = append(tries, ids), append(lens, len(log))
			case 1:
				if n := len(tries) - 1; n >= 0 {
					ids, log = tries[n], log[:lens[n]]
					tries, lens = tries[:n], lens[:n]
				}
			default:
				id := []string{"", "a", "b", "call_" + strconv.Itoa(1+rnd.IntN(4))}[rnd.IntN(4)]
				log = append(log, id, ids.Take(id))
			}
		}
		for i := 0; i < len(log); i += 2 {
			if want := plain.Take(log[i]); want != log[i+1] {
				t.Fatalf("%q: call %d has %s, want %s", log, i/2, log[i+1], want)
			}
		}
	}
}

// Forgotten ids take no memory, in whatever order they are forgotten; other ids
// stay taken.
func TestCallIDsForgotten(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	known := make(map[string]bool)
	ids := llm.CallIDs{Known: func(id string) bool { return known[id] }}
	var open []string
	for i := range 5000 {
		if len(open) > 0 && rnd.IntN(2) == 0 {
			at := rnd.IntN(len(open))
			known[open[at]] = true
			ids.Forget(open[at])
			ids.Forget(open[at]) // a second time changes nothing
			open = slices.Delete(open, at, at+1)
		} else {
			open = append(open, ids.Take([]string{"", "own" + strconv.Itoa(i)}[rnd.IntN(2)]))
		}
		for _, id := range open {
			if !ids.Taken(id) {
				t.Fatalf("after %d steps %s is free", i, id)
			}
		}
	}
	if len(open) < 2 || slices.ContainsFunc(open, func(id string) bool { return known[id] }) {
		t.Errorf("ids that were given twice: %q", open)
	}
	var one llm.CallIDs
	if n := testing.AllocsPerRun(1000, func() { one.Forget(one.Take("a")) }); n > 0 {
		t.Errorf("an id that is taken and forgotten allocates %v times", n)
	}
}

func BenchmarkCallIDs(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		var ids llm.CallIDs
		ids.Take("toolu_01A09q90qw90lq917835lq9")
		ids.Take("")
	}
}
