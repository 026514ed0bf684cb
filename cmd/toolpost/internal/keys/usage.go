package keys

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/access"
)

// byRequest lists single requests.
const byRequest = "request"

// usageFlags are the flags of usage.
type usageFlags struct {
	by, request   string
	asJSON, asCSV bool
	last          int
}

func NewUsage() *cobra.Command {
	var u usageFlags
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what the clients of a gateway have used",
		Long: `Sums up what clients of 'toolpost serve' have used: by key, team, route (as the configuration
names it), model (as clients ask for it), upstream (who was asked), user or tag (as clients name
them) or day, or several of them. --team, --key, --route, --model, --upstream, --user and --tag
count only requests of that one, and go with each other and with --since. --by request lists the latest requests; --last says how many.
CACHED are requests that were answered with an earlier answer; REFUSED were refused for a
limit or a bound of their key, and are not in REQUESTS. --request shows what one of them
asked and was answered, if the gateway keeps that (log_bodies). An amount with a * lacks
requests whose price is not known; tokens with a ~ hold some that were estimated.`,
		Example: `  toolpost usage --by team --keys sqlite:keys.db
  toolpost usage --by team,day --since 30d --csv --keys sqlite:keys.db
  toolpost usage --team research --by key,model --since 30d --keys sqlite:keys.db
  toolpost usage --by request --last 20 --json --keys sqlite:keys.db
  toolpost usage --request req_3AFQ6MHWCA5XQ7B2 --keys sqlite:keys.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return u.run(cmd) },
	}
	addKeysFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&u.by, "by", "team", "what to sum up by: key, team, route, model, upstream, user, tag, day, several of them with commas, or request")
	f.String("since", "", "usage since a `DAY` like 2026-11-01, or of the last days like 30d, from midnight (UTC)")
	f.IntVar(&u.last, "last", 50, fmt.Sprintf("with --by request: how many, up to %d", access.MaxLog))
	f.StringVar(&u.request, "request", "", "show what the request of this `ID` asked and was answered, if that is kept")
	f.BoolVar(&u.asJSON, "json", false, "print one JSON array, or object with --request")
	f.BoolVar(&u.asCSV, "csv", false, "print comma-separated values")
	for g, usage := range map[access.Grouping]string{
		access.ByTeam:     "only what this `TEAM` has used",
		access.ByKey:      "only what this `KEY` has used: its id, or its name if no other key has it",
		access.ByRoute:    "only requests of this `ROUTE`, as the configuration names it",
		access.ByModel:    "only requests for this `MODEL`, as clients ask for it",
		access.ByUser:     "only requests for this end `USER` of a client",
		access.ByTag:      "only requests that clients booked to this `TAG`",
		access.ByUpstream: "only requests that this `UPSTREAM` answered, like openai/gpt-5",
	} {
		f.String(string(g), "", usage)
	}
	cli.NoEmptyFlags(cmd)
	return cmd
}

// run prints what the flags select.
func (u usageFlags) run(cmd *cobra.Command) error {
	from, err := sinceFlag(cmd)
	if err != nil {
		return err
	}
	only, err := pickedBy(cmd)
	switch {
	case err != nil:
		return err
	case u.asJSON && u.asCSV:
		return cli.Usagef(cmd, "--json and --csv are two forms: use one of them")
	case u.request != "" && (u.asCSV || len(only) > 0 || cmd.Flags().Changed("by") || cmd.Flags().Changed("last") || !from.IsZero()):
		return cli.Usagef(cmd, "--request shows one request, for people or with --json, and takes no --by, --last, --since, --csv and nothing that picks others")
	case u.request != "":
		return withKeys(cmd, false, func(b *access.Book) error { return printBodies(cmd, b, u.request, u.asJSON) })
	case u.last < 1 || u.last > access.MaxLog:
		return cli.Usagef(cmd, "--last: %d is not a number of requests; it can be 1 to %d", u.last, access.MaxLog)
	case u.by != byRequest && cmd.Flags().Changed("last"):
		return cli.Usagef(cmd, "--last says how many requests are listed, and goes only with --by request")
	case u.by == byRequest && !from.IsZero():
		return cli.Usagef(cmd, "the list of requests has no --since; --last says how many")
	case u.by == byRequest:
		return withKeys(cmd, false, func(b *access.Book) error {
			if only, err = b.Resolve(cmd.Context(), only); err != nil {
				return err
			}
			return u.printRequests(cmd, b, only)
		})
	}
	return u.sums(cmd, only, from)
}

// sinceFlag parses --since. It refuses a part of a day, because sums are kept per UTC day.
func sinceFlag(cmd *cobra.Command) (time.Time, error) {
	since := cmd.Flag("since").Value.String()
	if access.PartOfDay(since) {
		return time.Time{}, cli.Usagef(cmd, "--since %s: sums are kept by day (of UTC), and less than one cannot be told: give a day like %s, or 1d or more; --by request lists single requests with their time", since, time.Now().UTC().Format(time.DateOnly))
	}
	return timeFlag(cmd, "since", true)
}

// sums prints grouped sums.
func (u usageFlags) sums(cmd *cobra.Command, only access.Filter, from time.Time) error {
	var groups []access.Grouping
	for word := range strings.SplitSeq(u.by, ",") {
		if word == byRequest {
			return cli.Usagef(cmd, "--by: request stands alone: it lists requests, and sums nothing up")
		}
		if !slices.Contains(access.Groupings, access.Grouping(word)) {
			return cli.Usagef(cmd, "--by: %q is not key, team, route, model, upstream, user, tag, day or request", word)
		}
		if slices.Contains(groups, access.Grouping(word)) {
			return cli.Usagef(cmd, "--by: %s is named twice", word)
		}
		groups = append(groups, access.Grouping(word))
	}
	return withKeys(cmd, false, func(b *access.Book) error {
		only, err := b.Resolve(cmd.Context(), only)
		if err != nil {
			return err
		}
		list, err := b.UsageOf(cmd.Context(), only, from, groups...)
		switch {
		case err != nil:
			return err
		case u.asJSON:
			return cli.PrintJSON(cmd.OutOrStdout(), append([]access.Spend{}, list...))
		case u.asCSV:
			return access.WriteCSV(cmd.OutOrStdout(), list, groups...)
		case len(list) == 0:
			return nothingOf(cmd, "nothing was used", only)
		}
		return PrintSpend(cmd, list, groups)
	})
}

// pickedBy returns the filter from the flags of a command.
func pickedBy(cmd *cobra.Command) (access.Filter, error) {
	only := access.Filter{}
	for _, g := range access.Filters {
		if f := cmd.Flag(string(g)); f.Changed {
			only[g] = f.Value.String()
		}
	}
	return only, nil
}

// nothingOf reports that nothing matches the filter.
func nothingOf(cmd *cobra.Command, what string, only access.Filter) error {
	if of := only.String(); of != "" {
		what += " of " + cli.Printable(of)
	}
	_, err := fmt.Fprintln(cmd.ErrOrStderr(), what)
	return err
}

// PrintSpend prints sums for people.
func PrintSpend(cmd *cobra.Command, list []access.Spend, by []access.Grouping) error {
	var head []string
	for _, g := range by {
		head = append(head, strings.ToUpper(string(g)))
	}
	rows := [][]string{append(head, "REQUESTS", "FAILED", "CACHED", "REFUSED", "INPUT", "OUTPUT", "USD")}
	for _, s := range list {
		var row []string
		for _, g := range by {
			row = append(row, cmp.Or(cli.Printable(s.Of(g)), "-"))
		}
		rows = append(rows, append(row, strconv.FormatInt(s.Requests, 10), strconv.FormatInt(s.Failed, 10), strconv.FormatInt(s.Cached, 10), strconv.FormatInt(s.Refused, 10),
			TokenSum(s.Input, s.Estimated > 0), TokenSum(s.Output, s.Estimated > 0), AmountSum(s.Money, s.Unpriced > 0)))
	}
	return cli.PrintTable(cmd.OutOrStdout(), "", rows)
}

// TokenSum formats a number of tokens. A ~ means that some were estimated.
func TokenSum(n int64, estimated bool) string {
	if estimated {
		return strconv.FormatInt(n, 10) + "~"
	}
	return strconv.FormatInt(n, 10)
}

// AmountSum formats an amount. A * means that some prices are unknown.
func AmountSum(m catalog.Money, unpriced bool) string {
	if unpriced {
		return m.String() + "*"
	}
	return m.String()
}

// printRequests prints the latest matching requests.
func (u usageFlags) printRequests(cmd *cobra.Command, b *access.Book, only access.Filter) error {
	log, err := b.LogOf(cmd.Context(), only, u.last)
	switch {
	case err != nil:
		return err
	case u.asJSON:
		return cli.PrintJSON(cmd.OutOrStdout(), append([]access.LogLine{}, log...))
	case u.asCSV:
		return access.WriteLog(cmd.OutOrStdout(), log)
	case len(log) == 0:
		return nothingOf(cmd, "the log has no request", only)
	}
	rows := [][]string{{"AT", "REQUEST", "TEAM", "KEY", "ROUTE", "MODEL", "UPSTREAM", "STATUS", "INPUT", "OUTPUT", "USD", "TOOK", "ATTEMPTS"}}
	for _, l := range log {
		status := l.Status
		if l.Cached {
			status += " (cached)"
		}
		rows = append(rows, []string{l.At.Format(time.DateTime), l.ID, cli.Printable(l.Team), l.Key, cmp.Or(cli.Printable(l.Route), "-"), cli.Printable(l.Model), cmp.Or(cli.Printable(l.Upstream), "-"), status,
			TokenSum(l.Input, l.Estimated), TokenSum(l.Output, l.Estimated), AmountSum(l.Money, l.Unpriced), l.Took.Round(time.Millisecond).String(), cmp.Or(cli.Printable(l.AttemptsText()), "-")})
	}
	return printFitted(cmd, rows, LogWhole, LogLeast...)
}

// The columns of the log that are never cut because they identify requests, and the columns that a narrow terminal
// drops first.
var (
	LogWhole = []string{"AT", "REQUEST"}
	LogLeast = []string{"ATTEMPTS", "TOOK", "ROUTE", "KEY", "UPSTREAM", "OUTPUT", "INPUT", "TEAM", "USD"}
)

// printBodies prints the bodies of a request and its response.
func printBodies(cmd *cobra.Command, b *access.Book, id string, asJSON bool) error {
	v, err := b.Bodies(cmd.Context(), id)
	if errors.Is(err, access.ErrNotThere) {
		return fmt.Errorf("what %s asked and was answered is not kept: it needs log_bodies on its route when it is asked, and goes with the log", cli.Printable(id))
	}
	if err != nil {
		return err
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), v)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s  %s  %s\n", v.ID, v.At.Format(time.DateTime), cli.Printable(v.Team))
	for _, part := range []struct {
		name string
		access.KeptBody
	}{{"asked", v.Request}, {"answered", v.Answer}} {
		fmt.Fprintf(out, "\n%s: %d bytes, %s\n", part.name, part.Size, cmp.Or(cli.Printable(part.Type), "of no type"))
		for _, text := range []string{part.Note, part.Text} {
			if text != "" {
				fmt.Fprintln(out, cli.Printable(text))
			}
		}
	}
	return nil
}
