package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// tomlLine matches the first line of a TOML file: a table, or a key with a value.
var tomlLine = regexp.MustCompile(`^(\[\[?\s*["'\w][^\]]*\]\]?\s*(#.*)?|["'\w.-]+(\s*\.\s*["'\w-]+)*\s*=.*)$`)

// isTOML reports whether a file is TOML: its first line is neither JSON nor YAML.
func isTOML(text string) bool {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return tomlLine.MatchString(line)
		}
	}
	return false
}

// readTOML reads tables, keys, text, numbers, booleans, lists and inline tables. Dates are texts.
func readTOML(text string) (*value, error) {
	p := &tomlReader{text: strings.ReplaceAll(text, "\r\n", "\n"), line: 1}
	root := &value{line: 1, kind: mapping}
	table := root
	for {
		p.skip(true)
		if p.text == "" {
			return root, nil
		}
		var err error
		if p.text[0] == '[' {
			table, err = p.table(root)
		} else {
			err = p.pair(table)
		}
		if err == nil {
			if p.skip(false); p.text != "" && p.text[0] != '\n' {
				err = errors.New("a line of TOML has one value")
			}
		}
		if err != nil {
			return nil, &LineError{p.line, err}
		}
	}
}

// maxTOMLDepth bounds lists and tables inside each other.
const maxTOMLDepth = 100

type tomlReader struct {
	text  string // the rest
	line  int
	depth int
}

// skip passes over spaces and comments, and over line ends if lines is set.
func (p *tomlReader) skip(lines bool) {
	for p.text != "" {
		switch c := p.text[0]; {
		case c == ' ' || c == '\t' || c == '\r':
			p.text = p.text[1:]
		case c == '\n' && lines:
			p.text = p.text[1:]
			p.line++
		case c == '#':
			end := strings.IndexByte(p.text, '\n')
			if end < 0 {
				end = len(p.text)
			}
			p.text = p.text[end:]
		default:
			return
		}
	}
}

func (p *tomlReader) take(sign string) bool {
	rest, ok := strings.CutPrefix(p.text, sign)
	if ok {
		p.text = rest
	}
	return ok
}

// table reads the header of a table and returns the table. Of a list of tables it is a new item.
func (p *tomlReader) table(root *value) (*value, error) {
	line, end := p.line, "]"
	p.take("[")
	if p.take("[") {
		end = "]]"
	}
	path, err := p.key()
	if err != nil {
		return nil, err
	}
	if !p.take(end) {
		return nil, errors.New("the name of a table has no end")
	}
	if end == "]" {
		return into(root, path, line)
	}
	parent, err := into(root, path[:len(path)-1], line)
	if err != nil {
		return nil, err
	}
	list := parent.at(path[len(path)-1])
	if list == nil {
		list = &value{line: line, kind: sequence}
		parent.pairs = append(parent.pairs, pair{path[len(path)-1], line, list})
	}
	item := &value{line: line, kind: mapping}
	list.items = append(list.items, item)
	return item, nil
}

// into follows a path of keys. Tables that are missing are added.
func into(v *value, path []string, line int) (*value, error) {
	for _, key := range path {
		next := v.at(key)
		if next == nil {
			next = &value{line: line, kind: mapping}
			v.pairs = append(v.pairs, pair{key, line, next})
		}
		if next.kind == sequence && len(next.items) > 0 {
			next = next.items[len(next.items)-1]
		}
		if next.kind != mapping {
			return nil, fmt.Errorf("%s is not a table", key)
		}
		v = next
	}
	return v, nil
}

// key reads a key, which may have dots.
func (p *tomlReader) key() (path []string, err error) {
	for {
		p.skip(false)
		part := ""
		if p.text != "" && (p.text[0] == '"' || p.text[0] == '\'') {
			if part, err = p.quoted(); err != nil {
				return nil, err
			}
		} else {
			n := strings.IndexFunc(p.text, func(r rune) bool {
				return r != '_' && r != '-' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
			})
			if n <= 0 {
				return nil, errors.New("a key of TOML is missing")
			}
			part, p.text = p.text[:n], p.text[n:]
		}
		path = append(path, part)
		if p.skip(false); !p.take(".") {
			return path, nil
		}
		if len(path) > maxTOMLDepth {
			return nil, fmt.Errorf("more than %d levels", maxTOMLDepth)
		}
	}
}

