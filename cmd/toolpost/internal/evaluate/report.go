package evaluate

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
)

// reportFlags select the forms of a report and the conditions of its exit status.
type reportFlags struct {
	json, cases           bool
	junit, markdown, html string
	failOn                []string
	failing               []eval.Threshold
}

func (f *reportFlags) add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.json, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&f.cases, "cases", false, "list the cases that failed, with the reason")
	cmd.Flags().StringVar(&f.junit, "junit", "", "write the cases to a `FILE` in JUnit's XML")
	cmd.Flags().StringVar(&f.markdown, "markdown", "", "write the report to a `FILE` in Markdown")
	cmd.Flags().StringVar(&f.html, "html", "", "write the report to a `FILE` of HTML that needs no other file")
	addFailOn(cmd, &f.failOn)
}

func addFailOn(cmd *cobra.Command, list *[]string) {
	cmd.Flags().StringArrayVar(list, "fail-on", nil, "end with status 1 on a `CONDITION` like 'right<90%', or a change like 'right<-2%'; figures: "+strings.Join(eval.ThresholdMetrics(), " "))
}

// thresholds reads the conditions. Changes need another run.
func thresholds(cmd *cobra.Command, list []string, compared bool) ([]eval.Threshold, error) {
	var out []eval.Threshold
	for _, text := range list {
		t, err := eval.ParseThreshold(text)
		if err == nil && t.NeedsBaseline() && !compared {
			err = fmt.Errorf("%s is a change: --against names the run to compare with", t)
		}
		if err != nil {
			return nil, cli.Usagef(cmd, "--fail-on: %w", err)
		}
		out = append(out, t)
	}
	return out, nil
}

// write prints a summary and writes the files.
func (f *reportFlags) write(cmd *cobra.Command, s *eval.Summary) error {
	for _, file := range []struct {
		name  string
		write func(io.Writer) error
	}{{f.junit, s.JUnit}, {f.markdown, s.Markdown}, {f.html, s.HTML}} {
		if file.name == "" {
			continue
		}
		if err := writeFile(file.name, file.write); err != nil {
			return err
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "written to %s\n", file.name)
	}
	out := cmd.OutOrStdout()
	if f.json {
		return cli.PrintJSON(out, s)
	}
	var text strings.Builder
	if err := s.Text(&text); err != nil {
		return err
	}
	if f.cases {
		text.WriteString("\n")
		for _, row := range s.Rows {
			if !row.CaseScore.Pass {
				fmt.Fprintf(&text, "%s, %s: %s\n", row.Case, row.Model, problemLine(row.CaseScore.Problems))
			}
		}
	}
	_, err := io.WriteString(out, printableLines(text.String()))
	return err
}

// printableLines replaces the control characters of each line.
func printableLines(text string) string {
	lines := strings.Split(text, "\n")
	for i := range lines {
		lines[i] = cli.Printable(lines[i])
	}
	return strings.Join(lines, "\n")
}

func problemLine(list []eval.Problem) string {
	words := make([]string, len(list))
	for i, p := range list {
		words[i] = strings.ReplaceAll(string(p.Failure), "_", " ") + ": " + p.Detail
	}
	return strings.Join(words, "; ")
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// judge applies thresholds to all models and reports those that fail on standard error.
func judge(cmd *cobra.Command, list []eval.Threshold, now, before *eval.Summary, pairs [][2]string) error {
	failed := false
	for _, pair := range pairs {
		m := modelOf(now, pair[1])
		for _, t := range list {
			if why := t.Trips(m, modelOf(before, pair[0])); why != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: --fail-on %s: %s\n", t, cli.Printable(why))
				failed = true
			}
		}
	}
	if failed {
		return cli.ErrReported
	}
	return nil
}

func modelOf(s *eval.Summary, id string) *eval.ModelSummary {
	if s == nil {
		return nil
	}
	for i := range s.Models {
		if s.Models[i].Model == id {
			return &s.Models[i]
		}
	}
	return nil
}

// pairs returns which model of a run is compared with which of another: those of the same name, or the only ones.
func pairs(a, b *eval.Summary) [][2]string {
	var out [][2]string
	for _, m := range b.Models {
		if a == nil || modelOf(a, m.Model) != nil {
			out = append(out, [2]string{m.Model, m.Model})
		}
	}
	if len(out) == 0 && len(a.Models) == 1 && len(b.Models) == 1 {
		out = append(out, [2]string{a.Models[0].Model, b.Models[0].Model})
	}
	return out
}
