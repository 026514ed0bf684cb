package form

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// bracePrefix precedes the name of a brace call.
const bracePrefix = "call:"

// braceCall reads call:name{key:value,…}.
func (m braceReader) braceCall(start int) bool {
	m.Skip(len(bracePrefix), bracePrefix)
	i := 0
	for i < lexicon.MaxName && m.At(i) && (chars.IsNameByte(m.Buf[m.Pos+i]) || m.Buf[m.Pos+i] == ' ') {
		i++
	}
	written := string(m.Buf[m.Pos : m.Pos+i])
	if m.Peek(i) == '(' {
		return m.asPython().pyCall(start)
	}
	if m.Peek(i) != '{' {
		return m.Marked && !m.At(i) && m.asName().nameOnly(written, i, start, true)
	}
	return m.braced(written, i, start)
}

// braced reads a call whose name is the next i bytes and whose arguments follow in braces.
func (m braceReader) braced(written string, i, start int) bool {
	m.Form(spec.BraceCall)
	if !m.asName().callNamed(written, i, start) {
		return false
	}
	m.Call.Whole = true
	m.braceObject(m.Shape(), 0)
	if m.Call.Open && m.Peek(m.Spaces(0)) == '}' { // a surplus brace
		m.Skip(m.Spaces(0)+1, "}")
	}
	if i := m.Spaces(0); m.Call.Open && m.Peek(i) == ',' && m.isBraceKey(m.Spaces(i+1)) {
		m.Repair("argument-outside", llm.Guess, m.Offset(), m.Offset())
	}
	m.EndCall()
	return true
}

// braceObject reads {key:value,…} into the arguments.
func (m braceReader) braceObject(shape *schema.Shape, depth int) {
	m.Skip(1, "{")
	m.Arg("{")
	for first := true; m.Call.Open; first = false {
		m.Blank(",")
		if m.braceEnd('}') {
			break
		}
		key, ok := m.braceKey()
		if !ok {
			m.BadArgs("a key is missing in the arguments")
			m.skipUnreadable()
			break
		}
		if key == "" {
			m.BadArgs("a value has no key")
		}
		if !first {
			m.Arg(",")
		}
		m.Arg(chars.QuoteJSON(key) + ":")
		var s *schema.Shape
		if shape != nil {
			s = shape.Property(key)
		}
		m.braceValue(s, depth+1, false)
	}
	if m.Call.Open {
		m.Arg("}")
	}
}

// braceEnd skips the closing bracket of an object or a list. At the end of the call or of the answer, a missing bracket
// is added. It reports whether the object or list has ended.
func (m braceReader) braceEnd(closer byte) bool {
	switch {
	case !m.More():
		m.Missing("brace")
		return true
	case m.Peek(0) == closer:
		m.Skip(1, string(closer))
		return true
	case m.Closer(0):
		m.Repair("missing-brace", llm.Completion, m.Offset(), m.Offset())
		return true
	}
	return false
}

// braceKey reads a key and its colon.
func (m braceReader) braceKey() (string, bool) {
	i := 0
	for i < scan.MaxTag && m.At(i) && m.Buf[m.Pos+i] != ':' && m.Buf[m.Pos+i] != '\n' && m.Buf[m.Pos+i] != '{' {
		if i > 0 && m.braceQuote(i) > 0 && m.Peek(m.Spaces(i+m.braceQuote(i))) != ':' && m.braceQuote(0) == 0 {
			break // the colon is missing
		}
		i++
	}
	colon := m.Peek(i) == ':'
	if !colon && m.braceQuote(i) == 0 {
		return "", false
	}
	key := strings.TrimSpace(lexicon.FoldAll(string(m.Buf[m.Pos : m.Pos+i])))
	for _, q := range m.Lex.Quotes {
		key = strings.TrimSuffix(strings.TrimPrefix(key, q.Text), q.Text)
	}
	if key = strings.Trim(key, `"'`); strings.ContainsAny(key, ",<>[]{}") {
		return "", false
	}
	m.Skip(i, "key")
	m.Blank(":")
	return key, true
}

// braceQuote returns the length of the special delimiter i bytes from here, 0 if there is none.
func (m braceReader) braceQuote(i int) int {
	for _, q := range m.Lex.Quotes {
		if n := m.Literal(i, q.Text); n > 0 {
			return n
		}
	}
	return 0
}

