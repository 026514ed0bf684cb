package shorten

import (
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// readYAML reads the part of YAML that tools print: mappings and sequences in blocks
// and scalars, plain, quoted or literal. Whatever else there is makes it text.
func readYAML(text string) (*node, bool) {
	y := &yaml{lines: strings.Split(strings.TrimRight(text, " \n"), "\n")}
	if len(y.lines) < 4 {
		return nil, false
	}
	n := y.block(0, 0)
	y.blank()
	if n == nil || y.at < len(y.lines) || len(n.kids) == 0 || n.kind == '{' && len(n.keys) < 2 && !rich(n.kids[0]) {
		return nil, false
	}
	return n, true
}

// rich reports whether what stands below one key is more than a paragraph below its
// title: an object, or a list of objects.
func rich(n *node) bool {
	return len(n.keys) > 1 || n.kind == '[' && len(n.kids) > 0 && len(n.kids[0].keys) > 1
}

type yaml struct {
	lines []string
	at    int
	nodes int
}

// blank skips empty lines.
func (y *yaml) blank() {
	for y.at < len(y.lines) && strings.TrimSpace(y.lines[y.at]) == "" {
		y.at++
	}
}

// peek returns the depth and the text of the next line, -1 at the end.
func (y *yaml) peek() (int, string) {
	y.blank()
	if y.at >= len(y.lines) {
		return -1, ""
	}
	l := y.lines[y.at]
	t := strings.TrimLeft(l, " ")
	return len(l) - len(t), strings.TrimRight(t, " \r")
}

// block reads a mapping or a sequence at a depth of at least least.
func (y *yaml) block(least, nested int) *node {
	depth, t := y.peek()
	if depth < least || nested > deepest {
		return nil
	}
	if t == "-" || strings.HasPrefix(t, "- ") {
		return y.sequence(depth, nested)
	}
	return y.mapping(depth, nested)
}

func (y *yaml) sequence(depth, nested int) *node {
	n := &node{kind: '['}
	for {
		d, t := y.peek()
		if d != depth || t != "-" && !strings.HasPrefix(t, "- ") {
			return y.ends(n, d, depth)
		}
		// What follows the dash stands where the dash and its space are space.
		y.lines[y.at] = strings.Repeat(" ", depth+1) + y.lines[y.at][depth+1:]
		var v *node
		if rest := strings.TrimSpace(t[1:]); rest == "" {
			y.at++
			v = y.block(depth+1, nested+1)
		} else if _, _, ok := pair(rest); ok {
			v = y.mapping(len(y.lines[y.at])-len(strings.TrimLeft(y.lines[y.at], " ")), nested+1)
		} else {
			y.at++
			v = y.scalar(rest, depth)
		}
		if v == nil || !y.room() {
			return nil
		}
		n.kids = append(n.kids, v)
	}
}

func (y *yaml) mapping(depth, nested int) *node {
	n := &node{kind: '{'}
	seen := make(map[string]bool)
	for {
		d, t := y.peek()
		key, rest, ok := pair(t)
		if d != depth || !ok {
			return y.ends(n, d, depth)
		}
		if seen[key] {
			return nil
		}
		seen[key] = true
		y.at++
		v := y.member(rest, depth, nested)
		if v == nil || !y.room() {
			return nil
		}
		n.keys, n.kids = append(n.keys, key), append(n.kids, v)
	}
}

// member reads the value of a key, of which rest stands on its line.
func (y *yaml) member(rest string, depth, nested int) *node {
	if rest != "" {
		return y.scalar(rest, depth)
	}
	d, t := y.peek()
	switch {
	case d > depth:
		return y.block(depth+1, nested+1)
	case d == depth && (t == "-" || strings.HasPrefix(t, "- ")):
		return y.block(depth, nested+1)
	}
	return &node{kind: 'n', text: "null"}
}

// ends returns n if the block may end before a line of depth d.
func (y *yaml) ends(n *node, d, depth int) *node {
	if len(n.kids) == 0 || d > depth || d == depth && n.kind == '{' && !strings.HasPrefix(strings.TrimLeft(y.lines[y.at], " "), "-") {
		return nil
	}
	return n
}

func (y *yaml) room() bool {
	y.nodes++
	return y.nodes < mostNodes
}

// pair splits a line into a key and what follows it.
func pair(t string) (key, rest string, ok bool) {
	i := strings.IndexByte(t, ':')
	if i <= 0 || i > 60 || i+1 < len(t) && t[i+1] != ' ' {
		return "", "", false
	}
	key = t[:i]
	if strings.ContainsAny(key, "{}[]\"'`<>|*#&!%@,()?") || strings.Count(key, " ") > 3 || key[0] == '-' {
		return "", "", false
	}
	return key, strings.TrimSpace(t[i+1:]), true
}

// scalar reads a value that begins with rest, on the line before.
func (y *yaml) scalar(rest string, depth int) *node {
	switch c := rest[0]; c {
	case '\'', '"':
		return y.quoted(c, rest[1:])
	case '|', '>':
		if strings.Trim(rest[1:], "+-0123456789") != "" {
			return &node{kind: '"', text: rest}
		}
		return &node{kind: '"', text: strings.Join(y.deeper(depth), "\n")}
	case '{', '[':
		nodes := mostNodes
		if n, ok := readJSON(rest, &nodes, false); ok || rest == "[]" || rest == "{}" {
			if n == nil {
				n = &node{kind: c}
			}
			return n
		}
		return nil
	case '&', '!':
		return nil
	}
	for _, l := range y.deeper(depth) {
		rest += " " + strings.TrimSpace(l)
	}
	return plainScalar(rest)
}

// plainScalar returns a value that is written without quotes.
func plainScalar(s string) *node {
	if n, _ := js.NumberLength(s); n == len(s) && n > 0 {
		return &node{kind: '0', text: s}
	}
	if s == "true" || s == "false" || s == "null" {
		return &node{kind: s[0], text: s}
	}
	return &node{kind: '"', text: s}
}

// deeper takes the lines below a depth.
func (y *yaml) deeper(depth int) []string {
	var out []string
	for {
		d, _ := y.peek()
		if d <= depth {
			return out
		}
		out = append(out, y.lines[y.at])
		y.at++
	}
}

// quoted reads a string up to its closing quote, lines on.
func (y *yaml) quoted(quote byte, rest string) *node {
	var b strings.Builder
	for {
		end := closing(rest, quote)
		if end >= 0 {
			if strings.TrimSpace(rest[end+1:]) != "" {
				return nil
			}
			b.WriteString(rest[:end])
			break
		}
		b.WriteString(strings.TrimSuffix(rest, `\`))
		if y.at >= len(y.lines) {
			return nil
		}
		if !strings.HasSuffix(rest, `\`) || quote != '"' {
			b.WriteByte(' ')
		}
		rest = strings.TrimSpace(y.lines[y.at])
		if rest == "" {
			b.WriteByte('\n')
		}
		y.at++
	}
	text := b.String()
	if quote == '\'' {
		return &node{kind: '"', text: strings.ReplaceAll(text, "''", "'")}
	}
	return &node{kind: '"', text: unescape(text)}
}

// closing returns where a quoted text ends, -1 if it continues.
func closing(s string, quote byte) int {
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && quote == '"':
			i++
		case s[i] == quote && quote == '\'' && i+1 < len(s) && s[i+1] == quote:
			i++
		case s[i] == quote:
			return i
		}
	}
	return -1
}

var escapes = strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\\`, `\`, `\ `, " ", `\/`, "/")

// unescape reads the escapes of a double-quoted text; rare ones are kept.
func unescape(s string) string { return escapes.Replace(s) }
