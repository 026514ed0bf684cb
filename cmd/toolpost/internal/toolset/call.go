package toolset

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// calledTool is the outcome of a call in the output of --json.
type calledTool struct {
	invoke.Outcome
	Warnings []llm.Warning `json:"warnings,omitempty"`
}

func Call(ctx context.Context, s *settings.Settings, set *tool.Set, call llm.Call, allow bool) (calledTool, error) {
	r := &invoke.Runner{Tools: set, Output: invoke.ResultView{Secrets: s.Secrets()}}
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
			ev.Detail = s.Redact(ev.Detail)
			out.Warnings = append(out.Warnings, ev)
		}
	}
	return out, nil
}

// AsText returns a function that formats a result. On a terminal it replaces control characters; elsewhere the text is
// unchanged.
func AsText(cmd *cobra.Command) func(string) string {
	if f, ok := cmd.OutOrStdout().(*os.File); ok && cli.IsTerminal(f) {
		return CleanLines
	}
	return func(text string) string { return text }
}

// CleanLines replaces the control characters of a text and normalises its line ends.
func CleanLines(text string) string { return cli.Printable(strings.ReplaceAll(text, "\r\n", "\n")) }

// PrintOutcome prints the result as a model would see it, with show applied to its text. A failed call fails the
// command.
func PrintOutcome(cmd *cobra.Command, o calledTool, asJSON bool, show func(string) string) error {
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
		if class := settings.ClassOf(o.Receipt.Tool); class != "" {
			flag = "--allow " + class
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: allow it with %s\n", flag)
	}
	return cli.ErrReported
}
