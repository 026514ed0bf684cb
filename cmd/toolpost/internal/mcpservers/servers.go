// Package mcpservers finds and opens the MCP servers of the configuration, of a project and of --mcp.
package mcpservers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/buildinfo"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/settings"
	"github.com/toolpost/toolpost/internal/secret"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/mcpbridge/client"
	"github.com/toolpost/toolpost/mcpbridge/config"
	"github.com/toolpost/toolpost/tool"
)

// Active holds the MCP servers of a conversation.
type Active struct {
	Bridge  *client.Servers // nil without servers
	Initial *tool.Set       // the tools of the servers at the start
	Changed func()          // called when tools may have changed; may be nil

	RedactNotice func(string) string // redacts secrets in notices of servers; may be nil
	noticing     sync.Mutex
	notices      []string
}

// maxNotices limits the number of stored notices.
const maxNotices = 200

func (m *Active) Notice(n config.Notice) {
	m.noticing.Lock()
	defer m.noticing.Unlock()
	if len(m.notices) < maxNotices {
		m.notices = append(m.notices, n.String())
	}
}

// TakeNotices returns the notices of servers since the last call.
func (m *Active) TakeNotices() []string {
	m.noticing.Lock()
	defer m.noticing.Unlock()
	out := m.notices
	m.notices = nil
	if m.RedactNotice == nil {
		return out
	}
	for i := range out {
		out[i] = m.RedactNotice(out[i])
	}
	return out
}

// ShowNotices prints the new notices of servers.
func (m *Active) ShowNotices(cmd *cobra.Command) {
	for _, n := range m.TakeNotices() {
		fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+cli.Printable(n))
	}
}

// Dir returns the folder for tool lists and accepted tool definitions.
func Dir() string { return filepath.Join(settings.StateDir(), "mcp") }

// Options returns the options for opening servers. It also registers the secrets of the servers for redaction.
func Options(s *settings.Settings, chosen []config.ServerConfig, notify func(config.Notice)) client.Options {
	for _, c := range chosen {
		s.ToolSecrets = append(s.ToolSecrets, secret.Values(append(serverSecrets(c), client.LoginSecrets(Dir(), c, os.LookupEnv)...))...)
	}
	return client.Options{Dir: Dir(), Lookup: os.LookupEnv, Secrets: s.Secrets(), Supervised: true, Notify: notify, Version: buildinfo.Read().Version}
}

// Open opens servers without a model for sampling.
func Open(s *settings.Settings, chosen []config.ServerConfig, notify func(config.Notice)) (*client.Servers, error) {
	return client.Open(Options(s, chosen, notify), chosen...)
}

// Configured returns the servers of the configuration and of trusted project files, sorted by name.
func Configured(o *settings.ToolOptions) ([]config.ServerConfig, error) {
	entries := make(map[string]config.ServerEntry)
	files, err := ProjectFiles(o.Root)
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		if !f.Trusted {
			continue
		}
		for _, server := range f.Servers {
			entries[server.Name] = server.Entry
		}
	}
	for name, e := range o.MCPServers { // the user's servers override those of a project
		entries[name] = e
	}
	var out []config.ServerConfig
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		out = append(out, entries[name].Config(name))
	}
	return out, nil
}

// Chosen returns the servers that a command uses.
func Chosen(o *settings.ToolOptions, cmd *cobra.Command) ([]config.ServerConfig, error) {
	all, err := Configured(o)
	if err != nil {
		return nil, err
	}
	if len(o.MCP) == 0 {
		return slices.DeleteFunc(all, func(c config.ServerConfig) bool { return c.Disabled }), nil
	}
	var out []config.ServerConfig
	for _, word := range o.MCP {
		if word == "none" {
			if len(o.MCP) > 1 {
				return nil, cli.Usagef(cmd, "--mcp none stands alone")
			}
			return nil, nil
		}
		c, err := Find(o, all, word)
		if err != nil {
			return nil, cli.Usagef(cmd, "--mcp: %w", err)
		}
		first := c.Name
		for n := 2; slices.ContainsFunc(out, func(o config.ServerConfig) bool { return o.Name == c.Name }); n++ {
			c.Name = fmt.Sprint(first, "-", n)
		}
		out = append(out, c)
	}
	return out, nil
}

