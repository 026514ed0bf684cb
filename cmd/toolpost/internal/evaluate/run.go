package evaluate

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/llm"
)

type runFlags struct {
	reportFlags
	models      modelList
	repeat      int
	tags        []string
	limit       int
	loop        int
	judge       string
	temperature float64
	label       string
	parallel    []string
	tokens      int
	money       string
	time        time.Duration
	against     string
	quiet       bool
}

func newRun(h Host) *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run SUITE -m MODEL...",
		Short: "Ask models the cases of a suite and score the answers",
		Long: `Asks every model every case, and prints the shares of right answers with their 95 %
intervals. Each answer is recorded at once. After Ctrl-C, or when a budget is used up,
the same command continues where it stopped; when all is answered, it only prints.
--label gives a measurement a name, and another name asks again.

SUITE is a file or the name of a ready suite ('toolpost eval suites').`,
		Example: `  toolpost eval run basics -m sim/offline
  toolpost eval run suite.yaml -m sim/offline -m sim/native --repeat 3 --html report.html
  toolpost eval run suite.yaml -m sim/offline --fail-on 'right<90%' --junit results.xml
  toolpost eval run basics -m sim/offline --parallel 8,openai=2 --budget-usd 1 --budget-time 10m`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, h, args[0]) },
	}
	flags := cmd.Flags()
	flags.VarP(&f.models, "model", "m", "a `MODEL` to ask, like ollama/qwen3:8b; give it several times to compare")
	flags.IntVar(&f.repeat, "repeat", 1, "how often each case is asked")
	flags.StringSliceVar(&f.tags, "tags", nil, "ask only cases with one of these `TAGS`")
	flags.IntVar(&f.limit, "limit", 0, "ask only so many cases, spread over the suite")
	flags.IntVar(&f.loop, "loop", 0, "how often a call that cannot run goes back to the model; 0 counts the first answer")
	flags.StringVar(&f.judge, "judge", "", "the `MODEL` that judges answers by the rubrics of the suite")
	flags.Float64Var(&f.temperature, "temperature", 0, "how freely the models choose words, 0 to 2; their own default if not given")
	flags.StringVar(&f.label, "label", "", "the `NAME` of this measurement; another name asks again")
	flags.StringSliceVar(&f.parallel, "parallel", []string{"4"}, "how many questions a vendor gets at a time, like `4` or 4,openai=2")
	flags.IntVar(&f.tokens, "budget-tokens", 0, "stop when this many tokens are used")
	flags.StringVar(&f.money, "budget-usd", "", "stop when this many US `DOLLARS` are spent")
	flags.DurationVar(&f.time, "budget-time", 0, "stop after this time, like `10m`")
	flags.StringVar(&f.against, "against", "", "the `RUN` to compare with")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	f.add(cmd)
	return cmd
}

// modelList is the value of a flag that may be given several times, a model each.
type modelList []string

func (l *modelList) String() string { return strings.Join(*l, ", ") }

func (l *modelList) Type() string { return "string" }

// Set adds a model.
func (l *modelList) Set(id string) error {
	if id == "" {
		return errors.New("it is empty")
	}
	*l = append(*l, id)
	return nil
}

func (f *runFlags) run(cmd *cobra.Command, h Host, name string) error {
	var err error
	if f.failing, err = thresholds(cmd, f.failOn, f.against != ""); err != nil {
		return err
	}
	models, err := h.Models(cmd)
	if err != nil {
		return err
	}
	suite, err := LoadSuite(name, models.Tools)
	if err != nil {
		return err
	}
	if suite = suite.Select(f.tags...).Sample(f.limit); len(suite.Cases) == 0 {
		return cli.Usagef(cmd, "no case of the suite has the tag %s", strings.Join(f.tags, " or "))
	}
	ev, err := f.evaluator(cmd, models)
	if err != nil {
		return err
	}
	store, done, err := h.store(cmd, true)
	if err != nil {
		return err
	}
	defer done()
	ev.Store = store
	var before *eval.Summary
	if f.against != "" {
		old, err := h.recorded(cmd, f.against, "")
		if err != nil {
			return err
		}
		old.done()
		before = old.summary
	}
	cli.MustEnd(cmd.Context())
	progress := newProgress(cmd, f.quiet || f.json)
	ev.Progress = progress.show
	run, err := ev.Run(cmd.Context(), suite)
	progress.end()
	if err != nil && !keepsWhatIsDone(cmd, err) {
		return err
	}
	return f.finish(cmd, ev, suite, run, before, err)
}

