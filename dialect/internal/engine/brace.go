package engine

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// bracePrefix stands before the name of a brace call.
const bracePrefix = "call:"

// braceCall reads call:name{key:value,…}.
func (m *machine) braceCall(start int) bool {
	m.skip(len(bracePrefix), bracePrefix)
	i := 0
	for i < maxName && m.at(i) && (isNameByte(m.buf[m.pos+i]) || m.buf[m.pos+i] == ' ') {
		i++
	}
	written := string(m.buf[m.pos : m.pos+i])
	if m.peek(i) == '(' {
		return m.pyCall(start)
	}
	if m.peek(i) != '{' {
		return m.marked && !m.at(i) && m.nameOnly(written, i, start, true)
	}
	return m.braced(written, i, start)
}

// braced reads the call whose name is the next i bytes and whose arguments
// follow it in braces.
func (m *machine) braced(written string, i, start int) bool {
	m.form(spec.BraceCall)
	if !m.callNamed(written, i, start) {
		return false
	}
	m.call.whole = true
	m.braceObject(m.shape(), 0)
	if m.call.open && m.peek(m.spaces(0)) == '}' { // one too many
		m.skip(m.spaces(0)+1, "}")
	}
	if i := m.spaces(0); m.call.open && m.peek(i) == ',' && m.isBraceKey(m.spaces(i+1)) {
		m.repair("argument-outside", llm.Guess, m.offset(), m.offset())
	}
	m.endCall()
	return true
}

const maxNesting = 200

// braceObject reads {key:value,…} into the arguments.
func (m *machine) braceObject(shape *schema.Shape, depth int) {
	m.skip(1, "{")
	m.arg("{")
	for first := true; m.call.open; first = false {
		m.blank(",")
		if m.braceEnd('}') {
			break
		}
		key, ok := m.braceKey()
		if !ok {
			m.badArgs("a key is missing in the arguments")
			m.recover()
			break
		}
		if !first {
			m.arg(",")
		}
		m.arg(quoteJSON(key) + ":")
		var s *schema.Shape
		if shape != nil {
			s = shape.Property(key)
		}
		m.braceValue(s, depth+1, false)
	}
	if m.call.open {
		m.arg("}")
	}
}

// braceEnd passes over the closer of an object or a list. At the end of the
// call, or of the answer, a missing one is added.
func (m *machine) braceEnd(closer byte) bool {
	switch {
	case !m.more():
		m.missing("brace")
		return true
	case m.peek(0) == closer:
		m.skip(1, string(closer))
		return true
	case m.closer(0):
		m.repair("missing-brace", llm.Completion, m.offset(), m.offset())
		return true
	}
	return false
}

// braceKey reads a key and its colon.
func (m *machine) braceKey() (string, bool) {
	i := 0
	for i < maxTag && m.at(i) && m.buf[m.pos+i] != ':' && m.buf[m.pos+i] != '\n' && m.buf[m.pos+i] != '{' {
		if i > 0 && m.braceQuote(i) > 0 && m.peek(m.spaces(i+m.braceQuote(i))) != ':' && m.braceQuote(0) == 0 {
			break // the colon is missing
		}
		i++
	}
	colon := m.peek(i) == ':'
	if !colon && m.braceQuote(i) == 0 {
		return "", false
	}
	key := strings.TrimSpace(foldAll(string(m.buf[m.pos : m.pos+i])))
	for _, q := range m.lex.quotes {
		key = strings.TrimSuffix(strings.TrimPrefix(key, q.text), q.text)
	}
	if key = strings.Trim(key, `"'`); strings.ContainsAny(key, ",<>[]{}") {
		return "", false
	}
	m.skip(i, "key")
	m.blank(":")
	return key, true
}

// braceQuote returns the length of a special delimiter that stands i bytes
// from here, or 0.
func (in *input) braceQuote(i int) int {
	for _, q := range in.lex.quotes {
		if n := in.literal(i, q.text); n > 0 {
			return n
		}
	}
	return 0
}

