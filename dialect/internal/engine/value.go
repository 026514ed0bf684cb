package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// value is how a value that stands between tags is read.
type value struct {
	types schema.Types // what it may be
	trim  spec.Text
	end   *token // the kind of tag that opened it, and so what ends it
	known bool   // the types come from a schema or from the tag
	// quotes says that quotes around the whole text are not part of it, json
	// that text in quotes is JSON.
	quotes, json bool
	quoted       int // how many elements like its own are open in the text
	// nameText says that the name of its parameter was the text of an element,
	// so that no tag ends the value.
	nameText bool
}

// valueOf returns how the parameter key of the call is read.
func (m *machine) valueOf(key string) value {
	d := m.row()
	v := value{types: schema.Any, trim: d.Text}
	if d.Text == spec.Plain {
		v.trim = spec.Trimmed
	}
	if s := m.shape(); s != nil {
		if p := s.Property(key); p != nil {
			v.types, v.known = p.Types(), true
			return v
		}
	}
	if d.Text == spec.Verbatim || d.Text == spec.Plain {
		v.types = schema.String
	}
	return v
}

// typedBy lets the attributes of a tag say what the value is.
func (v *value) typedBy(t tag) {
	isString := t.attr("string")
	switch t.attr("type") {
	case "string", "raw":
		isString = "true"
	case "number", "boolean", "null", "object", "array", "json", "integer":
		isString = "false"
	}
	switch {
	case isString == "true" && (!v.known || v.types&schema.String != 0):
		v.types, v.trim, v.known = schema.String, spec.Literal, true
	case isString == "false" && !v.known:
		v.types, v.known = schema.Any, true
	case isString == "false":
		v.json = true
	}
}

// readValue reads a value up to its end into the arguments. It reports false
// if the call has ended with it.
func (m *machine) readValue(v value) bool {
	if v.known && v.types&schema.String == 0 {
		i := m.spaces(0)
		if c := m.peek(i); c == '{' && v.types.Has(schema.Object) && !m.isSet(i) || c == '[' && v.types.Has(schema.Array) {
			return m.streamValue(v)
		}
	}
	if m.hasAt(m.spaces(0), cdata) {
		return m.cdata(v)
	}
	if n := m.wrapped(); n > 0 && v.types&^schema.Null != schema.Object {
		return m.wrappedValue(v, n)
	}
	s := sink{m: m, value: v}
	all := func() bool { return s.until('<', ']') }
	for {
		if !m.flows(0, all) {
			m.cutCall() // text says nowhere that it is complete
			return false
		}
		if s.until('<', ']') {
			continue
		}
		if end, ok := m.valueEnds(&v); ok {
			s.unended = end == 0
			s.close()
			if end > 0 {
				m.skip(end, "end of value")
			}
			return true
		}
		s.passed = 1
	}
}

// until takes what is there up to one of two bytes. It reports whether neither
// is there. The first s.passed bytes have been found to be text.
func (s *sink) until(a, b byte) bool {
	m := s.m
	for m.pos < len(m.buf) {
		n := s.passed + indexEither(m.buf[m.pos+s.passed:], a, b)
		if n == 0 {
			return false
		}
		s.passed = 0
		s.take(n)
	}
	return true
}

// take takes the next n bytes of the answer.
func (s *sink) take(n int) {
	m := s.m
	s.add(m.buf[m.pos:][:n])
	m.read(ArgsSpan, n, "value")
}

const cdata = "<![CDATA["

// cdata reads a value in a CDATA section.
func (m *machine) cdata(v value) bool {
	m.skip(m.spaces(0)+len(cdata), cdata)
	v.trim = spec.Literal
	s := sink{m: m, value: v}
	for {
		if !m.until("]]>", "", s.add) {
			return false
		}
		if !m.hasAt(0, cdata) { // a value that holds the end of a section stands in two
			break
		}
		m.skip(len(cdata), cdata)
	}
	s.close()
	return m.afterValue()
}

const valueTag, valueEndTag = "<value>", "</value>"

