// Package run is the command run: one task, with the events on standard error and the answer on standard output.
package run

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/catalog"
	askcmd "github.com/toolpost/toolpost/cmd/toolpost/internal/ask"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/session"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/task"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/term"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/internal/outputfields"
	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/tool"
)

type runFlags struct {
	schema  string
	resume  string
	goOn    bool
	files   []string
	json    bool
	yes     bool
	quiet   bool
	verbose bool
	plain   bool
	strict  bool
	askcmd.PendingFlags
}

func New() *cobra.Command {
	var f runFlags
	cmd := &cobra.Command{
		Use:   "run [TASK | -]...",
		Short: "Do a task with tools, on any model",
		Long: `Give a model a task and tools, run what it calls, and leave a record that verifies.

Without a model, run looks for keys in the environment, then for Ollama, llama.cpp, vLLM
and LM Studio on this machine, then takes the offline model, and says which and why.

Tools may read what is below --root. --allow adds classes of tools that write, run
programs or reach the network; each such call is asked about, unless --yes. --tools adds
tools of your own. With --later nobody is asked: the run ends with status 3, and goes on
after 'toolpost runs approve'.

A conversation that outgrows the model's window goes on with a summary of its oldest part,
which the model writes. --budget-usd ends a run whose models cost more, and refuses models
whose price is not known.

-f gives the model files with the task. So does standard input that is a pipe or a file;
an argument "-" says where in the task it stands. -c goes on with the latest run, --resume
with any: an interrupted one where it was, one that has ended in a new run that knows what
was said.

What the model says goes to standard output, what is done to standard error. On a terminal
Markdown is shown as such, unless --plain. With --json every event is one line of JSON on
standard output.`,
		Example: `  toolpost run 'Search docs for "Ollama", then read 20 lines of the file it shows'
  toolpost run -m ollama/qwen3:8b --allow write "Correct the spelling in README.md"
  toolpost run --tools tools.yaml --output-schema answer.json "What is the weather in Rome?"
  git log --oneline -n 20 | toolpost run "What happened lately?"
  toolpost run -f README.md "Sum it up"
  toolpost run -m agent/codex "What does this folder hold?"
  toolpost run -c "And in one sentence?"
  toolpost run --resume 20261115-171147-nuyh2e4z`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			defer surviveClosedPipe()()
			if err := f.PendingFlags.Check(cmd, f.yes); err != nil {
				return err
			}
			return f.run(cmd, args)
		},
	}
	settings.AddFlags(cmd)
	cmd.Flags().StringVar(&f.schema, "output-schema", "", "the answer must match the JSON Schema in this `FILE`, or the output of an agent of a workflow, FILE#AGENT")
	settings.AddTalkFlags(cmd, &f.resume, &f.goOn, &f.files)
	cmd.Flags().BoolVar(&f.json, "json", false, "print every event as a line of JSON")
	cmd.Flags().BoolVarP(&f.yes, "yes", "y", false, "allow what would be asked about, and ask nothing")
	cmd.Flags().BoolVar(&f.plain, "plain", false, term.PlainUsage)
	cmd.Flags().BoolVarP(&f.verbose, "verbose", "v", false, view.VerboseUsage)
	cmd.Flags().BoolVarP(&f.quiet, "quiet", "q", false, "print only the answer and failures")
	cmd.Flags().BoolVar(&f.strict, "strict", false, "fail with status 4 if a small model answers from memory because no tool was offered")
	f.PendingFlags.Add(cmd)
	return cmd
}

// surviveClosedPipe makes a write to a closed pipe an error instead of a fatal signal. The run can then be stopped and
// its record closed.
func surviveClosedPipe() (undo func()) {
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, syscall.SIGPIPE)
	return func() { signal.Stop(caught) }
}

// request describes a run: the task, the run that it continues, and the schema of its answer.
type request struct {
	*settings.Settings
	task   llm.Message
	old    session.Earlier
	output *llm.OutputFormat
}

