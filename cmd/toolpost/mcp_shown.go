package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge"
)

// redact redacts secrets in the text of a server. A server may repeat a key in any message.
func (s *settings) redact(text string) string { return s.secrets().Clean(text).String() }

// redactError redacts secrets in the message of err.
func (s *settings) redactError(err error) error {
	if err == nil {
		return nil
	}
	if text := s.redact(err.Error()); text != err.Error() {
		return &redactedError{text, err}
	}
	return err
}

// redactedError is an error with a rewritten message, because the original held a secret.
type redactedError struct {
	text string
	err  error
}

func (e *redactedError) Error() string { return e.text }
func (e *redactedError) Unwrap() error { return e.err }

// redactEvent redacts secrets in a tool's question during a call.
func (w *wiring) redactEvent(ev llm.Event) llm.Event {
	clean := func(q invoke.Question) invoke.Question {
		q.Message = w.keep.Clean(q.Message).String()
		if text := w.keep.Clean(string(q.Schema)).String(); text != string(q.Schema) {
			q.Schema = nil // a redacted schema may be invalid
		}
		return q
	}
	switch ev := ev.(type) {
	case invoke.Progress:
		ev.Message = w.keep.Clean(ev.Message).String()
		return ev
	case invoke.Asked:
		ev.Question = clean(ev.Question)
		return ev
	case invoke.Waiting:
		ev.Question = clean(ev.Question)
		return ev
	case agent.Done:
		ev.Waiting = slices.Clone(ev.Waiting)
		for i, q := range ev.Waiting {
			ev.Waiting[i] = clean(q)
		}
		return ev
	}
	return ev
}

// describeServer prints all settings that a project's server is started with, unchanged from the file. The user agrees
// to exactly these settings.
func describeServer(cmd *cobra.Command, s mcpbridge.ImportedServer) {
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
	for _, name := range slices.Sorted(keys(e.Env)) {
		row("env", cli.ShellWord(name)+"="+cli.ShellWord(e.Env[name]))
	}
	for _, name := range slices.Sorted(keys(e.Headers)) {
		row("header", cli.ShellWord(name)+": "+cli.ShellWord(e.Headers[name]))
	}
	if e.Trust == string(mcpbridge.TrustAnnotations) {
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

// checkSeen refuses a server with invisible characters. They could control a terminal, and readers of the file would
// miss them.
func checkSeen(s mcpbridge.ImportedServer) error {
	e := s.Entry
	texts := append([]string{s.Name, e.Type, e.Command, e.EnvFile, e.Cwd, e.URL, e.Trust}, e.Args...)
	for _, m := range []map[string]string{e.Env, e.Headers} {
		for name, value := range m {
			texts = append(texts, name, value)
		}
	}
	if e.Tools != nil {
		texts = append(texts, *e.Tools...)
	}
	for _, text := range texts {
		for _, r := range text {
			if r != '\t' && cli.Unseen(r) {
				return fmt.Errorf("server %s holds a character that cannot be seen (U+%04X); nothing was taken over", strings.TrimSpace(cli.Revealed(cli.InOneLine(s.Name))), r)
			}
		}
	}
	return nil
}

// showChange prints the accepted definition of a tool and the server's current one.
func (s *settings) showChange(cmd *cobra.Command, c mcpbridge.ToolChange) {
	out := cmd.ErrOrStderr()
	fmt.Fprintf(out, "toolpost: %s was changed by its server:\n", cli.InOneLine(s.redact(c.Is.Name)))
	hints := func(t mcpbridge.ServerTool) string {
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
			fmt.Fprintf(out, "  %s\n    was  %s\n    is   %s\n", row[0], cli.InOneLine(s.redact(row[1])), cli.InOneLine(s.redact(row[2])))
		}
	}
}

// notUsed returns the error for a call of a tool that the server offers and Toolpost does not use.
func notUsed(servers *mcpbridge.Servers, server, word, tool string) error {
	defs, used := servers.Definitions(server)
	if used(tool) || !slices.ContainsFunc(defs, func(d mcpbridge.ServerTool) bool { return d.Name == tool }) {
		return nil
	}
	for _, c := range servers.Changes(server) {
		if c.Is.Name == tool {
			return fmt.Errorf("%s was changed by its server and is not used; 'toolpost mcp tools %s' shows how, and with --approve takes it as it is", cli.InOneLine(tool), cli.ShellWord(word))
		}
	}
	return fmt.Errorf("%s is a tool of the server, and is not used: it is not among the tools that the configuration chooses, or it was left out", cli.InOneLine(tool))
}
