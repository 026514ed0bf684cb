package mcp

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/mcpbridge/config"
)

func newMCPAdd() *cobra.Command {
	var env, headers []string
	var kind, trust string
	cmd := &cobra.Command{
		Use:   "add NAME (URL | -- COMMAND [ARGUMENT]...)",
		Short: "Add a server to the configuration file",
		Long: `Write a server into the configuration file; everything else in it stays as it is. Keys do not
belong into the file: write ${VARIABLE}, which is replaced when the server is started.`,
		Example: `  toolpost mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  toolpost mcp add search https://mcp.example.org/mcp --header 'Authorization: Bearer ${SEARCH_KEY}'`,
		Args: cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			e := config.ServerEntry{Type: kind, Trust: trust}
			if cmd.ArgsLenAtDash() == 1 {
				e.Command, e.Args = args[1], args[2:]
			} else if len(args) == 2 && cmd.ArgsLenAtDash() < 0 {
				e.URL = args[1]
			} else {
				return cli.Usagef(cmd, "after NAME comes an address, or -- and a command")
			}
			var err error
			if e.Env, err = nameValues(env, "=", "--env is NAME=VALUE"); err != nil {
				return cli.Usagef(cmd, "%w", err)
			}
			if e.Headers, err = nameValues(headers, ":", "--header is NAME: VALUE"); err != nil {
				return cli.Usagef(cmd, "%w", err)
			}
			for _, n := range writtenKeys(e) {
				fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s\n", cli.InOneLine(n))
			}
			_, err = addServers(cmd, []config.ImportedServer{{Name: args[0], Entry: e}}, false)
			return err
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().StringArrayVar(&env, "env", nil, "a variable for the server, `NAME=VALUE`; may be repeated")
	cmd.Flags().StringArrayVar(&headers, "header", nil, "a header of every request, `NAME: VALUE`; may be repeated")
	cmd.Flags().StringVar(&kind, "type", "", "stdio, http or sse; by itself a command is stdio, an address http")
	cmd.Flags().StringVar(&trust, "trust", "", "none, or annotations: believe what the server says of its tools")
	return cmd
}

func nameValues(words []string, separator, usage string) (map[string]string, error) {
	if len(words) == 0 {
		return nil, nil
	}
	out := make(map[string]string)
	for _, word := range words {
		name, value, ok := strings.Cut(word, separator)
		if !ok || strings.TrimSpace(name) == "" {
			return nil, fmt.Errorf("%s, and %q is not", usage, word)
		}
		out[strings.TrimSpace(name)] = strings.TrimSpace(value)
	}
	return out, nil
}

func newMCPImport() *cobra.Command {
	var onlyPrint bool
	cmd := &cobra.Command{
		Use:   "import FILE",
		Short: "Take over the servers of another program's file",
		Long: `Read the servers of a file and add them to the configuration file: of Claude Desktop, Claude
Code, Codex, Cursor, Gemini, goose, opencode, VS Code, Windsurf, Zed, and of Conductor workflows.
Settings that are left out are reported with a remedy. Nothing is started.`,
		Example: "  toolpost mcp import ~/.codex/config.toml\n  toolpost mcp import workflow.yaml --print",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := cli.ReadFile(args[0], settings.MaxConfig)
			if err != nil {
				return err
			}
			servers, err := config.ReadServers(text)
			var bad config.BadServers
			if err != nil && !errors.As(err, &bad) {
				return placed(args[0], err)
			}
			for _, e := range bad {
				fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s\n", cli.InOneLine(placed(args[0], e).Error()))
			}
			ready := servers[:0]
			for _, s := range servers {
				if err := mcpservers.CheckSeen(s); err != nil {
					fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s: %v\n", args[0], err)
					continue
				}
				mcpservers.InWorkspace(&s.Entry, args[0])
				for _, n := range append(s.Notes, writtenKeys(s.Entry)...) {
					fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s: %s\n", s.Name, cli.Printable(n))
				}
				ready = append(ready, s)
			}
			left := len(bad) + len(servers) - len(ready)
			return importServers(cmd, ready, left, onlyPrint)
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&onlyPrint, "print", false, "print what would be added, and add nothing")
	return cmd
}

// importServers adds or prints the servers of a file that can be imported. It fails if any servers were left out.
func importServers(cmd *cobra.Command, ready []config.ImportedServer, left int, onlyPrint bool) error {
	if onlyPrint {
		block, err := serverBlock(ready)
		if err == nil && len(ready) > 0 {
			_, err = fmt.Fprint(cmd.OutOrStdout(), "mcp_servers:\n"+block)
		}
		if err != nil {
			return err
		}
	} else {
		taken, err := addServers(cmd, ready, true)
		if err != nil {
			return err
		}
		left += taken
	}
	if left > 0 {
		fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s left out\n", cli.Count(left, "server"))
		return cli.ErrReported
	}
	return nil
}

// placed adds the file and the line to an error.
func placed(file string, err error) error {
	var at *config.LineError
	if errors.As(err, &at) {
		return fmt.Errorf("%s:%d: %w", file, at.Line, at.Err)
	}
	return fmt.Errorf("%s: %w", file, err)
}

// writtenKeys returns notes about values in the file that look like keys.
func writtenKeys(e config.ServerEntry) []string {
	var out []string
	for what, m := range map[string]map[string]string{"env": e.Env, "header": e.Headers} {
		for name, value := range m {
			if !strings.Contains(value, "${") && len(value) >= secret.Least && secret.IsCredential(name) {
				out = append(out, fmt.Sprintf("the %s %s looks like a key in plain text: better set a variable, and write ${VARIABLE}", what, name))
			}
		}
	}
	slices.Sort(out)
	return out
}

func newMCPRemove() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "remove NAME",
		Short:   "Remove a server from the configuration file",
		Long:    "Take a server out of the configuration file; everything else in it stays as it is. A login for it stays until 'toolpost mcp logout' forgets it.",
		Example: "  toolpost mcp remove files",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			file, err := settings.OwnFile(cmd)
			if err != nil {
				return err
			}
			old, err := cli.ReadBounded(file)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			before, err := settings.DecodeFile([]byte(old))
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if _, there := before.MCPServers[args[0]]; !there {
				return cli.Usagef(cmd, "%s has no server %s%s", file, cli.InOneLine(args[0]), cli.DidYouMean(args[0], slices.Sorted(maps.Keys(before.MCPServers))))
			}
			text, err := withoutServer(old, args[0], before)
			if err != nil {
				return fmt.Errorf("%s: %w", file, err)
			}
			if err := cli.ReplaceFile(file, []byte(text), 0o600); err != nil {
				return err
			}
			_, err = fmt.Fprintf(cmd.OutOrStdout(), "removed %s\n", args[0])
			return err
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	return cmd
}