// request reads the task and the flags of the command.
func (f runFlags) request(cmd *cobra.Command, args []string) (r request, err error) {
	if r.Settings, err = settings.Load(cmd); err != nil {
		return r, err
	}
	if r.Unrecorded && f.Later() {
		return r, cli.Usagef(cmd, "--no-journal leaves no record, so no call can wait: leave out --later")
	}
	if args, err = r.Named(cmd, args); err != nil {
		return r, err
	}
	if r.task, err = task.Read(cmd, args, f.files, f.resume != "" || f.goOn); err != nil {
		return r, err
	}
	if r.output, err = readOutputSchema(f.schema); err != nil {
		return r, err
	}
	r.old, err = session.TakeUp(r.Settings, cmd, f.resume, f.goOn)
	switch {
	case err != nil:
		return r, err
	case r.old.Ended && len(r.task.Parts) == 0:
		return r, cli.Usagef(cmd, "run %s has ended; what shall it go on with? 'toolpost receipts show %s' shows it", r.old.Run, r.old.Run)
	case r.old.Open() && r.output == nil:
		r.output = r.old.Record.Request.Output
	}
	return r, nil
}

func (f runFlags) run(cmd *cobra.Command, args []string) error {
	ctx := cmd.Context()
	req, err := f.request(cmd, args)
	if err != nil {
		return err
	}
	w, err := session.Open(ctx, req.Settings, cmd)
	if err != nil {
		return view.Advised(err)
	}
	defer w.Close()
	if err := req.old.Complete(cmd, w.ToolSet); err != nil {
		return err
	}
	if req.task, err = w.Attach(ctx, req.task); err != nil {
		return err
	}
	pr := view.NewPrinter(cmd.OutOrStdout(), cmd.ErrOrStderr())
	pr.Quiet, pr.Verbose = f.quiet, f.verbose
	pr.Silent = req.output != nil
	if !f.plain {
		pr.AsMarkdown()
	}
	if f.verbose {
		show := pr.ShowLine
		w.ShowLog.Store(&show)
	}
	r := &runner{cmd: cmd, w: w, pr: pr, json: f.json, strict: f.strict, began: time.Now()}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	if w.Timeout > 0 {
		var over func()
		ctx, over = context.WithTimeoutCause(ctx, w.Timeout, fmt.Errorf("the time of the run is over: --timeout is %s", w.Timeout))
		defer over()
	}
	ask := askcmd.NewAsker(cmd.InOrStdin(), pr, w.ToolSet, f.yes, stop)
	ask.Clean = w.Redact
	ask.Wait = &f.PendingFlags
	r.grants = &ask.Grants
	var check session.Checking
	if ask.In != nil {
		check = ask.Checkpoint
	}
	r.attended = check != nil
	a := w.Agent(ask.Approve, check)
	a.Request.Output = req.output
	if err := w.Prefer(a, req.task.Text()); err != nil {
		return err
	}
	if a.Program, err = w.Save(); err != nil {
		return err
	}
	if note := w.Announce(); note != "" && !f.json && !f.quiet {
		for line := range strings.Lines(note + "\n") {
			pr.Line(pr.Palette.Dim(strings.TrimSuffix(line, "\n")))
		}
	}
	w.ShowNotices(cmd)
	defer w.ShowNotices(cmd)
	return r.watch(ctx, r.begin(ctx, a, req.old, req.task))
}

// begin starts a run, or continues an earlier one.
func (r *runner) begin(ctx context.Context, a *agent.Agent, old session.Earlier, task llm.Message) iter.Seq2[llm.Event, error] {
	cli.MustEnd(ctx)
	if old.Open() {
		r.id = old.Run
		var more []llm.Message
		if len(task.Parts) > 0 {
			more = []llm.Message{task}
		}
		return a.Resume(ctx, old.Run, more...)
	}
	r.id = journal.NewRun()
	return a.RunWith(ctx, agent.RunOptions{ID: r.id, Parent: old.Run}, append(old.Messages, task)...)
}

