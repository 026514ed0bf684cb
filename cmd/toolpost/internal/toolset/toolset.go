// Package toolset opens the tools of the settings: built-in tools, files and OpenAPI documents.
package toolset

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolfile"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// Open returns the tools that the settings offer to a model: the built-in read-only tools, the tools of --allow,
// and those of the files. The caller calls done.
func Open(s *settings.ToolOptions) (set *tool.Set, done func(), err error) {
	files, err := builtin.OpenFiles(s.Root)
	if err != nil {
		return nil, nil, fmt.Errorf("root: %w", err)
	}
	tools, err := List(s, files)
	if err == nil {
		set, err = tool.NewSet(tools...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, files.Close())
	}
	return set, func() { files.Close() }, nil
}

func List(s *settings.ToolOptions, files *builtin.Files) ([]tool.Tool, error) {
	search, err := builtin.Search{Engine: "duckduckgo"}.Tool()
	if err != nil {
		return nil, err
	}
	offered := slices.DeleteFunc(append(files.Tools(), commandOf(s).Tool(), builtin.Fetch{}.Tool(), search), func(t tool.Tool) bool {
		for class, names := range settings.Classes {
			if slices.Contains(names, t.Name) {
				return !slices.Contains(s.Allow, class)
			}
		}
		return false
	})
	for _, file := range s.Tools {
		if offered, err = declareFile(s, offered, file); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
	}
	return offered, nil
}

// commandOf configures how programs run: under a supervisor that ends all their processes, and in a sandbox if the
// settings require it.
func commandOf(s *settings.ToolOptions) builtin.Command {
	return builtin.Command{Dir: s.Root, Supervised: true, Sandbox: s.Sandbox}
}

// declareFile adds the tools of a file. A declaration without an action changes the description of an existing tool.
func declareFile(s *settings.ToolOptions, tools []tool.Tool, file string) ([]tool.Tool, error) {
	text, err := cli.ReadBounded(file)
	if err != nil {
		return nil, err
	}
	return AddText(s, tools, file, []byte(text))
}

func AddText(s *settings.ToolOptions, tools []tool.Tool, file string, text []byte) ([]tool.Tool, error) {
	if toolfile.IsAPI(text) {
		return declareAPI(s, tools, file, text)
	}
	declared, err := builtin.ParseDeclared(text)
	if err != nil {
		return nil, err
	}
	if len(declared) == 0 {
		return nil, errors.New("it has no tools")
	}
	place := make(map[string]int, len(tools)+len(declared))
	for i, t := range tools {
		place[t.Name] = i
	}
	for _, d := range declared {
		s.ToolSecrets = append(s.ToolSecrets, d.Secrets()...)
		i, there := place[d.Name]
		switch {
		case there && d.Works():
			return nil, fmt.Errorf("%s is there already: a tool never hides another", d.Name)
		case there:
			tools[i] = d.Redescribe(tools[i])
			continue
		case !d.Works() && withheld(s, d.Name) != "":
			continue // describes a tool that is not offered now
		}
		t, err := d.Tool(commandOf(s), file)
		if err != nil {
			return nil, err
		}
		place[t.Name] = len(tools)
		tools = append(tools, t)
	}
	return tools, nil
}

// withheld returns the --allow class that a built-in tool needs and the settings lack, "" if there is none.
func withheld(s *settings.ToolOptions, name string) string {
	for class, names := range settings.Classes {
		if slices.Contains(names, name) && !slices.Contains(s.Allow, class) {
			return class
		}
	}
	return ""
}

// declareAPI adds the operations of an OpenAPI document.
func declareAPI(s *settings.ToolOptions, tools []tool.Tool, file string, text []byte) ([]tool.Tool, error) {
	a, err := toolfile.ReadAPI(file, text)
	if err != nil {
		return nil, err
	}
	s.ToolSecrets = append(s.ToolSecrets, a.Config.Secrets()...)
	return append(tools, a.Tools...), nil
}

// calledTool is the outcome of a call in the output of --json.
type calledTool struct {
	invoke.Outcome
	Warnings []llm.Warning `json:"warnings,omitempty"`
}

// Call runs one call. Secrets are redacted in its result and in warnings.
func Call(ctx context.Context, set *tool.Set, call llm.Call, secrets *journal.Secrets, allow bool) (calledTool, error) {
	r := &invoke.Runner{Tools: set, Output: invoke.ResultView{Secrets: secrets}}
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
			ev.Detail = secrets.Clean(ev.Detail).String()
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

// ReadDefinitions reads the file of --tools; "-" is standard input. Without a name it returns the built-in tools.
func ReadDefinitions(cmd *cobra.Command, file string) ([]tool.Definition, error) {
	if file == "" {
		return builtinDefinitions()
	}
	text, err := cli.ReadNamed(cmd, file)
	if err != nil {
		return nil, err
	}
	defs, err := toolfile.ParseDefinitions(file, []byte(text))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	if len(defs) == 0 {
		return nil, fmt.Errorf("%s has no tools", file)
	}
	return defs, nil
}

func builtinDefinitions() ([]tool.Definition, error) {
	set, done, err := Open(All("."))
	if err != nil {
		return nil, err
	}
	defer done()
	var defs []tool.Definition
	for _, d := range set.Defs() {
		defs = append(defs, tool.Definition{ID: d.Name, ToolDef: d})
	}
	return defs, nil
}

// All returns settings with all built-in tools, with the file tools on dir, and the tools of the files.
func All(dir string, files ...string) *settings.ToolOptions {
	return &settings.ToolOptions{Root: dir, Allow: slices.Collect(maps.Keys(settings.Classes)), Tools: files}
}
