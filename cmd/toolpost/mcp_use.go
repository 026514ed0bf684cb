package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge"
	"github.com/toolpost/toolpost/tool"
)

const mcpUsage = "use this MCP `SERVER`: a name in the configuration, a command or an address, or none; may be repeated. Without it, all of the configuration are used"

// mcpServers holds the MCP servers of a conversation.
type mcpServers struct {
	bridge *mcpbridge.Servers // nil without servers
	first  *tool.Set          // the tools of the servers at the start
	news   func()             // called when tools may have changed; may be nil

	redactNotice func(string) string // redacts secrets in notices of servers; may be nil
	noticing     sync.Mutex
	notices      []string
}

// useServers opens the servers and adds their tools. The caller calls done.
func (w *wiring) useServers(ctx context.Context, cmd *cobra.Command) error {
	chosen, err := w.chosenServers(cmd)
	if err != nil || len(chosen) == 0 {
		return err
	}
	w.redactNotice = w.told(chosen)
	options := w.serverOptions(chosen, w.notice)
	options.Sample, options.Changed = w.sample, w.news
	if w.bridge, err = mcpbridge.Open(options, chosen...); err != nil {
		return err
	}
	w.close = append(w.close, func() { w.bridge.Close() })
	if w.first, err = w.bridge.Tools(ctx); err != nil {
		return w.redactError(err)
	}
	if err := w.missing(ctx); err != nil {
		return err
	}
	w.tools, err = tool.Join(w.tools, w.first)
	return err
}

// missing returns an error if a server failed to start and --mcp names servers. Failures of configured servers are not
// errors.
func (w *wiring) missing(ctx context.Context) error {
	if len(w.mcp) == 0 || ctx.Err() != nil {
		return ctx.Err()
	}
	for _, st := range w.bridge.Status() {
		if st.Err != nil {
			return w.redactError(fmt.Errorf("--mcp: server %s is not there: %w", st.Name, st.Err))
		}
	}
	return nil
}

// maxNotices limits the number of stored notices.
const maxNotices = 200

func (m *mcpServers) notice(n mcpbridge.Notice) {
	m.noticing.Lock()
	defer m.noticing.Unlock()
	if len(m.notices) < maxNotices {
		m.notices = append(m.notices, n.String())
	}
}

// takeNotices returns the notices of servers since the last call.
func (m *mcpServers) takeNotices() []string {
	m.noticing.Lock()
	defer m.noticing.Unlock()
	out := m.notices
	m.notices = nil
	if m.redactNotice == nil {
		return out
	}
	for i := range out {
		out[i] = m.redactNotice(out[i])
	}
	return out
}

// showNotices prints the new notices of servers.
func (m *mcpServers) showNotices(cmd *cobra.Command) {
	for _, n := range m.takeNotices() {
		fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+cli.Printable(n))
	}
}

// mcpDir returns the folder for tool lists and accepted tool definitions.
func mcpDir() string { return filepath.Join(stateDir(), "mcp") }

// serverOptions returns the options for opening servers. It also registers the secrets of the servers for redaction.
func (s *settings) serverOptions(chosen []mcpbridge.ServerConfig, notify func(mcpbridge.Notice)) mcpbridge.Options {
	for _, c := range chosen {
		s.hidden = append(s.hidden, secret.Values(append(serverSecrets(c), mcpbridge.LoginSecrets(mcpDir(), c, os.LookupEnv)...))...)
	}
	return mcpbridge.Options{Dir: mcpDir(), Lookup: os.LookupEnv, Secrets: s.secrets(), Supervised: true, Notify: notify, Version: readBuildInfo().Version}
}

// openServers opens servers without a model for sampling.
func (s *settings) openServers(chosen []mcpbridge.ServerConfig, notify func(mcpbridge.Notice)) (*mcpbridge.Servers, error) {
	return mcpbridge.Open(s.serverOptions(chosen, notify), chosen...)
}

// sample answers a sampling request of a server with the model of the run.
func (w *wiring) sample(ctx context.Context, _ string, req *llm.Request) (*llm.Response, error) {
	if w.money > 0 {
		return nil, errors.New("what that costs is not counted, and the run has a budget")
	}
	return llm.Generate(ctx, withhold(w.model, w.keep.Values), req)
}

// checkServers refuses servers with an invalid configuration.
func (s *settings) checkServers() error {
	for name, e := range s.MCPServers {
		if err := e.Config(name).Check(); err != nil {
			return err
		}
	}
	return nil
}

// configuredServers returns the servers of the configuration and of trusted project files, sorted by name.
func (s *settings) configuredServers() ([]mcpbridge.ServerConfig, error) {
	entries := make(map[string]mcpbridge.ServerEntry)
	files, err := projectFiles(s.Root)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if !f.trusted {
			continue
		}
		for _, server := range f.servers {
			entries[server.Name] = server.Entry
		}
	}
	for name, e := range s.MCPServers { // the user's servers override those of a project
		entries[name] = e
	}
	var out []mcpbridge.ServerConfig
	for _, name := range slices.Sorted(keys(entries)) {
		out = append(out, entries[name].Config(name))
	}
	return out, nil
}

