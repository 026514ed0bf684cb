// Package models holds the commands models list, show, update and probe.
package models

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/modeldb"
	"github.com/toolpost/toolpost/internal/outbound"
	"github.com/toolpost/toolpost/internal/usercatalog"
)

func New(drift *cobra.Command) *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "models",
		Short: "What models can do: list, show, update, probe, drift",
		Long: `What models can do: native tools, thinking, JSON, context, dialect.

The answers come from embedded rules, then from a database you imported with
"toolpost models update", then from your own models.yaml; later ones win.
Nothing here uses the network, except update with a URL, probe and drift.`,
		Example: "  toolpost models list qwen\n  toolpost models show claude-sonnet-4-5",
	}
	cmd.PersistentFlags().StringVar(&file, "models", "", "`FILE` to use in place of your models.yaml")
	load := func() (*catalog.Catalog, error) { return cli.UserCatalog(file) }
	note := func(id string) (string, error) { return foundOut(file, id) }
	cmd.AddCommand(newModelsList(load), newModelsShow(load, note), newModelsUpdate(), newModelsProbe(&file), drift)
	return cmd
}

// loader returns the user's catalogue.
type loader func() (*catalog.Catalog, error)

func newModelsList(load loader) *cobra.Command {
	var asJSON, all, here bool
	cmd := &cobra.Command{
		Use:   "list [WORD]...",
		Short: "List the models that can be asked here and now, or all that are known",
		Long: `List the models that can be asked here and now: those of vendors whose key is set, those
of servers on this machine that answer, and agent programs that are there. With --all, or words that the id or the
family must hold, list what is known of all models. --json prints the latter, unless
--here.`,
		Example: "  toolpost models list\n  toolpost models list --all\n  toolpost models list gpt claude\n  toolpost models list --json deepseek\n  toolpost models list --here --json",
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, words []string) error {
			if here && all {
				return cli.Usagef(cmd, "--here lists what can be asked and --all what is known; give one of them")
			}
			if here || !all && !asJSON && len(words) == 0 {
				return listHere(cmd, words, asJSON)
			}
			c, err := load()
			if err != nil {
				return err
			}
			models := []catalog.Model{}
			for _, m := range c.Models() {
				if len(words) == 0 || holdsAny(m.ID.Raw+" "+m.ID.Family+" "+m.ID.Root(), words) {
					models = append(models, m)
				}
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), models)
			}
			if len(models) == 0 {
				return fmt.Errorf("no listed model holds %s; models show works for any id", strings.Join(words, " or "))
			}
			return printModels(cmd.OutOrStdout(), models)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().BoolVar(&all, "all", false, "list all models that are known")
	cmd.Flags().BoolVar(&here, "here", false, "list only the models that can be asked now")
	cli.AddConfigFlag(cmd.Flags())
	return cmd
}

// listHere prints the models that are usable now.
func listHere(cmd *cobra.Command, words []string, asJSON bool) error {
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	models := slices.DeleteFunc(openmodel.Usable(cmd.Context(), &s.ModelOptions), func(m openmodel.Choice) bool { return len(words) > 0 && !holdsAny(m.ID, words) })
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), models)
	}
	if len(models) == 0 {
		return fmt.Errorf("no model that can be asked here holds %s; 'toolpost models list %s' looks among all that are known", strings.Join(words, " or "), strings.Join(words, " "))
	}
	if err := printUsable(cmd.OutOrStdout(), models); err != nil {
		return err
	}
	fmt.Fprintln(cmd.ErrOrStderr(), "\n'toolpost models list --all' lists all that are known, 'toolpost doctor' how to get more of them here.")
	return nil
}

func holdsAny(s string, words []string) bool {
	for _, w := range words {
		if strings.Contains(strings.ToLower(s), strings.ToLower(w)) {
			return true
		}
	}
	return false
}

// printModels prints one line per model.
func printModels(w io.Writer, models []catalog.Model) error {
	rows := [][]string{{"MODEL", "TOOLS", "PARALLEL", "JSON", "THINKS", "CONTEXT", "OUTPUT", "DIALECT", "WIRE"}}
	for _, m := range models {
		name := m.ID.Raw
		if m.Kind != "chat" {
			name += " (" + m.Kind + ")"
		}
		rows = append(rows, []string{name, mark(m.NativeTools), mark(m.ParallelTools), mark(m.JSONMode), mark(m.Reasoning),
			tokens(m.ContextWindow), tokens(m.MaxOutput), m.Dialect, m.Wire})
	}
	return cli.PrintTable(w, "", rows)
}

