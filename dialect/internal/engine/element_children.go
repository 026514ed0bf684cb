package engine

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// children reads parameters that are elements, after count others, up to the
// end of the element word around them, and ends the call.
func (m *machine) children(word string, count int) {
	m.call.element = word
	var held []elem // of one key: several make a list
	for {
		m.blank("")
		if !m.more() {
			m.missing("end-of-call")
			break
		}
		if n := m.endOf(word); n > 0 {
			m.putElements(held, &count)
			held = nil
			m.skip(n, word)
			break
		}
		key, n := m.childTag(0)
		if m.lacksSlash(word, key, count+len(held)) {
			m.putElements(held, &count)
			held = nil
			m.repair("missing-end-of-call", llm.Guess, m.offset(), m.offset()+n)
			m.skip(n, word)
			break
		}
		empty := key != "" && m.buf[m.pos+n-2] == '/'
		if word == "" && !m.marked && (key == "" || !m.shape().Declares(key)) {
			m.putElements(held, &count)
			held = nil
			m.repair("missing-end-of-call", llm.Completion, m.offset(), m.offset())
			break
		}
		if key == "" {
			if t, n := m.match(0); n > 0 && (t.is(closes) || t.is(endCall)) {
				break
			}
			m.junk()
			continue
		}
		if len(held) > 0 && held[0].key != key {
			m.putElements(held, &count)
			held = nil
		}
		m.skip(n, key)
		e, ok := &elem{key: key}, true
		if !empty {
			e, ok = m.child(key, "", &count)
		}
		if !ok {
			return
		}
		if e != nil {
			held = append(held, *e)
		}
	}
	m.putElements(held, &count)
	m.closeArgs(count)
	m.endCall()
}

// lacksSlash reports whether the tag of the element key, behind count parameters,
// is the end tag of the element word around them, without its slash.
func (m *machine) lacksSlash(word, key string, count int) bool {
	return word != "" && key == word && count > 0 && !m.declares(m.call.name, key)
}

// child reads the element key, whose opening tag has been read. Where the
// schema wants a string it streams; else it is returned.
func (m *machine) child(key, prefix string, count *int) (*elem, bool) {
	v := m.valueOf(key)
	v.trim = m.row().Text
	if v.known && v.types == schema.String {
		m.argKey(key, count)
		return nil, m.childText(key, prefix, v)
	}
	if n := m.wrappedChild(key, prefix); n > 0 {
		m.repair("wrapped-value", llm.Syntax, m.offset(), m.offset()+n)
		m.skip(n, valueTag)
		var raw []byte
		ok := m.until(valueEndTag, "", func(p []byte) { raw = append(raw, p...) })
		return &elem{key: key, inner: string(raw)}, ok && m.afterChild(key)
	}
	var inner strings.Builder
	for depth := 0; ; depth-- { // in elements of the same name
		var raw []byte
		if !m.untilChild(key, prefix, func(p []byte) { raw = append(raw, p...) }) {
			return nil, false
		}
		part := tighten(string(raw), prefix)
		inner.WriteString(part)
		if prefix != "" {
			depth += strings.Count(part, prefix+"<"+key+">")
		}
		if depth == 0 {
			return &elem{key, inner.String(), prefix}, true
		}
		inner.WriteString(prefix + "</" + key + ">")
	}
}

// childText reads the element key, which the schema wants to be a string.
func (m *machine) childText(key, prefix string, v value) bool {
	s := sink{m: m, value: v}
	switch n := m.wrappedChild(key, prefix); {
	case prefix == "" && m.hasAt(m.spaces(0), cdata):
		s.trim = spec.Literal
		m.skip(m.spaces(0)+len(cdata), cdata)
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
		return m.afterChild(key)
	case n > 0:
		m.repair("wrapped-value", llm.Guess, m.offset(), m.offset()+n) // text may hold such an element
		m.skip(n, valueTag)
		if !m.until(valueEndTag, "", s.add) {
			return false
		}
		s.close()
		return m.afterChild(key)
	}
	e := entities{add: s.add, off: prefix != "" || !m.rows.meets(m.lex.elements)}
	start := m.offset()
	if !m.untilChild(key, prefix, e.take) {
		return false
	}
	if e.close() {
		m.repair("xml-entities", llm.Syntax, start, m.offset())
	}
	s.close()
	return true
}

