package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// element reads a call whose name is the name of an element, or stands in one:
// <get_weather><city>…</city></get_weather>, <name>get_weather</name>….
func (m *machine) element(start int) bool {
	word, n := m.openTag(0)
	if word == "" {
		return m.attributed(start)
	}
	if i := m.besideName(word, n); i > 0 {
		m.skip(i, word)
		m.blank("")
		word, n = m.openTag(0)
	}
	if m.marked && (keys[word] == nameRole || word == "tool" || word == "function") {
		return m.namedElement(word, n, start)
	}
	if m.names.any {
		return m.anyElement(word, n, start) || m.anyYAML(word, n, start)
	}
	if !m.names.offered(word) {
		return false
	}
	if m.inDocument(word) {
		m.lost.add(m.lex.elements, start)
		return false
	}
	if !m.elementHolds(word, n) {
		if m.yamlElement(word, n, start) || m.onlyText(word, n, start) {
			return true
		}
		m.lost.add(m.lex.elements, start)
		return false
	}
	m.narrow(m.lex.elements)
	if !m.startCall(word, "", start) {
		return false
	}
	m.read(NameSpan, n, "element")
	m.blank("")
	if m.peek(0) == '{' {
		m.elementJSON(word)
		return true
	}
	m.children(word, 0)
	return true
}

// besideName returns the length of the element, with a tag of n bytes, that says
// where the tool is and stands before its name behind a marker; 0 if it is another.
func (m *machine) besideName(word string, n int) int {
	if !m.marked || word != "server_name" {
		return 0
	}
	for i := n; i < n+maxName && m.at(i); i++ {
		if m.buf[m.pos+i] == '<' {
			if end := "</" + word + ">"; m.hasAt(i, end) {
				return i + len(end)
			}
			return 0
		}
	}
	return 0
}

// inDocument reports whether the element here is part of a document: its parent is
// an element that no dialect has, or it stands beside an element of which that is
// true. If its name is no ordinary word, the parent has such a parent, too.
func (m *machine) inDocument(word string) bool {
	if m.marked {
		return false
	}
	before := bytes.TrimRight(m.lately(), " \t\r\n")
	if !isPlainTag("<" + word + ">") {
		parent, ok := tagAtEnd(before)
		if !ok {
			return false
		}
		_, ok = tagAtEnd(bytes.TrimRight(before[:len(before)-len(parent)], " \t\r\n"))
		return ok
	}
	open := bytes.LastIndexByte(before, '<')
	if open < 0 || before[len(before)-1] != '>' || bytes.IndexByte(before[open:len(before)-1], '>') >= 0 {
		m.document = false
		return false
	}
	tag := string(before[open:])
	opens := isNameStart(tag[1]) && !strings.HasSuffix(tag, "/>") && !answerTags[tag]
	m.document = m.document || opens
	return m.document
}

// tagAtEnd returns the tag that begins an element, and none around an answer, with
// which the text before ends.
func tagAtEnd(before []byte) (tag []byte, ok bool) {
	open := bytes.LastIndexByte(before, '<')
	if open < 0 || before[len(before)-1] != '>' {
		return nil, false
	}
	tag = before[open:]
	return tag, isNameStart(tag[1]) && bytes.IndexByte(tag, '>') == len(tag)-1 && tag[len(tag)-2] != '/' && !answerTags[string(tag)]
}

