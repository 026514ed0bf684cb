package evaluate

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
)

func newShow(h Host) *cobra.Command {
	var f reportFlags
	var suite, against string
	cmd := &cobra.Command{
		Use:   "show [RUN]",
		Short: "Score a recorded run again and report it, without asking a model",
		Long: `Scores the recorded answers with the suite as it is now, so that a changed expectation
costs nothing. RUN is the name of a run, a unique beginning of it, or latest.`,
		Example: `  toolpost eval show
  toolpost eval show latest --cases
  toolpost eval show latest --markdown report.md --html report.html`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			if f.failing, err = thresholds(cmd, f.failOn, against != ""); err != nil {
				return err
			}
			e, err := h.recorded(cmd, named(args), suite)
			if err != nil {
				return err
			}
			defer e.done()
			var before *eval.Summary
			if against != "" {
				old, err := h.recorded(cmd, against, suite)
				if err != nil {
					return err
				}
				old.done()
				before = old.summary
			}
			if err := f.write(cmd, e.summary); err != nil {
				return err
			}
			return judge(cmd, f.failing, e.summary, before, allModels(e.summary, before))
		},
	}
	cmd.Flags().StringVar(&suite, "suite", "", "the `SUITE` to score with; that of the run if not given")
	cmd.Flags().StringVar(&against, "against", "", "the `RUN` to compare with, for --fail-on")
	f.add(cmd)
	return cmd
}

func named(args []string) string {
	if len(args) == 0 {
		return "latest"
	}
	return args[0]
}

