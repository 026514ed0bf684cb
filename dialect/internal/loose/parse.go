package loose

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// maxDepth bounds how deep brackets, and strings that hold calls, may nest.
const maxDepth = 24

// kind is what a node is.
type kind uint8

const (
	listNode   kind = iota // [ … ] or ( … )
	dictNode               // { … }
	stringNode             // a quoted string
	wordNode               // anything without quotes: a name, a number, a constant
	callNode               // name( … )
)

// node is a value as it was written.
type node struct {
	kind       kind
	text       string // of a string or word; the name of a call
	items      []item // of a list, a dict or a call
	start, end int
}

// item is an element of a list, a member of a dict, or an argument.
type item struct {
	key   string // empty if it has none
	value node
}

// parser reads the notation of Python, JSON and what lies between, forgiving
// brackets that do not match, quotes that are not escaped and the escapes of
// Markdown.
type parser struct {
	s       string
	i       int
	base    int // offset of s in the block
	open    []byte
	repairs []llm.Repair
	spaced  bool // arguments stand side by side, with no comma between them
	escaped bool // every underscore of the block has a backslash: the text is Markdown
	isName  func(string) bool
	// work is how many bytes of strings can still be read, nil if it is unlimited, and
	// reached where the last one was read to.
	work    *int
	reached int
}

func (p *parser) fix(rule string, class llm.RepairClass, start, end int) {
	p.repairs = append(p.repairs, llm.Repair{Rule: rule, Class: class, Start: p.base + start, End: p.base + end})
}

// space passes over white space, and over the backslash that Markdown puts
// before a bracket.
func (p *parser) space() {
	for p.i < len(p.s) {
		switch c := p.s[p.i]; {
		case strings.IndexByte(" \t\r\n", c) >= 0:
		case c == '\\' && p.i+1 < len(p.s) && strings.IndexByte("[](){}", p.s[p.i+1]) >= 0:
			p.fix("markdown-escape", llm.Syntax, p.i, p.i+1)
		default:
			return
		}
		p.i++
	}
}

// peek returns the next byte, or 0 at the end.
func (p *parser) peek() byte {
	if p.i < len(p.s) {
		return p.s[p.i]
	}
	return 0
}

// value reads the value that stands here.
func (p *parser) value() (node, bool) {
	p.space()
	start := p.i
	switch c := p.peek(); {
	case c == 0 || len(p.open) >= maxDepth || strings.IndexByte(")]},:=", c) >= 0:
		return node{}, false
	case c == '[' || c == '(':
		return p.group(listNode, "")
	case c == '{':
		return p.group(dictNode, "")
	case p.quote() > 0:
		n, ok := p.quoted()
		if ok && p.peek() == '(' && p.isName(n.text) {
			p.fix("quoted-name", llm.Syntax, start, p.i)
			return p.group(callNode, n.text)
		}
		return n, ok
	}
	return p.word()
}

// word reads a name, a call, or a value without quotes.
func (p *parser) word() (node, bool) {
	start := p.i
	name := p.name()
	if name != "" && p.peek() == '(' {
		n, ok := p.group(callNode, name)
		n.start = start
		return n, ok
	}
	if len(p.open) > 0 && p.isName(name) {
		if n, ok := p.odd(name, start); ok {
			return n, true
		}
	}
	depth := 0
	for p.i < len(p.s) {
		c := p.s[p.i]
		if depth == 0 && (strings.IndexByte(",)]}\n;", c) >= 0 || c == '=' && p.i+1 < len(p.s)) {
			break
		}
		switch c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			depth--
		}
		p.i++
	}
	text := strings.TrimSpace(p.s[start:p.i])
	if p.i == len(p.s) && len(p.open) > 0 && !IsConstant(text) {
		p.fix("cut-word", llm.Truncation, start, p.i) // it may have continued
	}
	if plain := Unescape(text); plain != text {
		p.fix("markdown-escape", llm.Syntax, start, p.i)
		text = plain
	}
	return node{kind: wordNode, text: text, start: start, end: p.i}, text != ""
}

// odd reads the arguments of the call of a tool whose name is before them,
// from start on, in bold type, in other brackets than parentheses, or in none.
func (p *parser) odd(name string, start int) (node, bool) {
	at, repairs := p.i, len(p.repairs)
	n, ok := node{kind: callNode, text: name}, false
	switch c := p.peek(); {
	case strings.HasPrefix(p.s[p.i:], "**("):
		p.fix("bold-name", llm.Syntax, start, p.i+2)
		p.i += 2
		n, ok = p.group(callNode, name)
	case c == '{' || c == '[':
		p.fix("other-brackets", llm.Guess, p.i, p.i+1)
		n, ok = p.group(callNode, name)
		ok = ok && !slices.ContainsFunc(n.items, func(it item) bool { return it.key == "" })
	case c == ' ' && p.open[len(p.open)-1] == ']':
		p.fix("missing-parenthesis", llm.Guess, p.i, p.i)
		p.spaced = true
		n.items, ok = p.keywords()
		p.spaced = false
		n.end = p.i
	}
	if n.start = start; !ok {
		p.i, p.repairs = at, p.repairs[:repairs]
	}
	return n, ok
}

