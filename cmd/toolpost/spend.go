package main

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
	"github.com/toolpost/toolpost/gateway/access"
)

// byRequest lists the requests themselves.
const byRequest = "request"

func newUsage() *cobra.Command {
	var by, request string
	var asJSON, asCSV bool
	var last int
	cmd := &cobra.Command{
		Use:   "usage",
		Short: "Show what the clients of a gateway have used",
		Long: `Sums up what clients of 'toolpost serve' have used: by key, team, route (as the configuration
names it), model (as clients ask for it), upstream (who answered) or day, or several of them.
--by request lists the latest requests; --last says how many. CACHED are requests that were
answered with an earlier answer; REFUSED were refused for a limit or a bound of their key, and
are not in REQUESTS. --request shows what one of them asked and was answered, if the gateway keeps
that (log_bodies). An amount with a * lacks requests whose price is not known; tokens with a
~ hold some that were estimated.`,
		Example: `  toolpost usage --by team --keys sqlite:keys.db
  toolpost usage --by team,day --since 30d --csv --keys sqlite:keys.db
  toolpost usage --by request --last 20 --json --keys sqlite:keys.db
  toolpost usage --request req_3AFQ6MHWCA5XQ7B2 --keys sqlite:keys.db`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON && asCSV {
				return usagef(cmd, "--json and --csv are two forms: use one of them")
			}
			from, err := timeFlag(cmd, "since", true)
			if err != nil {
				return err
			}
			if request != "" {
				if asCSV || cmd.Flags().Changed("by") || !from.IsZero() {
					return usagef(cmd, "--request shows one request, for people or with --json, and takes no --by, --since and --csv")
				}
				return withKeys(cmd, false, func(b *access.Book) error { return printBodies(cmd, b, request, asJSON) })
			}
			if by == byRequest {
				if !from.IsZero() {
					return usagef(cmd, "the list of requests has no --since; --last says how many")
				}
				return withKeys(cmd, false, func(b *access.Book) error { return printRequests(cmd, b, last, asJSON, asCSV) })
			}
			var groups []access.Grouping
			for word := range strings.SplitSeq(by, ",") {
				if !slices.Contains(access.Groupings, access.Grouping(word)) {
					return usagef(cmd, "--by: %q is not key, team, route, model, upstream, day or request", word)
				}
				groups = append(groups, access.Grouping(word))
			}
			return withKeys(cmd, false, func(b *access.Book) error {
				list, err := b.Usage(cmd.Context(), from, groups...)
				switch {
				case err != nil:
					return err
				case asJSON:
					return printJSON(cmd.OutOrStdout(), append([]access.Spend{}, list...))
				case asCSV:
					return access.WriteCSV(cmd.OutOrStdout(), list, groups...)
				}
				return printSpend(cmd, list, groups)
			})
		},
	}
	addKeysFlags(cmd)
	f := cmd.Flags()
	f.StringVar(&by, "by", "team", "what to sum up by: key, team, route, model, upstream, day, several of them with commas, or request")
	f.String("since", "", "only what was used since a `DAY` like 2026-11-01, or within a time like 30d")
	f.IntVar(&last, "last", 50, "with --by request: how many")
	f.StringVar(&request, "request", "", "show what the request of this `ID` asked and was answered, if that is kept")
	f.BoolVar(&asJSON, "json", false, "print one JSON array, or object with --request")
	f.BoolVar(&asCSV, "csv", false, "print comma-separated values")
	return cmd
}

// printSpend prints sums for people.
func printSpend(cmd *cobra.Command, list []access.Spend, by []access.Grouping) error {
	var head []string
	for _, g := range by {
		head = append(head, strings.ToUpper(string(g)))
	}
	rows := [][]string{append(head, "REQUESTS", "FAILED", "CACHED", "REFUSED", "INPUT", "OUTPUT", "USD")}
	for _, s := range list {
		var row []string
		for _, g := range by {
			row = append(row, cmp.Or(printable(s.Of(g)), "-"))
		}
		rows = append(rows, append(row, strconv.FormatInt(s.Requests, 10), strconv.FormatInt(s.Failed, 10), strconv.FormatInt(s.Cached, 10), strconv.FormatInt(s.Refused, 10),
			tokenSum(s.Input, s.Estimated > 0), tokenSum(s.Output, s.Estimated > 0), amountSum(s.Money, s.Unpriced > 0)))
	}
	if len(list) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "nothing was used")
		return nil
	}
	return printTable(cmd.OutOrStdout(), "", rows)
}

// tokenSum shows tokens, and whether some were estimated.
func tokenSum(n int64, estimated bool) string {
	if estimated {
		return strconv.FormatInt(n, 10) + "~"
	}
	return strconv.FormatInt(n, 10)
}

// amountSum shows an amount, and whether some of it is not known.
func amountSum(m catalog.Money, unpriced bool) string {
	if unpriced {
		return m.String() + "*"
	}
	return m.String()
}

// printRequests prints the latest requests.
func printRequests(cmd *cobra.Command, b *access.Book, last int, asJSON, asCSV bool) error {
	log, err := b.Log(cmd.Context(), last)
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), append([]access.LogLine{}, log...))
	}
	if asCSV {
		return access.WriteLog(cmd.OutOrStdout(), log)
	}
	rows := [][]string{{"AT", "REQUEST", "TEAM", "KEY", "ROUTE", "MODEL", "UPSTREAM", "STATUS", "INPUT", "OUTPUT", "USD", "TOOK"}}
	for _, l := range log {
		status := l.Status
		if l.Cached {
			status += " (cached)"
		}
		rows = append(rows, []string{l.At.Format(time.DateTime), l.ID, printable(l.Team), l.Key, cmp.Or(printable(l.Route), "-"), printable(l.Model), cmp.Or(printable(l.Upstream), "-"), status,
			tokenSum(l.Input, l.Estimated), tokenSum(l.Output, l.Estimated), amountSum(l.Money, l.Unpriced), l.Took.Round(time.Millisecond).String()})
	}
	return printTable(cmd.OutOrStdout(), "", rows)
}

// printBodies prints what a request asked and was answered.
func printBodies(cmd *cobra.Command, b *access.Book, id string, asJSON bool) error {
	v, err := b.Bodies(cmd.Context(), id)
	if errors.Is(err, access.ErrNotThere) {
		return fmt.Errorf("what %s asked and was answered is not kept: it needs log_bodies on its route when it is asked, and goes with the log", printable(id))
	}
	if err != nil {
		return err
	}
	if asJSON {
		return printJSON(cmd.OutOrStdout(), v)
	}
	out := cmd.OutOrStdout()
	fmt.Fprintf(out, "%s  %s  %s\n", v.ID, v.At.Format(time.DateTime), printable(v.Team))
	for _, part := range []struct {
		name string
		access.KeptBody
	}{{"asked", v.Request}, {"answered", v.Answer}} {
		fmt.Fprintf(out, "\n%s: %d bytes, %s\n", part.name, part.Size, cmp.Or(printable(part.Type), "of no type"))
		for _, text := range []string{part.Note, part.Text} {
			if text != "" {
				fmt.Fprintln(out, printable(text))
			}
		}
	}
	return nil
}