// withoutServer removes a server from the text of a configuration file.
func withoutServer(old, name string, before settings.Settings) (string, error) {
	lines := strings.SplitAfter(old, "\n")
	indent := func(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }
	says := func(line string) bool {
		text := strings.TrimSpace(line)
		return text != "" && text[0] != '#'
	}
	var kept []string
	inside, gone, depth := false, false, 0
	for _, line := range lines {
		switch {
		case says(line) && indent(line) == 0:
			inside, gone, depth = strings.HasPrefix(line, "mcp_servers:"), false, 0
			if inside && len(before.MCPServers) == 1 {
				continue // the section would be empty
			}
		case inside && says(line) && (depth == 0 || indent(line) == depth):
			depth = indent(line)
			key, _, _ := strings.Cut(strings.TrimSpace(line), ":")
			gone = strings.Trim(strings.TrimSpace(key), `"'`) == name
		case inside && gone && !says(line) && indent(line) <= depth && strings.TrimSpace(line) != "":
			gone = false // a comment on the next entry
		}
		if !gone {
			kept = append(kept, line)
		}
	}
	text := strings.Join(kept, "")
	after, err := settings.DecodeFile([]byte(text))
	if _, there := after.MCPServers[name]; err != nil || there || len(after.MCPServers) != len(before.MCPServers)-1 {
		return "", errors.New("the server cannot be taken out of the text; remove it from the file yourself")
	}
	return text, unchangedBut(before, after, name)
}

