// Package completion completes flags and arguments in a shell.
package completion

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/openmodel"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runstore"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/text"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/schema"
	"github.com/toolpost/toolpost/sim"
	"github.com/toolpost/toolpost/wire"
)

// completer returns the values that a shell offers for a word. Those that do not begin with the word are left out later.
type completer func(cmd *cobra.Command, word string) []string

// flagValues are the completions of flags by name, for all commands with the flag.
var flagValues = map[string]completer{
	"model":    modelValues,
	"against":  modelValues,
	"dialect":  func(*cobra.Command, string) []string { return text.DialectNames() },
	"vendor":   vendorValues,
	"wire":     func(*cobra.Command, string) []string { return wire.Formats() },
	"resume":   runValues,
	"format":   func(*cobra.Command, string) []string { return []string{"a", "b"} },
	"finish":   func(*cobra.Command, string) []string { return []string{"stop", "length", "content_filter"} },
	"thinking": func(*cobra.Command, string) []string { return []string{"ignore", "promote_if_unterminated", "promote"} },
}

// argValues are the completions of a command's first argument, by the path of the command.
var argValues = map[string]completer{
	"toolpost models show":     modelValues,
	"toolpost models probe":    modelValues,
	"toolpost tools call":      toolValues,
	"toolpost receipts show":   runValues,
	"toolpost receipts verify": runValues,
	"toolpost receipts export": runValues,
	"toolpost receipts sign":   runValues,
	"toolpost replay":          runValues,
	"toolpost runs approve":    runValues,
	"toolpost runs deny":       runValues,
	configSet:                  settingValues,
	"toolpost config unset":    settingValues,
	"toolpost run":             taskValues,
}

const configSet = "toolpost config set"

// orFile lists the commands whose first argument may also be a file, or a task that mentions a file.
var orFile = []string{"toolpost receipts show", "toolpost receipts verify", "toolpost receipts export", "toolpost receipts sign", "toolpost replay", "toolpost run"}

// Add adds the completions of flags and arguments to all commands.
func Add(cmd *cobra.Command) {
	for name, values := range flagValues {
		addFlag(cmd, name, values)
	}
	for _, row := range settings.Table {
		if len(row.Words) > 0 {
			addFlag(cmd, row.FlagName(), func(*cobra.Command, string) []string { return row.Words })
		}
	}
	if values := argValues[cmd.CommandPath()]; values != nil {
		cmd.ValidArgsFunction = func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			directive := cobra.ShellCompDirectiveNoFileComp
			if slices.Contains(orFile, cmd.CommandPath()) {
				directive = cobra.ShellCompDirectiveDefault
			}
			if len(args) == 1 && cmd.CommandPath() == configSet {
				return cli.StartingWith(valuesOf(cmd, args[0], word), word), directive
			}
			if len(args) > 0 {
				return nil, directive
			}
			return cli.StartingWith(values(cmd, word), word), directive
		}
	}
	for _, sub := range cmd.Commands() {
		Add(sub)
	}
}

// addFlag adds the completions of a flag, if the command has it.
func addFlag(cmd *cobra.Command, name string, values completer) {
	if f := cmd.Flags().Lookup(name); f == nil || f.Value.Type() == "bool" {
		return
	}
	_ = cmd.RegisterFlagCompletionFunc(name, func(cmd *cobra.Command, _ []string, word string) ([]string, cobra.ShellCompDirective) {
		found, directive := cli.StartingWith(values(cmd, word), word), cobra.ShellCompDirectiveNoFileComp
		if slices.ContainsFunc(found, func(v string) bool { return strings.HasSuffix(v, "/") }) { // a model follows the vendor
			directive |= cobra.ShellCompDirectiveNoSpace
		}
		return found, directive
	})
}

// modelValues returns the models that are usable now, then the vendors, and for a begun word all known models.
func modelValues(cmd *cobra.Command, word string) []string {
	var out []string
	if s, err := settings.Load(cmd); err == nil {
		for _, f := range openmodel.Usable(cmd.Context(), &s.ModelOptions) {
			out = append(out, strings.TrimSuffix(f.ID, "…"))
		}
	}
	for _, vendor := range slices.Sorted(maps.Keys(settings.Vendors())) {
		if len(cli.StartingWith(out, vendor+"/")) == 0 {
			out = append(out, vendor+"/")
		}
	}
	if word == "" {
		return out
	}
	out = append(out, sim.Models()...)
	c, err := cli.UserCatalog("")
	if err != nil {
		c = catalog.Default()
	}
	for _, m := range c.Models() {
		out = append(out, m.ID.Raw)
	}
	return out
}

// settingValues returns the keys of the configuration.
func settingValues(*cobra.Command, string) []string {
	var out []string
	for _, row := range settings.Table {
		out = append(out, row.Key)
	}
	return out
}

// valuesOf returns the values of a setting that are known.
func valuesOf(cmd *cobra.Command, key, word string) []string {
	i := slices.IndexFunc(settings.Table, func(row settings.Setting) bool { return row.Key == key })
	switch {
	case i < 0:
		return nil
	case key == "model" || key == "stronger":
		return modelValues(cmd, word)
	}
	return settings.Table[i].Words
}

// taskValues returns the tasks of the configuration, in the form that run takes.
func taskValues(cmd *cobra.Command, _ string) []string {
	var out []string
	if s, err := settings.Load(cmd); err == nil {
		for _, name := range slices.Sorted(maps.Keys(s.Tasks)) {
			out = append(out, "@"+name)
		}
	}
	return out
}

func vendorValues(*cobra.Command, string) []string {
	var out []string
	for _, v := range schema.Vendors() {
		out = append(out, string(v))
	}
	return out
}

// toolValues returns the names of the built-in tools and of the tools in the files of --tools.
func toolValues(cmd *cobra.Command, _ string) []string {
	var files []string
	if list, ok := cmd.Flag("tools").Value.(pflag.SliceValue); ok {
		files = cli.StartingWith(list.GetSlice(), "") // without duplicates: completion parses flags twice
	}
	set, done, err := toolset.Open(toolset.All(".", files...))
	if err != nil {
		return nil
	}
	defer done()
	return set.Names()
}

// maxOffered is how many runs a shell offers.
const maxOffered = 50

// runValues returns "latest" and the newest runs.
func runValues(cmd *cobra.Command, _ string) []string {
	store, done, err := runstore.Open(cmd, false)
	if err != nil {
		return nil
	}
	defer done()
	out := []string{runstore.Latest}
	runs, err := runstore.NewestFirst(cmd.Context(), store)
	if err != nil {
		return out
	}
	for _, r := range runs[:min(len(runs), maxOffered)] {
		out = append(out, r.Run)
	}
	return out
}
