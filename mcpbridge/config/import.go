package config

import (
	"bytes"
	"errors"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/internal/yamlcheck"
	"github.com/toolpost/toolpost/mcpbridge/internal/names"
)

// ImportedServer is a server out of another program's file.
type ImportedServer struct {
	Name  string
	Entry ServerEntry
	// Notes describe settings that were not imported, and settings to fill in first.
	Notes []string
}

// LineError is a place in a file that cannot be understood.
type LineError struct {
	Line int
	Err  error
}

// Error returns the problem with its line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the problem.
func (e *LineError) Unwrap() error { return e.Err }

// BadServers are the places of the servers of a file that cannot be understood.
type BadServers []*LineError

// Error returns the problems with their lines.
func (b BadServers) Error() string { return errors.Join(b.Unwrap()...).Error() }

// Unwrap returns the problems.
func (b BadServers) Unwrap() []error {
	out := make([]error, len(b))
	for i, e := range b {
		out[i] = e
	}
	return out
}

// section is where a program keeps its servers.
type section struct {
	path []string
	// seconds means that a timeout is in seconds, and not in milliseconds.
	seconds bool
	// starting means that a timeout is that of the start.
	starting bool
}

// sections are tried in this order.
var sections = []section{
	{path: []string{"mcpServers"}},                         // Claude, Cursor, Windsurf, Gemini
	{path: []string{"mcp", "servers"}},                     // settings of VS Code
	{path: []string{"servers"}},                            // mcp.json of VS Code
	{path: []string{"mcp_servers"}},                        // ours, and Codex
	{path: []string{"workflow", "runtime", "mcp_servers"}}, // Conductor
	{path: []string{"context_servers"}},                    // Zed
	{path: []string{"extensions"}, seconds: true},          // goose
	{path: []string{"mcp"}, starting: true},                // opencode
}

// ReadServers reads the servers of a file of another program: of Claude Desktop, Claude Code, Codex, Cursor, Gemini,
// goose, opencode, VS Code, Windsurf, Zed, Conductor workflows, and our configuration. JSON may have comments. A file
// that cannot be understood is a *[LineError]. If only some servers cannot, the error is [BadServers], in addition to
// the others. A file without servers is an error, too.
func ReadServers(text []byte) ([]ImportedServer, error) {
	file, err := readFile(bytes.TrimPrefix(text, []byte("\ufeff")))
	if err != nil {
		return nil, err
	}
	var out []ImportedServer
	var bad BadServers
	for _, s := range sections {
		if entries := file.at(s.path...); entries != nil {
			out, bad = importServers(s, entries)
		}
		if len(out)+len(bad) > 0 {
			break
		}
	}
	out, bad = ofProjects(file, switched(file, out), bad)
	switch {
	case len(bad) > 0:
		return out, bad
	case len(out) == 0:
		return nil, errNoServers
	}
	return out, nil
}

// ofProjects adds the servers that Claude Code keeps for single folders. One of the same name as another, and different,
// gets the name of its folder as well.
func ofProjects(file *value, out []ImportedServer, bad BadServers) ([]ImportedServer, BadServers) {
	projects := file.at("projects")
	if projects == nil {
		return out, bad
	}
	for _, p := range projects.pairs {
		entries := p.of.at("mcpServers")
		if entries == nil {
			continue
		}
		var off []string
		if v := p.of.at("disabledMcpServers"); v != nil {
			_ = v.read(&off) // another type is another program's
		}
		own, wrong := importServers(sections[0], entries)
		bad = append(bad, wrong...)
		for _, s := range own {
			if slices.Contains(off, s.Name) {
				no := false
				s.Entry.Enabled = &no
				s.Notes = append(s.Notes, "is disabled, as disabledMcpServers says")
			}
			same := func(o ImportedServer) bool { return o.Name == s.Name }
			if i := slices.IndexFunc(out, same); i >= 0 {
				if reflect.DeepEqual(out[i].Entry, s.Entry) {
					continue
				}
				was := s.Name
				s.Name = safeServerName(s.Name + "_" + path.Base(p.key))
				for n := 2; slices.ContainsFunc(out, same); n++ {
					s.Name = safeServerName(fmt.Sprintf("%s_%s_%d", was, path.Base(p.key), n))
				}
				s.Notes = append(s.Notes, fmt.Sprintf("%q is called %s here, because another server has its name", was, s.Name))
			}
			s.Notes = append(s.Notes, fmt.Sprintf("is of the folder %s in the file; here every run uses it, unless enabled is false", p.key))
			out = append(out, s)
		}
	}
	return out, bad
}

// readFile reads JSON with comments, YAML or TOML.
func readFile(text []byte) (*value, error) {
	if len(text) > maxFile {
		return nil, fmt.Errorf("it has more than %d bytes", maxFile)
	}
	if isTOML(string(text)) {
		return readTOML(string(text))
	}
	if trimmed := bytes.TrimSpace(text); len(trimmed) > 0 && trimmed[0] == '{' {
		text = plainJSON(text)
	}
	if err := yamlcheck.Check(text); err != nil {
		return nil, err
	}
	file, err := yamlcheck.ParsePlain(text)
	if err != nil {
		return nil, lineOf(err)
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return nil, errNoServers
	}
	return valueOf(file.Docs[0].Body), nil
}

