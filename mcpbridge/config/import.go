package config

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"

	"github.com/toolpost/toolpost/internal/yamlcheck"
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

// sections are where programs keep their servers.
var sections = [][]string{
	{"mcpServers"},                         // Claude Desktop, Claude Code, Cursor
	{"servers"},                            // VS Code
	{"mcp_servers"},                        // ours
	{"workflow", "runtime", "mcp_servers"}, // Conductor
}

// ReadServers reads the servers of a file: mcpServers of Claude Desktop and Cursor,
// servers and inputs of VS Code, mcp_servers of Conductor workflows and of our
// configuration. JSON may have comments. A file that cannot be understood is a
// *[LineError]. If only some servers cannot, the error is [BadServers], in addition to the
// others. A file without servers is an error, too.
func ReadServers(text []byte) ([]ImportedServer, error) {
	text = bytes.TrimPrefix(text, []byte("\ufeff"))
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
	for _, path := range sections {
		node := descend(file.Docs[0].Body, path)
		if node == nil {
			continue
		}
		if out, bad := importServers(pairs(node)); len(bad) > 0 {
			return out, bad
		} else if len(out) > 0 {
			return out, nil
		}
	}
	return nil, errNoServers
}

// importServers reads servers and says where those stand that it cannot read.
func importServers(entries []*ast.MappingValueNode) (out []ImportedServer, bad BadServers) {
	names := make(map[string]bool)
	for _, pair := range entries {
		s, err := importServer(pair)
		if err == nil && names[s.Name] {
			err = &LineError{pair.GetToken().Position.Line, fmt.Errorf("%s: another server is called %s here, too", keyOf(pair), s.Name)}
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

func lineOf(err error) error {
	var at yaml.Error
	if errors.As(err, &at) && at.GetToken() != nil && at.GetToken().Position != nil {
		return &LineError{at.GetToken().Position.Line, errors.New(at.GetMessage())}
	}
	return err
}

// descend follows keys into mappings; nil if one is not there.
func descend(node ast.Node, path []string) ast.Node {
	for _, key := range path {
		found := false
		for _, pair := range pairs(node) {
			if keyOf(pair) == key {
				node, found = pair.Value, true
				break
			}
		}
		if !found {
			return nil
		}
	}
	return node
}

func pairs(node ast.Node) []*ast.MappingValueNode {
	switch n := node.(type) {
	case *ast.MappingNode:
		return n.Values
	case *ast.MappingValueNode:
		return []*ast.MappingValueNode{n}
	}
	return nil
}

func keyOf(pair *ast.MappingValueNode) string {
	return strings.Trim(pair.Key.GetToken().Value, `"'`)
}

// fields are the keys of an entry, by the words of all programs.
type fields struct {
	entry *ServerEntry
	notes *[]string
}

// importServer reads one server.
func importServer(pair *ast.MappingValueNode) (ImportedServer, *LineError) {
	s := ImportedServer{Name: keyOf(pair)}
	at := func(n ast.Node, err error) *LineError {
		return &LineError{n.GetToken().Position.Line, fmt.Errorf("%s: %w", keyOf(pair), err)}
	}
	if !ValidServerName(s.Name) {
		renamed := safeServerName(s.Name)
		s.Notes = append(s.Notes, fmt.Sprintf("%q is called %s here", s.Name, renamed))
		s.Name = renamed
	}
	if len(pairs(pair.Value)) == 0 {
		return s, at(pair, errors.New("a server is a mapping with command or url"))
	}
	f := fields{&s.Entry, &s.Notes}
	for _, p := range pairs(pair.Value) {
		if err := f.take(keyOf(p), p.Value); err != nil {
			return s, at(p, err)
		}
	}
	if err := f.variables(); err != nil {
		return s, at(pair, err)
	}
	if err := s.Entry.Config(s.Name).Check(); err != nil {
		return s, at(pair, err)
	}
	return s, nil
}

// take reads one key of an entry.
func (f fields) take(key string, node ast.Node) error {
	into := map[string]any{
		"type": &f.entry.Type, "command": &f.entry.Command, "args": &f.entry.Args, "env": &f.entry.Env, "envFile": &f.entry.EnvFile, "cwd": &f.entry.Cwd,
		"url": &f.entry.URL, "serverUrl": &f.entry.URL, "headers": &f.entry.Headers,
		"connect_timeout": &f.entry.ConnectTimeout, "call_timeout": &f.entry.CallTimeout, "protocol": &f.entry.Protocol, "trust": &f.entry.Trust,
	}[key]
	if done, err := f.takeOther(key, node); done {
		return err
	}
	if into == nil {
		f.note("%s is left out: nothing here corresponds to it", key)
		return nil
	}
	if holdsNull(node) { // it would become an empty text
		return fmt.Errorf("%s holds null", key)
	}
	if err := yaml.NodeToValue(node, into); err != nil {
		return fmt.Errorf("%s cannot be read as what it should be", key)
	}
	if key == "type" {
		f.entry.Type = transportWords[f.entry.Type]
		if f.entry.Type == "" {
			return errors.New("type is stdio, http or sse")
		}
	}
	if key == "trust" && f.entry.Trust == string(TrustAnnotations) {
		f.note("its annotations are trusted, as the file says")
	}
	return nil
}

// holdsNull reports whether a value, or one in it, is null.
func holdsNull(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.NullNode:
		return true
	case *ast.SequenceNode:
		return slices.ContainsFunc(n.Values, holdsNull)
	}
	return slices.ContainsFunc(pairs(node), func(p *ast.MappingValueNode) bool { return holdsNull(p.Value) })
}

// takeOther reads a key whose value is not kept as it stands.
func (f fields) takeOther(key string, node ast.Node) (done bool, err error) {
	var ms int64
	var on bool
	list := []string{}
	switch key {
	case "timeout": // of a request, in milliseconds
		if err := yaml.NodeToValue(node, &ms); err != nil || ms <= 0 || ms > int64(24*time.Hour/time.Millisecond) {
			return true, errors.New("timeout is a number of milliseconds")
		}
		f.entry.CallTimeout = time.Duration(ms) * time.Millisecond
	case "enabled", "disabled":
		if err := yaml.NodeToValue(node, &on); err != nil {
			return true, fmt.Errorf("%s is neither true nor false", key)
		}
		on = on == (key == "enabled")
		f.entry.Enabled = &on
	case "tools":
		if err := yaml.NodeToValue(node, &list); err != nil {
			return true, errors.New("tools is a list of names")
		}
		f.entry.Tools = &list
	default:
		return false, nil
	}
	return true, nil
}

// transportWords are the words of all programs for transports.
var transportWords = map[string]string{
	"stdio": "stdio", "local": "stdio", "http": "http", "streamableHttp": "http", "streamable-http": "http", "sse": "sse",
}

func (f fields) note(format string, args ...any) {
	*f.notes = append(*f.notes, fmt.Sprintf(format, args...))
}

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// variables turns the words of other programs for variables into ours.
func (f fields) variables() error {
	var wrong error
	change := func(text *string) {
		*text = variable.ReplaceAllStringFunc(*text, func(whole string) string {
			out, err := f.variable(whole[2 : len(whole)-1])
			if err != nil && wrong == nil {
				wrong = err
			}
			return out
		})
	}
	e := f.entry
	for _, text := range []*string{&e.Command, &e.EnvFile, &e.Cwd, &e.URL} {
		change(text)
	}
	for i := range e.Args {
		change(&e.Args[i])
	}
	for _, m := range []map[string]string{e.Env, e.Headers} {
		for key, value := range m {
			change(&value)
			m[key] = value
		}
	}
	return wrong
}

func (f fields) variable(inside string) (string, error) {
	kind, name, special := strings.Cut(inside, ":")
	switch {
	case inside == "workspaceFolder":
		return ".", nil
	case inside == "userHome":
		return "${HOME}", nil
	case inside == "pathSeparator" || inside == "/":
		return "/", nil
	case special && kind == "env":
		return "${" + name + "}", nil
	case special && kind == "input":
		upper := strings.ToUpper(strings.Map(func(r rune) rune {
			if r == '-' || r == '.' || r == ' ' {
				return '_'
			}
			return r
		}, name))
		f.note("set the variable %s: the file asks for it as input %s", upper, name)
		return "${" + upper + "}", nil
	case special && !strings.HasPrefix(name, "-"):
		return "", fmt.Errorf("${%s} is not known here", inside)
	}
	return "${" + inside + "}", nil
}

// safeServerName makes a name of a server out of any text.
func safeServerName(name string) string {
	words := strings.FieldsFunc(name, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '-'
	})
	out := strings.Join(words, "_")
	out = strings.Trim(out[:min(len(out), MaxServerName)], "_")
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