// braceValue reads a value into the arguments. inList reports whether it is an item of a list.
func (m braceReader) braceValue(shape *schema.Shape, depth int, inList bool) {
	if depth > maxNesting {
		m.BadArgs("the arguments are nested too deeply")
		m.skipUnreadable()
		return
	}
	for _, q := range m.Lex.Quotes {
		if m.Literal(0, q.Text) > 0 {
			m.braceString(q, shape, depth)
			return
		}
	}
	switch c := m.Peek(0); {
	case c == '{':
		m.braceObject(shape, depth)
	case c == '[':
		m.braceList(shape, depth)
	case chars.IsQuote(c):
		m.bracePlain(c)
	default:
		m.braceWord(shape, inList)
	}
}

// braceList reads [value,…] into the arguments.
func (m braceReader) braceList(shape *schema.Shape, depth int) {
	m.Skip(1, "[")
	m.Arg("[")
	for i := 0; m.Call.Open; i++ {
		m.Blank(",")
		if m.braceEnd(']') {
			break
		}
		if i > 0 {
			m.Arg(",")
		}
		var s *schema.Shape
		if shape != nil {
			s = shape.Item(i)
		}
		before := m.Offset()
		m.braceValue(s, depth+1, true)
		if m.Offset() == before {
			m.BadArgs("a list cannot be read")
			m.skipUnreadable()
			break
		}
	}
	if m.Call.Open {
		m.Arg("]")
	}
}

// braceString reads a string between special delimiters. depth is the number of objects and lists around it.
func (m braceReader) braceString(quote lexicon.BraceQuote, shape *schema.Shape, depth int) {
	q := quote.Text
	m.Skip(m.Literal(0, q), q)
	if n := m.Literal(0, q); n > 0 && strings.IndexByte(",}] \t\r\n<", m.Peek(n)) < 0 {
		m.Skip(n, q) // a repeated delimiter
	}
	types := quote.Types
	if shape != nil {
		types = shape.Types() | schema.String
	}
	s := sink{m: m.answer, value: value{types: types, trim: spec.Literal}, closers: min(depth, maxClosers)}
	all := func() bool { return s.until('<', '<') }
	for m.Flows(0, all) {
		if all() {
			continue
		}
		if n := m.Literal(0, q); n > 0 {
			s.close()
			m.skipTag(n)
			return
		}
		if t, k := m.Match(0); t.Is(lexicon.Closes) && m.asTag().isOurs(t, lexicon.Closes) && m.asTag().endsCall(k) {
			m.braceTail(&s)
			return
		}
		s.passed = 1
	}
	m.Missing("quote")
	if m.Call.Open {
		m.braceTail(&s)
	}
}

// braceTail ends a string that has no closing delimiter before the end of the call.
func (m braceReader) braceTail(s *sink) {
	m.Repair("missing-quote", llm.Guess, m.Offset(), m.Offset())
	held := &s.raw
	if s.quoting {
		held = &s.pend
	}
	*held = (*held)[:len(*held)-s.closing(*held)]
	s.close()
}

// bracePlain reads a string in ordinary quotes q.
func (m braceReader) bracePlain(q byte) {
	start := m.Offset()
	m.Skip(1, "quote")
	m.Arg(`"`)
	for m.More() {
		rest := m.Buf[m.Pos:]
		n := bytes.IndexByte(rest, q)
		switch {
		case n == 0 && m.endOfBraceString() > 0:
			m.Skip(m.endOfBraceString(), "quote")
			m.Arg(`"`)
			m.Repair("plain-quotes", llm.Syntax, start, m.Offset())
			return
		case n == 0:
			n = 1
		case n < 0:
			n = len(rest) - chars.Partial(rest)
			if rest[len(rest)-1] == '\\' {
				n = len(rest) - 1
			}
			if n == 0 && m.At(len(rest)) {
				continue
			}
			n = max(n, 1)
		}
		if n > 0 && rest[n-1] == '\\' && n < len(rest) && rest[n] == q { // \"
			n--
		}
		if n == 0 && rest[0] == '\\' {
			m.Escape([]byte{q})
			m.Read(engine.ArgsSpan, 2, "escape")
			continue
		}
		m.Escape(rest[:n])
		m.Read(engine.ArgsSpan, n, "string")
	}
	m.Missing("quote")
	if m.Call.Open {
		m.Arg(`"`)
	}
}

