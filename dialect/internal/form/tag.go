package form

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/internal/whole"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// maxNesting bounds how deep the values of a call in braces or tags may be nested.
const maxNesting = 200

// readTag parses the tag whose first n bytes are the token tok, without consuming it. It reports false if the end of
// the tag is not found.
func (m tagReader) readTag(tok *lexicon.Token, n int) (values.Tag, bool) {
	if strings.HasSuffix(tok.Text, ">") {
		return values.Tag{Length: n}, true
	}
	end := tok.TagEnd
	if strings.HasSuffix(tok.Text, "=") { // the name follows directly
		n--
	}
	i := n
	for ; ; i++ {
		if i-n > scan.MaxTag || !m.At(i) {
			return values.Tag{}, false
		}
		if m.Buf[m.Pos+i] == end[0] && m.Literal(i, end) > 0 {
			break
		}
		if m.Buf[m.Pos+i] == '\n' && m.Peek(m.Spaces(i)) == '<' { // the end is missing
			body := string(m.Buf[m.Pos+n : m.Pos+i])
			t := values.ParseTag(body, m.Lex.Head.Ends)
			t.Length = i
			return t, t.Name() != ""
		}
		if c := m.Buf[m.Pos+i]; c == '<' && end == ">" && m.AnyOf(i, m.Lex.Head.Ends) == 0 {
			t := values.ParseTag(string(m.Buf[m.Pos+n:m.Pos+i]), m.Lex.Head.Ends)
			t.Length = i
			return t, m.Lex.EndsHeader(string(m.Buf[m.Pos:m.Pos+i])) && t.Name() != ""
		}
		if m.Buf[m.Pos+i] == '<' {
			i += max(m.Lex.Head.Longest, 1) - 1 // the end of a header, written by mistake
		}
	}
	body := string(m.Buf[m.Pos+n : m.Pos+i])
	if end == "\n" { // a line, whose end belongs to the value
		return values.Tag{Value: strings.TrimSpace(body), Length: i}, true
	}
	t := values.ParseTag(body, m.Lex.Head.Ends)
	t.Length = i + m.Literal(i, end)
	return t, true
}

// tags reads a call that is an element. Its tag begins with the token t of n bytes.
func (m tagReader) tags(t *lexicon.Token, n, start int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		return m.cutTag(start)
	}
	m.Narrow(t.In(lexicon.TagCall))
	name := tg.Name()
	if name == "" {
		return m.oldInvoke(tg, start)
	}
	if isAttribute(t) && (m.Names.Any || !m.Names.Offered(name)) {
		return false // it may be an element of ordinary markup
	}
	if m.asGrammar().call(tg, start) {
		return true
	}
	if !m.StartCall(name, m.tagID(tg), start) {
		return false
	}
	m.Read(engine.NameSpan, tg.Length, "tag")
	m.otherTag(t)
	if m.asGrammar().hasForeign(tg) {
		m.BadArgs("an attribute of the call cannot be read")
	}
	if tg.Self {
		m.EndCall()
		return true
	}
	m.params()
	return true
}

// isAttribute reports whether t is the beginning of a tag of Tags.Also up to an attribute name=.
func isAttribute(t *lexicon.Token) bool { return strings.HasSuffix(t.Text, " name=") }

// otherTag records the end tag of a call whose tag is not a tag of its dialect, and adds a repair.
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

// cutTag handles the tag of a call in which the answer was cut off.
func (m tagReader) cutTag(start int) bool {
	if !m.Eof || m.Depth == 0 && !m.Truncated() || !m.StartCall("?", "", start) {
		return false
	}
	m.Call.Known, m.Call.Name = false, ""
	m.Read(engine.ArgsSpan, len(m.Buf)-m.Pos, "cut off")
	m.CutCall()
	return true
}

// tagID returns the id in a tag, if its dialect has ids.
func (m tagReader) tagID(t values.Tag) string {
	if key := m.Row().Tags.ID; key != "" {
		return t.Attr(key)
	}
	return ""
}

