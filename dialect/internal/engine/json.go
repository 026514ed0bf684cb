package engine

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
)

// role is what a key of a JSON call stands for.
type role uint8

const (
	other    role = iota
	nameRole      // the name of the tool
	argsRole      // its arguments
	idRole        // the id of the call
	bothRole      // the name, or an object that holds name and arguments
	listRole      // a list of calls
)

// keys are the keys of calls that models were seen to write. Every dialect is
// read with all of them, because models mix them.
var keys = map[string]role{
	"name": nameRole, "tool_name": nameRole, "toolName": nameRole, "function_name": nameRole,
	"functionName": nameRole, "recipient_name": nameRole, "api_name": nameRole, "func_name": nameRole,
	"tool": bothRole, "function": bothRole, "function_call": bothRole, "tool_call": bothRole, "tool_use": bothRole,
	"functionCall": bothRole, "toolCall": bothRole, "toolUse": bothRole, "action": bothRole,
	"arguments": argsRole, "parameters": argsRole, "args": argsRole, "input": argsRole, "params": argsRole,
	"tool_input": argsRole, "action_input": argsRole, "kwargs": argsRole, "toolInput": argsRole, "actionInput": argsRole,
	"tool_args": argsRole, "tool_arguments": argsRole, "tool_parameters": argsRole,
	"api_args": argsRole, "api_arguments": argsRole, "api_parameters": argsRole, "func_args": argsRole,
	"function_args": argsRole, "function_arguments": argsRole, "function_parameters": argsRole,
	"id": idRole, "tool_call_id": idRole, "call_id": idRole,
	"tool_calls": listRole, "calls": listRole, "tool_uses": listRole, "toolCalls": listRole, "function_calls": listRole, "actions": listRole,
}

// role returns what a key stands for: what it does in any dialect, or behind a
// marker what the dialects of the marker use it for.
func (m *machine) role(key string) role {
	if r, ok := keys[key]; ok || !m.marked {
		return r
	}
	switch {
	case m.lex.byArgs[key].meets(m.rows):
		return argsRole
	case m.lex.byKey[key].meets(m.rows):
		return nameRole
	}
	return other
}

// envelope is what is known of a JSON call before it can begin.
type envelope struct {
	start    int
	name, id string
	args     []byte // arguments that came before the name
	repairs  []llm.Repair
	hasArgs  bool
	begun    bool // a call was begun, here or further in
	legacy   bool // the key of the name promises one for the arguments
	arrows   bool // its keys are followed by =>
	// plainInput says that its arguments stand under a key whose value may be
	// the text of a tool's only parameter.
	plainInput bool
	keyed      bool // its name is the key of its arguments
	kind       string
	extra      []field
}

type field struct {
	key   string
	value json.RawMessage
}

// newEnvelope returns what is known of a call that begins at start.
func (m *machine) newEnvelope(start int) *envelope {
	if n := len(m.envelopes); n > 0 { // one that has been read: most objects are no calls
		e := m.envelopes[n-1]
		m.envelopes = m.envelopes[:n-1]
		*e = envelope{start: start}
		return e
	}
	return &envelope{start: start}
}

// object reads an object that holds a call, or calls. It reports whether
// there was one. The fields of e stay valid until the next object is read.
func (m *machine) object(e *envelope) bool {
	ok := false
	if m.nested < maxNested {
		m.nested++
		ok = m.members(e)
		m.nested--
	}
	m.envelopes = append(m.envelopes, e)
	return ok
}

