package form

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/dialect/internal/whole"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// role returns the meaning of a key. After a marker, keys of the dialects of the marker count too.
func (m jsonReader) role(key string) values.KeyRole {
	if r, ok := values.Keys[key]; ok || !m.Marked {
		return r
	}
	switch {
	case m.Lex.ByArgs[key].Meets(m.Rows):
		return values.ArgsRole
	case m.Lex.ByKey[key].Meets(m.Rows):
		return values.NameRole
	}
	return values.OtherKey
}

// envelope holds the members of a JSON call that were read before the call can begin.
type envelope struct {
	start    int
	name, id string
	args     []byte // arguments that came before the name
	repairs  []llm.Repair
	hasArgs  bool
	begun    bool // a call was begun in this object or in an inner one
	legacy   bool // the key of the name implies a key for arguments
	arrows   bool // => follows its keys
	// plainInput reports whether the key of its arguments allows the text of a tool's only parameter as the value.
	plainInput bool
	keyed      bool // the name is the key of the arguments
	kind       string
	extra      []field
}

type field struct {
	key   string
	value json.RawMessage
}

// newEnvelope returns an envelope for a call that begins at start.
func (m jsonReader) newEnvelope(start int) *envelope {
	if n := len(m.envelopes); n > 0 { // reuse one, because most objects are not calls
		e := m.envelopes[n-1]
		m.envelopes = m.envelopes[:n-1]
		*e = envelope{start: start}
		return e
	}
	return &envelope{start: start}
}

// object reads an object that holds one or more calls. It reports whether there was a call. The fields of e stay valid
// until the next object is read.
func (m jsonReader) object(e *envelope) bool {
	ok := false
	if m.Nested < scan.MaxNested {
		m.Nested++
		ok = m.members(e)
		m.Nested--
	}
	m.envelopes = append(m.envelopes, e)
	return ok
}

// members reads the members of an object that holds one or more calls.
func (m jsonReader) members(e *envelope) bool {
	if !m.Call.Open {
		m.Anchor, m.Anchored = e.start, true
	}
	m.Skip(1, "{")
	for {
		m.Blank(",")
		for m.comment(e) {
			m.Blank(",")
		}
		if !m.More() {
			return m.endObject(e, false)
		}
		if m.Peek(0) == '}' {
			m.Skip(1, "}")
			return m.endObject(e, true)
		}
		if t, n := m.Match(0); n > 0 && (t.Is(lexicon.Closes) || t.Is(lexicon.Opens)) && m.Marked {
			return m.endObject(e, false)
		}
		if c := m.Peek(0); (c == ']' || c == '{') && m.Call.Open && m.Call.Problem == "" { // the list continues before the object ends
			m.Repair("missing-brace", llm.Guess, m.Offset(), m.Offset())
			return m.endObject(e, true)
		}
		key, ok := m.key(e)
		if !ok {
			return m.brokenObject(e)
		}
		if !m.member(e, key) {
			return m.brokenObject(e)
		}
	}
}

// comment skips a comment between the members of an object.
func (m jsonReader) comment(e *envelope) bool {
	end := "\n"
	switch {
	case m.Peek(0) == '#', m.HasAt(0, "//"):
	case m.HasAt(0, "/*"):
		end = "*/"
	default:
		return false
	}
	for i := 1; i <= scan.MaxGuess && m.At(i); i++ {
		if m.Buf[m.Pos+i] != end[0] || !m.HasAt(i, end) {
			continue
		}
		n := i + len(end)
		if m.Call.Open {
			m.Repair("comment", llm.Syntax, m.Offset(), m.Offset()+n)
		} else {
			e.repairs = append(e.repairs, llm.Repair{Rule: "comment", Class: llm.Syntax, Start: m.Offset(), End: m.Offset() + n})
		}
		m.Skip(n, "comment")
		return true
	}
	return false
}

