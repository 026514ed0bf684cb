package mcpservers

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// DescribeServer prints all settings that a project's server is started with, unchanged from the file. The user agrees
// to exactly these settings.
func DescribeServer(cmd *cobra.Command, s config.ImportedServer) {
	out, e := cmd.OutOrStdout(), s.Entry
	where := cli.ShellLine(append([]string{e.Command}, e.Args...))
	if e.URL != "" {
		where = cli.ShellWord(e.URL)
	}
	fmt.Fprintf(out, "%s: %s\n", cli.InOneLine(s.Name), where)
	row := func(what, text string) {
		if text != "" {
			fmt.Fprintf(out, "  %-8s %s\n", what, text)
		}
	}
	row("cwd", optional(e.Cwd))
	row("envFile", optional(e.EnvFile))
	for _, name := range slices.Sorted(maps.Keys(e.Env)) {
		row("env", cli.ShellWord(name)+"="+cli.ShellWord(e.Env[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(e.Headers)) {
		row("header", cli.ShellWord(name)+": "+cli.ShellWord(e.Headers[name]))
	}
	if e.Trust == string(config.TrustAnnotations) {
		row("trust", e.Trust)
	}
	if e.Sampling {
		row("sampling", "it may ask the model of the run")
	}
	for _, n := range s.Notes {
		fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s: %s\n", cli.InOneLine(s.Name), cli.InOneLine(n))
	}
}

func optional(text string) string {
	if text == "" {
		return ""
	}
	return cli.ShellWord(text)
}

// ShowChange prints the accepted definition of a tool and the server's current one.
func ShowChange(s *settings.Settings, cmd *cobra.Command, c config.ToolChange) {
	out := cmd.ErrOrStderr()
	fmt.Fprintf(out, "toolpost: %s was changed by its server:\n", cli.InOneLine(s.Redact(c.Is.Name)))
	hints := func(t config.ServerTool) string {
		text := fmt.Sprintf("readOnly %t, idempotent %t", t.ReadOnlyHint, t.IdempotentHint)
		if t.DestructiveHint != nil {
			text += fmt.Sprintf(", destructive %t", *t.DestructiveHint)
		}
		if t.OpenWorldHint != nil {
			text += fmt.Sprintf(", openWorld %t", *t.OpenWorldHint)
		}
		return text
	}
	for _, row := range [][3]string{
		{"title", c.Was.Title, c.Is.Title},
		{"description", c.Was.Description, c.Is.Description},
		{"schema", string(c.Was.Input), string(c.Is.Input)},
		{"output schema", string(c.Was.Output), string(c.Is.Output)},
		{"hints", hints(c.Was), hints(c.Is)},
	} {
		if row[1] != row[2] {
			fmt.Fprintf(out, "  %s\n    was  %s\n    is   %s\n", row[0], cli.InOneLine(s.Redact(row[1])), cli.InOneLine(s.Redact(row[2])))
		}
	}
}

// NotUsed returns the error for a call of a tool that the server offers and Toolpost does not use.
func NotUsed(servers *client.Servers, server, word, tool string) error {
	defs, used := servers.Definitions(server)
	if used(tool) || !slices.ContainsFunc(defs, func(d config.ServerTool) bool { return d.Name == tool }) {
		return nil
	}
	for _, c := range servers.Changes(server) {
		if c.Is.Name == tool {
			return fmt.Errorf("%s was changed by its server and is not used; 'toolpost mcp tools %s' shows how, and with --approve takes it as it is", cli.InOneLine(tool), cli.ShellWord(word))
		}
	}
	return fmt.Errorf("%s is a tool of the server, and is not used: it is not among the tools that the configuration chooses, or it was left out", cli.InOneLine(tool))
}
