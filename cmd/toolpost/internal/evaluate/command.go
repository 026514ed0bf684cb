// Package evaluate holds the command 'eval': suites are asked, scored, compared and reported.
package evaluate

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// Store is a store of records that can be listed.
type Store interface {
	journal.Store
	journal.Lister
}

// Host gives the commands what the user configured.
type Host struct {
	// Models opens models by the settings of a command.
	Models func(cmd *cobra.Command) (*Models, error)
	// Evaluations is the folder for the records of evaluations, unless --journal names another store.
	Evaluations func() string
	// Open opens a store by its name. It fails if there is none, unless create is set.
	Open func(cmd *cobra.Command, name string, create bool) (Store, func(), error)
	// Runs opens the store of ordinary runs.
	Runs func(cmd *cobra.Command) (Store, func(), error)
	// Newest returns the names of the runs of a store, the newest first.
	Newest func(ctx context.Context, s Store) ([]string, error)
}

// Models opens models, and knows their prices and the tools of MCP servers.
type Models struct {
	Open  func(id string) (llm.Model, error)
	Cost  func(m llm.Model, id string, u llm.Usage) (catalog.Money, bool)
	Tools func(server string) ([]llm.ToolDef, error)
	// Set opens a model with other values of its entry in Catalog.
	Set     func(id string, values map[string]string) (llm.Model, error)
	Catalog *catalog.Catalog
	// Default is the model of the settings, "" without one.
	Default string
}

// New returns the command 'eval'.
func New(h Host) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "eval",
		Short: "Measure how well models call tools, and compare",
		Long: `Asks models the cases of a suite and scores their answers, with 95 % intervals. A suite
is a YAML file, JSON lines, a file of the Berkeley leaderboard, or the name of a ready
suite. Answers are kept: an interrupted run continues with the same command, and showing
or scoring it again asks no model.`,
		Example: "  toolpost eval run basics -m sim/offline -m sim/native\n  toolpost eval suites",
	}
	cmd.PersistentFlags().String("journal", "", "where evaluations are recorded: a `FOLDER`, sqlite:FILE or postgres://…")
	cli.AddConfigFlag(cmd.PersistentFlags())
	cmd.AddCommand(newRun(h), newShow(h), newDiff(h), newList(h), newFrom(h), newCapture(h), newTune(h), newClaims(h), newLearn(h), newJudge(h), newSuites())
	return cmd
}

// store opens the store of evaluations.
func (h Host) store(cmd *cobra.Command, create bool) (Store, func(), error) {
	name := ""
	if f := cmd.Flag("journal"); f != nil {
		name = f.Value.String()
	}
	if name == "" {
		name = h.Evaluations()
	}
	return h.Open(cmd, name, create)
}

