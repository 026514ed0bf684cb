package evaluate

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/llm"
)

type claimsFlags struct {
	model    string
	limit    int
	parallel int
	label    string
	temp     float64
	json     bool
	quiet    bool
}

func newClaims(h Host) *cobra.Command {
	var f claimsFlags
	cmd := &cobra.Command{
		Use:   "claims [SUITE] -m MODEL",
		Short: "Measure what validation loops, strict schemas and other techniques bring",
		Long: `Asks a model the same cases twice, without a technique and with it: the validation loop,
strict schemas, concise results, native instead of emulated calling, and the recovery of
structured answers. Each published claim is compared with the measured figure and its 95 %
interval, next to the tokens and the time that the technique costs. Without a SUITE, all
ready suites are asked.`,
		Example: `  toolpost eval claims -m sim/offline
  toolpost eval claims suite.yaml -m ollama/qwen3:8b --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, h, append(args, "")[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.model, "model", "m", "", "the `MODEL` to ask")
	flags.IntVar(&f.limit, "limit", 0, "ask only so many cases, spread over the suite")
	flags.IntVar(&f.parallel, "concurrency", 4, "how many questions the model gets at a time")
	flags.Float64Var(&f.temp, "temperature", 0, "how freely the model chooses words, 0 to 2")
	flags.StringVar(&f.label, "label", "claims", "the `NAME` of this measurement; another name asks again")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func (f *claimsFlags) run(cmd *cobra.Command, h Host, name string) error {
	if f.parallel < 1 || f.parallel > 256 {
		return cli.Usagef(cmd, "--concurrency must be between 1 and 256")
	}
	if f.limit < 0 {
		return cli.Usagef(cmd, "--limit must not be below 0")
	}
	if f.temp < 0 || f.temp > 2 {
		return cli.Usagef(cmd, "--temperature must be between 0 and 2")
	}
	models, err := h.Models(cmd)
	if err != nil {
		return err
	}
	id := f.model
	if id == "" {
		id = models.Default
	}
	if id == "" {
		return cli.Usagef(cmd, "which model? give one with -m")
	}
	suite, err := suiteOfClaims(name, models)
	if err != nil {
		return err
	}
	suite = suite.Sample(f.limit)
	store, done, err := h.store(cmd, true)
	if err != nil {
		return err
	}
	defer done()
	cli.MustEnd(cmd.Context())
	progress := newProgress(cmd, f.quiet || f.json)
	r := &eval.Evaluator{Store: store, Models: []string{id}, Open: models.Open, Parallel: f.parallel, Label: f.label, Temperature: &f.temp, Progress: progress.show}
	claims, err := r.Claims(cmd.Context(), suite, func(s eval.Setting) (llm.Model, error) { return models.Set(id, s.Values) })
	progress.end()
	if err != nil {
		return err
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), map[string]any{"model": id, "suite": suite.Name, "claims": claims})
	}
	return printClaims(cmd.OutOrStdout(), id, suite, claims)
}

// suiteOfClaims reads a suite, or joins all ready suites if there is no name.
func suiteOfClaims(name string, models *Models) (*eval.Suite, error) {
	if name != "" {
		return LoadSuite(name, models.Tools)
	}
	var list []*eval.Suite
	for _, n := range eval.ReadySuites() {
		s, err := eval.Ready(n)
		if err != nil {
			return nil, err
		}
		list = append(list, s)
	}
	return eval.JoinSuites("all ready suites", list...), nil
}

func printClaims(out io.Writer, id string, s *eval.Suite, claims []eval.Claim) error {
	var w strings.Builder
	fmt.Fprintf(&w, "%s, %s\n", cli.Colours(out).Bold(cli.Printable(id)), cli.Printable(s.Name))
	last := ""
	for _, c := range claims {
		if c.Name != last {
			last = c.Name
			fmt.Fprintf(&w, "\n%s, %d cases\n", c.Name, c.Cases)
			if c.Skipped != "" {
				fmt.Fprintf(&w, "  not measured: %s\n", cli.Printable(c.Skipped))
				continue
			}
			fmt.Fprintf(&w, "  right    without %s\n           with    %s\n  change   %s\n", c.Off, c.On, c.Change)
			fmt.Fprintf(&w, "  calls that match their schema: %s without, %s with\n  asked again: %s\n", c.Valid[0], c.Valid[1], c.Recovered)
			fmt.Fprintf(&w, "  tokens   %s\n  time     %s\n", c.Tokens, c.Time)
		}
		if c.Skipped == "" {
			fmt.Fprintf(&w, "  claim    %s: %s (%s)\n", c.Text, c.Result, c.Measured)
		}
	}
	_, err := io.WriteString(out, w.String())
	return err
}
