package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/schema"
)

// validateRow is a row of validate --batch.
type validateRow struct {
	ID       json.RawMessage `json:"id"`
	Schema   json.RawMessage `json:"schema"`
	Instance json.RawMessage `json:"instance"`
}

// validity is the answer to a validateRow.
type validity struct {
	ID     json.RawMessage `json:"id,omitempty"`
	Valid  bool            `json:"valid"`
	Errors []schema.Fault  `json:"errors"`
}

func NewValidate() *cobra.Command {
	var (
		batched, asJSON bool
		schemaFile      string
		remotes         []string
		formats         bool
	)
	cmd := &cobra.Command{
		Use:   "validate --schema FILE [INSTANCE]",
		Short: "Check JSON against a JSON Schema, one error per fault",
		Long: `Check a JSON file (or standard input) against a JSON Schema. Each fault is one
line: where, what was expected, what came, in words a model can act on.

A schema without $schema is draft 2020-12. References are read from the schema,
the embedded meta-schemas and the directories given by --remotes; nothing is
fetched. "format" is a note, not a constraint, unless --formats is given.

With --batch, each line of the input is {"id","schema","instance"} and each line
of the output {"id","valid","errors":[{"path","message",…}]}.`,
		Example: `  toolpost validate --schema order.schema.json order.json
  echo '{"id":1,"schema":{"type":"integer"},"instance":"3"}' | toolpost validate --batch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			load, err := remoteLoader(cmd, remotes)
			if err != nil {
				return err
			}
			compiler := schema.Compiler{Load: load, AssertFormat: formats}
			if batched {
				if schemaFile != "" || len(args) > 0 {
					return cli.Usagef(cmd, "--batch reads schemas and instances from the input; leave out --schema and INSTANCE")
				}
				return cli.Batch(cmd, validator(compiler))
			}
			if schemaFile == "" {
				return cli.Usagef(cmd, "--schema FILE or --batch is needed")
			}
			return validateFile(cmd, compiler, schemaFile, args, asJSON)
		},
	}
	cmd.Flags().StringVar(&schemaFile, "schema", "", "the schema `file`")
	cmd.Flags().StringArrayVar(&remotes, "remotes", nil, "read references under a URL from a directory, `URL=DIR`; may be repeated")
	cmd.Flags().BoolVar(&formats, "formats", false, `make "format" a constraint`)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&batched, "batch", false, "read JSON lines and answer each with one line")
	return cmd
}

// validator returns a function that validates rows. It caches the last schema, because batches are usually sorted by
// schema.
func validator(compiler schema.Compiler) func(validateRow) (validity, error) {
	var last string
	var compiled *schema.Compiled
	return func(row validateRow) (validity, error) {
		if len(row.Schema) == 0 {
			return validity{}, errors.New(`the row has no "schema"`)
		}
		if len(row.Instance) == 0 {
			return validity{}, errors.New(`the row has no "instance"`)
		}
		if compiled == nil || string(row.Schema) != last {
			var err error
			if compiled, err = compiler.Compile(row.Schema); err != nil {
				return validity{}, err
			}
			last = string(row.Schema)
		}
		return judge(compiled, row.ID, row.Instance), nil
	}
}

func judge(c *schema.Compiled, id, instance json.RawMessage) validity {
	faults := c.Validate(instance)
	if faults == nil {
		faults = []schema.Fault{}
	}
	return validity{ID: id, Valid: len(faults) == 0, Errors: faults}
}

func validateFile(cmd *cobra.Command, compiler schema.Compiler, schemaFile string, args []string, asJSON bool) error {
	text, err := cli.ReadBounded(schemaFile)
	if err != nil {
		return err
	}
	compiled, err := compiler.Compile(schema.Schema(text))
	if err != nil {
		return fmt.Errorf("%s: %w", schemaFile, err)
	}
	instance, err := cli.ReadInput(cmd, args)
	if err != nil {
		return err
	}
	v := judge(compiled, nil, json.RawMessage(instance))
	out := cmd.OutOrStdout()
	switch {
	case asJSON:
		err = cli.PrintJSON(out, v)
	case v.Valid:
		_, err = fmt.Fprintln(out, cli.Colours(out).Green("valid"))
	default:
		for _, f := range v.Errors {
			fmt.Fprintf(out, "%s  %s\n", cli.Colours(out).Red(rootOr(f.Path)), f.Message)
		}
	}
	if err == nil && !v.Valid {
		err = cli.ErrReported
	}
	return err
}

// remoteLoader returns a function that loads references from directories, or nil if there are none.
func remoteLoader(cmd *cobra.Command, remotes []string) (func(string) (schema.Schema, error), error) {
	if len(remotes) == 0 {
		return nil, nil
	}
	type remote struct {
		url  string
		root *os.Root
	}
	var dirs []remote
	for _, r := range remotes {
		url, dir, ok := strings.Cut(r, "=")
		if !ok || url == "" || dir == "" {
			return nil, cli.Usagef(cmd, "--remotes wants URL=DIR, not %q", r)
		}
		root, err := os.OpenRoot(dir) // files outside the directory cannot be read
		if err != nil {
			return nil, fmt.Errorf("--remotes %s: %w", r, err)
		}
		dirs = append(dirs, remote{strings.TrimSuffix(url, "/") + "/", root})
	}
	return func(url string) (schema.Schema, error) {
		for _, d := range dirs {
			if rest, ok := strings.CutPrefix(url, d.url); ok {
				return d.root.ReadFile(path.Clean(rest))
			}
		}
		return nil, errors.New("it is under none of the --remotes, and nothing is fetched")
	}, nil
}