// members reads the members of an object that holds a call, or calls.
func (m *machine) members(e *envelope) bool {
	if !m.call.open {
		m.anchor, m.anchored = e.start, true
	}
	m.skip(1, "{")
	for {
		m.blank(",")
		for m.comment(e) {
			m.blank(",")
		}
		if !m.more() {
			return m.endObject(e, false)
		}
		if m.peek(0) == '}' {
			m.skip(1, "}")
			return m.endObject(e, true)
		}
		if t, n := m.match(0); n > 0 && (t.is(closes) || t.is(opens)) && m.marked {
			return m.endObject(e, false)
		}
		if c := m.peek(0); (c == ']' || c == '{') && m.call.open && m.call.problem == "" { // the list goes on before the object ends
			m.repair("missing-brace", llm.Guess, m.offset(), m.offset())
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

// comment passes over a comment between the members of an object.
func (m *machine) comment(e *envelope) bool {
	end := "\n"
	switch {
	case m.peek(0) == '#', m.hasAt(0, "//"):
	case m.hasAt(0, "/*"):
		end = "*/"
	default:
		return false
	}
	for i := 1; i <= maxGuess && m.at(i); i++ {
		if m.buf[m.pos+i] != end[0] || !m.hasAt(i, end) {
			continue
		}
		n := i + len(end)
		if m.call.open {
			m.repair("comment", llm.Syntax, m.offset(), m.offset()+n)
		} else {
			e.repairs = append(e.repairs, llm.Repair{Rule: "comment", Class: llm.Syntax, Start: m.offset(), End: m.offset() + n})
		}
		m.skip(n, "comment")
		return true
	}
	return false
}

// brokenObject gives up on an object in the middle.
func (m *machine) brokenObject(e *envelope) bool {
	if m.call.open {
		m.badArgs("the call is no JSON object")
		m.recover()
		m.endCall()
	}
	return e.begun
}

// member reads the value of a key.
func (m *machine) member(e *envelope, key string) bool {
	m.keep(m.lex.byKey[key])
	read, _ := ask(m, m.lex.readers.member, member{e: e, key: key, role: m.role(key), c: m.peek(0)})
	return read
}

// extra keeps the value of a key that is no part of a call.
func (m *machine) extra(e *envelope, key string) bool {
	v, ok := m.buffered()
	if ok && key == "role" && !m.marked && !m.call.open && endsValue(m.buf[max(0, e.start-m.base-maxTail):e.start-m.base]) {
		return false
	}
	if ok && resultKeys[key] && string(v) != "null" {
		if !m.call.open {
			return false
		}
		m.badArgs("the object carries the result of the call: it reports one")
	}
	if ok {
		e.extra = append(e.extra, field{key, v})
	}
	if key == "type" && ok && !e.hasArgs {
		e.kind = kindOfCall(v)
	}
	return ok
}

// named handles a name that has just been read: arguments that came before it
// can go now.
func (m *machine) named(e *envelope) bool {
	if e.args == nil {
		if !m.undecided || m.marked || m.names.any || m.names.offered(e.name) || e.name == parallel {
			return true
		}
		m.suspectObject(e)
		return false
	}
	m.asides(e)
	if !m.startCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.arg(string(e.args))
	m.call.repairs = append(m.call.repairs, e.repairs...)
	return true
}

// envelopeID reads the id of a call.
func (m *machine) envelopeID(e *envelope) bool {
	v, ok := m.buffered()
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

// envelopeArgs reads the arguments, which stream if the name is known.
func (m *machine) envelopeArgs(e *envelope) bool {
	if e.name == "" {
		r, ok := m.wholeValue()
		e.args, e.repairs = bytes.Clone(r.Value()), append(e.repairs, r.Repairs()...)
		return ok && len(e.args) > 0
	}
	if c := m.peek(0); c != '{' && !isQuote(c) && !m.marked && !(m.names.offered(e.name) && (m.hasAt(0, "null") || c == '[' && m.peek(m.spaces(1)) == '{')) {
		return false
	}
	if !m.marked && m.schemaFollows(e.name) {
		return m.schemaArgs(e)
	}
	if !m.marked && m.definesTool(e.name) {
		return false
	}
	m.asides(e)
	if !m.startCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.call.plainInput = e.plainInput
	m.call.repairs = append(m.call.repairs, e.repairs...)
	if e.arrows {
		e.arrows = false
		m.badArgs("the call is written with => and -- instead of JSON")
		m.recover()
		return true
	}
	m.arguments()
	return true
}

// endObject decides what an object that has ended is.
func (m *machine) endObject(e *envelope, closed bool) bool {
	if !closed && m.call.open {
		m.missing("brace")
	}
	switch {
	case m.call.open:
		m.noteExtra(e)
		if closed && m.nested == 1 {
			m.strayBrace()
			m.checkTypes()
		}
		m.endCall()
		m.asides(e)
		return true
	case e.begun:
		m.asides(e)
		return true
	case !closed:
		if e.name != "" && (m.marked || m.names.offered(e.name)) && m.startCall(e.name, e.id, e.start) {
			m.cutCall()
			return true
		}
		return false
	case e.name != "" && !e.hasArgs && m.flat(e):
		return true
	case e.name == "" && e.args != nil && e.kind != "":
		e.name = e.kind // its kind is the tool
		if m.named(e) {
			m.endCall()
			return true
		}
	}
	return false
}

// noteExtra notes members behind the arguments that are part of the call, too, and
// leaves the others.
func (m *machine) noteExtra(e *envelope) {
	e.extra = slices.DeleteFunc(e.extra, func(f field) bool {
		switch {
		case m.shape() != nil && m.shape().Declares(f.key):
			m.repair("argument-outside", llm.Guess, e.start, m.offset())
		case m.contradicts(e, f):
			m.repair("second-"+f.key, llm.Guess, e.start, m.offset())
		default:
			return false
		}
		return true
	})
}

// contradicts reports whether a member behind the arguments of a call names
// another tool, or holds other arguments.
func (m *machine) contradicts(e *envelope, f field) bool {
	switch m.role(f.key) {
	case argsRole:
		return string(f.value) != "null" && string(f.value) != "{}" && !bytes.Equal(f.value, m.call.args)
	case nameRole, bothRole:
		var name string
		return json.Unmarshal(f.value, &name) == nil && name != e.name && m.names.offered(name)
	}
	return false
}

// flat makes a call of an object without arguments: none at all, or at the
// top level beside the name, as far as the tool declares them.
func (m *machine) flat(e *envelope) bool {
	name, known := m.names.resolve(e.name)
	if !m.marked && (m.names.any || !known) {
		return false
	}
	shape := m.names.shape(name)
	var args []field
	for _, f := range e.extra {
		switch {
		case f.key == "type":
		case shape == nil || shape.Declares(f.key):
			args = append(args, f)
		case !m.marked:
			return false
		}
	}
	if len(args) == 0 && (e.legacy && !m.marked || known && !m.needsNothing(name)) {
		if !m.marked {
			m.lost.add(m.lex.bare, e.start)
		}
		return m.marked && m.noArguments(e)
	}
	if !m.startCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.arg("{")
	for i, f := range args {
		if i > 0 {
			m.arg(",")
		}
		k, _ := json.Marshal(f.key)
		m.arg(string(k) + ":" + string(f.value))
	}
	m.arg("}")
	if len(args) > 0 {
		m.repair("flat-arguments", llm.Syntax, e.start, m.offset())
	}
	m.endCall()
	return true
}

// noArguments makes an invalid call of one that says nothing of its arguments:
// they may have been forgotten.
func (m *machine) noArguments(e *envelope) bool {
	if !m.startCall(e.name, e.id, e.start) {
		return false
	}
	e.begun = true
	m.badArgs("the call has no arguments")
	m.endCall()
	return true
}

// needsNothing reports whether a tool has no parameters, so that a call of it
// need not say anything of arguments.
func (m *machine) needsNothing(name string) bool {
	shape := m.names.shape(name)
	return !m.names.any && (shape == nil || len(shape.Properties()) == 0)
}

// objects reads a list of calls.
func (m *machine) objects(e *envelope) bool {
	m.skip(1, "[")
	begun := false
	for m.blank(","); m.more() && m.peek(0) == '{'; m.blank(",;") {
		if !m.oneOf() {
			return begun
		}
		begun = true
	}
	if m.more() && m.peek(0) == ']' {
		m.skip(1, "]")
		return begun || m.marked && e == nil
	}
	return begun
}

// oneOf reads the next object of a list.
func (m *machine) oneOf() bool {
	listed := m.listed
	read := func() bool {
		m.listed = m.nested == 0
		ok := m.object(m.newEnvelope(m.offset()))
		m.listed = listed
		return ok
	}
	if m.undecided {
		return read()
	}
	marked := m.marked
	m.marked = marked || m.badObject()
	ok := m.guess(read) // the list is one, but this may be something else
	m.marked = marked
	return ok
}

// badObject reports whether the object that stands here, in a list of calls, is
// one that cannot be read: its tool was not offered, or its arguments are no
// object. It is reported rather than left in the text.
func (m *machine) badObject() bool {
	if m.names.any {
		return false
	}
	key, v := m.keyAt(m.spaces(1))
	if m.role(key) != nameRole && m.role(key) != bothRole || !isQuote(m.peek(v)) {
		return false
	}
	end := m.word(v+1, "")
	if i := m.spaces(end + 1); isQuote(m.peek(end)) && m.peek(i) == ',' {
		key, _ = m.keyAt(m.spaces(i + 1))
		return m.role(key) == argsRole
	}
	return false
}

// nameValue reads a JSON string that names a tool.
func (m *machine) nameValue() (string, bool) {
	r, ok := m.wholeValueAs(NameSpan)
	var s string
	ok = ok && json.Unmarshal(r.Value(), &s) == nil
	m.reuse(r)
	if !ok {
		return "", false
	}
	return s, true
}

// quotedArguments reads arguments that were written as a string of JSON.
func (m *machine) quotedArguments() {
	start := m.offset()
	var inner jsonfix.Reader
	outer := jsonfix.NewReader(jsonfix.Options{Base: start, MaxBytes: m.maxCall()})
	var u unquoter
	var plain strings.Builder // of a dialect whose input may be plain text
	beside := false           // text stands behind the object in the string
	take := func() {
		s := u.add(outer.Take())
		if m.rows.meets(m.lex.plainArgs) || m.call.plainInput {
			plain.WriteString(s)
		}
		n := inner.Feed(s)
		beside = beside || inner.Done() && strings.TrimSpace(s[n:]) != ""
		m.arg(inner.Take())
	}
	ended := m.feed(outer, ArgsSpan, take)
	if !ended && outer.Err() == nil && !m.more() && m.truncated() {
		m.cutCall()
		return
	}
	if !ended {
		m.finishValue(outer, false, take)
	}
	if !u.said {
		return // no arguments at all
	}
	if plain.Len() > 0 && len(inner.Value()) == 0 {
		m.onlyArgument(plain.String(), start)
		return
	}
	if !inner.Done() {
		if err := inner.Close(); err != nil {
			m.badArgs("the arguments are a string that holds no JSON object: %v", err)
		}
		m.arg(inner.Take())
	}
	m.call.repairs = append(m.call.repairs, inner.Repairs()...)
	m.repair("quoted-arguments", llm.Syntax, start, m.offset())
	if beside {
		m.repair("text-beside-arguments", llm.Guess, start, m.offset())
	}
	if v := bytes.TrimLeft(inner.Value(), " \t\r\n"); len(v) == 0 || v[0] != '{' {
		m.badArgs("the arguments are a string, not an object")
	}
}

// unwrapped reads the arguments object. Where its only key is again one for
// arguments, perhaps beside the name again, and the tool has no such parameter,
// the object inside counts.
func (m *machine) unwrapped() {
	named := m.namedAgain()
	if !named && !m.doubleWrapped(m.spaces(1)) {
		m.stream()
		return
	}
	start := m.offset()
	r, ok := m.wholeValue()
	if !ok {
		m.finishValue(r, r.Done(), func() { m.arg(r.Take()) })
		return
	}
	m.call.repairs = append(m.call.repairs, r.Repairs()...)
	if v := innerArgs(r.Value(), named); v != nil {
		m.arg(string(v))
		m.repair("double-wrapped", llm.Syntax, start, m.offset())
		return
	}
	m.arg(string(r.Value()))
}

// namedAgain reports whether the object here begins with the name of the tool
// and goes on with arguments, and the tool has no parameter for a name.
func (m *machine) namedAgain() bool {
	const key = `"name"`
	i := m.spaces(1)
	if !m.hasAt(i, key) || m.shape() != nil && m.shape().Declares("name") {
		return false
	}
	i = m.spaces(i + len(key))
	if m.peek(i) != ':' {
		return false
	}
	i = m.spaces(i + 1)
	if name := quoteJSON(m.call.name); m.hasAt(i, name) {
		i = m.spaces(i + len(name))
		return m.peek(i) == ',' && m.doubleWrapped(m.spaces(i+1))
	}
	return false
}

// doubleWrapped reports whether a key for arguments that the tool does not
// declare stands i bytes from here, and an object.
func (m *machine) doubleWrapped(i int) bool {
	if m.call.known && m.names.described(m.call.name) && m.schemaFollows(m.call.name) && m.shape() != nil {
		return true
	}
	q := m.peek(i)
	if !isQuote(q) {
		return false
	}
	j := i + 1
	for j < i+16 && m.at(j) && m.peek(j) != q {
		j++
	}
	key := string(m.buf[m.pos+i+1 : m.pos+j])
	if keys[key] != argsRole || m.shape() != nil && m.shape().Declares(key) || m.shape() == nil && key != "arguments" {
		return false
	}
	j = m.spaces(j + 1)
	return m.peek(j) == ':' && m.peek(m.spaces(j+1)) == '{'
}

// key reads a key and the colon after it.
func (m *machine) key(e *envelope) (string, bool) {
	i, start := 0, m.peek(0)
	var key string
	if isQuote(start) {
		for i = 1; i < maxName && m.at(i) && m.peek(i) != start && m.peek(i) != '\n'; i++ {
		}
		if m.peek(i) != start {
			return "", false
		}
		key = string(m.buf[m.pos+1 : m.pos+i])
		i++
	} else {
		i = m.word(0, ":")
		key = string(m.buf[m.pos : m.pos+i])
	}
	i = m.spaces(i)
	if key != "" && m.marked && m.hasAt(i, "=>") {
		e.arrows = true
		i++
	} else if key == "" || m.peek(i) != ':' {
		return "", false
	}
	m.skip(i+1, "key")
	m.blank("")
	return key, true
}

func isQuote(c byte) bool { return c == '"' || c == '\'' }

// blank skips white space and any of the bytes in more, as markup.
func (m *machine) blank(more string) {
	for m.more() {
		i := 0
		for i < len(m.buf)-m.pos && (isSpace(m.buf[m.pos+i]) || strings.IndexByte(more, m.buf[m.pos+i]) >= 0) {
			i++
		}
		if i == 0 {
			return
		}
		m.skip(i, "space")
	}
}

// spaces returns the index of the first byte from i that is no white space.
func (in *input) spaces(i int) int {
	for in.at(i) && isSpace(in.buf[in.pos+i]) {
		i++
	}
	return i
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }
