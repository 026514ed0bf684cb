package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/internal/near"
)

// DidYouMean returns a question with the name closest to a word, or "" if no name is close.
func DidYouMean(word string, names []string) string {
	if like := near.Names(word, names, 1); len(like) > 0 {
		return "; did you mean " + like[0] + "?"
	}
	return ""
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
	return fmt.Errorf("unknown command %q%s%s", word, where, DidYouMean(word, names))
}

// WrongFlag returns the error for a flag that cannot be parsed, with a suggestion if a name is close.
func WrongFlag(cmd *cobra.Command, err error) error {
	word, unknown := strings.CutPrefix(err.Error(), "unknown flag: --")
	if !unknown {
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
	return UsageError{fmt.Errorf("unknown flag --%s of %s%s", word, cmd.CommandPath(), DidYouMean("--"+word, names)), cmd.CommandPath()}
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
