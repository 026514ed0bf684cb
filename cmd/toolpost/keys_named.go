package main

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
	"github.com/toolpost/toolpost/gateway/access"
	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/llm"
)

// keyCalled returns the id of the key that an argument means: its id, its secret, or its name if no other key that is good has it.
func keyCalled(ctx context.Context, b *access.Book, called string) (string, error) {
	if strings.HasPrefix(called, access.Prefix) {
		return called, nil // a secret must not be said again, and the book knows how not to
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

// warnOfTeam says that a team has no key, which a name that is not quite right makes so.
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

// warnOfBounds says which models, routes and tools of a key are nobody's in the configuration, if that has routes: the key is made all the same,
// as the route may come later.
func warnOfBounds(cmd *cobra.Command, k access.Key) {
	s, err := loadSettings(cmd)
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

// hostedNames are names of tools that vendors run, as bounds of keys know them; the last letter may be a *. None is what no tool is called: a
// key that names it may use none.
var hostedNames = []string{
	"none", llm.WebSearch, llm.ToolSearch, "mcp", "plugin:*", "web_fetch", "code_execution", "code_interpreter", "file_search", "image_generation",
	"computer*", "bash", "memory", "shell", "local_shell", "apply_patch", "text_editor", "str_replace*", "advisor", "web_search_*",
	"googleSearchRetrieval", "googleMaps", "fileSearch", "retrieval", "enterpriseWebSearch", "mcpServers", "parallelAiSearch", "exaAiSearch",
}

// stands reports whether a pattern, in which * is anything, is that of a name.
func stands(pattern, name string) bool {
	ok, _ := regexp.MatchString("^"+strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*")+"$", name)
	return ok
}

// mayMean reports whether a client can ask for a name that both a pattern of a key and a route, whose last letter may be a *, are for.
func mayMean(pattern, route string) bool {
	begin, star := strings.CutSuffix(route, "*")
	if !star {
		return stands(pattern, route)
	}
	lead, _, open := strings.Cut(pattern, "*")
	return strings.HasPrefix(lead, begin) || open && strings.HasPrefix(begin, lead)
}

// printFitted prints a table in the width of the terminal, where there is one: columns of no news are left out first, then long cells are
// cut but for those of whole, then columns are left out in the order of least. Elsewhere it prints all.
func printFitted(cmd *cobra.Command, rows [][]string, whole []string, least ...string) error {
	out := cmd.OutOrStdout()
	fitted, left := fitted(rows, widthOf(out), whole, least)
	if err := cli.PrintTable(out, "", fitted); err != nil {
		return err
	}
	if len(left) > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "for want of room without %s; --json has all\n", strings.Join(left, ", "))
	}
	return nil
}

// widthOf is the width of a terminal, 0 for what is none.
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

// minCell is what a cell is not cut below.
const minCell = 8

// noNews are what cells say where nothing is set.
var noNews = []string{"all", "none", "never", "-"}

// fitted returns a table that is at most as wide as a terminal, if it can be, and the columns that it lacks. A width of 0 is any.
func fitted(rows [][]string, width int, whole, least []string) (_ [][]string, left []string) {
	if width <= 0 || tableWidth(rows) <= width {
		return rows, nil
	}
	drop := func(name string, only bool) {
		at := slices.Index(rows[0], name)
		if at < 0 || tableWidth(rows) <= width || only && slices.ContainsFunc(rows[1:], func(row []string) bool { return !slices.Contains(noNews, row[at]) }) {
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

// cutCells returns a table whose widest columns are cut until it fits, nil if it does not.
func cutCells(rows [][]string, width int, whole []string) [][]string {
	widths := columnWidths(rows)
	for total := tableWidth(rows); total > width; total-- {
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

// tableWidth is how wide printTable prints a table.
func tableWidth(rows [][]string) (n int) {
	for _, w := range columnWidths(rows) {
		n += w + 2
	}
	return n - 2
}