// serverNamed returns the server that a word names: a configured server, an address, or a command with its arguments.
func serverNamed(all []config.ServerConfig, word string) (config.ServerConfig, error) {
	if i := slices.IndexFunc(all, func(c config.ServerConfig) bool { return c.Name == word }); i >= 0 {
		all[i].Disabled = false
		return all[i], nil
	}
	if strings.Contains(word, "://") {
		u, err := url.Parse(word)
		if err != nil {
			return config.ServerConfig{}, fmt.Errorf("the address cannot be read")
		}
		c := config.ServerConfig{Name: serverName(u.Hostname()), URL: word}
		return c, c.Check()
	}
	parts, err := SplitWords(word)
	if err != nil {
		return config.ServerConfig{}, err
	}
	if len(parts) == 0 {
		return config.ServerConfig{}, fmt.Errorf("it names no server")
	}
	if _, err := exec.LookPath(parts[0]); err != nil && len(parts) == 1 {
		names := make([]string, len(all))
		for i, c := range all {
			names[i] = c.Name
		}
		return config.ServerConfig{}, fmt.Errorf("no server of the configuration is called %s, and no program%s", word, cli.DidYouMean(word, names))
	}
	c := config.ServerConfig{Name: serverName(filepath.Base(parts[0])), Command: parts[0], Args: parts[1:]}
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
	Path    string
	Hash    journal.Hash
	Servers []config.ImportedServer
	Trusted bool  // the user has agreed to this content
	changed bool  // the user has agreed to other content
	broken  error // parse error
}

// projectNames are the usual locations of a project's server file.
var projectNames = []string{".mcp.json", ".vscode/mcp.json", ".cursor/mcp.json"}

