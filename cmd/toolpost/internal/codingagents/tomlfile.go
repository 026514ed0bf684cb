package codingagents

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// tomlText renders a tree as TOML. The values of a table come before the tables in it.
func tomlText(o object, path string) string {
	var b strings.Builder
	for _, m := range o {
		if _, ok := m.value.(object); !ok {
			b.WriteString(tomlKey(m.key) + " = " + tomlValue(m.value) + "\n")
		}
	}
	for _, m := range o {
		if inner, ok := m.value.(object); ok {
			at := strings.TrimPrefix(path+"."+tomlKey(m.key), ".")
			body := tomlText(inner, at)
			if !strings.HasPrefix(body, "\n[") {
				body = "\n[" + at + "]\n" + body
			}
			b.WriteString(body)
		}
	}
	return b.String()
}

var bareKey = regexp.MustCompile(`^[A-Za-z0-9_-]+$`)

func tomlKey(key string) string {
	if bareKey.MatchString(key) {
		return key
	}
	return quoted(key)
}

func tomlValue(v any) string {
	switch v := v.(type) {
	case object:
		var parts []string
		for _, m := range v {
			parts = append(parts, tomlKey(m.key)+" = "+tomlValue(m.value))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, tomlValue(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return scalar(v)
}

// A tomlEntry is a line with a key, up to the end of its value.
type tomlEntry struct {
	table      string // path of the table that it is in
	key        string
	start, end int // lines
}

// tomlLines finds the entries and the tables of a file.
type tomlLines struct {
	lines   []string
	entries []tomlEntry
	tables  map[string][2]int // first line after the header and the first of the next table
	lists   map[string]bool   // arrays of tables
}

var (
	tomlHeader = regexp.MustCompile(`^\s*\[\s*([^\[\]]+?)\s*\]\s*(#.*)?$`)
	tomlList   = regexp.MustCompile(`^\s*\[\[\s*([^\[\]]+?)\s*\]\]\s*(#.*)?$`)
	tomlAssign = regexp.MustCompile(`^\s*((?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+)(?:\s*\.\s*(?:"[^"]*"|'[^']*'|[A-Za-z0-9_-]+))*)\s*=`)
	tomlPart   = regexp.MustCompile(`"[^"]*"|'[^']*'|[A-Za-z0-9_-]+`)
)

// tomlPath returns a path of keys in one form.
func tomlPath(text string) string {
	var parts []string
	for _, p := range tomlPart.FindAllString(text, -1) {
		parts = append(parts, tomlKey(strings.Trim(p, `"'`)))
	}
	return strings.Join(parts, ".")
}

func parseTOML(text string) (*tomlLines, error) {
	t := &tomlLines{lines: strings.Split(text, "\n"), tables: map[string][2]int{}, lists: map[string]bool{}}
	table, begin := "", 0
	closeTable := func(at int) {
		if _, twice := t.tables[table]; !twice {
			t.tables[table] = [2]int{begin, at}
		}
	}
	for i := 0; i < len(t.lines); i++ {
		line := strings.TrimSuffix(t.lines[i], "\r")
		trimmed := strings.TrimSpace(line)
		header, list := tomlHeader.FindStringSubmatch(line), tomlList.FindStringSubmatch(line)
		assign := tomlAssign.FindStringSubmatchIndex(line)
		switch {
		case trimmed == "" || trimmed[0] == '#':
		case list != nil:
			closeTable(i)
			table, begin = tomlPath(list[1])+"[]", i+1
			t.lists[tomlPath(list[1])] = true
			delete(t.tables, table)
		case header != nil:
			closeTable(i)
			table, begin = tomlPath(header[1]), i+1
			if _, twice := t.tables[table]; twice {
				return nil, fmt.Errorf("line %d: the table %s is there twice", i+1, table)
			}
		case assign != nil:
			last, err := valueEnd(t.lines, i, assign[1])
			if err != nil {
				return nil, fmt.Errorf("line %d: %w", i+1, err)
			}
			t.entries = append(t.entries, tomlEntry{table, tomlPath(line[assign[2]:assign[3]]), i, last + 1})
			i = last
		default:
			return nil, fmt.Errorf("line %d: %q is not TOML", i+1, trimmed[:min(len(trimmed), 40)])
		}
	}
	closeTable(len(t.lines))
	return t, nil
}

// valueEnd returns the line in which the value ends that begins in a line at a place.
func valueEnd(lines []string, line, at int) (int, error) {
	depth, quote := 0, ""
	for ; line < len(lines); line++ {
		text := lines[line]
		for at < len(text) {
			rest := text[at:]
			switch {
			case quote != "" && strings.HasPrefix(rest, quote):
				at += len(quote)
				quote = ""
				continue
			case quote != "" && quote[0] == '"' && rest[0] == '\\':
				at++
			case quote != "":
			case strings.HasPrefix(rest, `"""`), strings.HasPrefix(rest, `'''`):
				quote = rest[:3]
				at += 3
				continue
			case rest[0] == '"', rest[0] == '\'':
				quote = rest[:1]
			case rest[0] == '#':
				at = len(text)
				continue
			case rest[0] == '[', rest[0] == '{':
				depth++
			case rest[0] == ']', rest[0] == '}':
				depth--
			}
			at++
		}
		at = 0
		if len(quote) == 1 {
			return 0, fmt.Errorf("a text has no end")
		}
		if depth <= 0 && quote == "" {
			return line, nil
		}
	}
	return 0, fmt.Errorf("a value has no end")
}

// editTOML merges a tree into the text of a file. The rest of the text is unchanged.
func editTOML(text string, with any) (string, error) {
	o, ok := with.(object)
	if !ok {
		return "", errByHand
	}
	if strings.TrimSpace(text) == "" {
		return strings.TrimPrefix(tomlText(o, ""), "\n"), nil
	}
	return tomlTables(text, o, "")
}

// tomlTables merges the values of a table, and then of the tables in it.
func tomlTables(text string, o object, path string) (string, error) {
	t, err := parseTOML(text)
	if err != nil {
		return "", err
	}
	values := slices.DeleteFunc(slices.Clone(o), func(m member) bool { _, inner := m.value.(object); return inner })
	if text, err = t.set(text, values, path); err != nil {
		return "", err
	}
	for _, m := range o {
		if inner, ok := m.value.(object); ok {
			if text, err = tomlTables(text, inner, strings.TrimPrefix(path+"."+tomlKey(m.key), ".")); err != nil {
				return "", err
			}
		}
	}
	return text, nil
}

// set sets the values of one table.
func (t *tomlLines) set(text string, values object, path string) (string, error) {
	if t.inAnotherForm(path) {
		return "", errByHand
	}
	if len(values) == 0 {
		return text, nil
	}
	place, exists := t.tables[path]
	lines := slices.Clone(t.lines)
	var added []string
	for _, m := range slices.Backward(values) {
		i := slices.IndexFunc(t.entries, func(e tomlEntry) bool { return e.table == path && e.key == tomlKey(m.key) })
		want := tomlKey(m.key) + " = " + tomlValue(m.value)
		if i < 0 {
			added = append([]string{want}, added...)
			continue
		}
		e := t.entries[i]
		if same, comment := sameTOML(t.lines[e.start:e.end], tomlValue(m.value)); !same {
			lines[e.start] = want + comment
			for k := e.start + 1; k < e.end; k++ {
				lines[k] = "\x00" // goes
			}
		}
	}
	if len(added) > 0 {
		if !exists {
			end := strings.TrimRight(strings.Join(lines, "\n"), "\n")
			lines = strings.Split(end+"\n\n["+path+"]\n"+strings.Join(added, "\n")+"\n", "\n")
		} else {
			at := place[1]
			for at > place[0] && (strings.TrimSpace(lines[at-1]) == "" || path == "" && strings.HasPrefix(strings.TrimSpace(lines[at-1]), "#")) {
				at--
			}
			if path == "" && at == 0 && len(lines) > 0 && place[1] < len(lines) {
				added = append(added, "")
			}
			lines = slices.Insert(lines, at, added...)
		}
	}
	lines = slices.DeleteFunc(lines, func(l string) bool { return l == "\x00" })
	return strings.Join(lines, "\n"), nil
}

// inAnotherForm reports whether a table is written as dotted keys, as an inline table or as a list. Such tables are not edited.
func (t *tomlLines) inAnotherForm(path string) bool {
	if path == "" {
		return false
	}
	for p := range t.lists {
		if p == path || strings.HasPrefix(path, p+".") {
			return true
		}
	}
	return slices.ContainsFunc(t.entries, func(e tomlEntry) bool {
		if strings.HasSuffix(e.table, "[]") {
			return false
		}
		full := strings.TrimPrefix(e.table+"."+e.key, ".")
		return full == path || strings.HasPrefix(path, full+".") || strings.HasPrefix(full, path+".") && e.table != path && !strings.HasPrefix(e.table, path+".")
	})
}

var tomlComment = regexp.MustCompile(`^\s*(#.*)?$`)

// sameTOML reports whether an entry already has a value, and returns the comment after it.
func sameTOML(lines []string, value string) (same bool, comment string) {
	line := strings.TrimSuffix(lines[len(lines)-1], "\r")
	_, rest, _ := strings.Cut(line, "=")
	if after, ok := strings.CutPrefix(strings.TrimSpace(rest), value); ok && len(lines) == 1 && tomlComment.MatchString(after) {
		return true, ""
	}
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case quote == '"' && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '#' && len(lines) == 1:
			return false, " " + line[i:]
		}
	}
	return false, ""
}