// readOutputSchema reads the file of --output-schema.
func readOutputSchema(file string) (*llm.OutputFormat, error) {
	if file == "" {
		return nil, nil
	}
	file, agent, ofWorkflow := strings.Cut(file, "#")
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, err
	}
	if strings.TrimSpace(text) == "" {
		return nil, fmt.Errorf("%s is empty", file)
	}
	if ofWorkflow {
		if text, err = workflowOutput(text, agent); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	if _, err := schema.Compile(schema.Schema(text)); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return &llm.OutputFormat{Name: "answer", Schema: []byte(text)}, nil
}

// workflowOutput returns the output schema of an agent of a Conductor workflow.
func workflowOutput(text, agent string) (string, error) {
	var workflow struct {
		Agents []struct {
			Name   string         `yaml:"name"`
			Output map[string]any `yaml:"output"`
		} `yaml:"agents"`
	}
	if err := yamlcheck.Decode([]byte(text), &workflow); err != nil {
		return "", err
	}
	var names []string
	for _, a := range workflow.Agents {
		if a.Name == agent {
			s, err := outputfields.Schema(a.Output)
			return string(s), err
		}
		names = append(names, a.Name)
	}
	return "", fmt.Errorf("no agent is called %s%s", agent, cli.DidYouMean(agent, names))
}

// runner watches one run and reports its outcome.
type runner struct {
	cmd   *cobra.Command
	w     *session.Session
	pr    *view.Printer
	json  bool
	began time.Time
	id    string

	attended bool            // a person decides about tools that keep failing
	strict   bool            // --strict
	memory   bool            // the last answer is from memory
	dead     *invoke.Outcome // the call of a tool that failed as often as it is tried

	grants   *askcmd.Grants
	refused  []string // the tools of refused calls
	declined []string // the tools whose questions were not answered
}

// watch shows the events of a run until it ends.
func (r *runner) watch(ctx context.Context, events iter.Seq2[llm.Event, error]) error {
	stop := r.pr.Spin()
	var done agent.Done
	var failed, unread error
	for ev, err := range events {
		if err != nil {
			failed = err
			break
		}
		ev = r.w.RedactEvent(ev)
		if _, turn := ev.(agent.Turn); turn && r.dead != nil {
			break // the model is not asked again
		}
		switch ev := ev.(type) {
		case agent.Turn:
			r.memory = false
		case llm.Warning:
			r.memory = r.memory || view.FromMemory(ev)
		case invoke.Outcome:
			r.outcome(ev)
		case agent.Done:
			done = ev
		case invoke.Decided:
			switch {
			case ev.Prompt != "":
				r.declined = append(r.declined, ev.Tool)
			case !ev.Allowed:
				r.refused = append(r.refused, ev.Tool)
			}
		}
		if unread = r.show(ev); unread != nil {
			break
		}
	}
	if failed != nil {
		r.pr.Drop()
	}
	stop()
	if unread == nil {
		unread = r.pr.Failure()
	}
	if unread != nil {
		return r.unreadable(unread)
	}
	if err := r.finish(done, failed); err != nil {
		return r.unreadable(err)
	}
	if r.dead != nil && done.Run == "" {
		return r.toolFailed()
	}
	if done.Status == agent.StatusPending {
		return r.waits(done)
	}
	if failed == nil && done.Ran == 0 && len(r.refused) > 0 {
		verb := "was"
		if len(r.refused) > 1 {
			verb = "were"
		}
		return fmt.Errorf("nothing was run: %s %s refused", counted(r.refused), verb)
	}
	if failed == nil && r.strict && r.memory {
		return fmt.Errorf("--strict: %s%w", view.MemoryNote, cli.ErrFromMemory)
	}
	return r.verdict(ctx, failed)
}

// outcome notes a tool that failed as often as a call is tried. Its failure is one of the tool, not of the call.
func (r *runner) outcome(o invoke.Outcome) {
	if r.attended || o.Error == nil || o.Attempt < tool.MaxAttempts || o.Receipt.Approval != nil {
		return
	}
	switch o.Error.Code {
	case tool.Validation, tool.NotFound, tool.Cancelled: // the model can call it in another way
		return
	}
	r.dead = &o
}