// brokenObject stops reading an object that is not valid. An open call becomes invalid.
func (m jsonReader) brokenObject(e *envelope) bool {
	if m.Call.Open {
		m.BadArgs("the call is no JSON object")
		m.skipUnreadable()
		m.EndCall()
	}
	if e.begun {
		m.asides(e)
	}
	return e.begun
}

// member reads the value of a key.
func (m jsonReader) member(e *envelope, key string) bool {
	m.Keep(m.Lex.ByKey[key])
	read, _ := ask(m.answer, m.lists.member, member{e: e, key: key, role: m.role(key), c: m.Peek(0)})
	return read
}

// extra reads and keeps the value of a key that is not part of a call.
func (m jsonReader) extra(e *envelope, key string) bool {
	v, ok := m.asValue().buffered()
	if ok && key == "role" && !m.Marked && !m.Call.Open && judge.EndsValue(m.Buf[max(0, e.start-m.Base-scan.MaxTail):e.start-m.Base]) {
		return false
	}
	if ok && values.ResultKeys[key] && string(v) != "null" {
		if !m.Call.Open {
			return false
		}
		m.BadArgs("the object carries the result of the call: it reports one")
	}
	if ok {
		e.extra = append(e.extra, field{key, v})
	}
	if key == "type" && ok && !e.hasArgs {
		e.kind = values.KindOfCall(v)
	}
	return ok
}

// named handles a name that was just read. If the arguments came before it, the call begins and they are emitted.
func (m jsonReader) named(e *envelope) bool {
	if e.args == nil {
		if !m.Undecided || m.Marked || m.Names.Any || m.Names.Offered(e.name) || e.name == parallel {
			return true
		}
		m.suspectObject(e)
		return false
	}
	m.asides(e)
	if !m.StartCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.Arg(string(e.args))
	m.Call.Repairs = append(m.Call.Repairs, e.repairs...)
	return true
}

// envelopeID reads the id of a call.
func (m jsonReader) envelopeID(e *envelope) bool {
	v, ok := m.asValue().buffered()
	if !ok {
		return false
	}
	var s string
	if json.Unmarshal(v, &s) == nil {
		e.id = s
	} else {
		e.id = string(v)
	}
	return true
}

// envelopeArgs reads the arguments. They stream if the name was read before them.
func (m jsonReader) envelopeArgs(e *envelope) bool {
	if e.name == "" {
		r, ok := m.asValue().wholeValue()
		e.args, e.repairs = bytes.Clone(r.Value()), append(e.repairs, r.Repairs()...)
		return ok && len(e.args) > 0
	}
	if c := m.Peek(0); c != '{' && !chars.IsQuote(c) && !m.Marked && !(m.Names.Offered(e.name) && (m.HasAt(0, "null") || c == '[' && m.Peek(m.Spaces(1)) == '{')) {
		return false
	}
	if !m.Marked && m.schemaFollows(e.name) {
		return m.schemaArgs(e)
	}
	if !m.Marked && m.definesTool(e.name) {
		return false
	}
	m.asides(e)
	if !m.StartCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.Call.PlainInput = e.plainInput
	m.Call.Repairs = append(m.Call.Repairs, e.repairs...)
	if e.arrows {
		e.arrows = false
		m.BadArgs("the call is written with => and -- instead of JSON")
		m.skipUnreadable()
		return true
	}
	m.asValue().arguments()
	return true
}

// endObject handles the end of an object: it ends the call in it, or decides whether the object is a call. closed
// reports whether its closing brace was found.
func (m jsonReader) endObject(e *envelope, closed bool) bool {
	if !closed && m.Call.Open {
		m.Missing("brace")
	}
	switch {
	case m.Call.Open:
		m.noteExtra(e)
		if closed && m.Nested == 1 {
			m.asPython().strayBrace()
			m.checkTypes()
		}
		m.EndCall()
		m.asides(e)
		return true
	case e.begun:
		m.asides(e)
		return true
	case !closed:
		if e.name != "" && (m.Marked || m.Names.Offered(e.name)) && m.StartCall(e.name, e.id, e.start) {
			m.CutCall()
			return true
		}
		return false
	case e.name != "" && !e.hasArgs && m.flat(e):
		return true
	case e.name == "" && e.args != nil && e.kind != "":
		e.name = e.kind // its type is the name of the tool
		if m.named(e) {
			m.EndCall()
			return true
		}
	}
	return false
}

