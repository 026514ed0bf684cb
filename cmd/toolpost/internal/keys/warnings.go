package keys

import (
	"context"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
)

// keyCalled returns the id of a key by its id, its secret, or its name. A name must be unique among the valid keys.
func keyCalled(ctx context.Context, b *access.Book, called string) (string, error) {
	if strings.HasPrefix(called, access.Prefix) {
		return called, nil // a secret must not be repeated in errors, and the book does not repeat it
	}
	all, err := b.Keys(ctx)
	if err != nil {
		return "", err
	}
	var names, same, good []string
	for _, k := range all {
		if k.Name != called {
			names = append(names, k.Name)
			continue
		}
		same = append(same, k.ID)
		if k.State(time.Now()) == "active" {
			good = append(good, k.ID)
		}
	}
	if len(good) > 0 {
		same = good
	}
	switch len(same) {
	case 0:
		return "", fmt.Errorf("key %.100q: it is not there: no key has this id or name%s; 'toolpost keys list' shows them", called, cli.DidYouMean(called, names))
	case 1:
		return same[0], nil
	}
	return "", fmt.Errorf("several keys have the name %.100q; name one by its id: %s", called, strings.Join(same[:min(len(same), 10)], ", "))
}

// warnOfTeam warns that a team has no key, because its name may be misspelt.
func warnOfTeam(cmd *cobra.Command, b *access.Book, team string) error {
	all, err := b.Keys(cmd.Context())
	if err != nil {
		return err
	}
	var teams []string
	for _, k := range all {
		if k.Team == team {
			return nil
		}
		teams = append(teams, k.Team)
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: warning: no key belongs to the team %s%s\n", cli.Printable(team), cli.DidYouMean(team, teams))
	return nil
}

// warnOfBounds warns about models, routes and tools of a key that do not exist in a configuration with routes. The key
// is created all the same, because the route may be added later.
func warnOfBounds(cmd *cobra.Command, k access.Key) {
	s, err := settings.Load(cmd)
	if err != nil || len(s.Gateway.Routes) == 0 {
		return
	}
	var routes []string
	tools := slices.Clone(hostedNames)
	for _, r := range s.Gateway.Routes {
		routes = append(routes, r.Model)
		tools = append(tools, r.Served.Tools...)
		for _, server := range r.Served.MCP {
			tools = append(tools, server+"__*")
		}
	}
	for _, list := range []struct {
		flag   string
		bounds []string
		among  []string
		fits   func(pattern, name string) bool
		says   string
	}{
		{"models", k.Models, routes, mayMean, "no route of the configuration is for %s"},
		{"routes", k.Routes, routes, stands, "no route of the configuration is for %s"},
		{"tools", k.Tools, tools, mayMean, "no route of the configuration has a tool %s, and none of a vendor is known by that name"},
	} {
		for _, p := range list.bounds {
			if !slices.ContainsFunc(list.among, func(name string) bool { return list.fits(p, name) }) {
				fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: warning: --%s: "+list.says+"%s\n", list.flag, cli.Printable(p), cli.DidYouMean(p, list.among))
			}
		}
	}
}

// hostedNames are names of tools that vendors run, as the bounds of keys know them. A name may end in *. No tool is
// called "none": a key with this bound may use no tools.
var hostedNames = []string{
	"none", llm.WebSearch, llm.ToolSearch, "mcp", "plugin:*", "web_fetch", "code_execution", "code_interpreter", "file_search", "image_generation",
	"computer*", "bash", "memory", "shell", "local_shell", "apply_patch", "text_editor", "str_replace*", "advisor", "web_search_*",
	"googleSearchRetrieval", "googleMaps", "fileSearch", "retrieval", "enterpriseWebSearch", "mcpServers", "parallelAiSearch", "exaAiSearch",
}

// stands reports whether a pattern with * wildcards matches a name.
func stands(pattern, name string) bool {
	ok, _ := regexp.MatchString("^"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+"$", name)
	return ok
}

// mayMean reports whether any name matches both a pattern of a key and a route. The route may end in *.
func mayMean(pattern, route string) bool {
	begin, star := strings.CutSuffix(route, "*")
	if !star {
		return stands(pattern, route)
	}
	lead, _, open := strings.Cut(pattern, "*")
	return strings.HasPrefix(lead, begin) || open && strings.HasPrefix(begin, lead)
}

// printFitted prints a table. On a terminal it fits the table to the width in three steps: it leaves out columns in
// which no row has a value, then cuts long cells except those of whole, then leaves out the columns of least in order.
func printFitted(cmd *cobra.Command, rows [][]string, whole []string, least ...string) error {
	out := cmd.OutOrStdout()
	fitted, left := Fitted(rows, widthOf(out), whole, least)
	if err := cli.PrintTable(out, "", fitted); err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "for want of room without %s; --json has all\n", strings.Join(left, ", "))
	}
	return nil
}

// widthOf returns the width of a terminal, 0 for other writers.
func widthOf(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !cli.IsTerminal(f) {
		return 0
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return n
}

// minCell is the minimum width of a cut cell.
const minCell = 8

// noNews are the cells of unset values.
var noNews = []string{"all", "none", "never", "-"}

// Fitted returns a table that fits the width, as far as possible, and the names of the dropped columns. A width of 0
// means no limit.
func Fitted(rows [][]string, width int, whole, least []string) (_ [][]string, left []string) {
	if width <= 0 || TableWidth(rows) <= width {
		return rows, nil
	}
	drop := func(name string, only bool) {
		at := slices.Index(rows[0], name)
		if at < 0 || TableWidth(rows) <= width || only && slices.ContainsFunc(rows[1:], func(row []string) bool { return !slices.Contains(noNews, row[at]) }) {
			return
		}
		left = append(left, name)
		for i, row := range rows {
			rows[i] = slices.Delete(slices.Clone(row), at, at+1)
		}
	}
	for _, name := range least {
		drop(name, true)
	}
	for _, name := range append([]string{""}, least...) {
		drop(name, false)
		if cut := cutCells(rows, width, whole); cut != nil {
			return cut, left
		}
	}
	return rows, left
}

// cutCells returns a table with its widest columns cut until it fits, nil if it cannot fit.
func cutCells(rows [][]string, width int, whole []string) [][]string {
	widths := columnWidths(rows)
	for total := TableWidth(rows); total > width; total-- {
		widest := -1
		for i, n := range widths {
			if !slices.Contains(whole, rows[0][i]) && n > max(minCell, utf8.RuneCountInString(rows[0][i])) && (widest < 0 || n > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			return nil
		}
		widths[widest]--
	}
	cut := make([][]string, len(rows))
	for i, row := range rows {
		for k, cell := range row {
			cut[i] = append(cut[i], clip.Runes(cell, widths[k]))
		}
	}
	return cut
}

func columnWidths(rows [][]string) (widths []int) {
	widths = make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	return widths
}

// TableWidth returns the printed width of a table.
func TableWidth(rows [][]string) (n int) {
	for _, w := range columnWidths(rows) {
		n += w + 2
	}
	return n - 2
}