// braceValue reads a value, an item of a list or not, into the arguments.
func (m *machine) braceValue(shape *schema.Shape, depth int, inList bool) {
	if depth > maxNesting {
		m.badArgs("the arguments are nested too deeply")
		m.recover()
		return
	}
	for _, q := range m.lex.quotes {
		if m.literal(0, q.text) > 0 {
			m.braceString(q, shape, depth)
			return
		}
	}
	switch c := m.peek(0); {
	case c == '{':
		m.braceObject(shape, depth)
	case c == '[':
		m.braceList(shape, depth)
	case isQuote(c):
		m.bracePlain(c)
	default:
		m.braceWord(shape, inList)
	}
}

func (m *machine) braceList(shape *schema.Shape, depth int) {
	m.skip(1, "[")
	m.arg("[")
	for i := 0; m.call.open; i++ {
		m.blank(",")
		if m.braceEnd(']') {
			break
		}
		if i > 0 {
			m.arg(",")
		}
		var s *schema.Shape
		if shape != nil {
			s = shape.Item(i)
		}
		before := m.offset()
		m.braceValue(s, depth+1, true)
		if m.offset() == before {
			m.badArgs("a list cannot be read")
			m.recover()
			break
		}
	}
	if m.call.open {
		m.arg("]")
	}
}

// braceString reads a string between special delimiters, which stands in
// depth objects and lists.
func (m *machine) braceString(quote braceQuote, shape *schema.Shape, depth int) {
	q := quote.text
	m.skip(m.literal(0, q), q)
	if n := m.literal(0, q); n > 0 && strings.IndexByte(",}] \t\r\n<", m.peek(n)) < 0 {
		m.skip(n, q) // it is there twice
	}
	types := quote.types
	if shape != nil {
		types = shape.Types() | schema.String
	}
	s := sink{m: m, value: value{types: types, trim: spec.Literal}, closers: min(depth, maxClosers)}
	all := func() bool { return s.until('<', '<') }
	for m.flows(0, all) {
		if all() {
			continue
		}
		if n := m.literal(0, q); n > 0 {
			s.close()
			m.skipTag(n)
			return
		}
		if t, k := m.match(0); t.is(closes) && m.isOurs(t, closes) && m.endsCall(k) {
			m.braceTail(&s)
			return
		}
		s.passed = 1
	}
	m.missing("quote")
	if m.call.open {
		m.braceTail(&s)
	}
}

// braceTail ends a string whose delimiter is missing before the end of the
// call.
func (m *machine) braceTail(s *sink) {
	m.repair("missing-quote", llm.Guess, m.offset(), m.offset())
	held := &s.raw
	if s.quoting {
		held = &s.pend
	}
	*held = (*held)[:len(*held)-s.closing(*held)]
	s.close()
}

// Closing brackets at the end of a string wait for its delimiter: if that is
// missing, they are none of the string. These bound how many, and how many
// bytes with the white space among them.
const (
	maxClosers     = 4
	maxHeldClosing = 64
)

// closing returns how many bytes at the end of p are closing brackets, as many
// as are open around the string, and the white space between them.
func (s *sink) closing(p []byte) int {
	end := len(p)
	for n := 0; n < s.closers; n++ {
		rest := bytes.TrimRight(p[:end], " \t\r\n")
		if len(rest) == 0 || rest[len(rest)-1] != '}' && rest[len(rest)-1] != ']' {
			break
		}
		end = len(rest) - 1
	}
	return len(p) - end
}

// bracePlain reads a string in ordinary quotes.
func (m *machine) bracePlain(q byte) {
	start := m.offset()
	m.skip(1, "quote")
	m.arg(`"`)
	for m.more() {
		rest := m.buf[m.pos:]
		n := bytes.IndexByte(rest, q)
		switch {
		case n == 0 && m.endOfBraceString() > 0:
			m.skip(m.endOfBraceString(), "quote")
			m.arg(`"`)
			m.repair("plain-quotes", llm.Syntax, start, m.offset())
			return
		case n == 0:
			n = 1
		case n < 0:
			n = len(rest) - partial(rest)
			if rest[len(rest)-1] == '\\' {
				n = len(rest) - 1
			}
			if n == 0 && m.at(len(rest)) {
				continue
			}
			n = max(n, 1)
		}
		if n > 0 && rest[n-1] == '\\' && n < len(rest) && rest[n] == q { // \"
			n--
		}
		if n == 0 && rest[0] == '\\' {
			m.escape([]byte{q})
			m.read(ArgsSpan, 2, "escape")
			continue
		}
		m.escape(rest[:n])
		m.read(ArgsSpan, n, "string")
	}
	m.missing("quote")
	if m.call.open {
		m.arg(`"`)
	}
}

