package engine

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// maxTag bounds the length of a tag.
const maxTag = 1 << 10

// tag is an opening tag.
type tag struct {
	value  string // of <word=value>
	attrs  []field2
	self   bool // <word/>
	length int  // in bytes
}

type field2 struct{ key, value string }

// attr returns the first of the attributes that is there.
func (t tag) attr(keys ...string) string {
	for _, k := range keys {
		for _, a := range t.attrs {
			if a.key == k {
				return a.value
			}
		}
	}
	return ""
}

// name returns the name a tag gives to its call or parameter.
func (t tag) name() string {
	if t.value != "" {
		return t.value
	}
	return t.attr("name", "tool", "key", "function", "id")
}

// key returns the name a tag gives to its parameter, without the backslashes of
// Markdown.
func (t tag) key() string { return loose.Unescape(t.name()) }

// readTag reads the rest of the tag whose first n bytes are the token tok.
func (in *input) readTag(tok *token, n int) (tag, bool) {
	if strings.HasSuffix(tok.text, ">") {
		return tag{length: n}, true
	}
	end := tok.tagEnd
	if strings.HasSuffix(tok.text, "=") { // the name stands right behind it
		n--
	}
	i := n
	for ; ; i++ {
		if i-n > maxTag || !in.at(i) {
			return tag{}, false
		}
		if in.buf[in.pos+i] == end[0] && in.literal(i, end) > 0 {
			break
		}
		if in.buf[in.pos+i] == '\n' && in.peek(in.spaces(i)) == '<' { // the end is missing
			body := string(in.buf[in.pos+n : in.pos+i])
			t := in.parseTag(body)
			t.length = i
			return t, t.name() != ""
		}
		if c := in.buf[in.pos+i]; c == '<' && end == ">" && in.anyOf(i, in.lex.head.ends) == 0 {
			t := in.parseTag(string(in.buf[in.pos+n : in.pos+i]))
			t.length = i
			return t, in.lex.endsHeader(string(in.buf[in.pos:in.pos+i])) && t.name() != ""
		}
		if in.buf[in.pos+i] == '<' {
			i += max(in.lex.head.longest, 1) - 1 // what ends a header, by mistake
		}
	}
	t := in.parseTag(string(in.buf[in.pos+n : in.pos+i]))
	t.length = i + in.literal(i, end)
	return t, true
}

// parseTag reads =value or attributes, with any quotes or none.
func (in *input) parseTag(s string) tag {
	var t tag
	if strings.IndexByte(s, artefact) >= 0 {
		s = artefacts.Replace(s)
	}
	for _, end := range in.lex.head.ends { // written into tags by mistake
		s = strings.ReplaceAll(s, end, "")
	}
	s = strings.TrimSpace(s)
	if rest, ok := strings.CutSuffix(s, "/"); ok {
		t.self, s = true, strings.TrimSpace(rest)
	}
	if rest, ok := strings.CutPrefix(s, "="); ok {
		t.value = unquoteName(rest)
		return t
	}
	for s != "" {
		key, rest, ok := strings.Cut(s, "=")
		if !ok {
			break
		}
		key = strings.TrimSpace(key)
		rest = strings.TrimSpace(rest)
		var value string
		if rest != "" && isQuote(rest[0]) {
			value, rest, _ = strings.Cut(rest[1:], rest[:1])
		} else {
			value, rest, _ = strings.Cut(rest, " ")
			value = strings.Trim(value, `"'`)
		}
		t.attrs = append(t.attrs, field2{key, unescapeXML(value)})
		s = strings.TrimSpace(rest)
	}
	return t
}

// unquoteName cleans a name: quotes around it, or the word before it again.
func unquoteName(s string) string {
	s = strings.TrimSpace(s)
	for _, word := range []string{"function=", "parameter=", "name="} {
		s = strings.TrimPrefix(s, word)
	}
	if len(s) > 1 && isQuote(s[0]) {
		if inner, rest, ok := strings.Cut(s[1:], s[:1]); ok && strings.HasPrefix(rest, " ") {
			return inner // other attributes follow
		}
		return strings.Trim(s, s[:1])
	}
	return s
}

// artefact is the first byte of what tokenizers leave of spaces and newlines.
const artefact = 0xC4

// artefacts are what tokenizers leave of spaces and newlines.
var artefacts = strings.NewReplacer("Ġ", " ", "Ċ", "\n")

var xmlEntities = strings.NewReplacer("&quot;", `"`, "&apos;", "'", "&lt;", "<", "&gt;", ">", "&amp;", "&")