// wrapped returns the length of the tag of an element value that is all that
// the parameter holds, with the white space before it; 0 if there is none.
func (m *machine) wrapped() int {
	i := m.spaces(0)
	if !m.hasAt(i, valueTag) {
		return 0
	}
	i += len(valueTag)
	for j := i; j < i+maxGuess && m.at(j); j++ {
		if m.buf[m.pos+j] != '<' {
			continue
		}
		if t, _ := m.match(j); t.is(endParam) {
			return 0
		}
		if !m.hasAt(j, valueEndTag) {
			continue
		}
		if t, _ := m.match(m.spaces(j + len(valueEndTag))); t.is(endParam) || t.is(endValue) {
			return i
		}
		return 0
	}
	return 0
}

// wrappedValue reads a value in an element of its own, behind n bytes. Text may
// hold such an element, too: then it is a guess.
func (m *machine) wrappedValue(v value, n int) bool {
	class := llm.Syntax
	if v.types&schema.String != 0 {
		class = llm.Guess
	}
	m.repair("wrapped-value", class, m.offset(), m.offset()+n)
	m.skip(n, valueTag)
	s := sink{m: m, value: v}
	if !m.until(valueEndTag, "", s.add) {
		return false
	}
	s.close()
	return m.afterValue()
}

// streamValue reads an object or a list that the schema demands, as it
// arrives.
func (m *machine) streamValue(v value) bool {
	m.blank("")
	m.stream()
	return m.afterValue()
}

// valueEnds reports whether a value ends here, and the length of its end tag.
// Values may hold any text, end tags included: what follows decides. Markers of
// other dialects are text, unless our own markup follows.
func (m *machine) valueEnds(v *value) (n int, ok bool) {
	t, n := m.match(0)
	switch {
	case t == nil:
		return 0, false
	case t.is(endParam) || t.is(endValue):
		return m.endTagEnds(v, t, n)
	case t.is(tagParam) && !t.is(tagCall):
		return 0, m.paramEnds(v, t, n)
	}
	if v.nameText && (t.is(endCall) || t.is(closes) && !t.line) && (t.in(endCall).meets(m.rows) || t.in(closes).meets(m.rows)) {
		return 0, true // such a value has no end tag
	}
	return 0, m.callEnds(t, n)
}

// callEnds reports whether the marker t of n bytes ends the call we are in.
func (m *machine) callEnds(t *token, n int) bool {
	if !t.is(endCall) && (!t.is(closes) || t.line) {
		return false
	}
	return (t.in(endCall).meets(m.rows) || t.in(closes).meets(m.rows)) && m.endsCall(n)
}

// family are the dialects of the tag that opened the value.
func (v *value) family() rowSet { return v.end.in(tagParam).or(v.end.in(tagValue)) }

// endTagEnds is valueEnds where the end tag t of n bytes stands.
func (m *machine) endTagEnds(v *value, t *token, n int) (length int, ok bool) {
	if v.quoted > 0 && t.is(endParam) && !m.endsParam(n) {
		v.quoted--
		return 0, false
	}
	family := v.family()
	if t.in(endParam).meets(family) || t.in(endValue).meets(family) {
		return n, m.structure(n)
	}
	next, _ := m.match(m.spaces(n))
	return n, next.in(tagParam).meets(family) || next.in(endCall).meets(m.rows)
}

// paramEnds reports whether a value ends where the tag t of n bytes, which
// opens a parameter, stands: because its own end tag is missing.
func (m *machine) paramEnds(v *value, t *token, n int) bool {
	if m.isPair(t) {
		return t.in(tagParam).meets(v.family()) && m.beginsPair(n)
	}
	if !t.in(tagParam).meets(v.end.in(tagParam)) {
		return m.callEnds(t, n)
	}
	if m.prev() != '\n' {
		return m.isNextParam(t, n)
	}
	if m.opensParam(t, n) {
		return true
	}
	v.quoted++
	return false
}

