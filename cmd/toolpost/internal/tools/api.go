package tools

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/tool/openapi"
)

// printLosses prints what the operations of a document lose as tools.
func printLosses(cmd *cobra.Command, file string) error {
	if file == "" || file == "-" {
		return cli.Usagef(cmd, "--losses is for an OpenAPI document: name it with --tools")
	}
	text, err := cli.ReadBounded(file)
	if err != nil {
		return err
	}
	if !toolfile.IsAPI([]byte(text)) {
		return cli.Usagef(cmd, "--losses is for an OpenAPI document, and %s is none", file)
	}
	a, err := toolfile.ReadAPI(file, []byte(text))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if asJSON, _ := cmd.Flags().GetBool("json"); asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), append([]openapi.Loss{}, a.Losses...))
	}
	for _, l := range a.Losses {
		if _, err := fmt.Fprintln(cmd.OutOrStdout(), cli.Printable(cli.InOneLine(l.String()))); err != nil {
			return err
		}
	}
	_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s as tools, %s\n", cli.Count(len(a.Tools), "operation"), cli.CountAs(len(a.Losses), "loss", "losses"))
	return err
}
