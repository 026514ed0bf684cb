package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge"
)

func newMCP() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "mcp",
		Short: "List, try, add and import MCP servers, or be one",
		Long: `MCP servers offer tools. Those under mcp_servers in the configuration are used by run and
chat, under the names SERVER__TOOL; they are started when they are needed. Where a command
below takes a SERVER, that is a name in the configuration, a command in quotes, or an address.

Files of servers in a project (.mcp.json, .vscode/mcp.json, .cursor/mcp.json) start nothing
until 'toolpost mcp trust' has agreed to them, and nothing again when they have changed.`,
		Example: `  toolpost mcp list
  toolpost mcp add files -- npx -y @modelcontextprotocol/server-filesystem .
  toolpost mcp doctor
  toolpost mcp serve`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newMCPList(), newMCPTools(), newMCPCall(), newMCPAdd(), newMCPRemove(), newMCPImport(), newMCPTrust(), newMCPDoctor(), newMCPLogin(), newMCPLogout(), newMCPStatus(), newMCPServe())
	return cmd
}

// listedServer is a server in the output of mcp list --json.
type listedServer struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Where    string `json:"where"`
	State    string `json:"state"`
	Tools    *int   `json:"tools"` // null if unknown
	ListHash string `json:"list_hash,omitempty"`
}