// isOurs reports whether the marker t plays the role k in a dialect that the
// call, or the marker around it, fits.
func (m *machine) isOurs(t *token, k kind) bool {
	return t.in(k).meets(m.rows) || m.depth > 0 && t.in(k).meets(m.outer)
}

// beginsPair reports whether a key stands behind the tag of n bytes: its end,
// or its value, follows.
func (in *input) beginsPair(n int) bool {
	for i := n; i < n+maxName && in.at(i); i++ {
		if in.buf[in.pos+i] == '<' {
			t, _ := in.match(i)
			return i > n && (t.is(endParam) || t.is(tagValue))
		}
	}
	return false
}

// isNextParam reports whether the tag that begins here with the token t of n
// bytes names a parameter that the tool has and the call does not have yet.
func (m *machine) isNextParam(t *token, n int) bool {
	if m.shape() == nil {
		return false
	}
	tg, ok := m.readTag(t, n)
	key := m.keyOf(tg, t)
	return ok && m.shape().Declares(key) && !m.call.keys[key]
}

// keyOf returns the name of the parameter whose tag, which begins with t, was
// read ahead as tg.
func (m *machine) keyOf(tg tag, t *token) string {
	if key := tg.key(); key != "" || tg.length == 0 {
		return key
	}
	n := m.keyText(tg.length, t)
	if n == 0 {
		return ""
	}
	return strings.TrimSpace(string(m.buf[m.pos+tg.length : m.pos+n]))
}

// opensParam reports whether the tag that begins with the token t of n bytes
// may be that of another parameter of the call: one it can have and does not
// have yet. Any other is quoted in the value.
func (m *machine) opensParam(t *token, n int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		return true
	}
	key := m.keyOf(tg, t)
	return !m.call.keys[key] && (m.shape() == nil || m.shape().Declares(key))
}

// endsParam reports whether what follows an end tag at i says that it ends a
// parameter of the call, not one quoted in the value.
func (m *machine) endsParam(i int) bool {
	i = m.spaces(i)
	t, n := m.match(i)
	switch {
	case !m.at(i) || m.partialMarker(i):
		return !m.truncated()
	case t.is(endCall):
		return m.endsCall(i + n)
	}
	return t.is(closes) || t.is(opens) || t.is(tagParam) && m.opensParam(t, i+n)
}

// structure reports whether markup of calls, or the end, follows at i.
func (m *machine) structure(i int) bool {
	i = m.spaces(i)
	if !m.at(i) || m.partialMarker(i) {
		return true
	}
	t, n := m.match(i)
	if n == 0 || t.line {
		return m.endsOtherTag(i) || m.hasAt(i, `\n`) || m.buf[m.pos+i] == '<' && m.rows.meets(m.lex.elements) || m.bareKey(i) > 0
	}
	return t.is(tagParam) || t.is(endCall) || t.is(closes) || t.is(opens) || t.is(tagCall) || t.is(tagValue) ||
		t.is(endParam) || t.is(endValue) || t.is(drops) || t.is(heads) || t.is(prefixes)
}

// endsCall reports whether nothing but the end of calls, or other calls,
// follows at i.
func (m *machine) endsCall(i int) bool {
	i = m.spaces(i)
	if !m.at(i) || m.partialMarker(i) {
		return !m.truncated() // what was cut off may have gone on
	}
	t, n := m.match(i)
	switch {
	case n == 0 || t.line:
		return false
	case m.isOurs(t, closes), m.isOurs(t, opens), m.isOurs(t, tagCall):
		return true
	}
	return t.is(drops) && !m.at(m.spaces(i+n))
}

// pairValue is the token that opens the value of a pair in the dialect we are
// in, or in the first that has one.
func (m *machine) pairValue() *token {
	if d := m.row(); d.Form == spec.TagCall && d.Tags.Value.Open != "" {
		return m.lex.tree.find(d.Tags.Value.Open)
	}
	return m.lex.value
}

