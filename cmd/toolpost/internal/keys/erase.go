package keys

import (
	"cmp"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/state"
)

func newKeysErase() *cobra.Command {
	var user string
	var yes bool
	cmd := &cobra.Command{
		Use:   "erase TEAM",
		Short: "Erase all data of a team, or of one of its end users",
		Long: `Erases everything that the gateway keeps of a team: keys, limits, the log, bodies, sums,
answers and other state between requests, and its part of the audit log. With --user it
erases the log and the bodies of one end user; the sums lose the name.
The records of runs are files of their own, see 'toolpost receipts prune'.`,
		Example: "  toolpost keys erase research --user ada --yes --keys sqlite:keys.db",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			team, what := args[0], "all data of the team "+cli.Printable(args[0])
			if user != "" {
				what = "the requests of the end user " + cli.Printable(user) + " of the team " + cli.Printable(team)
			}
			if !yes {
				return cli.Usagef(cmd, "this erases %s for ever; give --yes to do it", what)
			}
			return withKeys(cmd, false, func(b *access.Book) error {
				if user == "" {
					if err := eraseState(cmd, team); err != nil {
						return err
					}
				}
				if err := b.Erase(cmd.Context(), team, user); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "erased: %s\n", what)
				return err
			})
		},
	}
	cmd.Flags().StringVar(&user, "user", "", "only the data of this end `USER`")
	cmd.Flags().BoolVar(&yes, "yes", false, "erase without a question")
	return cmd
}

// eraseState erases what gateways keep of a team between requests. State in memory is out of reach.
func eraseState(cmd *cobra.Command, team string) error {
	s, err := settings.Load(cmd)
	if err != nil {
		return err
	}
	keys, err := StoreName(cmd, &s.Gateway)
	if err != nil {
		return err
	}
	name := cmp.Or(os.Getenv(StateEnv), s.Gateway.Keys.State, keys)
	if name == InMemory {
		fmt.Fprintf(cmd.ErrOrStderr(), "state between requests is in the memory of running gateways; DELETE /admin/teams/%s erases it there\n", cli.Printable(team))
		return nil
	}
	db, err := OpenDatabase(name, false, runstore.CommandBusy)
	if err != nil {
		return err
	}
	defer db.Close()
	store, err := state.OpenSQL(cmd.Context(), db)
	if err != nil {
		return settings.NamingNewer(name, err)
	}
	return errors.Join(store.Erase(cmd.Context(), team), db.Close())
}