// noteExtra adds a repair for each member after the arguments that may be part of the call, and removes it from
// e.extra.
func (m jsonReader) noteExtra(e *envelope) {
	e.extra = slices.DeleteFunc(e.extra, func(f field) bool {
		switch {
		case m.Shape() != nil && m.Shape().Declares(f.key):
			m.Repair("argument-outside", llm.Guess, e.start, m.Offset())
		case m.contradicts(e, f):
			m.Repair("second-"+f.key, llm.Guess, e.start, m.Offset())
		case e.unused(f):
			m.noteUnused(unusedMember)
		default:
			return false
		}
		return true
	})
}

// contradicts reports whether the member f names another tool or holds other arguments than the call.
func (m jsonReader) contradicts(e *envelope, f field) bool {
	switch m.role(f.key) {
	case values.ArgsRole:
		return string(f.value) != "null" && string(f.value) != "{}" && !bytes.Equal(f.value, m.Call.Args)
	case values.NameRole, values.BothRole:
		var name string
		return json.Unmarshal(f.value, &name) == nil && name != e.name && m.Names.Offered(name)
	}
	return false
}

// flat makes a call of an object that has no member for arguments. The tool needs no arguments, or they are next to the
// name and the tool declares them.
func (m jsonReader) flat(e *envelope) bool {
	name, known := m.Names.Resolve(e.name)
	if !m.Marked && (m.Names.Any || !known) {
		return false
	}
	shape := m.Names.Shape(name)
	var args, rest []field
	for _, f := range e.extra {
		switch {
		case f.key != "type" && (shape == nil || shape.Declares(f.key)):
			args = append(args, f)
		case f.key != "type" && !m.Marked:
			return false
		default:
			rest = append(rest, f)
		}
	}
	if len(args) == 0 && (e.legacy && !m.Marked || known && !m.NeedsNothing(name)) {
		if !m.Marked {
			m.Lost.Add(m.Lex.Bare, e.start, judge.Unreadable)
		}
		if !m.Marked || shape == nil || !offered.RequiresNothing(shape) {
			return m.Marked && m.noArguments(e)
		} // all parameters are optional
		e.repairs = append(e.repairs, llm.Repair{Rule: "missing-arguments", Class: llm.Guess, Start: e.start, End: m.Offset()})
	}
	if !m.StartCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.Call.Repairs = append(m.Call.Repairs, e.repairs...)
	m.Arg("{")
	for i, f := range args {
		if i > 0 {
			m.Arg(",")
		}
		k, _ := json.Marshal(f.key)
		m.Arg(string(k) + ":" + string(f.value))
	}
	m.Arg("}")
	if len(args) > 0 {
		m.Repair("flat-arguments", llm.Syntax, e.start, m.Offset())
	}
	e.extra = rest
	m.noteExtra(e)
	m.EndCall()
	m.asides(e)
	return true
}

// noArguments makes an invalid call of an object without arguments, because the model may have forgotten them.
func (m jsonReader) noArguments(e *envelope) bool {
	if !m.StartCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.BadArgs("the call has no arguments")
	m.EndCall()
	return true
}

// objects reads a list of calls.
func (m jsonReader) objects(e *envelope) bool {
	m.Skip(1, "[")
	begun := false
	for m.Blank(","); m.More() && m.Peek(0) == '{'; m.Blank(",;") {
		if !m.oneOf() {
			return begun
		}
		begun = true
	}
	if m.More() && m.Peek(0) == ']' {
		m.Skip(1, "]")
		return begun || m.Marked && e == nil
	}
	return begun
}