// keepsWhatIsDone reports whether a run that ended early has answers worth showing.
func keepsWhatIsDone(cmd *cobra.Command, err error) bool {
	missing := new(eval.MissingError)
	return cmd.Context().Err() != nil || errors.Is(err, eval.ErrBudget) || errors.As(err, &missing)
}

// finish reports a run that ended with an error or without one.
func (f *runFlags) finish(cmd *cobra.Command, ev *eval.Evaluator, suite *eval.Suite, run string, before *eval.Summary, ended error) error {
	ctx := context.WithoutCancel(cmd.Context())
	s, err := eval.Summarize(ctx, ev.Store, suite, run)
	if err != nil {
		return errors.Join(ended, err)
	}
	if err := f.write(cmd, s); err != nil {
		return err
	}
	if before != nil {
		for _, p := range pairs(before, s) {
			c := eval.Compare(before, p[0], s, p[1])
			switch {
			case c.Cases == 0 && len(s.Rows) > 0:
				return nothingShared(before, s)
			case !f.json:
				fmt.Fprintf(cmd.OutOrStdout(), "\nagainst %s: %s\n", before.Run, cli.Printable(c.String()))
			}
		}
	}
	total := len(suite.Cases) * len(ev.Models) * max(1, ev.Repeat)
	switch {
	case cmd.Context().Err() != nil:
		fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: interrupted; %d of %d answers are kept in %s, and the same command continues\n", len(s.Rows), total, run)
		return cli.ErrInterrupted
	case errors.Is(ended, eval.ErrBudget):
		return fmt.Errorf("the budget is used up after %d of %d answers; the same command with a higher budget continues", len(s.Rows), total)
	case ended != nil:
		return ended
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "recorded as %s\n", run)
	if len(f.failing) == 0 {
		return nil
	}
	return judge(cmd, f.failing, s, before, allModels(s, before))
}

// allModels pairs each model of a run with the one that it is compared with.
func allModels(s, before *eval.Summary) [][2]string {
	if before != nil {
		if p := pairs(before, s); len(p) == len(s.Models) {
			return p
		}
	}
	var out [][2]string
	for _, m := range s.Models {
		out = append(out, [2]string{m.Model, m.Model})
	}
	return out
}

