package cli

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/internal/near"
)

// DidYouMean returns a question with the name closest to a word, or "" if no name is close.
func DidYouMean(word string, names []string) string {
	return didYouMean(strings.Join(near.Names(word, names, 1), ""))
}

func didYouMean(like string) string {
	if like == "" {
		return ""
	}
	return "; did you mean " + like + "?"
}

// WrapArgs turns errors about the arguments of any command into usage errors. A command that only groups others shows its
// help, and a wrong argument of it is an unknown subcommand.
func WrapArgs(cmd *cobra.Command) {
	if cmd.HasSubCommands() && cmd.RunE == nil {
		cmd.Args, cmd.RunE = cobra.NoArgs, func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
	}
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err == nil:
				return nil
			case cmd.HasSubCommands():
				err = noCommand(cmd, args[0])
			case strings.Contains(err.Error(), "arg(s)"), strings.HasPrefix(err.Error(), "unknown command "): // cobra's own errors
				err = wrongCount(cmd, len(args))
			}
			return UsageError{err, cmd.CommandPath()}
		}
	}
	for _, sub := range cmd.Commands() {
		WrapArgs(sub)
	}
}

// wrongCount reports a wrong number of arguments and shows the usage.
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

// StrictDefaults makes unknown commands a usage error for help and completion too. By default these print their own
// help and succeed.
func StrictDefaults(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Args = func(_ *cobra.Command, args []string) error {
				found, rest, err := root.Find(args)
				if err == nil && found.HasSubCommands() && len(rest) > 0 {
					return UsageError{noCommand(found, rest[0]), found.CommandPath()}
				}
				return err
			}
		case "completion":
			cmd.Args = func(cmd *cobra.Command, args []string) error {
				if len(args) > 0 {
					return UsageError{noCommand(cmd, args[0]), cmd.CommandPath()}
				}
				return nil
			}
			cmd.RunE = func(cmd *cobra.Command, _ []string) error { return cmd.Help() }
		}
	}
}

// UnknownCommand is the usage error of a command that takes the names of commands below another.
func UnknownCommand(cmd, below *cobra.Command, word string) error {
	return UsageError{noCommand(below, word), cmd.CommandPath()}
}

// noCommand reports an unknown subcommand.
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
	hint := ""
	switch meant := otherWords[strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))+" "+strings.ToLower(word)]; {
	case meant != "":
		hint = "; try '" + meant + "'"
	case !cmd.HasParent() && strings.ContainsAny(word, " ?"):
		hint = "; a task follows run: toolpost run " + ShellWord(OneLine(word, 60))
	default:
		hint = didYouMean(near.Word(word, names))
	}
	return fmt.Errorf("unknown command %q%s%s", OneLine(word, 100), where, hint)
}

// OtherWords returns the words of other programs that an unknown command explains, each with its suggestion.
func OtherWords() map[string]string { return maps.Clone(otherWords) }

// otherWords are words of other programs, after the command that they follow, and what they are here.
var otherWords = map[string]string{
	" ask": "toolpost run 'TASK'", " do": "toolpost run 'TASK'", " exec": "toolpost run 'TASK'", " prompt": "toolpost run 'TASK'", " task": "toolpost run 'TASK'",
	" resume": "toolpost run --resume RUN", " continue": "toolpost run -c 'TASK'",
	" list": "toolpost models list", " ls": "toolpost models list", " model": "toolpost models list", " pull": "ollama pull MODEL", " ps": "toolpost doctor", " status": "toolpost doctor", " check": "toolpost doctor",
	" manual": "toolpost man", " docs": "toolpost man", " update": "toolpost upgrade --check", " setup": "toolpost config init", " init": "toolpost config init", " set": "toolpost config set KEY VALUE",
	" settings": "toolpost config show", " logs": "toolpost receipts list", " log": "toolpost receipts list", " history": "toolpost receipts list", " receipt": "toolpost receipts list",
	" login": "toolpost mcp login SERVER", " auth": "toolpost keys", " server": "toolpost serve", " start": "toolpost serve", " gateway": "toolpost serve", " proxy": "toolpost serve", " ui": "toolpost console", " web": "toolpost console", " repl": "toolpost chat", " talk": "toolpost chat",
	"config get": "toolpost config show KEY", "config list": "toolpost config show", "config ls": "toolpost config show", "config view": "toolpost config show", "config edit": "toolpost config path", "config rm": "toolpost config unset KEY", "config delete": "toolpost config unset KEY",
	"models ls": "toolpost models list", "models pull": "ollama pull MODEL", "models info": "toolpost models show MODEL", "tools ls": "toolpost tools list", "tools run": "toolpost tools call TOOL", "tools show": "toolpost tools list",
	"mcp ls": "toolpost mcp list", "receipts ls": "toolpost receipts list", "runs ls": "toolpost runs list",
}

