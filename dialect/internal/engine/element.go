package engine

import (
	"bytes"
	"slices"
	"strings"

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