// LoadSuite reads a suite from a file, or the ready suite of that name if there is no such file.
func LoadSuite(name string, tools func(string) ([]llm.ToolDef, error)) (*eval.Suite, error) {
	if _, err := os.Stat(name); err != nil && !strings.ContainsAny(name, `./\`) {
		s, err := eval.Ready(name)
		if err != nil {
			return nil, fmt.Errorf("%w. A path leads to a file of your own", err)
		}
		return s, nil
	}
	loader := eval.Loader{Tools: tools}
	if full, err := filepath.Abs(name); err == nil {
		name = full // the record names it, and is read from other folders
	}
	s, err := loader.Load(name)
	if missing := new(fs.PathError); errors.As(err, &missing) {
		return nil, fmt.Errorf("the suite cannot be read: %w", err)
	}
	return s, err
}

// evaluation is a recorded run with its suite and figures.
type evaluation struct {
	store   Store
	done    func()
	suite   *eval.Suite
	summary *eval.Summary
}

// recorded opens a recorded evaluation by its name, a unique beginning of it, or "latest". suite may name another
// version of its suite.
func (h Host) recorded(cmd *cobra.Command, name, suite string) (*evaluation, error) {
	store, done, err := h.store(cmd, false)
	if err != nil {
		return nil, err
	}
	e := &evaluation{store: store, done: done}
	if err := e.read(cmd, h, name, suite); err != nil {
		done()
		return nil, err
	}
	return e, nil
}

func (e *evaluation) read(cmd *cobra.Command, h Host, name, suite string) error {
	run, err := h.find(cmd.Context(), e.store, name)
	if err != nil {
		return err
	}
	plan, _, err := eval.ReadPlan(cmd.Context(), e.store, run)
	if err != nil {
		return err
	}
	from := suite
	if from == "" {
		from = plan.Source
	}
	if e.suite, err = LoadSuite(from, h.lazyTools(cmd)); err != nil {
		return fmt.Errorf("%w; --suite names the suite of %s", err, run)
	}
	known := make(map[string]bool, len(e.suite.Cases))
	for i := range e.suite.Cases {
		known[e.suite.Cases[i].ID] = true
	}
	e.summary, err = eval.Summarize(cmd.Context(), e.store, e.suite, run)
	if err == nil && e.suite.Hash != plan.Hash && plan.Cases == len(e.suite.Cases) {
		fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: the suite has changed since %s; its expectations as they are now count\n", run)
	}
	return err
}

// lazyTools returns the tools of a server, and opens the settings only for that.
func (h Host) lazyTools(cmd *cobra.Command) func(string) ([]llm.ToolDef, error) {
	return func(server string) ([]llm.ToolDef, error) {
		m, err := h.Models(cmd)
		if err != nil {
			return nil, err
		}
		return m.Tools(server)
	}
}

// runPrefix begins the names of evaluations.
const runPrefix = "eval-"

// find returns the name of an evaluation: as given, by a unique beginning, or the newest for "latest".
func (h Host) find(ctx context.Context, store Store, name string) (string, error) {
	if name == "latest" {
		return h.latest(ctx, store)
	}
	var found []string
	for run, err := range store.Runs(ctx) {
		switch {
		case err != nil:
			return "", err
		case run == name:
			return name, nil
		case strings.HasPrefix(run, name) || strings.HasPrefix(run, runPrefix+name):
			if isEvaluation(run) {
				found = append(found, run)
			}
		}
	}
	switch len(found) {
	case 0:
		return "", fmt.Errorf("there is no evaluation %s; 'toolpost eval list' lists them", cli.Printable(name))
	case 1:
		return found[0], nil
	}
	if more := len(found) - 5; more > 0 {
		found = append(found[:5], fmt.Sprintf("%d more", more))
	}
	return "", fmt.Errorf("%q can be %s", cli.Printable(name), strings.Join(found, " or "))
}

// latest returns the newest evaluation of models with an answer. A run whose models could not be asked has errors only, and
// must not hide the one before it. A measurement of settings of one model, by tune or claims, is not an evaluation of models.
func (h Host) latest(ctx context.Context, store Store) (string, error) {
	newest, err := h.evaluations(ctx, store)
	if err != nil {
		return "", err
	}
	for _, run := range newest {
		if plan, _, err := eval.ReadPlan(ctx, store, run); err == nil && slices.ContainsFunc(plan.Models, isSetting) {
			continue
		}
		for t, err := range eval.Trials(ctx, store, run) {
			if err != nil {
				break // a damaged record must not hide the others
			}
			if t.Error == "" {
				return run, nil
			}
		}
	}
	if len(newest) > 0 {
		return "", fmt.Errorf("no evaluation has an answer; 'toolpost eval show %s' shows the errors of the newest", newest[0])
	}
	return "", errors.New("no evaluation is recorded")
}

// isSetting reports whether the name in a plan is that of a model with a setting: "vendor/model on".
func isSetting(model string) bool { return strings.Contains(model, " ") }

// isEvaluation reports whether a record is an evaluation, and not a conversation of one.
func isEvaluation(run string) bool {
	rest, ok := strings.CutPrefix(run, runPrefix)
	return ok && !strings.Contains(rest, "-")
}

// evaluations returns the names of the evaluations of a store, the newest first.
func (h Host) evaluations(ctx context.Context, store Store) ([]string, error) {
	runs, err := h.Newest(ctx, store)
	return slices.DeleteFunc(runs, func(run string) bool { return !isEvaluation(run) }), err
}

func newSuites() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "suites [NAME]",
		Short:   "List the ready suites, or print one to start from",
		Long:    "List the suites that are a part of the program. With a NAME, print that suite.",
		Example: "  toolpost eval suites\n  toolpost eval suites basics > mine.yaml",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			out := cmd.OutOrStdout()
			if len(args) == 1 {
				text, err := eval.ReadyText(args[0])
				if err == nil {
					_, err = out.Write(text)
				}
				return err
			}
			type row struct {
				Name        string   `json:"name"`
				Cases       int      `json:"cases"`
				Tags        []string `json:"tags"`
				Description string   `json:"description"`
			}
			rows, table := []row{}, [][]string{{"SUITE", "CASES", ""}}
			for _, name := range eval.ReadySuites() {
				s, err := eval.Ready(name)
				if err != nil {
					return err
				}
				r := row{name, len(s.Cases), tagsOf(s), s.Description}
				rows, table = append(rows, r), append(table, []string{name, fmt.Sprint(r.Cases), s.Description})
			}
			if asJSON {
				return cli.PrintJSON(out, rows)
			}
			return cli.PrintTable(out, "", table)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func tagsOf(s *eval.Suite) []string {
	tags := []string{}
	for i := range s.Cases {
		for _, t := range s.Cases[i].Tags {
			if !slices.Contains(tags, t) {
				tags = append(tags, t)
			}
		}
	}
	return tags
}