func unescapeXML(s string) string {
	if strings.IndexByte(s, '&') < 0 {
		return s
	}
	return xmlEntities.Replace(s)
}

// tags reads a call that is an element: its tag is the token t of n bytes.
func (m *machine) tags(t *token, n, start int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		return m.cutTag(start)
	}
	m.narrow(t.in(tagCall))
	name := tg.name()
	if name == "" {
		return m.oldInvoke(tg, start)
	}
	if isAttribute(t) && (m.names.any || !m.names.offered(name)) {
		return false // ordinary markup may have such an element
	}
	if !m.startCall(name, m.tagID(tg), start) {
		return false
	}
	m.read(NameSpan, tg.length, "tag")
	m.otherTag(t)
	if tg.self {
		m.endCall()
		return true
	}
	m.params()
	return true
}

// isAttribute reports whether the beginning of a tag of Tags.Also ends before
// the value of an attribute.
func isAttribute(t *token) bool { return strings.HasSuffix(t.text, " name=") }

// otherTag notes that the tag of the call is none that its dialect writes, and
// what ends it.
func (m *machine) otherTag(t *token) {
	if !strings.HasSuffix(t.text, "=") {
		return
	}
	rows := t.in(tagCall)
	for _, p := range m.lex.rows[rows.first()].Tags.Also {
		if strings.HasPrefix(p.Open, t.text) {
			m.call.endTag = p.Close
		}
	}
	m.repair("other-tag", llm.Syntax, m.call.start, m.offset())
}

// cutTag handles a call's tag that the end of the answer cut.
func (m *machine) cutTag(start int) bool {
	if !m.eof || m.depth == 0 && !m.truncated() || !m.startCall("?", "", start) {
		return false
	}
	m.call.known, m.call.name = false, ""
	m.read(ArgsSpan, len(m.buf)-m.pos, "cut off")
	m.cutCall()
	return true
}

// tagID returns the id that a tag carries, if its dialect has ids.
func (m *machine) tagID(t tag) string {
	if key := m.row().Tags.ID; key != "" {
		return t.attr(key)
	}
	return ""
}

// params reads the parameters of a call up to its end.
func (m *machine) params() {
	count := 0
	if c := m.peek(m.spaces(0)); c != '{' && c != '<' && m.textParam() {
		count = -1
	}
	for {
		m.blank("")
		for m.hasAt(0, `\n`) {
			m.skip(2, "newline")
			m.blank("")
		}
		if !m.more() {
			m.noEnd(count)
			break
		}
		t, n := m.matchWord()
		if m.endsParams(t, n, count) {
			break
		}
		if m.onePart(t, n, &count); !m.call.open {
			return
		}
	}
	m.closeArgs(count)
	m.endCall()
}

// textParam reads the text that stands here up to the end of the call, if it can
// be its only argument.
func (m *machine) textParam() bool {
	n := m.onlyTextIn(m.call.name, 0)
	if n == 0 {
		return false
	}
	start := m.offset()
	text := strings.TrimSpace(string(m.buf[m.pos : m.pos+n]))
	m.read(ArgsSpan, n, "text")
	m.onlyArgument(text, start)
	return true
}

// endsParams reports whether the parameters end here, and passes over the end
// of their call. t is the token that stands here.
func (m *machine) endsParams(t *token, n, count int) bool {
	switch {
	case t.is(tagParam) && !t.is(tagCall), m.isNamesake(t):
		return false
	case t.is(endCall):
		m.skip(n, t.text)
	case m.endsOtherTag(0):
		m.skip(len(m.call.endTag), m.call.endTag)
	case t.is(endParam), t.is(endValue), count == 0 && t.is(tagCall) && m.isDoubled(t, n):
		return false
	case t.is(closes), t.is(opens), t.is(tagCall):
		if m.row().Tags.Call.Close != "" {
			m.repair("missing-end-of-call", llm.Syntax, m.offset(), m.offset())
		}
	default:
		return false
	}
	return true
}

// endsOtherTag reports whether the end of the call stands i bytes from here, if
// its tag is none that its dialect writes.
func (m *machine) endsOtherTag(i int) bool { return m.call.endTag != "" && m.hasAt(i, m.call.endTag) }

