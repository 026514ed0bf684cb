// Package runs holds the commands that list waiting runs and decide about their calls.
package runs

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
)

func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "runs",
		Short: "List the runs that wait for a person, and decide for them",
		Long: `A run that was started with --later ends with status 3 when a call needs a person's
consent, and waits. Any process can decide about the call, at any time before its
deadline; the run goes on where it was when it is resumed. Calls of requests to a gateway
with approval: pending wait in the same way, in the store of that gateway: --config with the
gateway's own file finds it, or --journal or TOOLPOST_STORE names it. They go on when the
client asks again.`,
		Example: `  toolpost runs list
  toolpost runs list --config gateway.yaml
  toolpost runs list --all --json`,
	}
	settings.AddJournalFlag(cmd, cmd.PersistentFlags())
	cmd.AddCommand(newRunsList(), newRunsDecide(true), newRunsDecide(false))
	return cmd
}

// WaitingRun is a run in the list of waiting runs.
type WaitingRun struct {
	runstore.Listed
	Waiting []invoke.Question `json:"waiting"`
}

func newRunsList() *cobra.Command {
	var asJSON, all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the runs that wait for a person, and for which calls",
		Long: `List the runs of the store that wait for a person, the newest first, each with the calls
that have to be decided about, and of a request to a gateway its team and its route. --all
lists every run that has not ended.`,
		Example: "  toolpost runs list\n  toolpost runs list --json",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return listWaiting(cmd, all, asJSON) },
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "also list open runs that no decision is missing for: 'run --resume' continues them")
	return cmd
}

func listWaiting(cmd *cobra.Command, all, asJSON bool) error {
	store, done, err := runstore.Open(cmd, false)
	if err != nil {
		return err
	}
	defer done()
	runs, err := runstore.NewestFirst(cmd.Context(), store)
	if err != nil {
		return err
	}
	found := []WaitingRun{}
	for _, r := range runs {
		w := WaitingRun{Listed: runstore.List(cmd, store, r.Run)}
		if err := cmd.Context().Err(); err != nil {
			return err
		}
		if w.State == "open" {
			w.Waiting, _ = agent.Waiting(cmd.Context(), store, r.Run) // on error the run waits for no approvals, because no agent started it
		}
		if len(w.Waiting) > 0 || all && w.State == "open" {
			found = append(found, w)
		}
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), found)
	}
	return printWaiting(cmd, found, all)
}

func printWaiting(cmd *cobra.Command, found []WaitingRun, all bool) error {
	w := bufio.NewWriter(cmd.OutOrStdout())
	p := cli.Colours(cmd.OutOrStdout())
	switch {
	case len(found) == 0 && all:
		fmt.Fprintln(w, "every run has ended")
	case len(found) == 0:
		fmt.Fprintln(w, "no run waits for a person")
	}
	for _, r := range found {
		fmt.Fprintf(w, "%s  %s  %s\n", p.Bold(r.Run), r.Started, p.Dim(cli.OneLine(cli.Printable(runstore.TaskOf(r.Task, r.Team, r.Route)), 120)))
		for _, q := range r.Waiting {
			for _, line := range view.QuestionLines(p, q) {
				fmt.Fprintln(w, "  "+line)
			}
		}
	}
	return w.Flush()
}

// decideFlags are the flags of approve and deny.
type decideFlags struct {
	all, unseen       bool
	by, reason        string
	args, value, hash string
}

func newRunsDecide(allow bool) *cobra.Command {
	var f decideFlags
	cmd := &cobra.Command{
		Use:   "approve RUN [CALL...]",
		Short: "Allow calls that a run waits for",
		Long: `Record that calls of a run may be run. Nothing is run by this: 'toolpost run --resume RUN'
goes on, or the gateway when the client asks again. Without CALL the run must wait for one
call only, or --all must be given.

--args has the call run with other arguments, which must match the tool's schema; the
record keeps both. --value answers a question that the tool asks.`,
		Example: `  toolpost runs list
  toolpost runs approve RUN
  toolpost runs approve RUN call_2 --reason "as agreed"`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return f.decide(cmd, allow, args[0], args[1:]) },
	}
	if !allow {
		cmd.Use, cmd.Short = "deny RUN [CALL...]", "Refuse calls that a run waits for"
		cmd.Long = `Record that calls of a run are refused; the model is told so, with --reason. Nothing is run
by this: 'toolpost run --resume RUN' goes on. Without CALL the run must wait for one call
only, or --all must be given.`
		cmd.Example = `  toolpost runs list
  toolpost runs deny RUN --all --reason "not today"`
	} else {
		cmd.Flags().StringVar(&f.args, "args", "", "run the call with this `JSON` instead")
		cmd.Flags().StringVar(&f.value, "value", "", "answer the tool's question with this `JSON`")
		cmd.Flags().BoolVar(&f.unseen, "unseen", false, "allow calls although part of their arguments is not on the record, because it looks like a secret")
		cmd.Flags().StringVar(&f.hash, "params-hash", "", "decide only if the call's arguments have this `HASH`")
	}
	cmd.Flags().BoolVarP(&f.all, "all", "a", false, "decide about every call that the run waits for")
	cmd.Flags().StringVar(&f.by, "by", "", "who decides (default: your name on this machine)")
	cmd.Flags().StringVar(&f.reason, "reason", "", "why, for the record and, if refused, for the model")
	return cmd
}