// maxFile bounds a file of servers.
const maxFile = 4 << 20

// importServers reads servers and reports the lines of those that it cannot read.
func importServers(in section, entries *value) (out []ImportedServer, bad BadServers) {
	names := make(map[string]bool)
	for _, p := range entries.pairs {
		s, err := importServer(in, p)
		if err == nil && names[s.Name] {
			err = &LineError{p.line, fmt.Errorf("%s: another server is called %s here, too", p.key, s.Name)}
		}
		if err != nil {
			bad = append(bad, err)
			continue
		}
		names[s.Name] = true
		out = append(out, s)
	}
	return out, bad
}

// switched turns off what a file turns off outside of the servers: mcp.allowed and mcp.excluded of Gemini, and tools of
// opencode.
func switched(file *value, servers []ImportedServer) []ImportedServer {
	var allowed, excluded []string
	if v := file.at("mcp", "allowed"); v != nil {
		_ = v.read(&allowed) // another type is another program's
	}
	if v := file.at("mcp", "excluded"); v != nil {
		_ = v.read(&excluded)
	}
	off := false
	for i := range servers {
		s := &servers[i]
		disable := func(setting string) {
			s.Entry.Enabled = &off
			s.Notes = append(s.Notes, "is disabled, as "+setting+" says")
		}
		if allowed != nil && !slices.Contains(allowed, s.Name) {
			disable("mcp.allowed")
		} else if slices.Contains(excluded, s.Name) {
			disable("mcp.excluded")
		}
		if file.at("mcp") == nil || file.at("tools") == nil {
			continue
		}
		for _, p := range file.at("tools").pairs {
			tool, own := strings.CutPrefix(p.key, s.Name)
			switch tool = strings.TrimPrefix(tool, "_"); {
			case p.of.text != "false" || !own:
			case tool == "*":
				disable("tools")
			default:
				s.Entry.DisabledTools = append(s.Entry.DisabledTools, tool)
			}
		}
	}
	return servers
}

func lineOf(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		return &LineError{at.GetToken().Position.Line, errors.New(at.GetMessage())}
	}
	return err
}

// importServer reads one server.
func importServer(in section, p pair) (ImportedServer, *LineError) {
	s := ImportedServer{Name: p.key}
	at := func(line int, err error) *LineError { return &LineError{line, fmt.Errorf("%s: %w", p.key, err)} }
	if !names.ValidServer(s.Name) {
		renamed := safeServerName(s.Name)
		s.Notes = append(s.Notes, fmt.Sprintf("%q is called %s here", s.Name, renamed))
		s.Name = renamed
	}
	if p.of.kind != mapping || len(p.of.pairs) == 0 {
		return s, at(p.line, errors.New("a server is a mapping with command or url"))
	}
	f := fields{entry: &s.Entry, notes: &s.Notes, in: in, name: s.Name}
	for _, member := range p.of.pairs {
		if err := f.take(member.key, member.of); err != nil {
			return s, at(member.line, err)
		}
	}
	if err := f.finish(); err != nil {
		return s, at(p.line, err)
	}
	if e := s.Entry; e.Enabled != nil && !*e.Enabled && e.Command == "" && e.URL == "" {
		return s, at(p.line, errors.New("it is turned off, and the file does not say how it is reached: there is nothing to import"))
	}
	if err := s.Entry.Config(s.Name).Check(); err != nil {
		return s, at(p.line, err)
	}
	return s, nil
}

// safeServerName makes a name of a server out of any text.
func safeServerName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	})
	out := strings.Join(words, "_")
	out = strings.Trim(out[:min(len(out), names.MaxServer)], "_")
	if out == "" {
		return "server"
	}
	return out
}

// plainJSON takes comments and commas before a bracket out of JSON, and tabs, which
// YAML does not take, and leaves every line where it is.
func plainJSON(text []byte) []byte {
	out := slices.Clone(text)
	comma := -1
	for i := 0; i < len(out); i++ {
		switch c := out[i]; {
		case c == '"':
			comma = -1
			for i++; i < len(out) && out[i] != '"'; i++ {
				if out[i] == '\\' {
					i++
				}
			}
		case c == '/' && i+1 < len(out) && (out[i+1] == '/' || out[i+1] == '*'):
			i = blankComment(out, i)
		case c == ',':
			comma = i
		case (c == '}' || c == ']') && comma >= 0:
			out[comma], comma = ' ', -1
		case c == '\t' || c == '\r':
			out[i] = ' '
		case c != ' ' && c != '\n':
			comma = -1
		}
	}
	return out
}

// blankComment replaces the comment at i by blanks and returns where it ends.
func blankComment(text []byte, i int) int {
	block := text[i+1] == '*'
	for ; i < len(text); i++ {
		if !block && text[i] == '\n' {
			return i
		}
		if block && text[i] == '*' && i+1 < len(text) && text[i+1] == '/' {
			text[i], text[i+1] = ' ', ' '
			return i + 1
		}
		if text[i] != '\n' {
			text[i] = ' '
		}
	}
	return i
}