// endOfBraceString returns the length of the closing quote at the current position, including a surplus special
// delimiter. It returns 0 if the quote does not end the string: the end of the object or another key must follow.
func (m braceReader) endOfBraceString() int {
	end := 1
	for _, q := range m.Lex.Quotes {
		end += m.Literal(m.Spaces(1), q.Text)
	}
	if m.endsBraceString(m.Spaces(end)) {
		return end
	}
	return 0
}

// endsBraceString reports whether the end of an object or another key follows a string at k.
func (m braceReader) endsBraceString(k int) bool {
	if !m.At(k) {
		return true
	}
	switch m.Buf[m.Pos+k] {
	case '}', ']':
		return true
	case ',':
		k = m.Spaces(k + 1)
		for i := k; i < k+lexicon.MaxName && m.At(i); i++ {
			if c := m.Buf[m.Pos+i]; c == ':' || !chars.IsNameByte(c) && !chars.IsQuote(c) && c != '<' && c != '|' && c != '>' {
				return c == ':' || i == k && c != ' '
			}
		}
	case '<':
		t, _ := m.Match(k)
		return t.Is(lexicon.Closes)
	}
	return false
}

// braceWord reads a number, a constant, or text without quotes. In an object such text may contain commas and brackets;
// it ends before the next key or at the end of the call.
func (m braceReader) braceWord(shape *schema.Shape, inList bool) {
	i, text := 0, false
	for ; m.At(i); i++ {
		c := m.Buf[m.Pos+i]
		if c == ',' || c == '}' || c == ']' {
			if text = text || !inList && !isLiteral(string(m.Buf[m.Pos:m.Pos+i])); !text || m.endsBraceWord(i) {
				break
			}
		}
		if c == '<' {
			if t, _ := m.Match(i); t.Is(lexicon.Closes) && m.asTag().isOurs(t, lexicon.Closes) {
				break
			}
		}
	}
	raw := string(m.Buf[m.Pos : m.Pos+i])
	word := strings.TrimSpace(raw)
	m.Read(engine.ArgsSpan, i, "word")
	for _, q := range m.Lex.Quotes { // the opening delimiter is missing
		if text, cut := strings.CutSuffix(word, q.Text); cut {
			word = text
			m.Repair("missing-quote", llm.Guess, m.Offset()-i, m.Offset())
		}
	}
	if strings.ContainsAny(word, ",{}[]") {
		m.Repair("unquoted-text", llm.Guess, m.Offset()-i, m.Offset())
	}
	if m.asPython().wordCut(raw) || word == "" && !m.More() {
		m.CutCall()
		return
	}
	types := schema.Any
	if shape != nil {
		types = shape.Types()
	}
	m.Arg(string(values.Typed(types, word)))
}

// isLiteral reports whether text is a JSON literal.
func isLiteral(text string) bool {
	v, _ := schema.Any.Typed(text)
	return v[0] != '"'
}

// endsBraceWord reports whether the comma or bracket at i ends text without quotes.
func (m braceReader) endsBraceWord(i int) bool {
	for k := i; ; k = m.Spaces(k + 1) {
		switch c := m.Peek(k); {
		case c == ',':
			return m.isBraceKey(m.Spaces(k+1)) || k > i && m.Peek(m.Spaces(k+1)) == '{'
		case c == '}' || c == ']':
		default:
			return !m.At(k) || m.Closer(k)
		}
	}
}

// isBraceKey reports whether a key and its colon are at k, or the end of an object after a surplus comma.
func (m braceReader) isBraceKey(k int) bool {
	if c := m.Peek(k); c == '}' || c == ']' {
		return m.endsBraceWord(k)
	}
	i := k
	for i < k+lexicon.MaxName && m.At(i) && (chars.IsNameByte(m.Buf[m.Pos+i]) && m.Buf[m.Pos+i] != ':' || strings.IndexByte(`<|">'`, m.Buf[m.Pos+i]) >= 0) {
		i++
	}
	return i > k && m.Peek(m.Spaces(i)) == ':'
}
