package form

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/internal/whole"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// element reads a call whose element has the name of the tool, or contains it:
// <get_weather><city>…</city></get_weather>, <name>get_weather</name>….
func (m elementReader) element(start int) bool {
	word, n := m.openTag(0)
	if word == "" {
		return m.attributed(start)
	}
	if i := m.besideName(word, n); i > 0 {
		m.Skip(i, word)
		m.Blank("")
		word, n = m.openTag(0)
	}
	if m.Marked && (values.Keys[word] == values.NameRole || word == "tool" || word == "function") {
		return m.namedElement(word, n, start)
	}
	if m.Names.Any {
		return m.anyElement(word, n, start) || m.anyYAML(word, n, start)
	}
	if !m.Names.Offered(word) {
		return false
	}
	if v := judge.Decide(&m.Evidence, judge.Candidate{Stage: judge.Named, Element: word, Marked: m.Marked}); v.Result == judge.IsText {
		m.Lost.Add(m.Lex.Elements, start, v.Why())
		return false
	}
	if !m.elementHolds(word, n) {
		if m.yamlElement(word, n, start) || m.onlyText(word, n, start) {
			return true
		}
		m.Lost.Add(m.Lex.Elements, start, judge.Unreadable)
		return false
	}
	m.Narrow(m.Lex.Elements)
	if !m.StartCall(word, "", start) {
		return false
	}
	m.Read(engine.NameSpan, n, "element")
	m.Blank("")
	if m.Peek(0) == '{' {
		m.elementJSON(word)
		return true
	}
	m.children(word, 0)
	return true
}

// besideName returns the length of a <server_name> element, with a tag of n bytes, between a marker and the name of the
// tool. It returns 0 for any other element.
func (m elementReader) besideName(word string, n int) int {
	if !m.Marked || word != "server_name" {
		return 0
	}
	for i := n; i < n+lexicon.MaxName && m.At(i); i++ {
		if m.Buf[m.Pos+i] == '<' {
			if end := "</" + word + ">"; m.HasAt(i, end) {
				return i + len(end)
			}
			return 0
		}
	}
	return 0
}

// onlyText reads a call whose only argument is the text in the element of its name, after a tag of n bytes:
// <run_code>print(1)</run_code>. The tool must have, or need, only one parameter, a string. The element must be on
// separate lines, and its name must contain an underscore, unlike ordinary markup.
func (m elementReader) onlyText(word string, n, start int) bool {
	name, _ := m.Names.Resolve(word)
	shape := m.Names.Shape(name)
	if shape == nil || !m.AtLine() || !strings.Contains(word, "_") || offered.OnlyParam(shape) == "" ||
		shape.Property(offered.OnlyParam(shape)).Types()&^schema.Null != schema.String {
		return false
	}
	end, i := "</"+word+">", n
	for ; m.Peek(i) != '<' || !m.HasAt(i, end); i++ {
		if i > scan.MaxGuess || !m.At(i) || m.Buf[m.Pos+i] == '<' && m.HasAt(i+1, end[2:]) {
			return false
		}
	}
	text := strings.TrimSpace(string(m.Buf[m.Pos+n : m.Pos+i]))
	if c := m.Peek(i + len(end)); text == "" || c != 0 && !chars.IsSpace(c) {
		return false
	}
	m.Narrow(m.Lex.Elements)
	if !m.StartCall(word, "", start) {
		return false
	}
	m.Read(engine.NameSpan, n, "element")
	m.Read(engine.ArgsSpan, i-n, "text")
	m.asName().onlyArgument(text, start+n)
	m.Skip(len(end), word)
	m.EndCall()
	return true
}