// WrongFlag returns the error for a flag that cannot be parsed, with a suggestion if a name is close.
func WrongFlag(cmd *cobra.Command, err error) error {
	word, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
		if m := shorthand.FindStringSubmatch(err.Error()); m != nil {
			return UsageError{fmt.Errorf("unknown flag -%s of %s%s", m[1], cmd.CommandPath(), flagElsewhere(cmd, m[1])), cmd.CommandPath()}
		}
		return UsageError{wrongValue(err), cmd.CommandPath()}
	}
	var names []string
	add := func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	}
	cmd.Flags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	hint := flagElsewhere(cmd, word)
	if hint == "" {
		hint = didYouMean(near.Word("--"+word, names))
	}
	return UsageError{fmt.Errorf("unknown flag --%s of %s%s", word, cmd.CommandPath(), hint), cmd.CommandPath()}
}

// shorthand matches pflag's error for an unknown flag of one letter.
var shorthand = regexp.MustCompile(`^unknown shorthand flag: '(.)' in`)

// flagElsewhere says which flag or command a flag of the program itself was meant for, "" if there is none.
func flagElsewhere(cmd *cobra.Command, word string) string {
	if cmd.HasParent() {
		return ""
	}
	if word == "v" || word == "V" {
		return "; did you mean --version?"
	}
	for _, sub := range cmd.Commands() {
		f := sub.Flags().Lookup(word)
		if len(word) == 1 {
			f = sub.Flags().ShorthandLookup(word)
		}
		if f != nil && sub.Name() == "run" {
			return "; it follows a command, like toolpost run --" + f.Name
		}
	}
	return ""
}

// notOf describes invalid values by the type of the flag.
var notOf = map[string]string{"duration": "is not a duration like 90s or 10m", "int": "is not a whole number", "float64": "is not a number", "bool": "is not true or false"}

// wrongValue rewrites the error of a flag's value in plain words, if the flag's type explains it.
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

// Formerly keeps the old name of a flag for one release. It sets the current flag and prints a note on standard error.
func Formerly(cmd *cobra.Command, flags *pflag.FlagSet, old, today string) {
	flags.AddFlag(&pflag.Flag{Name: old, Hidden: true, Usage: "the old name of --" + today, Value: renamed{flags.Lookup(today).Value, cmd, flags, old, today}})
}

// renamed is the value of a flag under its old name.
type renamed struct {
	pflag.Value
	cmd        *cobra.Command
	flags      *pflag.FlagSet
	old, today string
}

// Set sets the current flag.
func (r renamed) Set(value string) error {
	fmt.Fprintf(r.cmd.ErrOrStderr(), "toolpost: --%s is --%s now; the old name goes with the next release\n", r.old, r.today)
	return r.flags.Set(r.today, value)
}

// AddConfigFlag adds the flag for the configuration file.
func AddConfigFlag(flags *pflag.FlagSet) {
	flags.String("config", "", "`FILE` to use in place of your config.yaml")
}