// sink writes the text of a value as JSON into the arguments: at once where
// it can only be a string, else when it is complete.
type sink struct {
	m *machine
	value
	raw     []byte // of a value that must be complete
	blank   int    // white space at the beginning of raw
	pend    []byte // white space that may be trimmed, or part of a rune
	quoting bool   // it is a string, and its quote has been written
	passed  int    // bytes not taken yet that are text
	unended bool   // its end tag is missing, so that a newline before what follows is none of it
	closers int    // closing brackets at the end that may be none of it
}

// add takes the next bytes.
func (s *sink) add(p []byte) {
	if s.quoting {
		s.write(p)
		return
	}
	s.raw = append(s.raw, p...)
	for s.blank < len(s.raw) && isSpace(s.raw[s.blank]) {
		s.blank++
	}
	if s.stringFor(s.raw, s.raw[s.blank:]) {
		s.quoting = true
		s.m.arg(`"`)
		raw := s.raw
		s.raw = nil
		s.write(s.head(raw))
	}
}

// stringFor reports whether text that begins like raw, or without white space
// like text, can only be a string.
func (s *sink) stringFor(raw, text []byte) bool {
	if s.quotes && s.types&schema.String != 0 && len(raw) < 64 && bytes.HasPrefix(raw, []byte{'"'}) {
		return bytes.IndexByte(raw[1:], '"') >= 0 && raw[len(raw)-1] != '"'
	}
	if s.json && (len(text) == 0 || text[0] == '"') {
		return false
	}
	if s.types == schema.String {
		return len(raw) > 1 && s.trim == spec.OneLine || len(text) > 0 || s.trim == spec.Literal || s.trim == spec.Verbatim
	}
	return s.types&schema.String != 0 && len(text) > 0 && !mayBegin(s.types, text)
}

// mayBegin reports whether raw may be the beginning of one of the types other
// than a string.
func mayBegin(t schema.Types, raw []byte) bool {
	switch c := raw[0]; {
	case c == '{':
		return t&schema.Object != 0
	case c == '[':
		return t&schema.Array != 0
	case c == '-' || c >= '0' && c <= '9':
		return t&(schema.Number|schema.Integer) != 0
	case c == 't' || c == 'f':
		return t&schema.Boolean != 0 && (hasOverlap(raw, "true") || hasOverlap(raw, "false"))
	case c == 'n':
		return t&schema.Null != 0 && hasOverlap(raw, "null")
	}
	return false
}

// hasOverlap reports whether one of raw and word begins with the other.
func hasOverlap(raw []byte, word string) bool {
	n := min(len(raw), len(word))
	return string(raw[:n]) == word[:n]
}

// head trims what the dialect does not count at the beginning of a value.
func (s *sink) head(p []byte) []byte {
	switch s.trim {
	case spec.OneLine:
		p = bytes.TrimPrefix(p, []byte("\r"))
		return bytes.TrimPrefix(p, []byte("\n"))
	case spec.Trimmed:
		return bytes.TrimLeft(p, " \t\r\n")
	}
	return p
}

// tail returns how many bytes at the end of p may have to be trimmed, or are
// part of a rune.
func (s *sink) tail(p []byte) int {
	switch n := len(p); {
	case n == 0 || s.closers == 0 && p[n-1] > ' ' && p[n-1] < utf8.RuneSelf:
		return 0
	case s.trim == spec.Trimmed:
		if blank := n - len(bytes.TrimRight(p, " \t\r\n")); blank > 0 {
			return blank
		}
	case n > 1 && p[n-1] == '\n' && p[n-2] == '\r':
		return 2
	case p[n-1] == '\n' || p[n-1] == '\r':
		return 1
	}
	if n := s.closing(p); n > 0 && n <= maxHeldClosing {
		return n
	}
	for i := 1; i <= 3 && i <= len(p); i++ {
		if c := p[len(p)-i]; c >= 0xC0 {
			if !utf8.FullRune(p[len(p)-i:]) {
				return i
			}
			return 0
		} else if c < 0x80 {
			return 0
		}
	}
	return 0
}

