package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

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
func (m tagReader) readTag(tok *lexicon.Token, n int) (tag, bool) {
	if strings.HasSuffix(tok.Text, ">") {
		return tag{length: n}, true
	}
	end := tok.TagEnd
	if strings.HasSuffix(tok.Text, "=") { // the name stands right after it
		n--
	}
	i := n
	for ; ; i++ {
		if i-n > scan.MaxTag || !m.At(i) {
			return tag{}, false
		}
		if m.Buf[m.Pos+i] == end[0] && m.Literal(i, end) > 0 {
			break
		}
		if m.Buf[m.Pos+i] == '\n' && m.Peek(m.Spaces(i)) == '<' { // the end is missing
			body := string(m.Buf[m.Pos+n : m.Pos+i])
			t := m.parseTag(body)
			t.length = i
			return t, t.name() != ""
		}
		if c := m.Buf[m.Pos+i]; c == '<' && end == ">" && m.AnyOf(i, m.Lex.Head.Ends) == 0 {
			t := m.parseTag(string(m.Buf[m.Pos+n : m.Pos+i]))
			t.length = i
			return t, m.Lex.EndsHeader(string(m.Buf[m.Pos:m.Pos+i])) && t.name() != ""
		}
		if m.Buf[m.Pos+i] == '<' {
			i += max(m.Lex.Head.Longest, 1) - 1 // what ends a header, by mistake
		}
	}
	t := m.parseTag(string(m.Buf[m.Pos+n : m.Pos+i]))
	t.length = i + m.Literal(i, end)
	return t, true
}