// oneOf reads the next object of a list.
func (m jsonReader) oneOf() bool {
	listed := m.Listed
	read := func() bool {
		m.Listed = m.Nested == 0
		ok := m.object(m.newEnvelope(m.Offset()))
		m.Listed = listed
		return ok
	}
	if m.Undecided {
		return read()
	}
	marked := m.Marked
	m.Marked = marked || m.badObject()
	ok := m.Guess(read) // the list holds calls, but this object may not be a call
	m.Marked = marked
	return ok
}

// badObject reports whether the object at the current position, in a list of calls, looks like a call: a name and then
// arguments. Such an object is read as a call even if its tool was not offered, so it is reported and not left in the
// text.
func (m jsonReader) badObject() bool {
	if m.Names.Any {
		return false
	}
	key, v := m.KeyAt(m.Spaces(1))
	if m.role(key) != values.NameRole && m.role(key) != values.BothRole || !chars.IsQuote(m.Peek(v)) {
		return false
	}
	end := m.Word(v+1, "")
	if i := m.Spaces(end + 1); chars.IsQuote(m.Peek(end)) && m.Peek(i) == ',' {
		key, _ = m.KeyAt(m.Spaces(i + 1))
		return m.role(key) == values.ArgsRole
	}
	return false
}

// nameValue reads a JSON string that names a tool.
func (m jsonReader) nameValue() (string, bool) {
	r, ok := m.asValue().wholeValueAs(engine.NameSpan)
	var s string
	ok = ok && json.Unmarshal(r.Value(), &s) == nil
	m.asValue().reuse(r)
	if !ok {
		return "", false
	}
	return s, true
}

// quotedArguments reads arguments that are written as JSON in a string.
func (m jsonReader) quotedArguments() {
	start := m.Offset()
	var inner jsonfix.Reader
	outer := jsonfix.NewReader(jsonfix.Options{Base: start, MaxBytes: m.MaxCall()})
	var u values.Unquoter
	var plain strings.Builder // set if the input may be plain text
	beside := false           // text follows the object in the string
	take := func() {
		s := u.Add(outer.Take())
		if m.Rows.Meets(m.Lex.PlainArgs) || m.Call.PlainInput {
			plain.WriteString(s)
		}
		n := inner.Feed(s)
		beside = beside || inner.Done() && strings.TrimSpace(s[n:]) != ""
		m.Arg(inner.Take())
	}
	ended := m.asValue().feed(outer, engine.ArgsSpan, take)
	if !ended && outer.Err() == nil && !m.More() && m.Truncated() {
		m.CutCall()
		return
	}
	if !ended {
		m.asValue().finishValue(outer, false, take)
	}
	if !u.Said {
		return // no arguments at all
	}
	if plain.Len() > 0 && len(inner.Value()) == 0 {
		m.asName().onlyArgument(plain.String(), start)
		return
	}
	if !inner.Done() {
		if err := inner.Close(); err != nil {
			m.BadArgs("the arguments are a string that holds no JSON object: %v", err)
		}
		m.Arg(inner.Take())
	}
	m.Call.Repairs = append(m.Call.Repairs, inner.Repairs()...)
	m.Repair("quoted-arguments", llm.Syntax, start, m.Offset())
	if beside {
		m.Repair("text-beside-arguments", llm.Guess, start, m.Offset())
	}
	if v := bytes.TrimLeft(inner.Value(), " \t\r\n"); len(v) == 0 || v[0] != '{' {
		m.BadArgs("the arguments are a string, not an object")
	}
}