// toolFailed returns the error of a run without a person that ended because of a tool.
func (r *runner) toolFailed() error {
	e := r.dead.Error
	text := fmt.Sprintf("%s failed %s in a row: %s", r.dead.Call.Name, cli.Count(r.dead.Attempt, "time"), cli.InOneLine(e.Message))
	if e.Fix != "" {
		text += "\n" + e.Fix
	}
	return fmt.Errorf("%s\nThe run was stopped%s%w", text, r.goOn(), cli.ErrToolFailed)
}

func (r *runner) show(ev llm.Event) error {
	if _, ok := ev.(llm.KeepAlive); ok {
		return nil
	}
	if !r.json {
		return r.pr.Event(ev)
	}
	line, err := llm.MarshalEvent(ev)
	if err != nil {
		return err
	}
	_, err = r.cmd.OutOrStdout().Write(append(cli.EscapeUnseen(line), '\n'))
	return err
}

// counted lists names in the order of their first appearance, repeated ones with their number.
func counted(names []string) string {
	var order []string
	times := make(map[string]int)
	for _, name := range names {
		if times[name]++; times[name] == 1 {
			order = append(order, name)
		}
	}
	for i, name := range order {
		if n := times[name]; n > 1 {
			order[i] = fmt.Sprintf("%s ×%d", name, n)
		}
	}
	return strings.Join(order, ", ")
}

// unreadable returns the error of a run whose output cannot be written.
func (r *runner) unreadable(err error) error {
	if errors.Is(err, syscall.EPIPE) {
		err = errors.New("the reader of the output is gone")
	} else {
		err = fmt.Errorf("the output cannot be written: %w", err)
	}
	return fmt.Errorf("%w; the run was stopped%s", err, r.goOn())
}

// goOn returns the command that resumes the run, "" if the run has not started or has ended.
func (r *runner) goOn() string {
	if r.w.Unrecorded {
		return ""
	}
	var last journal.Kind
	for e, err := range r.w.Store.Read(context.WithoutCancel(r.cmd.Context()), r.id, 0) {
		if err != nil {
			break
		}
		last = e.Kind
	}
	if last == "" || last == journal.KindSeal {
		return ""
	}
	return ": toolpost run --resume " + r.id + settings.RecordedAt(r.cmd)
}

// finish writes the answer, if it was held back, and the summary.
func (r *runner) finish(d agent.Done, failed error) error {
	if r.json {
		return nil
	}
	if r.pr.Silent && len(d.Value) > 0 && failed == nil {
		if _, err := fmt.Fprintf(r.cmd.OutOrStdout(), "%s\n", d.Value); err != nil {
			return err
		}
	}
	if d.Run == "" || r.pr.Quiet {
		return nil
	}
	for _, line := range view.Unfounded(d.Messages) {
		r.pr.Note(line)
	}
	_, err := io.WriteString(r.cmd.ErrOrStderr(), r.summary(d))
	return err
}

// summary lists the number of calls, the changes and the receipt.
func (r *runner) summary(d agent.Done) string {
	p := r.pr.Palette
	var b strings.Builder
	did := cli.Count(d.Ran, "call")
	if n := len(midway(d)); n > 0 {
		did += fmt.Sprintf(" and %d begun", n)
	}
	fmt.Fprintf(&b, "\n%s %s in %s on %s\n", p.Dim("did    "), did, cli.ShortDuration(time.Since(r.began)), r.w.Found.ID)
	fmt.Fprintf(&b, "%s %s\n", p.Dim("changed"), strings.Join(changes(d), "\n        "))
	if cost := costLine(d.Cost, d.Unpriced); cost != "" {
		fmt.Fprintf(&b, "%s %s\n", p.Dim("cost   "), cost)
	}
	if len(r.refused) > 0 {
		fmt.Fprintf(&b, "%s %s\n", p.Dim("refused"), cli.Printable(counted(r.refused)))
	}
	if len(r.declined) > 0 {
		fmt.Fprintf(&b, "%s to answer %s\n", p.Dim("declined"), cli.Printable(counted(r.declined)))
	}
	for _, g := range r.grants.List() {
		fmt.Fprintf(&b, "%s %s\n", p.Dim("granted"), g)
	}
	receipt := "toolpost receipts verify " + d.Run + settings.RecordedAt(r.cmd)
	if r.w.Unrecorded {
		receipt = "none: --no-journal"
	}
	fmt.Fprintf(&b, "%s %s\n", p.Dim("receipt"), receipt)
	return b.String()
}

