package shorten

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// read reads a result that has structure.
func read(text string) (*node, bool) {
	if len(text) > longestTree {
		return nil, false
	}
	text = strings.TrimPrefix(text, byteOrderMark)
	n, ok := readWhole(text)
	if !ok {
		return readPlain(text)
	}
	root := unfold(n)
	if textual(root) {
		if in, ok := readPlain(textOf(root)); ok {
			in.cut = root.cut
			return in, true
		}
	}
	return root, true
}

const byteOrderMark = "\uFEFF"

// structured reports whether a text that read does not take begins like JSON and is
// valid: it has more than can be read.
func structured(text string) bool {
	t := strings.TrimSpace(strings.TrimPrefix(text, byteOrderMark))
	return t != "" && (t[0] == '{' || t[0] == '[') && (len(t) > longestTree || len(t) > 2 && json.Valid([]byte(t)))
}

// readWhole reads JSON that may break off, or a string that holds something.
func readWhole(text string) (*node, bool) {
	nodes := mostNodes
	if n, ok := readJSON(text, &nodes, true); ok {
		return n, true
	}
	var s string
	if t := strings.TrimSpace(text); strings.HasPrefix(t, `"`) && json.Unmarshal([]byte(t), &s) == nil {
		return &node{kind: '"', text: s}, true
	}
	return nil, false
}

// readPlain reads text that has structure without being JSON.
func readPlain(text string) (*node, bool) {
	if n, ok := readYAML(text); ok {
		return unfold(n), true
	}
	return readRecords(text)
}

// readJSON reads one or more JSON objects or lists, which become a list. With cut
// it also reads a text that ends too early.
func readJSON(text string, nodes *int, cut bool) (*node, bool) {
	p := &parser{s: text, nodes: nodes, mayCut: cut}
	var all []*node
	for p.space(); p.i < len(p.s); p.space() {
		if c := p.s[p.i]; c != '{' && c != '[' {
			return nil, false
		}
		n := p.value(0)
		if n == nil {
			return nil, false
		}
		all = append(all, n)
	}
	switch len(all) {
	case 0:
		return nil, false
	case 1:
		return all[0], len(all[0].kids) > 0
	}
	return &node{kind: '[', kids: all, cut: all[len(all)-1].cut}, true
}

// parser reads JSON. It returns nil for other text.
type parser struct {
	s      string
	i      int
	nodes  *int
	mayCut bool
}

func (p *parser) space() {
	for p.i < len(p.s) && js.IsSpace(p.s[p.i]) {
		p.i++
	}
}

// early reports whether the text has ended where it may.
func (p *parser) early() bool { return p.mayCut && p.i >= len(p.s) }

func (p *parser) value(depth int) *node {
	p.space()
	*p.nodes--
	if *p.nodes < 0 || depth > deepest {
		return nil
	}
	if p.i >= len(p.s) {
		if p.mayCut {
			return &node{kind: 'n', text: "null", cut: true}
		}
		return nil
	}
	switch c := p.s[p.i]; c {
	case '{', '[':
		return p.nested(c, depth)
	case '"':
		return p.str()
	default:
		return p.literal()
	}
}

// nested reads an object or a list.
func (p *parser) nested(open byte, depth int) *node {
	n := &node{kind: open}
	closer := open + 2 // ']' and '}' stand two behind their openers
	p.i++
	for first := true; ; first = false {
		p.space()
		if p.early() {
			return n.broken()
		}
		if p.i >= len(p.s) {
			return nil
		}
		if p.s[p.i] == closer {
			p.i++
			n.keys = distinct(n.keys)
			return n
		}
		if !first {
			if p.s[p.i] != ',' {
				return nil
			}
			p.i++
			p.space()
		}
		if p.early() {
			return n.broken()
		}
		if !p.member(n, depth) {
			return nil
		}
		if k := len(n.kids); n.cut || k > 0 && n.kids[k-1].cut {
			return n.broken()
		}
	}
}

// member reads the next member or element of n.
func (p *parser) member(n *node, depth int) bool {
	if n.kind == '{' {
		key := p.str()
		if key == nil {
			return false
		}
		p.space()
		if key.cut || p.early() {
			n.cut = true
			return true
		}
		if p.i >= len(p.s) || p.s[p.i] != ':' {
			return false
		}
		p.i++
		p.space()
		if p.early() {
			n.cut = true
			return true
		}
		n.keys = append(n.keys, key.text)
	}
	v := p.value(depth + 1)
	if v == nil {
		return false
	}
	n.kids = append(n.kids, v)
	return true
}

