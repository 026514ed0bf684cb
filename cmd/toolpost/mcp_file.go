package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/mcpbridge"
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
			e := mcpbridge.ServerEntry{Type: kind, Trust: trust}
			if cmd.ArgsLenAtDash() == 1 {
				e.Command, e.Args = args[1], args[2:]
			} else if len(args) == 2 && cmd.ArgsLenAtDash() < 0 {
				e.URL = args[1]
			} else {
				return usagef(cmd, "after NAME comes an address, or -- and a command")
			}
			var err error
			if e.Env, err = nameValues(env, "=", "--env is NAME=VALUE"); err != nil {
				return usagef(cmd, "%w", err)
			}
			if e.Headers, err = nameValues(headers, ":", "--header is NAME: VALUE"); err != nil {
				return usagef(cmd, "%w", err)
			}
			return addServers(cmd, []mcpbridge.ImportedServer{{Name: args[0], Entry: e}})
		},
	}
	cmd.Flags().String("config", "", configUsage)
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
		Long: `Read the servers of a file and add them to the configuration file: mcpServers of Claude
Desktop, Claude Code and Cursor, servers and inputs of VS Code, mcp_servers of Conductor
workflows. What cannot be taken over is said. Nothing is started.`,
		Example: "  toolpost mcp import cursor.json\n  toolpost mcp import workflow.yaml --print",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			text, err := readFile(args[0], maxConfig)
			if err != nil {
				return err
			}
			servers, err := mcpbridge.ReadServers(text)
			var at *mcpbridge.LineError
			if errors.As(err, &at) {
				return fmt.Errorf("%s:%d: %w", args[0], at.Line, at.Err)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", args[0], err)
			}
			for _, s := range servers {
				if err := checkSeen(s); err != nil {
					return fmt.Errorf("%s: %w", args[0], err)
				}
				for _, n := range s.Notes {
					fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s: %s\n", s.Name, printable(n))
				}
			}
			if !onlyPrint {
				return addServers(cmd, servers)
			}
			block, err := serverBlock(servers)
			if err == nil {
				_, err = fmt.Fprint(cmd.OutOrStdout(), "mcp_servers:\n"+block)
			}
			return err
		},
	}
	cmd.Flags().String("config", "", configUsage)
	cmd.Flags().BoolVar(&onlyPrint, "print", false, "print what would be added, and add nothing")
	return cmd
}

// serverBlock writes servers as they stand below mcp_servers.
func serverBlock(servers []mcpbridge.ImportedServer) (string, error) {
	var b strings.Builder
	for _, s := range servers {
		text, err := yaml.MarshalWithOptions(map[string]mcpbridge.ServerEntry{s.Name: s.Entry}, yaml.Indent(2))
		if err != nil {
			return "", err
		}
		for line := range strings.Lines(string(text)) {
			b.WriteString("  " + line)
		}
	}
	return b.String(), nil
}

// addServers writes servers into the configuration file. The text is changed as
// text, so that comments stay, and read again to see that nothing else became
// different.
func addServers(cmd *cobra.Command, servers []mcpbridge.ImportedServer) error {
	file, err := ownConfigFile(cmd)
	if err != nil {
		return err
	}
	old, err := readBounded(file)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	before, err := decodeConfig([]byte(old))
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	for _, s := range servers {
		if err := errors.Join(checkSeen(s), s.Entry.Config(s.Name).Check()); err != nil {
			return usagef(cmd, "%w", err)
		}
		if _, there := before.MCPServers[s.Name]; there {
			return fmt.Errorf("%s has a server %s already; nothing was written", file, s.Name)
		}
	}
	block, err := serverBlock(servers)
	if err != nil {
		return err
	}
	text, err := withServers(old, block, before, servers)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return err
	}
	if err := replaceFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	for _, s := range servers {
		fmt.Fprintf(cmd.OutOrStdout(), "added %s: %s\n", s.Name, inOneLine(whereOf(s.Entry.Config(s.Name))))
	}
	return nil
}

// withServers puts a block of servers into the text of a configuration file.
func withServers(old, block string, before settings, servers []mcpbridge.ImportedServer) (string, error) {
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
	after, err := decodeConfig([]byte(text))
	if err != nil {
		return "", fmt.Errorf("mcp_servers cannot be added to; write the servers into the file yourself: %w", err)
	}
	for _, s := range servers {
		if _, there := after.MCPServers[s.Name]; !there {
			return "", errors.New("mcp_servers cannot be added to; write the servers into the file yourself")
		}
		delete(after.MCPServers, s.Name)
	}
	for _, row := range settingTable {
		was, is := row.value(&before), row.value(&after)
		if row.key != "mcp_servers" && !reflect.DeepEqual(was, is) {
			return "", fmt.Errorf("%s would change, too; write the servers into the file yourself", row.key)
		}
	}
	return text, nil
}