// onePart reads what stands inside a call, beginning with the token t: a
// parameter, all of them as one object, or what is neither.
func (m *machine) onePart(t *token, n int, count *int) {
	switch {
	case t.is(tagParam) && !t.is(tagCall):
		m.narrow(t.in(tagParam))
		m.param(t, n, count)
	case m.isNamesake(t) && m.childElement(t, n, count):
	case t.is(tagCall):
		tg, _ := m.readTag(t, n)
		m.skip(tg.length, t.text)
		m.repair("doubled-tag", llm.Syntax, m.offset()-tg.length, m.offset())
	case t.is(endParam), t.is(endValue):
		m.skip(n, t.text)
	case m.bareKey(0) > 0:
		m.pair(count)
	case m.peek(0) == '{' && *count == 0:
		m.form(spec.NameJSON)
		m.arguments()
		*count = -1
	case m.endOfWrapper():
	case *count >= 0 && m.childElement(t, n, count):
	default:
		m.junk()
	}
}

// matchWord is match where the tag of a parameter may stand. A longer word that
// begins like the tag, as <parameters> does, does not count, but a tag without the
// space before its attribute "name" does.
func (in *input) matchWord() (*token, int) {
	t, n := in.match(0)
	if t.is(tagParam) && !strings.HasSuffix(t.text, ">") && isLetter(in.peek(n)) && !in.hasAt(n, "name") {
		return nil, 0
	}
	return t, n
}

// endOfWrapper passes over the end of an element around parameters.
func (m *machine) endOfWrapper() bool {
	if !m.hasAt(0, "</") {
		return false
	}
	i := m.word(2, "/")
	word := string(m.buf[m.pos+2 : m.pos+i])
	if keys[word] != argsRole || m.peek(i) != '>' || m.shape() != nil && m.shape().Declares(word) {
		return false
	}
	m.skip(i+1, word)
	return true
}

// isDoubled reports whether the tag of the call is there twice, the token t of
// n bytes being the beginning of the second.
func (m *machine) isDoubled(t *token, n int) bool {
	tg, ok := m.readTag(t, n)
	name, _ := m.names.resolve(strings.TrimSpace(tg.name()))
	return ok && !tg.self && name == m.call.name && !m.needsNothing(name)
}

// noEnd handles the end of the answer after count parameters; a negative count
// means that the arguments were one object, which says itself that it is whole.
func (m *machine) noEnd(count int) {
	switch {
	case count < 0:
	case count == 0 || m.depth == 0 && len(m.row().Wrap) == 0: // only its end says that it is complete
		m.cutCall()
	default:
		m.missing("end-of-call")
	}
}

// closeArgs ends the arguments object that parameters were written into.
func (m *machine) closeArgs(count int) {
	if !m.call.open || count < 0 {
		return
	}
	if count == 0 && len(m.call.args) == 0 {
		m.arg("{")
	}
	m.arg("}")
}

// junk passes over text between parameters.
func (m *machine) junk() {
	start := m.offset()
	m.read(MarkerSpan, 1, "junk")
	for m.more() && m.buf[m.pos] != '<' && m.buf[m.pos] != ']' {
		i := 1
		for m.pos+i < len(m.buf) && m.buf[m.pos+i] != '<' && m.buf[m.pos+i] != ']' {
			i++
		}
		m.read(MarkerSpan, i, "junk")
	}
	m.repair("text-between-parameters", llm.Guess, start, m.offset())
}

// param reads a parameter element. It reports false if the call has ended.
func (m *machine) param(t *token, n int, count *int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		if m.eof && m.truncated() {
			m.read(ArgsSpan, len(m.buf)-m.pos, "cut off")
			m.cutCall()
			return false
		}
		m.junk()
		return true
	}
	key := tg.name()
	m.skipTag(tg.length)
	if plain := loose.Unescape(key); plain != key {
		key = plain
		m.repair("markdown-escape", llm.Syntax, m.offset()-tg.length, m.offset())
	}
	if t.is(tagParam) && key == "" && m.isPair(t) {
		return m.pair(count)
	}
	nameText := false
	if n := m.keyText(0, t); key == "" && n > 0 {
		key, nameText = m.readKey(n), true
	}
	if key == "" {
		m.badArgs("a parameter has no name")
		key = "?"
	}
	if *count == 0 && m.wrapsAll(key) {
		*count = -1
		m.blank("")
		m.arguments()
		return m.afterValue()
	}
	m.argKey(key, count)
	if kind := tg.attr("type"); kind == "dict" || kind == "list" {
		m.typedChildren(kind, 1)
		return m.call.open
	}
	v := m.valueOf(key)
	v.typedBy(tg)
	v.end, v.nameText = t, nameText
	if tg.self {
		m.arg("null")
		return true
	}
	if v.known && v.types&^schema.Null == schema.Array && !v.json && m.peek(m.spaces(0)) != '[' {
		return m.listParam(key, v)
	}
	return m.readValue(v)
}

