package settings

import (
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// attachUsage is the help text of every -f flag.
const attachUsage = "`FILE` to give the model with the task: text, PNG, JPEG, GIF, WebP or PDF; may be repeated"

// The help texts of the --allow and --root flags.
const (
	AllowUsage = "let tools do more than read: write, exec, net"
	RootUsage  = "the `FOLDER` that tools may see"
)

const ConfigUsage = "`FILE` to use in place of your config.yaml"

const lanesUsage = "who runs a tool that several could run: `LANE` or TOOL=LANE, where LANE is auto, native (the vendor), mcp, local or never; may be repeated"

const mcpUsage = "use this MCP `SERVER`: a name in the configuration, a command or an address, or none; may be repeated. Without it, all of the configuration are used"

// PasswordShown is the error for an address with a password in a flag.
const PasswordShown = "a password on the command line is seen by everybody on this machine; put the address in TOOLPOST_STORE or the password in PGPASSWORD"

// AddTalkFlags adds the flags that continue a run or attach files.
func AddTalkFlags(cmd *cobra.Command, resume *string, goOn *bool, files *[]string) {
	cmd.Flags().StringVar(resume, "resume", "", "go on with this `RUN`, or with latest")
	cmd.Flags().BoolVarP(goOn, "continue", "c", false, "go on with the latest run")
	cmd.Flags().StringArrayVarP(files, "file", "f", nil, attachUsage)
}

// JournalUsage is the help text of every --journal flag.
const JournalUsage = "where runs are recorded: a `FOLDER`, sqlite:FILE or postgres://…"

// AddJournalFlag adds the flags that locate the records.
func AddJournalFlag(cmd *cobra.Command, flags *pflag.FlagSet) {
	flags.String("journal", "", JournalUsage)
	cli.Formerly(cmd, flags, "store", "journal")
	flags.String("config", "", "`FILE` to read in place of your config.yaml")
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

// AddFlags adds a flag for each setting.
func AddFlags(cmd *cobra.Command) {
	f := cmd.Flags()
	f.StringP("model", "m", "", "the `MODEL` to ask, like ollama/qwen3:8b; found by itself if not given")
	f.String("root", ".", RootUsage)
	f.StringSlice("allow", nil, AllowUsage)
	f.Bool("sandbox", false, "keep the programs that tools run to the folder of --root (Linux)")
	f.StringSlice("tools", nil, "`FILE` that describes more tools, or gives built-in ones other words")
	f.StringSlice("lanes", nil, lanesUsage)
	f.String("system", "", "what the model is told before the task")
	f.Int("max-turns", DefaultTurns, "how many turns with tools there may be")
	f.Int("max-tokens", 0, "how many tokens one answer of the model may have; its own default if not given")
	f.Int("tool-tokens", 0, "how many tokens the definitions of the tools may have; an eighth of the model's context, 4000 to 16000, if not given")
	f.String("results", "detailed", "how much of the tools' results the model is shown: detailed, concise or minimal; it can ask for the rest")
	f.String("budget-usd", "", "what the models of a run, or of a whole chat, may cost, in US `DOLLARS`; no bound if not given")
	f.Duration("timeout", 0, "how long a run, or a turn of chat, may take, like `10m`; no bound if not given")
	f.Float64("temperature", 0, "how freely the model chooses words, 0 to 2; its own default if not given")
	f.String("journal", "", JournalUsage)
	f.StringArray("mcp", nil, mcpUsage)
	f.String("config", "", "`FILE` to read in place of your config.yaml")
}