func (f decideFlags) decide(cmd *cobra.Command, allow bool, run string, calls []string) error {
	ctx := cmd.Context()
	store, done, err := runstore.Open(cmd, false)
	if err != nil {
		return err
	}
	defer done()
	if run, err = runstore.Named(ctx, store, run); err != nil {
		return err
	}
	open, err := agent.Waiting(ctx, store, run)
	if err != nil {
		return err
	}
	if len(open) == 0 && !hasRun(ctx, store, run) {
		return fmt.Errorf("there is no run %s; 'toolpost runs list' shows those that wait", run)
	}
	if calls, err = f.chosen(cmd, run, open, calls); err != nil {
		return err
	}
	if allow && f.args == "" && !f.unseen {
		if err := allShown(open, calls); err != nil {
			return err
		}
	}
	var grants []agent.Grant
	for _, id := range calls {
		g := agent.Grant{Call: id, Allowed: allow, By: f.who(), Reason: f.reason, Args: json.RawMessage(f.args), Value: json.RawMessage(f.value), ParamsHash: journal.Hash(f.hash)}
		grants = append(grants, g)
	}
	var held *journal.HeldError
	switch err := agent.Decide(ctx, store, run, grants...); {
	case errors.As(err, &held):
		return fmt.Errorf("run %s is at work: %s owns it, so it does not wait", run, held.Owner)
	case err != nil:
		return errors.New(strings.TrimPrefix(err.Error(), "agent: "))
	}
	return f.say(ctx, cmd, store, run, allow, calls)
}

// allShown returns an error if the arguments of a call are redacted. A person cannot agree to arguments that are not
// shown, and a model can make any text look like a key.
func allShown(open []invoke.Question, calls []string) error {
	for _, q := range open {
		if slices.Contains(calls, q.CallID) && q.Hides() {
			return fmt.Errorf("the arguments of %s are not shown whole: %s…] hides what looks like a secret, and may be anything; --args replaces them, --unseen allows them unchanged", cli.Printable(q.CallID), secret.MarkPrefix)
		}
	}
	return nil
}

// hasRun reports whether a store has any entry of a run.
func hasRun(ctx context.Context, store runstore.Store, run string) bool {
	for _, err := range store.Lines(ctx, run) {
		return err == nil || !errors.Is(err, fs.ErrNotExist)
	}
	return false
}

// chosen returns the calls that the command decides about.
func (f decideFlags) chosen(cmd *cobra.Command, run string, open []invoke.Question, calls []string) ([]string, error) {
	switch {
	case len(open) == 0:
		return nil, fmt.Errorf("run %s does not wait for anybody; 'toolpost runs list' shows those that do", run)
	case len(calls) > 0 && f.all:
		return nil, cli.Usagef(cmd, "--all is every call; name none with it")
	case len(calls) > 1 && (f.args != "" || f.value != ""):
		return nil, cli.Usagef(cmd, "--args and --value are for one call; name it")
	case len(calls) > 0:
		for _, id := range calls {
			if !slices.ContainsFunc(open, func(q invoke.Question) bool { return q.CallID == id }) {
				return nil, fmt.Errorf("run %s does not wait for a decision about %s; 'toolpost runs list' shows what it waits for", run, id)
			}
		}
		return calls, nil
	case len(open) > 1 && (!f.all || f.args != "" || f.value != ""):
		return nil, cli.Usagef(cmd, "run %s waits for %d calls: name those you mean, or --all", run, len(open))
	}
	for _, q := range open {
		calls = append(calls, q.CallID)
	}
	return calls, nil
}

// who returns the name of the person who decides, for the record.
func (f decideFlags) who() string {
	if f.by != "" {
		return f.by
	}
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	if name := os.Getenv("USER"); name != "" {
		return name
	}
	return "a person"
}

// say prints the decision and the next step.
func (f decideFlags) say(ctx context.Context, cmd *cobra.Command, store runstore.Store, run string, allow bool, calls []string) error {
	word := "allowed"
	if !allow {
		word = "refused"
	}
	left, err := agent.Waiting(ctx, store, run)
	if err != nil {
		return err
	}
	next := "toolpost run --resume " + run + settings.RecordedAt(cmd) + " goes on"
	if strings.HasPrefix(run, "req_") { // of a gateway
		next = "the gateway continues when its client makes the same call again"
	}
	if len(left) > 0 {
		next = "the run still waits for " + cli.Count(len(left), "call")
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: %s; %s\n", word, cli.Printable(strings.Join(calls, ", ")), next)
	return err
}