// elementHolds reports whether the content at i, in the element of an offered name, is the arguments of a call:
// parameters of the tool, an object with them, or nothing.
func (m elementReader) elementHolds(word string, i int) bool {
	name, _ := m.Names.Resolve(word)
	shape := m.Names.Shape(name)
	i = m.Spaces(i)
	if m.Peek(i) == '{' {
		key, _ := m.KeyAt(m.Spaces(i + 1))
		return key != "" && shape != nil && shape.Declares(key)
	}
	if child, _ := m.childTag(i); child != "" {
		return shape == nil || shape.Declares(child)
	}
	return m.HasAt(i, "</"+word+">")
}

// elementJSON reads the arguments of a call as a JSON object in the element word, up to the end of the element.
func (m elementReader) elementJSON(word string) {
	m.Call.Element = word
	m.asValue().arguments()
	m.Blank("")
	if n := m.endOf(word); m.Call.Open && n > 0 {
		m.Skip(n, word)
	} else if m.Call.Open && m.More() {
		m.Repair("text-between-parameters", llm.Guess, m.Offset(), m.Offset())
	}
	m.EndCall()
}

// endOf returns the length of the end tag of the element word at the current position, 0 if it is not there. An empty
// word has no end tag.
func (m elementReader) endOf(word string) int {
	if word == "" {
		return 0
	}
	return m.endTag("</"+word+">", "")
}

// attributed reads a call whose arguments are attributes of the element with its name: <get_weather city="Rome"/>. The
// tool must declare all of them. An element without attributes and content must begin a line.
func (m elementReader) attributed(start int) bool {
	i := m.Word(1, "/")
	word := string(m.Buf[m.Pos+1 : m.Pos+i])
	name, known := m.Names.Resolve(word)
	if !known || m.Names.Any {
		return false
	}
	shape := m.Names.Shape(name)
	t, ok := m.asTag().attributes(i)
	for _, a := range t.Attrs {
		ok = ok && shape != nil && shape.Declares(a.Key)
	}
	if !ok || len(t.Attrs) == 0 && !(t.Self && m.AtLine() && (m.NeedsNothing(name) || offered.RequiresNothing(shape) && !chars.IsPlainTag("<"+word+">"))) || !t.Self && !m.elementHolds(word, t.Length) {
		m.Lost.Add(m.Lex.Elements, start, judge.Unreadable)
		return false
	}
	m.Narrow(m.Lex.Elements)
	if !m.StartCall(word, "", start) {
		return false
	}
	m.Read(engine.NameSpan, t.Length, "element")
	count := 0
	for _, a := range t.Attrs {
		m.argKey(a.Key, &count)
		m.Arg(string(values.Typed(shape.Property(a.Key).Types(), a.Value)))
	}
	if t.Self {
		m.closeArgs(count)
		m.EndCall()
		return true
	}
	m.children(word, count)
	return true
}

// attributes reads the attributes of a tag from the i-th byte, after its name, up to its end.
func (m tagReader) attributes(i int) (t values.Tag, ok bool) {
	quote := byte(0)
	for j := i; j < i+scan.MaxTag && m.At(j); j++ {
		switch c := m.Buf[m.Pos+j]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case chars.IsQuote(c):
			quote = c
		case c == '<' || c == '\n':
			return values.Tag{}, false
		case c == '>':
			t = values.ParseTag(string(m.Buf[m.Pos+i:m.Pos+j]), m.Lex.Head.Ends)
			t.Length = j + 1
			return t, true
		}
	}
	return values.Tag{}, false
}

// openTag returns the word of the start tag without attributes i bytes from here, and the index after the tag. The word
// is empty if there is no such tag.
func (m elementReader) openTag(i int) (word string, end int) {
	if m.Peek(i) != '<' || !chars.IsNameStart(m.Peek(i+1)) {
		return "", 0
	}
	j := m.Word(i+1, "/")
	end = j
	for n := 0; n < scan.MaxNested && m.Peek(end) == ' '; n++ {
		end++
	}
	if m.Peek(end) != '>' {
		return "", 0
	}
	return string(m.Buf[m.Pos+i+1 : m.Pos+j]), end + 1
}