// onlyText reads a call whose only argument is the text in the element of its
// name, behind a tag of n bytes: <run_code>print(1)</run_code>. The tool must
// have one parameter, or need one, and that a string. The element must be lines of
// its own, and be called like no element of ordinary markup.
func (m *machine) onlyText(word string, n, start int) bool {
	name, _ := m.names.resolve(word)
	shape := m.names.shape(name)
	if shape == nil || !m.atLine() || !strings.Contains(word, "_") || onlyParam(shape) == "" ||
		shape.Property(onlyParam(shape)).Types()&^schema.Null != schema.String {
		return false
	}
	end, i := "</"+word+">", n
	for ; m.peek(i) != '<' || !m.hasAt(i, end); i++ {
		if i > maxGuess || !m.at(i) || m.buf[m.pos+i] == '<' && m.hasAt(i+1, end[2:]) {
			return false
		}
	}
	text := strings.TrimSpace(string(m.buf[m.pos+n : m.pos+i]))
	if c := m.peek(i + len(end)); text == "" || c != 0 && !isSpace(c) {
		return false
	}
	m.narrow(m.lex.elements)
	if !m.startCall(word, "", start) {
		return false
	}
	m.read(NameSpan, n, "element")
	m.read(ArgsSpan, i-n, "text")
	m.onlyArgument(text, start+n)
	m.skip(len(end), word)
	m.endCall()
	return true
}

// onlyParam returns the parameter that is meant by text alone: the only one of
// the tool, or the only string if the tool needs nothing else. It is empty if
// there is none.
func onlyParam(shape *schema.Shape) (key string) {
	keys := shape.Properties()
	if len(keys) == 1 {
		return keys[0]
	}
	for _, k := range keys {
		switch types := shape.Property(k).Types(); {
		case types&schema.String == 0 && !shape.Required(k):
		case types&^schema.Null != schema.String || key != "":
			return ""
		default:
			key = k
		}
	}
	return key
}

// elementHolds reports whether what stands at i, in the element of an offered
// name, is the arguments of a call: parameters it has, an object of them, or
// nothing.
func (m *machine) elementHolds(word string, i int) bool {
	name, _ := m.names.resolve(word)
	shape := m.names.shape(name)
	i = m.spaces(i)
	if m.peek(i) == '{' {
		key, _ := m.keyAt(m.spaces(i + 1))
		return key != "" && shape != nil && shape.Declares(key)
	}
	if child, _ := m.childTag(i); child != "" {
		return shape == nil || shape.Declares(child)
	}
	return m.hasAt(i, "</"+word+">")
}

// elementJSON reads the arguments of a call as an object in the element word,
// up to its end.
func (m *machine) elementJSON(word string) {
	m.call.element = word
	m.arguments()
	m.blank("")
	if n := m.endOf(word); m.call.open && n > 0 {
		m.skip(n, word)
	}
	m.endCall()
}

// endOf returns the length of the end tag of the element word, if it stands
// here. No word has none.
func (m *machine) endOf(word string) int {
	if word == "" {
		return 0
	}
	return m.endTag("</"+word+">", "")
}

// attributed reads a call whose arguments are attributes of the element that
// has its name: <get_weather city="Rome"/>. It counts only if the tool has all
// of them. One without any must be empty and begin a line.
func (m *machine) attributed(start int) bool {
	i := m.word(1, "/")
	word := string(m.buf[m.pos+1 : m.pos+i])
	name, known := m.names.resolve(word)
	if !known || m.names.any {
		return false
	}
	shape := m.names.shape(name)
	t, ok := m.attributes(i)
	for _, a := range t.attrs {
		ok = ok && shape != nil && shape.Declares(a.key)
	}
	if !ok || len(t.attrs) == 0 && !(t.self && m.atLine() && (m.needsNothing(name) || requiresNothing(shape) && !isPlainTag("<"+word+">"))) || !t.self && !m.elementHolds(word, t.length) {
		m.lost.add(m.lex.elements, start)
		return false
	}
	m.narrow(m.lex.elements)
	if !m.startCall(word, "", start) {
		return false
	}
	m.read(NameSpan, t.length, "element")
	count := 0
	for _, a := range t.attrs {
		m.argKey(a.key, &count)
		m.arg(string(typed(shape.Property(a.key).Types(), a.value)))
	}
	if t.self {
		m.closeArgs(count)
		m.endCall()
		return true
	}
	m.children(word, count)
	return true
}