// changes lists the changes that tools reported. For other tools it relies on their declared effects.
func changes(d agent.Done) []string {
	var lines []string
	for _, e := range d.Did {
		lines = append(lines, view.Effect(e))
	}
	if tools := midway(d); len(tools) > 0 {
		lines = append(lines, "not known: "+cli.InOneLine(strings.Join(tools, ", "))+" was begun, and may have changed things before it asked")
	}
	switch {
	case len(d.Unreported) > 0:
		lines = append(lines, "not known: "+cli.InOneLine(strings.Join(d.Unreported, ", "))+" may change things, and did not say what")
	case len(lines) > 0:
	case d.Ran > 0:
		lines = append(lines, "nothing: the tools that ran declare that they only read")
	default:
		lines = append(lines, "nothing")
	}
	return lines
}

// midway returns the tools that wait for an answer during a call and do not declare that they only read.
func midway(d agent.Done) []string {
	var out []string
	for _, q := range d.Waiting {
		if q.Prompt > 0 && !q.Effects.Has(tool.ReadOnly) && !slices.Contains(out, q.Tool) {
			out = append(out, q.Tool)
		}
	}
	return out
}

// verdict turns the end of a run into the command's error.
func (r *runner) verdict(ctx context.Context, failed error) error {
	var held *journal.HeldError
	switch {
	case failed == nil:
		return nil
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w%s", context.Cause(ctx), r.goOn())
	case ctx.Err() != nil:
		fmt.Fprintf(r.cmd.ErrOrStderr(), "toolpost: interrupted%s\n", r.goOn())
		return cli.ErrInterrupted
	case errors.As(failed, &held):
		return fmt.Errorf("run %s is at work: %s owns it; wait until that process ends, or end it, and resume then", held.Run, held.Owner)
	case errors.Is(failed, journal.ErrLeaseLost):
		return fmt.Errorf("run %s has another owner now, so nothing more was done here: %w", r.id, failed)
	case errors.Is(failed, journal.ErrSealed):
		return fmt.Errorf("run %s has ended, there is nothing to go on with; 'toolpost receipts show %s' shows it", r.id, r.id)
	case errors.Is(failed, syscall.ENOSPC), errors.Is(failed, syscall.EFBIG):
		return fmt.Errorf("the record cannot be written, so nothing more was done: %w", failed)
	}
	err := view.Advised(failed)
	if next := r.goOn(); next != "" {
		switch llm.KindOf(failed) {
		case llm.Unsupported, llm.Invalid, llm.NotFound, llm.TooLong: // the same model says the same again
			next += " -m MODEL, with another model"
		}
		err = fmt.Errorf("%w\nThe run has not ended%s", err, next)
	}
	return err
}

// costLine formats the cost of a run. It returns "" if the cost is 0.
func costLine(cost catalog.Money, unpriced bool) string {
	switch {
	case cost == 0:
		return ""
	case unpriced:
		return cost.String() + ", plus parts without a known price"
	}
	return cost.String()
}

// waits prints the waiting calls and how to decide about them. It returns the error that ends the command.
func (r *runner) waits(d agent.Done) error {
	if !r.json {
		p := r.pr.Palette
		for _, q := range d.Waiting {
			for i, line := range view.QuestionLines(p, q) {
				head := p.Yellow("waits  ")
				if i > 0 {
					head = "       "
				}
				fmt.Fprintf(r.cmd.ErrOrStderr(), "%s %s\n", head, line)
			}
		}
		id := d.Run + settings.RecordedAt(r.cmd)
		fmt.Fprintf(r.cmd.ErrOrStderr(), "%s toolpost runs approve %s, or deny; then toolpost run --resume %s\n", p.Dim("decide "), id, id)
	}
	return cli.ErrWaiting
}
