// Package receipts holds the commands that show, export, sign, anchor and verify recorded runs.
package receipts

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/export"
)

func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "receipts",
		Short: "Show, verify, sign, anchor and export the records of runs",
		Long: `A run leaves a chain of entries: what the model was asked and said, what a tool was
about to do, and what it did. Changing, removing, adding or moving an entry breaks the
chain.

RUN is the id of a run in the store, or latest for the newest; FILE a run's file of JSON
lines. The store is a directory, sqlite:FILE or a postgres:// address; --journal,
TOOLPOST_STORE or the configuration names it.`,
		Example: `  toolpost receipts list
  toolpost receipts show latest
  toolpost receipts verify RUN
  toolpost receipts export RUN --out DIR`,
	}
	settings.AddJournalFlag(cmd, cmd.PersistentFlags())
	cmd.AddCommand(newReceiptsList(), newReceiptsShow(), newReceiptsVerify(), newReceiptsKeygen(), newReceiptsSign(), newReceiptsAnchor(), newReceiptsExport(), newReceiptsPrune())
	return cmd
}

// exportFlags are the flags of export.
type exportFlags struct {
	format, out, sig       string
	full, allowOpen, force bool
}

func newReceiptsExport() *cobra.Command {
	var flags exportFlags
	cmd := &cobra.Command{
		Use:   "export RUN|FILE",
		Short: "Write a run as REPLAY.jsonl, RECEIPT.json and PR_SUMMARY.md",
		Long: `Write a run as the files that other programs read: REPLAY.jsonl, RECEIPT.json and
PR_SUMMARY.md, in a directory of their own.

Format a joins results to calls by id and holds everything; format b is the other one in
use. Without --full the files hold hashes only: no arguments, messages or paths.`,
		Example: `  toolpost receipts export RUN --out DIR
  toolpost receipts export RUN --format b --full --out DIR`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return exportRun(cmd, args[0], flags) },
	}
	cmd.Flags().StringVar(&flags.format, "format", "a", "a or b")
	cmd.Flags().StringVar(&flags.out, "out", "", "the directory to write to (default: one named like the run)")
	cmd.Flags().StringVar(&flags.sig, "sig", "", "the file of signatures (default: next to the run)")
	cmd.Flags().BoolVar(&flags.full, "full", false, "also export arguments, messages and paths")
	cmd.Flags().BoolVar(&flags.allowOpen, "allow-open", false, "also export a run that has not ended")
	cmd.Flags().BoolVar(&flags.force, "force", false, "overwrite files")
	return cmd
}

func exportRun(cmd *cobra.Command, target string, flags exportFlags) error {
	format := export.Format(flags.format)
	if format != export.A && format != export.B {
		return cli.Usagef(cmd, "there is no format %q; there are a and b", flags.format)
	}
	src, done, err := runstore.Find(cmd, target)
	if err != nil {
		return err
	}
	defer done()
	if flags.sig != "" {
		src.Sig = flags.sig
	}
	opts := export.Options{Format: format, Full: flags.full, Open: flags.allowOpen, Producer: "toolpost@" + buildinfo.Read().Version}
	sigs, err := readSignatures(src.Sig)
	if err != nil {
		return err
	}
	if len(sigs) > 0 {
		opts.Signature = &sigs[len(sigs)-1]
	}
	bundle, err := export.Run(src.Entries(cmd.Context()), opts)
	if export.IsOpen(err) {
		return fmt.Errorf("%w; --allow-open exports it all the same", err)
	}
	if err != nil {
		return err
	}
	out := flags.out
	if out == "" {
		out = src.Name
	}
	if err := writeBundle(out, bundle, flags.force); err != nil {
		return err
	}
	_, err = fmt.Fprintln(cmd.OutOrStdout(), out)
	return err
}

// writeBundle writes the files, readable only by their owner. It checks for existing files before it writes any.
func writeBundle(dir string, bundle *export.Bundle, force bool) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	files := bundle.Files()
	for name := range files {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil && !force {
			return fmt.Errorf("%s is there already; --force overwrites it", filepath.Join(dir, name))
		}
	}
	for name, content := range files {
		if err := writePrivate(filepath.Join(dir, name), content); err != nil {
			return err
		}
	}
	return nil
}

// writePrivate replaces a file by a new one that only its owner can read.
func writePrivate(path string, content []byte) error {
	tmp, err := os.CreateTemp(filepath.Dir(path), ".tmp-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = tmp.Write(content)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), path)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
	return err
}

func newReceiptsList() *cobra.Command {
	var asJSON bool
	var limit int
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs of the store, the newest first",
		Long: `List the runs of the store, the newest first: when each began, whether it verifies, how
much it holds, its id, its model and its task. The first of them is what the id latest
stands for in every command.`,
		Example: "  toolpost receipts list\n  toolpost receipts list --limit 0 --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if limit < 0 {
				return cli.Usagef(cmd, "--limit cannot be less than 0")
			}
			if asJSON && !cmd.Flags().Changed("limit") {
				limit = 0
			}
			return listRuns(cmd, limit, asJSON)
		},
	}
	cmd.Flags().IntVarP(&limit, "limit", "n", 20, "list at most this many `RUNS`; 0 means all, which is the default with --json")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func listRuns(cmd *cobra.Command, limit int, asJSON bool) error {
	store, done, err := runstore.Open(cmd, false)
	if err != nil {
		return err
	}
	defer done()
	runs, err := runstore.NewestFirst(cmd.Context(), store)
	if err != nil {
		return err
	}
	more := 0
	if limit > 0 && len(runs) > limit {
		runs, more = runs[:limit], len(runs)-limit
	}
	all := []runstore.Listed{}
	for _, r := range runs {
		all = append(all, runstore.List(cmd, store, r.Run))
		if err := cmd.Context().Err(); err != nil {
			return err
		}
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), all)
	}
	if len(all) == 0 {
		name, _ := runstore.Name(cmd) // the store was opened by this name
		_, err := fmt.Fprintln(cmd.OutOrStdout(), "no runs in "+settings.RedactAddress(name))
		return err
	}
	return printRuns(cmd.OutOrStdout(), all, more)
}

func printRuns(out io.Writer, all []runstore.Listed, more int) error {
	colour := cli.Colours(out)
	ids, models := 0, 0
	for _, l := range all {
		ids, models = max(ids, len(l.Run)), min(24, max(models, len(l.Model)))
	}
	w := bufio.NewWriter(out)
	for _, l := range all {
		fmt.Fprintf(w, "%s  %s  %4d entries  %3d calls  %-*s  %-*s  %s\n", l.Started, colour.State(fmt.Sprintf("%-6s", l.State)), l.Entries, l.Calls,
			ids, l.Run, models, cli.OneLine(l.Model, 24), colour.Dim(cli.OneLine(runstore.TaskOf(l.Task, l.Team, l.Route), 80)))
	}
	if more > 0 {
		fmt.Fprintf(w, "and %d older; --limit 0 lists all\n", more)
	}
	return w.Flush()
}
