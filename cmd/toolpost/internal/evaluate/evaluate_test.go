package evaluate

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/clitest"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/usercatalog"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/sim"
)

// result is the output and the exit code of a command.
type result struct {
	code        int
	out, errOut string
}

// bench runs 'eval' with models of a test.
type bench struct {
	t     *testing.T
	dir   string
	model map[string]llm.Model
	asked atomic.Int64
	store *journal.Dir
	order []string // the runs, the newest first
}

func newBench(t *testing.T) *bench {
	t.Helper()
	b := &bench{t: t, dir: t.TempDir(), model: map[string]llm.Model{"sim/offline": sim.Offline{}, "sim/mute": mute{}}}
	var err error
	if b.store, err = journal.OpenDir(filepath.Join(b.dir, "records")); err != nil {
		t.Fatal(err)
	}
	return b
}

// mute never calls a tool.
type mute struct{}

func (mute) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	r := *req
	r.Tools = nil
	return func(yield func(llm.Event, error) bool) {
		if yield(llm.TextDelta{Text: "I would rather not."}, nil) {
			yield(llm.Finish{Reason: llm.Stop}, nil)
		}
	}
}

func (b *bench) host() Host {
	return Host{
		Models: func(*cobra.Command) (*Models, error) {
			return &Models{
				Open: func(id string) (llm.Model, error) {
					if b.model[id] == nil {
						return nil, errors.New("nobody serves " + id)
					}
					return llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
						b.asked.Add(1)
						return b.model[id].Stream(ctx, req)
					}), nil
				},
				Catalog: catalog.Default(),
				Set: func(_ string, values map[string]string) (llm.Model, error) {
					if values["emulation_style"] == "react" { // the one setting that works
						return sim.Offline{}, nil
					}
					return mute{}, nil
				},
				Cost: func(_ llm.Model, id string, u llm.Usage) (catalog.Money, bool) {
					return catalog.Money(u.Input+u.Output) * catalog.Dollar, id == "sim/offline"
				},
			}, nil
		},
		Evaluations: func() string { return "" },
		Open:        func(*cobra.Command, string, bool) (Store, func(), error) { return b.store, func() {}, nil },
		Runs:        func(*cobra.Command) (Store, func(), error) { return b.store, func() {}, nil },
		Newest: func(ctx context.Context, s Store) ([]string, error) {
			out := slices.Clone(b.order)
			for run, err := range s.Runs(ctx) {
				if err != nil {
					return nil, err
				}
				if !slices.Contains(out, run) {
					out = append(out, run)
				}
			}
			return out, nil
		},
	}
}

func (b *bench) eval(ctx context.Context, args ...string) result {
	return b.command(ctx, append([]string{"eval"}, args...)...)
}

func commandsOf(h Host) *cobra.Command {
	root := &cobra.Command{Use: "toolpost", SilenceUsage: true, SilenceErrors: true, PersistentPreRun: clitest.RecordCommand}
	root.AddCommand(New(h), NewDrift(h))
	return root
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(clitest.RunAll(m, func() *cobra.Command { return commandsOf(new(bench).host()) }, func(string) bool { return true }))
}

// command runs any command of the package.
func (b *bench) command(ctx context.Context, args ...string) result {
	root := commandsOf(b.host())
	root.SetFlagErrorFunc(cli.WrongFlag)
	cli.WrapArgs(root)
	var out, errOut bytes.Buffer
	root.SetArgs(args)
	root.SetOut(&out)
	root.SetErr(&errOut)
	code := cli.UntilInterrupted(ctx, &errOut, root.ExecuteContext)
	return result{code, out.String(), errOut.String()}
}

