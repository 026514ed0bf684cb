package evaluate

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
)

func newFrom(h Host) *cobra.Command {
	var asJSON bool
	var last int
	cmd := &cobra.Command{
		Use:   "from [RUN]...",
		Short: "Count what ordinary runs say about their models, without expectations",
		Long: `Reads records of ordinary runs, and of requests to a gateway if its store is named, and
counts per model: answers, calls, invalid and repaired calls, refused and failed ones,
tokens and time. Without expectations, whether an answer was right is not among the figures.
RUN is the name of a run or latest. Without RUN, the newest runs are read (--last).`,
		Example: "  toolpost eval from --last 100\n  toolpost eval from --journal sqlite:gateway.db --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, runs []string) error {
			store, done, err := h.Runs(cmd)
			if err != nil {
				return err
			}
			defer done()
			if len(runs) == 0 {
				runs, err = newestOrdinary(cmd, h, store, last)
			} else {
				runs, err = ordinary(cmd, h, store, runs)
			}
			if err != nil {
				return err
			}
			found, err := eval.FromRuns(cmd.Context(), store, runs)
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), append([]eval.Production{}, found...))
			}
			return printProduction(cmd.OutOrStdout(), found)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array with an object per model")
	cmd.Flags().IntVar(&last, "last", 1000, "how many of the newest runs are read")
	return cmd
}

// ordinary returns the names of runs, "latest" replaced by the newest. A name without a run is an error.
func ordinary(cmd *cobra.Command, h Host, store Store, names []string) ([]string, error) {
	out := slices.Clone(names)
	for i, name := range names {
		if name == "latest" {
			newest, err := newestOrdinary(cmd, h, store, 1)
			if err != nil {
				return nil, err
			}
			if len(newest) == 0 {
				return nil, errors.New("there are no runs")
			}
			out[i] = newest[0]
			continue
		}
		exists := false
		for _, err := range store.Read(cmd.Context(), name, 1) {
			if err != nil {
				return nil, err
			}
			exists = true
			break
		}
		if !exists {
			return nil, fmt.Errorf("there is no run %s; 'toolpost receipts list' lists them", cli.Printable(name))
		}
	}
	return out, nil
}

func newestOrdinary(cmd *cobra.Command, h Host, store Store, n int) ([]string, error) {
	if n < 1 {
		return nil, cli.Usagef(cmd, "--last must be above 0")
	}
	runs, err := h.Newest(cmd.Context(), store)
	runs = slices.DeleteFunc(runs, func(run string) bool { // a store may hold both
		return strings.HasPrefix(run, runPrefix) || strings.HasPrefix(run, "drift-")
	})
	return runs[:min(n, len(runs))], err
}

func printProduction(out io.Writer, found []eval.Production) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(out, "no run has an answer of a model")
		return err
	}
	var b strings.Builder
	for i := range found {
		p := &found[i]
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "%s\n", p.Model)
		row := func(name, format string, args ...any) {
			fmt.Fprintf(&b, "  %-16s %s\n", name, fmt.Sprintf(format, args...))
		}
		row("runs", "%d", p.Runs)
		row("answers", "%d", p.Answers)
		row("broken answers", "%s", p.Broken)
		row("calls", "%d: %d ran, %d failed, %d refused", p.Calls, p.Ran, p.Failed, p.Refused)
		row("invalid calls", "%s", p.Invalid)
		for _, class := range slices.Sorted(maps.Keys(p.Repaired)) {
			row("repaired", "%d %s", p.Repaired[class], class)
		}
		for _, code := range slices.Sorted(maps.Keys(p.Warnings)) {
			row("warning", "%d %s", p.Warnings[code], code)
		}
		row("tokens", "%d in, %d out", p.Usage.Input, p.Usage.Output)
		row("time", "median %d ms, 95 %% within %d ms", p.Latency[0], p.Latency[1])
	}
	_, err := io.WriteString(out, printableLines(b.String()))
	return err
}

func newCapture(h Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "capture RUN...",
		Short: "Turn recorded runs into cases of a suite",
		Long: `Prints a line of JSON per run: its task, its tools, the results they returned, and the
calls that ran as the expectation. Lines together are a suite; review what they expect.`,
		Example: "  toolpost eval capture RUN >> suite.jsonl",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, runs []string) error {
			store, done, err := h.Runs(cmd)
			if err != nil {
				return err
			}
			defer done()
			if runs, err = ordinary(cmd, h, store, runs); err != nil {
				return err
			}
			for _, run := range runs {
				line, err := eval.Capture(cmd.Context(), store, run)
				if err != nil {
					return err
				}
				if _, err := cmd.OutOrStdout().Write(cli.EscapeUnseen(line)); err != nil {
					return err
				}
			}
			return nil
		},
	}
	return cmd
}