// mark formats an answer in a few characters. A star means that a condition applies.
func mark(a catalog.Answer) string {
	switch {
	case a.Support == catalog.Yes && a.Unless != 0:
		return "yes*"
	case a.Support == catalog.Unknown:
		return "?"
	}
	return a.String()
}

// tokens formats a token count: 128k, 1M.
func tokens(n int) string {
	switch {
	case n == 0:
		return "?"
	case n >= 1_000_000:
		return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e6), ".0") + "M"
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	}
	return fmt.Sprint(n)
}

func newModelsShow(load loader, note func(id string) (string, error)) *cobra.Command {
	var asJSON, asBatch, explain bool
	cmd := &cobra.Command{
		Use:   "show ID...",
		Short: "Show what a model is and what it can do",
		Long: `Show what a model is and what it can do. Any id works, in the way any host writes
it; for a model nobody knows the answers are safe and a warning says so.

--explain adds which rule gave each answer. --batch reads lines {"id": …}.`,
		Example: `  toolpost models show claude-sonnet-4-5
  toolpost models show --explain ollama/qwen3:32b
  toolpost models show --json us.anthropic.claude-3-5-sonnet-20241022-v2:0
  echo '{"id":"gpt-4o"}' | toolpost models show --batch`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case asBatch && (len(args) > 0 || asJSON || explain):
				return errors.New("--batch reads ids from standard input and takes no ids, --json or --explain")
			case !asBatch && (len(args) == 0 || slices.Contains(args, "")):
				return errors.New("which model? give an id, or --batch")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, ids []string) error {
			c, err := load()
			if err != nil {
				return err
			}
			if asBatch {
				return cli.Batch(cmd, func(row modelRow) (catalog.Model, error) { return row.lookup(c) })
			}
			for i, id := range ids {
				if i > 0 && !asJSON {
					fmt.Fprintln(cmd.OutOrStdout())
				}
				if err := showModel(cmd, c.Lookup(id), note, asJSON, explain); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object per id")
	cmd.Flags().BoolVar(&asBatch, "batch", false, "read JSON lines with an id, write one line for each")
	cmd.Flags().BoolVar(&explain, "explain", false, "show the rule behind each value")
	return cmd
}

type modelRow struct {
	ID *string `json:"id"`
}

func (row modelRow) lookup(c *catalog.Catalog) (catalog.Model, error) {
	if row.ID == nil {
		return catalog.Model{}, errors.New(`the row has no "id"`)
	}
	return c.Lookup(*row.ID), nil
}

type explained struct {
	Model   catalog.Model `json:"model"`
	Explain []catalog.Why `json:"explain"`
	Found   string        `json:"found,omitempty"` // the evidence of 'models probe' or 'eval tune'
}

// foundOut returns the note of 'models probe' or 'eval tune' about a model.
func foundOut(file, id string) (string, error) {
	if file == "" {
		var err error
		if file, err = usercatalog.File(); err != nil {
			return "", nil // the file is in a folder of the user
		}
	}
	return usercatalog.Note(file, id)
}

// learned returns what 'eval learn' adjusts for a model and why, "" if nothing.
func learned(id string) string {
	file, err := usercatalog.Beside(eval.LessonsFile)
	if err != nil {
		return ""
	}
	lessons, err := eval.ReadLessons(file)
	if err != nil {
		return err.Error()
	}
	if l, known := lessons[id]; known {
		return l.At.Format(time.DateOnly) + ": " + strings.Join(l.Lines(), "; ") + " ('toolpost eval learn --reset' forgets it)"
	}
	return ""
}

func showModel(cmd *cobra.Command, m catalog.Model, note func(id string) (string, error), asJSON, explain bool) error {
	evidence, err := note(m.ID.Raw)
	if err != nil {
		return err
	}
	switch {
	case asJSON && explain:
		return cli.PrintJSON(cmd.OutOrStdout(), explained{m, m.Explain(), evidence})
	case asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), m)
	}
	return printModel(cmd, m, evidence, explain)
}

