package form

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/llm"
)

// stringPrefix returns the length of the letters that stand here before the quote
// of a string literal; 0 if there are none.
func (m pythonReader) stringPrefix() int {
	for n := range 3 {
		if c := m.Peek(n); !chars.IsLetter(c) {
			if n > 0 && chars.IsQuote(c) {
				return n
			}
			break
		}
	}
	return 0
}

// prefixedString reads a string literal after a prefix of n letters. r keeps
// backslashes, and u says nothing. What others mean JSON cannot say: that the
// text itself is meant is a guess, and none if f computes a part of it.
func (m pythonReader) prefixedString(n int) bool {
	start := m.Offset()
	prefix := strings.ToLower(string(m.Buf[m.Pos : m.Pos+n]))
	m.Skip(n, "prefix")
	from := len(m.Call.Args)
	ok := m.pyString(strings.Contains(prefix, "r"))
	if !ok || strings.Trim(prefix, "ru") == "" {
		return ok
	}
	m.Repair("string-prefix", llm.Guess, start, start+n)
	if strings.Contains(prefix, "f") && hasPlaceholder(m.Call.Args[from:]) {
		m.BadArgs("a string computes a part of its text, and nobody has run it")
	}
	return true
}

// hasPlaceholder reports whether the text of a string literal with f holds an
// expression in braces. Two braces mean one.
func hasPlaceholder(text []byte) bool {
	text = bytes.ReplaceAll(text, []byte("{{"), nil)
	open := bytes.IndexByte(text, '{')
	return open >= 0 && bytes.IndexByte(text[open:], '}') >= 0
}

// pyString reads a string literal into the arguments as it arrives.
func (m pythonReader) pyString(raw bool) bool {
	q := m.Peek(0)
	width := 1
	if m.Peek(1) == q && m.Peek(2) == q {
		width = 3
	}
	if m.isPath(width) {
		raw = true
		m.Repair("windows-path", llm.Guess, m.Offset(), m.Offset())
	}
	m.Skip(width, "quote")
	m.Arg(`"`)
	from := len(m.Call.Args)
	text := func() bool { return m.pyText(q, raw) }
	for m.Flows(0, text) {
		if text() {
			rest := len(m.Buf) - m.Pos
			if rest > 0 && !m.At(rest) && bytes.IndexByte(m.Buf[m.Pos:], ')') >= 0 {
				break // the end of the call, without the quote before it
			}
			if rest > 0 && !m.At(rest) { // a rune that will never be whole
				m.Escape(m.Buf[m.Pos:])
				m.Read(engine.ArgsSpan, rest, "string")
			}
			continue
		}
		if m.Buf[m.Pos] == '\\' {
			m.pyEscape(raw)
		} else if m.pyQuote(q, width) {
			return true
		}
	}
	m.Missing("quote")
	if m.Call.Open {
		m.Arg(`"`)
		m.checkUnended(m.Call.Args[from:])
	}
	return m.Call.Open
}

// checkUnended makes the call invalid if text, a string whose end is missing,
// seems to hold further arguments: no one knows where it should have ended.
func (m pythonReader) checkUnended(text []byte) {
	if m.Shape() == nil {
		return
	}
	for _, key := range m.Shape().Properties() {
		if bytes.Contains(text, []byte(", "+key+"=")) || bytes.Contains(text, []byte(","+key+"=")) {
			m.BadArgs("a string does not end before the argument %s", key)
		}
	}
}

// maxHeldClosers is how many closing brackets at the end of the text are held: if
// the quote before them is missing, they are none of the string.
const maxHeldClosers = 16

// trailingClosers returns the length of the closing brackets, with the white
// space between and after them, with which p ends.
func trailingClosers(p []byte) int {
	from := max(0, len(p)-maxHeldClosers)
	n := 0
	for i := len(p) - 1; i >= from; i-- {
		switch c := p[i]; {
		case c == ')' || c == ']' || c == '}':
			n = len(p) - i
		case !chars.IsSpace(c):
			return n
		}
	}
	return n
}