// unwrapped reads the arguments object. If its only key is again a key for arguments, perhaps next to the name, and the
// tool has no such parameter, the inner object is used.
func (m jsonReader) unwrapped() {
	named := m.namedAgain()
	if !named && !m.doubleWrapped(m.Spaces(1)) {
		m.asValue().stream()
		return
	}
	start := m.Offset()
	r, ok := m.asValue().wholeValue()
	if !ok {
		m.asValue().finishValue(r, r.Done(), func() { m.Arg(r.Take()) })
		return
	}
	m.Call.Repairs = append(m.Call.Repairs, r.Repairs()...)
	if v := values.InnerArgs(r.Value(), named); v != nil {
		m.Arg(string(v))
		m.Repair("double-wrapped", llm.Syntax, start, m.Offset())
		return
	}
	m.Arg(string(r.Value()))
}

// namedAgain reports whether the object here begins with the name of the tool, followed by a key for arguments. The
// tool must not have a parameter "name".
func (m jsonReader) namedAgain() bool {
	const key = `"name"`
	i := m.Spaces(1)
	if !m.HasAt(i, key) || m.Shape() != nil && m.Shape().Declares("name") {
		return false
	}
	i = m.Spaces(i + len(key))
	if m.Peek(i) != ':' {
		return false
	}
	i = m.Spaces(i + 1)
	if name := chars.QuoteJSON(m.Call.Name); m.HasAt(i, name) {
		i = m.Spaces(i + len(name))
		return m.Peek(i) == ',' && m.doubleWrapped(m.Spaces(i+1))
	}
	return false
}

// doubleWrapped reports whether a key for arguments that the tool does not declare is i bytes from here and its value
// is an object.
func (m jsonReader) doubleWrapped(i int) bool {
	if m.Call.Known && m.Names.Described(m.Call.Name) && m.schemaFollows(m.Call.Name) && m.Shape() != nil {
		return true
	}
	q := m.Peek(i)
	if !chars.IsQuote(q) {
		return false
	}
	j := i + 1
	for j < i+16 && m.At(j) && m.Peek(j) != q {
		j++
	}
	key := string(m.Buf[m.Pos+i+1 : m.Pos+j])
	if values.Keys[key] != values.ArgsRole || m.Shape() != nil && m.Shape().Declares(key) || m.Shape() == nil && key != "arguments" {
		return false
	}
	j = m.Spaces(j + 1)
	return m.Peek(j) == ':' && m.Peek(m.Spaces(j+1)) == '{'
}

// key reads a key and the colon after it.
func (m jsonReader) key(e *envelope) (string, bool) {
	i, start := 0, m.Peek(0)
	var key string
	if chars.IsQuote(start) {
		for i = 1; i < lexicon.MaxName && m.At(i) && m.Peek(i) != start && m.Peek(i) != '\n'; i++ {
		}
		if m.Peek(i) != start {
			return "", false
		}
		key = string(m.Buf[m.Pos+1 : m.Pos+i])
		i++
	} else {
		i = m.Word(0, ":")
		key = string(m.Buf[m.Pos : m.Pos+i])
	}
	i = m.Spaces(i)
	if key != "" && m.Marked && m.HasAt(i, "=>") {
		e.arrows = true
		i++
	} else if key == "" || m.Peek(i) != ':' {
		return "", false
	}
	m.Skip(i+1, "key")
	m.Blank("")
	return key, true
}

// asides emits the text and thinking next to a call in its object. The key "text" counts, but an object that begins
// with it is not read as a call.
func (m jsonReader) asides(e *envelope) {
	for _, f := range e.extra {
		if !m.Call.Open && !e.begun && m.role(f.key) != values.ArgsRole && m.contradicts(e, f) { // a second name before the arguments
			e.repairs = append(e.repairs, llm.Repair{Rule: "second-" + f.key, Class: llm.Guess, Start: e.start, End: m.Offset()})
		}
		thinks, ok := values.AsideKeys[f.key]
		var s string
		if unused := e.unused(f); unused && e.begun && !m.Call.Open { // the calls have left
			m.Emit(llm.TextDelta{Text: chars.QuoteJSON(f.key) + ": " + string(f.value)})
		} else if unused {
			m.noteUnused(unusedMember)
		}
		if !ok && f.key != "text" || json.Unmarshal(f.value, &s) != nil || s == "" {
			continue
		}
		if thinks {
			m.Emit(llm.ThinkingDelta{Text: s})
		} else {
			m.Emit(llm.TextDelta{Text: s})
		}
	}
	e.extra = nil
}

