package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/internal/near"
)

// didYouMean returns a question that names what somebody may have meant, and ""
// if nothing is near.
func didYouMean(word string, names []string) string {
	if like := near.Names(word, names, 1); len(like) > 0 {
		return "; did you mean " + like[0] + "?"
	}
	return ""
}

// wrapArgs makes wrong arguments of every command a usage error. Of a command
// that only groups others, they are a subcommand that does not exist.
func wrapArgs(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
				return nil
			case cmd.HasSubCommands():
				err = noCommand(cmd, args[0])
			case strings.Contains(err.Error(), "arg(s)"), strings.HasPrefix(err.Error(), "unknown command "): // cobra's own words
				err = wrongCount(cmd, len(args))
			}
			return usageError{err, cmd.CommandPath()}
		}
	}
	for _, sub := range cmd.Commands() {
		wrapArgs(sub)
	}
}

// wrongCount says that a command takes another number of arguments, and which.
func wrongCount(cmd *cobra.Command, n int) error {
	given := fmt.Sprintf("%d arguments are given", n)
	switch n {
	case 0:
		given = "no argument is given"
	case 1:
		given = "1 argument is given"
	}
	return fmt.Errorf("%s; it is used like this: %s", given, strings.TrimSuffix(cmd.UseLine(), " [flags]"))
}

// strictDefaults makes a command that does not exist a usage error of help and
// completion, too, which would print their own help and succeed.
func strictDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && found.HasSubCommands() && len(rest) > 0 {
					return usageError{noCommand(found, rest[0]), found.CommandPath()}
				}
				return err
			}
		case "completion":
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return usageError{noCommand(cmd, args[0]), cmd.CommandPath()}
				}
				return nil
			}
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// noCommand says that there is no such subcommand.
func noCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if !sub.Hidden {
			names = append(names, sub.Name())
		}
	}
	where := ""
	if cmd.HasParent() {
		where = " of " + cmd.CommandPath()
	}
	return fmt.Errorf("%s is no command%s%s", word, where, didYouMean(word, names))
}

// wrongFlag is the error of a flag that cannot be read, with the name that was
// meant where one is near.
func wrongFlag(cmd *cobra.Command, err error) error {
	word, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		return usageError{wrongValue(err), cmd.CommandPath()}
	}
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return usageError{fmt.Errorf("--%s is no flag of %s%s", word, cmd.CommandPath(), didYouMean("--"+word, names)), cmd.CommandPath()}
}

// notOf says what the value of a flag is not, by the type of the flag.
var notOf = map[string]string{"duration": "is no duration like 90s or 10m", "int": "is no whole number", "float64": "is no number", "bool": "is not true or false"}

// wrongValue puts the error of a flag's value into plain words, where the type
// of the flag says all.
func wrongValue(err error) error {
	var invalid *pflag.InvalidValueError
	if !errors.As(err, &invalid) || strings.Contains(err.Error(), "out of range") {
		return err
	}
	not := notOf[invalid.GetFlag().Value.Type()]
	if not == "" {
		return err
	}
	return fmt.Errorf("--%s: %q %s", invalid.GetFlag().Name, invalid.GetValue(), not)
}

// formerly keeps the old name of a flag for one release: it sets the flag of
// today, with a line on standard error.
func formerly(cmd *cobra.Command, flags *pflag.FlagSet, old, today string) {
	flags.AddFlag(&pflag.Flag{Name: old, Hidden: true, Usage: "the old name of --" + today, Value: renamed{flags.Lookup(today).Value, cmd, flags, old, today}})
}

// renamed is the value of a flag under its old name.
type renamed struct {
	pflag.Value
	cmd        *cobra.Command
	flags      *pflag.FlagSet
	old, today string
}

// Set sets the flag of today.
func (r renamed) Set(value string) error {
	fmt.Fprintf(r.cmd.ErrOrStderr(), "toolpost: --%s is --%s now; the old name goes with the next release\n", r.old, r.today)
	return r.flags.Set(r.today, value)
}

// journalUsage is what --journal is, wherever it is a flag.
const journalUsage = "where runs are recorded: a `FOLDER`, sqlite:FILE or postgres://…"

// addJournalFlag gives a command that reads records the flags for where they are.
func addJournalFlag(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.String("journal", "", journalUsage)
	formerly(cmd, flags, "store", "journal")
	flags.String("config", "", "`FILE` to read in place of your config.yaml")
}

// recordedAt is what a command about a run needs to find its record: --journal
// or --config, where this command was told so. It goes behind the id of the run.
func recordedAt(cmd *cobra.Command) string {
	for _, name := range []string{"journal", "config"} { // one that names the record needs no other
		if f := cmd.Flag(name); f != nil && f.Changed && f.Value.String() != "" {
			return " --" + name + " " + inShell(printable(f.Value.String()))
		}
	}
	return ""
}

// inShell is a word as shells read it.
func inShell(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-:@+,=", r)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// bareAllow is what the --allow of tools call was: it took no list and allowed
// everything. It goes with the next release.
func bareAllow(args []string) (out []string, bare bool) {
	if len(args) < 2 || args[0] != "tools" || args[1] != "call" {
		return args, false
	}
	out = slices.Clone(args)
	for i, word := range out {
		if word == "--" {
			break
		}
		if word != "--allow" || i+1 < len(out) && looksLikeClasses(out[i+1]) {
			continue
		}
		out[i], bare = "--yes", true
	}
	return out, bare
}

// looksLikeClasses reports whether a word can be meant as the list of --allow,
// and not as the name of a tool, arguments or another flag.
func looksLikeClasses(word string) bool {
	if strings.HasPrefix(word, "-") || strings.HasPrefix(word, "{") {
		return false
	}
	for class := range strings.SplitSeq(word, ",") {
		if _, ok := allowed[class]; ok {
			return true
		}
	}
	for _, names := range allowed {
		if slices.Contains(names, word) {
			return false
		}
	}
	return !strings.Contains(word, "_")
}
