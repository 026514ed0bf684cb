package engine

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/llm"
)

// stringPrefix returns the length of the letters that stand here before the quote
// of a string literal; 0 if there are none.
func (in *input) stringPrefix() int {
	for n := range 3 {
		if c := in.peek(n); !isLetter(c) {
			if n > 0 && isQuote(c) {
				return n
			}
			break
		}
	}
	return 0
}

// prefixedString reads a string literal behind a prefix of n letters. r keeps
// backslashes, and u says nothing. What others mean JSON cannot say: that the
// text itself is meant is a guess, and none if f computes a part of it.
func (m *machine) prefixedString(n int) bool {
	start := m.offset()
	prefix := strings.ToLower(string(m.buf[m.pos : m.pos+n]))
	m.skip(n, "prefix")
	from := len(m.call.args)
	ok := m.pyString(strings.Contains(prefix, "r"))
	if !ok || strings.Trim(prefix, "ru") == "" {
		return ok
	}
	m.repair("string-prefix", llm.Guess, start, start+n)
	if strings.Contains(prefix, "f") && hasPlaceholder(m.call.args[from:]) {
		m.badArgs("a string computes a part of its text, and nobody has run it")
	}
	return true
}

// hasPlaceholder reports whether the text of a string literal with f holds an
// expression in braces. Two braces stand for one.
func hasPlaceholder(text []byte) bool {
	text = bytes.ReplaceAll(text, []byte("{{"), nil)
	open := bytes.IndexByte(text, '{')
	return open >= 0 && bytes.IndexByte(text[open:], '}') >= 0
}

// pyString reads a string literal into the arguments as it arrives.
func (m *machine) pyString(raw bool) bool {
	q := m.peek(0)
	width := 1
	if m.peek(1) == q && m.peek(2) == q {
		width = 3
	}
	if m.isPath(width) {
		raw = true
		m.repair("windows-path", llm.Guess, m.offset(), m.offset())
	}
	m.skip(width, "quote")
	m.arg(`"`)
	from := len(m.call.args)
	text := func() bool { return m.pyText(q, raw) }
	for m.flows(0, text) {
		if text() {
			rest := len(m.buf) - m.pos
			if rest > 0 && !m.at(rest) && bytes.IndexByte(m.buf[m.pos:], ')') >= 0 {
				break // the end of the call, without the quote before it
			}
			if rest > 0 && !m.at(rest) { // a rune that will never be whole
				m.escape(m.buf[m.pos:])
				m.read(ArgsSpan, rest, "string")
			}
			continue
		}
		if m.buf[m.pos] == '\\' {
			m.pyEscape(raw)
		} else if m.pyQuote(q, width) {
			return true
		}
	}
	m.missing("quote")
	if m.call.open {
		m.arg(`"`)
		m.checkUnended(m.call.args[from:])
	}
	return m.call.open
}

// checkUnended makes the call invalid if text, a string whose end is missing,
// seems to hold further arguments: nobody knows where it should have ended.
func (m *machine) checkUnended(text []byte) {
	if m.shape() == nil {
		return
	}
	for _, key := range m.shape().Properties() {
		if bytes.Contains(text, []byte(", "+key+"=")) || bytes.Contains(text, []byte(","+key+"=")) {
			m.badArgs("a string does not end before the argument %s", key)
		}
	}
}

// maxHeldClosers is how many closing brackets at the end of the text are held: if
// the quote before them is missing, they are none of the string.
const maxHeldClosers = 16

// trailingClosers returns the length of the closing brackets, with the white
// space between and behind them, with which p ends.
func trailingClosers(p []byte) int {
	from := max(0, len(p)-maxHeldClosers)
	n := 0
	for i := len(p) - 1; i >= from; i-- {
		switch c := p[i]; {
		case c == ')' || c == ']' || c == '}':
			n = len(p) - i
		case !isSpace(c):
			return n
		}
	}
	return n
}

// otherQuotes reads a string in quotes that Python does not have: escaped as in
// Markdown, or those of typographers. If its end is not in sight, the quotes are
// text.
func (m *machine) otherQuotes(open, end, rule string) bool {
	start := m.offset()
	for i := len(open); i <= maxGuess && m.at(i); i++ {
		if m.buf[m.pos+i] != end[0] || !m.hasAt(i, end) || strings.IndexByte(",)]}", m.peek(m.spaces(i+len(end)))) < 0 {
			continue
		}
		m.arg(quoteJSON(loose.Unescape(string(m.buf[m.pos+len(open) : m.pos+i]))))
		m.read(ArgsSpan, i+len(end), "string")
		m.repair(rule, llm.Syntax, start, m.offset())
		return true
	}
	return m.pyWord("")
}

// isPath reports whether the string i bytes from here begins like a path of
// Windows whose backslashes were not escaped. Before a quote that does not end
// the string the backslash escapes that.
func (m *machine) isPath(i int) bool {
	if !isLetter(m.peek(i)) || m.peek(i+1) != ':' || m.peek(i+2) != '\\' {
		return false
	}
	c := m.peek(i + 3)
	return c != '\\' && (!isQuote(c) || m.endsString(i+3))
}

// pyText reads the text of a string up to a quote or an escape that JSON writes
// in another way, but for a rune that is not whole yet. It reports whether it
// came to neither.
func (m *machine) pyText(q byte, raw bool) bool {
	text := m.buf[m.pos:]
	done := 0
	for done < len(text) {
		rest := text[done:]
		n := indexEither(rest, q, '\\')
		if n == len(rest) {
			if n -= max(partial(rest[:n]), trailingClosers(rest[:n])); n == 0 {
				break
			}
		}
		switch {
		case n > 0:
			m.escape(rest[:n])
		case !raw && len(rest) > 1 && rest[0] == '\\' && strings.IndexByte(`"\nrtbf`, rest[1]) >= 0:
			n = 2
			m.argBytes(rest[:n])
		default:
			m.read(ArgsSpan, done, "string")
			return false
		}
		done += n
	}
	m.read(ArgsSpan, done, "string")
	return true
}