// ProjectFiles returns the server files in a folder. Their servers are used only if the user has agreed to exactly this
// content.
func ProjectFiles(root string) ([]projectFile, error) {
	agreed, err := ReadTrusted()
	if err != nil {
		return nil, err
	}
	var out []projectFile
	for _, name := range projectNames {
		f, err := ReadProjectFile(filepath.Join(root, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			out = append(out, projectFile{Path: cli.Absolute(filepath.Join(root, filepath.FromSlash(name))), broken: err})
			continue
		}
		before, known := agreed[f.Path]
		f.Trusted, f.changed = before == f.Hash, known && before != f.Hash
		out = append(out, f)
	}
	return out, nil
}

func ReadProjectFile(file string) (projectFile, error) {
	text, err := cli.ReadFile(file, settings.MaxConfig)
	if err != nil {
		return projectFile{}, err
	}
	f := projectFile{Path: cli.Absolute(file)}
	if f.Servers, err = config.ReadServers(text); err != nil {
		return f, fmt.Errorf("%s: %w", file, err)
	}
	for i := range f.Servers {
		InWorkspace(&f.Servers[i].Entry, file)
	}
	f.Hash, err = journal.HashValue(string(text))
	return f, err
}

func TrustedFile() string { return filepath.Join(Dir(), "trusted", "files.json") }

// ReadTrusted returns the hash of each project file that the user has agreed to.
func ReadTrusted() (map[string]journal.Hash, error) {
	agreed := make(map[string]journal.Hash)
	text, err := cli.ReadFile(TrustedFile(), settings.MaxConfig)
	if os.IsNotExist(err) {
		return agreed, nil
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &agreed); err != nil {
		return nil, fmt.Errorf("%s: %w", TrustedFile(), err)
	}
	return agreed, nil
}

// WhereOf returns the address or the command of a server, without possible secrets.
func WhereOf(c config.ServerConfig) string {
	if c.URL != "" {
		if u, err := url.Parse(c.URL); err == nil && u.Host != "" {
			return u.Scheme + "://" + u.Host + u.Path
		}
		return "an address with variables"
	}
	return strings.Join(append([]string{c.Command}, c.Args...), " ")
}

// OpenOne opens the server that a word names. The caller closes it.
func OpenOne(cmd *cobra.Command, word string) (*settings.Settings, *client.Servers, string, error) {
	s, err := settings.Load(cmd)
	if err != nil {
		return nil, nil, "", err
	}
	all, err := Configured(&s.ToolOptions)
	if err != nil {
		return nil, nil, "", err
	}
	c, err := Find(&s.ToolOptions, all, word)
	if err != nil {
		return nil, nil, "", cli.Usagef(cmd, "%w", err)
	}
	servers, err := Open(s, []config.ServerConfig{c}, func(n config.Notice) {
		if n.Tool == "" && strings.HasPrefix(n.Text, "is not there") {
			return // the command returns the same error
		}
		fmt.Fprintln(cmd.ErrOrStderr(), "toolpost: "+cli.Printable(s.Redact(withWords(n.String(), c, word))))
	})
	if err == nil {
		cli.MustEnd(cmd.Context())
	}
	return s, servers, c.Name, err
}

// InWorkspace makes the env_file path of a server in a project's file absolute, relative to the project.
func InWorkspace(e *config.ServerEntry, file string) {
	if e.EnvFile == "" || filepath.IsAbs(e.EnvFile) || strings.HasPrefix(e.EnvFile, "${") {
		return
	}
	dir := filepath.Dir(cli.Absolute(file))
	if base := filepath.Base(dir); base == ".vscode" || base == ".cursor" {
		dir = filepath.Dir(dir)
	}
	e.EnvFile = filepath.Join(dir, e.EnvFile)
}

// CheckSeen refuses a server with invisible characters. They could control a terminal, and readers of the file would
// miss them.
func CheckSeen(s config.ImportedServer) error {
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

// Find returns the server that a word names. If the server is in a project's file that is not trusted, the error
// tells the user about it.
func Find(o *settings.ToolOptions, all []config.ServerConfig, word string) (config.ServerConfig, error) {
	c, err := serverNamed(all, word)
	if err == nil {
		return c, nil
	}
	files, unread := ProjectFiles(o.Root)
	if unread != nil {
		return c, err
	}
	for _, f := range files {
		for _, server := range f.Servers {
			if server.Name == word && !f.Trusted {
				return c, fmt.Errorf("%s is a server of %s, %s; 'toolpost mcp trust %s' shows it and agrees to it", word, f.Path, f.why(), cli.ShellWord(f.Path))
			}
		}
	}
	return c, err
}

// why explains why the servers of a project's file are not used.
func (f projectFile) why() string {
	if f.changed {
		return "which has changed since you agreed to it"
	}
	return "to which you have not agreed"
}

// Notice reports that the servers of a file are not used, and how to use them.
func (f projectFile) Notice() string {
	if f.broken != nil {
		return fmt.Sprintf("%s is not used, because it cannot be read: %s", f.Path, cli.InOneLine(f.broken.Error()))
	}
	return fmt.Sprintf("%s, %s, has %s, which are not used; 'toolpost mcp trust %s' shows them and agrees to them", f.Path, f.why(), cli.Count(len(f.Servers), "server"), cli.ShellWord(f.Path))
}

// Namer returns a function that rewrites notices of the chosen servers for the user. words are the values of --mcp.
func Namer(words []string, chosen []config.ServerConfig, redact func(string) string) func(string) string {
	return func(text string) string {
		for i := range min(len(words), len(chosen)) { // each word is a server
			text = withWords(text, chosen[i], words[i])
		}
		return redact(text)
	}
}

// withWords replaces the name of a server that is not configured by the words of its --mcp flag. It applies to the
// command that a notice suggests.
func withWords(text string, c config.ServerConfig, word string) string {
	if word == c.Name {
		return text
	}
	return strings.ReplaceAll(text, "toolpost mcp tools "+c.Name+" --approve", "toolpost mcp tools "+cli.ShellWord(word)+" --approve")
}

// SplitWords splits a command like a shell. Quotes keep words together. A backslash escapes a quote or a space. Other
// backslashes are kept, as in Windows paths.
func SplitWords(line string) ([]string, error) {
	var words []string
	var word strings.Builder
	var quote rune
	inWord := false
	text := []rune(line)
	for i := 0; i < len(text); i++ {
		r := text[i]
		switch {
		case r == '\\' && quote != '\'' && i+1 < len(text) && strings.ContainsRune(`'" `, text[i+1]):
			i++
			word.WriteRune(text[i])
			inWord = true
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, inWord = r, true
		case !unicode.IsSpace(r):
			word.WriteRune(r)
			inWord = true
		case inWord:
			words = append(words, word.String())
			word.Reset()
			inWord = false
		}
	}
	if quote != 0 {
		return nil, errors.New("a quote in the command is not closed")
	}
	if inWord {
		words = append(words, word.String())
	}
	return words, nil
}

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
func ShowChange(cmd *cobra.Command, c config.ToolChange, redact func(string) string) {
	out := cmd.ErrOrStderr()
	fmt.Fprintf(out, "toolpost: %s was changed by its server:\n", cli.InOneLine(redact(c.Is.Name)))
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
			fmt.Fprintf(out, "  %s\n    was  %s\n    is   %s\n", row[0], cli.InOneLine(redact(row[1])), cli.InOneLine(redact(row[2])))
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

// ToolsOf returns the tools of a configured MCP server under the names that the server gives them.
func ToolsOf(ctx context.Context, s *settings.Settings, name string) ([]llm.ToolDef, error) {
	all, err := Configured(&s.ToolOptions)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(all, func(c config.ServerConfig) bool { return c.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("no MCP server is named %s in the configuration", name)
	}
	servers, err := Open(s, all[i:i+1], nil)
	if err != nil {
		return nil, err
	}
	defer servers.Close()
	if err := servers.Connect(ctx, name); err != nil {
		return nil, err
	}
	defs, used := servers.Definitions(name)
	var out []llm.ToolDef
	for _, d := range defs {
		if used(d.Name) {
			out = append(out, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: d.Input})
		}
	}
	return out, nil
}
