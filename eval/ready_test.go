package eval_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/sim"
)

func TestReadySuitesRunOnTheOfflineModel(t *testing.T) {
	if len(eval.ReadySuites()) < 5 {
		t.Fatalf("%q", eval.ReadySuites())
	}
	for _, name := range eval.ReadySuites() {
		t.Run(name, func(t *testing.T) {
			s, err := eval.Ready(name)
			if err != nil {
				t.Fatal(err)
			}
			r := runner(t, sim.Offline{})
			r.Judge = "sim/offline"
			run, err := r.Run(t.Context(), s)
			if err != nil {
				t.Fatal(err)
			}
			sum, err := eval.Summarize(t.Context(), r.Store, s, run)
			if err != nil || len(sum.Rows) != len(s.Cases) || s.Description == "" {
				t.Fatalf("%v, %d rows of %d cases", err, len(sum.Rows), len(s.Cases))
			}
			t.Logf("%s: %s of %d", name, sum.Models[0].Right, len(s.Cases))
			for _, row := range sum.Rows {
				if !row.CaseScore.Pass {
					t.Logf("%s: %+v", row.Case, row.CaseScore.Problems)
				}
			}
		})
	}
}

func TestUnknownReadySuiteSuggestsAName(t *testing.T) {
	_, err := eval.Ready("basic")
	if err == nil || !strings.Contains(err.Error(), "did you mean basics?") {
		t.Errorf("%v", err)
	}
}
