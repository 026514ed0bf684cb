package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/schema"
)

// schemaRow is a row of schema --batch.
type schemaRow struct {
	ID     json.RawMessage `json:"id"`
	Vendor schema.Vendor   `json:"vendor"`
	Strict bool            `json:"strict"`
	Schema json.RawMessage `json:"schema"`
}

// narrowed is the answer to a schemaRow.
type narrowed struct {
	ID      json.RawMessage `json:"id,omitempty"`
	Schema  json.RawMessage `json:"schema"`
	Losses  []schema.Loss   `json:"losses"`
	Strict  bool            `json:"strict"`
	Wrapped string          `json:"wrapped,omitempty"` // the property that wraps a value other than an object
}

func NewSchema() *cobra.Command {
	var (
		batched, asJSON, strict bool
		vendor                  string
	)
	cmd := &cobra.Command{
		Use:   "schema --vendor VENDOR [FILE]",
		Short: "Rewrite a JSON Schema for a vendor, and list the losses",
		Long: `Rewrite a JSON Schema (a file or standard input) into the subset a vendor accepts:
openai, anthropic, gemini or ollama. The schema goes to standard output, what the
vendor will not enforce to standard error. --strict does what the vendor's strict
mode demands, or says why it cannot be right.

With --batch, each line of the input is {"id","vendor","strict","schema"} and each
line of the output {"id","schema","losses":[{"path","keyword","why"}],"strict"}.`,
		Example: `  toolpost schema --vendor gemini weather.schema.json
  toolpost schema --vendor openai --strict --json weather.schema.json
  echo '{"id":1,"vendor":"openai","strict":true,"schema":{"type":"object"}}' | toolpost schema --batch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case batched && (len(args) > 0 || vendor != "" || strict):
				return cli.Usagef(cmd, "--batch reads vendors and schemas from the input; leave out the rest")
			case batched:
				return cli.Batch(cmd, narrow)
			case vendor == "":
				return cli.Usagef(cmd, "--vendor or --batch is needed; vendors are %v", schema.Vendors())
			case !slices.Contains(schema.Vendors(), schema.Vendor(vendor)):
				return cli.Usagef(cmd, "--vendor: no vendor is called %q; there are %v", vendor, schema.Vendors())
			}
			text, err := cli.ReadInput(cmd, args)
			if err != nil {
				return err
			}
			n, err := narrow(schemaRow{Vendor: schema.Vendor(vendor), Strict: strict, Schema: json.RawMessage(text)})
			if err != nil {
				return err
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), n)
			}
			return n.print(cmd)
		},
	}
	cmd.Flags().StringVar(&vendor, "vendor", "", "openai, anthropic, gemini or ollama")
	cmd.Flags().BoolVar(&strict, "strict", false, "for the vendor's strict mode")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object, losses included")
	cmd.Flags().BoolVar(&batched, "batch", false, "read JSON lines and answer each with one line")
	return cmd
}

func narrow(row schemaRow) (narrowed, error) {
	if len(row.Schema) == 0 {
		return narrowed{}, errors.New(`the row has no "schema"`)
	}
	n, err := schema.Narrow(row.Schema, row.Vendor, row.Strict)
	if err != nil {
		return narrowed{}, err
	}
	if n.Losses == nil {
		n.Losses = []schema.Loss{}
	}
	return narrowed{row.ID, n.Schema, n.Losses, n.Strict, n.Wrapped}, nil
}

// print writes the schema to standard output and the losses to standard error.
func (n narrowed) print(cmd *cobra.Command) error {
	if err := cli.PrintJSON(cmd.OutOrStdout(), n.Schema); err != nil {
		return err
	}
	notes := cmd.ErrOrStderr()
	for _, l := range n.Losses {
		fmt.Fprintf(notes, "%s %s: %s\n", cli.Colours(notes).Yellow(rootOr(l.Path)), l.Keyword, l.Why)
	}
	return nil
}

// rootOr returns a JSON pointer for people. The empty pointer is shown as "/".
func rootOr(path string) string {
	if path == "" {
		return "/"
	}
	return path
}
