package main

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// journalUsage is the help text of every --journal flag.
const journalUsage = "where runs are recorded: a `FOLDER`, sqlite:FILE or postgres://…"

// addJournalFlag adds the flags that locate the records.
func addJournalFlag(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.String("journal", "", journalUsage)
	cli.Formerly(cmd, flags, "store", "journal")
	flags.String("config", "", "`FILE` to read in place of your config.yaml")
}

// recordedAt returns the --journal or --config flag for further commands about a run, as given to this command. It
// follows the id of the run.
func recordedAt(cmd *cobra.Command) string {
	for _, name := range []string{"journal", "config"} { // --journal makes --config unnecessary
		if f := cmd.Flag(name); f != nil && f.Changed && f.Value.String() != "" {
			return " --" + name + " " + inShell(cli.Printable(f.Value.String()))
		}
	}
	return ""
}

// inShell quotes a word for a shell, if necessary.
func inShell(word string) string {
	if strings.ContainsFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-:@+,=", r)
	}) {
		return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
	}
	return word
}

// bareAllow handles the old --allow flag of tools call, which took no list and allowed everything. It will be removed
// in the next release.
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

// looksLikeClasses reports whether a word is probably a list for --allow, and not the name of a tool, arguments or
// another flag.
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