// otherQuotes reads a string in quotes that Python does not have: escaped as in
// Markdown, or those of typographers. If its end is not in sight, the quotes are
// text.
func (m pythonReader) otherQuotes(open, end, rule string) bool {
	start := m.Offset()
	for i := len(open); i <= scan.MaxGuess && m.At(i); i++ {
		if m.Buf[m.Pos+i] != end[0] || !m.HasAt(i, end) || strings.IndexByte(",)]}", m.Peek(m.Spaces(i+len(end)))) < 0 {
			continue
		}
		m.Arg(chars.QuoteJSON(loose.Unescape(string(m.Buf[m.Pos+len(open) : m.Pos+i]))))
		m.Read(engine.ArgsSpan, i+len(end), "string")
		m.Repair(rule, llm.Syntax, start, m.Offset())
		return true
	}
	return m.pyWord("")
}

// isPath reports whether the string i bytes from here begins like a path of
// Windows whose backslashes were not escaped. Before a quote that does not end
// the string the backslash escapes that.
func (m pythonReader) isPath(i int) bool {
	if !chars.IsLetter(m.Peek(i)) || m.Peek(i+1) != ':' || m.Peek(i+2) != '\\' {
		return false
	}
	c := m.Peek(i + 3)
	return c != '\\' && (!chars.IsQuote(c) || m.endsString(i+3))
}

// pyText reads the text of a string up to a quote or an escape that JSON writes
// in another way, but for a rune that is not whole yet. It reports whether it
// came to neither.
func (m pythonReader) pyText(q byte, raw bool) bool {
	text := m.Buf[m.Pos:]
	done := 0
	for done < len(text) {
		rest := text[done:]
		n := chars.IndexEither(rest, q, '\\')
		if n == len(rest) {
			if n -= max(chars.Partial(rest[:n]), trailingClosers(rest[:n])); n == 0 {
				break
			}
		}
		switch {
		case n > 0:
			m.Escape(rest[:n])
		case !raw && len(rest) > 1 && rest[0] == '\\' && strings.IndexByte(`"\nrtbf`, rest[1]) >= 0:
			n = 2
			m.ArgBytes(rest[:n])
		default:
			m.Read(engine.ArgsSpan, done, "string")
			return false
		}
		done += n
	}
	m.Read(engine.ArgsSpan, done, "string")
	return true
}

// pyQuote handles a quote inside a string: its end, or text that should have
// been escaped. It reports whether the string has ended.
func (m pythonReader) pyQuote(q byte, width int) bool {
	if width == 3 {
		if m.Peek(1) != q || m.Peek(2) != q {
			m.Escape([]byte{q})
			m.Read(engine.ArgsSpan, 1, "string")
			return false
		}
		m.Skip(3, "quote")
		m.Arg(`"`)
		return true
	}
	if m.endsString(0) {
		m.Skip(1, "quote")
		m.Arg(`"`)
		return true
	}
	if n := m.concatenation(q); n > 0 {
		m.Repair("string-concatenation", llm.Syntax, m.Offset(), m.Offset()+n)
		m.Read(engine.ArgsSpan, n, "string")
		return false
	}
	m.Repair("unescaped-quote", llm.Guess, m.Offset(), m.Offset()+1)
	m.Escape([]byte{q})
	m.Read(engine.ArgsSpan, 1, "string")
	return false
}

// concatenation returns the length of the end of a string that stands here, a plus
// and the beginning of the string that is added to it; 0 if it is something else:
// text with a quote that should have been escaped may hold such signs, too.
func (m pythonReader) concatenation(q byte) int {
	for _, r := range m.Call.Repairs {
		if r.Rule == "unescaped-quote" {
			return 0
		}
	}
	i := m.Spaces(1)
	if m.Peek(i) != '+' {
		return 0
	}
	if i = m.Spaces(i + 1); m.Peek(i) != q {
		return 0
	}
	return i + 1
}