// partial returns the length of the incomplete rune at the end of p.
func partial(p []byte) int {
	for i := 1; i <= 3 && i <= len(p); i++ {
		if c := p[len(p)-i]; c >= 0xC0 {
			if utf8.FullRune(p[len(p)-i:]) {
				return 0
			}
			return i
		} else if c < 0x80 {
			return 0
		}
	}
	return 0
}

// pyQuote handles a quote inside a string: its end, or text that should have
// been escaped. It reports whether the string has ended.
func (m *machine) pyQuote(q byte, width int) bool {
	if width == 3 {
		if m.peek(1) != q || m.peek(2) != q {
			m.escape([]byte{q})
			m.read(ArgsSpan, 1, "string")
			return false
		}
		m.skip(3, "quote")
		m.arg(`"`)
		return true
	}
	if m.endsString(0) {
		m.skip(1, "quote")
		m.arg(`"`)
		return true
	}
	if n := m.concatenation(q); n > 0 {
		m.repair("string-concatenation", llm.Syntax, m.offset(), m.offset()+n)
		m.read(ArgsSpan, n, "string")
		return false
	}
	m.repair("unescaped-quote", llm.Guess, m.offset(), m.offset()+1)
	m.escape([]byte{q})
	m.read(ArgsSpan, 1, "string")
	return false
}

// concatenation returns the length of the end of a string that stands here, a plus
// and the beginning of the string that is added to it; 0 if it is something else:
// text with a quote that should have been escaped may hold such signs, too.
func (m *machine) concatenation(q byte) int {
	for _, r := range m.call.repairs {
		if r.Rule == "unescaped-quote" {
			return 0
		}
	}
	i := m.spaces(1)
	if m.peek(i) != '+' {
		return 0
	}
	if i = m.spaces(i + 1); m.peek(i) != q {
		return 0
	}
	return i + 1
}

// endsString reports whether the quote i bytes from here ends a string: then
// only what may follow a value follows it.
func (m *machine) endsString(i int) bool {
	k := m.spaces(i + 1)
	if n := m.pyComment(k); n > k && m.peek(i+1) == ' ' { // the line ends in a comment
		k = m.spaces(n)
		return strings.IndexByte(",)]}", m.peek(k)) >= 0
	}
	if !m.at(k) {
		return true
	}
	switch m.buf[m.pos+k] {
	case ')':
		return m.endsPyCall(k + 1)
	case ']', '}', ':':
		return true
	case ',':
		k = m.spaces(k + 1)
		k = m.spaces(m.pyComment(k))
		if m.keyword && isQuote(m.peek(k)) { // behind a keyword argument there is another one
			return m.keyLength(k) > 0
		}
		return !isNameStart(m.peek(k)) || m.keyLength(k) > 0 || m.callAt(k)
	case '<':
		t, _ := m.match(k)
		return t.is(closes)
	}
	return false
}

// endsPyCall reports whether what follows at k may follow a call.
func (m *machine) endsPyCall(k int) bool {
	line := k
	if m.peek(line) == '\r' {
		line++
	}
	if m.peek(line) == '\n' {
		return true
	}
	k = m.spaces(k)
	if !m.at(k) {
		return true
	}
	switch c := m.buf[m.pos+k]; c {
	case ']', ',', ';', '`', '\n':
		return true
	case ')':
		return !m.marked || m.printed
	case '"', '\'':
		return false
	case '<', '[':
		t, _ := m.match(k)
		return t != nil || m.partialMarker(k)
	default:
		return !m.marked
	}
}

// pyEscape reads an escape.
func (m *machine) pyEscape(raw bool) {
	if !m.at(1) {
		m.arg(`\\`)
		m.read(ArgsSpan, 1, "escape")
		return
	}
	c := m.peek(1)
	n := 2
	switch {
	case raw && !isQuote(c):
		m.escape([]byte{'\\', c})
	case raw && m.endsString(1): // a folder ends with it
		m.arg(`\\`)
		n = 1
	case c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f':
		m.arg(`\` + string(rune(c)))
	case c == '\\' || isQuote(c):
		m.escape([]byte{c})
	case c == '\n':
	case c == 'x' || c == 'u' || c == 'U':
		n = m.pyRune(c)
	case c == '0':
		m.arg("\\u0000")
	case strings.IndexByte(loose.Markdown, c) >= 0 && m.call.escapes.drop(m.call.args, c):
		m.repair("markdown-escape", llm.Syntax, m.offset(), m.offset()+1)
		m.escape([]byte{c})
	default:
		m.arg(`\\`)
		n = 1
	}
	m.read(ArgsSpan, n, "escape")
}

// pyRune writes the rune of \x41, \u0041 or \U00000041 and returns the length
// of the escape. Halves of surrogate pairs are joined.
func (m *machine) pyRune(c byte) int {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if !m.at(1 + digits) {
		m.arg(`\\`)
		return 1
	}
	v, err := strconv.ParseUint(string(m.buf[m.pos+2:m.pos+2+digits]), 16, 32)
	switch {
	case err != nil || v > utf8.MaxRune:
		m.arg(`\\`)
		return 1
	case v >= 0xD800 && v < 0xE000:
		m.arg(`\u` + string(m.buf[m.pos+2:m.pos+6]))
	default:
		m.escape(utf8.AppendRune(nil, rune(v)))
	}
	return 2 + digits
}