// requiresNothing reports whether a tool can be called without arguments.
func requiresNothing(shape *schema.Shape) bool {
	return !slices.ContainsFunc(shape.Properties(), shape.Required)
}

// attributes reads the attributes of a tag from the i-th byte, behind its
// name, up to its end.
func (in *input) attributes(i int) (t tag, ok bool) {
	quote := byte(0)
	for j := i; j < i+maxTag && in.at(j); j++ {
		switch c := in.buf[in.pos+j]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case isQuote(c):
			quote = c
		case c == '<' || c == '\n':
			return tag{}, false
		case c == '>':
			t = in.parseTag(string(in.buf[in.pos+i : in.pos+j]))
			t.length = j + 1
			return t, true
		}
	}
	return tag{}, false
}

// openTag returns the word of the opening tag without attributes that stands
// i bytes from here, and the index after it.
func (in *input) openTag(i int) (word string, end int) {
	if in.peek(i) != '<' || !isNameStart(in.peek(i+1)) {
		return "", 0
	}
	j := in.word(i+1, "/")
	end = j
	for n := 0; n < maxNested && in.peek(end) == ' '; n++ {
		end++
	}
	if in.peek(end) != '>' {
		return "", 0
	}
	return string(in.buf[in.pos+i+1 : in.pos+j]), end + 1
}

// childTag is openTag for a tag that may have attributes, which say nothing to
// us, or no content.
func (in *input) childTag(i int) (word string, end int) {
	if word, end = in.openTag(i); word != "" || in.peek(i) != '<' || !isNameStart(in.peek(i+1)) {
		return word, end
	}
	if word, end = in.emptyTag(i); word != "" {
		return word, end
	}
	j := in.word(i+1, "/")
	if t, ok := in.attributes(j); ok && len(t.attrs) > 0 && !t.self {
		return string(in.buf[in.pos+i+1 : in.pos+j]), t.length
	}
	return "", 0
}

// emptyTag is openTag for an element without content: <word/>.
func (in *input) emptyTag(i int) (word string, end int) {
	if in.peek(i) != '<' || !isNameStart(in.peek(i+1)) {
		return "", 0
	}
	j := in.word(i+1, "/")
	if end = in.spaces(j); !in.hasAt(end, "/>") {
		return "", 0
	}
	return string(in.buf[in.pos+i+1 : in.pos+j]), end + 2
}

// anyElement reads a whole element as a call where every name will do: it
// must be the whole line, and hold nothing but elements.
func (m *machine) anyElement(word string, n, start int) bool {
	if !m.atLine() || strings.ContainsAny(word, ":/") || !strings.ContainsAny(word, "_") {
		return false
	}
	end := "</" + word + ">"
	for i := n; ; i++ {
		if i > maxGuess || !m.at(i) {
			return false
		}
		if m.buf[m.pos+i] == '<' && m.hasAt(i, end) {
			list, ok := elements(string(m.buf[m.pos+n:m.pos+i]), "")
			if !ok || len(list) == 0 {
				return false
			}
			break
		}
	}
	m.narrow(m.lex.elements)
	if !m.startCall(word, "", start) {
		return false
	}
	m.read(NameSpan, n, "element")
	m.children(word, 0)
	return true
}

// anyYAML is yamlElement where every name will do: only a hint makes it a call.
func (m *machine) anyYAML(word string, n, start int) bool {
	if m.hint.meets(m.lex.yaml) {
		return m.yamlElement(word, n, start)
	}
	for m.peek(n) == ' ' || m.peek(n) == '\r' {
		n++
	}
	if !m.atLine() || !strings.Contains(word, "_") || m.peek(n) != '\n' {
		return false
	}
	if _, i := m.yamlKeyAt(m.spaces(n)); m.peek(i) == ':' && isSpace(m.peek(i+1)) {
		m.lost.add(m.lex.yaml, start)
	}
	return false
}