// childTag is openTag for a tag that may have attributes, which are ignored, or no content.
func (m elementReader) childTag(i int) (word string, end int) {
	if word, end = m.openTag(i); word != "" || m.Peek(i) != '<' || !chars.IsNameStart(m.Peek(i+1)) {
		return word, end
	}
	if word, end = m.emptyTag(i); word != "" {
		return word, end
	}
	j := m.Word(i+1, "/")
	if t, ok := m.asTag().attributes(j); ok && len(t.Attrs) > 0 && !t.Self {
		return string(m.Buf[m.Pos+i+1 : m.Pos+j]), t.Length
	}
	return "", 0
}

// emptyTag is openTag for an element without content: <word/>.
func (m elementReader) emptyTag(i int) (word string, end int) {
	if m.Peek(i) != '<' || !chars.IsNameStart(m.Peek(i+1)) {
		return "", 0
	}
	j := m.Word(i+1, "/")
	if end = m.Spaces(j); !m.HasAt(end, "/>") {
		return "", 0
	}
	return string(m.Buf[m.Pos+i+1 : m.Pos+j]), end + 2
}

// anyElement reads a whole element as a call if any name is allowed. It must begin a line, contain only elements, and
// have an underscore in its name.
func (m elementReader) anyElement(word string, n, start int) bool {
	if !m.AtLine() || strings.ContainsAny(word, ":/") || !strings.ContainsAny(word, "_") {
		return false
	}
	end := "</" + word + ">"
	for i := n; ; i++ {
		if i > scan.MaxGuess || !m.At(i) {
			return false
		}
		if m.Buf[m.Pos+i] == '<' && m.HasAt(i, end) {
			list, ok := values.Elements(string(m.Buf[m.Pos+n:m.Pos+i]), "")
			if !ok || len(list) == 0 {
				return false
			}
			break
		}
	}
	m.Narrow(m.Lex.Elements)
	if !m.StartCall(word, "", start) {
		return false
	}
	m.Read(engine.NameSpan, n, "element")
	m.children(word, 0)
	return true
}

// anyYAML is yamlElement if any name is allowed. Only an expected dialect makes it a call.
func (m elementReader) anyYAML(word string, n, start int) bool {
	if m.Hint.Meets(m.Lex.Yaml) {
		return m.yamlElement(word, n, start)
	}
	for m.Peek(n) == ' ' || m.Peek(n) == '\r' {
		n++
	}
	if !m.AtLine() || !strings.Contains(word, "_") || m.Peek(n) != '\n' {
		return false
	}
	if _, i := m.yamlKeyAt(m.Spaces(n)); m.Peek(i) == ':' && chars.IsSpace(m.Peek(i+1)) {
		m.Lost.Add(m.Lex.Yaml, start, judge.Unreadable)
	}
	return false
}

// namedElement reads <name>…</name> and then the arguments in another element.
func (m elementReader) namedElement(word string, n, start int) bool {
	i := n
	for i < n+lexicon.MaxName && m.At(i) && m.Buf[m.Pos+i] != '<' {
		i++
	}
	end := "</" + word + ">"
	name := strings.TrimSpace(string(m.Buf[m.Pos+n : m.Pos+i]))
	if !m.HasAt(i, end) {
		return false
	}
	foreign := m.asGrammar().foreignBody(i+len(end), 0)
	if foreign && m.asGrammar().rest(i+len(end), start) {
		return true
	}
	if !m.StartCall(name, "", start) {
		return false
	}
	m.Read(engine.NameSpan, i+len(end), "element")
	if foreign {
		m.BadArgs("the elements of the call cannot be read")
	}
	m.Blank("")
	if inner, n := m.openTag(0); values.Keys[inner] == values.ArgsRole {
		m.Skip(n, inner)
		m.Blank("")
		if m.Peek(0) == '{' {
			m.elementJSON(inner)
			return true
		}
		m.children(inner, 0)
		return true
	}
	if inner, n := m.emptyTag(0); values.Keys[inner] == values.ArgsRole {
		m.Skip(n, inner)
	}
	m.children("", 0)
	return true
}