// printModel prints all facts about a model. Warnings go to standard error.
func printModel(cmd *cobra.Command, m catalog.Model, evidence string, explain bool) error {
	w := cmd.OutOrStdout()
	var what, can [][]string
	for _, row := range [][]string{
		{"family", m.ID.Family}, {"root", differs(m.ID.Root(), m.ID.Family)}, {"version", m.ID.Version.String()}, {"revision", m.ID.Revision.String()},
		{"variant", m.ID.Variant}, {"size", params(m.ID.Size)}, {"active", params(m.ID.Active)}, {"made from", m.ID.Base},
		{"provider", m.ID.Provider}, {"organisation", m.ID.Org}, {"custom", map[bool]string{true: "yes"}[m.ID.Custom]}, {"found", cli.Printable(evidence)},
		{"learned", cli.Printable(learned(m.ID.Raw))},
	} {
		if row[1] != "" {
			what = append(what, row)
		}
	}
	for _, why := range m.Explain() {
		row := []string{strings.ReplaceAll(why.Field, "_", " "), why.Value}
		switch {
		case explain && why.Rule == "":
			row = append(row, "no rule")
		case explain:
			row = append(row, why.Rule+" ("+why.From+")")
		}
		can = append(can, row)
	}
	fmt.Fprintln(w, cli.Colours(w).Bold(m.ID.Raw))
	err := cli.PrintTable(w, "  ", what)
	if err == nil {
		fmt.Fprintln(w)
		err = cli.PrintTable(w, "  ", can)
	}
	if err != nil {
		return err
	}
	errs := cli.Colours(cmd.ErrOrStderr())
	for _, warning := range m.Warnings() {
		fmt.Fprintf(cmd.ErrOrStderr(), "%s %s: %s\n", errs.Yellow("warning:"), warning.Feature, warning.Detail)
	}
	return nil
}

// differs returns a unless it equals b.
func differs(a, b string) string {
	if a == b {
		return ""
	}
	return a
}

// params formats a parameter count: 70B, 1.5B, 270M.
func params(n int64) string {
	for _, unit := range []struct {
		size int64
		name string
	}{{1e12, "T"}, {1e9, "B"}, {1e6, "M"}} {
		if n >= unit.size {
			return strings.TrimRight(strings.TrimRight(fmt.Sprintf("%.2f", float64(n)/float64(unit.size)), "0"), ".") + unit.name
		}
	}
	return ""
}

func newModelsUpdate() *cobra.Command {
	var from string
	cmd := &cobra.Command{
		Use:   "update --from FILE|URL",
		Short: "Import a database of models into your cache",
		Long: `Import the api.json of models.dev or the model_prices_and_context_window.json of
LiteLLM into your cache. What it says of an id then wins over the embedded rules,
never over your models.yaml. Only this command uses the network, and only for a URL.`,
		Example: "  toolpost models update --from https://models.dev/api.json\n  toolpost models update --from api.json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if from == "" {
				return cli.Usagef(cmd, "--from FILE or URL is needed")
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
			defer cancel()
			source, err := openSource(ctx, from)
			if err != nil {
				return err
			}
			defer source.Close()
			db, err := modeldb.Read(source)
			if err != nil {
				return fmt.Errorf("%s: %w", from, err)
			}
			dir, err := usercatalog.CacheDir()
			if err != nil {
				return err
			}
			file, err := db.Save(dir)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "%d models of %s written to %s\n", len(db.Models), db.Source, file)
			return err
		},
	}
	cmd.Flags().StringVar(&from, "from", "", "the `FILE or URL` to import")
	return cmd
}

// openSource opens a file, or a URL that starts with http:// or https://.
func openSource(ctx context.Context, from string) (io.ReadCloser, error) {
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		return os.Open(from)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, nil)
	if err != nil {
		return nil, err
	}
	resp, err := outbound.New(outbound.Rules{Redirect: func(*url.URL, []*http.Request) error { return nil }}).Do(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		resp.Body.Close()
		return nil, fmt.Errorf("%s: %s", from, resp.Status)
	}
	return resp.Body, nil
}

// printUsable prints models and the reasons why they are usable.
func printUsable(w io.Writer, models []openmodel.Choice) error {
	p := cli.Colours(w)
	width := 0
	for _, m := range models {
		width = max(width, len(m.ID))
	}
	for _, m := range models {
		if _, err := fmt.Fprintf(w, "%-*s  %s\n", width, m.ID, p.Dim(m.Why)); err != nil {
			return err
		}
	}
	return nil
}