// plainMembers are keys next to a call that the APIs of vendors have and that mean nothing for the call.
var plainMembers = map[string]bool{
	"type": true, "role": true, "index": true, "status": true, "object": true, "strict": true, "created": true, "model": true, "refusal": true,
	"finish_reason": true, "description": true, "jsonrpc": true, "method": true, "recipient": true, "text": true,
}

// unused reports whether the member f next to a call means nothing: it is no text, no thinking, no id, no repetition of
// a part of the call, and no member that the APIs of vendors have.
func (e *envelope) unused(f field) bool {
	_, aside := values.AsideKeys[f.key]
	if kind := values.KindOfCall(f.value); f.key == "type" && kind != "" {
		return kind != e.name && !whole.IsAside(f.key, kind)
	}
	switch values.Keys[f.key] {
	case values.IdRole:
		return bytes.ContainsAny(f.value, "<> ")
	case values.OtherKey:
		return !aside && !plainMembers[f.key] && string(f.value) != "null"
	}
	return false // contradicts decides
}

// mayPrecede reports whether an object that begins with key, whose value is at i, may hold a call in a later member.
// Text requested as JSON must not wait, so "content" counts only if it is empty or null.
func (m jsonReader) mayPrecede(key string, i int) bool {
	if key == "content" {
		return m.HasAt(i, "null") || m.HasAt(i, `""`)
	}
	_, ok := values.AsideKeys[key]
	return ok || key == "type" || key == "role"
}

// argsMember reads the arguments under key. If any name is allowed, a name with plain text as input is not a call, and
// neither is a type with an input.
func (m jsonReader) argsMember(e *envelope, key string) bool {
	if m.Names.Any && !m.Marked && key != "arguments" {
		if c := m.Peek(0); chars.IsQuote(c) && key != "parameters" && m.Peek(1) != c && m.Peek(m.Spaces(1)) != '{' {
			return false
		}
		e.kind = ""
	}
	e.hasArgs = true
	e.plainInput = key == "action_input" || key == "tool_input"
	return m.envelopeArgs(e)
}

// innerObject reads an object that is the value of a key and holds a call.
func (m jsonReader) innerObject(e *envelope) bool {
	m.asides(e)
	inner := m.newEnvelope(e.start)
	inner.id = e.id
	ok := m.object(inner)
	e.begun, e.hasArgs = e.begun || inner.begun, true
	return ok
}

// isKeyedCall reports whether the member key, whose value begins with c, is a call of the tool key. All members before
// it must be such calls too.
func (m jsonReader) isKeyedCall(e *envelope, key string, c byte) bool {
	onlyKeyed := m.Marked && m.Rows.Within(m.Lex.Keyed)
	if len(e.extra) > 0 || !e.keyed && (e.name != "" || e.hasArgs) || c != '{' && !(onlyKeyed && chars.IsQuote(c)) {
		return false
	}
	return onlyKeyed || m.Names.Offered(key) && (m.Marked || m.takesFirst(key) && (e.keyed || m.onlyKeyed(e)))
}

// takesFirst reports whether the object at the current position may hold the arguments of a tool: it is empty, or its
// first key is a parameter of the tool. Otherwise it may describe the tool.
func (m jsonReader) takesFirst(written string) bool {
	name, _ := m.Names.Resolve(written)
	shape := m.Names.Shape(name)
	key, _ := m.KeyAt(m.Spaces(1))
	return key == "" || shape == nil || shape.Declares(key) || key != "description" && len(shape.Properties()) == 0 || values.Keys[key] == values.ArgsRole
}

