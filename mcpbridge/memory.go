package mcpbridge

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/journal"
)

// memory is the state of a server that is kept between runs: its last list, with which its tools
// are offered before it is started, and the first or approved definition of each tool.
type memory struct {
	// Server is the hash of how the server is reached. Of another server nothing
	// is known.
	Server journal.Hash `json:"server"`
	// Revision is that of the handshake the server needs; empty means the newest.
	Revision string       `json:"revision,omitempty"`
	List     []ServerTool `json:"list"`
	// Known are the accepted definitions by name, also of removed tools: a tool that returns with
	// another definition has changed.
	Known map[string]ServerTool `json:"known"`

	prints map[string]journal.Hash // of Known, computed on demand
}

// print returns the fingerprint of an accepted definition, "" if there is none.
func (m *memory) print(name string) journal.Hash {
	if p, ok := m.prints[name]; ok {
		return p
	}
	known, ok := m.Known[name]
	if !ok {
		return ""
	}
	p := known.Fingerprint()
	m.noted(name, p)
	return p
}

func (m *memory) noted(name string, print journal.Hash) {
	if m.prints == nil {
		m.prints = make(map[string]journal.Hash)
	}
	m.prints[name] = print
}

// accept accepts the current definition of a tool.
func (m *memory) accept(d ServerTool, print journal.Hash) {
	m.Known[d.Name] = d
	m.noted(d.Name, print)
}

// maxMemory bounds the file, and maxKnown the tools that are remembered.
const (
	maxMemory = 4 * maxListBytes
	maxKnown  = 2 * maxTools
)

// identity is the hash of how a server is reached, before variables are replaced.
func identity(s ServerConfig) journal.Hash {
	h, _ := journal.HashValue([]any{s.transport(), s.Command, s.Args, s.Dir, s.URL})
	return h
}

// memoryFile is the file of one server. Different servers of the same name, in two configurations or
// on the command line, have different files, and none overwrites another.
func memoryFile(dir string, s ServerConfig) string {
	_, digest, _ := strings.Cut(string(identity(s)), ":")
	return filepath.Join(dir, s.Name+"-"+digest[:min(len(digest), 32)]+".json")
}

// remember reads the state of a server. A file that cannot be read is an error: to continue would
// approve every definition again.
func remember(dir string, s ServerConfig) (memory, error) {
	m := memory{Server: identity(s), Known: make(map[string]ServerTool)}
	if dir == "" {
		return m, nil
	}
	file := memoryFile(dir, s)
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return m, nil
	}
	if err != nil {
		return m, err
	}
	if info.Size() > maxMemory {
		return m, fmt.Errorf("%s has more than %d bytes; remove it to begin anew", file, maxMemory)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	var stored memory
	if err := json.Unmarshal(text, &stored); err != nil {
		return m, fmt.Errorf("%s cannot be read; remove it to begin anew: %w", file, err)
	}
	if stored.Server != m.Server || stored.Known == nil {
		return m, nil // the name belongs to another server now
	}
	return stored, nil
}

// learn accepts the definitions that are new and returns what changed. For a server
// that is trusted it accepts changes, too.
func (m *memory) learn(s ServerConfig, list *listing) []Notice {
	var news []Notice
	first := len(m.Known) == 0
	for _, d := range list.defs {
		known, seen := m.Known[d.Name]
		now := list.prints[d.Name]
		switch {
		case !seen && len(m.Known) < maxKnown:
			m.accept(d, now)
			if !first && (s.Tools == nil || slices.Contains(s.Tools, d.Name)) {
				news = append(news, Notice{Server: s.Name, Tool: d.Name, Text: "is new since the server was first listed"})
			}
		case !seen, m.print(d.Name) == now:
		case s.Trust == TrustAnnotations:
			m.accept(d, now)
			news = append(news, Notice{Server: s.Name, Tool: d.Name, Text: "was changed by its server: " + changes(known, d)})
		default:
			news = append(news, Notice{Server: s.Name, Tool: d.Name, Changed: true,
				Text: "was changed by its server (" + changes(known, d) + ") and is not used until you approve it: toolpost mcp tools " + s.Name + " --approve"})
		}
	}
	m.List = list.defs
	return news
}

// accepts reports whether a definition is the accepted one.
func (m *memory) accepts(d ServerTool, print journal.Hash) bool {
	return print != "" && m.print(d.Name) == print
}

// approve accepts the definitions of a list and returns the names of the changed tools.
func (m *memory) approve(list *listing) []string {
	var names []string
	for _, d := range list.defs {
		if !m.accepts(d, list.prints[d.Name]) {
			names = append(names, d.Name)
		}
		m.accept(d, list.prints[d.Name])
	}
	slices.Sort(names)
	return names
}

// changes returns the tools of a list that differ from their accepted definitions.
func (m *memory) changes(list *listing) []ToolChange {
	var out []ToolChange
	for _, d := range list.defs {
		if known, seen := m.Known[d.Name]; seen && !m.accepts(d, list.prints[d.Name]) {
			out = append(out, ToolChange{known, d})
		}
	}
	return out
}

// save writes the state for the next run.
func (m *memory) save(dir string, s ServerConfig) error {
	if dir == "" {
		return nil
	}
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+s.Name+"-*") // with mode 0600
	if err != nil {
		return err
	}
	_, err = temp.Write(text)
	err = errors.Join(err, temp.Close())
	if err == nil {
		err = os.Rename(temp.Name(), memoryFile(dir, s))
	}
	if err != nil {
		err = errors.Join(err, os.Remove(temp.Name()))
	}
	return err
}
