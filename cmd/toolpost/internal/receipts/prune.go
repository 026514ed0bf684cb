package receipts

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
)

func newReceiptsPrune() *cobra.Command {
	var older time.Duration
	var keep int
	var open, dry bool
	cmd := &cobra.Command{
		Use:   "prune",
		Short: "Remove old runs from the store",
		Long: `Remove runs that began before a time, all but the newest ones, or both: then a run goes
only if both say so. A run that has not ended stays unless --open is given, because a call
in it may wait for a person; a run that another process owns stays always. Anchors that name
a removed run no longer agree: begin a new file of anchors.

The setting retention does this for ended runs whenever run or chat begins.`,
		Example: `  toolpost receipts prune --older-than 720h
  toolpost receipts prune --keep 100 --dry-run`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			p := runstore.Prune{Keep: keep, Open: open, Dry: dry}
			switch {
			case older == 0 && keep == 0:
				return cli.Usagef(cmd, "give --older-than, --keep or both")
			case older < 0 || keep < 0:
				return cli.Usagef(cmd, "--older-than and --keep cannot be less than 0")
			case older > 0:
				p.Before = time.Now().Add(-older)
			}
			return prune(cmd, p)
		},
	}
	cmd.Flags().DurationVar(&older, "older-than", 0, "remove runs that began longer ago than this `TIME`, like 720h")
	cmd.Flags().IntVar(&keep, "keep", 0, "keep this many of the newest `RUNS`")
	cmd.Flags().BoolVar(&open, "open", false, "also remove runs that have not ended")
	cmd.Flags().BoolVar(&dry, "dry-run", false, "list what would be removed, and remove nothing")
	return cmd
}

func prune(cmd *cobra.Command, p runstore.Prune) error {
	store, done, err := runstore.Open(cmd, false)
	if err != nil {
		return err
	}
	defer done()
	removed, err := p.Runs(cmd.Context(), store)
	var b strings.Builder
	for _, run := range removed {
		b.WriteString(run + "\n")
	}
	if _, werr := fmt.Fprint(cmd.OutOrStdout(), b.String()); err == nil {
		err = werr
	}
	verb := "removed"
	if p.Dry {
		verb = "would be removed"
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "%s %s\n", cli.Count(len(removed), "run"), verb)
	return err
}