// onlyKeyed reports whether all remaining members of the object are calls under their names. Otherwise it may be data
// with a key that is also the name of a tool.
func (m jsonReader) onlyKeyed(e *envelope) bool {
	m.Begin()
	defer m.Undo()
	looked := *e
	for {
		if _, ok := m.asValue().wholeValue(); !ok {
			return true // the object ends, or is invalid, in these arguments
		}
		m.Blank(",")
		if !m.More() || m.Peek(0) == '}' {
			return true
		}
		key, ok := m.key(&looked)
		if !ok || !m.Names.Offered(key) || m.Peek(0) != '{' {
			return false
		}
	}
}

// keyedCall reads the arguments of the call whose name is key.
func (m jsonReader) keyedCall(e *envelope, key string) bool {
	m.EndCall()
	e.name, e.hasArgs, e.keyed = key, true, true
	return m.envelopeArgs(e)
}

// suspectObject counts an object with the name of an unknown tool if arguments follow.
func (m jsonReader) suspectObject(e *envelope) {
	i := m.Spaces(0)
	if m.Peek(i) != ',' {
		return
	}
	key, i := m.KeyAt(m.Spaces(i + 1))
	if c := m.Peek(i); m.role(key) == values.ArgsRole && (c == '{' || chars.IsQuote(c)) {
		m.Keep(m.Lex.ByArgs[key])
		m.Lost.Add(m.Rows, e.start, judge.UnknownTool)
	}
}

// envelopeAt reports whether the object i bytes from here, in the place of the arguments of the tool written, is itself
// a call.
func (m jsonReader) envelopeAt(i int, written string) bool {
	if m.Peek(i) != '{' {
		return false
	}
	key, v := m.KeyAt(m.Spaces(i + 1))
	name, known := m.Names.Resolve(strings.TrimSpace(bareID(written)))
	if shape := m.Names.Shape(name); m.role(key) != values.NameRole && m.role(key) != values.BothRole || known && shape != nil && shape.Declares(key) || !chars.IsQuote(m.Peek(v)) {
		return false
	}
	end := m.Word(v+1, "")
	inner := string(m.Buf[m.Pos+v+1 : m.Pos+end])
	if m.Peek(end) != m.Buf[m.Pos+v] || !m.Names.Any && !m.Names.Offered(inner) {
		return false
	}
	if i = m.Spaces(end + 1); m.Peek(i) != ',' {
		return false
	}
	key, _ = m.KeyAt(m.Spaces(i + 1))
	return m.role(key) == values.ArgsRole
}

// schemaFollows reports whether the object here begins like the JSON Schema of arguments, and the tool written has no
// parameter of that name.
func (m jsonReader) schemaFollows(written string) bool {
	if m.Peek(0) != '{' {
		return false
	}
	key, v := m.KeyAt(m.Spaces(1))
	if key != "type" && key != "properties" {
		return false
	}
	name, _ := m.Names.Resolve(written)
	if shape := m.Names.Shape(name); shape != nil && shape.Declares(key) {
		return false
	}
	switch key {
	case "type":
		return m.HasAt(v, `"object"`)
	case "properties":
		return m.Peek(v) == '{'
	}
	return false
}

// definesTool reports whether the value of the first member here is a schema, so the object describes the parameters of
// the tool written.
func (m jsonReader) definesTool(written string) bool {
	if m.Peek(0) != '{' {
		return false
	}
	key, v := m.KeyAt(m.Spaces(1))
	name, _ := m.Names.Resolve(written)
	return key != "" && m.describes(v) && !m.takesObject(name, key)
}

// describes reports whether the value i bytes from here begins like a JSON Schema.
func (m jsonReader) describes(i int) bool {
	if m.Peek(i) != '{' {
		return false
	}
	key, v := m.KeyAt(m.Spaces(i + 1))
	if key == "description" {
		return true
	}
	if key != "type" || !chars.IsQuote(m.Peek(v)) {
		return false
	}
	end := m.Word(v+1, ":")
	return loose.TypeNames[string(m.Buf[m.Pos+v+1:m.Pos+end])]
}

