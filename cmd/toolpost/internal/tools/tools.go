// Package tools holds the commands that list, audit, select, add and call tools.
package tools

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/view"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

func New() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List, audit, select, call and add tools",
		Long: `Look at tools the way a model does: those that come with Toolpost, or those in a file.

A file of tools holds one JSON array, one object with the array under "tools", or one
object per line. Definitions of OpenAI, Anthropic and MCP are understood: the schema
stands under "parameters", "input_schema" or "inputSchema". Tools of your own, which
a program or a server does, stand in YAML: add writes them, call tries them. Of an
OpenAPI 3 document each operation is a tool.`,
		Example: `  toolpost tools list
  toolpost tools audit --tools tools.json
  toolpost tools select "look for a word in my files"
  toolpost tools call list_files`,
	}
	cmd.AddCommand(newToolsList(), newToolsAudit(), newToolsSelect(), newToolsCall(), newToolsAdd(), newToolsEnhance())
	return cmd
}

// Listed is a tool in the output of list --json.
type Listed struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
	Tokens      int             `json:"tokens"`
}

func newToolsList() *cobra.Command {
	var file string
	var asJSON, losses bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List tools and what their definitions cost",
		Example: "  toolpost tools list\n  toolpost tools list --tools tools.json --json\n  toolpost tools list --tools openapi.yaml --losses",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if losses {
				return printLosses(cmd, file)
			}
			defs, err := toolset.ReadDefinitions(cmd, file)
			if err != nil {
				return err
			}
			rows := make([]Listed, len(defs))
			total := 0
			for i, d := range defs {
				rows[i] = Listed{d.Name, d.Description, d.Schema, llm.EstimateTool(d.ToolDef)}
				total += rows[i].Tokens
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), rows)
			}
			w := tabwriter.NewWriter(cmd.OutOrStdout(), 0, 0, 2, ' ', 0)
			for _, r := range rows {
				fmt.Fprintf(w, "%s\t%d\t%s\n", r.Name, r.Tokens, cli.FirstLine(r.Description, 80))
			}
			fmt.Fprintf(w, "%s\t%d\ttokens in every request, estimated\n", cli.Count(len(rows), "tool"), total)
			return w.Flush()
		},
	}
	cmd.Flags().StringVar(&file, "tools", "", "read tools from this `file` (- is standard input) instead of the built-in ones")
	cmd.Flags().BoolVar(&losses, "losses", false, "of an OpenAPI document, list what its operations lose as tools")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func newToolsAudit() *cobra.Command {
	var file, server string
	var asJSON bool
	var least float64
	cmd := &cobra.Command{
		Use:   "audit",
		Short: "Find what a model or a vendor may stumble over in definitions",
		Long: `Read definitions the way a model does that knows nothing else. The score is the share
of five questions that are answered: is there an example, what happens at the edges,
what does input look like, when is it the wrong tool, is each parameter unmistakable.
The schema counts as well as the words. "By keywords" is the score of a checker that
looks for words like "example" in the description. Findings also name words that say
nothing, parameters without a description or bounds, names that some vendor refuses,
tools that a model will confuse, text that tries to instruct the model, and constraints
that some vendor does not enforce.

It is a failure if a score is below --min.`,
		Example: "  toolpost tools audit\n  toolpost tools audit --tools tools.json --min 0.8 --json\n  toolpost tools audit --mcp files",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !(least >= 0 && least <= 1) { // also refuses NaN
				return cli.Usagef(cmd, "--min is %g; it can be 0 to 1", least)
			}
			audited, err := auditedTools(cmd, file, server)
			if err != nil {
				return err
			}
			reports := tool.Audit(audited)
			if asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), reports)
			} else {
				err = printAudit(cmd, reports)
			}
			for _, r := range reports {
				if err == nil && r.Score < least {
					return fmt.Errorf("%s has a score of %.1f, and --min is %g", r.Tool, r.Score, least)
				}
				if err == nil && least > 0 && slices.ContainsFunc(r.Findings, func(f tool.Finding) bool { return f.Rule == "broken-schema" }) {
					return fmt.Errorf("%s has a schema that cannot be used, which passes no --min", r.Tool)
				}
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "tools", "", "read tools from this `file` (- is standard input) instead of the built-in ones")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().Float64Var(&least, "min", 0, "fail if a `score` is below this")
	cmd.Flags().StringVar(&server, "mcp", "", "start this MCP `SERVER` and read its tools: a name in the configuration, a command or an address")
	cli.AddConfigFlag(cmd.Flags())
	return cmd
}

// auditedTools returns the definitions of a file or of an MCP server, or the built-in ones.
func auditedTools(cmd *cobra.Command, file, server string) ([]llm.ToolDef, error) {
	if server == "" {
		defs, err := toolset.ReadDefinitions(cmd, file)
		return toolfile.PlainDefs(defs), err
	}
	if file != "" {
		return nil, cli.Usagef(cmd, "--tools and --mcp do not go together")
	}
	s, servers, name, err := mcpservers.OpenOne(cmd, server)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	if err := servers.Connect(cmd.Context(), name); err != nil {
		return nil, s.RedactError(err)
	}
	listed, _ := servers.Definitions(name)
	if len(listed) == 0 {
		return nil, fmt.Errorf("MCP server %s has no tools", name)
	}
	var out []llm.ToolDef
	for _, d := range listed {
		out = append(out, llm.ToolDef{Name: s.Redact(d.Name), Description: s.Redact(d.Description), Schema: d.Input})
	}
	return out, nil
}

