package toollist

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
	"github.com/toolpost/toolpost/mcpbridge/config"
)

// Memory is the state of a server that is kept between runs: its last list, with which its tools
// are offered before it is started, and the first or approved definition of each tool.
type Memory struct {
	// Server is the hash of how the server is reached. Of another server nothing
	// is known.
	Server journal.Hash `json:"server"`
	// Revision is that of the handshake the server needs; empty means the newest.
	Revision string              `json:"revision,omitempty"`
	List     []config.ServerTool `json:"list"`
	// Resources means that the server has resources.
	Resources bool `json:"resources,omitempty"`
	// Known are the accepted definitions by name, also of removed tools: a tool that returns with
	// another definition has changed.
	Known map[string]config.ServerTool `json:"known"`

	prints  map[string]journal.Hash // of Known, computed on demand
	unsaved []string                // of Known
}

// print returns the fingerprint of an accepted definition, "" if there is none.
func (m *Memory) print(name string) journal.Hash {
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

func (m *Memory) noted(name string, print journal.Hash) {
	if m.prints == nil {
		m.prints = make(map[string]journal.Hash)
	}
	m.prints[name] = print
}

// accept accepts the current definition of a tool.
func (m *Memory) accept(d config.ServerTool, print journal.Hash) {
	m.Known[d.Name] = d
	m.unsaved = append(m.unsaved, d.Name)
	m.noted(d.Name, print)
}

// maxMemory bounds the file, and maxKnown the tools that are remembered.
const (
	maxMemory = 4 * MaxListBytes
	MaxKnown  = 2 * MaxTools
)

// identity is the hash of how a server is reached, before variables are replaced.
func identity(s config.ServerConfig) journal.Hash {
	h, _ := journal.HashValue([]any{s.Kind(), s.Command, s.Args, s.Dir, s.URL})
	return h
}

// memoryFile is the file of one server. Different servers of the same name, in two configurations or
// on the command line, have different files, and none overwrites another.
func memoryFile(dir string, s config.ServerConfig) string {
	_, digest, _ := strings.Cut(string(identity(s)), ":")
	return filepath.Join(dir, s.Name+"-"+digest[:min(len(digest), 32)]+".json")
}

// Remember reads the state of a server. A file that cannot be read is an error: to continue would
// approve every definition again.
func Remember(dir string, s config.ServerConfig) (Memory, error) {
	m := Memory{Server: identity(s), Known: make(map[string]config.ServerTool)}
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
		return m, fmt.Errorf("%s has more than %d bytes; remove it to begin again", file, maxMemory)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return m, err
	}
	var stored Memory
	if err := json.Unmarshal(text, &stored); err != nil {
		return m, fmt.Errorf("%s cannot be read; remove it to begin again: %w", file, err)
	}
	if stored.Server != m.Server || stored.Known == nil {
		return m, nil // the name belongs to another server now
	}
	return stored, nil
}

// Learn accepts the definitions that are new and returns what changed. For a server
// that is trusted it accepts changes, too. The list may be a part of the server's.
func (m *Memory) Learn(s config.ServerConfig, list *List) []config.Notice {
	var news []config.Notice
	first := len(m.Known) == 0
	for _, d := range list.Defs {
		known, seen := m.Known[d.Name]
		now := list.Prints[d.Name]
		switch {
		case !seen && len(m.Known) < MaxKnown:
			m.accept(d, now)
			if !first && s.Uses(d.Name) {
				news = append(news, config.Notice{Server: s.Name, Tool: d.Name, Text: "is new since the server was first listed"})
			}
		case !seen, m.print(d.Name) == now:
		case s.Trust == config.TrustAnnotations:
			m.accept(d, now)
			news = append(news, config.Notice{Server: s.Name, Tool: d.Name, Text: "was changed by its server: " + changes(known, d)})
		default:
			news = append(news, config.Notice{Server: s.Name, Tool: d.Name, Changed: true,
				Text: "was changed by its server (" + changes(known, d) + ") and is not used until you approve it: toolpost mcp tools " + s.Name + " --approve"})
		}
	}
	return news
}

// Accepts reports whether a definition is the accepted one.
func (m *Memory) Accepts(d config.ServerTool, print journal.Hash) bool {
	return print != "" && m.print(d.Name) == print
}

// Approve accepts the definitions of a list and returns the names of the changed tools.
func (m *Memory) Approve(list *List) []string {
	var names []string
	for _, d := range list.Defs {
		if !m.Accepts(d, list.Prints[d.Name]) {
			names = append(names, d.Name)
		}
		m.accept(d, list.Prints[d.Name])
	}
	slices.Sort(names)
	return names
}

// Changes returns the tools of a list that differ from their accepted definitions.
func (m *Memory) Changes(list *List) []config.ToolChange {
	var out []config.ToolChange
	for _, d := range list.Defs {
		if known, seen := m.Known[d.Name]; seen && !m.Accepts(d, list.Prints[d.Name]) {
			out = append(out, config.ToolChange{Was: known, Is: d})
		}
	}
	return out
}

// SaveKnown adds the definitions that were accepted since the last call to the stored state. The stored list does not
// change, nor does what another process accepted meanwhile, unless the server is trusted.
func (m *Memory) SaveKnown(dir string, s config.ServerConfig) error {
	if dir == "" || len(m.unsaved) == 0 {
		return nil
	}
	stored, err := Remember(dir, s)
	if err != nil {
		return err
	}
	for _, name := range m.unsaved {
		if _, seen := stored.Known[name]; !seen || s.Trust == config.TrustAnnotations {
			stored.Known[name] = m.Known[name]
		}
	}
	m.unsaved = nil
	return stored.Save(dir, s)
}

// Save writes the state for the next run.
func (m *Memory) Save(dir string, s config.ServerConfig) error {
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
