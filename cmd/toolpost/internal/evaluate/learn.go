package evaluate

import (
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/usercatalog"
)

type learnFlags struct {
	model string
	last  int
	reset bool
	dry   bool
	json  bool
}

func newLearn(h Host) *cobra.Command {
	var f learnFlags
	cmd := &cobra.Command{
		Use:   "learn [RUN]...",
		Short: "Learn from the outcomes of recorded runs how to offer tools to a model",
		Long: `Reads how calls ended in recorded runs, and adjusts three things per model: the notation
in which tools are taught, the number of offered tools, and which tools come first for a
task. Each is learned on half of the runs and adopted only if it is better on the other
half by more than chance. No tool is hidden: what is not offered is found with find_tools.

'models show' shows what was learned and why. --reset forgets it. Your models.yaml wins
over what was learned. Without RUN, the newest runs are read (--last).`,
		Example: "  toolpost eval learn --dry-run\n  toolpost eval learn --reset",
		Args:    cobra.ArbitraryArgs,
		RunE:    func(cmd *cobra.Command, runs []string) error { return f.run(cmd, h, runs) },
	}
	flags := cmd.Flags()
	flags.StringVarP(&f.model, "model", "m", "", "only this `MODEL`")
	flags.IntVar(&f.last, "last", 1000, "how many of the newest runs are read")
	flags.BoolVar(&f.reset, "reset", false, "forget what was learned")
	flags.BoolVar(&f.dry, "dry-run", false, "write nothing")
	flags.BoolVar(&f.json, "json", false, "print one JSON array with an object per model")
	return cmd
}

func (f *learnFlags) run(cmd *cobra.Command, h Host, runs []string) error {
	file, err := usercatalog.Beside(eval.LessonsFile)
	if err != nil {
		return err
	}
	if f.reset {
		return f.forget(cmd, file)
	}
	lessons, err := eval.ReadLessons(file)
	if err != nil {
		return err
	}
	store, done, err := h.Runs(cmd)
	if err != nil {
		return err
	}
	defer done()
	if len(runs) == 0 {
		runs, err = newestOrdinary(cmd, h, store, f.last)
	} else {
		runs, err = ordinary(cmd, h, store, runs)
	}
	if err != nil {
		return err
	}
	found, err := eval.Learn(cmd.Context(), store, runs)
	if err != nil {
		return err
	}
	if f.model != "" {
		found = slices.DeleteFunc(found, func(l eval.Lesson) bool { return l.Model != f.model })
	}
	for _, l := range found {
		if lessons[l.Model] = l; l.Empty() {
			delete(lessons, l.Model)
		}
	}
	if !f.dry {
		if err := writeLessons(lessons, file); err != nil {
			return err
		}
	}
	if f.json {
		return cli.PrintJSON(cmd.OutOrStdout(), append([]eval.Lesson{}, found...))
	}
	return printLessons(cmd.OutOrStdout(), found, f.dry)
}

// forget removes the lessons of one model, or of all.
func (f *learnFlags) forget(cmd *cobra.Command, file string) error {
	lessons := eval.Lessons{}
	if f.model != "" {
		var err error
		if lessons, err = eval.ReadLessons(file); err != nil {
			return err
		}
		if _, known := lessons[f.model]; !known {
			return fmt.Errorf("nothing was learned about %s", cli.Printable(f.model))
		}
		delete(lessons, f.model)
	}
	if err := writeLessons(lessons, file); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStdout(), "forgotten")
	return err
}

// writeLessons writes the lessons, and the notations among them in the form of models.yaml.
func writeLessons(lessons eval.Lessons, file string) error {
	if err := lessons.Write(file); err != nil {
		return err
	}
	catalogue := filepath.Join(filepath.Dir(file), usercatalog.LearnedFile)
	if err := os.Remove(catalogue); err != nil && !os.IsNotExist(err) {
		return err
	}
	for _, id := range slices.Sorted(maps.Keys(lessons)) {
		if l := lessons[id]; l.Style != "" {
			note := l.At.Format("2006-01-02") + ", learned, " + strings.Join(l.Why, "; ")
			if err := usercatalog.Remember(catalogue, id, note, map[string]string{"emulation_style": l.Style}); err != nil {
				return err
			}
		}
	}
	return nil
}

func printLessons(out io.Writer, found []eval.Lesson, dry bool) error {
	var w strings.Builder
	if len(found) == 0 {
		w.WriteString("no run has a call whose outcome is recorded\n")
	}
	for i := range found {
		l := &found[i]
		fmt.Fprintf(&w, "%s, %d runs\n", cli.Printable(l.Model), l.Runs)
		for _, line := range l.Lines() {
			fmt.Fprintf(&w, "  %s\n", cli.Printable(line))
		}
	}
	if dry {
		w.WriteString("nothing was written\n")
	}
	_, err := io.WriteString(out, w.String())
	return err
}