// evaluator returns the evaluator by the flags, without a store.
func (f *runFlags) evaluator(cmd *cobra.Command, models *Models) (*eval.Evaluator, error) {
	ids := []string(f.models)
	if len(ids) == 0 && models.Default != "" {
		ids = []string{models.Default}
	}
	switch {
	case len(ids) == 0:
		return nil, cli.Usagef(cmd, "which model? give one with -m, like -m sim/offline")
	case f.repeat < 1 || f.repeat > 1000:
		return nil, cli.Usagef(cmd, "--repeat must be between 1 and 1000")
	case f.loop < 0 || f.loop > 20:
		return nil, cli.Usagef(cmd, "--loop must be between 0 and 20")
	case f.tokens < 0 || f.time < 0 || f.limit < 0:
		return nil, cli.Usagef(cmd, "limits and budgets must not be below 0")
	}
	ev := &eval.Evaluator{Models: ids, Repeat: f.repeat, Loop: f.loop, Judge: f.judge, Label: f.label, Tokens: f.tokens, Time: f.time}
	if cmd.Flags().Changed("temperature") {
		if f.temperature < 0 || f.temperature > 2 {
			return nil, cli.Usagef(cmd, "--temperature must be between 0 and 2")
		}
		ev.Temperature = &f.temperature
	}
	var err error
	if ev.Parallel, ev.ParallelOf, err = parallelOf(f.parallel); err != nil {
		return nil, cli.Usagef(cmd, "--parallel: %w", err)
	}
	opened := opening{models: models, all: make(map[string]llm.Model)}
	ev.Open = opened.open
	ev.Cost = func(id string, u llm.Usage) (catalog.Money, bool) {
		m, err := opened.open(id)
		if err != nil {
			return 0, false
		}
		return models.Cost(m, id, u)
	}
	if f.money == "" {
		return ev, nil
	}
	if ev.Money, err = catalog.ParseMoney(f.money); err != nil {
		return nil, cli.Usagef(cmd, "--budget-usd: %w", err)
	}
	if ev.Money <= 0 {
		return nil, cli.Usagef(cmd, "--budget-usd must be above 0")
	}
	for _, id := range ids {
		if _, err := opened.open(id); err != nil {
			return nil, err
		}
		if _, known := ev.Cost(id, llm.Usage{Input: 1, Output: 1}); !known {
			return nil, fmt.Errorf("the price of %s is not known, so --budget-usd cannot be kept; put its price into models.yaml or leave the budget out", id)
		}
	}
	return ev, nil
}

// opening opens each model once.
type opening struct {
	mu     sync.Mutex
	models *Models
	all    map[string]llm.Model
}

func (o *opening) open(id string) (llm.Model, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if m := o.all[id]; m != nil {
		return m, nil
	}
	m, err := o.models.Open(id)
	if err == nil {
		o.all[id] = m
	}
	return m, err
}

// parallelOf reads limits: a number for all vendors, and VENDOR=NUMBER for some.
func parallelOf(list []string) (all int, of map[string]int, err error) {
	of = make(map[string]int)
	for _, item := range list {
		vendor, number, named := strings.Cut(item, "=")
		if !named {
			vendor, number = "", item
		}
		n, err := strconv.Atoi(strings.TrimSpace(number))
		if err != nil || n < 1 || n > 256 {
			return 0, nil, fmt.Errorf("%q must be a number from 1 to 256", item)
		}
		if named {
			of[strings.TrimSpace(vendor)] = n
		} else {
			all = n
		}
	}
	return all, of, nil
}

// progress shows how far a run has come: one line that changes on a terminal, a line now and then elsewhere.
type progress struct {
	cmd      *cobra.Command
	quiet    bool
	terminal bool
	shown    time.Time
}

// Between two lines of progress pass at least these times.
const (
	onTerminal = 100 * time.Millisecond
	elsewhere  = 10 * time.Second
)

func newProgress(cmd *cobra.Command, quiet bool) *progress {
	f, ok := cmd.ErrOrStderr().(*os.File)
	return &progress{cmd: cmd, quiet: quiet, terminal: ok && cli.IsTerminal(f), shown: time.Now()}
}

// show is called by one goroutine at a time.
func (p *progress) show(now eval.Progress) {
	every := elsewhere
	if p.terminal {
		every = onTerminal
	}
	if p.quiet || time.Since(p.shown) < every && now.Done < now.Total {
		return
	}
	p.shown = time.Now()
	text := fmt.Sprintf("%d of %d answers", now.Done, now.Total)
	if now.Failed > 0 {
		text += fmt.Sprintf(", %d failed", now.Failed)
	}
	if left := now.Left.Round(time.Second); left > 0 {
		text += fmt.Sprintf(", %s left", left)
	}
	switch {
	case p.terminal:
		fmt.Fprintf(p.cmd.ErrOrStderr(), "\r\x1b[K%s", text)
	case now.Done < now.Total:
		fmt.Fprintln(p.cmd.ErrOrStderr(), text)
	}
}

// end removes the line of progress.
func (p *progress) end() {
	if p.terminal && !p.quiet {
		fmt.Fprint(p.cmd.ErrOrStderr(), "\r\x1b[K")
	}
}