// listParam reads a parameter that must be a list and is not written as one:
// its items are elements, or the parameter is there once for each. What was
// read is held until it is clear which.
func (m *machine) listParam(key string, v value) bool {
	c, shape, types := m.call, m.shape().Property(key), v.types
	start, at, size := m.offset(), len(m.call.args), 0
	c.hold, v.types = true, schema.String
	defer func() { c.hold = false }()
	var items []string
	for {
		if !m.readValue(v) {
			return false
		}
		var text string
		if json.Unmarshal(c.args[at:], &text) != nil {
			return true
		}
		c.args = c.args[:at]
		items = append(items, text)
		if size += len(text); size > m.maxCall() {
			m.fail(fmt.Errorf("the parameter %.80q is longer than %d bytes", key, m.maxCall()))
			return false
		}
		n := m.sameParam(key)
		if n == 0 {
			break
		}
		m.skip(n, key)
	}
	if len(items) > 1 {
		m.repair("repeated-parameter", llm.Coercion, start, m.offset())
		list := make([]elem, len(items))
		for i, text := range items {
			list[i] = elem{key: key, inner: text}
		}
		m.argBytes(joinElements(list, shape, 0))
		return true
	}
	if list, ok := elements(items[0], ""); ok && len(list) > 0 {
		m.repair("items-as-elements", llm.Syntax, start, m.offset())
		m.argBytes(elementValue(elem{key: key, inner: items[0]}, shape, 0))
		return true
	}
	m.argBytes(typed(types, items[0]))
	return true
}

// sameParam returns the length of the tag of the parameter key, with the white
// space before it, if it stands here once more.
func (m *machine) sameParam(key string) int {
	i := m.spaces(0)
	t, n := m.match(i)
	if !t.is(tagParam) || t.is(tagCall) || m.isPair(t) {
		return 0
	}
	if tg, ok := m.readTag(t, i+n); ok && tg.key() == key && !tg.self {
		return tg.length
	}
	return 0
}

// keyText returns the length of the parameter's name that stands i bytes from
// here as the text of its own element, behind the tag t: the value follows the
// element. It is 0 if there is none.
func (m *machine) keyText(i int, t *token) int {
	i = m.spaces(i)
	j := m.word(i, "/")
	if j == i {
		return 0
	}
	if end, _ := m.match(m.spaces(j)); !end.in(endParam).meets(t.in(tagParam)) {
		return 0
	}
	if s := m.shape(); s == nil || !s.Declares(string(m.buf[m.pos+i:m.pos+j])) {
		return 0
	}
	return j
}

// readKey reads a name of n bytes, with the white space before it, and the end
// of its element.
func (m *machine) readKey(n int) string {
	start := m.offset()
	key := strings.TrimSpace(string(m.buf[m.pos : m.pos+n]))
	m.read(ArgsSpan, n, "key")
	m.blank("")
	_, end := m.match(0)
	m.skip(end, "end of key")
	m.repair("name-as-text", llm.Syntax, start, m.offset())
	return key
}

// skipTag passes over the tag of n bytes, and over the same tag again.
func (m *machine) skipTag(n int) {
	tag := string(m.buf[m.pos : m.pos+n])
	for m.hasAt(0, tag) {
		m.skip(n, tag)
	}
}

// typedChildren reads the values inside an element of type dict or list, and
// its end.
func (m *machine) typedChildren(kind string, depth int) {
	brackets := "{}"
	if kind == "list" {
		brackets = "[]"
	}
	m.arg(brackets[:1])
	for first := true; m.call.open; first = false {
		m.blank("")
		t, n := m.match(0)
		if !m.more() {
			m.missing("end-of-value")
			break
		}
		if !t.is(tagParam) {
			if t.is(endParam) {
				m.skip(n, t.text)
			}
			break
		}
		tg, ok := m.readTag(t, n)
		if !ok {
			m.badArgs("a value's tag cannot be read")
			m.recover()
			break
		}
		m.skip(tg.length, t.text)
		if !first {
			m.arg(",")
		}
		if kind == "dict" {
			m.arg(quoteJSON(tg.name()) + ":")
		}
		if inner := tg.attr("type"); (inner == "dict" || inner == "list") && depth < maxNesting {
			m.typedChildren(inner, depth+1)
			continue
		}
		v := value{types: schema.Any, end: t}
		v.typedBy(tg)
		if !m.readValue(v) {
			return
		}
	}
	if m.call.open {
		m.arg(brackets[1:])
	}
}

// wrapsAll reports whether a first parameter called key holds all arguments
// as one object, because the tool has no parameter of that name.
func (m *machine) wrapsAll(key string) bool {
	return (keys[key] == argsRole || key == "properties") && m.shape() != nil && !m.shape().Declares(key) && m.peek(m.spaces(0)) == '{'
}