// endOfBraceString returns the length of the quote that stands here, with a
// special delimiter too many, if it ends a string: the end of the object or
// another key follows it. If not, it returns 0.
func (in *input) endOfBraceString() int {
	end := 1
	for _, q := range in.lex.quotes {
		end += in.literal(in.spaces(1), q.text)
	}
	if in.endsBraceString(in.spaces(end)) {
		return end
	}
	return 0
}

// endsBraceString reports whether the end of an object, or another key,
// follows a string at k.
func (in *input) endsBraceString(k int) bool {
	if !in.at(k) {
		return true
	}
	switch in.buf[in.pos+k] {
	case '}', ']':
		return true
	case ',':
		k = in.spaces(k + 1)
		for i := k; i < k+maxName && in.at(i); i++ {
			if c := in.buf[in.pos+i]; c == ':' || !isNameByte(c) && !isQuote(c) && c != '<' && c != '|' && c != '>' {
				return c == ':' || i == k && c != ' '
			}
		}
	case '<':
		t, _ := in.match(k)
		return t.is(closes)
	}
	return false
}

// braceWord reads a number, a constant, or text without quotes. In an object
// such text may hold commas and brackets: it ends before the next key, or the
// end of the call.
func (m *machine) braceWord(shape *schema.Shape, inList bool) {
	i, text := 0, false
	for ; m.at(i); i++ {
		c := m.buf[m.pos+i]
		if c == ',' || c == '}' || c == ']' {
			if text = text || !inList && !isLiteral(string(m.buf[m.pos:m.pos+i])); !text || m.endsBraceWord(i) {
				break
			}
		}
		if c == '<' {
			if t, _ := m.match(i); t.is(closes) && m.isOurs(t, closes) {
				break
			}
		}
	}
	raw := string(m.buf[m.pos : m.pos+i])
	word := strings.TrimSpace(raw)
	m.read(ArgsSpan, i, "word")
	for _, q := range m.lex.quotes { // its beginning is missing
		if text, cut := strings.CutSuffix(word, q.text); cut {
			word = text
			m.repair("missing-quote", llm.Guess, m.offset()-i, m.offset())
		}
	}
	if strings.ContainsAny(word, ",{}[]") {
		m.repair("unquoted-text", llm.Guess, m.offset()-i, m.offset())
	}
	if m.wordCut(raw) || word == "" && !m.more() {
		m.cutCall()
		return
	}
	types := schema.Any
	if shape != nil {
		types = shape.Types()
	}
	m.arg(string(typed(types, word)))
}

// isLiteral reports whether text is a JSON literal.
func isLiteral(text string) bool {
	v, _ := schema.Any.Typed(text)
	return v[0] != '"'
}

// endsBraceWord reports whether the comma or the bracket at i ends text without
// quotes.
func (in *input) endsBraceWord(i int) bool {
	for k := i; ; k = in.spaces(k + 1) {
		switch c := in.peek(k); {
		case c == ',':
			return in.isBraceKey(in.spaces(k+1)) || k > i && in.peek(in.spaces(k+1)) == '{'
		case c == '}' || c == ']':
		default:
			return !in.at(k) || in.closer(k)
		}
	}
}

// isBraceKey reports whether a key and its colon stand at k, or the end of an
// object after a comma too many.
func (in *input) isBraceKey(k int) bool {
	if c := in.peek(k); c == '}' || c == ']' {
		return in.endsBraceWord(k)
	}
	i := k
	for i < k+maxName && in.at(i) && (isNameByte(in.buf[in.pos+i]) && in.buf[in.pos+i] != ':' || strings.IndexByte(`<|">'`, in.buf[in.pos+i]) >= 0) {
		i++
	}
	return i > k && in.peek(in.spaces(i)) == ':'
}
