// Package replay is the command replay: a recorded run again, or with another model.
package replay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/charmbracelet/x/ansi"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

func New() *cobra.Command {
	var against string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "replay RUN",
		Short: "Play a recorded run again, without model or tools",
		Long: `Run the loop of a recorded run again, with the answers of model and tools from the record.
Nobody is asked and nothing is run. If the run goes as it went, the exit code is 0; else
the first difference is shown, recorded and now side by side, and the exit code is 1.

--against asks another model each question of the run again and compares the calls it
makes with those on record. No tool is run.

RUN is a run of the store, or latest for the newest, or a file.`,
		Example: `  toolpost replay latest
  toolpost replay 20261115-171147-nuyh2e4z --against ollama/qwen3:8b`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			src, done, err := runstore.Find(cmd, args[0])
			if err != nil {
				return err
			}
			defer done()
			_, err = journal.VerifyLines(src.Lines(cmd.Context()))
			if newer := new(journal.FormatError); errors.As(err, &newer) {
				return newer
			}
			if err != nil {
				return fmt.Errorf("%w\n'toolpost receipts verify %s' says more", err, args[0])
			}
			if against != "" {
				return replayAgainst(cmd, src, against, asJSON)
			}
			return replayRun(cmd, src, asJSON)
		},
	}
	cmd.Flags().StringVar(&against, "against", "", "ask this `MODEL` the same questions and compare its calls")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, with --against one per turn")
	settings.AddJournalFlag(cmd, cmd.Flags())
	return cmd
}

// replayed is the output of replay --json.
type replayed struct {
	Run        string              `json:"run"`
	Same       bool                `json:"same"`
	Requests   int                 `json:"requests"`
	Difference *journal.Difference `json:"difference,omitempty"`
}

func replayRun(cmd *cobra.Command, src runstore.Source, asJSON bool) error {
	ctx := cmd.Context()
	result := replayed{Run: src.Name}
	for e, err := range src.Entries(ctx) {
		if err != nil {
			return err
		}
		if e.Kind == journal.KindRequest {
			result.Requests++
		}
	}
	if err := agent.Replay(ctx, onlyRead{src}, src.Name); err != nil && !errors.As(err, &result.Difference) {
		return err
	}
	result.Same = result.Difference == nil
	out := cmd.OutOrStdout()
	p := cli.Colours(out)
	var err error
	switch {
	case asJSON:
		err = cli.PrintJSON(out, result)
	case result.Same:
		_, err = fmt.Fprintf(out, "%s %s goes as it went: %s, no model asked, no tool run\n", p.Green("✓"), src.Name, cli.Count(result.Requests, "question"))
	default:
		_, err = io.WriteString(out, showDifference(p, result.Difference, cli.Columns(out)))
	}
	if err == nil && !result.Same {
		err = cli.ErrReported
	}
	return err
}

// onlyRead is a read-only store for a run in a file or another store.
type onlyRead struct{ src runstore.Source }

// Append always fails.
func (onlyRead) Append(context.Context, journal.Entry) (journal.Entry, error) {
	return journal.Entry{}, errors.New("a replay writes nothing")
}

// Read yields the run and ignores the name.
func (s onlyRead) Read(ctx context.Context, _ string, from int64) iter.Seq2[journal.Entry, error] {
	return func(yield func(journal.Entry, error) bool) {
		for e, err := range s.src.Entries(ctx) {
			if (err != nil || e.Seq >= from) && !yield(e, err) {
				return
			}
		}
	}
}

// showDifference shows the first difference between the record and the replay, side by side.
func showDifference(p cli.Palette, d *journal.Difference, width int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s differs", p.Red("✗"), d.What)
	if d.Path != "" {
		fmt.Fprintf(&b, " at %s", d.Path)
	}
	if d.Seq > 0 {
		fmt.Fprintf(&b, " (entry %d)", d.Seq)
	}
	b.WriteString("\n")
	b.WriteString(SideBySide(p, d.Was, d.Is, width))
	return b.String()
}

// maxRows limits how much of a difference is shown.
const maxRows = 40

func SideBySide(p cli.Palette, was, is string, width int) string {
	half := max(10, (width-5)/2)
	left := strings.Split(ansi.Hardwrap(cli.Printable(cmp.Or(was, "nothing")), half, true), "\n")
	right := strings.Split(ansi.Hardwrap(cli.Printable(cmp.Or(is, "nothing")), half, true), "\n")
	var b strings.Builder
	row := func(l, r string) {
		fmt.Fprintf(&b, "  %s%s │ %s\n", l, strings.Repeat(" ", max(0, half-ansi.StringWidth(l))), r)
	}
	row(p.Bold("recorded"), p.Bold("now"))
	for i := range max(len(left), len(right)) {
		if i == maxRows {
			row("…", "…")
			break
		}
		row(at(left, i), at(right, i))
	}
	return b.String()
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return ""
}

// replayAgainst sends every request of a run to another model and compares the calls.
func replayAgainst(cmd *cobra.Command, src runstore.Source, id string, asJSON bool) error {
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	client, err := openmodel.Client(&s.ModelOptions)
	if err != nil {
		return err
	}
	model, err := client.Open(id)
	if err != nil {
		return view.Advised(err)
	}
	same, asked := 0, 0
	for c, err := range agent.Against(cmd.Context(), onlyRead{src}, src.Name, model) {
		if err != nil {
			return err
		}
		if asked++; c.Same {
			same++
		}
		if err := printCompared(cmd.OutOrStdout(), c, asJSON); err != nil {
			return err
		}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
	}
	if !asJSON {
		fmt.Fprintf(cmd.OutOrStdout(), "%d of %s answered with the same calls\n", same, cli.Count(asked, "question"))
	}
	if same < asked {
		return cli.ErrReported
	}
	return nil
}

// comparisonJSON is a line of replay --against --json.
type comparisonJSON struct {
	agent.Comparison
	Error string `json:"error,omitempty"`
}

func printCompared(w io.Writer, c agent.Comparison, asJSON bool) error {
	line := comparisonJSON{Comparison: c}
	if c.Err != nil {
		line.Error = c.Err.Error()
	}
	if asJSON {
		return cli.WriteLine(w, line)
	}
	p := cli.Colours(w)
	was, is := written(c.Was, c.WasText), written(c.Is, c.IsText)
	if c.Err != nil {
		is = "error: " + line.Error
	}
	text := fmt.Sprintf("%s turn %d: %s\n", p.Green("✓"), c.Turn, cli.InOneLine(was))
	if !c.Same {
		text = fmt.Sprintf("%s turn %d\n%s", p.Red("✗"), c.Turn, SideBySide(p, was, is, cli.Columns(w)))
	}
	_, err := io.WriteString(w, text)
	return err
}

// written formats calls, one per line. Without calls it returns the text.
func written(calls []llm.Call, text string) string {
	if len(calls) == 0 {
		return text
	}
	lines := make([]string, len(calls))
	for i, c := range calls {
		lines[i] = c.Name + " " + string(c.Args)
	}
	return strings.Join(lines, "\n")
}