// params reads the parameters of a call up to its end.
func (m tagReader) params() {
	count := 0
	if c := m.Peek(m.Spaces(0)); c != '{' && c != '<' && !m.inLines() && m.textParam() {
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

// textParam reads the text up to the end of the call as its only argument, if possible.
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

// endsParams reports whether the parameters end here, and skips the end tag of their call. t is the token at the
// current position.
func (m tagReader) endsParams(t *lexicon.Token, n, count int) bool {
	switch {
	case t.Is(lexicon.TagParam) && !t.Is(lexicon.TagCall), m.asElement().isNamesake(t):
		return false
	case m.inLines(): // anything else is no part of it
		if m.nextLine(0).Is(lexicon.TagParam) {
			m.BadArgs("a part of the call cannot be read")
		} else if m.Peek(0) != '`' && m.lastLine() { // which may be that of another parameter
			m.Missing("end-of-call")
		}
	case t.Is(lexicon.EndCall):
		m.Skip(n, t.Text)
	case m.endsOtherTag(0):
		m.Skip(len(m.Call.EndTag), m.Call.EndTag)
	case t.Is(lexicon.EndParam), t.Is(lexicon.EndValue), count == 0 && t.Is(lexicon.TagCall) && m.isDoubled(t, n):
		return false
	case t.Is(lexicon.Closes), t.Is(lexicon.Opens), t.Is(lexicon.TagCall):
		if m.Row().Tags.Call.Close != "" {
			class := llm.Syntax
			if count == 0 { // it may be around the next call
				class = llm.Guess
			}
			m.Repair("missing-end-of-call", class, m.Offset(), m.Offset())
		}
	default:
		return false
	}
	return true
}

// inLines reports whether the parameters of the call begin and end with lines, which need no end of the call.
func (m tagReader) inLines() bool {
	d := m.Row()
	return d.Form == spec.LineCall && d.Tags.Param.Open != ""
}

// lastLine reports whether the answer ends on this line.
func (m tagReader) lastLine() bool {
	i := 0
	for i < lexicon.MaxName && m.At(i) && m.Buf[m.Pos+i] != '\n' {
		i++
	}
	return !m.At(i)
}

// nextLine returns the marker of the next line below i that begins or ends a parameter or begins a call, before the end of
// the fence.
func (m tagReader) nextLine(i int) *lexicon.Token {
	for end := i + scan.MaxGuess; i < end && m.At(i) && m.Buf[m.Pos+i] != '`'; i++ {
		if m.Buf[m.Pos+i] != '\n' {
			continue
		}
		if t, _ := m.Match(i + 1); t.Is(lexicon.TagParam) || t.Is(lexicon.EndParam) || t.Is(lexicon.Opens) {
			return t
		}
	}
	return nil
}

// endsOtherTag reports whether the end tag that otherTag recorded is i bytes from here.
func (m tagReader) endsOtherTag(i int) bool { return m.Call.EndTag != "" && m.HasAt(i, m.Call.EndTag) }

// onePart reads a part of a call that begins with the token t: a parameter, all parameters as one object, or something
// to skip.
func (m tagReader) onePart(t *lexicon.Token, n int, count *int) {
	switch {
	case t.Is(lexicon.TagParam) && !t.Is(lexicon.TagCall):
		m.Narrow(t.In(lexicon.TagParam))
		m.param(t, n, count)
	case m.asElement().isNamesake(t) && m.asElement().childElement(t, n, count):
	case t.Is(lexicon.TagCall):
		tg, _ := m.readTag(t, n)
		m.Skip(tg.Length, t.Text)
		m.Repair("doubled-tag", llm.Syntax, m.Offset()-tg.Length, m.Offset())
	case t.Is(lexicon.EndParam), t.Is(lexicon.EndValue):
		m.Skip(n, t.Text)
	case m.bareKey(0) > 0:
		m.pair(count)
	case m.Peek(0) == '{' && *count == 0:
		m.Form(spec.NameJSON)
		m.asValue().arguments()
		*count = -1
	case m.endOfWrapper(0) > 0:
		m.Skip(m.endOfWrapper(0), "end of parameters")
	case *count >= 0 && m.asElement().childElement(t, n, count):
	default:
		m.junk()
	}
}

// matchWord is Match in the place of a parameter's tag. A longer word that begins like the tag, such as <parameters>,
// does not count. A tag without the space before its attribute "name" does.
func (m tagReader) matchWord() (*lexicon.Token, int) {
	t, n := m.Match(0)
	if t.Is(lexicon.TagParam) && !strings.HasSuffix(t.Text, ">") && chars.IsLetter(m.Peek(n)) && !m.HasAt(n, "name") {
		return nil, 0
	}
	return t, n
}

// endOfWrapper returns the length of the end tag of an element around the parameters if it is i bytes from here, 0 if not.
func (m tagReader) endOfWrapper(i int) int {
	if !m.HasAt(i, "</") {
		return 0
	}
	end := m.Word(i+2, "/")
	word := string(m.Buf[m.Pos+i+2 : m.Pos+end])
	if values.Keys[word] != values.ArgsRole || m.Peek(end) != '>' || m.Shape() != nil && m.Shape().Declares(word) {
		return 0
	}
	return end + 1 - i
}

// isDoubled reports whether the token t of n bytes begins a repetition of the tag of the call.
func (m tagReader) isDoubled(t *lexicon.Token, n int) bool {
	tg, ok := m.readTag(t, n)
	name, _ := m.Names.Resolve(strings.TrimSpace(tg.Name()))
	return ok && !tg.Self && name == m.Call.Name && !m.NeedsNothing(name)
}

// noEnd handles the end of the answer after count parameters. A negative count means that the arguments were one
// object, which is complete by itself.
func (m tagReader) noEnd(count int) {
	switch {
	case count < 0:
	case count == 0 || m.Depth == 0 && len(m.Row().Wrap) == 0: // only its end tag shows that it is complete
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
	key := tg.Name()
	m.skipTag(tg.Length)
	if plain := loose.Unescape(key); plain != key {
		key = plain
		m.Repair("markdown-escape", llm.Syntax, m.Offset()-tg.Length, m.Offset())
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
	if kind := tg.Attr("type"); kind == "dict" || kind == "list" {
		m.typedChildren(kind, 1)
		return m.Call.Open
	}
	if slices.ContainsFunc(tg.Attrs, func(a values.Attr) bool { return !paramAttributes[a.Key] && !whole.IsAside(a.Key, a.Value) }) {
		m.Repair("unused-attribute", llm.Guess, m.Offset()-tg.Length, m.Offset())
	}
	if end, k := m.Match(1); t.Line && end.Is(lexicon.EndParam) && !m.nextLine(1+k).Is(lexicon.EndParam) {
		m.Repair("key-without-value", llm.Guess, m.Offset(), m.Offset())
	}
	v := m.valueOf(key)
	v.typedBy(tg)
	if v.end, v.nameText = t, nameText; nameText {
		v.trim = spec.Trimmed // the line of the name ends before it
	}
	if tg.Self {
		m.Arg("null")
		return true
	}
	if v.takesList() && !v.json && m.Peek(m.Spaces(0)) != '[' {
		return m.listParam(key, v)
	}
	return m.readValue(v)
}

// paramAttributes are the attributes that name a parameter.
var paramAttributes = map[string]bool{"name": true, "key": true, "tool": true, "function": true}

// listParam reads a parameter that must be a list but is not written as a JSON list. Its items are elements, or the
// parameter is repeated for each item. The values are held until one of these is certain.
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

// sameParam returns the length of another tag of the parameter key, with the white space before it, 0 if there is none.
func (m tagReader) sameParam(key string) int {
	i := m.Spaces(0)
	t, n := m.Match(i)
	switch {
	case !t.Is(lexicon.TagParam) || t.Is(lexicon.TagCall):
		return 0
	case m.isPair(t):
		return m.samePair(key, i+n)
	}
	if tg, ok := m.readTag(t, i+n); ok && tg.Key() == key && !tg.Self {
		return tg.Length
	}
	return 0
}

// keyText returns the index after a parameter's name that is the text of an element, after the tag t. The name begins i
// bytes from here, and its value follows the element. It returns 0 if there is no such name.
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

// readKey reads a name of n bytes, with the white space before it, and the end tag of its element.
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

// typedChildren reads the values in an element of type dict or list, and its end tag.
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
		m.Skip(tg.Length, t.Text)
		if !first {
			m.Arg(",")
		}
		if kind == "dict" {
			m.Arg(chars.QuoteJSON(tg.Name()) + ":")
		}
		if inner := tg.Attr("type"); (inner == "dict" || inner == "list") && depth < maxNesting {
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

// wrapsAll reports whether a first parameter called key holds all arguments as one object, because the tool has no
// parameter of that name.
func (m tagReader) wrapsAll(key string) bool {
	return (values.Keys[key] == values.ArgsRole || key == "properties") && m.Shape() != nil && !m.Shape().Declares(key) && m.Peek(m.Spaces(0)) == '{'
}

// isPair reports whether t is the tag of the key of a key and value pair.
func (m tagReader) isPair(t *lexicon.Token) bool { return strings.HasSuffix(t.Text, ">") }

// pairs reads a call whose arguments are pairs of elements, after a name of i bytes.
func (m tagReader) pairs(written string, i, j, start int) bool {
	if !m.asName().callNamed(written, i, start) {
		return false
	}
	m.Skip(j-i, "separator")
	m.params()
	return true
}

// bareKey returns the length of a key i bytes from here that has no start tag. Only its end tag identifies it.
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

// pair reads a key, whose start tag has been read, and its value.
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
	if key == "" {
		m.BadArgs("a parameter has no name")
	}
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
	if !t.Is(lexicon.TagValue) && m.Peek(0) == '<' {
		m.Repair("missing-value-tag", llm.Guess, m.Offset(), m.Offset())
	}
	m.argKey(key, count)
	v := m.valueOf(key)
	v.end, v.quotes = end, true
	if v.takesList() && m.Peek(m.Spaces(0)) != '[' {
		return m.listParam(key, v)
	}
	return m.readValue(v)
}

// samePair returns the length of another pair of the parameter key up to its value, which begins i bytes from here, 0 if
// there is none.
func (m tagReader) samePair(key string, i int) int {
	i = m.Spaces(i)
	if !m.HasAt(i, key) {
		return 0
	}
	i = m.Spaces(i + len(key))
	t, n := m.Match(i)
	next := m.Spaces(i + n)
	if value, k := m.Match(next); t.Is(lexicon.EndParam) && value.Is(lexicon.TagValue) {
		return next + k
	}
	return 0
}

// oldInvoke reads <invoke><tool_name>…</tool_name><parameters>…</parameters>.
func (m tagReader) oldInvoke(tg values.Tag, start int) bool {
	m.Skip(tg.Length, "invoke")
	m.Blank("")
	if n := m.Word(0, "/"); n > 0 {
		return m.nameText(n, start)
	}
	return m.asElement().element(start)
}

// nameText reads a call whose name of n bytes is the text of its element: <function>get_weather</function>. Its
// parameters are in the element or follow it. The name must have been offered.
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

// valueOf returns how to read the parameter key of the call.
func (m tagReader) valueOf(key string) value {
	d := m.Row()
	v := value{types: schema.Any, trim: d.Text}
	if d.Text == spec.Plain || m.Call.EndTag != "" { // the element is none of the dialect
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

// typedBy applies the type in the attributes of a tag.
func (v *value) typedBy(t values.Tag) {
	isString := t.Attr("string")
	switch t.Attr("type") {
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

// readValue reads a value up to its end into the arguments. It reports false if the call has ended with it.
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
	s, at, start := sink{m: m.answer, value: v}, len(m.Call.Args), m.Offset()
	if m.Call.EndTag != "" { // the element is none of the dialect
		s.entities = &values.Entities{Add: s.add}
	}
	a, b := byte('<'), byte(']')
	if v.end != nil && v.end.Line {
		a = m.Row().Tags.Param.Close[0]
		b = a
	}
	all := func() bool { return s.until(a, b) }
	for {
		if !m.Flows(0, all) {
			m.CutCall() // only an end tag shows that text is complete
			return false
		}
		if s.until(a, b) {
			continue
		}
		if end, ok := m.valueEnds(&v); ok {
			s.unended = end == 0
			if s.entities != nil && s.entities.Close() {
				m.noteEntities(start)
			}
			s.close()
			if end > 0 {
				m.Skip(end, "end of value")
			} else if bytes.IndexByte(m.Call.Args[min(at, len(m.Call.Args)):], '<') >= 0 {
				m.Repair("missing-end-of-parameter", llm.Guess, m.Offset(), m.Offset()) // its end tag may be misspelt
			}
			return true
		}
		s.passed = 1
	}
}

// until takes the buffer up to one of two bytes, and reports whether it found neither. The first s.passed bytes are
// known to be text.
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
	if s.entities != nil {
		s.entities.Take(m.Buf[m.Pos:][:n])
	} else {
		s.add(m.Buf[m.Pos:][:n])
	}
	m.Read(engine.ArgsSpan, n, "value")
}

// cdata begins a CDATA section.
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
		if !m.HasAt(0, cdata) { // a value that contains "]]>" is split into two sections
			break
		}
		m.Skip(len(cdata), cdata)
	}
	s.close()
	return m.afterValue()
}

const valueTag, valueEndTag = "<value>", "</value>"

// wrapped returns the length of the tag <value>, with the white space before it, if that element is the only content of
// the parameter. Otherwise it returns 0.
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

// wrappedValue reads a value in an inner element, after n bytes. For a string this is a guess, because text may contain
// such an element.
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

// streamValue reads an object or a list required by the schema as it arrives.
func (m tagReader) streamValue(v value) bool {
	m.Blank("")
	m.asValue().stream()
	return m.afterValue()
}

// valueEnds reports whether a value ends here, and the length of its end tag. Values may contain any text, including
// end tags, so the text after the tag decides. Markers of other dialects are text unless markup of this call follows.
func (m tagReader) valueEnds(v *value) (n int, ok bool) {
	t, n := m.Match(0)
	switch {
	case t == nil:
		return 0, false
	case t.Line:
		return n, t.Is(lexicon.EndParam) && m.begunLine() && (chars.IsSpace(m.Peek(m.Past(n, " \t"))) || !m.At(n)) && !m.nextLine(n).Is(lexicon.EndParam)
	case t.Is(lexicon.EndParam) || t.Is(lexicon.EndValue):
		return m.endTagEnds(v, t, n)
	case t.Is(lexicon.TagParam) && !t.Is(lexicon.TagCall):
		return 0, m.paramEnds(v, t, n)
	}
	if v.nameText && (t.Is(lexicon.EndCall) || t.Is(lexicon.Closes) && !t.Line) && (t.In(lexicon.EndCall).Meets(m.Rows) || t.In(lexicon.Closes).Meets(m.Rows)) {
		return 0, true // such a value has no end tag
	}
	return 0, m.callEnds(t, n)
}

// callEnds reports whether the marker t of n bytes ends the current call.
func (m tagReader) callEnds(t *lexicon.Token, n int) bool {
	if !t.Is(lexicon.EndCall) && (!t.Is(lexicon.Closes) || t.Line) {
		return false
	}
	return (t.In(lexicon.EndCall).Meets(m.Rows) || t.In(lexicon.Closes).Meets(m.Rows)) && m.endsCall(n)
}

// family returns the dialects of the tag that opened the value.
func (v *value) family() lexicon.RowSet {
	return v.end.In(lexicon.TagParam).Or(v.end.In(lexicon.TagValue))
}

// endTagEnds is valueEnds for the end tag t of n bytes.
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

// paramEnds reports whether a value without an end tag ends before the tag t of n bytes, which opens a parameter.
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

// isOurs reports whether the marker t has the role k in a possible dialect of the call or of the marker around it.
func (m tagReader) isOurs(t *lexicon.Token, k lexicon.Kind) bool {
	return t.In(k).Meets(m.Rows) || m.Depth > 0 && t.In(k).Meets(m.Outer)
}

// beginsPair reports whether a key follows the tag of n bytes, that is, text and then an end tag or the tag of a value.
func (m tagReader) beginsPair(n int) bool {
	for i := n; i < n+lexicon.MaxName && m.At(i); i++ {
		if m.Buf[m.Pos+i] == '<' {
			t, _ := m.Match(i)
			return i > n && (t.Is(lexicon.EndParam) || t.Is(lexicon.TagValue))
		}
	}
	return false
}

// isNextParam reports whether the tag that begins with the token t of n bytes names a parameter of the tool that the
// call does not have yet.
func (m tagReader) isNextParam(t *lexicon.Token, n int) bool {
	if m.Shape() == nil {
		return false
	}
	tg, ok := m.readTag(t, n)
	key := m.keyOf(tg, t)
	return ok && m.Shape().Declares(key) && !m.Call.Keys[key]
}

// keyOf returns the name of the parameter with the tag tg, which begins with t and was parsed ahead.
func (m tagReader) keyOf(tg values.Tag, t *lexicon.Token) string {
	if key := tg.Key(); key != "" || tg.Length == 0 {
		return key
	}
	n := m.keyText(tg.Length, t)
	if n == 0 {
		return ""
	}
	return strings.TrimSpace(string(m.Buf[m.Pos+tg.Length : m.Pos+n]))
}

// opensParam reports whether the tag that begins with the token t of n bytes may open another parameter of the call:
// the tool may have it, and the call does not have it yet. Other tags are quoted in the value.
func (m tagReader) opensParam(t *lexicon.Token, n int) bool {
	tg, ok := m.readTag(t, n)
	if !ok {
		return true
	}
	key := m.keyOf(tg, t)
	return !m.Call.Keys[key] && (m.Shape() == nil || m.Shape().Declares(key))
}

// endsParam reports whether the text at i, after an end tag, shows that the tag ends a parameter of the call and not a
// parameter quoted in the value.
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

// structure reports whether markup of calls, or the end of the answer, follows at i.
func (m tagReader) structure(i int) bool {
	i = m.Spaces(i)
	if !m.At(i) || m.PartialMarker(i) {
		return true
	}
	t, n := m.Match(i)
	if n == 0 || t.Line {
		return m.endsOtherTag(i) || m.endOfWrapper(i) > 0 || m.HasAt(i, `\n`) || m.Buf[m.Pos+i] == '<' && m.Rows.Meets(m.Lex.Elements) || m.bareKey(i) > 0
	}
	return t.Is(lexicon.TagParam) || t.Is(lexicon.EndCall) || t.Is(lexicon.Closes) || t.Is(lexicon.Opens) || t.Is(lexicon.TagCall) || t.Is(lexicon.TagValue) ||
		t.Is(lexicon.EndParam) || t.Is(lexicon.EndValue) || t.Is(lexicon.Drops) || t.Is(lexicon.Heads) || t.Is(lexicon.Prefixes)
}

// endsCall reports whether only the end of calls, or other calls, follow at i.
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

// pairValue returns the token that opens the value of a pair in the current dialect, or in the first dialect that has
// one.
func (m tagReader) pairValue() *lexicon.Token {
	if d := m.Row(); d.Form == spec.TagCall && d.Tags.Value.Open != "" {
		return m.Lex.Tree.Find(d.Tags.Value.Open)
	}
	return m.Lex.Value
}

// onlyTextIn returns the length of the text i bytes from here, up to the end of the element of the call, if it can be
// the only argument of the tool written. Otherwise it returns 0.
func (m markerReader) onlyTextIn(written string, i int) int {
	name, known := m.Names.Resolve(written)
	shape := m.Names.Shape(name)
	if !known || shape == nil || offered.OnlyParam(shape) == "" {
		return 0
	}
	for j := i; j < i+scan.MaxGuess && m.At(j); j++ {
		if m.Buf[m.Pos+j] != '<' {
			continue
		}
		if t, _ := m.Match(j); !t.Is(lexicon.EndCall) || m.Spaces(i) == j {
			return 0
		}
		return j - i
	}
	return 0
}