// parseTag reads =value or attributes, with any quotes or none.
func (m tagReader) parseTag(s string) tag {
	var t tag
	if strings.IndexByte(s, artefact) >= 0 {
		s = artefacts.Replace(s)
	}
	for _, end := range m.Lex.Head.Ends { // written into tags by mistake
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
		if rest != "" && chars.IsQuote(rest[0]) {
			value, rest, _ = strings.Cut(rest[1:], rest[:1])
		} else {
			value, rest, _ = strings.Cut(rest, " ")
			value = strings.Trim(value, `"'`)
		}
		t.attrs = append(t.attrs, field2{key, values.UnescapeXML(value)})
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
	if len(s) > 1 && chars.IsQuote(s[0]) {
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

// tags reads a call that is an element: its tag is the token t of n bytes.
func (m tagReader) tags(t *lexicon.Token, n, start int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		return m.cutTag(start)
	}
	m.Narrow(t.In(lexicon.TagCall))
	name := tg.name()
	if name == "" {
		return m.oldInvoke(tg, start)
	}
	if isAttribute(t) && (m.Names.Any || !m.Names.Offered(name)) {
		return false // ordinary markup may have such an element
	}
	if !m.StartCall(name, m.tagID(tg), start) {
		return false
	}
	m.Read(engine.NameSpan, tg.length, "tag")
	m.otherTag(t)
	if tg.self {
		m.EndCall()
		return true
	}
	m.params()
	return true
}

// isAttribute reports whether the beginning of a tag of Tags.Also ends before
// the value of an attribute.
func isAttribute(t *lexicon.Token) bool { return strings.HasSuffix(t.Text, " name=") }

// otherTag notes that the tag of the call is none that its dialect writes, and
// what ends it.
func (m tagReader) otherTag(t *lexicon.Token) {
	if !strings.HasSuffix(t.Text, "=") {
		return
	}
	rows := t.In(lexicon.TagCall)
	for _, p := range m.Lex.Rows[rows.First()].Tags.Also {
		if strings.HasPrefix(p.Open, t.Text) {
			m.Call.EndTag = p.Close
		}
	}
	m.Repair("other-tag", llm.Syntax, m.Call.Start, m.Offset())
}

// cutTag handles a call's tag that the end of the answer cut.
func (m tagReader) cutTag(start int) bool {
	if !m.Eof || m.Depth == 0 && !m.Truncated() || !m.StartCall("?", "", start) {
		return false
	}
	m.Call.Known, m.Call.Name = false, ""
	m.Read(engine.ArgsSpan, len(m.Buf)-m.Pos, "cut off")
	m.CutCall()
	return true
}

// tagID returns the id that a tag carries, if its dialect has ids.
func (m tagReader) tagID(t tag) string {
	if key := m.Row().Tags.ID; key != "" {
		return t.attr(key)
	}
	return ""
}

// params reads the parameters of a call up to its end.
func (m tagReader) params() {
	count := 0
	if c := m.Peek(m.Spaces(0)); c != '{' && c != '<' && m.textParam() {
		count = -1
	}
	for {
		m.Blank("")
		for m.HasAt(0, `\n`) {
			m.Skip(2, "newline")
			m.Blank("")
		}
		if !m.More() {
			m.noEnd(count)
			break
		}
		t, n := m.matchWord()
		if m.endsParams(t, n, count) {
			break
		}
		if m.onePart(t, n, &count); !m.Call.Open {
			return
		}
	}
	m.closeArgs(count)
	m.EndCall()
}

// textParam reads the text that stands here up to the end of the call, if it can
// be its only argument.
func (m tagReader) textParam() bool {
	n := m.asMarker().onlyTextIn(m.Call.Name, 0)
	if n == 0 {
		return false
	}
	start := m.Offset()
	text := strings.TrimSpace(string(m.Buf[m.Pos : m.Pos+n]))
	m.Read(engine.ArgsSpan, n, "text")
	m.asName().onlyArgument(text, start)
	return true
}

// endsParams reports whether the parameters end here, and passes over the end
// of their call. t is the token that stands here.
func (m tagReader) endsParams(t *lexicon.Token, n, count int) bool {
	switch {
	case t.Is(lexicon.TagParam) && !t.Is(lexicon.TagCall), m.asElement().isNamesake(t):
		return false
	case t.Is(lexicon.EndCall):
		m.Skip(n, t.Text)
	case m.endsOtherTag(0):
		m.Skip(len(m.Call.EndTag), m.Call.EndTag)
	case t.Is(lexicon.EndParam), t.Is(lexicon.EndValue), count == 0 && t.Is(lexicon.TagCall) && m.isDoubled(t, n):
		return false
	case t.Is(lexicon.Closes), t.Is(lexicon.Opens), t.Is(lexicon.TagCall):
		if m.Row().Tags.Call.Close != "" {
			m.Repair("missing-end-of-call", llm.Syntax, m.Offset(), m.Offset())
		}
	default:
		return false
	}
	return true
}

// endsOtherTag reports whether the end of the call stands i bytes from here, if
// its tag is none that its dialect writes.
func (m tagReader) endsOtherTag(i int) bool { return m.Call.EndTag != "" && m.HasAt(i, m.Call.EndTag) }

// onePart reads what stands inside a call, beginning with the token t: a
// parameter, all of them as one object, or neither.
func (m tagReader) onePart(t *lexicon.Token, n int, count *int) {
	switch {
	case t.Is(lexicon.TagParam) && !t.Is(lexicon.TagCall):
		m.Narrow(t.In(lexicon.TagParam))
		m.param(t, n, count)
	case m.asElement().isNamesake(t) && m.asElement().childElement(t, n, count):
	case t.Is(lexicon.TagCall):
		tg, _ := m.readTag(t, n)
		m.Skip(tg.length, t.Text)
		m.Repair("doubled-tag", llm.Syntax, m.Offset()-tg.length, m.Offset())
	case t.Is(lexicon.EndParam), t.Is(lexicon.EndValue):
		m.Skip(n, t.Text)
	case m.bareKey(0) > 0:
		m.pair(count)
	case m.Peek(0) == '{' && *count == 0:
		m.Form(spec.NameJSON)
		m.asValue().arguments()
		*count = -1
	case m.endOfWrapper():
	case *count >= 0 && m.asElement().childElement(t, n, count):
	default:
		m.junk()
	}
}

// matchWord is match where the tag of a parameter may stand. A longer word that
// begins like the tag, as <parameters> does, does not count, but a tag without the
// space before its attribute "name" does.
func (m tagReader) matchWord() (*lexicon.Token, int) {
	t, n := m.Match(0)
	if t.Is(lexicon.TagParam) && !strings.HasSuffix(t.Text, ">") && chars.IsLetter(m.Peek(n)) && !m.HasAt(n, "name") {
		return nil, 0
	}
	return t, n
}

// endOfWrapper passes over the end of an element around parameters.
func (m tagReader) endOfWrapper() bool {
	if !m.HasAt(0, "</") {
		return false
	}
	i := m.Word(2, "/")
	word := string(m.Buf[m.Pos+2 : m.Pos+i])
	if values.Keys[word] != values.ArgsRole || m.Peek(i) != '>' || m.Shape() != nil && m.Shape().Declares(word) {
		return false
	}
	m.Skip(i+1, word)
	return true
}

// isDoubled reports whether the tag of the call is there twice, the token t of
// n bytes being the beginning of the second.
func (m tagReader) isDoubled(t *lexicon.Token, n int) bool {
	tg, ok := m.readTag(t, n)
	name, _ := m.Names.Resolve(strings.TrimSpace(tg.name()))
	return ok && !tg.self && name == m.Call.Name && !m.NeedsNothing(name)
}

// noEnd handles the end of the answer after count parameters; a negative count
// means that the arguments were one object, which says itself that it is whole.
func (m tagReader) noEnd(count int) {
	switch {
	case count < 0:
	case count == 0 || m.Depth == 0 && len(m.Row().Wrap) == 0: // only its end shows that it is complete
		m.CutCall()
	default:
		m.Missing("end-of-call")
	}
}

// param reads a parameter element. It reports false if the call has ended.
func (m tagReader) param(t *lexicon.Token, n int, count *int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		if m.Eof && m.Truncated() {
			m.Read(engine.ArgsSpan, len(m.Buf)-m.Pos, "cut off")
			m.CutCall()
			return false
		}
		m.junk()
		return true
	}
	key := tg.name()
	m.skipTag(tg.length)
	if plain := loose.Unescape(key); plain != key {
		key = plain
		m.Repair("markdown-escape", llm.Syntax, m.Offset()-tg.length, m.Offset())
	}
	if t.Is(lexicon.TagParam) && key == "" && m.isPair(t) {
		return m.pair(count)
	}
	nameText := false
	if n := m.keyText(0, t); key == "" && n > 0 {
		key, nameText = m.readKey(n), true
	}
	if key == "" {
		m.BadArgs("a parameter has no name")
		key = "?"
	}
	if *count == 0 && m.wrapsAll(key) {
		*count = -1
		m.Blank("")
		m.asValue().arguments()
		return m.afterValue()
	}
	m.argKey(key, count)
	if kind := tg.attr("type"); kind == "dict" || kind == "list" {
		m.typedChildren(kind, 1)
		return m.Call.Open
	}
	v := m.valueOf(key)
	v.typedBy(tg)
	v.end, v.nameText = t, nameText
	if tg.self {
		m.Arg("null")
		return true
	}
	if v.known && v.types&^schema.Null == schema.Array && !v.json && m.Peek(m.Spaces(0)) != '[' {
		return m.listParam(key, v)
	}
	return m.readValue(v)
}

// listParam reads a parameter that must be a list and is not written as one:
// its items are elements, or the parameter is there once for each. What was
// read is held until it is clear which.
func (m tagReader) listParam(key string, v value) bool {
	c, shape, types := m.Call, m.Shape().Property(key), v.types
	start, at, size := m.Offset(), len(m.Call.Args), 0
	c.Hold, v.types = true, schema.String
	defer func() { c.Hold = false }()
	var items []string
	for {
		if !m.readValue(v) {
			return false
		}
		var text string
		if json.Unmarshal(c.Args[at:], &text) != nil {
			return true
		}
		c.Args = c.Args[:at]
		items = append(items, text)
		if size += len(text); size > m.MaxCall() {
			m.Fail(fmt.Errorf("the parameter %.80q is longer than %d bytes", key, m.MaxCall()))
			return false
		}
		n := m.sameParam(key)
		if n == 0 {
			break
		}
		m.Skip(n, key)
	}
	if len(items) > 1 {
		m.Repair("repeated-parameter", llm.Coercion, start, m.Offset())
		list := make([]values.Elem, len(items))
		for i, text := range items {
			list[i] = values.Elem{Key: key, Inner: text}
		}
		m.ArgBytes(values.JoinElements(list, shape, 0))
		return true
	}
	if list, ok := values.Elements(items[0], ""); ok && len(list) > 0 {
		m.Repair("items-as-elements", llm.Syntax, start, m.Offset())
		m.ArgBytes(values.ElementValue(values.Elem{Key: key, Inner: items[0]}, shape, 0))
		return true
	}
	m.ArgBytes(values.Typed(types, items[0]))
	return true
}

// sameParam returns the length of the tag of the parameter key, with the white
// space before it, if it stands here once more.
func (m tagReader) sameParam(key string) int {
	i := m.Spaces(0)
	t, n := m.Match(i)
	if !t.Is(lexicon.TagParam) || t.Is(lexicon.TagCall) || m.isPair(t) {
		return 0
	}
	if tg, ok := m.readTag(t, i+n); ok && tg.key() == key && !tg.self {
		return tg.length
	}
	return 0
}

// keyText returns the length of the parameter's name that stands i bytes from
// here as the text of its own element, after the tag t: the value follows the
// element. It is 0 if there is none.
func (m tagReader) keyText(i int, t *lexicon.Token) int {
	i = m.Spaces(i)
	j := m.Word(i, "/")
	if j == i {
		return 0
	}
	if end, _ := m.Match(m.Spaces(j)); !end.In(lexicon.EndParam).Meets(t.In(lexicon.TagParam)) {
		return 0
	}
	if s := m.Shape(); s == nil || !s.Declares(string(m.Buf[m.Pos+i:m.Pos+j])) {
		return 0
	}
	return j
}

// readKey reads a name of n bytes, with the white space before it, and the end
// of its element.
func (m tagReader) readKey(n int) string {
	start := m.Offset()
	key := strings.TrimSpace(string(m.Buf[m.Pos : m.Pos+n]))
	m.Read(engine.ArgsSpan, n, "key")
	m.Blank("")
	_, end := m.Match(0)
	m.Skip(end, "end of key")
	m.Repair("name-as-text", llm.Syntax, start, m.Offset())
	return key
}

// typedChildren reads the values inside an element of type dict or list, and
// its end.
func (m tagReader) typedChildren(kind string, depth int) {
	brackets := "{}"
	if kind == "list" {
		brackets = "[]"
	}
	m.Arg(brackets[:1])
	for first := true; m.Call.Open; first = false {
		m.Blank("")
		t, n := m.Match(0)
		if !m.More() {
			m.Missing("end-of-value")
			break
		}
		if !t.Is(lexicon.TagParam) {
			if t.Is(lexicon.EndParam) {
				m.Skip(n, t.Text)
			}
			break
		}
		tg, ok := m.readTag(t, n)
		if !ok {
			m.BadArgs("a value's tag cannot be read")
			m.skipUnreadable()
			break
		}
		m.Skip(tg.length, t.Text)
		if !first {
			m.Arg(",")
		}
		if kind == "dict" {
			m.Arg(chars.QuoteJSON(tg.name()) + ":")
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
	if m.Call.Open {
		m.Arg(brackets[1:])
	}
}

// wrapsAll reports whether a first parameter called key holds all arguments
// as one object, because the tool lacks parameter of that name.
func (m tagReader) wrapsAll(key string) bool {
	return (values.Keys[key] == values.ArgsRole || key == "properties") && m.Shape() != nil && !m.Shape().Declares(key) && m.Peek(m.Spaces(0)) == '{'
}

// isPair reports whether t is the key of a key and value pair.
func (m tagReader) isPair(t *lexicon.Token) bool { return strings.HasSuffix(t.Text, ">") }

// pairs reads a call whose arguments are pairs of elements, after a name of i
// bytes.
func (m tagReader) pairs(written string, i, j, start int) bool {
	if !m.asName().callNamed(written, i, start) {
		return false
	}
	m.Skip(j-i, "separator")
	m.params()
	return true
}

// bareKey returns the length of a key that stands i bytes from here without
// its opening tag: only its end tag tells what it is.
func (m tagReader) bareKey(i int) int {
	if !m.Rows.Meets(m.Lex.Pairs) || !chars.IsNameStart(m.Peek(i)) {
		return 0
	}
	j := m.Word(i, "")
	if t, _ := m.Match(m.Spaces(j)); !t.In(lexicon.EndParam).Meets(m.Lex.Pairs) {
		return 0
	}
	return j - i
}

// pair reads a key, whose opening tag has been read, and its value.
func (m tagReader) pair(count *int) bool {
	i := 0
	for m.At(i) && i < scan.MaxTag && m.Buf[m.Pos+i] != '<' && m.Buf[m.Pos+i] != '\n' {
		i++
	}
	if !m.At(i) {
		m.Read(engine.ArgsSpan, i, "key")
		m.Missing("value")
		if m.Call.Open {
			m.BadArgs("a key has no value")
		}
		return m.Call.Open
	}
	key := strings.TrimSpace(string(m.Buf[m.Pos : m.Pos+i]))
	m.Read(engine.ArgsSpan, i, "key")
	m.Blank("")
	if t, n := m.Match(0); t.Is(lexicon.EndParam) {
		m.skipTag(n)
		m.Blank("")
	}
	for m.HasAt(0, `\n`) {
		m.Skip(2, "newline")
		m.Blank("")
	}
	end := m.pairValue()
	t, n := m.Match(0)
	switch {
	case t.Is(lexicon.TagValue):
		end = t
		m.skipTag(n)
	case t.Is(lexicon.TagParam), t.Is(lexicon.Closes):
		m.Repair("key-without-value", llm.Guess, m.Offset(), m.Offset())
		return true
	}
	m.argKey(key, count)
	v := m.valueOf(key)
	v.end, v.quotes = end, true
	return m.readValue(v)
}

// oldInvoke reads <invoke><tool_name>…</tool_name><parameters>…</parameters>.
func (m tagReader) oldInvoke(tg tag, start int) bool {
	m.Skip(tg.length, "invoke")
	m.Blank("")
	if n := m.Word(0, "/"); n > 0 {
		return m.nameText(n, start)
	}
	return m.asElement().element(start)
}

// nameText reads a call whose name, of n bytes, is the text of its element:
// <function>get_weather</function>. Its parameters follow, or are in the
// element, too. The name must have been offered.
func (m tagReader) nameText(n, start int) bool {
	name := string(m.Buf[m.Pos : m.Pos+n])
	i := m.Spaces(n)
	if t, k := m.Match(i); t.Is(lexicon.EndCall) {
		i += k
	}
	t, _ := m.Match(m.Spaces(i))
	child, _ := m.asElement().openTag(m.Spaces(i))
	if !m.Names.Offered(name) || !t.Is(lexicon.TagParam) && !m.asBare().Declares(name, child) || !m.StartCall(name, "", start) {
		return false
	}
	m.Read(engine.NameSpan, n, "name")
	m.Skip(i-n, "end of name")
	m.Repair("name-as-text", llm.Syntax, start, m.Offset())
	m.params()
	return true
}

// value is how a value that stands between tags is read.
type value struct {
	types schema.Types // what it may be
	trim  spec.Text
	end   *lexicon.Token // the kind of tag that opened it, and so what ends it
	known bool           // the types come from a schema or from the tag
	// quotes says that quotes around the whole text are not part of it, json
	// that text in quotes is JSON.
	quotes, json bool
	quoted       int // how many elements like its own are open in the text
	// nameText says that the name of its parameter was the text of an element,
	// so no tag ends the value.
	nameText bool
}

// valueOf returns how the parameter key of the call is read.
func (m tagReader) valueOf(key string) value {
	d := m.Row()
	v := value{types: schema.Any, trim: d.Text}
	if d.Text == spec.Plain {
		v.trim = spec.Trimmed
	}
	if s := m.Shape(); s != nil {
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

// typedBy lets the attributes of a tag tell what the value is.
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
func (m tagReader) readValue(v value) bool {
	if v.known && v.types&schema.String == 0 {
		i := m.Spaces(0)
		if c := m.Peek(i); c == '{' && v.types.Has(schema.Object) && !m.asPython().isSet(i) || c == '[' && v.types.Has(schema.Array) {
			return m.streamValue(v)
		}
	}
	if m.HasAt(m.Spaces(0), cdata) {
		return m.cdata(v)
	}
	if n := m.wrapped(); n > 0 && v.types&^schema.Null != schema.Object {
		return m.wrappedValue(v, n)
	}
	s := sink{m: m.answer, value: v}
	all := func() bool { return s.until('<', ']') }
	for {
		if !m.Flows(0, all) {
			m.CutCall() // text says nowhere that it is complete
			return false
		}
		if s.until('<', ']') {
			continue
		}
		if end, ok := m.valueEnds(&v); ok {
			s.unended = end == 0
			s.close()
			if end > 0 {
				m.Skip(end, "end of value")
			}
			return true
		}
		s.passed = 1
	}
}

// until takes the buffer up to one of two bytes. It reports whether neither
// is there. The first s.passed bytes have been found to be text.
func (s *sink) until(a, b byte) bool {
	m := s.m
	for m.Pos < len(m.Buf) {
		n := s.passed + chars.IndexEither(m.Buf[m.Pos+s.passed:], a, b)
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
	s.add(m.Buf[m.Pos:][:n])
	m.Read(engine.ArgsSpan, n, "value")
}

const cdata = "<![CDATA["

// cdata reads a value in a CDATA section.
func (m tagReader) cdata(v value) bool {
	m.Skip(m.Spaces(0)+len(cdata), cdata)
	v.trim = spec.Literal
	s := sink{m: m.answer, value: v}
	for {
		if !m.asElement().until("]]>", "", s.add) {
			return false
		}
		if !m.HasAt(0, cdata) { // a value that holds the end of a section is in two
			break
		}
		m.Skip(len(cdata), cdata)
	}
	s.close()
	return m.afterValue()
}

const valueTag, valueEndTag = "<value>", "</value>"

// wrapped returns the length of the tag of an element value that is all that
// the parameter holds, with the white space before it; 0 if there is none.
func (m tagReader) wrapped() int {
	i := m.Spaces(0)
	if !m.HasAt(i, valueTag) {
		return 0
	}
	i += len(valueTag)
	for j := i; j < i+scan.MaxGuess && m.At(j); j++ {
		if m.Buf[m.Pos+j] != '<' {
			continue
		}
		if t, _ := m.Match(j); t.Is(lexicon.EndParam) {
			return 0
		}
		if !m.HasAt(j, valueEndTag) {
			continue
		}
		if t, _ := m.Match(m.Spaces(j + len(valueEndTag))); t.Is(lexicon.EndParam) || t.Is(lexicon.EndValue) {
			return i
		}
		return 0
	}
	return 0
}

// wrappedValue reads a value in a separate element, after n bytes. Text may
// hold such an element, too: then it is a guess.
func (m tagReader) wrappedValue(v value, n int) bool {
	class := llm.Syntax
	if v.types&schema.String != 0 {
		class = llm.Guess
	}
	m.Repair("wrapped-value", class, m.Offset(), m.Offset()+n)
	m.Skip(n, valueTag)
	s := sink{m: m.answer, value: v}
	if !m.asElement().until(valueEndTag, "", s.add) {
		return false
	}
	s.close()
	return m.afterValue()
}

// streamValue reads an object or a list that the schema demands, as it
// arrives.
func (m tagReader) streamValue(v value) bool {
	m.Blank("")
	m.asValue().stream()
	return m.afterValue()
}

// valueEnds reports whether a value ends here, and the length of its end tag.
// Values may hold any text, end tags included: what follows decides. Markers of
// other dialects are text, unless our own markup follows.
func (m tagReader) valueEnds(v *value) (n int, ok bool) {
	t, n := m.Match(0)
	switch {
	case t == nil:
		return 0, false
	case t.Is(lexicon.EndParam) || t.Is(lexicon.EndValue):
		return m.endTagEnds(v, t, n)
	case t.Is(lexicon.TagParam) && !t.Is(lexicon.TagCall):
		return 0, m.paramEnds(v, t, n)
	}
	if v.nameText && (t.Is(lexicon.EndCall) || t.Is(lexicon.Closes) && !t.Line) && (t.In(lexicon.EndCall).Meets(m.Rows) || t.In(lexicon.Closes).Meets(m.Rows)) {
		return 0, true // such a value lacks end tag
	}
	return 0, m.callEnds(t, n)
}

// callEnds reports whether the marker t of n bytes ends the call we are in.
func (m tagReader) callEnds(t *lexicon.Token, n int) bool {
	if !t.Is(lexicon.EndCall) && (!t.Is(lexicon.Closes) || t.Line) {
		return false
	}
	return (t.In(lexicon.EndCall).Meets(m.Rows) || t.In(lexicon.Closes).Meets(m.Rows)) && m.endsCall(n)
}

// family are the dialects of the tag that opened the value.
func (v *value) family() lexicon.RowSet {
	return v.end.In(lexicon.TagParam).Or(v.end.In(lexicon.TagValue))
}

// endTagEnds is valueEnds where the end tag t of n bytes stands.
func (m tagReader) endTagEnds(v *value, t *lexicon.Token, n int) (length int, ok bool) {
	if v.quoted > 0 && t.Is(lexicon.EndParam) && !m.endsParam(n) {
		v.quoted--
		return 0, false
	}
	family := v.family()
	if t.In(lexicon.EndParam).Meets(family) || t.In(lexicon.EndValue).Meets(family) {
		return n, m.structure(n)
	}
	next, _ := m.Match(m.Spaces(n))
	return n, next.In(lexicon.TagParam).Meets(family) || next.In(lexicon.EndCall).Meets(m.Rows)
}

// paramEnds reports whether a value ends where the tag t of n bytes, which
// opens a parameter, stands: because its own end tag is missing.
func (m tagReader) paramEnds(v *value, t *lexicon.Token, n int) bool {
	if m.isPair(t) {
		return t.In(lexicon.TagParam).Meets(v.family()) && m.beginsPair(n)
	}
	if !t.In(lexicon.TagParam).Meets(v.end.In(lexicon.TagParam)) {
		return m.callEnds(t, n)
	}
	if m.Prev() != '\n' {
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
func (m tagReader) isOurs(t *lexicon.Token, k lexicon.Kind) bool {
	return t.In(k).Meets(m.Rows) || m.Depth > 0 && t.In(k).Meets(m.Outer)
}

// beginsPair reports whether a key follows the tag of n bytes: its end,
// or its value, follows.
func (m tagReader) beginsPair(n int) bool {
	for i := n; i < n+lexicon.MaxName && m.At(i); i++ {
		if m.Buf[m.Pos+i] == '<' {
			t, _ := m.Match(i)
			return i > n && (t.Is(lexicon.EndParam) || t.Is(lexicon.TagValue))
		}
	}
	return false
}

// isNextParam reports whether the tag that begins here with the token t of n
// bytes names a parameter that the tool has and the call does not have yet.
func (m tagReader) isNextParam(t *lexicon.Token, n int) bool {
	if m.Shape() == nil {
		return false
	}
	tg, ok := m.readTag(t, n)
	key := m.keyOf(tg, t)
	return ok && m.Shape().Declares(key) && !m.Call.Keys[key]
}

// keyOf returns the name of the parameter whose tag, which begins with t, was
// read ahead as tg.
func (m tagReader) keyOf(tg tag, t *lexicon.Token) string {
	if key := tg.key(); key != "" || tg.length == 0 {
		return key
	}
	n := m.keyText(tg.length, t)
	if n == 0 {
		return ""
	}
	return strings.TrimSpace(string(m.Buf[m.Pos+tg.length : m.Pos+n]))
}

// opensParam reports whether the tag that begins with the token t of n bytes
// may be that of another parameter of the call: one it can have and does not
// have yet. Any other is quoted in the value.
func (m tagReader) opensParam(t *lexicon.Token, n int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		return true
	}
	key := m.keyOf(tg, t)
	return !m.Call.Keys[key] && (m.Shape() == nil || m.Shape().Declares(key))
}

// endsParam reports whether what follows an end tag at i shows that it ends a
// parameter of the call, not one quoted in the value.
func (m tagReader) endsParam(i int) bool {
	i = m.Spaces(i)
	t, n := m.Match(i)
	switch {
	case !m.At(i) || m.PartialMarker(i):
		return !m.Truncated()
	case t.Is(lexicon.EndCall):
		return m.endsCall(i + n)
	}
	return t.Is(lexicon.Closes) || t.Is(lexicon.Opens) || t.Is(lexicon.TagParam) && m.opensParam(t, i+n)
}

// structure reports whether markup of calls, or the end, follows at i.
func (m tagReader) structure(i int) bool {
	i = m.Spaces(i)
	if !m.At(i) || m.PartialMarker(i) {
		return true
	}
	t, n := m.Match(i)
	if n == 0 || t.Line {
		return m.endsOtherTag(i) || m.HasAt(i, `\n`) || m.Buf[m.Pos+i] == '<' && m.Rows.Meets(m.Lex.Elements) || m.bareKey(i) > 0
	}
	return t.Is(lexicon.TagParam) || t.Is(lexicon.EndCall) || t.Is(lexicon.Closes) || t.Is(lexicon.Opens) || t.Is(lexicon.TagCall) || t.Is(lexicon.TagValue) ||
		t.Is(lexicon.EndParam) || t.Is(lexicon.EndValue) || t.Is(lexicon.Drops) || t.Is(lexicon.Heads) || t.Is(lexicon.Prefixes)
}

// endsCall reports whether only the end of calls, or other calls,
// follows at i.
func (m tagReader) endsCall(i int) bool {
	i = m.Spaces(i)
	if !m.At(i) || m.PartialMarker(i) {
		return !m.Truncated() // the text may have continued
	}
	t, n := m.Match(i)
	switch {
	case n == 0 || t.Line:
		return false
	case m.isOurs(t, lexicon.Closes), m.isOurs(t, lexicon.Opens), m.isOurs(t, lexicon.TagCall):
		return true
	}
	return t.Is(lexicon.Drops) && !m.At(m.Spaces(i+n))
}

// pairValue is the token that opens the value of a pair in the dialect we are
// in, or in the first that has one.
func (m tagReader) pairValue() *lexicon.Token {
	if d := m.Row(); d.Form == spec.TagCall && d.Tags.Value.Open != "" {
		return m.Lex.Tree.Find(d.Tags.Value.Open)
	}
	return m.Lex.Value
}

// sink writes the text of a value as JSON into the arguments: at once where
// it can only be a string, else when it is complete.
type sink struct {
	m *answer
	value
	raw     []byte // of a value that must be complete
	blank   int    // white space at the beginning of raw
	pend    []byte // white space that may be trimmed, or part of a rune
	quoting bool   // it is a string, and its quote has been written
	passed  int    // bytes not taken yet that are text
	unended bool   // its end tag is missing, so a newline before what follows is none of it
	closers int    // closing brackets at the end that may be none of it
}

// add takes the next bytes.
func (s *sink) add(p []byte) {
	if s.quoting {
		s.write(p)
		return
	}
	s.raw = append(s.raw, p...)
	for s.blank < len(s.raw) && chars.IsSpace(s.raw[s.blank]) {
		s.blank++
	}
	if s.stringFor(s.raw, s.raw[s.blank:]) {
		s.quoting = true
		s.m.Arg(`"`)
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
	return s.types&schema.String != 0 && len(text) > 0 && !values.MayBegin(s.types, text)
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
func (s *sink) blankEnd() bool { return len(s.pend) == 0 || chars.IsSpace(s.pend[0]) }

// write adds text to the string.
func (s *sink) write(p []byte) {
	if s.trim == spec.Trimmed && s.blankEnd() && len(bytes.TrimLeft(p, " \t\r\n")) == 0 {
		s.pend = append(s.pend, p...) // looked at once, however long it gets
		return
	}
	switch {
	case len(s.pend) == 0:
	case s.blankEnd() && string(p) != "\n": // it may belong to the end of a line
		s.m.Escape(s.pend)
		s.pend = s.pend[:0]
	default:
		p = append(s.pend, p...)
	}
	n := len(p) - s.tail(p)
	s.m.Escape(p[:n])
	if n < len(p) || len(s.pend) > 0 {
		s.pend = append(s.pend[:0], p[n:]...)
	}
}

// close ends the value.
func (s *sink) close() {
	if s.quoting {
		if !s.trims() || !s.blankEnd() {
			s.m.Escape(s.pend)
		}
		s.m.Arg(`"`)
		return
	}
	raw := s.head(s.raw)
	raw = raw[:len(raw)-s.trimmed(raw)]
	if s.quotes && len(raw) > 1 && raw[0] == '"' && bytes.IndexByte(raw[1:], '"') == len(raw)-2 {
		raw, s.types = raw[1:len(raw)-1], schema.String
	}
	if v := bytes.TrimSpace(raw); s.json && len(v) > 0 && v[0] == '"' && json.Valid(v) {
		s.m.ArgBytes(v)
		return
	}
	s.m.Arg(string(values.Typed(s.types, string(raw))))
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
