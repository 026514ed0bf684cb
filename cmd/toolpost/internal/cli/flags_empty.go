package cli

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// NoEmptyFlags makes a command and its subcommands refuse flags with an empty value, which an unset shell variable
// leaves. An empty value means the same as no flag: --keys "$UNSET" would serve without keys. The flags in may can be
// empty.
func NoEmptyFlags(cmd *cobra.Command, may ...string) {
	if run := cmd.RunE; run != nil {
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			if name := emptyFlag(cmd.Flags(), may); name != "" {
				return Usagef(cmd, "--%s is empty: a variable that is not set leaves it so; give it a value, or leave it out", name)
			}
			return run(cmd, args)
		}
	}
	for _, sub := range cmd.Commands() {
		NoEmptyFlags(sub, may...)
	}
}

// emptyFlag returns the name of a flag that is given and empty, "" if there is none.
func emptyFlag(flags *pflag.FlagSet, may []string) (name string) {
	flags.Visit(func(f *pflag.Flag) {
		if slices.Contains(may, f.Name) {
			return
		}
		if list, ok := f.Value.(pflag.SliceValue); ok && len(list.GetSlice()) == 0 || !ok && f.Value.Type() == "string" && f.Value.String() == "" {
			name = f.Name
		}
	})
	return name
}
