package eval_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
)

// The scorer agrees with the checker of the Berkeley leaderboard on real answers and on answers with one argument
// changed. testdata/bfcl/verdicts.py made the verdicts. Three kinds of answers differ: the leaderboard refuses integers in
// a list of floats, demands an argument that the tool requires although the gold answer lets it be missing, and takes an
// empty list where only the empty text, its word for a missing argument, is allowed.
func TestScorerAgreesWithTheLeaderboard(t *testing.T) {
	suite, err := eval.Load(filepath.Join(corpus.Path(t, "bfcl"), "v4", "BFCL_v4_simple_python.json"))
	if err != nil {
		t.Fatal(err)
	}
	cases := make(map[string]*eval.Case)
	for i := range suite.Cases {
		cases[suite.Cases[i].ID] = &suite.Cases[i]
	}
	f, err := os.Open(filepath.Join("testdata", "bfcl", "verdicts.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	agree, compared := 0, 0
	for dec := json.NewDecoder(f); dec.More(); {
		var row struct {
			ID    string                       `json:"id"`
			Calls []map[string]json.RawMessage `json:"calls"`
			Valid bool                         `json:"valid"`
			Why   string                       `json:"why"`
		}
		if err := dec.Decode(&row); err != nil {
			t.Fatal(err)
		}
		c := cases[row.ID]
		if c == nil {
			continue // not in the committed slice
		}
		var trial eval.Trial
		for _, call := range row.Calls {
			for name, args := range call {
				trial.Calls = append(trial.Calls, llm.Call{Name: name, Args: args})
			}
		}
		compared++
		if v := eval.Score(c, &trial); v.Pass == row.Valid {
			agree++
		} else {
			t.Logf("%s %s: the leaderboard says %v %s, we say %+v", row.ID, row.Calls, row.Valid, row.Why, v.Problems)
		}
	}
	t.Logf("agree on %d of %d answers", agree, compared)
	if differ := compared - agree; compared == 0 || differ > 1+compared/200 {
		t.Errorf("%d of %d answers differ, want at most 0.5 %%", differ, compared)
	}
	if corpus.Whole() && compared < 2000 {
		t.Errorf("%d answers, want at least 2,000", compared)
	}
}
