package usercatalog

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/catalog"
)

// Remember writes values that were found out about one id into a file in the
// form of models.yaml, which it creates if necessary. Settings that the file
// already has for the id stay unless values has them too. Everything else in
// the file stays unchanged, including comments. The note, one line, gives the
// source of the values; it replaces the note of an earlier call.
//
// If the form of the file does not allow additions, or one of the values is not
// a valid setting, the file is not touched and the error has the lines to add
// by hand.
func Remember(file, id, note string, values map[string]string) error {
	old, err := readIfThere(file)
	if err != nil {
		return err
	}
	data, err := remembered(old, id, note, values)
	if err == nil {
		_, err = catalog.Default().Load(file, data)
	}
	if err != nil {
		return fmt.Errorf("%s: %w; add this yourself:\nmodels:\n%s", file, err, entry("  ", id, note, values))
	}
	return replaceFile(file, data)
}

// Note returns the note that [Remember] wrote above the entry of an id, "" if there is none.
func Note(file, id string) (string, error) {
	data, err := readIfThere(file)
	if err != nil {
		return "", err
	}
	note := ""
	for line := range strings.Lines(string(data)) {
		text, isNote := strings.CutPrefix(strings.TrimSpace(line), notePrefix)
		switch {
		case isNote:
			note = strings.TrimSpace(text)
		case says(line) && depth(line) > 0 && note != "" && keyOf(line) == foldID(id):
			return note, nil
		case says(line):
			note = ""
		}
	}
	return "", nil
}

func readIfThere(file string) ([]byte, error) {
	data, err := readBounded(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

// notePrefix begins the comments that Remember may replace.
const notePrefix = "# found: "

// entry is the lines of one id.
func entry(indent, id, note string, values map[string]string) string {
	var b strings.Builder
	note = strings.Join(strings.Fields(note), " ")
	fmt.Fprintf(&b, "%s%s%s\n%s%s: {", indent, notePrefix, note, indent, strconv.Quote(id))
	for i, key := range slices.Sorted(maps.Keys(values)) {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "%s: %s", key, values[key])
	}
	b.WriteString("}\n")
	return b.String()
}

// remembered returns the text of the file with the entry of id.
func remembered(old []byte, id, note string, values map[string]string) ([]byte, error) {
	kept, err := settingsIn(old, id)
	if err != nil {
		return nil, err
	}
	maps.Copy(kept, values)
	lines := strings.SplitAfter(string(old), "\n")
	at := slices.IndexFunc(lines, func(l string) bool { return strings.HasPrefix(l, "models:") })
	if at < 0 {
		text := string(old)
		if text != "" && !strings.HasSuffix(text, "\n") {
			text += "\n"
		}
		return []byte(text + "models:\n" + entry("  ", id, note, kept)), nil
	}
	if rest := strings.TrimSpace(strings.TrimPrefix(lines[at], "models:")); rest != "" && rest[0] != '#' {
		return nil, errors.New("the models are in one line with their heading")
	}
	if !strings.HasSuffix(lines[at], "\n") {
		lines[at] += "\n"
	}
	section := lines[at+1:]
	indent := "  "
	if i := slices.IndexFunc(section, says); i >= 0 && depth(section[i]) > 0 {
		indent = section[i][:depth(section[i])]
	}
	section = without(section, indent, foldID(id))
	return []byte(strings.Join(lines[:at+1], "") + entry(indent, id, note, kept) + strings.Join(section, "")), nil
}

// settingsIn returns the present settings of the file for an id.
func settingsIn(data []byte, id string) (map[string]string, error) {
	var doc struct {
		Models map[string]map[string]any `yaml:"models"`
	}
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return nil, errors.New("the file cannot be read as YAML")
	}
	kept := map[string]string{}
	for name, set := range doc.Models {
		if foldID(name) != foldID(id) {
			continue
		}
		for key, value := range set {
			text, err := yaml.MarshalWithOptions(value, yaml.Flow(true))
			if err != nil {
				return nil, err
			}
			kept[key] = string(bytes.TrimSpace(text))
		}
	}
	return kept, nil
}

// says reports whether a line is neither blank nor a comment.
func says(line string) bool {
	line = strings.TrimSpace(line)
	return line != "" && line[0] != '#'
}

func depth(line string) int { return len(line) - len(strings.TrimLeft(line, " ")) }

// without returns the lines of a section without the entry of an id and the
// note above it.
func without(section []string, indent, id string) []string {
	var out []string
	for i := 0; i < len(section); i++ {
		line := section[i]
		if says(line) && depth(line) == 0 {
			return append(out, section[i:]...) // the next section
		}
		if !says(line) || depth(line) != len(indent) || keyOf(line) != id {
			out = append(out, line)
			continue
		}
		if n := len(out); n > 0 && strings.HasPrefix(strings.TrimSpace(out[n-1]), notePrefix) {
			out = out[:n-1]
		}
		for i+1 < len(section) && says(section[i+1]) && depth(section[i+1]) > len(indent) {
			i++
		}
	}
	return out
}

// keyOf returns the key of a line, as ids are compared.
func keyOf(line string) string {
	line = strings.TrimSpace(line)
	if line[0] == '"' || line[0] == '\'' {
		end := strings.IndexByte(line[1:], line[0])
		if end < 0 {
			return ""
		}
		return foldID(line[1 : end+1])
	}
	key, _, _ := strings.Cut(line, ": ")
	return foldID(strings.TrimSuffix(key, ":"))
}

// replaceFile writes a file atomically.
func replaceFile(file string, data []byte) error {
	dir := filepath.Dir(file)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".models-*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name()) // fails harmlessly after the rename
	_, err = f.Write(data)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// foldID returns an id as the catalogue compares it.
func foldID(id string) string { return strings.ToLower(strings.TrimSpace(id)) }
