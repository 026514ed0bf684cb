package receipts

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/journal"
)

func newReceiptsShow() *cobra.Command {
	var asJSON, entries, full bool
	cmd := &cobra.Command{
		Use:   "show RUN|FILE",
		Short: "Show a run as a transcript, and what it changed",
		Long: `Show a run as a conversation: what was asked, what the model said, which tools ran with
which arguments and what came of it. Then what its tools report to have changed, and the
calls nobody knows the outcome of. --entries shows the record itself, a line per entry.`,
		Example: `  toolpost receipts show latest
  toolpost receipts show --full RUN
  toolpost receipts show --entries RUN
  toolpost receipts show --json RUN`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if asJSON && (entries || full) || entries && full {
				return cli.Usagef(cmd, "--json, --entries and --full are three ways to show a run: give one")
			}
			src, done, err := runstore.Find(cmd, args[0])
			if err != nil {
				return err
			}
			defer done()
			if asJSON {
				return showJSON(cmd, src)
			}
			return showRun(cmd, src, entries, full)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object with the entries and the report of verify")
	cmd.Flags().BoolVar(&entries, "entries", false, "print a line per entry of the record")
	cmd.Flags().BoolVar(&full, "full", false, "print results of tools whole")
	return cmd
}

// entryJSON is an entry in the output of show --json: the recorded line, with references replaced by complete values.
type entryJSON struct {
	At       time.Time         `json:"at"`
	Body     json.RawMessage   `json:"body"`
	Hash     journal.Hash      `json:"hash"`
	Kind     journal.Kind      `json:"kind"`
	Prev     journal.Hash      `json:"prev"`
	Run      string            `json:"run"`
	Seq      int64             `json:"seq"`
	Stripped *journal.Stripped `json:"stripped,omitempty"`
	V        int               `json:"v"` // the format version of the run
}

// Record is a verified run.
type Record struct {
	Report  *journal.Report `json:"report"`
	Entries []entryJSON     `json:"entries"`
}

// Read reads and verifies a run.
func Read(ctx context.Context, src runstore.Source) (Record, error) {
	report, err := journal.VerifyLines(src.Lines(ctx))
	if err != nil && len(report.Faults) == 0 {
		return Record{}, err
	}
	entries := []entryJSON{}
	for e, err := range journal.Whole(src.Entries(ctx)) {
		if err != nil {
			return Record{}, err
		}
		entries = append(entries, entryJSON{e.At, e.Body, e.Hash, e.Kind, e.Prev, e.Run, e.Seq, e.Stripped, report.Format})
	}
	return Record{report, entries}, nil
}

func showJSON(cmd *cobra.Command, src runstore.Source) error {
	r, err := Read(cmd.Context(), src)
	if err != nil {
		return err
	}
	return cli.PrintJSON(cmd.OutOrStdout(), r)
}

func showRun(cmd *cobra.Command, src runstore.Source, entries, full bool) error {
	out := bufio.NewWriter(cmd.OutOrStdout())
	s := &shower{out: out, palette: cli.Colours(cmd.OutOrStdout())}
	show, flush := s.entry, func() {}
	if !entries {
		n := &narrator{shower: s, width: cli.Columns(cmd.OutOrStdout()), full: full}
		show, flush = n.entry, n.flush
	}
	report, err := journal.Verify(func(yield func(journal.Entry, error) bool) {
		for e, err := range src.Entries(cmd.Context()) {
			if err == nil {
				show(e)
			}
			if !yield(e, err) {
				return
			}
		}
	})
	if newer := new(journal.FormatError); errors.As(err, &newer) {
		return newer
	}
	if err == nil && report.Entries == 0 {
		return fmt.Errorf("%s: there are no entries", src.Name)
	}
	flush()
	s.end(report)
	if ferr := out.Flush(); err == nil {
		err = ferr
	}
	return err
}

// shower prints a run for people.
type shower struct {
	out     io.Writer
	palette cli.Palette
	begun   time.Time
	effects []string
	refs    journal.Resolver
}

// entry prints an entry in one line.
func (s *shower) entry(e journal.Entry) {
	if whole, err := s.refs.Whole(e); err == nil { // on error the entry is shown unchanged
		e = whole
	}
	if s.begun.IsZero() {
		s.begun = e.At
		fmt.Fprintf(s.out, "%s  %s\n", s.palette.Bold(e.Run), e.At.Format("2006-01-02 15:04:05 MST"))
	}
	mark := ""
	if e.Stripped != nil {
		mark = "  [stripped]"
	}
	fmt.Fprintf(s.out, "%4d %9s  %-12s %s%s\n", e.Seq, "+"+e.At.Sub(s.begun).Round(time.Millisecond).String(), e.Kind, s.describe(e), s.palette.Dim(mark))
}

// describe returns an entry's body in one line. Unknown kinds are shown unchanged.
func (s *shower) describe(e journal.Entry) string {
	switch e.Kind {
	case journal.KindStart:
		return described(e, func(b journal.Start) string {
			return strings.TrimSpace(b.Model + " " + cli.OneLine(runstore.TaskOf(b.Task, b.Team, b.Route), 80))
		})
	case journal.KindRequest:
		return described(e, func(b journal.Request) string {
			return fmt.Sprintf("messages: %d, new: %d", b.Keep+len(b.Messages), len(b.Messages))
		})
	case journal.KindAnswer:
		return described(e, describeAnswer)
	case journal.KindIntent:
		return described(e, func(b journal.Intent) string { return cli.OneLine(b.Tool, 60) + " " + cli.OneLine(string(b.Args), 80) })
	case journal.KindReceipt, journal.KindRefusal:
		return described(e, s.describeReceipt)
	case journal.KindVerification:
		return described(e, func(b journal.Verification) string {
			return fmt.Sprintf("%s: exit code %d", cli.OneLine(b.Command, 80), b.ExitCode)
		})
	}
	return cli.OneLine(string(e.Body), 100)
}

func described[T any](e journal.Entry, describe func(T) string) string {
	var body T
	if err := e.Decode(&body); err != nil {
		return cli.OneLine(string(e.Body), 100)
	}
	return describe(body)
}

func describeAnswer(a journal.Answer) string {
	var parts []string
	if text := a.Message.Text(); text != "" {
		parts = append(parts, fmt.Sprintf("%q", cli.OneLine(text, 60)))
	}
	for _, c := range a.Message.Calls() {
		parts = append(parts, "calls "+cli.OneLine(c.Name, 60))
	}
	for _, c := range a.Invalid {
		parts = append(parts, "cannot be read: "+cli.OneLine(c.Problem, 60))
	}
	if a.Error != nil {
		parts = append(parts, "failed: "+cli.OneLine(a.Error.Message, 80))
	}
	return strings.Join(parts, ", ")
}

func (s *shower) describeReceipt(r journal.Receipt) string {
	status := cli.OneLine(string(r.Status), 20)
	switch r.Status {
	case journal.OK:
		status = s.palette.Green(status)
	case journal.Refused, journal.Failed:
		status = s.palette.Red(status)
	default:
		status = s.palette.Yellow(status)
	}
	line := fmt.Sprintf("%s %s %d ms", cli.OneLine(r.Tool, 60), status, r.LatencyMS)
	if r.Cached {
		line += ", from the cache"
	}
	if r.Attempts > 1 {
		line += fmt.Sprintf(", %d attempts", r.Attempts)
	}
	for _, repair := range r.Repairs {
		line += fmt.Sprintf(", repaired %s (%s)", cli.OneLine(repair.Rule, 40), repair.Class)
	}
	if r.ExecutedBy != "" && r.ExecutedBy != journal.ByRuntime {
		line += ", run by the " + cli.OneLine(r.ExecutedBy, 40)
	}
	if r.Error != nil {
		line += ": " + cli.OneLine(r.Error.Code, 40) + ": " + cli.OneLine(r.Error.Message, 80)
	} else if r.Reason != "" {
		line += ": " + cli.OneLine(r.Reason, 80)
	}
	for _, e := range r.SideEffects {
		s.effects = append(s.effects, cli.OneLine(fmt.Sprintf("%-16s %s  (%s, call %s)", e.Type, e.Path, r.Tool, r.Call), 300))
	}
	return line
}

// end prints the summary of the run.
func (s *shower) end(r *journal.Report) {
	if len(s.effects) > 0 {
		fmt.Fprintln(s.out, "\nSide effects")
		for _, e := range s.effects {
			fmt.Fprintln(s.out, "  "+e)
		}
	}
	if len(r.Unknown) > 0 {
		fmt.Fprintln(s.out, "\nOutcome unknown: begun, and no receipt")
		for _, in := range r.Unknown {
			fmt.Fprintln(s.out, "  "+cli.OneLine(fmt.Sprintf("%s %s  (call %s)", in.Tool, cli.OneLine(string(in.Args), 80), in.Call), 200))
		}
	}
	fmt.Fprintf(s.out, "\n%s, %d entries, head %s\n", s.palette.State(r.State()), r.Entries, r.Head)
}
