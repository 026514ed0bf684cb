package program

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/chat"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/completion"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/config"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/consolecmd"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/demo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/doctor"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/evaluate"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/keys"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/manual"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcp"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/models"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/receipts"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/replay"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/run"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/runs"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/serve"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/simulator"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/text"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/tools"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/upgrade"
)

// BeforeCommand is called before each command. Tests record the commands that run.
var BeforeCommand func(*cobra.Command, []string)

func New() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "toolpost",
		Short: "Any model, any tool, a call you can trust",
		Long: `Toolpost gives any language model tools: it knows what every model can do, reads the
calls that models write in any dialect, repairs what is safe to repair, validates,
authorises and runs them, and leaves a record that verifies.

Output is for people; --json makes it one JSON document, --batch reads JSON lines
and answers each with one line, in order, with errors in the row.

Exit codes: 0 done; 1 the thing asked for failed; 2 wrong use; 3 a run waits for a person;
4 with --strict, an answer from memory; 5 a tool kept failing and nobody was there to decide;
130 interrupted by Ctrl-C, 143 by SIGTERM; 'serve' ends with 0 on both.

Colour appears on a terminal only; NO_COLOR turns it off.`,
		Example: `  toolpost run 'Search for "checkpoint" and read the file it shows'
  toolpost doctor
  toolpost models show claude-sonnet-4-5
  toolpost version --json`,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,

		PersistentPreRun: BeforeCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(cmd.OutOrStdout())
			}
			_, err := io.WriteString(cmd.OutOrStdout(), overview)
			return err
		},
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.SetFlagErrorFunc(cli.WrongFlag)
	cli.AddHelp(root)
	root.AddCommand(newVersion())
	root.AddCommand(text.NewParse())
	root.AddCommand(text.NewExplain())
	root.AddCommand(text.NewValidate(), text.NewSchema())
	root.AddCommand(text.NewRepair())
	root.AddCommand(models.New(evaluate.NewDrift(evaluationHost())))
	root.AddCommand(tools.New(), mcp.New())
	root.AddCommand(simulator.New(), serve.New(), serve.NewLaunch(), keys.New(), keys.NewUsage())
	root.AddCommand(receipts.New(), evaluate.New(evaluationHost()))
	root.AddCommand(run.New(), chat.New(), replay.New(), runs.New(), consolecmd.New())
	root.AddCommand(config.New(), doctor.New(), demo.New(), manual.New(), upgrade.New())
	cli.WrapArgs(root)
	completion.Add(root)
	return root
}

// overview is the output of the program without arguments.
const overview = `Toolpost: any model, any tool, a call you can trust.

  toolpost demo         see in one minute what it does, offline
  toolpost run 'TASK'   do a task with tools, on any model
  toolpost chat         talk to a model that has tools
  toolpost serve        serve the vendors' APIs to any client, over any model
  toolpost doctor       see what is found here, and what is missing

Read text     parse, explain, repair, validate, schema
Models        models, eval, sim
Tools         tools, mcp
Records       receipts, replay, runs, console
Gateway       launch, keys, usage
Settings      config, completion, man, version, upgrade

'toolpost COMMAND --help' shows examples; 'toolpost help' lists all commands.
`

func newVersion() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the version and how this program was built",
		Example: "  toolpost version\n  toolpost version --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), buildinfo.Read())
			}
			return printVersion(cmd.OutOrStdout())
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

func printVersion(w io.Writer) error {
	b := buildinfo.Read()
	_, err := fmt.Fprintf(w, "toolpost %s%s %s %s\n", b.Version, revision(b), b.Go, b.Platform)
	return err
}

func revision(b buildinfo.Info) string {
	if b.Revision == "" {
		return ""
	}
	s := " (" + b.Revision[:min(12, len(b.Revision))]
	if b.Modified {
		s += ", modified"
	}
	return s + ")"
}