// unchangedBut returns an error if two configurations differ in more than the named server.
func unchangedBut(before, after settings.Settings, name string) error {
	for key, e := range before.MCPServers {
		if key != name && !reflect.DeepEqual(e, after.MCPServers[key]) {
			return fmt.Errorf("server %s would change, too; write the file yourself", key)
		}
	}
	return othersUnchanged(before, after)
}

// othersUnchanged returns an error if two configurations differ in more than their servers.
func othersUnchanged(before, after settings.Settings) error {
	for _, row := range settings.Table {
		was, is := row.Value(&before), row.Value(&after)
		if row.Key != "mcp_servers" && !reflect.DeepEqual(was, is) {
			return fmt.Errorf("%s would change, too; write the servers into the file yourself", row.Key)
		}
	}
	return nil
}

// serverBlock formats servers for the mcp_servers section.
func serverBlock(servers []config.ImportedServer) (string, error) {
	var b strings.Builder
	for _, s := range servers {
		text, err := yaml.MarshalWithOptions(map[string]config.ServerEntry{s.Name: s.Entry}, yaml.Indent(2))
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			b.WriteString("  " + line)
		}
	}
	return b.String(), nil
}

// addServers writes servers into the configuration file. It edits the text, which keeps comments. It then parses the
// result to make sure that nothing else changed. A server whose name is taken is an error. With passOver it is skipped
// and counted.
func addServers(cmd *cobra.Command, servers []config.ImportedServer, passOver bool) (taken int, err error) {
	file, err := settings.OwnFile(cmd)
	if err != nil {
		return 0, err
	}
	old, err := cli.ReadBounded(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return 0, err
	}
	before, err := settings.DecodeFile([]byte(old))
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	var fresh []config.ImportedServer
	for _, s := range servers {
		if err := errors.Join(mcpservers.CheckSeen(s), s.Entry.Config(s.Name).Check()); err != nil {
			return 0, cli.Usagef(cmd, "%w", err)
		}
		_, there := before.MCPServers[s.Name]
		switch {
		case there && !passOver:
			return 0, fmt.Errorf("%s has a server %s already; nothing was written", file, s.Name)
		case there:
			taken++
			fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s has a server %s already\n", file, s.Name)
		default:
			fresh = append(fresh, s)
		}
	}
	if len(fresh) == 0 {
		return taken, nil
	}
	block, err := serverBlock(fresh)
	if err != nil {
		return 0, err
	}
	text, err := withServers(old, block, before, fresh)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return 0, err
	}
	if err := cli.ReplaceFile(file, []byte(text), 0o600); err != nil {
		return 0, err
	}
	for _, s := range fresh {
		fmt.Fprintf(cmd.OutOrStdout(), "added %s: %s\n", s.Name, cli.InOneLine(mcpservers.WhereOf(s.Entry.Config(s.Name))))
	}
	return taken, nil
}

// withServers inserts a block of servers into the text of a configuration file.
func withServers(old, block string, before settings.Settings, servers []config.ImportedServer) (string, error) {
	lines := strings.SplitAfter(old, "\n")
	text := ""
	for i, line := range lines {
		if strings.TrimSpace(strings.SplitN(line, "#", 2)[0]) == "mcp_servers:" && line[0] == 'm' {
			text = strings.Join(lines[:i+1], "") + block + strings.Join(lines[i+1:], "")
		}
	}
	if text == "" {
		if text = old; text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		text += "mcp_servers:\n" + block
	}
	after, err := settings.DecodeFile([]byte(text))
	if err != nil {
		return "", fmt.Errorf("mcp_servers cannot be added to; write the servers into the file yourself: %w", err)
	}
	for _, s := range servers {
		if _, there := after.MCPServers[s.Name]; !there {
			return "", errors.New("mcp_servers cannot be added to; write the servers into the file yourself")
		}
		delete(after.MCPServers, s.Name)
	}
	return text, othersUnchanged(before, after)
}
