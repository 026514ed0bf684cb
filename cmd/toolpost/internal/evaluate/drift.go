package evaluate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

type driftFlags struct {
	against  string
	repeat   int
	parallel int
	json     bool
	quiet    bool
}

// drifted is the output of 'models drift'.
type drifted struct {
	Against string              `json:"against,omitempty"`
	Drifted bool                `json:"drifted"`
	Changes []eval.AbilityDrift `json:"changes,omitempty"`
	Profile *eval.Profile       `json:"profile"`
}

// NewDrift returns the command 'models drift'.
func NewDrift(h Host) *cobra.Command {
	var f driftFlags
	cmd := &cobra.Command{
		Use:   "drift ID",
		Short: "Ask a model the probes and report what changed since the last time",
		Long: fmt.Sprintf(`Asks a model %d fixed probes, which cost tokens, and compares each ability with the last
result: tool choice, parallel calls, nested arguments, Unicode, truncation, streaming,
usage, errors, speed and more. The first result is the baseline. Results are kept.

--against compares with something else: "first", a file with the output of --json, or
another id, like another host of the same weights, which is asked if it has no result.
The exit status is 1 if an ability drifted.`, len(eval.Probes().Cases)),
		Example: `  toolpost models drift sim/native
  toolpost models drift sim/native --against sim/native+seed=7
  toolpost models drift sim/native --json > baseline.json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.run(cmd, h, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.against, "against", "", "the `BASELINE`: first, a file, or another id; the last result if not given")
	flags.IntVar(&f.repeat, "repeat", 1, "how often each probe is asked")
	flags.IntVar(&f.parallel, "concurrency", 4, "how many probes are asked at a time")
	flags.BoolVar(&f.json, "json", false, "print one JSON object")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "show no progress")
	flags.String("journal", "", "where results are kept: a `FOLDER`, sqlite:FILE or postgres://…")
	cli.AddConfigFlag(flags)
	return cmd
}

func (f *driftFlags) run(cmd *cobra.Command, h Host, id string) error {
	if f.repeat < 1 || f.repeat > 100 || f.parallel < 1 || f.parallel > 256 {
		return cli.Usagef(cmd, "--repeat must be between 1 and 100, and --concurrency between 1 and 256")
	}
	models, err := h.Models(cmd)
	if err != nil {
		return err
	}
	store, done, err := h.store(cmd, true)
	if err != nil {
		return err
	}
	defer done()
	before, name, err := f.baseline(cmd, models, store, id)
	if err != nil {
		return err
	}
	now, err := f.profile(cmd, models, store, id)
	if err != nil {
		return err
	}
	out := drifted{Against: name, Profile: now}
	if before != nil {
		if out.Changes, err = eval.Drift(before, now); err != nil {
			return err
		}
		out.Drifted = slices.ContainsFunc(out.Changes, func(d eval.AbilityDrift) bool { return d.Drifted })
	}
	if f.json {
		err = cli.PrintJSON(cmd.OutOrStdout(), out)
	} else {
		err = out.print(cmd.OutOrStdout())
	}
	if err == nil && out.Drifted {
		return cli.ErrReported
	}
	return err
}

// baseline returns the profile to compare with and its name, nil without one.
func (f *driftFlags) baseline(cmd *cobra.Command, models *Models, store Store, id string) (*eval.Profile, string, error) {
	text, err := os.ReadFile(f.against)
	switch {
	case f.against == "" || f.against == "first":
		return kept(cmd, store, id, f.against == "first")
	case err == nil:
		var file drifted
		if err := json.Unmarshal(text, &file); err != nil || file.Profile == nil || file.Profile.Probes == "" {
			return nil, "", cli.Usagef(cmd, "--against: %s is not the output of 'models drift --json'", f.against)
		}
		return file.Profile, f.against, nil
	case !errors.Is(err, fs.ErrNotExist):
		return nil, "", err
	}
	p, name, err := kept(cmd, store, f.against, false)
	if p != nil || err != nil {
		return p, name, err
	}
	p, err = f.profile(cmd, models, store, f.against)
	return p, f.against, err
}

// kept returns the last or the first profile of a model, nil if there is none.
func kept(cmd *cobra.Command, store Store, id string, first bool) (*eval.Profile, string, error) {
	all, err := eval.Profiles(cmd.Context(), store, id)
	if err != nil || len(all) == 0 {
		return nil, "", err
	}
	p := all[len(all)-1]
	if first {
		p = all[0]
	}
	return p, fmt.Sprintf("%s of %s", id, p.At.Format("2006-01-02 15:04")), nil
}

// profile asks a model the probes and keeps the result.
func (f *driftFlags) profile(cmd *cobra.Command, models *Models, store Store, id string) (*eval.Profile, error) {
	progress := newProgress(cmd, f.quiet || f.json)
	opened := opening{models: models, all: make(map[string]llm.Model)}
	r := &eval.Evaluator{Store: new(journal.Memory), Models: []string{id}, Open: opened.open, Repeat: f.repeat, Parallel: f.parallel, Progress: progress.show}
	p, err := r.Profile(cmd.Context())
	progress.end()
	if err != nil {
		return nil, err
	}
	if len(p.Latency) == 0 {
		names := slices.Sorted(maps.Keys(p.Problems))
		return nil, fmt.Errorf("%s answered none of the probes, so nothing is kept; the first problem: %s", id, p.Problems[names[0]])
	}
	return p, p.Keep(cmd.Context(), store)
}

func (d *drifted) print(out io.Writer) error {
	var w strings.Builder
	c := cli.Colours(out)
	if d.Against == "" {
		fmt.Fprintf(&w, "%s: first result, the baseline from now on\n", c.Bold(cli.Printable(d.Profile.Model)))
		for _, name := range slices.Sorted(maps.Keys(d.Profile.Abilities)) {
			fmt.Fprintf(&w, "  %-18s %s\n", name, d.Profile.Abilities[name])
		}
		_, err := io.WriteString(out, w.String())
		return err
	}
	verdict := "no drift"
	if d.Drifted {
		verdict = "drift"
	}
	fmt.Fprintf(&w, "%s against %s: %s\n", c.Bold(cli.Printable(d.Profile.Model)), cli.Printable(d.Against), verdict)
	for _, change := range d.Changes {
		if change.Drifted {
			fmt.Fprintf(&w, "  %-18s %s, before %s\n", change.Ability, change.Now, change.Before)
			for i, answer := range slices.Sorted(maps.Keys(change.Lost)) {
				if i == 3 {
					fmt.Fprintf(&w, "    and %d more\n", len(change.Lost)-3)
					break
				}
				fmt.Fprintf(&w, "    %s: %s\n", answer, cli.Printable(change.Lost[answer]))
			}
		}
	}
	_, err := io.WriteString(out, w.String())
	return err
}