func newDiff(h Host) *cobra.Command {
	var asJSON bool
	var failOn []string
	var suite, modelA, modelB string
	cmd := &cobra.Command{
		Use:   "diff A [B]",
		Short: "Compare two runs, or two models of a run, case by case",
		Long: `Lists the cases that only one of two runs passed, with both answers, and tests whether
chance explains the difference (exact McNemar test, paired bootstrap). With one run,
--model-a and --model-b name the two of its models to compare.`,
		Example: `  toolpost eval diff latest --model-a sim/offline --model-b sim/native
  toolpost eval diff 3f1c 88a0 --fail-on 'right<-2%'`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			failing, err := thresholds(cmd, failOn, true)
			if err != nil {
				return err
			}
			if len(args) == 1 && (modelA == "" || modelB == "") {
				return cli.Usagef(cmd, "name two runs, or two models of the run with --model-a and --model-b")
			}
			a, err := h.recorded(cmd, args[0], suite)
			if err != nil {
				return err
			}
			defer a.done()
			b := a
			if len(args) == 2 {
				if b, err = h.recorded(cmd, args[1], suite); err != nil {
					return err
				}
				defer b.done()
			}
			chosen, err := chosenPairs(a.summary, b.summary, modelA, modelB)
			if err != nil {
				return cli.Usagef(cmd, "%w", err)
			}
			if err := printDiffs(cmd, a, b, chosen, asJSON); err != nil {
				return err
			}
			return judge(cmd, failing, b.summary, a.summary, chosen)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array with a comparison per pair of models")
	cmd.Flags().StringVar(&suite, "suite", "", "the `SUITE` to score both with; that of each run if not given")
	cmd.Flags().StringVar(&modelA, "model-a", "", "the `MODEL` of A")
	cmd.Flags().StringVar(&modelB, "model-b", "", "the `MODEL` of B")
	addFailOn(cmd, &failOn)
	return cmd
}

func chosenPairs(a, b *eval.Summary, modelA, modelB string) ([][2]string, error) {
	if modelA == "" && modelB == "" {
		if p := pairs(a, b); len(p) > 0 {
			return p, nil
		}
		return nil, fmt.Errorf("the runs have no model in common; name the models with --model-a and --model-b")
	}
	if modelA == "" {
		modelA = modelB
	}
	if modelB == "" {
		modelB = modelA
	}
	for _, side := range []struct {
		s  *eval.Summary
		id string
	}{{a, modelA}, {b, modelB}} {
		if modelOf(side.s, side.id) == nil {
			return nil, fmt.Errorf("%s did not ask %s; it asked %s", side.s.Run, side.id, strings.Join(side.s.Plan.Models, ", "))
		}
	}
	return [][2]string{{modelA, modelB}}, nil
}

// nothingShared is the error of a comparison of runs of different suites.
func nothingShared(a, b *eval.Summary) error {
	return fmt.Errorf("%s and %s have no case in common: compare runs of the same suite", a.Run, b.Run)
}

func printDiffs(cmd *cobra.Command, a, b *evaluation, chosen [][2]string, asJSON bool) error {
	var all []*eval.PairedComparison
	for _, p := range chosen {
		c := eval.Compare(a.summary, p[0], b.summary, p[1])
		if c.Cases == 0 {
			return nothingShared(a.summary, b.summary)
		}
		if err := c.AddAnswers(cmd.Context(), a.store, a.summary.Run, p[0], b.store, b.summary.Run, p[1]); err != nil {
			return err
		}
		all = append(all, c)
	}
	out := cmd.OutOrStdout()
	if asJSON {
		return cli.PrintJSON(out, all)
	}
	p := cli.Colours(out)
	var w strings.Builder
	for _, c := range all {
		fmt.Fprintf(&w, "%s\n", p.Bold(cli.Printable(c.String())))
		for _, side := range []struct {
			name    string
			changes []eval.Change
		}{{c.A, c.OnlyA}, {c.B, c.OnlyB}} {
			if len(side.changes) == 0 {
				continue
			}
			fmt.Fprintf(&w, "\nonly %s passes:\n", cli.Printable(side.name))
			for _, change := range side.changes {
				fmt.Fprintf(&w, "  %s: %s\n    A: %s\n    B: %s\n", cli.Printable(change.Case), cli.Printable(problemLine(change.Problems)),
					answerLine(change.A), answerLine(change.B))
			}
		}
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// answerLine returns an answer in one line.
func answerLine(t *eval.Trial) string {
	if t == nil {
		return "-"
	}
	var parts []string
	for _, c := range t.Calls {
		parts = append(parts, c.Name+string(c.Args))
	}
	for _, c := range t.Invalid {
		parts = append(parts, "cannot be read: "+c.Name+" "+c.Problem)
	}
	if t.Text != "" {
		parts = append(parts, t.Text)
	}
	if t.Error != "" {
		parts = append(parts, "error: "+t.Error)
	}
	return cli.OneLine(cli.Printable(strings.Join(parts, " | ")), 300)
}

func newList(h Host) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the recorded evaluations, the newest first",
		Example: "  toolpost eval list\n  toolpost eval list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			store, done, err := h.store(cmd, true)
			if err != nil {
				return err
			}
			defer done()
			runs, err := h.evaluations(cmd.Context(), store)
			if err != nil {
				return err
			}
			type row struct {
				Run      string          `json:"run"`
				Complete bool            `json:"complete"`
				Plan     eval.Experiment `json:"plan"`
			}
			rows, table := []row{}, [][]string{{"RUN", "SUITE", "CASES", "MODELS", "LABEL", "STATE"}}
			for _, run := range runs {
				plan, complete, err := eval.ReadPlan(cmd.Context(), store, run)
				if err != nil {
					continue // a record that another program damaged must not hide the others
				}
				state := map[bool]string{true: "complete", false: "open"}[complete]
				rows = append(rows, row{run, complete, plan})
				table = append(table, []string{run, cli.Printable(plan.Suite), fmt.Sprint(plan.Cases), cli.OneLine(strings.Join(plan.Models, ", "), 60), cli.Printable(plan.Label), state})
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), rows)
			}
			if len(rows) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "no evaluation is recorded")
				return err
			}
			return cli.PrintTable(cmd.OutOrStdout(), "", table)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}
