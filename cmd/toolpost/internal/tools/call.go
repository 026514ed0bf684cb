package tools

import (
	"encoding/json"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/llm"
)

func newToolsCall() *cobra.Command {
	var root string
	var files, classes []string
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "call NAME [ARGUMENTS|-]",
		Short: "Validate and run one call of a tool, without a model",
		Long: `Run a built-in tool, or one of the files that --tools names, as a model's call would be
run: arguments are given the types the schema demands and validated, a policy decides, the
tool runs under a timeout, and what a model would see is printed. ARGUMENTS is a JSON
object; - reads it from standard input.

The file tools see --root and nothing outside it. Built-in tools that write, run programs
or reach the network are refused unless --allow names their class; tools of a file that
do not promise to only read need --yes, which allows any tool.`,
		Example: `  toolpost tools call list_files
  toolpost tools call read_file '{"path":"README.md"}'
  toolpost tools call --tools tools.yaml get_weather '{"city":"Rome"}'
  toolpost tools call run_command '{"program":"go","args":["version"]}' --allow exec`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settings.CheckAllow(classes); err != nil {
				return cli.Usagef(cmd, "--allow: %w", err)
			}
			call := llm.Call{Name: args[0]}
			if len(args) == 2 {
				call.Args = json.RawMessage(args[1])
			}
			if len(args) == 2 && args[1] == "-" {
				text, err := cli.ReadAll(cli.StandardInput(cmd), "standard input")
				if err != nil {
					return err
				}
				call.Args = json.RawMessage(text)
			}
			s := &settings.Settings{ToolOptions: *toolset.All(root, files...)}
			set, done, err := toolset.Open(&s.ToolOptions)
			if err != nil {
				return err
			}
			defer done()
			cli.MustEnd(cmd.Context())
			o, err := toolset.Call(cmd.Context(), set, call, s.Secrets(), yes || slices.Contains(classes, settings.ClassOf(call.Name)))
			if err != nil {
				return err
			}
			return toolset.PrintOutcome(cmd, o, asJSON, toolset.AsText(cmd))
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", settings.UsageOf("root"))
	cli.Formerly(cmd, cmd.Flags(), "dir", "root")
	cmd.Flags().StringSliceVar(&files, "tools", nil, "`FILE` of tools that can be called, too; may be repeated")
	cmd.Flags().StringSliceVar(&classes, "allow", nil, settings.UsageOf("allow"))
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "allow any tool")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print result, receipt and error as one JSON object")
	return cmd
}