// takesObject reports whether the parameter key of a tool may be an object.
func (m jsonReader) takesObject(name, key string) bool {
	shape := m.Names.Shape(name)
	if shape == nil || shape.Property(key) == nil {
		return false
	}
	return shape.Property(key).Types()&schema.Object != 0
}

// schemaArgs reads an object for which schemaFollows is true, without a marker. A real schema describes the tool and is
// not a call. If it holds values in place of the schemas, they are the arguments.
func (m jsonReader) schemaArgs(e *envelope) bool {
	start := m.Offset()
	r, ok := m.asValue().wholeValue()
	if !ok {
		return false
	}
	v := values.InnerArgs(r.Value(), false)
	if v == nil {
		return false
	}
	e.args, e.repairs = v, append(append(e.repairs, r.Repairs()...), llm.Repair{Rule: "double-wrapped", Class: llm.Syntax, Start: start, End: m.Offset()})
	return m.named(e)
}

// member is a key of an object that may be a call, its role, and the first byte of its value.
type member struct {
	e    *envelope
	key  string
	role values.KeyRole
	c    byte
}

// memberReaders read the value of a key by what the key means.
func memberReaders() []reader[member] {
	return []reader[member]{
		{
			name: "list of calls",
			fits: func(m *answer, s member) bool { return s.role == values.ListRole && s.c == '[' },
			read: func(m *answer, s member) bool {
				m.asJson().asides(s.e)
				s.e.begun = m.asJson().objects(s.e) || s.e.begun
				return s.e.begun || !m.Undecided
			},
		},
		{
			name: "object that is the call",
			fits: func(m *answer, s member) bool { return m.asJson().holdsCall(s) },
			read: func(m *answer, s member) bool { return m.asJson().innerObject(s.e) },
		},
		{
			name: "name that no tool has",
			fits: func(m *answer, s member) bool {
				return s.role == values.NameRole && (s.c == '{' || s.c == '[') && !m.Marked
			},
			read: func(m *answer, s member) bool { return false },
		},
		{
			name: "name",
			fits: func(m *answer, s member) bool {
				return (s.role == values.NameRole || s.role == values.BothRole) && chars.IsQuote(s.c) && s.e.name == ""
			},
			read: func(m *answer, s member) bool {
				name, ok := m.asJson().nameValue()
				s.e.name, s.e.legacy = name, s.key == "tool" || s.key == "toolName"
				return ok && m.asJson().named(s.e)
			},
		},
		{
			name: "arguments",
			fits: func(m *answer, s member) bool { return s.role == values.ArgsRole && !s.e.hasArgs && !s.e.begun },
			read: func(m *answer, s member) bool { return m.asJson().argsMember(s.e, s.key) },
		},
		{
			name: "id",
			fits: func(m *answer, s member) bool { return s.role == values.IdRole && s.e.id == "" && !s.e.begun },
			read: func(m *answer, s member) bool { return m.asJson().envelopeID(s.e) },
		},
		{
			name: "arguments under the name",
			fits: func(m *answer, s member) bool {
				return s.role == values.OtherKey && m.asJson().isKeyedCall(s.e, s.key, s.c)
			},
			read: func(m *answer, s member) bool { return m.asJson().keyedCall(s.e, s.key) },
		},
		{
			name: "something else",
			fits: func(m *answer, s member) bool { return true },
			read: func(m *answer, s member) bool { return m.asJson().extra(s.e, s.key) },
		},
	}
}

// holdsCall reports whether the value of a member is an object that holds a name and arguments, or several calls.
func (m jsonReader) holdsCall(s member) bool {
	return s.c == '{' && (s.role == values.BothRole || s.role == values.ArgsRole && s.e.name == parallel && !m.Names.Offered(parallel))
}