// str reads a string.
func (p *parser) str() *node {
	if p.i >= len(p.s) || p.s[p.i] != '"' {
		return nil
	}
	start := p.i
	for i := start + 1; i < len(p.s); i++ {
		switch c := p.s[i]; {
		case c == '\\':
			i++
		case c == '"':
			p.i = i + 1
			text, ok := unquote(p.s[start:p.i])
			if !ok {
				return nil
			}
			return &node{kind: '"', text: text}
		case c < ' ':
			return nil
		}
	}
	if !p.mayCut {
		return nil
	}
	p.i = len(p.s)
	rest := p.s[start:]
	for k := 0; k < len(rest) && k < longestEscape; k++ { // without half an escape
		if text, ok := unquote(rest[:len(rest)-k] + `"`); ok {
			return &node{kind: '"', text: text, cut: true}
		}
	}
	return nil
}

// longestEscape is how many bytes an escape has at most.
const longestEscape = 6

// unquote reads a quoted string, if it is one.
func unquote(quoted string) (text string, ok bool) {
	if !strings.Contains(quoted, `\`) {
		return quoted[1 : len(quoted)-1], true
	}
	err := json.Unmarshal([]byte(quoted), &text)
	return text, err == nil
}

// literal reads a number, true, false or null.
func (p *parser) literal() *node {
	rest := p.s[p.i:]
	for _, word := range []string{"true", "false", "null"} {
		if strings.HasPrefix(rest, word) {
			p.i += len(word)
			return &node{kind: word[0], text: word}
		}
		if p.mayCut && strings.HasPrefix(word, rest) {
			p.i = len(p.s)
			return &node{kind: 'n', text: rest, cut: true}
		}
	}
	n, _ := js.NumberLength(rest)
	if n == 0 {
		return nil
	}
	p.i += n
	return &node{kind: '0', text: rest[:n], cut: p.early()}
}

// unfold replaces strings that are JSON by what they hold, and results of MCP servers
// by their text.
func unfold(n *node) *node {
	nodes := mostNodes
	return unfoldAt(n, &nodes, 0)
}

func unfoldAt(n *node, nodes *int, depth int) *node {
	if depth > deepest {
		return n
	}
	if n.kind == '"' && (depth == 0 || len(n.text) > inlineBytes) { // a short one is shown as the text that it is
		return opened(n, nodes, depth)
	}
	for i, k := range n.kids {
		n.kids[i] = unfoldAt(k, nodes, depth+1)
	}
	return unwrap(n, nodes, depth)
}

// opened returns what a string holds, if it is JSON.
func opened(n *node, nodes *int, depth int) *node {
	if n.kind != '"' || len(n.text) < 2 || n.text[0] != '{' && n.text[0] != '[' {
		return n
	}
	in, ok := readJSON(n.text, nodes, n.cut)
	if !ok {
		return n
	}
	in.cut = in.cut || n.cut
	return unfoldAt(in, nodes, depth+1)
}

// unwrap returns the content of an MCP result that has nothing else to say.
func unwrap(n *node, nodes *int, depth int) *node {
	content := n.get("content")
	if n.kind != '{' || content == nil || content.kind != '[' || len(content.kids) == 0 {
		return n
	}
	out := &node{kind: '[', cut: n.cut, texts: true}
	for _, block := range content.kids {
		text := block.get("text")
		if kind := block.get("type"); block.kind != '{' || text == nil || kind == nil || kind.text != "text" {
			return n
		}
		text = opened(text, nodes, depth+1)
		out.kids = append(out.kids, text)
		out.texts = out.texts && text.kind == '"'
	}
	for i, k := range n.keys {
		v := n.kids[i]
		switch {
		case k == "content", v.kind == 'n', k == "isError" && v.kind == 'f':
		case k == "structuredContent" && (v.cut || contains(v, out.kids[0])): // the same once more
		default:
			return n
		}
	}
	if len(out.kids) == 1 {
		out.kids[0].cut = out.kids[0].cut || n.cut
		return out.kids[0]
	}
	return out
}