// run runs a command that must succeed.
func (b *bench) run(args ...string) string {
	b.t.Helper()
	r := b.eval(b.t.Context(), args...)
	if r.code != 0 {
		b.t.Fatalf("eval %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.out, r.errOut)
	}
	if _, name, ok := strings.Cut(r.errOut, "recorded as "); ok {
		b.order = slices.Insert(b.order, 0, strings.Fields(name)[0])
	}
	return r.out
}

func (b *bench) file(name, text string) string {
	b.t.Helper()
	path := filepath.Join(b.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	return path
}

const small = `suite: small
tools:
  - {name: get_weather, description: Returns the weather of a city., parameters: {type: object, properties: {city: {type: string}}, required: [city]}}
cases:
  - {id: rome, task: What is the weather in Rome?, tags: [call], expect: {calls: [get_weather: {city: Rome}]}}
  - {id: oslo, task: What is the weather in Oslo?, tags: [call], expect: {calls: [get_weather: {city: Oslo}]}}
  - {id: thanks, task: "Thank you, that was all.", expect: {no_call: true}}
`

func TestRunPrintsSharesAndContinuesWithoutAskingAgain(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	out := b.run("run", suite, "-m", "sim/offline")
	if !strings.Contains(out, "right            100.0 % (44–100) of 3") {
		t.Error(out)
	}
	asked := b.asked.Load()
	if again := b.run("run", suite, "-m", "sim/offline"); again != out || b.asked.Load() != asked {
		t.Errorf("%d more questions\n%s", b.asked.Load()-asked, again)
	}
	if shown := b.run("show"); shown != out {
		t.Error(shown)
	}
	b.run("run", suite, "-m", "sim/offline", "--label", "second")
	if b.asked.Load() != 2*asked {
		t.Errorf("a label asks again: %d questions, then %d", asked, b.asked.Load())
	}
	if list := b.run("list"); !strings.Contains(list, "sim/offline  second  complete") {
		t.Error(list)
	}
}

func TestInterruptKeepsWhatIsDone(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	ctx, cancel := context.WithCancel(t.Context())
	var asked atomic.Int64
	b.model["sim/slow"] = llm.ModelFunc(func(c context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		if asked.Add(1) == 3 {
			cancel()
			return func(yield func(llm.Event, error) bool) { yield(nil, c.Err()) }
		}
		return sim.Offline{}.Stream(c, req)
	})
	r := b.eval(ctx, "run", suite, "-m", "sim/slow", "--parallel", "1")
	if r.code != cli.ExitInterrupted || !strings.Contains(r.errOut, "2 of 3 answers are kept") || !strings.Contains(r.out, "of 2") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	if out := b.run("run", suite, "-m", "sim/slow", "--parallel", "1"); !strings.Contains(out, "of 3") || asked.Load() != 4 {
		t.Errorf("%d questions\n%s", asked.Load(), out)
	}
}

func TestReportsAsJSONJUnitMarkdownAndHTML(t *testing.T) {
	b := newBench(t)
	files := map[string]string{"junit": "", "markdown": "", "html": ""}
	args := []string{"run", b.file("small.yaml", small), "-m", "sim/offline", "-m", "sim/mute", "--json"}
	for form := range files {
		files[form] = filepath.Join(b.dir, form)
		args = append(args, "--"+form, files[form])
	}
	var s eval.Summary
	if err := json.Unmarshal([]byte(b.run(args...)), &s); err != nil || len(s.Models) != 2 || len(s.Rows) != 6 {
		t.Errorf("%v: %+v", err, s)
	}
	text := func(form string) string {
		got, err := os.ReadFile(files[form])
		if err != nil {
			t.Fatal(err)
		}
		return string(got)
	}
	var junit struct {
		Suites []struct {
			Tests    int `xml:"tests,attr"`
			Failures int `xml:"failures,attr"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal([]byte(text("junit")), &junit); err != nil || len(junit.Suites) != 2 || junit.Suites[1].Failures != 2 || junit.Suites[1].Tests != 3 {
		t.Errorf("%v: %+v", err, junit)
	}
	if got := text("markdown"); !strings.Contains(got, "| sim/mute | 33.3 % (6–79) |") {
		t.Error(got)
	}
	page := text("html")
	if !strings.Contains(page, "<svg") || strings.Contains(page, "src=") || strings.Contains(page, "<script") || strings.Contains(page, "<link") {
		t.Error("the page must hold charts and nothing from outside:\n", page)
	}
}

func TestFailOnSetsTheExitStatus(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	b.run("run", suite, "-m", "sim/offline")
	b.run("run", suite, "-m", "sim/mute")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"run " + suite + " -m sim/offline --fail-on right<100%", 0, ""},
		{"run " + suite + " -m sim/mute --fail-on right<90%", 1, "right of sim/mute is 33.3 %"},
		{"run " + suite + " -m sim/mute --fail-on errors>0", 0, ""},
		{"run " + suite + " -m sim/mute --against " + b.order[1] + " --fail-on right<-2%", 1, "went from 100.0 % to 33.3 %"},
		{"run " + suite + " -m sim/offline --against " + b.order[0] + " --fail-on right<-2%", 0, ""},
		{"diff " + b.order[1] + " " + b.order[0] + " --fail-on right<-2%", 1, "went from 100.0 % to 33.3 %"},
		{"diff " + b.order[0] + " " + b.order[1] + " --fail-on right<-2%", 0, ""},
		{"show " + b.order[0] + " --fail-on needless_calls>0%", 0, ""},
		{"run basics --limit 2 -m sim/offline --against " + b.order[0] + " --fail-on right<-2%", 1, "no case in common"},
		{"run " + suite + " -m sim/mute --fail-on right<-2%", 2, "--against"},
		{"run " + suite + " -m sim/mute --fail-on rihgt<2%", 2, "unknown figure"},
		{"run " + suite + " -m sim/mute --fail-on right<90", 2, "in percent"},
		{"run " + suite + " -m sim/mute --fail-on tokens>5%", 2, "not a share"},
		{"run " + suite + " -m sim/mute --fail-on right", 2, "is not a condition"},
	} {
		if r := b.eval(t.Context(), strings.Fields(c.args)...); r.code != c.code || !strings.Contains(r.errOut, c.says) {
			t.Errorf("eval %s: exit %d, want %d with %q\n%s", c.args, r.code, c.code, c.says, r.errOut)
		}
	}
}

func TestDiffOfTwoRunsShowsBothAnswers(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	b.run("run", suite, "-m", "sim/offline")
	b.run("run", suite, "-m", "sim/mute")
	out := b.run("diff", b.order[1], strings.TrimPrefix(b.order[0], "eval-")[:8])
	for _, want := range []string{"no difference can be shown", "only sim/offline passes", "rome: no call: no tool was called", `A: get_weather{"city":"Rome"}`, "B: I would rather not."} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	var list []eval.PairedComparison
	if err := json.Unmarshal([]byte(b.run("diff", b.order[1], b.order[0], "--json")), &list); err != nil || len(list) != 1 || len(list[0].OnlyA) != 2 {
		t.Errorf("%v: %+v", err, list)
	}
}

func TestBudgetsEndARunThatContinues(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	for _, budget := range [][]string{{"--budget-tokens", "1"}, {"--budget-usd", "1"}} {
		args := append([]string{"run", suite, "-m", "sim/offline", "--parallel", "1", "--label", budget[0]}, budget...)
		r := b.eval(t.Context(), args...)
		if r.code != 1 || !strings.Contains(r.errOut, "the budget is used up after 1 of 3 answers") {
			t.Errorf("%s: exit %d\n%s", budget, r.code, r.errOut)
		}
		if out := b.run(args[:len(args)-2]...); !strings.Contains(out, "of 3") {
			t.Error(out)
		}
	}
	if r := b.eval(t.Context(), "run", suite, "-m", "sim/mute", "--budget-usd", "1"); r.code != 1 || !strings.Contains(r.errOut, "price of sim/mute is not known") {
		t.Errorf("exit %d\n%s", r.code, r.errOut)
	}
}

func TestChangedExpectationsScoreRecordedAnswers(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	b.run("run", suite, "-m", "sim/offline")
	asked := b.asked.Load()
	b.file("small.yaml", strings.ReplaceAll(small, "city: Rome}]", "city: Paris}]"))
	r := b.eval(t.Context(), "show", "--cases")
	if r.code != 0 || !strings.Contains(r.out, `get_weather.city is "Rome", not "Paris"`) || !strings.Contains(r.errOut, "the suite has changed") || b.asked.Load() != asked {
		t.Errorf("exit %d, %d questions\n%s%s", r.code, b.asked.Load()-asked, r.out, r.errOut)
	}
}

func TestTagsAndLimitSelectCases(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	if out := b.run("run", suite, "-m", "sim/offline", "--tags", "call"); !strings.Contains(out, "2 cases") {
		t.Error(out)
	}
	for range 2 { // another part of the suite is another run, of the same number of cases
		if out := b.run("run", suite, "-m", "sim/offline", "--limit", "2", "--cases"); !strings.Contains(out, "of 2") {
			t.Error(out)
		}
	}
	if r := b.eval(t.Context(), "run", suite, "-m", "sim/offline", "--tags", "cal"); r.code != 2 || !strings.Contains(r.errOut, "no case of the suite has the tag cal") {
		t.Errorf("exit %d\n%s", r.code, r.errOut)
	}
}

func TestFromCountsRecordedRuns(t *testing.T) {
	b := newBench(t)
	a := agent.Agent{Model: sim.Offline{}, ID: "sim/offline", Store: b.store}
	done, err := a.Ask(t.Context(), llm.User("Hello."))
	if err != nil {
		t.Fatal(err)
	}
	b.run("run", b.file("small.yaml", small), "-m", "sim/offline")
	b.order = append(b.order, done.Run)
	if out := b.run("from"); !strings.Contains(out, "answers          1\n") {
		t.Error(out)
	}
	for _, name := range []string{"latest", done.Run} {
		if out := b.run("from", name); !strings.Contains(out, "answers          1\n") {
			t.Errorf("from %s: %s", name, out)
		}
	}
	line := b.run("capture", done.Run)
	if s, err := new(eval.Loader).Parse("captured.jsonl", []byte(line)); err != nil || len(s.Cases) != 1 {
		t.Errorf("%v\n%s", err, line)
	}
}

// A model that cannot be asked leaves a record of errors, which must not become the latest evaluation.
func TestLatestIsTheNewestEvaluationWithAnAnswer(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	b.model["sim/down"] = llm.ModelFunc(func(context.Context, *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			yield(nil, &llm.Error{Op: "sim", Kind: llm.Auth, Err: errors.New("no key")})
		}
	})
	failed := func() {
		t.Helper()
		r := b.eval(t.Context(), "run", suite, "-m", "sim/down")
		if r.code == 0 {
			t.Fatal(r.out)
		}
		for run := range b.store.Runs(t.Context()) {
			if isEvaluation(run) && !slices.Contains(b.order, run) {
				b.order = slices.Insert(b.order, 0, run)
			}
		}
	}
	failed()
	if r := b.eval(t.Context(), "show"); r.code == 0 || !strings.Contains(r.errOut, "no evaluation has an answer; 'toolpost eval show eval-") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	out := b.run("run", suite, "-m", "sim/offline")
	slices.Reverse(b.order) // the failed one is the newest
	if len(b.order) != 2 {
		t.Fatal(b.order)
	}
	if shown := b.run("show"); shown != out {
		t.Error(shown)
	}
	b.run("claims", suite, "-m", "sim/offline", "--quiet")
	for run := range b.store.Runs(t.Context()) {
		if isEvaluation(run) && !slices.Contains(b.order, run) {
			b.order = slices.Insert(b.order, 0, run)
		}
	}
	if shown := b.run("show"); len(b.order) < 3 || shown != out {
		t.Errorf("the settings that claims tried hide the run before: %v\n%s", b.order, shown)
	}
}

func TestWrongUseIsExplained(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	for args, says := range map[string]string{
		"run basicz -m sim/offline":                          "did you mean basics?",
		"run " + suite:                                       "which model?",
		"run " + suite + " -m sim/nobody":                    "nobody serves sim/nobody",
		"run " + suite + " -m sim/offline -m sim/offline":    "is named twice",
		"run " + suite + " -m sim/offline --parallel x":      "--parallel",
		"run " + suite + " -m sim/offline --parallel sim=0":  "--parallel",
		"run " + suite + " -m sim/offline --repeat 0":        "--repeat",
		"run " + suite + " -m sim/offline --temperature 3":   "--temperature",
		"run " + suite + " -m sim/offline --budget-usd -1":   "--budget-usd",
		"run " + suite + " -m sim/offline --against nothing": "no evaluation nothing",
		"run " + suite + " -m sim/offline --limit -1":        "must not be below 0",
		"show":                        "no evaluation is recorded",
		"show ../../etc/passwd":       "no evaluation",
		"diff latest":                 "--model-a",
		"suites basic":                "did you mean basics?",
		"run missing/suite.yaml -m x": "cannot be read",
		"run " + b.file("typo.yaml", "cases:\n  - {id: a, task: x, expct: {no_call: true}}\n") + " -m sim/offline": "typo.yaml:2",
		"capture nothing": "there is no run nothing",
		"from nothing":    "there is no run nothing",
		"from latest":     "there are no runs",
		"judge " + b.file("capital.jsonl", `{"id":"a","task":"x","rubric":"y","answer":"z","Right":false}`) + " -m sim/offline":            `unknown field "Right"`,
		"judge " + b.file("again.jsonl", `{"id":"a","task":"x","rubric":"y","answer":"z","right":true,"right":false}`) + " -m sim/offline": `the key "right" is there twice`,
		"judge " + b.file("nameless.jsonl", `{"id":"a","task":"x","rubric":"y","calls":[{}],"right":true}`) + " -m sim/offline":            "a call has no name",
		"judge " + b.file("follows.jsonl", `{"id":"a","task":"x","rubric":"y","answer":"z","right":true} {}`) + " -m sim/offline":          "text follows the answer",
		"judge missing.jsonl -m sim/offline":                                                                                                         "missing.jsonl",
		"judge " + suite + " -m sim/offline":                                                                                                         "small.yaml:1",
		"judge " + b.file("none.jsonl", "\n") + " -m sim/offline":                                                                                    "no answers",
		"judge " + b.file("cut.jsonl", `{"id":"a"`) + " -m sim/offline":                                                                              "cut.jsonl:1: the line ends inside",
		"judge " + b.file("key.jsonl", "\n"+`{"id":"a","taks":"x"}`) + " -m sim/offline":                                                             `key.jsonl:2: unknown field "taks"`,
		"judge " + b.file("label.jsonl", `{"id":"a","task":"x","rubric":"y","answer":"z"}`) + " -m sim/offline":                                      "right is missing",
		"judge " + b.file("type.jsonl", `{"id":"a","task":"x","rubric":"y","answer":"z","right":"yes"}`) + " -m sim/offline":                         `"right" is a string`,
		"judge " + b.file("twice.jsonl", strings.Repeat(`{"id":"a","task":"x","rubric":"y","answer":"z","right":true}`+"\n", 2)) + " -m sim/offline": "twice.jsonl:2: line 1 has the same id",
		"judge " + b.file("ok.jsonl", `{"id":"a","task":"x","rubric":"y","answer":"z","right":true}`) + " -m sim/nobody":                             "nobody serves sim/nobody",
	} {
		if r := b.eval(t.Context(), strings.Fields(args)...); r.code == 0 || !strings.Contains(r.errOut, says) {
			t.Errorf("eval %s: exit %d, want %q\n%s", args, r.code, says, r.errOut)
		}
	}
}

func TestDriftKeepsResultsAndComparesHosts(t *testing.T) {
	b := newBench(t)
	first := b.command(t.Context(), "drift", "sim/offline")
	if first.code != 0 || !strings.Contains(first.out, "first result") {
		t.Errorf("exit %d\n%s%s", first.code, first.out, first.errOut)
	}
	again := b.command(t.Context(), "drift", "sim/offline", "--json")
	var got drifted
	if err := json.Unmarshal([]byte(again.out), &got); err != nil || again.code != 0 || got.Drifted || len(got.Changes) < 10 {
		t.Errorf("exit %d, %v\n%s%s", again.code, err, again.out, again.errOut)
	}
	file := b.file("baseline.json", again.out)
	for _, baseline := range []string{"sim/offline", file} {
		r := b.command(t.Context(), "drift", "sim/mute", "--against", baseline)
		if r.code != 1 || !strings.Contains(r.out, "  call ") || !strings.Contains(r.out, "no tool was called") || strings.Contains(r.out, "restraint") {
			t.Errorf("against %s: exit %d\n%s%s", baseline, r.code, r.out, r.errOut)
		}
	}
	for args, says := range map[string]string{
		"drift sim/offline --against " + b.file("x.json", "{}"): "is not the output",
		"drift sim/nobody":                       "nobody serves",
		"drift sim/offline --repeat 0":           "--repeat",
		"drift sim/offline --against sim/nobody": "nobody serves",
	} {
		if r := b.command(t.Context(), strings.Fields(args)...); r.code == 0 || !strings.Contains(r.errOut, says) {
			t.Errorf("%s: exit %d\n%s", args, r.code, r.errOut)
		}
	}
}

func TestTuneWritesABetterSettingWithItsEvidence(t *testing.T) {
	b := newBench(t)
	var cases strings.Builder
	cases.WriteString(small)
	for i, city := range strings.Fields("Lima Cairo Kyoto Quito Berlin Madrid Dublin Vienna Paris Tokyo Bern Riga Delhi Seoul") {
		fmt.Fprintf(&cases, "  - {id: more %d, task: What is the weather in %s?, expect: {calls: [get_weather: {city: {$text: %s}}]}}\n", i, city, city)
	}
	suite, file := b.file("cities.yaml", cases.String()), filepath.Join(b.dir, "models.yaml")
	if out := b.run("tune", suite, "-m", "acme/bot", "--models", file, "--dry-run"); !strings.Contains(out, "react: ") || !strings.Contains(out, "the other half\n  as it is ") || !strings.Contains(out, "change ") || !strings.Contains(out, "nothing was written") {
		t.Error(out)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("--dry-run wrote the file")
	}
	b.run("tune", suite, "-m", "acme/bot", "--models", file)
	known, err := cli.UserCatalog(file)
	if err != nil {
		t.Fatal(err)
	}
	note, err := usercatalog.Note(file, "acme/bot")
	if m := known.Lookup("acme/bot"); err != nil || m.Emulation != "react" || m.NativeTools.Support != catalog.No || !strings.Contains(note, "right on the other half of suite small, before ") {
		t.Errorf("%v: %q, %q", err, m.Emulation, note)
	}
	for args, says := range map[string]string{
		"tune":                        "which model?",
		"tune structured -m acme/bot": "tuning needs 12",
		"tune " + b.file("few.yaml", small) + " -m acme/bot": "tuning needs 12",
		"tune " + suite + " -m acme/bot --concurrency 0":     "--concurrency",
	} {
		if r := b.eval(t.Context(), strings.Fields(args)...); r.code == 0 || !strings.Contains(r.errOut, says) {
			t.Errorf("eval %s: exit %d\n%s", args, r.code, r.errOut)
		}
	}
}

// 'eval learn' reads the outcomes of runs, writes what it learned next to models.yaml, where the catalogue and 'run' read
// it, and forgets it. The user's own file wins.
func TestLearnWritesWhatItLearnedAndForgetsIt(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "models.yaml")
	t.Setenv("TOOLPOST_MODELS", file)
	if err := os.WriteFile(file, []byte("models: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := newBench(t)
	for i := range 240 {
		dialect, code := "react", ""
		if i%2 == 1 {
			if dialect = "json_fence"; i%4 == 1 {
				code = "validation"
			}
		}
		rec, err := journal.Open(t.Context(), b.store, fmt.Sprintf("run-%d", i))
		if err != nil {
			t.Fatal(err)
		}
		call := llm.Call{ID: "c", Name: "look", Args: []byte(`{}`), Provenance: llm.Provenance{Dialect: dialect}}
		for _, e := range []struct {
			kind journal.Kind
			body any
		}{
			{journal.KindStart, journal.Start{Task: "look", Model: "acme/bot"}}, {journal.KindAnswer, journal.Answer{Message: llm.Assistant(call)}},
			{journal.KindOutcome, journal.OutcomeRecord{Call: "c", Tool: "look", Success: code == "", Code: code, Attempt: 1}},
		} {
			if _, err := rec.Write(t.Context(), e.kind, e.body); err != nil {
				t.Fatal(err)
			}
		}
		if err := rec.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	style := func() string {
		known, err := cli.UserCatalog("")
		if err != nil {
			t.Fatal(err)
		}
		return known.Lookup("acme/bot").Emulation
	}
	before := style()
	if out := b.run("learn", "--dry-run"); !strings.Contains(out, "tools are taught as react") || !strings.Contains(out, "nothing was written") || style() != before {
		t.Errorf("%s\n%s", style(), out)
	}
	if out := b.run("learn"); !strings.Contains(out, "acme/bot, 240 runs") || style() != "react" {
		t.Errorf("%s\n%s", style(), out)
	}
	if err := os.WriteFile(file, []byte("models:\n  acme/bot: {emulation_style: xml}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if style() != "xml" {
		t.Errorf("the user's file does not win: %s", style())
	}
	if err := os.WriteFile(file, []byte("models: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := b.eval(t.Context(), "learn", "--reset", "-m", "acme/other"); r.code == 0 || !strings.Contains(r.errOut, "nothing was learned about acme/other") {
		t.Errorf("exit %d\n%s", r.code, r.errOut)
	}
	if out := b.run("learn", "--reset", "-m", "acme/bot"); !strings.Contains(out, "forgotten") || style() != before {
		t.Errorf("%s\n%s", style(), out)
	}
}

func TestClaimsOfAModel(t *testing.T) {
	b := newBench(t)
	ctx := t.Context()
	r := b.eval(ctx, "claims", "confirmations", "-m", "sim/offline", "--limit", "6", "--quiet")
	if r.code != 0 || !strings.Contains(r.out, "validation loop, 6 cases") || !strings.Contains(r.out, "not measured: the suite has no case for it") {
		t.Errorf("%d %s %s", r.code, r.out, r.errOut)
	}
	r = b.eval(ctx, "claims", "structured", "-m", "sim/offline", "--json")
	var got struct{ Claims []eval.Claim }
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || len(got.Claims) != 8 {
		t.Errorf("%v: %s", err, r.out)
	}
	for _, wrong := range [][]string{{"claims"}, {"claims", "-m", "sim/offline", "--limit", "-1"}, {"claims", "-m", "sim/offline", "--temperature", "3"},
		{"claims", "-m", "sim/offline", "--concurrency", "0"}, {"claims", "nosuch", "-m", "sim/offline"}} {
		if r := b.eval(ctx, wrong...); r.code == 0 || r.errOut == "" {
			t.Errorf("%q: %d %s", wrong, r.code, r.errOut)
		}
	}
}

// lenient passes every answer that does not contain the word fail, and breaks off at the word break.
type lenient struct{}

func (lenient) Stream(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	question := req.Messages[0].Text()
	return func(yield func(llm.Event, error) bool) {
		if strings.Contains(question, "break") {
			yield(nil, &llm.Error{Op: "test", Kind: llm.Overloaded, Err: errors.New("busy")})
			return
		}
		if yield(llm.TextDelta{Text: fmt.Sprintf(`{"why":"because\u001b[31m","pass":%t}`, !strings.Contains(question, "fail"))}, nil) {
			yield(llm.Finish{Reason: llm.Stop}, nil)
		}
	}
}

func TestJudgeIsComparedWithPeople(t *testing.T) {
	b := newBench(t)
	b.model["sim/judge"] = lenient{}
	row := func(id, answer string, right bool) string {
		return fmt.Sprintf(`{"id":%q,"task":"Greet Ann.","rubric":"The answer names Ann.","answer":%q,"right":%t}`+"\n", id, answer, right)
	}
	rows := row("a", "Hello Ann", true) + row("b", "Hello", false) + row("c", "fail", false) + row("d", "fail, Ann", true) + row("e", "Ann", true) + row("f", "Ann", true) +
		`{"id":"g","task":"x","rubric":"It calls w.","calls":[{"name":"w","arguments":{"fail":1}}],"right":false}` + "\n"
	out := b.run("judge", b.file("set.jsonl", rows), "-m", "sim/judge")
	for _, want := range []string{
		"sim/judge agrees with people on 71.4 % (36–92) of 7 answers", "beyond chance    0.42 of 1",
		"right for the judge, wrong for people, 1:\n  b: because", "wrong for the judge, right for people, 1:\n  d: because",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") {
		t.Errorf("control characters of the judge reach the terminal: %q", out)
	}
	r := b.eval(t.Context(), "judge", b.file("broken.jsonl", rows+row("h", "break", true)), "-m", "sim/judge", "--json")
	var got agreement
	if err := json.Unmarshal([]byte(r.out), &got); err != nil || got.Agree.Hits != 5 || len(got.Failed) != 1 || r.code != 1 || !strings.Contains(r.errOut, "1 of 8 answers were not judged") {
		t.Errorf("%v, %d, %+v\n%s", err, r.code, got, r.errOut)
	}
	if out := b.run("judge", b.file("alike.jsonl", row("a", "Ann", true)), "-m", "sim/judge"); !strings.Contains(out, "chance alone explains") {
		t.Error(out)
	}
}

func TestAmbiguousNameListsAFewEvaluations(t *testing.T) {
	b := newBench(t)
	suite := b.file("small.yaml", small)
	for i := range 8 {
		b.run("run", suite, "-m", "sim/offline", "--label", fmt.Sprint(i))
	}
	if r := b.eval(t.Context(), "show", "eval-"); r.code != 1 || strings.Count(r.errOut, " or ") != 5 || !strings.Contains(r.errOut, "3 more") {
		t.Error(r.errOut)
	}
}
