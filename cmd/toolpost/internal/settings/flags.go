package settings

import (
	"slices"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// attachUsage is the help text of every -f flag.
const attachUsage = "`FILE` to give the model with the task: text, PNG, JPEG, GIF, WebP or PDF; may be repeated"

const mcpUsage = "use this MCP `SERVER`: a name in the configuration, a command or an address, or none; may be repeated. Without it, all of the configuration are used"

// NoPassword refuses an address with a password in a flag. variable is the place for such an address.
func NoPassword(cmd *cobra.Command, flag, address, variable string) error {
	if f := cmd.Flag(flag); f != nil && f.Changed && IsPostgres(address) && HasPassword(address) {
		return cli.Usagef(cmd, "a password on the command line is seen by everybody on this machine; put the address in %s or the password in PGPASSWORD", variable)
	}
	return nil
}

// StoreEnv is the variable for the store of runs.
const StoreEnv = "TOOLPOST_STORE"

// AddTalkFlags adds the flags that continue a run or attach files.
func AddTalkFlags(cmd *cobra.Command, resume *string, goOn *bool, files *[]string) {
	cmd.Flags().StringVar(resume, "resume", "", "go on with this `RUN`, or with latest")
	cmd.Flags().BoolVarP(goOn, "continue", "c", false, "go on with the latest run")
	cmd.Flags().StringArrayVarP(files, "file", "f", nil, attachUsage)
}

// AddJournalFlag adds the flags that locate the records.
func AddJournalFlag(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.String("journal", "", UsageOf("journal"))
	cli.Formerly(cmd, flags, "store", "journal")
	cli.AddConfigFlag(flags)
}

// RecordedAt returns the --journal or --config flag for further commands about a run, as given to this command. It
// follows the id of the run.
func RecordedAt(cmd *cobra.Command) string {
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

// AddFlags adds a flag for each setting that has one.
func AddFlags(cmd *cobra.Command) {
	for _, row := range Table {
		if row.flag != "" {
			row.addFlag(cmd.Flags())
		}
	}
	cmd.Flags().Bool("no-journal", false, "leave no record: the run cannot be shown, verified or resumed, and no call can wait for a person")
	cmd.Flags().StringArray("mcp", nil, mcpUsage)
	cli.AddConfigFlag(cmd.Flags())
}

// UsageOf returns the usage of the flag of a setting.
func UsageOf(key string) string {
	return Table[slices.IndexFunc(Table, func(row Setting) bool { return row.Key == key })].flag
}