// endsString reports whether the quote i bytes from here ends a string: then
// only something that may follow a value follows it.
func (m pythonReader) endsString(i int) bool {
	k := m.Spaces(i + 1)
	if n := m.PyComment(k); n > k && m.Peek(i+1) == ' ' { // the line ends in a comment
		k = m.Spaces(n)
		return strings.IndexByte(",)]}", m.Peek(k)) >= 0
	}
	if !m.At(k) {
		return true
	}
	switch m.Buf[m.Pos+k] {
	case ')':
		return m.endsPyCall(k + 1)
	case ']', '}', ':':
		return true
	case ',':
		k = m.Spaces(k + 1)
		k = m.Spaces(m.PyComment(k))
		if m.Keyword && chars.IsQuote(m.Peek(k)) { // after a keyword argument there is another one
			return m.keyLength(k) > 0
		}
		return !chars.IsNameStart(m.Peek(k)) || m.keyLength(k) > 0 || m.CallAt(k)
	case '<':
		t, _ := m.Match(k)
		return t.Is(lexicon.Closes)
	}
	return false
}

// endsPyCall reports whether what follows at k may follow a call.
func (m pythonReader) endsPyCall(k int) bool {
	line := k
	if m.Peek(line) == '\r' {
		line++
	}
	if m.Peek(line) == '\n' {
		return true
	}
	k = m.Spaces(k)
	if !m.At(k) {
		return true
	}
	switch c := m.Buf[m.Pos+k]; c {
	case ']', ',', ';', '`', '\n':
		return true
	case ')':
		return !m.Marked || m.Printed
	case '"', '\'':
		return false
	case '<', '[':
		t, _ := m.Match(k)
		return t != nil || m.PartialMarker(k)
	default:
		return !m.Marked
	}
}

// pyEscape reads an escape.
func (m pythonReader) pyEscape(raw bool) {
	if !m.At(1) {
		m.Arg(`\\`)
		m.Read(engine.ArgsSpan, 1, "escape")
		return
	}
	c := m.Peek(1)
	n := 2
	switch {
	case raw && !chars.IsQuote(c):
		m.Escape([]byte{'\\', c})
	case raw && m.endsString(1): // a folder ends with it
		m.Arg(`\\`)
		n = 1
	case c == 'n' || c == 't' || c == 'r' || c == 'b' || c == 'f':
		m.Arg(`\` + string(rune(c)))
	case c == '\\' || chars.IsQuote(c):
		m.Escape([]byte{c})
	case c == '\n':
	case c == 'x' || c == 'u' || c == 'U':
		n = m.pyRune(c)
	case c == '0':
		m.Arg("\\u0000")
	case strings.IndexByte(loose.Markdown, c) >= 0 && m.Call.Escapes.Drop(m.Call.Args, c):
		m.Repair("markdown-escape", llm.Syntax, m.Offset(), m.Offset()+1)
		m.Escape([]byte{c})
	default:
		m.Arg(`\\`)
		n = 1
	}
	m.Read(engine.ArgsSpan, n, "escape")
}

// pyRune writes the rune of \x41, \u0041 or \U00000041 and returns the length
// of the escape. Halves of surrogate pairs are joined.
func (m pythonReader) pyRune(c byte) int {
	digits := map[byte]int{'x': 2, 'u': 4, 'U': 8}[c]
	if !m.At(1 + digits) {
		m.Arg(`\\`)
		return 1
	}
	v, err := strconv.ParseUint(string(m.Buf[m.Pos+2:m.Pos+2+digits]), 16, 32)
	switch {
	case err != nil || v > utf8.MaxRune:
		m.Arg(`\\`)
		return 1
	case v >= 0xD800 && v < 0xE000:
		m.Arg(`\u` + string(m.Buf[m.Pos+2:m.Pos+6]))
	default:
		m.Escape(utf8.AppendRune(nil, rune(v)))
	}
	return 2 + digits
}
