package codingagents

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
)

// errByHand means that a file is written in a way that this package does not edit.
var errByHand = errors.New("it is written in a way that cannot be edited without the risk of losing something; add the lines that --for prints by hand")

// maxFile limits the size of a configuration file of an agent.
const maxFile = 4 << 20

// A format is how a configuration file is written.
type format struct {
	text func(tree any) string                               // a new file
	edit func(text string, with any) (out string, err error) // a file with the values of a tree
	read func(text string) (tree any, err error)             // nil if the format lacks default values
}

var formats = map[string]format{
	"json":   {func(v any) string { return jsonText(v, "") + "\n" }, editJSON, readJSON},
	"toml":   {func(v any) string { o, _ := v.(object); return strings.TrimPrefix(tomlText(o, ""), "\n") }, editTOML, nil},
	"yaml":   {func(v any) string { return yamlText(v, "") }, editYAML, readYAML},
	"dotenv": {dotenvText, editDotenv, nil},
}

// Config is a configuration file of an agent, filled in.
type Config struct {
	Path   string // with ~ for the home folder
	format format
	tree   any
}

// Text returns the content of a new file.
func (c Config) Text() string { return c.format.text(missing(nil, c.tree)) }

// Edited returns the content of a file with the values of the configuration. Everything else is unchanged.
func (c Config) Edited(old []byte) ([]byte, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(old, []byte("\ufeff")))) == 0 {
		return []byte(c.Text()), nil
	}
	if bytes.IndexByte(old, 0) >= 0 {
		return nil, errors.New("it is not a text file")
	}
	text := string(old)
	crlf := strings.Contains(text, "\r\n")
	if crlf {
		text = strings.ReplaceAll(text, "\r\n", "\n")
	}
	var before any
	if c.format.read != nil {
		var err error
		if before, err = c.format.read(text); err != nil {
			return nil, err
		}
	}
	out, err := c.format.edit(text, missing(before, c.tree))
	if err != nil {
		return nil, err
	}
	if crlf {
		out = strings.ReplaceAll(out, "\n", "\r\n")
	}
	return []byte(out), nil
}

// Written is the result of Write.
type Written struct {
	File, Backup string // Backup is "" for a new file
	Changed      bool
}

// Write edits the file of the configuration. A file that changes is copied first. A new file can be read by its owner
// only, because it may hold a key.
func (c Config) Write() (w Written, err error) {
	w.File = Place(c.Path)
	old, err := cli.ReadFile(w.File, maxFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return w, err
	}
	exists := err == nil
	text, err := c.Edited(old)
	if err != nil {
		return w, fmt.Errorf("%s: %w", w.File, err)
	}
	if exists && bytes.Equal(old, text) {
		return w, nil
	}
	w.Changed = true
	if exists {
		if w.Backup, err = backup(w.File, old); err != nil {
			return w, fmt.Errorf("no copy of %s can be made, so it stays: %w", w.File, err)
		}
	} else if err := os.MkdirAll(filepath.Dir(w.File), 0o700); err != nil {
		return w, err
	}
	return w, cli.ReplaceFile(w.File, text, 0o600)
}

// backup writes the content of a file next to it, under a name that is free.
func backup(file string, content []byte) (name string, err error) {
	mode := fs.FileMode(0o600)
	if info, err := os.Stat(file); err == nil {
		mode = info.Mode().Perm()
	}
	for i := 1; i < 1000; i++ {
		name = file + ".before-toolpost"
		if i > 1 {
			name = fmt.Sprintf("%s-%d", name, i)
		}
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return "", err
		}
		_, err = f.Write(content)
		return name, errors.Join(err, f.Close())
	}
	return "", errors.New("there are too many copies already")
}

// Place returns the file of a path that begins with ~/. XDG_CONFIG_HOME replaces ~/.config.
func Place(path string) string {
	if rest, ok := strings.CutPrefix(path, "~/.config/"); ok {
		if dir := os.Getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
			return filepath.Join(dir, rest)
		}
	}
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return rest
	}
	return filepath.Join(home, rest)
}

// dotenvText renders variables as a file of NAME=value lines.
func dotenvText(v any) string {
	var b strings.Builder
	o, _ := v.(object)
	for _, m := range o {
		fmt.Fprintf(&b, "%s=%s\n", m.key, dotenvValue(m.value))
	}
	return b.String()
}

func dotenvValue(v any) string {
	s, ok := v.(string)
	if ok && !strings.ContainsAny(s, " \t\"'#$\\\n") {
		return s
	}
	return scalar(v)
}

// editDotenv replaces the lines of variables, and adds missing ones.
func editDotenv(text string, with any) (string, error) {
	o, _ := with.(object)
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	for _, m := range o {
		want, found := m.key+"="+dotenvValue(m.value), false
		for i, line := range lines {
			name, _, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "export "), "=")
			if ok && strings.TrimSpace(name) == m.key {
				lines[i], found = want, true
			}
		}
		if !found {
			lines = append(lines, want)
		}
	}
	return strings.Join(lines, "\n") + "\n", nil
}