// namedElement reads <name>…</name> and, after it, the arguments in an element
// of their own.
func (m *machine) namedElement(word string, n, start int) bool {
	i := n
	for i < n+maxName && m.at(i) && m.buf[m.pos+i] != '<' {
		i++
	}
	end := "</" + word + ">"
	name := strings.TrimSpace(string(m.buf[m.pos+n : m.pos+i]))
	if !m.hasAt(i, end) || !m.startCall(name, "", start) {
		return false
	}
	m.read(NameSpan, i+len(end), "element")
	m.blank("")
	if inner, n := m.openTag(0); keys[inner] == argsRole {
		m.skip(n, inner)
		m.blank("")
		if m.peek(0) == '{' {
			m.elementJSON(inner)
			return true
		}
		m.children(inner, 0)
		return true
	}
	if inner, n := m.emptyTag(0); keys[inner] == argsRole {
		m.skip(n, inner)
	}
	m.children("", 0)
	return true
}

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

// elementsFollow reports whether the name of an offered tool is a line, and the
// element of one of its parameters stands on the next. Behind a marker it may
// stand on the same line.
func (m *machine) elementsFollow(s named) bool {
	if s.c != '<' || !m.names.offered(s.written) || !m.marked && bytes.IndexByte(m.buf[m.pos+s.i:m.pos+s.j], '\n') < 0 {
		return false
	}
	name, _ := m.names.resolve(s.written)
	key, _ := m.openTag(s.j)
	shape := m.names.shape(name)
	return key != "" && shape != nil && shape.Declares(key)
}