// wrappedChild returns the length of the tag of an element value that is all that
// the element key holds, with the white space before it; 0 if there is none.
func (m *machine) wrappedChild(key, prefix string) int {
	i := m.spaces(0)
	if prefix != "" || !m.hasAt(i, valueTag) {
		return 0
	}
	if shape := m.shape(); shape != nil && shape.Property(key) != nil && shape.Property(key).Declares("value") {
		return 0
	}
	i += len(valueTag)
	for j := i; j < i+maxGuess && m.at(j); j++ {
		if m.buf[m.pos+j] == '<' && m.hasAt(j, valueEndTag) {
			if m.hasAt(m.spaces(j+len(valueEndTag)), "</"+key+">") {
				return i
			}
			return 0
		}
	}
	return 0
}

// afterChild passes over the end tag of the element key.
func (m *machine) afterChild(key string) bool {
	m.blank("")
	if end := "</" + key + ">"; m.hasAt(0, end) {
		m.skip(len(end), end)
	}
	return m.call.open
}

// untilChild reads up to the end of the element key. Where the end tag is
// missing, or misspelt, the next parameter or the end of the call ends it, which
// is a guess.
func (m *machine) untilChild(key, prefix string, add func([]byte)) bool {
	end := "</" + key + ">"
	if prefix != "" || m.call.element == "" {
		return m.until(end, prefix, add)
	}
	return m.untilEnd(end, prefix, add, func() (int, bool) { return m.unendedChild(key) })
}

// unendedChild reports whether the element key ends here although its end tag is
// not here, nor anywhere before the end of the call, and the length of the tag
// that stands in its place: an end tag of another name, the tag of another
// parameter at the beginning of a line, or the end of the call.
func (m *machine) unendedChild(key string) (n int, ok bool) {
	end := "</" + m.call.element + ">"
	if !m.hasAt(0, end) {
		switch word, after := m.childTag(0); {
		case word == key && m.childFollows(after, end): // the slash is missing
			n = after
		case m.hasAt(0, "</"):
			if word, n = m.closingWord(0); word == "" || word == key || !m.childFollows(n, end) {
				return 0, false
			}
		case word == "" || after == 0 || !m.begunLine() || m.call.keys[word] || m.shape() == nil || !m.shape().Declares(word):
			return 0, false
		}
	}
	for i := n; i <= maxGuess && m.at(i); i++ {
		if m.buf[m.pos+i] != '<' {
			continue
		}
		if m.hasAt(i, "</"+key+">") {
			return 0, false
		}
		if i > 0 && m.hasAt(i, end) {
			break
		}
	}
	m.repair("missing-end-of-parameter", llm.Guess, m.offset(), m.offset()+n)
	return n, true
}

// childFollows reports whether another parameter of the call, or its end, stands
// at i.
func (m *machine) childFollows(i int, end string) bool {
	i = m.spaces(i)
	word, _ := m.childTag(i)
	return m.hasAt(i, end) || word != "" && m.shape() != nil && m.shape().Declares(word)
}

// begunLine reports whether nothing but white space stands before here on this
// line.
func (m *machine) begunLine() bool {
	for i := m.pos - 1; i >= max(0, m.pos-maxGap); i-- {
		if m.buf[i] == '\n' {
			return true
		}
		if !isSpace(m.buf[i]) {
			return false
		}
	}
	return false
}

// tighten takes out white space between the prefix of tags and the tags.
func tighten(s, prefix string) string {
	if prefix == "" || !strings.Contains(s, prefix) {
		return s
	}
	parts := strings.Split(s, prefix)
	for i, p := range parts[1:] {
		if trimmed := strings.TrimLeft(p, " \t\r\n"); strings.HasPrefix(trimmed, "<") {
			parts[i+1] = trimmed
		}
	}
	return strings.Join(parts, prefix)
}

// until reads up to the tag end, which stands behind prefix, and passes over
// it. If the answer ends before, it ends the call as cut off and reports false:
// without its end tag, nothing shows that text is complete.
func (m *machine) until(end, prefix string, add func([]byte)) bool {
	return m.untilEnd(end, prefix, add, nil)
}