func newMCPList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the servers that are configured, and start none",
		Long:    "List the servers with how far each has come and how many of its tools are used, as far as that is known (?). None is started.",
		Example: "  toolpost mcp list\n  toolpost mcp list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			rows, err := s.listServers()
			if err != nil {
				return err
			}
			files, err := projectFiles(s.Root)
			if err != nil {
				return err
			}
			for _, f := range files {
				if !f.trusted {
					fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+f.notice())
				}
			}
			if asJSON {
				return cli.PrintJSON(cmd.OutOrStdout(), rows)
			}
			if len(rows) == 0 {
				_, err := fmt.Fprintln(cmd.OutOrStdout(), "no servers; 'toolpost mcp add' adds one")
				return err
			}
			table := [][]string{{"server", "type", "state", "tools", "where"}}
			for _, r := range rows {
				tools := "?"
				if r.Tools != nil {
					tools = fmt.Sprint(*r.Tools)
				}
				table = append(table, []string{r.Name, r.Type, r.State, tools, cli.Printable(r.Where)})
			}
			return cli.PrintTable(cmd.OutOrStdout(), "", table)
		},
	}
	cmd.Flags().String("config", "", configUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func (s *settings) listServers() ([]listedServer, error) {
	all, err := s.configuredServers()
	if err != nil {
		return nil, err
	}
	servers, err := s.openServers(all, nil)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	rows := []listedServer{}
	for i, st := range servers.Status() {
		row := listedServer{Name: st.Name, Type: string(st.Transport), State: st.State.String(), ListHash: st.ListHash, Where: whereOf(all[i])}
		if st.State >= mcpbridge.Listed {
			row.Tools = &st.Tools
		}
		if st.Disabled {
			row.State = "disabled"
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// whereOf returns the address or the command of a server, without possible secrets.
func whereOf(c mcpbridge.ServerConfig) string {
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host + u.Path
		}
		return "an address with variables"
	}
	return strings.Join(append([]string{c.Command}, c.Args...), " ")
}

// oneServer opens the server that a word names. The caller closes it.
func oneServer(cmd *cobra.Command, word string) (*settings, *mcpbridge.Servers, string, error) {
	s, err := loadSettings(cmd)
	if err != nil {
		return nil, nil, "", err
	}
	all, err := s.configuredServers()
	if err != nil {
		return nil, nil, "", err
	}
	c, err := s.serverFor(all, word)
	if err != nil {
		return nil, nil, "", cli.Usagef(cmd, "%w", err)
	}
	servers, err := s.openServers([]mcpbridge.ServerConfig{c}, func(n mcpbridge.Notice) {
		if n.Tool == "" && strings.HasPrefix(n.Text, "is not there") {
			return // the command returns the same error
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+cli.Printable(s.redact(withWords(n.String(), c, word))))
	})
	if err == nil {
		cli.MustEnd(cmd.Context())
	}
	return s, servers, c.Name, err
}

// listedTool is a tool in the output of mcp tools --json.
type listedTool struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	Used        bool   `json:"used"`
	Fingerprint string `json:"fingerprint"`
}

func newMCPTools() *cobra.Command {
	var asJSON, approve bool
	cmd := &cobra.Command{
		Use:   "tools SERVER",
		Short: "Start a server and list its tools",
		Long: `Start a server and list its tools. One that the server has changed since it was seen first
is marked and not used, unless the server is trusted; what it was and what it is are shown,
and --approve takes all as they are now.`,
		Example: "  toolpost mcp tools files\n  toolpost mcp tools https://mcp.example.org/mcp\n  toolpost mcp tools files --approve",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, servers, name, err := oneServer(cmd, args[0])
			if err != nil {
				return err
			}
			defer servers.Close()
			if err := servers.Connect(cmd.Context(), name); err != nil {
				return s.redactError(err)
			}
			for _, c := range servers.Changes(name) {
				s.showChange(cmd, c)
			}
			if approve {
				changed, err := servers.Approve(cmd.Context(), name)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s approved\n", counted(len(changed), "changed tool"))
			}
			defs, used := servers.Definitions(name)
			return s.printServerTools(cmd, defs, used, asJSON)
		},
	}
	cmd.Flags().String("config", "", configUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().BoolVar(&approve, "approve", false, "accept the definitions of all tools as they are now")
	return cmd
}

func (s *settings) printServerTools(cmd *cobra.Command, defs []mcpbridge.ServerTool, used func(string) bool, asJSON bool) error {
	rows, table := []listedTool{}, [][]string{}
	for _, d := range defs {
		row := listedTool{s.redact(d.Name), s.redact(d.Description), used(d.Name), string(d.Fingerprint())}
		rows = append(rows, row)
		mark := ""
		if !row.Used {
			mark = "(not used) "
		}
		table = append(table, []string{cli.InOneLine(row.Name), mark + cli.Printable(firstLine(row.Description, 90))})
	}
	if asJSON {
		return cli.PrintJSON(cmd.OutOrStdout(), rows)
	}
	return cli.PrintTable(cmd.OutOrStdout(), "", table)
}

func newMCPCall() *cobra.Command {
	var yes, asJSON bool
	cmd := &cobra.Command{
		Use:   "call SERVER TOOL [ARGUMENTS|-]",
		Short: "Validate and run one call of a server's tool, without a model",
		Long: `Run one call as a model's would be run: validated, decided on by the policy, under a
timeout, and print what a model would see. A tool that does not promise to only read, in the
words of a server that is trusted, needs --yes. ARGUMENTS is a JSON object; - reads it from
standard input. Characters that could steer a terminal are shown as signs; --json has the
result as it is.`,
		Example: `  toolpost mcp call files read_text_file '{"path":"README.md"}' --yes`,
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, servers, name, err := oneServer(cmd, args[0])
			if err != nil {
				return err
			}
			defer servers.Close()
			if err := servers.Connect(cmd.Context(), name); err != nil {
				return s.redactError(err)
			}
			set, err := servers.Tools(cmd.Context())
			if err != nil {
				return err
			}
			call := llm.Call{Name: args[1]}
			for _, offered := range set.Names() {
				if _, own, _ := servers.Original(offered); own == args[1] {
					call.Name = offered
				}
			}
			if err := notUsed(servers, name, args[0], args[1]); err != nil {
				return err
			}
			if len(args) == 3 {
				call.Args = json.RawMessage(args[2])
			}
			if len(args) == 3 && args[2] == "-" {
				text, err := cli.ReadAll(cli.StandardInput(cmd), "standard input")
				if err != nil {
					return err
				}
				call.Args = json.RawMessage(text)
			}
			o, err := s.callTool(cmd.Context(), set, call, yes)
			if err != nil {
				return err
			}
			return printOutcome(cmd, o, asJSON, cleanLines)
		},
	}
	cmd.Flags().String("config", "", configUsage)
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "allow any tool")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print result, receipt and error as one JSON object")
	return cmd
}

func newMCPDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [SERVER|URL]",
		Short: "Start servers and say what is wrong with them",
		Long: `Start the server, or all of the configuration at once, and say how long each took, which
revision of the protocol it speaks, how many of its tools are used, and what is wrong.
An address is tried by both transports of HTTP. It is a failure if one is not there.`,
		Example: "  toolpost mcp doctor\n  toolpost mcp doctor files --json\n  toolpost mcp doctor https://mcp.example.org/mcp",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := loadSettings(cmd)
			if err != nil {
				return err
			}
			s.mcp = args
			chosen, err := s.chosenServers(cmd)
			if err != nil {
				return err
			}
			findings, err := s.examineServers(cmd, chosen)
			if err != nil {
				return err
			}
			if asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), findings)
			} else {
				err = printFindings(cmd, findings)
			}
			if err == nil && slices.ContainsFunc(findings, func(f finding) bool { return f.State == stateBroken }) {
				err = cli.ErrReported
			}
			return err
		},
	}
	cmd.Flags().String("config", "", configUsage)
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// examineServers starts servers concurrently and reports the results.
func (s *settings) examineServers(cmd *cobra.Command, chosen []mcpbridge.ServerConfig) ([]finding, error) {
	cli.MustEnd(cmd.Context())
	told := mcpServers{redactNotice: s.told(chosen)}
	servers, err := s.openServers(chosen, told.notice)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	type ending struct {
		took time.Duration
		err  error
	}
	ends := make([]chan ending, len(chosen))
	for i, c := range chosen {
		ends[i] = make(chan ending, 1)
		go func() {
			began := time.Now()
			err := servers.Connect(cmd.Context(), c.Name)
			ends[i] <- ending{time.Since(began), err}
		}()
	}
	findings := []finding{}
	for i, c := range chosen {
		end := <-ends[i]
		f := finding{What: c.Name, State: stateOK}
		if st := servers.Status()[i]; end.err != nil {
			f.State, f.Says, f.Fix = stateBroken, cli.Printable(s.redact(cmp.Or(st.Err, end.err).Error())), byHand(c)
		} else {
			f.Says = fmt.Sprintf("%s after %s, revision %s, list %.15s", counted(st.Tools, "tool"), end.took.Round(time.Millisecond), st.Revision, st.ListHash)
			if st.Transport != c.Kind() {
				f.Fix = fmt.Sprintf("it uses the older transport: set type: %s, which saves a request", st.Transport)
			}
		}
		findings = append(findings, f)
	}
	if err := cmd.Context().Err(); err != nil {
		return nil, err
	}
	for _, n := range told.takeNotices() {
		if strings.HasPrefix(n, "tool ") {
			findings = append(findings, finding{What: "tool", State: stateMissing, Says: cli.Printable(n)})
		}
	}
	return findings, nil
}

// byHand suggests how to debug a server that cannot be reached.
func byHand(c mcpbridge.ServerConfig) string {
	if c.URL != "" {
		return "is this its address? " + cli.Printable(whereOf(c))
	}
	return "run by hand: " + cli.ShellLine(append([]string{c.Command}, c.Args...))
}

func newMCPTrust() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust FILE",
		Short: "Agree to the servers of a project's file, as it is now",
		Long: `Agree to start the servers of a file in a project, like .mcp.json. What is remembered is the
content: when the file has changed, its servers are not started until you agree again.`,
		Example: "  toolpost mcp trust .mcp.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := readProjectFile(args[0])
			if err != nil {
				return err
			}
			agreed, err := readTrusted()
			if err != nil {
				return err
			}
			for _, s := range f.servers {
				describeServer(cmd, s)
			}
			agreed[f.path] = f.hash
			text, err := json.MarshalIndent(agreed, "", "  ")
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(trustedFile()), 0o700); err != nil {
				return err
			}
			return replaceFile(trustedFile(), append(text, '\n'), 0o600)
		},
	}
	return cmd
}