// nameAndElements reads a call whose name is a line and whose parameters are
// the elements behind it.
func (m *machine) nameAndElements(s named) bool {
	m.narrow(m.lex.elements)
	if !m.callNamed(s.written, s.i, s.start) {
		return false
	}
	m.children("", 0)
	return true
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

// elem is an element that was read whole.
type elem struct{ key, inner, prefix string }

// putElements writes the elements of one key: one value, or a list.
func (m *machine) putElements(list []elem, count *int) {
	if len(list) == 0 || !m.call.open {
		return
	}
	m.argKey(list[0].key, count)
	var shape *schema.Shape
	if m.shape() != nil {
		shape = m.shape().Property(list[0].key)
	}
	m.arg(string(joinElements(list, shape, 0)))
}

// joinElements returns the value of the elements of one key, which stand in
// depth others.
func joinElements(list []elem, shape *schema.Shape, depth int) json.RawMessage {
	wantsList := shape != nil && shape.Types()&^schema.Null == schema.Array
	if len(list) == 1 {
		v := elementValue(list[0], shape, depth)
		if wantsList && v[0] != '[' && !strings.HasPrefix(string(v), "null") {
			return json.RawMessage("[" + string(v) + "]")
		}
		return v
	}
	out := []byte{'['}
	for i, e := range list {
		if i > 0 {
			out = append(out, ',')
		}
		var item *schema.Shape
		if wantsList {
			item = shape.Item(i)
		}
		out = append(out, elementValue(e, item, depth)...)
	}
	return append(out, ']')
}

// maxElements bounds how deep elements are taken apart: what is deeper is text.
// Every level looks at all that is deeper once more.
const maxElements = 32

// elementValue reads an element: an object of its children, a list of its
// items, or the text in it.
func elementValue(e elem, shape *schema.Shape, depth int) json.RawMessage {
	types := schema.Any
	if shape != nil {
		types = shape.Types()
	}
	list, ok := elements(e.inner, e.prefix)
	if !ok || len(list) == 0 || types == schema.String || depth == maxElements {
		return elementText(e, types)
	}
	if types&schema.Array != 0 && (allItems(list) || types&^schema.Null == schema.Array && !shape.Item(0).Declares(list[0].key)) {
		out := []byte{'['}
		for i, item := range list {
			if i > 0 {
				out = append(out, ',')
			}
			var s *schema.Shape
			if shape != nil {
				s = shape.Item(i)
			}
			out = append(out, elementValue(item, s, depth+1)...)
		}
		return append(out, ']')
	}
	out := []byte{'{'}
	for i := 0; i < len(list); {
		j := i + 1
		for j < len(list) && list[j].key == list[i].key {
			j++
		}
		if i > 0 {
			out = append(out, ',')
		}
		var s *schema.Shape
		if shape != nil {
			s = shape.Property(list[i].key)
		}
		out = append(append(out, quoteJSON(list[i].key)...), ':')
		out = append(out, joinElements(list[i:j], s, depth+1)...)
		i = j
	}
	return append(out, '}')
}

// elementText reads an element that holds no others.
func elementText(e elem, types schema.Types) json.RawMessage {
	text := e.inner
	if types != schema.String || e.prefix == "" {
		text = strings.TrimSpace(text)
	}
	switch {
	case text == "" && types&^schema.Null == schema.Array:
		return json.RawMessage("[]")
	case text == "" && types&^schema.Null == schema.Object:
		return json.RawMessage("{}")
	case e.key == mixedText:
		return json.RawMessage(quoteJSON(e.inner))
	}
	if e.prefix == "" && strings.IndexByte(text, '<') < 0 {
		text = unescapeXML(text)
	}
	return typed(types, text)
}

// allItems reports whether elements are the items of a list: each is called
// item, or is numbered.
func allItems(list []elem) bool {
	for i, e := range list {
		if e.key != "item" && !isNumbered(e.key+">", i) {
			return false
		}
	}
	return true
}

// isNumbered reports whether a tag that goes on like s has the number i, from 0
// or from 1.
func isNumbered(s string, i int) bool {
	return strings.HasPrefix(s, strconv.Itoa(i)+">") || strings.HasPrefix(s, strconv.Itoa(i+1)+">")
}

// mixedText is the key of text that stands between elements.
const mixedText = "$text"

// elements splits s into elements; ok is false if there is anything else. Only
// where tags have a prefix, so that there is no doubt what is one, text between
// them is put beside them.
func elements(s, prefix string) (list []elem, ok bool) {
	var text strings.Builder
	defer func() {
		if strings.TrimSpace(text.String()) != "" && len(list) > 0 {
			list = append(list, elem{mixedText, text.String(), prefix})
		}
	}()
	for {
		if i := strings.Index(s, prefix+"<"); prefix != "" && i > 0 && len(strings.TrimSpace(s[:i])) > 0 {
			text.WriteString(s[:i])
			s = s[i:]
		}
		s = strings.TrimSpace(s)
		if s == "" {
			return list, true
		}
		rest, found := strings.CutPrefix(s, prefix)
		rest = strings.TrimLeft(rest, " \t\r\n")
		if !found || len(rest) < 3 || rest[0] != '<' || !isNameStart(rest[1]) && !isNumbered(rest[1:], len(list)) {
			return list, false
		}
		i := 1
		for i < len(rest) && isNameByte(rest[i]) {
			i++
		}
		if i >= len(rest) || rest[i] != '>' {
			return list, false
		}
		key := rest[1:i]
		inner, after, found := cutElement(rest[i+1:], key, prefix)
		if !found {
			return list, false
		}
		list = append(list, elem{key, inner, prefix})
		s = after
	}
}

// cutElement splits s at the end of the element key, which may hold others of
// the same name.
func cutElement(s, key, prefix string) (inner, after string, ok bool) {
	open, end := prefix+"<"+key+">", prefix+"</"+key+">"
	depth, at := 1, 0
	for {
		e := strings.Index(s[at:], end)
		if e < 0 {
			return "", "", false
		}
		depth += strings.Count(s[at:at+e], open) - 1
		if depth == 0 {
			return s[:at+e], s[at+e+len(end):], true
		}
		at += e + len(end)
	}
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