// chosenServers returns the servers that a command uses.
func (s *settings) chosenServers(cmd *cobra.Command) ([]mcpbridge.ServerConfig, error) {
	all, err := s.configuredServers()
	if err != nil {
		return nil, err
	}
	if len(s.mcp) == 0 {
		return slices.DeleteFunc(all, func(c mcpbridge.ServerConfig) bool { return c.Disabled }), nil
	}
	var out []mcpbridge.ServerConfig
	for _, word := range s.mcp {
		if word == "none" {
			if len(s.mcp) > 1 {
				return nil, cli.Usagef(cmd, "--mcp none stands alone")
			}
			return nil, nil
		}
		c, err := s.serverFor(all, word)
		if err != nil {
			return nil, cli.Usagef(cmd, "--mcp: %w", err)
		}
		first := c.Name
		for n := 2; slices.ContainsFunc(out, func(o mcpbridge.ServerConfig) bool { return o.Name == c.Name }); n++ {
			c.Name = fmt.Sprint(first, "-", n)
		}
		out = append(out, c)
	}
	return out, nil
}

// serverNamed returns the server that a word names: a configured server, an address, or a command with its arguments.
func serverNamed(all []mcpbridge.ServerConfig, word string) (mcpbridge.ServerConfig, error) {
	if i := slices.IndexFunc(all, func(c mcpbridge.ServerConfig) bool { return c.Name == word }); i >= 0 {
		all[i].Disabled = false
		return all[i], nil
	}
	if strings.Contains(word, "://") {
		u, err := url.Parse(word)
		if err != nil {
			return mcpbridge.ServerConfig{}, fmt.Errorf("the address cannot be read")
		}
		c := mcpbridge.ServerConfig{Name: serverName(u.Hostname()), URL: word}
		return c, c.Check()
	}
	parts, err := splitWords(word)
	if err != nil {
		return mcpbridge.ServerConfig{}, err
	}
	if len(parts) == 0 {
		return mcpbridge.ServerConfig{}, fmt.Errorf("it names no server")
	}
	if _, err := exec.LookPath(parts[0]); err != nil && len(parts) == 1 {
		names := make([]string, len(all))
		for i, c := range all {
			names[i] = c.Name
		}
		return mcpbridge.ServerConfig{}, fmt.Errorf("no server of the configuration is called %s, and no program%s", word, cli.DidYouMean(word, names))
	}
	c := mcpbridge.ServerConfig{Name: serverName(filepath.Base(parts[0])), Command: parts[0], Args: parts[1:]}
	return c, c.Check()
}

// serverName derives the name of a server from the first word of a text.
func serverName(text string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' {
			return r
		}
		return '-'
	}, text)
	name = strings.Trim(name[:min(len(name), 24)], "-")
	if name == "" {
		return "server"
	}
	return name
}

// projectFile is a file of MCP servers in a project.
type projectFile struct {
	path    string
	hash    journal.Hash
	servers []mcpbridge.ImportedServer
	trusted bool  // the user has agreed to this content
	changed bool  // the user has agreed to other content
	broken  error // parse error
}

// projectNames are the usual locations of a project's server file.
var projectNames = []string{".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"}

// projectFiles returns the server files in a folder. Their servers are used only if the user has agreed to exactly this
// content.
func projectFiles(root string) ([]projectFile, error) {
	agreed, err := readTrusted()
	if err != nil {
		return nil, err
	}
	var out []projectFile
	for _, name := range projectNames {
		f, err := readProjectFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			out = append(out, projectFile{path: absolute(filepath.Join(root, filepath.FromSlash(name))), broken: err})
			continue
		}
		before, known := agreed[f.path]
		f.trusted, f.changed = before == f.hash, known && before != f.hash
		out = append(out, f)
	}
	return out, nil
}

func readProjectFile(file string) (projectFile, error) {
	text, err := cli.ReadFile(file, maxConfig)
	if err != nil {
		return projectFile{}, err
	}
	f := projectFile{path: absolute(file)}
	if f.servers, err = mcpbridge.ReadServers(text); err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	for i := range f.servers {
		inWorkspace(&f.servers[i].Entry, file)
	}
	f.hash, err = journal.HashValue(string(text))
	return f, err
}

func trustedFile() string { return filepath.Join(mcpDir(), "trusted", "files.json") }

// readTrusted returns the hash of each project file that the user has agreed to.
func readTrusted() (map[string]journal.Hash, error) {
	agreed := make(map[string]journal.Hash)
	text, err := cli.ReadFile(trustedFile(), maxConfig)
	if os.IsNotExist(err) {
		return agreed, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &agreed); err != nil {
		return nil, fmt.Errorf("%s: %w", trustedFile(), err)
	}
	return agreed, nil
}