func (p *tomlReader) pair(table *value) error {
	line := p.line
	path, err := p.key()
	if err != nil {
		return err
	}
	if !p.take("=") {
		return fmt.Errorf("%s has no value", strings.Join(path, "."))
	}
	v, err := p.value()
	if err != nil {
		return err
	}
	if table, err = into(table, path[:len(path)-1], line); err != nil {
		return err
	}
	name := path[len(path)-1]
	if table.at(name) != nil {
		return fmt.Errorf("%s is there twice", name)
	}
	table.pairs = append(table.pairs, pair{name, line, v})
	return nil
}

func (p *tomlReader) value() (*value, error) {
	p.skip(false)
	if p.depth++; p.depth > maxTOMLDepth {
		return nil, fmt.Errorf("more than %d levels", maxTOMLDepth)
	}
	defer func() { p.depth-- }()
	v := &value{line: p.line}
	var err error
	switch {
	case p.text == "" || p.text[0] == '\n':
		return nil, errors.New("a value is missing")
	case p.text[0] == '"' || p.text[0] == '\'':
		v.text, err = p.quoted()
		v.kind = word
	case p.take("["):
		v.kind = sequence
		err = p.list(v)
	case p.take("{"):
		v.kind = mapping
		err = p.inline(v)
	default:
		n := strings.IndexAny(p.text, ",]}#\n")
		if n < 0 {
			n = len(p.text)
		}
		v.text, p.text = strings.TrimSpace(p.text[:n]), p.text[n:]
		if v.kind = scalar; v.text != "true" && v.text != "false" && (v.text == "" || !strings.ContainsAny(v.text[:1], "0123456789+-in")) {
			err = fmt.Errorf("%.40q is not a value of TOML; put text in quotes", v.text)
		}
	}
	return v, err
}

func (p *tomlReader) list(v *value) error {
	for {
		if p.skip(true); p.take("]") {
			return nil
		}
		item, err := p.value()
		if err != nil {
			return err
		}
		v.items = append(v.items, item)
		if p.skip(true); !p.take(",") && !strings.HasPrefix(p.text, "]") {
			return errors.New("a list has no end")
		}
	}
}

func (p *tomlReader) inline(v *value) error {
	for {
		if p.skip(true); p.take("}") {
			return nil
		}
		if err := p.pair(v); err != nil {
			return err
		}
		if p.skip(true); !p.take(",") && !strings.HasPrefix(p.text, "}") {
			return errors.New("an inline table has no end")
		}
	}
}

// quoted reads text in quotes of one or three signs.
func (p *tomlReader) quoted() (string, error) {
	sign := p.text[:1]
	long := strings.HasPrefix(p.text, sign+sign+sign)
	if long {
		sign += sign + sign
	}
	p.text = p.text[len(sign):]
	n := 0
	for ; ; n++ {
		switch {
		case n >= len(p.text) || p.text[n] == '\n' && !long:
			return "", errors.New("text has no closing quote")
		case p.text[n] == '\\' && sign[0] == '"':
			n++
			continue
		}
		if strings.HasPrefix(p.text[n:], sign) {
			break
		}
	}
	inside := p.text[:n]
	p.text = p.text[n+len(sign):]
	p.line += strings.Count(inside, "\n")
	if long {
		inside = strings.TrimPrefix(inside, "\n")
	}
	if sign[0] == '\'' {
		return inside, nil
	}
	return unescape(inside)
}

// unescape replaces the escapes of TOML.
func unescape(text string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] != '\\' {
			b.WriteByte(text[i])
			continue
		}
		i++
		if i == len(text) {
			return "", errors.New("an escape has no end")
		}
		size := map[byte]int{'u': 4, 'U': 8}[text[i]]
		switch c := text[i]; {
		case size > 0 && i+size < len(text):
			r, err := strconv.ParseUint(text[i+1:i+1+size], 16, 32)
			if err != nil || r > 0x10FFFF {
				return "", errors.New("an escape names no character")
			}
			b.WriteRune(rune(r))
			i += size
		case c == '\n' || c == ' ' || c == '\t': // the line continues
			for i+1 < len(text) && strings.IndexByte(" \t\n", text[i+1]) >= 0 {
				i++
			}
		case c == 'e':
			b.WriteByte(0x1b)
		default:
			var out string
			if json.Unmarshal([]byte(`"\`+string(c)+`"`), &out) != nil {
				return "", fmt.Errorf(`\%c is not an escape of TOML`, c)
			}
			b.WriteString(out)
		}
	}
	return b.String(), nil
}
