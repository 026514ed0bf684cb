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
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// stringPrefix returns the length of the letters before the quote of a string literal, 0 if there are none.
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

// prefixedString reads a string literal after a prefix of n letters. r keeps backslashes, and u has no effect. JSON
// cannot express the other prefixes: using the text unchanged is a guess. A string with f and a placeholder is invalid.
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

// hasPlaceholder reports whether the text of a string literal with f contains an expression in braces. Double braces
// are an escape.
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
				break // the end of the call, with the quote before it missing
			}
			if rest > 0 && !m.At(rest) { // an incomplete rune at the end
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
	if m.OpenTok != nil && m.Marked && m.holdsEnd(m.Call.Args[min(from, len(m.Call.Args)):]) {
		m.BadArgs("a string does not end before its call does")
	}
	if m.Call.Open {
		m.Arg(`"`)
		m.checkUnended(m.Call.Args[from:])
	}
	return m.Call.Open
}

// checkUnended makes the call invalid if text, a string without an end, seems to contain further arguments. Its real
// end is then unknown.
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

// maxHeldClosers is the number of bytes at the end of the text in which closing brackets are held. If the quote before
// them is missing, they are not part of the string.
const maxHeldClosers = 16

// trailingClosers returns the length of the closing brackets at the end of p, with the white space between and after
// them.
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

// otherQuotes reads a string in quotes that Python does not have: quotes with Markdown escapes, or typographic quotes.
// If no closing quote is found, the quotes are text.
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

// isPath reports whether the string i bytes from here begins like a Windows path with unescaped backslashes. A
// backslash before a quote that does not end the string escapes the quote.
func (m pythonReader) isPath(i int) bool {
	if !chars.IsLetter(m.Peek(i)) || m.Peek(i+1) != ':' || m.Peek(i+2) != '\\' {
		return false
	}
	c := m.Peek(i + 3)
	if c == '\\' || chars.IsQuote(c) {
		return c != '\\' && m.endsString(i+3)
	}
	for j := i + 3; j < i+scan.MaxTag && m.At(j) && !chars.IsQuote(m.Buf[m.Pos+j]); j++ {
		if m.Buf[m.Pos+j] == ':' {
			return false // several lines with keys
		}
	}
	return strings.IndexByte("nrt", c) < 0 || m.Peek(i+4) > ' '
}

// holdsEnd reports whether text contains a marker that ends the calls.
func (m pythonReader) holdsEnd(text []byte) bool {
	for i := m.Outer.First(); i >= 0; i = m.Outer.Next(i + 1) {
		d := &m.Lex.Rows[i]
		for _, pairs := range [][]spec.Pair{d.Wrap, d.Call} {
			for _, p := range pairs {
				if p.Close != "" && bytes.Contains(text, []byte(p.Close)) {
					return true
				}
			}
		}
	}
	return false
}

// pyText reads the text of a string up to a quote, or an escape that JSON writes differently. It reports whether it
// reached the end of the buffer instead. An incomplete rune and closing brackets at the end are left unread.
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
		m.Repair("string-concatenation", llm.Guess, m.Offset(), m.Offset()+n)
		m.Read(engine.ArgsSpan, n, "string")
		return false
	}
	m.Repair("unescaped-quote", llm.Guess, m.Offset(), m.Offset()+1)
	m.Escape([]byte{q})
	m.Read(engine.ArgsSpan, 1, "string")
	return false
}

// concatenation returns the length of the text that ends a string, adds a plus and begins the next string, 0 if there
// is no such text. After an unescaped quote it always returns 0, because the text may contain such signs.
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

// endsString reports whether the quote i bytes from here ends a string: only text that may follow a value follows it.
func (m pythonReader) endsString(i int) bool {
	k := m.Spaces(i + 1)
	if n := m.PyComment(k); n > k && m.Peek(i+1) == ' ' { // a comment ends the line
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
		if m.Keyword && chars.IsQuote(m.Peek(k)) { // only a keyword argument follows a keyword argument
			return m.keyLength(k) > 0
		}
		return !chars.IsNameStart(m.Peek(k)) || m.keyLength(k) > 0 || m.CallAt(k)
	case '<':
		t, _ := m.Match(k)
		return t.Is(lexicon.Closes)
	}
	return false
}

// endsPyCall reports whether the text at k may follow a call.
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
	case raw && m.endsString(1): // a path ends with a backslash
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

// pyRune writes the rune of \x41, \u0041 or \U00000041 and returns the length of the escape. Surrogates are written as
// JSON escapes, so pairs are joined.
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