// keywords reads named arguments up to the end of the list around them.
func (p *parser) keywords() (items []item, ok bool) {
	for p.space(); p.peek() != 0 && p.peek() != ']'; p.space() {
		key, ok := p.key()
		if !ok {
			return nil, false
		}
		p.space()
		from := p.i
		v := node{}
		if p.quote() > 0 {
			v, ok = p.quoted()
		} else if n := strings.IndexAny(p.s[from:], " ,]\n"); n > 0 && strings.IndexByte("[({", p.peek()) < 0 {
			p.i += n
			v = node{kind: wordNode, text: p.s[from:p.i], start: from, end: p.i}
		} else {
			v, ok = p.value()
		}
		if !ok {
			return nil, false
		}
		items = append(items, item{key: key, value: v})
		if p.space(); p.peek() == ',' {
			p.i++
		}
	}
	return items, len(items) > 0
}

// name reads a name without quotes; a backslash that Markdown puts before
// punctuation is not part of it.
func (p *parser) name() string {
	start, escapes := p.i, false
	for p.i < len(p.s) {
		c := p.s[p.i]
		if c == '\\' && p.i+1 < len(p.s) && strings.IndexByte("_-.", p.s[p.i+1]) >= 0 {
			escapes = true
			p.i += 2
			continue
		}
		if !isNameByte(c) {
			break
		}
		p.i++
	}
	text := p.s[start:p.i]
	if escapes {
		text = Unescape(text)
		if p.peek() == '(' {
			p.fix("markdown-escape", llm.Syntax, start, p.i)
		}
	}
	return text
}

func isNameByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c == '-' || c >= utf8.RuneSelf
}

// Markdown is the punctuation that Markdown escapes.
const Markdown = "\\`*_{}[]()#+-.!<>|~"

