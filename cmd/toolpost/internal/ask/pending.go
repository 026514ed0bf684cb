package ask

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/invoke"
)

// PendingFlags tell whether calls wait for an absent person.
type PendingFlags struct {
	later    bool
	deadline time.Duration
}

func (f *PendingFlags) Add(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.later, "later", false, "what would be asked about waits for 'toolpost runs approve', and the run ends with status 3")
	cmd.Flags().DurationVar(&f.deadline, "deadline", 0, "with --later: refuse calls that are not approved within this `TIME`")
}

func (f *PendingFlags) Check(cmd *cobra.Command, yes bool) error {
	switch {
	case f.later && yes:
		return cli.Usagef(cmd, "--later waits for an answer and --yes gives it: use one of them")
	case f.deadline < 0 || f.deadline > 0 && !f.later:
		return cli.Usagef(cmd, "--deadline is how long --later waits, and more than 0")
	}
	return nil
}

// Later reports whether calls wait for an absent person.
func (f *PendingFlags) Later() bool { return f.later }

// pending returns the error that makes a question wait.
func (f *PendingFlags) pending() error {
	if f.deadline == 0 {
		return new(invoke.PendingError)
	}
	return &invoke.PendingError{Until: time.Now().Add(f.deadline)}
}