// blankEnd reports whether what pends is white space, not part of a rune.
func (s *sink) blankEnd() bool { return len(s.pend) == 0 || isSpace(s.pend[0]) }

// write adds text to the string.
func (s *sink) write(p []byte) {
	if s.trim == spec.Trimmed && s.blankEnd() && len(bytes.TrimLeft(p, " \t\r\n")) == 0 {
		s.pend = append(s.pend, p...) // looked at once, however long it gets
		return
	}
	switch {
	case len(s.pend) == 0:
	case s.blankEnd() && string(p) != "\n": // it may belong to the end of a line
		s.m.escape(s.pend)
		s.pend = s.pend[:0]
	default:
		p = append(s.pend, p...)
	}
	n := len(p) - s.tail(p)
	s.m.escape(p[:n])
	if n < len(p) || len(s.pend) > 0 {
		s.pend = append(s.pend[:0], p[n:]...)
	}
}

// close ends the value.
func (s *sink) close() {
	if s.quoting {
		if !s.trims() || !s.blankEnd() {
			s.m.escape(s.pend)
		}
		s.m.arg(`"`)
		return
	}
	raw := s.head(s.raw)
	raw = raw[:len(raw)-s.trimmed(raw)]
	if s.quotes && len(raw) > 1 && raw[0] == '"' && bytes.IndexByte(raw[1:], '"') == len(raw)-2 {
		raw, s.types = raw[1:len(raw)-1], schema.String
	}
	if v := bytes.TrimSpace(raw); s.json && len(v) > 0 && v[0] == '"' && json.Valid(v) {
		s.m.argBytes(v)
		return
	}
	s.m.arg(string(typed(s.types, string(raw))))
}

// trims reports whether white space at the end may be none of the value.
func (s *sink) trims() bool { return s.trim == spec.OneLine || s.trim == spec.Trimmed || s.unended }

// trimmed is how many bytes at the end are not part of the value.
func (s *sink) trimmed(raw []byte) int {
	if s.trims() {
		return s.tail(raw)
	}
	return 0
}

// typed reads text as one of types. Beyond what the schema package reads,
// lists and objects are repaired if nothing else fits.
func typed(t schema.Types, text string) json.RawMessage {
	v, ok := t.Typed(text)
	if ok || t&(schema.Object|schema.Array) == 0 {
		return v
	}
	c := strings.TrimSpace(text)
	if inner, quoted := unquoted(c); quoted {
		text, c = inner, strings.TrimSpace(inner)
	}
	if c == "" || c[0] != '{' && c[0] != '[' {
		return v
	}
	var r jsonfix.Reader
	r.Feed(text)
	if !r.Done() && r.Close() != nil || r.Err() != nil {
		return v
	}
	return json.RawMessage(r.Value())
}

// unquoted returns what a JSON string that holds a list or an object says.
func unquoted(text string) (inner string, ok bool) {
	if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &inner) != nil {
		return "", false
	}
	return inner, true
}

// escape writes p into the arguments as part of a JSON string.
func (m *machine) escape(p []byte) {
	if cap(m.call.args)-len(m.call.args) < len(p) {
		m.call.args = slices.Grow(m.call.args, len(m.call.args)+len(p))
	}
	m.call.args = appendEscaped(m.call.args, p)
	m.checkArgs()
}

// appendEscaped appends p as it stands in a JSON string.
func appendEscaped(out, p []byte) []byte {
	const hex = "0123456789abcdef"
	done := 0 // p[:done] has been appended
	for i := 0; ; {
		i += jsonfix.Verbatim(p[i:])
		if i == len(p) {
			break
		}
		c := p[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(p[i:])
			if i += n; r != utf8.RuneError || n > 1 {
				continue
			}
			out = append(append(out, p[done:i-1]...), "\ufffd"...)
			done = i
			continue
		}
		out = append(out, p[done:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		done = i
	}
	return append(out, p[done:]...)
}

// quoteJSON returns s as a JSON string.
func quoteJSON(s string) string {
	return string(append(appendEscaped([]byte{'"'}, []byte(s)), '"'))
}
