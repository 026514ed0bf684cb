// Package serveimport converts configurations of the LiteLLM proxy to configurations of a gateway.
package serveimport

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/configcheck"
)

// maxFile limits the size of a configuration.
const maxFile = 1 << 20

// New returns the command 'serve import'. check returns the mistakes that 'serve --check' finds in a file.
func New(check func(file string) ([]configcheck.Mistake, error)) *cobra.Command {
	return &cobra.Command{
		Use:   "import FILE",
		Short: "Make a configuration from that of LiteLLM's proxy",
		Long: `Read the config.yaml of LiteLLM's proxy and print the configuration of a gateway that
does the same. What cannot be taken over is reported on standard error, each with its line.
No key is copied: vendors' keys are read from their environment variables.`,
		Example: "  toolpost serve import litellm/config.yaml > gateway.yaml",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := cli.ReadFile(args[0], maxFile)
			if err != nil {
				return err
			}
			in, err := read(text)
			if err == nil {
				err = in.settle(check)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			for _, n := range in.notes {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s:%d: %s\n", args[0], n.line, n.text)
			}
			fmt.Fprintln(cmd.ErrOrStderr(), in.summary())
			_, err = io.WriteString(cmd.OutOrStdout(), in.write())
			return err
		},
	}
}

// IsSection reports whether a key is a top section of a LiteLLM configuration.
func IsSection(key string) bool {
	return slices.Contains([]string{"model_list", "litellm_settings", "general_settings", "router_settings"}, key)
}
