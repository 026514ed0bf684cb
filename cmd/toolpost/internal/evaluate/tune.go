package evaluate

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/usercatalog"
	"github.com/toolpost/toolpost/llm"
)

type tuneFlags struct {
	model    string
	file     string
	parallel int
	all      bool
	dry      bool
	json     bool
	quiet    bool
}

func newTune(h Host) *cobra.Command {
	var f tuneFlags
	cmd := &cobra.Command{
		Use:   "tune [SUITE] -m MODEL",
		Short: "Find the way of asking a model that works best, and remember it",
		Long: `Tries native calling and the notations in which tools can be taught, on half of the cases
of a suite (basics if not given). The setting with the highest lower end of its 95 %
interval is measured against the present one on the other half. If it is better by more
than chance, it goes into your models.yaml with this evidence, which 'models show' shows.`,
		Example: `  toolpost eval tune -m ollama/qwen3:8b --dry-run
  toolpost eval tune suite.yaml -m http://127.0.0.1:8080/v1#smollm2 --every`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, h, append(args, "basics")[0]) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.model, "model", "m", "", "the `MODEL` to tune")
	flags.StringVar(&f.file, "models", "", "`FILE` to use in place of your models.yaml")
	flags.IntVar(&f.parallel, "concurrency", 4, "how many questions the model gets at a time")
	flags.BoolVar(&f.all, "every", false, "also try every dialect that the program knows")
	flags.BoolVar(&f.dry, "dry-run", false, "do not write the winner down")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	return cmd
}

func (f *tuneFlags) run(cmd *cobra.Command, h Host, name string) error {
	if f.parallel < 1 || f.parallel > 256 {
		return cli.Usagef(cmd, "--concurrency must be between 1 and 256")
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
	suite, err := LoadSuite(name, models.Tools)
	if err != nil {
		return err
	}
	store, done, err := h.store(cmd, true)
	if err != nil {
		return err
	}
	defer done()
	progress := newProgress(cmd, f.quiet || f.json)
	r := &eval.Evaluator{Store: store, Models: []string{id}, Open: models.Open, Parallel: f.parallel, Label: "tune", Progress: progress.show}
	t, err := r.Tune(cmd.Context(), suite, settingsOf(models.Catalog.Lookup(id), f.all), func(s eval.Setting) (llm.Model, error) {
		return models.Set(id, s.Values)
	})
	progress.end()
	if err != nil {
		return err
	}
	file, err := f.remember(t)
	if err != nil {
		return err
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), t)
	}
	return printTuning(cmd.OutOrStdout(), t, file)
}

// remember writes a better setting into the catalogue of the user and returns the file, "" if nothing was written.
func (f *tuneFlags) remember(t *eval.Tuning) (string, error) {
	if f.dry || !t.Better {
		return "", nil
	}
	file := f.file
	if file == "" {
		var err error
		if file, err = usercatalog.File(); err != nil {
			return "", err
		}
	}
	return file, usercatalog.Remember(file, t.Model, time.Now().Format(time.DateOnly)+", tuned, "+t.Evidence(), t.Winner.Values)
}

// settingsOf returns the settings to try: the present one, native calling, what the host enforces, and notations.
func settingsOf(m catalog.Model, all bool) []eval.Setting {
	out := []eval.Setting{{Name: "as it is"}, {Name: "native", Values: map[string]string{"native_tools": "true"}}}
	if m.Constrain != "" { // then the notation does not matter
		return append(out, eval.Setting{Name: "constrained", Values: map[string]string{"native_tools": "false"}})
	}
	var names []string
	for _, style := range emulate.Styles() {
		if style == "json" { // the catalogue's word for the notation of the family
			style = "json_fence"
		}
		names = append(names, style)
	}
	if m.Dialect != "" {
		names = append(names, m.Dialect)
	}
	if all {
		for _, d := range dialect.Builtin().All() {
			names = append(names, d.Name)
		}
	}
	for i, name := range names {
		if !slices.Contains(names[:i], name) {
			out = append(out, eval.Setting{Name: name, Values: map[string]string{"native_tools": "false", "emulation_style": name}})
		}
	}
	return out
}

func printTuning(out io.Writer, t *eval.Tuning, file string) error {
	var w strings.Builder
	fmt.Fprintf(&w, "%s, half of suite %s\n", cli.Colours(out).Bold(cli.Printable(t.Model)), cli.Printable(t.Suite))
	for _, s := range t.Settings {
		note := ""
		if s.Dropped {
			note = ", dropped early"
		}
		fmt.Fprintf(&w, "  %-20s %s%s\n", s.Name, s.Chosen, note)
	}
	w.WriteString("the other half\n")
	fmt.Fprintf(&w, "  %-20s %s\n", t.Settings[0].Name, t.Before)
	if t.Winner.Name != t.Settings[0].Name {
		fmt.Fprintf(&w, "  %-20s %s\n", t.Winner.Name, t.After)
		fmt.Fprintf(&w, "  %-20s %+.1f points (%+.1f to %+.1f), %s\n", "change", 100*t.Change.Difference, 100*t.Change.Low, 100*t.Change.High, chance(t.Change.P))
	}
	fmt.Fprintf(&w, "%s\n", cli.Printable(t.Evidence()))
	switch {
	case file != "":
		fmt.Fprintf(&w, "written to %s; delete the entry to undo it\n", file)
	default:
		w.WriteString("nothing was written\n")
	}
	_, err := io.WriteString(out, w.String())
	return err
}

// chance writes a probability, which is never zero.
func chance(p float64) string {
	if p < 0.001 {
		return "p < 0.001"
	}
	return fmt.Sprintf("p = %.3f", p)
}