// untilEnd is until where something else may be the end, too: other, if it is
// not nil, is asked at each byte that may begin a tag, and returns the length of
// what stands in place of the end.
func (m *machine) untilEnd(end, prefix string, add func([]byte), other func() (int, bool)) bool {
	take := func(n int) {
		add(m.buf[m.pos : m.pos+n])
		m.read(ArgsSpan, n, "value")
	}
	first := (prefix + end)[0]
	all := func() bool {
		for m.pos < len(m.buf) {
			n := indexEither(m.buf[m.pos:], first, end[0])
			if n == 0 {
				return false
			}
			take(n)
		}
		return true
	}
	for m.flows(0, all) {
		if all() {
			continue
		}
		if n := m.endTag(end, prefix); n > 0 {
			m.skip(n, end)
			return true
		}
		if other != nil {
			if n, ok := other(); ok {
				m.skip(n, end)
				return true
			}
		}
		take(1)
	}
	m.cutCall()
	return false
}

// endTag returns the length of the tag end if it stands here behind prefix and,
// perhaps, white space. The prefix may be missing if the next tag has it.
func (in *input) endTag(end, prefix string) int {
	i := 0
	if in.hasAt(0, prefix) {
		i = in.spaces(len(prefix))
	}
	if !in.hasAt(i, end[:len(end)-1]) {
		return 0
	}
	i += len(end) - 1
	for n := 0; n < maxNested && prefix == "" && in.peek(i) == ' '; n++ {
		i++
	}
	if in.peek(i) != end[len(end)-1] {
		return 0
	}
	i++
	if prefix != "" && i == len(end) && !in.hasAt(in.spaces(i), prefix) {
		return 0
	}
	return i
}

// prefixed reads a call whose tags stand behind a prefix of their own.
func (m *machine) prefixed(t *token, n, start int) bool {
	m.narrow(t.in(prefixes))
	m.skip(n, t.text)
	m.blank("")
	return m.one(start)
}

// childElement reads a parameter that is an element inside a call whose other
// parts are tags. t is the token that stands here.
func (m *machine) childElement(t *token, n int, count *int) bool {
	i, prefix := 0, ""
	if t.is(prefixes) {
		i, prefix = m.spaces(n), t.text
	}
	if p := m.prefix(t); p != "" {
		i, prefix = m.spaces(len(p)), p
	}
	key, end := m.openTag(i)
	if key == "" {
		return false
	}
	m.skip(end, key)
	if keys[key] == argsRole && (m.shape() == nil || !m.shape().Declares(key)) {
		return true // a wrapper around the parameters
	}
	e, ok := m.child(key, prefix, count)
	if ok && e != nil {
		m.moreChildren(*e, prefix, count)
	}
	return true
}

// prefix returns what stands before every tag in the dialect of the marker t,
// if it is one of these tags.
func (in *input) prefix(t *token) string {
	if t == nil || len(t.text) < 2 || t.text[0] == '<' {
		return ""
	}
	for i := t.all.first(); i >= 0; i = t.all.next(i + 1) {
		if p, ok := strings.CutSuffix(in.lex.rows[i].Tags.Param.Open, "<%s>"); ok && p != "" && strings.HasPrefix(t.text, p+"<") {
			return p
		}
	}
	return ""
}

// isNamesake reports whether the marker t, which stands here, is the tag of a
// parameter that is called like a tag of the dialect.
func (m *machine) isNamesake(t *token) bool {
	p := m.prefix(t)
	if p == "" || !t.is(opens) && !t.is(tagCall) || m.shape() == nil {
		return false
	}
	key, _ := m.openTag(m.spaces(len(p)))
	return key != "" && m.shape().Declares(key) && !m.call.keys[key]
}

// moreChildren reads further elements of the same key and writes them all.
func (m *machine) moreChildren(first elem, prefix string, count *int) {
	list := []elem{first}
	open := "<" + first.key + ">"
	for {
		i := m.spaces(0)
		if !m.hasAt(i, prefix) {
			break
		}
		if i = m.spaces(i + len(prefix)); !m.hasAt(i, open) {
			break
		}
		m.skip(i+len(open), first.key)
		e, ok := m.child(first.key, prefix, count)
		if !ok || e == nil {
			return
		}
		list = append(list, *e)
	}
	m.putElements(list, count)
}
