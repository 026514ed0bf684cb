package text

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// repairRow is a line of repair --batch.
type repairRow struct {
	ID     json.RawMessage `json:"id"`
	Text   *string         `json:"text"`
	Schema json.RawMessage `json:"schema"`
}

// repaired is the answer to a repairRow.
type repaired struct {
	ID json.RawMessage `json:"id,omitempty"`
	// OK means that Value is a JSON value and matches the schema, if there was one.
	OK    bool            `json:"ok"`
	Value json.RawMessage `json:"value"`
	// Class is the most doubtful class among the edits.
	Class llm.RepairClass `json:"class"`
	Edits []llm.Repair    `json:"edits"`
	// DuplicateKeys are JSON pointers of duplicate keys in objects.
	DuplicateKeys []string       `json:"duplicate_keys,omitempty"`
	Error         string         `json:"error,omitempty"`
	Faults        []schema.Fault `json:"faults,omitempty"`
}

func NewRepair() *cobra.Command {
	var asJSON, batched bool
	var schemaFile string
	cmd := &cobra.Command{
		Use:   "repair [FILE|-]",
		Short: "Make broken JSON parse, and list the edits",
		Long: `Read JSON as language models write it (a file, or standard input) and print it as
valid JSON. Each edit is one line on standard error: its rule, its class and what it
replaced. Numbers stay exact, and the inside of strings is left alone.

  syntax      another spelling of the same value: a trailing comma, single quotes
  coercion    another type for the same value, as the schema demands
  completion  a closing bracket was missing at the end
  guess       other readings are possible
  truncated   the text was cut off

With --schema, the schema decides between possible readings: the first that fits is
printed, with values of the types it demands if need be, and it is a failure if none does.

With --batch, each line of the input is {"id","text","schema"?} and each line of the
output {"id","ok","value","class","edits":[{"rule","class","start","end"}]}.`,
		Example: `  echo "{'city': 'Rome',}" | toolpost repair
  toolpost repair --schema order.schema.json answer.txt
  echo '{"id":1,"text":"[1,2,"}' | toolpost repair --batch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if batched {
				if schemaFile != "" || len(args) > 0 {
					return cli.Usagef(cmd, "--batch reads texts and schemas from the input; leave out --schema and FILE")
				}
				return cli.Batch(cmd, repairer())
			}
			return repairFile(cmd, args, schemaFile, asJSON)
		},
	}
	cmd.Flags().StringVar(&schemaFile, "schema", "", "choose the reading that fits this schema `file`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&batched, "batch", false, "read JSON lines and answer each with one line")
	return cmd
}

// repairer returns a function that repairs rows and caches the last schema.
func repairer() func(repairRow) (repaired, error) {
	var last string
	var compiled *schema.Compiled
	return func(row repairRow) (repaired, error) {
		if row.Text == nil {
			return repaired{}, errors.New(`the row has no "text"`)
		}
		if len(row.Schema) == 0 || string(row.Schema) == "null" {
			return repair(row.ID, *row.Text, nil), nil
		}
		if compiled == nil || string(row.Schema) != last {
			var err error
			if compiled, err = schema.Compile(row.Schema); err != nil {
				return repaired{}, err
			}
			last = string(row.Schema)
		}
		return repair(row.ID, *row.Text, compiled), nil
	}
}

// repair parses text. A schema, if there is one, decides between possible readings.
func repair(id json.RawMessage, text string, fits *schema.Compiled) repaired {
	out := repaired{ID: id, Edits: []llm.Repair{}, Value: json.RawMessage("null")}
	value, edits, err := jsonfix.Fix(text)
	if err != nil {
		out.Error = err.Error()
		return out
	}
	best := jsonfix.Reading{Value: value, Edits: edits}
	if fits != nil {
		if best, out.Faults = choose(best, text, fits); len(out.Faults) > 0 {
			out.Error = "no reading of the text fits the schema"
		}
	}
	out.OK = len(out.Faults) == 0
	out.Value, out.Class = best.Value, best.Class()
	out.Edits = append(out.Edits, best.Edits...)
	out.DuplicateKeys = jsonfix.DuplicateKeys(best.Value)
	return out
}

// choose returns the first reading that matches the schema, unchanged or else with its values converted to the types of
// the schema. If none matches, it returns the first reading and its faults.
func choose(first jsonfix.Reading, text string, fits *schema.Compiled) (jsonfix.Reading, []schema.Fault) {
	faults := fits.Validate(first.Value)
	if len(faults) == 0 {
		return first, nil
	}
	readings := slices.Collect(jsonfix.Readings(text))
	for _, rd := range readings {
		if len(fits.Validate(rd.Value)) == 0 {
			return rd, nil
		}
	}
	for _, rd := range readings {
		checked := fits.Check(rd.Value)
		if !checked.Valid() {
			continue
		}
		edits := slices.Clone(rd.Edits)
		for _, c := range checked.Changes {
			edits = append(edits, llm.Repair{Rule: string(c.Rule), Class: llm.Coercion})
		}
		return jsonfix.Reading{Value: checked.Args, Edits: edits}, nil
	}
	return first, faults
}

func repairFile(cmd *cobra.Command, args []string, schemaFile string, asJSON bool) error {
	var fits *schema.Compiled
	if schemaFile != "" {
		text, err := cli.ReadBounded(schemaFile)
		if err != nil {
			return err
		}
		if fits, err = schema.Compile(schema.Schema(text)); err != nil {
			return fmt.Errorf("%s: %w", schemaFile, err)
		}
	}
	text, err := cli.ReadInput(cmd, args)
	if err != nil {
		return err
	}
	out := repair(nil, text, fits)
	if asJSON {
		err = cli.PrintJSON(cmd.OutOrStdout(), out)
	} else {
		err = printRepaired(cmd, text, out)
	}
	if err == nil && !out.OK {
		err = cli.ErrReported
	}
	return err
}

// printRepaired writes the value to standard output and the edits to standard error.
func printRepaired(cmd *cobra.Command, text string, out repaired) error {
	notes := cmd.ErrOrStderr()
	colour := cli.Colours(notes)
	for _, e := range out.Edits {
		class := fmt.Sprintf("%-10s", e.Class)
		if e.Class > llm.Coercion {
			class = colour.Yellow(class)
		}
		fmt.Fprintf(notes, "%s %-20s byte %d%s\n", class, e.Rule, e.Start, excerpt(text, e))
	}
	for _, key := range out.DuplicateKeys {
		fmt.Fprintf(notes, "%-10s %-20s %s\n", "note", "duplicate-key", key)
	}
	for _, f := range out.Faults {
		fmt.Fprintf(notes, "%s %s\n", colour.Red(f.Path), f.Message)
	}
	if out.Error != "" {
		fmt.Fprintf(notes, "toolpost: %s\n", out.Error)
	}
	if !out.OK {
		return nil
	}
	_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s\n", out.Value)
	return err
}

// excerpt shows the text that an edit replaced.
func excerpt(text string, e llm.Repair) string {
	if e.Start < 0 || e.Start >= e.End || e.End > len(text) {
		return ""
	}
	if e.End-e.Start > 40 {
		return fmt.Sprintf("  %.40q… (%d bytes)", text[e.Start:e.End], e.End-e.Start)
	}
	return fmt.Sprintf("  %q", text[e.Start:e.End])
}
