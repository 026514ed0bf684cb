package tools

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/tool"
)

// enhanced is a definition in the output of enhance, in a form that --tools reads.
type enhanced struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Parameters  any    `json:"parameters,omitempty"`
}

func newToolsEnhance() *cobra.Command {
	return &cobra.Command{
		Use:   "enhance FILE",
		Short: "Add facts of the schemas to descriptions",
		Long: `Print the definitions of a file with descriptions that also state what their schemas say:
bounds, formats and defaults of parameters. It helps models that see little of a schema.
No fact is invented, and a second time adds nothing. Standard error lists what was added.`,
		Example: "  toolpost tools enhance tools.json > better.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			defs, err := toolset.ReadDefinitions(cmd, args[0])
			if err != nil {
				return err
			}
			out := make([]enhanced, len(defs))
			for i, d := range defs {
				better, added := tool.Enhance(d.ToolDef, 0)
				out[i] = enhanced{better.Name, better.Description, better.Schema}
				for _, sentence := range added {
					fmt.Fprintf(cmd.ErrOrStderr(), "%s: %s\n", cli.InOneLine(d.Name), cli.InOneLine(sentence))
				}
			}
			return cli.PrintJSON(cmd.OutOrStdout(), out)
		},
	}
}