// elementsFollow reports whether the element of a parameter follows the name of an offered tool on the next line. After
// a marker it may be on the same line.
func (m elementReader) elementsFollow(s named) bool {
	if s.c != '<' || !m.Names.Offered(s.written) || !m.Marked && bytes.IndexByte(m.Buf[m.Pos+s.i:m.Pos+s.j], '\n') < 0 {
		return false
	}
	return m.declaredAt(s.j, s.written)
}

// declaredAt reports whether the element of a parameter of the tool written is i bytes from here.
func (m elementReader) declaredAt(i int, written string) bool {
	name, _ := m.Names.Resolve(written)
	key, _ := m.openTag(i)
	shape := m.Names.Shape(name)
	return key != "" && shape != nil && shape.Declares(key)
}

// elementsAt reads a call whose name has i bytes and whose parameters are elements from the k-th byte on, in the element
// word if there is one.
func (m elementReader) elementsAt(written string, i, k, start int, word string) bool {
	if !m.asName().callNamed(written, i, start) {
		return false
	}
	m.Skip(k-i, "separator")
	m.children(word, 0)
	return true
}

// children reads parameters that are elements, up to the end of the enclosing element word, and ends the call. count is
// the number of parameters before them.
func (m elementReader) children(word string, count int) {
	m.Call.Element = word
	var held []values.Elem // elements with the same key, which make a list
	for {
		m.Blank("")
		if !m.More() {
			m.Missing("end-of-call")
			break
		}
		if n := m.endOf(word); n > 0 {
			m.putElements(held, &count)
			held = nil
			m.Skip(n, word)
			break
		}
		key, n := m.childTag(0)
		if m.lacksSlash(word, key, count+len(held)) {
			m.putElements(held, &count)
			held = nil
			m.Repair("missing-end-of-call", llm.Guess, m.Offset(), m.Offset()+n)
			m.Skip(n, word)
			break
		}
		empty := key != "" && m.Buf[m.Pos+n-2] == '/'
		if word == "" && !m.Marked && (key == "" || !m.Shape().Declares(key)) {
			m.putElements(held, &count)
			held = nil
			m.Repair("missing-end-of-call", llm.Completion, m.Offset(), m.Offset())
			break
		}
		if key == "" {
			if t, n := m.Match(0); n > 0 && (t.Is(lexicon.Closes) || t.Is(lexicon.EndCall)) {
				break
			}
			m.junk()
			continue
		}
		if len(held) > 0 && held[0].Key != key {
			m.putElements(held, &count)
			held = nil
		}
		m.checkChild(n)
		m.Skip(n, key)
		e, ok := &values.Elem{Key: key}, true
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
	m.EndCall()
}

// checkChild makes the call doubtful if the tag of a parameter, of n bytes, has an attribute that means nothing.
func (m elementReader) checkChild(n int) {
	if m.Buf[m.Pos+n-2] == '/' || bytes.IndexByte(m.Buf[m.Pos:m.Pos+n], '=') < 0 {
		return
	}
	t, _ := m.asTag().attributes(m.Word(1, "/"))
	for _, a := range t.Attrs {
		if !whole.IsAside(a.Key, a.Value) {
			m.Repair("unused-attribute", llm.Guess, m.Offset(), m.Offset()+n)
		}
	}
}

// lacksSlash reports whether the tag of the element key is the end tag of the enclosing element word without its slash.
// count is the number of parameters read so far.
func (m elementReader) lacksSlash(word, key string, count int) bool {
	return word != "" && key == word && count > 0 && !m.asBare().Declares(m.Call.Name, key)
}

// child reads the element key, whose start tag has been read. A string, according to the schema, is written to the
// arguments as it arrives; other elements are returned.
func (m elementReader) child(key, prefix string, count *int) (*values.Elem, bool) {
	v := m.asTag().valueOf(key)
	if m.Call.EndTag == "" {
		v.trim = m.Row().Text
	}
	if v.known && v.types == schema.String {
		m.argKey(key, count)
		return nil, m.childText(key, prefix, v)
	}
	if n := m.wrappedChild(key, prefix); n > 0 {
		m.Repair("wrapped-value", llm.Syntax, m.Offset(), m.Offset()+n)
		m.Skip(n, valueTag)
		var raw []byte
		ok := m.until(valueEndTag, "", func(p []byte) { raw = append(raw, p...) })
		return &values.Elem{Key: key, Inner: string(raw)}, ok && m.afterChild(key)
	}
	var inner strings.Builder
	for depth := 0; ; depth-- { // depth of nested elements of the same name
		var raw []byte
		if !m.untilChild(key, prefix, func(p []byte) { raw = append(raw, p...) }) {
			return nil, false
		}
		part := tighten(string(raw), prefix)
		inner.WriteString(part)
		same := strings.Count(part, "<"+key+">")
		if prefix != "" {
			inside := strings.Count(part, prefix+"<"+key+">")
			depth, same = depth+inside, same-inside
		}
		if same > 0 {
			m.Repair("marker-in-value", llm.Guess, m.Offset(), m.Offset()) // its own tag twice
		}
		if depth == 0 {
			return &values.Elem{Key: key, Inner: inner.String(), Prefix: prefix}, true
		}
		inner.WriteString(prefix + "</" + key + ">")
	}
}

// childText reads the element key, which is a string according to the schema.
func (m elementReader) childText(key, prefix string, v value) bool {
	s := sink{m: m.answer, value: v}
	switch n := m.wrappedChild(key, prefix); {
	case prefix == "" && m.HasAt(m.Spaces(0), cdata):
		s.trim = spec.Literal
		m.Skip(m.Spaces(0)+len(cdata), cdata)
		for {
			if !m.until("]]>", "", s.add) {
				return false
			}
			if !m.HasAt(0, cdata) { // a value that contains "]]>" is split into two sections
				break
			}
			m.Skip(len(cdata), cdata)
		}
		s.close()
		return m.afterChild(key)
	case n > 0:
		m.Repair("wrapped-value", llm.Guess, m.Offset(), m.Offset()+n) // text may contain such an element
		m.Skip(n, valueTag)
		if !m.until(valueEndTag, "", s.add) {
			return false
		}
		s.close()
		return m.afterChild(key)
	}
	e := values.Entities{Add: s.add, Off: prefix != ""}
	start, at := m.Offset(), len(m.Call.Args)
	if !m.untilChild(key, prefix, e.Take) {
		return false
	}
	if e.Close() {
		m.noteEntities(start)
	}
	s.close()
	if bytes.Contains(m.Call.Args[min(at, len(m.Call.Args)):], []byte("<"+key+">")) {
		m.Repair("marker-in-value", llm.Guess, start, m.Offset()) // its own tag twice
	}
	return true
}

// wrappedChild returns the length of the tag <value>, with the white space before it, if that element is the only
// content of the element key. Otherwise it returns 0.
func (m elementReader) wrappedChild(key, prefix string) int {
	i := m.Spaces(0)
	if prefix != "" || !m.HasAt(i, valueTag) {
		return 0
	}
	if shape := m.Shape(); shape != nil && shape.Property(key) != nil && shape.Property(key).Declares("value") {
		return 0
	}
	i += len(valueTag)
	for j := i; j < i+scan.MaxGuess && m.At(j); j++ {
		if m.Buf[m.Pos+j] == '<' && m.HasAt(j, valueEndTag) {
			if m.HasAt(m.Spaces(j+len(valueEndTag)), "</"+key+">") {
				return i
			}
			return 0
		}
	}
	return 0
}

// afterChild skips the end tag of the element key.
func (m elementReader) afterChild(key string) bool {
	m.Blank("")
	if end := "</" + key + ">"; m.HasAt(0, end) {
		m.Skip(len(end), end)
	}
	return m.Call.Open
}

// untilChild reads up to the end of the element key. If its end tag is missing or misspelt, the next parameter or the
// end of the call ends it, as a guess.
func (m elementReader) untilChild(key, prefix string, add func([]byte)) bool {
	end := "</" + key + ">"
	if prefix != "" || m.Call.Element == "" {
		return m.until(end, prefix, add)
	}
	return m.untilEnd(end, prefix, add, func() (int, bool) { return m.unendedChild(key) })
}

// unendedChild reports whether the element key ends here without its end tag, because that tag is missing up to the end
// of the call. n is the length of the tag in its place, which is skipped: the end tag of another name, or a second
// start tag. n is 0 before the tag of another parameter at the beginning of a line and before the end of the call.
func (m elementReader) unendedChild(key string) (n int, ok bool) {
	end := "</" + m.Call.Element + ">"
	if !m.HasAt(0, end) {
		switch word, after := m.childTag(0); {
		case word == key && m.childFollows(after, end): // its slash is missing
			n = after
		case m.HasAt(0, "</"):
			if word, n = m.ClosingWord(0); word == "" || word == key || !m.childFollows(n, end) {
				return 0, false
			}
		case word == "" || after == 0 || !m.begunLine() || m.Call.Keys[word] || m.Shape() == nil || !m.Shape().Declares(word):
			return 0, false
		}
	}
	for i := n; i <= scan.MaxGuess && m.At(i); i++ {
		if m.Buf[m.Pos+i] != '<' {
			continue
		}
		if m.HasAt(i, "</"+key+">") {
			return 0, false
		}
		if i > 0 && m.HasAt(i, end) {
			break
		}
	}
	m.Repair("missing-end-of-parameter", llm.Guess, m.Offset(), m.Offset()+n)
	return n, true
}

// childFollows reports whether another parameter of the call, or the tag end of the call, is at i.
func (m elementReader) childFollows(i int, end string) bool {
	i = m.Spaces(i)
	word, _ := m.childTag(i)
	return m.HasAt(i, end) || word != "" && m.Shape() != nil && m.Shape().Declares(word)
}

// tighten removes white space between the prefix of tags and the tags.
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

// until reads up to the tag end, which follows prefix, and skips the tag. If the answer ends first, it ends the call as
// cut off and reports false, because only the end tag shows that the text is complete.
func (m elementReader) until(end, prefix string, add func([]byte)) bool {
	return m.untilEnd(end, prefix, add, nil)
}

// untilEnd is until with a second possible end. If other is not nil, it is called at each byte that may begin a tag and
// returns the length of the tag to skip.
func (m elementReader) untilEnd(end, prefix string, add func([]byte), other func() (int, bool)) bool {
	take := func(n int) {
		add(m.Buf[m.Pos : m.Pos+n])
		m.Read(engine.ArgsSpan, n, "value")
	}
	first := (prefix + end)[0]
	all := func() bool {
		for m.Pos < len(m.Buf) {
			n := chars.IndexEither(m.Buf[m.Pos:], first, end[0])
			if n == 0 {
				return false
			}
			take(n)
		}
		return true
	}
	for m.Flows(0, all) {
		if all() {
			continue
		}
		if n := m.endTag(end, prefix); n > 0 {
			m.Skip(n, end)
			return true
		}
		if other != nil {
			if n, ok := other(); ok {
				m.Skip(n, end)
				return true
			}
		}
		take(1)
	}
	m.CutCall()
	return false
}

// endTag returns the length of the tag end if it is here after prefix and optional white space, 0 if not. The prefix
// may be missing if it precedes the next tag.
func (m elementReader) endTag(end, prefix string) int {
	i := 0
	if m.HasAt(0, prefix) {
		i = m.Spaces(len(prefix))
	}
	if !m.HasAt(i, end[:len(end)-1]) {
		return 0
	}
	i += len(end) - 1
	for n := 0; n < scan.MaxNested && prefix == "" && m.Peek(i) == ' '; n++ {
		i++
	}
	if m.Peek(i) != end[len(end)-1] {
		return 0
	}
	i++
	if prefix != "" && i == len(end) && !m.HasAt(m.Spaces(i), prefix) {
		return 0
	}
	return i
}

// prefixed reads a call in a dialect that writes a prefix before each tag.
func (m elementReader) prefixed(t *lexicon.Token, n, start int) bool {
	m.Narrow(t.In(lexicon.Prefixes))
	m.Skip(n, t.Text)
	m.Blank("")
	return m.asMarker().one(start)
}

// childElement reads a parameter that is an element inside a call whose other parts are tags. t is the token at the
// current position.
func (m elementReader) childElement(t *lexicon.Token, n int, count *int) bool {
	i, prefix := 0, ""
	if t.Is(lexicon.Prefixes) {
		i, prefix = m.Spaces(n), t.Text
	}
	if p := m.prefix(t); p != "" {
		i, prefix = m.Spaces(len(p)), p
	}
	key, end := m.openTag(i)
	if key == "" {
		return false
	}
	m.Skip(end, key)
	if values.Keys[key] == values.ArgsRole && (m.Shape() == nil || !m.Shape().Declares(key)) {
		return true // a wrapper around the parameters
	}
	e, ok := m.child(key, prefix, count)
	if ok && e != nil {
		m.moreChildren(*e, prefix, count)
	}
	return true
}

// prefix returns the text before every tag in the dialect of the marker t, if t is such a tag.
func (m elementReader) prefix(t *lexicon.Token) string {
	if t == nil || len(t.Text) < 2 || t.Text[0] == '<' {
		return ""
	}
	for i := t.All.First(); i >= 0; i = t.All.Next(i + 1) {
		if p, ok := strings.CutSuffix(m.Lex.Rows[i].Tags.Param.Open, "<%s>"); ok && p != "" && strings.HasPrefix(t.Text, p+"<") {
			return p
		}
	}
	return ""
}

// isNamesake reports whether the marker t at the current position is the tag of a parameter with the same name as a tag
// of the dialect.
func (m elementReader) isNamesake(t *lexicon.Token) bool {
	p := m.prefix(t)
	if p == "" || !t.Is(lexicon.Opens) && !t.Is(lexicon.TagCall) || m.Shape() == nil {
		return false
	}
	key, _ := m.openTag(m.Spaces(len(p)))
	return key != "" && m.Shape().Declares(key) && !m.Call.Keys[key]
}

// moreChildren reads further elements with the key of first and writes all of them.
func (m elementReader) moreChildren(first values.Elem, prefix string, count *int) {
	list := []values.Elem{first}
	open := "<" + first.Key + ">"
	for {
		i := m.Spaces(0)
		if !m.HasAt(i, prefix) {
			break
		}
		if i = m.Spaces(i + len(prefix)); !m.HasAt(i, open) {
			break
		}
		m.Skip(i+len(open), first.Key)
		e, ok := m.child(first.Key, prefix, count)
		if !ok || e == nil {
			return
		}
		list = append(list, *e)
	}
	m.putElements(list, count)
}

// putElements writes the elements of one key: one value, or a list.
func (m elementReader) putElements(list []values.Elem, count *int) {
	if len(list) == 0 || !m.Call.Open {
		return
	}
	m.argKey(list[0].Key, count)
	var shape *schema.Shape
	if m.Shape() != nil {
		shape = m.Shape().Property(list[0].Key)
	}
	m.Arg(string(values.JoinElements(list, shape, 0)))
}