// Unescape drops the backslashes that Markdown puts before punctuation.
func Unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+1 < len(s) && strings.IndexByte(Markdown, s[i+1]) >= 0 {
			i++
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

// closers are the brackets that end groups, by what opens them.
var closers = map[byte]byte{'[': ']', '(': ')', '{': '}'}

// group reads a list, a dict, or the arguments behind the name of a call.
func (p *parser) group(k kind, name string) (node, bool) {
	n := node{kind: k, text: name, start: p.i}
	end := closers[p.s[p.i]]
	p.open = append(p.open, end)
	defer func() { p.open = p.open[:len(p.open)-1] }()
	p.i++
	for {
		p.space()
		switch c := p.peek(); {
		case c == 0:
			p.fix("missing-bracket", llm.Completion, p.i, p.i)
			n.end = p.i
			return n, true
		case c == end:
			p.i++
			n.end = p.i
			return n, true
		case c == ',' || c == ';':
			p.i++
			continue
		case c == ')' || c == ']' || c == '}':
			if p.expected(c) { // the end of the enclosing value
				p.fix("missing-bracket", llm.Guess, p.i, p.i)
				n.end = p.i
				return n, true
			}
			p.fix("extra-bracket", llm.Completion, p.i, p.i+1)
			p.i++
			continue
		}
		it, ok := p.item()
		if !ok {
			return n, false
		}
		n.items = append(n.items, it)
	}
}

// expected reports whether c ends a group around the innermost one.
func (p *parser) expected(c byte) bool {
	return strings.IndexByte(string(p.open[:len(p.open)-1]), c) >= 0
}

// item reads an element, with its key if it has one.
func (p *parser) item() (item, bool) {
	if strings.HasPrefix(p.s[p.i:], "**") {
		p.i += 2
	}
	if key, ok := p.key(); ok {
		v, ok := p.value()
		return item{key: key, value: v}, ok
	}
	v, ok := p.value()
	return item{value: v}, ok
}

// key reads a key and the sign behind it, if they stand here.
func (p *parser) key() (string, bool) {
	start, repairs := p.i, len(p.repairs)
	key := ""
	if p.quote() > 0 {
		n, ok := p.quoted()
		if !ok {
			p.i, p.repairs = start, p.repairs[:repairs]
			return "", false
		}
		key = Unescape(n.text)
	} else {
		key = p.name()
	}
	for p.peek() == ' ' {
		p.i++
	}
	if c := p.peek(); key != "" && (c == ':' || c == '=' && !strings.HasPrefix(p.s[p.i:], "==")) {
		p.i++
		if c == '=' && p.peek() == '>' {
			p.i++
		}
		return key, true
	}
	p.i, p.repairs = start, p.repairs[:repairs]
	return "", false
}

// quotes are the quotes that begin a string, and those that end it.
var quotes = []struct{ open, close string }{
	{`\"`, `\"`}, {`\'`, `\'`}, {`"""`, `"""`}, {`'''`, `'''`}, {`"`, `"`}, {`'`, `'`}, {"“", "”"}, {"”", "”"}, {"‘", "’"}, {"`", "`"},
}

// quote returns the length of the quote that stands here, or 0.
func (p *parser) quote() int {
	for _, q := range quotes {
		if strings.HasPrefix(p.s[p.i:], q.open) {
			return len(q.open)
		}
	}
	return 0
}

// quoted reads a string.
func (p *parser) quoted() (node, bool) {
	start := p.i
	if p.work != nil {
		if *p.work <= 0 {
			return node{}, false
		}
		defer func() { *p.work -= max(p.reached-start, 1) }()
	}
	n := p.quote()
	q := p.s[p.i : p.i+n]
	end := q
	for _, pair := range quotes {
		if pair.open == q {
			end = pair.close
		}
	}
	p.i += n
	if n == 3 && q[0] >= utf8.RuneSelf {
		p.fix("smart-quotes", llm.Syntax, start, p.i)
	}
	if q[0] == '\\' {
		p.fix("markdown-escape", llm.Syntax, start, p.i)
	}
	path := isPath(p.s[p.i:])
	if path {
		p.fix("windows-path", llm.Guess, start, p.i)
	}
	var b strings.Builder
	for p.i < len(p.s) {
		switch {
		case p.s[p.i] == '\\' && p.i+1 < len(p.s) && !(end[0] == '\\' && strings.HasPrefix(p.s[p.i:], end)):
			if path && strings.IndexByte("\\\"'", p.s[p.i+1]) < 0 {
				b.WriteByte('\\')
				p.i++
			} else {
				p.escape(&b)
			}
		case strings.HasPrefix(p.s[p.i:], end):
			if len(end) == 3 && end[0] < utf8.RuneSelf || p.ends(p.i+len(end), b.String()) {
				p.i += len(end)
				p.reached = p.i
				return node{kind: stringNode, text: b.String(), start: start, end: p.i}, true
			}
			p.fix("unescaped-quote", llm.Guess, p.i, p.i+len(end))
			b.WriteString(end)
			p.i += len(end)
		default:
			b.WriteByte(p.s[p.i])
			p.i++
		}
	}
	p.reached = p.i
	p.i = start
	return node{}, false
}

// isPath reports whether s begins like a path of Windows whose backslashes were
// not escaped.
func isPath(s string) bool {
	return len(s) > 3 && s[0]|0x20 >= 'a' && s[0]|0x20 <= 'z' && s[1] == ':' && s[2] == '\\' && s[3] != '\\' &&
		(strings.IndexByte("nrt", s[3]) < 0 || len(s) > 4 && s[4] > ' ')
}

// escape reads an escape of a string. An unknown escape keeps its backslash,
// unless the text is Markdown.
func (p *parser) escape(b *strings.Builder) {
	c := p.s[p.i+1]
	switch {
	case c == 'n':
		b.WriteByte('\n')
	case c == 't':
		b.WriteByte('\t')
	case c == 'r':
		b.WriteByte('\r')
	case c == '\\' || c == '"' || c == '\'' || c == '/':
		b.WriteByte(c)
	case p.escaped && strings.IndexByte(Markdown, c) >= 0:
		p.fix("markdown-escape", llm.Syntax, p.i, p.i+1)
		b.WriteByte(c)
	default:
		b.WriteByte('\\')
		b.WriteByte(c)
	}
	p.i += 2
}

// ends reports whether a quote before the i-th byte ends the string with the
// text so far: only something that may follow a string follows it.
func (p *parser) ends(i int, text string) bool {
	i = skipSpace(p.s, i)
	if i >= len(p.s) {
		return true
	}
	if p.spaced && startsValue(p.s, i) {
		return true
	}
	switch p.s[i] {
	case ':', '=':
		return true
	case '(':
		return p.isName(text)
	case ',':
		return startsValue(p.s, skipSpace(p.s, i+1))
	}
	const closing = ")]} \t\r\\"
	for i < len(p.s) && strings.IndexByte(closing, p.s[i]) >= 0 {
		i++
	}
	return i > 0 && strings.IndexByte(closing, p.s[i-1]) >= 0 && (i >= len(p.s) || strings.IndexByte(",;\n", p.s[i]) >= 0)
}

// startsValue reports whether another value, or a key, begins at i.
func startsValue(s string, i int) bool {
	if i >= len(s) || strings.IndexByte("\"'`“‘[({-)]}0123456789", s[i]) >= 0 {
		return true
	}
	j := i
	for j < len(s) && (isNameByte(s[j]) || s[j] == '\\') {
		j++
	}
	return j > i && (j >= len(s) || strings.IndexByte("=:(,)]} ", s[j]) >= 0) && (j >= len(s) || s[j] != ' ' || strings.HasPrefix(strings.TrimLeft(s[j:], " "), "="))
}

func skipSpace(s string, i int) int {
	for i < len(s) && strings.IndexByte(" \t\r\n", s[i]) >= 0 {
		i++
	}
	return i
}
