package eval_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

func example(t *testing.T) *eval.Suite {
	t.Helper()
	s, err := eval.Load(filepath.Join("..", "docs", "examples", "suite.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func runner(t *testing.T, m llm.Model) *eval.Evaluator {
	return &eval.Evaluator{
		Store: new(journal.Memory), Models: []string{"sim/offline"}, Open: func(string) (llm.Model, error) { return m, nil },
		Work: t.TempDir(),
	}
}

func TestOfflineModelPassesTheExampleSuite(t *testing.T) {
	s := example(t)
	r := runner(t, sim.Offline{})
	run, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := eval.Summarize(t.Context(), r.Store, s, run)
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range sum.Rows {
		if !row.CaseScore.Pass {
			t.Errorf("%s: %+v", row.Case, row.CaseScore)
		}
	}
	if len(sum.Rows) != len(s.Cases) || !sum.Complete {
		t.Errorf("%d rows, complete %v", len(sum.Rows), sum.Complete)
	}
	if report, err := journal.Verify(r.Store.Read(t.Context(), run, 1)); err != nil {
		t.Errorf("the record does not verify: %v, %v", report, err)
	}
	for name, write := range map[string]func() (string, error){
		"text":     func() (string, error) { var b bytes.Buffer; err := sum.Text(&b); return b.String(), err },
		"markdown": func() (string, error) { var b bytes.Buffer; err := sum.Markdown(&b); return b.String(), err },
		"junit":    func() (string, error) { var b bytes.Buffer; err := sum.JUnit(&b); return b.String(), err },
		"html":     func() (string, error) { var b bytes.Buffer; err := sum.HTML(&b); return b.String(), err },
	} {
		text, err := write()
		if err != nil || !strings.Contains(text, "sim/offline") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// counting counts the questions, and fails or stops at some of them.
type counting struct {
	llm.Model
	asked atomic.Int64
	at    func(n int64) error
}

func (c *counting) Stream(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	n := c.asked.Add(1)
	if c.at != nil {
		if err := c.at(n); err != nil {
			return func(yield func(llm.Event, error) bool) { yield(nil, err) }
		}
	}
	return c.Model.Stream(ctx, req)
}

func TestInterruptedRunContinuesWithoutAskingAgain(t *testing.T) {
	s := example(t)
	whole := &counting{Model: sim.Offline{}}
	if _, err := runner(t, whole).Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	for stop := int64(1); stop <= whole.asked.Load(); stop++ {
		ctx, cancel := context.WithCancel(t.Context())
		m := &counting{Model: sim.Offline{}, at: func(n int64) error {
			if n == stop {
				cancel()
				return context.Canceled
			}
			return nil
		}}
		r := runner(t, m)
		r.Parallel = 1
		if _, err := r.Run(ctx, s); !errors.Is(err, context.Canceled) {
			t.Fatalf("stopped at question %d: %v", stop, err)
		}
		run, err := r.Run(t.Context(), s)
		if err != nil {
			t.Fatalf("stopped at question %d, then: %v", stop, err)
		}
		if got, want := m.asked.Load(), whole.asked.Load()+1; got != want { // the stopped question has no answer
			t.Errorf("stopped at question %d: %d questions, want %d", stop, got, want)
		}
		sum, err := eval.Summarize(t.Context(), r.Store, s, run)
		if err != nil || len(sum.Rows) != len(s.Cases) || sum.Models[0].Right.Hits != len(s.Cases) {
			t.Errorf("stopped at question %d: %v, %+v", stop, err, sum.Models)
		}
	}
}

func TestFailedAnswersAreAskedForAgain(t *testing.T) {
	s := example(t)
	m := &counting{Model: sim.Offline{}, at: func(n int64) error {
		if n == 2 {
			return &llm.Error{Op: "test", Kind: llm.Overloaded, Err: errors.New("busy")}
		}
		return nil
	}}
	r := runner(t, m)
	r.Parallel = 1
	if _, err := r.Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "1 of 5 answers failed") {
		t.Fatalf("a failed answer is not reported: %v", err)
	}
	run, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := eval.Summarize(t.Context(), r.Store, s, run)
	if err != nil || len(sum.Rows) != len(s.Cases) || sum.Models[0].Errors != 0 {
		t.Errorf("%v: %+v", err, sum.Models)
	}
}

func TestBudgetStopsARun(t *testing.T) {
	s := example(t)
	r := runner(t, sim.Offline{})
	r.Parallel, r.Tokens = 1, 1
	if _, err := r.Run(t.Context(), s); !errors.Is(err, eval.ErrBudget) {
		t.Fatalf("no budget error: %v", err)
	}
	r.Tokens = 0
	if _, err := r.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
}

func TestMisspeltKeyNamesItsLine(t *testing.T) {
	for name, c := range map[string]struct{ text, want string }{
		"in a case":        {"cases:\n  - id: a\n    task: b\n    expct: {no_call: true}\n", "suite.yaml:4: unknown field \"expct\""},
		"in expect":        {"cases:\n  - id: a\n    task: b\n    expect:\n      nocall: true\n", "suite.yaml:5: unknown field \"nocall\""},
		"at the top":       {"suit: x\ncases:\n  - {id: a, task: b, expect: {no_call: true}}\n", "suite.yaml:1: unknown field \"suit\""},
		"nothing expected": {"cases:\n  - id: a\n    task: b\n", "suite.yaml:2: case \"a\": the case expects nothing"},
		"unknown tool":     {"cases:\n  - {id: a, task: b, expect: {calls: [{f: {}}]}}\n", "calls names the tool f, which the case does not have"},
		"twice":            {"cases:\n  - {id: a, task: b, expect: {no_call: true}}\n  - {id: a, task: b, expect: {no_call: true}}\n", "suite.yaml:3: case \"a\": the case of line 2 has the same id"},
		"condition":        {"cases:\n  - {id: a, task: b, tools: [{name: f}], expect: {calls: [{f: {x: {$like: 1}}}]}}\n", "unknown condition \"$like\""},
		"lines":            {"{\"id\":\"a\",\"task\":\"b\",\"expect\":{\"no_call\":true}}\n{\"id\":\"b\",\"tsk\":\"b\"}\n", "suite.yaml:2: unknown field \"tsk\""},
	} {
		_, err := new(eval.Loader).Parse("suite.yaml", []byte(c.text))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestScore(t *testing.T) {
	suite, err := new(eval.Loader).Parse("s.yaml", []byte(`
tools:
  - name: book
    parameters: {type: object, properties: {room: {type: integer}, guest: {type: string}, days: {type: array, items: {type: integer}}}}
  - name: find
cases:
  - {id: call, task: x, expect: {calls: [{book: {room: 12345678901234567, guest: {$text: "Ada Lovelace"}, days: [1, {$range: [2, 3]}]}}]}}
  - {id: two, task: x, expect: {ordered: true, calls: [{find: {}}, {book: any}]}}
  - {id: none, task: x, expect: {no_call: true}}
  - {id: answer, task: x, tools: [], expect: {answer: {type: object, required: [total]}, text: {lacks: [sorry]}}}
`))
	if err != nil {
		t.Fatal(err)
	}
	call := func(name, args string) llm.Call { return llm.Call{Name: name, Args: []byte(args)} }
	good := call("book", `{"room":12345678901234567,"guest":"ada_lovelace","days":[1,3]}`)
	for _, c := range []struct {
		id    string
		trial eval.Trial
		want  eval.FailureKind
	}{
		{"call", eval.Trial{Calls: []llm.Call{good}}, ""},
		{"call", eval.Trial{}, eval.NoCall},
		{"call", eval.Trial{Calls: []llm.Call{call("find", `{}`)}}, eval.WrongTool},
		{"call", eval.Trial{Calls: []llm.Call{good, good}}, eval.WrongCount},
		{"call", eval.Trial{Calls: []llm.Call{call("book", `{"room":12345678901234568,"guest":"Ada Lovelace","days":[1,2]}`)}}, eval.WrongArgument},
		{"call", eval.Trial{Calls: []llm.Call{call("book", `{"room":12345678901234567,"days":[1,2]}`)}}, eval.MissingArgument},
		{"call", eval.Trial{Calls: []llm.Call{call("book", `{"room":12345678901234567,"guest":"Ada Lovelace","days":[1,2],"x":1}`)}}, eval.ExtraArgument},
		{"call", eval.Trial{Invalid: []llm.InvalidCall{{Name: "book", Problem: "cut off"}}}, eval.InvalidCall},
		{"call", eval.Trial{Error: "busy"}, eval.Failed},
		{"two", eval.Trial{Calls: []llm.Call{call("find", `{}`), call("book", `{"room":1}`)}}, ""},
		{"two", eval.Trial{Calls: []llm.Call{call("book", `{"room":1}`), call("find", `{}`)}}, eval.WrongOrder},
		{"none", eval.Trial{Text: "Hello."}, ""},
		{"none", eval.Trial{Calls: []llm.Call{good}}, eval.UnexpectedCall},
		{"answer", eval.Trial{Text: `{"total": 3}`}, ""},
		{"answer", eval.Trial{Text: `{"sum": 3}`}, eval.WrongAnswer},
		{"answer", eval.Trial{Text: `sorry`}, eval.WrongAnswer},
	} {
		for i := range suite.Cases {
			if suite.Cases[i].ID == c.id {
				if v := eval.Score(&suite.Cases[i], &c.trial); v.Failure != c.want || v.Pass != (c.want == "") {
					t.Errorf("%s %+v: %+v, want %q", c.id, c.trial.Calls, v, c.want)
				}
			}
		}
	}
}

func TestCompareSaysWhenNothingCanBeShown(t *testing.T) {
	rows := func(run string, fails ...int) *eval.Summary {
		s := &eval.Summary{Run: run}
		for i := range 40 {
			v := eval.CaseScore{Pass: true}
			for _, f := range fails {
				if f == i {
					v = eval.CaseScore{Failure: eval.NoCall}
				}
			}
			s.Rows = append(s.Rows, eval.ScoredTrial{Case: fmt.Sprint("c", i), Model: "m", Repeat: 1, CaseScore: v})
		}
		return s
	}
	same := eval.Compare(rows("a", 1, 2), "m", rows("b", 2, 3), "m")
	if same.Different() || !strings.HasPrefix(same.String(), "no difference can be shown") || len(same.OnlyA) != 1 || len(same.OnlyB) != 1 {
		t.Errorf("%s %+v", same, same)
	}
	worse := eval.Compare(rows("a"), "m", rows("b", 1, 2, 3, 4, 5, 6, 7, 8), "m")
	if never := (&eval.PairedComparison{P: 1e-9}).String(); !strings.Contains(never, "p < 0.001") {
		t.Errorf("a probability is zero: %s", never)
	}
	if !worse.Different() || !strings.HasPrefix(worse.String(), "m in a is better") {
		t.Errorf("%s", worse)
	}
}

func TestLeaderboardFilesAreReadAsTheyAre(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("BFCL_v4_simple.json", `{"id":"simple_0","question":[[{"role":"user","content":"Area of a triangle with base 10 and height 5?"}]],"function":[{"name":"area","description":"","parameters":{"type":"dict","properties":{"base":{"type":"integer"},"unit":{"type":"string"},"at":{"type":"dict"}},"required":["base"]}}]}`+"\n")
	write("possible_answer/BFCL_v4_simple.json", `{"id":"simple_0","ground_truth":[{"area":{"base":[10],"unit":["units",""],"at":[{"x":[1,2],"y":[3,""]},""]}}]}`+"\n")
	s, err := eval.Load(filepath.Join(dir, "BFCL_v4_simple.json"))
	if err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]bool{
		`{"base":10}`:                     true,
		`{"base":10,"unit":"Units"}`:      true,
		`{"base":10,"at":{"x":2}}`:        true,
		`{"base":10,"at":{"x":3}}`:        false,
		`{"base":10,"at":{"y":3}}`:        false,
		`{"base":11}`:                     false,
		`{"unit":"units"}`:                false,
		`{"base":10,"height":5}`:          false,
		`{"base":10,"unit":"kilometres"}`: false,
	} {
		v := eval.Score(&s.Cases[0], &eval.Trial{Calls: []llm.Call{{Name: "area", Args: []byte(args)}}})
		if v.Pass != want {
			t.Errorf("%s: %+v", args, v)
		}
	}
}

// The leaderboard asks some questions without any tool. Sets with several turns are refused in words.
func TestLeaderboardSetsWithoutToolsAndWithTurns(t *testing.T) {
	dir := t.TempDir()
	row := `{"id":"a","question":[[{"role":"user","content":"Hello"}]],"function":[]}` + "\n"
	path := filepath.Join(dir, "BFCL_v4_live_irrelevance.json")
	if err := os.WriteFile(path, []byte(row), 0o600); err != nil {
		t.Fatal(err)
	}
	if s, err := eval.Load(path); err != nil || !s.Cases[0].Expect.NoCall {
		t.Fatal(err)
	}
	path = filepath.Join(dir, "BFCL_v4_multi_turn_base.json")
	answer := filepath.Join(dir, "possible_answer", "BFCL_v4_multi_turn_base.json")
	if err := errors.Join(os.Mkdir(filepath.Dir(answer), 0o700), os.WriteFile(path, []byte(row), 0o600),
		os.WriteFile(answer, []byte(`{"id":"a","ground_truth":[["cd(folder='x')"]]}`+"\n"), 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := eval.Load(path); err == nil || !strings.Contains(err.Error(), ":1: only the sets with one turn") {
		t.Error(err)
	}
}

// scriptedJudge passes every answer and reports 7 tokens in and 3 out. at may fail a question.
type scriptedJudge struct{ at func(n int64) error }

func (j *scriptedJudge) model() *counting {
	answer := llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if yield(llm.TextDelta{Text: `{"why":"it does","pass":true}`}, nil) {
				yield(llm.Finish{Reason: llm.Stop, Usage: llm.Usage{Input: 7, Output: 3}}, nil)
			}
		}
	})
	return &counting{Model: answer, at: j.at}
}

const judgedSuite = `cases:
  - {id: one, task: "Thank you, that was all.", expect: {judge: It is polite.}}
  - {id: two, task: "Thank you, that was all.", expect: {judge: It is polite.}}
`

func judgedRunner(t *testing.T, judge llm.Model) (*eval.Evaluator, *eval.Suite) {
	t.Helper()
	s, err := new(eval.Loader).Parse("judged.yaml", []byte(judgedSuite))
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, sim.Offline{})
	r.Judge, r.Parallel = "judge", 1
	r.Open = func(id string) (llm.Model, error) {
		switch id {
		case "judge":
			return judge, nil
		case "sim/offline":
			return sim.Offline{}, nil
		}
		return nil, errors.New("nobody serves " + id)
	}
	return r, s
}

func TestTokensOfTheJudgeCountAgainstTheBudget(t *testing.T) {
	r, s := judgedRunner(t, new(scriptedJudge).model())
	run, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := eval.Summarize(t.Context(), r.Store, s, run)
	if err != nil || sum.Models[0].Aside.Input != 14 || sum.Models[0].Aside.Output != 6 || sum.Models[0].Right.Hits != 2 {
		t.Fatalf("%v: %+v", err, sum.Models)
	}
	own := sum.Models[0].Usage.Input + sum.Models[0].Usage.Output
	var text strings.Builder
	if err := sum.Text(&text); err != nil || !strings.Contains(text.String(), "judge and user   14 in, 6 out") {
		t.Error(err, text.String())
	}
	r, _ = judgedRunner(t, new(scriptedJudge).model())
	r.Tokens = own/2 + 1 // one answer without its judge
	if _, err := r.Run(t.Context(), s); !errors.Is(err, eval.ErrBudget) {
		t.Errorf("the judge costs nothing: %v", err)
	}
}

// A judge that fails once costs one answer, not the run, and the same run asks again.
func TestFailureOfTheJudgeIsAMissingAnswer(t *testing.T) {
	judge := &scriptedJudge{at: func(n int64) error {
		if n == 1 {
			return &llm.Error{Op: "test", Kind: llm.Overloaded, Err: errors.New("busy")}
		}
		return nil
	}}
	r, s := judgedRunner(t, judge.model())
	missing := new(eval.MissingError)
	if _, err := r.Run(t.Context(), s); !errors.As(err, &missing) || missing.Failed != 1 || !strings.Contains(err.Error(), "the judge") {
		t.Fatalf("%v", err)
	}
	if _, err := r.Run(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	r.Judge = "nobody"
	if _, err := r.Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), "nobody serves nobody") {
		t.Errorf("a judge that cannot be opened: %v", err)
	}
}

func TestSuiteWithBuiltInTools(t *testing.T) {
	s, err := new(eval.Loader).Parse("suite.yaml", []byte(`tools: builtin
cases:
  - {id: one, task: Read the file a.txt., expect: {calls: [read_file: any]}}
  - {id: some, task: Read the file a.txt., tools: [builtin:read_file, "builtin:fetch_url"], expect: {calls: [read_file: any]}}
  - {id: files, task: Read the file a.txt., files: {a.txt: hello}, expect: {calls: [read_file: any]}}
`))
	if err != nil {
		t.Fatal(err)
	}
	r := runner(t, sim.Offline{})
	run, err := r.Run(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	sum, err := eval.Summarize(t.Context(), r.Store, s, run)
	if err != nil || sum.Models[0].Right.Hits != 3 {
		t.Errorf("%v: %+v", err, sum.Rows)
	}
	_, err = new(eval.Loader).Parse("suite.yaml", []byte("cases:\n  - {id: one, task: x, tools: [builtin:read_fil], expect: {some_call: true}}\n"))
	if err == nil || !strings.Contains(err.Error(), "there is no built-in tool \"read_fil\"; there are ") {
		t.Error(err)
	}
}
