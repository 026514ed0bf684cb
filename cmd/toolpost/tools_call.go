package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
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
			if err := checkAllow(classes); err != nil {
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
			s := everyTool(root, files...)
			set, done, err := s.toolSet()
			if err != nil {
				return err
			}
			defer done()
			cli.MustEnd(cmd.Context())
			o, err := s.callTool(cmd.Context(), set, call, yes || slices.Contains(classes, classOf(call.Name)))
			if err != nil {
				return err
			}
			return printOutcome(cmd, o, asJSON, asText(cmd))
		},
	}
	cmd.Flags().StringVar(&root, "root", ".", rootUsage)
	cli.Formerly(cmd, cmd.Flags(), "dir", "root")
	cmd.Flags().StringSliceVar(&files, "tools", nil, "`FILE` of tools that can be called, too; may be repeated")
	cmd.Flags().StringSliceVar(&classes, "allow", nil, allowUsage)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "allow any tool")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print result, receipt and error as one JSON object")
	return cmd
}

// calledTool is the outcome of a call in the output of --json.
type calledTool struct {
	invoke.Outcome
	Warnings []llm.Warning `json:"warnings,omitempty"`
}

func (s *settings) callTool(ctx context.Context, set *tool.Set, call llm.Call, allow bool) (calledTool, error) {
	r := &invoke.Runner{Tools: set, Output: invoke.ResultView{Secrets: s.secrets()}}
	if allow {
		r.Policy = invoke.AllowAll
	}
	session, err := r.Session(nil)
	if err != nil {
		return calledTool{}, err
	}
	var out calledTool
	for ev, err := range session.Do(ctx, []llm.Call{call}) {
		if err != nil {
			return out, err
		}
		switch ev := ev.(type) {
		case invoke.Outcome:
			out.Outcome = ev
		case llm.Warning:
			ev.Detail = s.redact(ev.Detail)
			out.Warnings = append(out.Warnings, ev)
		}
	}
	return out, nil
}

// asText returns a function that formats a result. On a terminal it replaces control characters; elsewhere the text is
// unchanged.
func asText(cmd *cobra.Command) func(string) string {
	if f, ok := cmd.OutOrStdout().(*os.File); ok && cli.IsTerminal(f) {
		return cleanLines
	}
	return func(text string) string { return text }
}

// cleanLines replaces the control characters of a text and normalises its line ends.
func cleanLines(text string) string { return cli.Printable(strings.ReplaceAll(text, "\r\n", "\n")) }

// printOutcome prints the result as a model would see it, with show applied to its text. A failed call fails the
// command.
func printOutcome(cmd *cobra.Command, o calledTool, asJSON bool, show func(string) string) error {
	var err error
	if asJSON {
		err = cli.PrintJSON(cmd.OutOrStdout(), o)
	} else {
		for _, p := range o.Result.Parts {
			switch p := p.(type) {
			case llm.Text:
				_, err = fmt.Fprintln(cmd.OutOrStdout(), show(p.Text))
			case llm.Media:
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "[%s %s, %d bytes]\n", p.Kind, cli.InOneLine(p.MIME), len(p.Data))
			}
		}
		for _, w := range o.Warnings {
			fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s: %s\n", cli.InOneLine(w.Feature), cli.InOneLine(w.Detail))
		}
	}
	if err != nil || o.Error == nil {
		return err
	}
	if o.Error.Code == tool.Permission && o.Receipt.Attempts == 0 {
		flag := "--yes"
		if class := classOf(o.Receipt.Tool); class != "" {
			flag = "--allow " + class
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: allow it with %s\n", flag)
	}
	return cli.ErrReported
}