// afterValue passes over the end tag of a value.
func (m *machine) afterValue() bool {
	if !m.call.open {
		return false
	}
	m.blank("")
	if t, n := m.match(0); t.is(endParam) || t.is(endValue) {
		m.skip(n, t.text)
	}
	return true
}

// argKey writes the key of the next argument.
func (m *machine) argKey(key string, count *int) {
	if *count == 0 {
		m.arg("{")
	} else {
		m.arg(",")
	}
	*count++
	if m.call.keys[key] && (m.row().Tags.Once || m.takesList(key)) { // what has left cannot be added to
		m.badArgs("the parameter %q is there twice", key)
	} else if m.call.keys[key] {
		m.repair("repeated-parameter", llm.Guess, m.offset(), m.offset()) // the last one counts
	}
	if m.call.keys == nil {
		m.call.keys = make(map[string]bool)
	}
	m.call.keys[key] = true
	m.arg(quoteJSON(key))
	m.arg(":")
}

// takesList reports whether a parameter of the call must be a list.
func (m *machine) takesList(key string) bool {
	types, known := m.names.typesOf(m.call.name, key)
	return known && types&^schema.Null == schema.Array
}

// isPair reports whether t is the key of a key and value pair.
func (in *input) isPair(t *token) bool { return strings.HasSuffix(t.text, ">") }

// pairs reads a call whose arguments are pairs of elements, after a name of i
// bytes.
func (m *machine) pairs(written string, i, j, start int) bool {
	if !m.callNamed(written, i, start) {
		return false
	}
	m.skip(j-i, "separator")
	m.params()
	return true
}

// bareKey returns the length of a key that stands i bytes from here without
// its opening tag: only its end tag says what it is.
func (m *machine) bareKey(i int) int {
	if !m.rows.meets(m.lex.pairs) || !isNameStart(m.peek(i)) {
		return 0
	}
	j := m.word(i, "")
	if t, _ := m.match(m.spaces(j)); !t.in(endParam).meets(m.lex.pairs) {
		return 0
	}
	return j - i
}

// pair reads a key, whose opening tag has been read, and its value.
func (m *machine) pair(count *int) bool {
	i := 0
	for m.at(i) && i < maxTag && m.buf[m.pos+i] != '<' && m.buf[m.pos+i] != '\n' {
		i++
	}
	if !m.at(i) {
		m.read(ArgsSpan, i, "key")
		m.missing("value")
		if m.call.open {
			m.badArgs("a key has no value")
		}
		return m.call.open
	}
	key := strings.TrimSpace(string(m.buf[m.pos : m.pos+i]))
	m.read(ArgsSpan, i, "key")
	m.blank("")
	if t, n := m.match(0); t.is(endParam) {
		m.skipTag(n)
		m.blank("")
	}
	for m.hasAt(0, `\n`) {
		m.skip(2, "newline")
		m.blank("")
	}
	end := m.pairValue()
	t, n := m.match(0)
	switch {
	case t.is(tagValue):
		end = t
		m.skipTag(n)
	case t.is(tagParam), t.is(closes):
		m.repair("key-without-value", llm.Guess, m.offset(), m.offset())
		return true
	}
	m.argKey(key, count)
	v := m.valueOf(key)
	v.end, v.quotes = end, true
	return m.readValue(v)
}

// oldInvoke reads <invoke><tool_name>…</tool_name><parameters>…</parameters>.
func (m *machine) oldInvoke(tg tag, start int) bool {
	m.skip(tg.length, "invoke")
	m.blank("")
	if n := m.word(0, "/"); n > 0 {
		return m.nameText(n, start)
	}
	return m.element(start)
}

// nameText reads a call whose name, of n bytes, is the text of its element:
// <function>get_weather</function>. Its parameters follow, or stand in the
// element, too. The name must have been offered.
func (m *machine) nameText(n, start int) bool {
	name := string(m.buf[m.pos : m.pos+n])
	i := m.spaces(n)
	if t, k := m.match(i); t.is(endCall) {
		i += k
	}
	t, _ := m.match(m.spaces(i))
	child, _ := m.openTag(m.spaces(i))
	if !m.names.offered(name) || !t.is(tagParam) && !m.declares(name, child) || !m.startCall(name, "", start) {
		return false
	}
	m.read(NameSpan, n, "name")
	m.skip(i-n, "end of name")
	m.repair("name-as-text", llm.Syntax, start, m.offset())
	m.params()
	return true
}