func printAudit(cmd *cobra.Command, reports []tool.AuditReport) error {
	p := cli.Colours(cmd.OutOrStdout())
	out := bufio.NewWriter(cmd.OutOrStdout())
	sum := 0.0
	for _, r := range reports {
		sum += r.Score
		fmt.Fprintf(out, "%s %.1f, by keywords %.1f, about %d tokens%s\n", p.Bold(cli.Printable(r.Tool)), r.Score, r.Keywords, r.Tokens, costs(r.Vendors))
		for _, f := range r.Findings {
			where := ""
			if f.Parameter != "" {
				where = f.Parameter + ": "
			}
			fmt.Fprintf(out, "  %s %s%s\n    %s\n", p.Yellow(f.Rule), cli.Printable(where), cli.Printable(f.Problem), p.Dim(cli.Printable(f.Fix)))
		}
	}
	fmt.Fprintf(out, "%s, %.2f on average\n", cli.Count(len(reports), "tool"), sum/float64(len(reports)))
	return out.Flush()
}

// costs lists the tokens of a definition in each vendor's form.
func costs(vendors map[string]int) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(vendors)) {
		out = append(out, fmt.Sprintf("%s %d", name, vendors[name]))
	}
	return view.After(strings.Join(out, ", "), len(out) > 0)
}

// selectRow is a line of select --batch.
type selectRow struct {
	ID    json.RawMessage `json:"id"`
	Query *string         `json:"query"`
	K     int             `json:"k"`
}

// selected is the answer to a selectRow.
type selected struct {
	ID    json.RawMessage `json:"id,omitempty"`
	Tools []string        `json:"tools"`
}

// defaultSelection is the default number of tools that select names.
const defaultSelection = 10

func newToolsSelect() *cobra.Command {
	var file string
	var asJSON, batched bool
	var k int
	cmd := &cobra.Command{
		Use:   "select [QUERY]",
		Short: "Name the tools that fit a question, best first",
		Long: `Name the tools whose words fit a question, best first. No model is asked.

If no tool has words of the question, standard error says so: the tools that are named
come nearest to it in meaning, or are just the first.

With --batch, each line of the input is {"id","query","k"} and each line of the output
{"id","tools":["name",…]}. A definition that has an "id" is named by it. Without "k", or
with 0, it is that of -k. A line that cannot be answered is answered by {"id","error"},
and is no failure of the command: the others go on.`,
		Example: `  toolpost tools select --tools tools.json "weather in Rome"
  echo '{"id":1,"query":"weather in Rome","k":3}' | toolpost tools select --tools tools.json --batch`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if batched == (len(args) == 1) {
				return cli.Usagef(cmd, "give one QUERY, or --batch and queries on standard input")
			}
			if batched && file == "-" {
				return cli.Usagef(cmd, "standard input cannot hold both tools and queries")
			}
			if k < 1 {
				return cli.Usagef(cmd, "-k must be at least 1")
			}
			defs, err := toolset.ReadDefinitions(cmd, file)
			if err != nil {
				return err
			}
			pick := selector(defs, k)
			if batched {
				return cli.Batch(cmd, pick)
			}
			if strings.TrimSpace(args[0]) == "" {
				return cli.Usagef(cmd, "the QUERY is empty; say what the tool should do")
			}
			answer, err := pick(selectRow{Query: &args[0], K: k})
			if err != nil {
				return err
			}
			if tool.NewRanker(toolfile.PlainDefs(defs)).Fit(args[0]) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "no tool has words of the question; these come nearest to what it means, if anything does")
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), answer)
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), strings.Join(answer.Tools, "\n"))
			return err
		},
	}
	cmd.Flags().StringVar(&file, "tools", "", "read tools from this `file` (- is standard input) instead of the built-in ones")
	cmd.Flags().IntVarP(&k, "count", "k", defaultSelection, "name at most this many `tools`")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	cmd.Flags().BoolVar(&batched, "batch", false, "read JSON lines and answer each with one line")
	return cmd
}

// selector returns a function that answers rows. k is the default of a row.
func selector(defs []tool.Definition, k int) func(selectRow) (selected, error) {
	ranker := tool.NewRanker(toolfile.PlainDefs(defs))
	return func(row selectRow) (selected, error) {
		if row.Query == nil {
			return selected{}, errors.New(`the row has no "query"`)
		}
		if row.K < 0 {
			return selected{}, errors.New(`"k" must not be negative`)
		}
		n := k
		if row.K > 0 {
			n = row.K
		}
		ranked := ranker.Rank(*row.Query)
		out := selected{ID: row.ID, Tools: []string{}}
		for _, r := range ranked[:min(n, len(ranked))] {
			out.Tools = append(out.Tools, defs[r.Index].ID)
		}
		return out, nil
	}
}
