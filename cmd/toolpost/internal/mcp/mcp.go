// Package mcp holds the commands for MCP servers: list, add, trust, log in, call and serve.
package mcp

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	findingscmd "github.com/toolpost/toolpost/cmd/toolpost/internal/findings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/mcpservers"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/toolset"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

func New() *cobra.Command {
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
	}
	cmd.AddCommand(NewList(), newMCPTools(), newMCPCall(), newMCPAdd(), newMCPRemove(), newMCPImport(), newMCPTrust(), NewDoctor(), newMCPLogin(), newMCPLogout(), newMCPStatus(), newMCPServe())
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

func NewList() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the servers that are configured, and start none",
		Long:    "List the servers with how far each has come and how many of its tools are used, as far as that is known (?). None is started.",
		Example: "  toolpost mcp list\n  toolpost mcp list --json",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := settings.Load(cmd)
			if err != nil {
				return err
			}
			rows, err := listServers(s)
			if err != nil {
				return err
			}
			files, err := mcpservers.ProjectFiles(s.Root)
			if err != nil {
				return err
			}
			for _, f := range files {
				if !f.Trusted {
					fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+f.Notice())
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
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

func listServers(s *settings.Settings) ([]listedServer, error) {
	all, err := mcpservers.Configured(&s.ToolOptions)
	if err != nil {
		return nil, err
	}
	servers, err := mcpservers.Open(s, all, nil)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	rows := []listedServer{}
	for i, st := range servers.Status() {
		row := listedServer{Name: st.Name, Type: string(st.Transport), State: st.State.String(), ListHash: st.ListHash, Where: mcpservers.WhereOf(all[i])}
		if st.State >= client.Listed {
			row.Tools = &st.Tools
		}
		if st.Disabled {
			row.State = "disabled"
		}
		rows = append(rows, row)
	}
	return rows, nil
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
			s, servers, name, err := mcpservers.OpenOne(cmd, args[0])
			if err != nil {
				return err
			}
			defer servers.Close()
			if err := servers.Connect(cmd.Context(), name); err != nil {
				return s.RedactError(err)
			}
			for _, c := range servers.Changes(name) {
				mcpservers.ShowChange(cmd, c, s.Redact)
			}
			if approve {
				changed, err := servers.Approve(cmd.Context(), name)
				if err != nil {
					return err
				}
				fmt.Fprintf(cmd.ErrOrStderr(), "toolpost: %s approved\n", cli.Count(len(changed), "changed tool"))
			}
			defs, used := servers.Definitions(name)
			return printServerTools(cmd, s.Redact, defs, used, asJSON)
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	cmd.Flags().BoolVar(&approve, "approve", false, "accept the current definitions of all tools")
	return cmd
}

func printServerTools(cmd *cobra.Command, redact func(string) string, defs []config.ServerTool, used func(string) bool, asJSON bool) error {
	rows, table := []listedTool{}, [][]string{}
	for _, d := range defs {
		row := listedTool{redact(d.Name), redact(d.Description), used(d.Name), string(d.Fingerprint())}
		rows = append(rows, row)
		mark := ""
		if !row.Used {
			mark = "(not used) "
		}
		table = append(table, []string{cli.InOneLine(row.Name), mark + cli.Printable(cli.FirstLine(row.Description, 90))})
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
timeout, and print its result. A tool that does not promise to only read, in the
words of a server that is trusted, needs --yes. ARGUMENTS is a JSON object; - reads it from
standard input. Characters that could steer a terminal are shown as signs; --json has the
result as it is.`,
		Example: `  toolpost mcp call files read_text_file '{"path":"README.md"}' --yes`,
		Args:    cobra.RangeArgs(2, 3),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, servers, name, err := mcpservers.OpenOne(cmd, args[0])
			if err != nil {
				return err
			}
			defer servers.Close()
			if err := servers.Connect(cmd.Context(), name); err != nil {
				return s.RedactError(err)
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
			if err := mcpservers.NotUsed(servers, name, args[0], args[1]); err != nil {
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
			o, err := toolset.Call(cmd.Context(), set, call, s.Secrets(), yes)
			if err != nil {
				return err
			}
			if o.Error != nil && !asJSON {
				return failedCall(args[1], o.Outcome, ownNames(servers, set))
			}
			return toolset.PrintOutcome(cmd, o, asJSON, toolset.CleanLines)
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "allow any tool")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print result, receipt and error as one JSON object")
	return cmd
}

// ownNames returns the names of the tools as their server calls them.
func ownNames(servers *client.Servers, set *tool.Set) []string {
	var names []string
	for _, offered := range set.Names() {
		if _, own, _ := servers.Original(offered); own != "" {
			names = append(names, own)
		}
	}
	return names
}

// failedCall describes a failed call to the person who made it. The words for models are in the result of --json.
func failedCall(name string, o invoke.Outcome, names []string) error {
	e := o.Error
	name = cli.InOneLine(name)
	message := strings.TrimSpace(cli.Printable(e.Message))
	switch {
	case !slices.Contains(names, name):
		return fmt.Errorf("there is no tool %s%s\nThe server has %s", name, cli.DidYouMean(name, names), cli.OneLine(strings.Join(names, ", "), 1000))
	case e.Code == tool.Permission && o.Receipt.Attempts == 0:
		return fmt.Errorf("%s was not run: it may change things, because its server does not promise that it only reads; allow it with --yes", name)
	case o.Receipt.Attempts == 0:
		return fmt.Errorf("%s was not run: %s\n'toolpost mcp tools SERVER' shows its parameters", name, message)
	case e.Code == tool.Uncertain:
		return fmt.Errorf("whether %s was run is unknown: %s", name, message)
	}
	return fmt.Errorf("%s was run and failed: %s", name, message)
}

func NewDoctor() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "doctor [SERVER|URL]",
		Short: "Start servers and report their problems",
		Long: `Start the server, or all of the configuration at once, and say how long each took, which
revision of the protocol it speaks, how many of its tools are used, and what is wrong.
An address is tried by both transports of HTTP. It is a failure if one is not there.`,
		Example: "  toolpost mcp doctor\n  toolpost mcp doctor files --json\n  toolpost mcp doctor https://mcp.example.org/mcp",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, err := settings.Load(cmd)
			if err != nil {
				return err
			}
			s.MCP = args
			chosen, err := mcpservers.Chosen(&s.ToolOptions, cmd)
			if err != nil {
				return err
			}
			findings, err := Examine(s, cmd, chosen)
			if err != nil {
				return err
			}
			if asJSON {
				err = cli.PrintJSON(cmd.OutOrStdout(), findings)
			} else {
				err = findingscmd.Print(cmd, findings)
			}
			if err == nil && slices.ContainsFunc(findings, func(f findingscmd.Finding) bool { return f.State == findingscmd.Broken }) {
				err = cli.ErrReported
			}
			return err
		},
	}
	cli.AddConfigFlag(cmd.Flags())
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON array")
	return cmd
}

// Examine starts servers concurrently and reports the results.
func Examine(s *settings.Settings, cmd *cobra.Command, chosen []config.ServerConfig) ([]findingscmd.Finding, error) {
	cli.MustEnd(cmd.Context())
	told := mcpservers.Active{RedactNotice: mcpservers.Namer(s.MCP, chosen, s.Redact)}
	servers, err := mcpservers.Open(s, chosen, told.Notice)
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
	findings := []findingscmd.Finding{}
	for i, c := range chosen {
		end := <-ends[i]
		f := findingscmd.Finding{What: c.Name, State: findingscmd.OK}
		if st := servers.Status()[i]; end.err != nil {
			f.State, f.Says, f.Fix = findingscmd.Broken, cli.Printable(s.Redact(cmp.Or(st.Err, end.err).Error())), ByHand(c)
		} else {
			f.Says = fmt.Sprintf("%s after %s, revision %s, list %.15s", cli.Count(st.Tools, "tool"), end.took.Round(time.Millisecond), st.Revision, st.ListHash)
			if st.Transport != c.Kind() {
				f.Fix = fmt.Sprintf("it uses the older transport: set type: %s, which saves a request", st.Transport)
			}
		}
		findings = append(findings, f)
	}
	if err := cmd.Context().Err(); err != nil {
		return nil, err
	}
	for _, n := range told.TakeNotices() {
		if strings.HasPrefix(n, "tool ") {
			findings = append(findings, findingscmd.Finding{What: "tool", State: findingscmd.Missing, Says: cli.Printable(n)})
		}
	}
	return findings, nil
}

// ByHand suggests how to debug a server that cannot be reached.
func ByHand(c config.ServerConfig) string {
	if c.URL != "" {
		return "is this its address? " + cli.Printable(mcpservers.WhereOf(c))
	}
	return "run by hand: " + cli.ShellLine(append([]string{c.Command}, c.Args...))
}

func newMCPTrust() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "trust FILE",
		Short: "Agree to the servers of a project's file in its current form",
		Long: `Agree to start the servers of a file in a project, like .mcp.json. What is remembered is the
content: when the file has changed, its servers are not started until you agree again.`,
		Example: "  toolpost mcp trust .mcp.json",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			f, err := mcpservers.ReadProjectFile(args[0])
			if err != nil {
				return err
			}
			agreed, err := mcpservers.ReadTrusted()
			if err != nil {
				return err
			}
			for _, s := range f.Servers {
				mcpservers.DescribeServer(cmd, s)
			}
			agreed[f.Path] = f.Hash
			text, err := json.MarshalIndent(agreed, "", "  ")
			if err != nil {
				return err
			}
			if err := os.MkdirAll(filepath.Dir(mcpservers.TrustedFile()), 0o700); err != nil {
				return err
			}
			return cli.ReplaceFile(mcpservers.TrustedFile(), append(text, '\n'), 0o600)
		},
	}
	return cmd
}
