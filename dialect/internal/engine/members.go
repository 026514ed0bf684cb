package engine

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// asideKeys are keys beside a call under which models think aloud or speak to
// the user; the value says whether it is thinking. Objects may begin with one.
var asideKeys = map[string]bool{
	"thought": true, "thoughts": true, "thinking": true, "reasoning": true, "content": false,
}

// resultKeys are keys beside a call under which its result stands. Such an
// object reports a call that was made.
var resultKeys = map[string]bool{
	"result": true, "results": true, "tool_result": true, "observation": true, "return_value": true, "output": true, "outputs": true,
	"response": true, "returned": true, "tool_output": true, "tool_response": true,
}

// asides makes events of what stood beside a call in its object, before or behind
// it. "text" is no key that an object may begin with and still hold a call.
func (m *machine) asides(e *envelope) {
	for _, f := range e.extra {
		if !m.call.open && !e.begun && m.role(f.key) != argsRole && m.contradicts(e, f) { // two names before the arguments
			e.repairs = append(e.repairs, llm.Repair{Rule: "second-" + f.key, Class: llm.Guess, Start: e.start, End: m.offset()})
		}
		thinks, ok := asideKeys[f.key]
		var s string
		if !ok && f.key != "text" || json.Unmarshal(f.value, &s) != nil || s == "" {
			continue
		}
		if thinks {
			m.emit(llm.ThinkingDelta{Text: s})
		} else {
			m.emit(llm.TextDelta{Text: s})
		}
	}
	e.extra = nil
}

// mayPrecede reports whether an object that begins with key, whose value
// stands at i, may hold a call further on. Text that models are asked for as
// JSON must not wait, so "content" counts only where there is none.
func (in *input) mayPrecede(key string, i int) bool {
	if key == "content" {
		return in.hasAt(i, "null") || in.hasAt(i, `""`)
	}
	_, ok := asideKeys[key]
	return ok || key == "type" || key == "role"
}

// argsMember reads the arguments of a call, which stand under key. Where every
// name will do, a name and some text as input are not yet a call, nor are a
// type and an input.
func (m *machine) argsMember(e *envelope, key string) bool {
	if m.names.any && !m.marked && key != "arguments" {
		if c := m.peek(0); isQuote(c) && key != "parameters" && m.peek(1) != c && m.peek(m.spaces(1)) != '{' {
			return false
		}
		e.kind = ""
	}
	e.hasArgs = true
	e.plainInput = key == "action_input" || key == "tool_input"
	return m.envelopeArgs(e)
}

// innerObject reads an object that is the value of a key and holds a call.
func (m *machine) innerObject(e *envelope) bool {
	m.asides(e)
	inner := m.newEnvelope(e.start)
	inner.id = e.id
	ok := m.object(inner)
	e.begun, e.hasArgs = e.begun || inner.begun, true
	return ok
}

// isKeyedCall reports whether the member key, whose value begins with c, is a
// call of that name: all members before it, if any, were calls, too.
func (m *machine) isKeyedCall(e *envelope, key string, c byte) bool {
	onlyKeyed := m.marked && m.rows.within(m.lex.keyed)
	if len(e.extra) > 0 || !e.keyed && (e.name != "" || e.hasArgs) || c != '{' && !(onlyKeyed && isQuote(c)) {
		return false
	}
	return onlyKeyed || m.names.offered(key) && (m.marked || m.takesFirst(key) && (e.keyed || m.onlyKeyed(e)))
}

// takesFirst reports whether the object that stands here may be the arguments of
// a tool: it is empty, or its first key is one of the tool's parameters. Else it
// may describe the tool.
func (m *machine) takesFirst(written string) bool {
	name, _ := m.names.resolve(written)
	shape := m.names.shape(name)
	key, _ := m.keyAt(m.spaces(1))
	return key == "" || shape == nil || shape.Declares(key) || key != "description" && len(shape.Properties()) == 0 || keys[key] == argsRole
}

// onlyKeyed reports whether all members of the object from here on, behind the
// key of the first, are calls under their names: data may have a key that a tool
// has as its name.
func (m *machine) onlyKeyed(e *envelope) bool {
	m.begin()
	defer m.undo()
	looked := *e
	for {
		if _, ok := m.wholeValue(); !ok {
			return true // it ends, or breaks, in its arguments
		}
		m.blank(",")
		if !m.more() || m.peek(0) == '}' {
			return true
		}
		key, ok := m.key(&looked)
		if !ok || !m.names.offered(key) || m.peek(0) != '{' {
			return false
		}
	}
}

// keyedCall reads the arguments of the call whose name was the key.
func (m *machine) keyedCall(e *envelope, key string) bool {
	m.endCall()
	e.name, e.hasArgs, e.keyed = key, true, true
	return m.envelopeArgs(e)
}

// suspectObject counts an object whose name was not offered, if its arguments
// follow.
func (m *machine) suspectObject(e *envelope) {
	i := m.spaces(0)
	if m.peek(i) != ',' {
		return
	}
	key, i := m.keyAt(m.spaces(i + 1))
	if c := m.peek(i); m.role(key) == argsRole && (c == '{' || isQuote(c)) {
		m.keep(m.lex.byArgs[key])
		m.lost.add(m.rows, e.start)
	}
}

// keyAt returns the key i bytes from here and where its value begins; no key
// is empty.
func (in *input) keyAt(i int) (key string, value int) {
	quote := in.peek(i)
	if !isQuote(quote) {
		return "", i
	}
	j := in.word(i+1, ":")
	if in.peek(j) != quote {
		return "", i
	}
	key = string(in.buf[in.pos+i+1 : in.pos+j])
	j = in.spaces(j + 1)
	if in.peek(j) != ':' {
		return "", i
	}
	return key, in.spaces(j + 1)
}

// envelopeAt reports whether the object i bytes from here, which stands where
// the arguments of the tool written so do, is itself a call.
func (m *machine) envelopeAt(i int, written string) bool {
	if m.peek(i) != '{' {
		return false
	}
	key, v := m.keyAt(m.spaces(i + 1))
	name, known := m.names.resolve(strings.TrimSpace(bareID(written)))
	if shape := m.names.shape(name); m.role(key) != nameRole && m.role(key) != bothRole || known && shape != nil && shape.Declares(key) || !isQuote(m.peek(v)) {
		return false
	}
	end := m.word(v+1, "")
	inner := string(m.buf[m.pos+v+1 : m.pos+end])
	if m.peek(end) != m.buf[m.pos+v] || !m.names.any && !m.names.offered(inner) {
		return false
	}
	if i = m.spaces(end + 1); m.peek(i) != ',' {
		return false
	}
	key, _ = m.keyAt(m.spaces(i + 1))
	return m.role(key) == argsRole
}

// kindOfCall returns the type that a call gives itself where it may be the
// name of a tool, not a word of some API.
func kindOfCall(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	switch s {
	case "function", "function_call", "tool_call", "tool_use", "tool", "object", "text", "call":
		return ""
	}
	return s
}

// schemaFollows reports whether the object here begins like the JSON Schema of
// arguments, and the tool called written has no such parameter.
func (m *machine) schemaFollows(written string) bool {
	if m.peek(0) != '{' {
		return false
	}
	key, v := m.keyAt(m.spaces(1))
	if key != "type" && key != "properties" {
		return false
	}
	name, _ := m.names.resolve(written)
	if shape := m.names.shape(name); shape != nil && shape.Declares(key) {
		return false
	}
	switch key {
	case "type":
		return m.hasAt(v, `"object"`)
	case "properties":
		return m.peek(v) == '{'
	}
	return false
}

// definesTool reports whether the first member of the object here is itself a
// schema: the parameters of the tool called written are described.
func (m *machine) definesTool(written string) bool {
	if m.peek(0) != '{' {
		return false
	}
	key, v := m.keyAt(m.spaces(1))
	name, _ := m.names.resolve(written)
	return key != "" && m.describes(v) && !m.takesObject(name, key)
}

// describes reports whether the value i bytes from here begins like a JSON
// Schema.
func (m *machine) describes(i int) bool {
	if m.peek(i) != '{' {
		return false
	}
	key, v := m.keyAt(m.spaces(i + 1))
	if key == "description" {
		return true
	}
	if key != "type" || !isQuote(m.peek(v)) {
		return false
	}
	end := m.word(v+1, ":")
	return loose.TypeNames[string(m.buf[m.pos+v+1:m.pos+end])]
}

// takesObject reports whether the parameter key of a tool may be an object.
func (m *machine) takesObject(name, key string) bool {
	shape := m.names.shape(name)
	if shape == nil || shape.Property(key) == nil {
		return false
	}
	return shape.Property(key).Types()&schema.Object != 0
}

// schemaArgs reads such an object where there is no marker. A schema is no
// call: the tool is described. Values in place of the schemas are arguments.
func (m *machine) schemaArgs(e *envelope) bool {
	start := m.offset()
	r, ok := m.wholeValue()
	if !ok {
		return false
	}
	v := innerArgs(r.Value(), false)
	if v == nil {
		return false
	}
	e.args, e.repairs = v, append(append(e.repairs, r.Repairs()...), llm.Repair{Rule: "double-wrapped", Class: llm.Syntax, Start: start, End: m.offset()})
	return m.named(e)
}

// innerArgs returns the arguments inside an object whose only key is one for
// arguments, or inside what looks like a schema but holds values; nil if there
// are none. If named, the name of the tool may stand beside them.
func innerArgs(raw json.RawMessage, named bool) json.RawMessage {
	var outer map[string]json.RawMessage
	if json.Unmarshal(raw, &outer) != nil {
		return nil
	}
	if named {
		delete(outer, "name")
	}
	inner, described := outer["properties"]
	for key, v := range outer {
		switch {
		case key == "type" || key == "required" || key == "additionalProperties" || key == "$schema":
		case key != "properties" && (described || len(outer) > 1):
			return nil
		case key != "properties":
			inner = v
		}
	}
	if len(inner) == 0 || inner[0] != '{' || described && holdsSchemas(inner) {
		return nil
	}
	return inner
}

// holdsSchemas reports whether the members of an object are schemas, or there
// are none.
func holdsSchemas(raw json.RawMessage) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return false
	}
	for _, v := range members {
		if string(v) != "{}" && !isSchema(v) {
			return false
		}
	}
	return true
}

// isSchema reports whether a value is a JSON Schema that says something.
func isSchema(v json.RawMessage) bool {
	var s map[string]json.RawMessage
	if json.Unmarshal(v, &s) != nil {
		return false
	}
	for _, key := range [...]string{"type", "$ref", "anyOf", "oneOf", "allOf", "enum", "description"} {
		if s[key] != nil {
			return true
		}
	}
	return false
}

// member is a key of an object that may be a call, what it stands for, and the
// first byte of its value.
type member struct {
	e    *envelope
	key  string
	role role
	c    byte
}

// memberReaders read the value of a key by what the key stands for.
func memberReaders() []reader[member] {
	return []reader[member]{
		{
			name: "list of calls",
			fits: func(m *machine, s member) bool { return s.role == listRole && s.c == '[' },
			read: func(m *machine, s member) bool {
				m.asides(s.e)
				s.e.begun = m.objects(s.e) || s.e.begun
				return s.e.begun || !m.undecided
			},
		},
		{
			name: "object that is the call",
			fits: (*machine).holdsCall,
			read: func(m *machine, s member) bool { return m.innerObject(s.e) },
		},
		{
			name: "name that no tool has",
			fits: func(m *machine, s member) bool { return s.role == nameRole && (s.c == '{' || s.c == '[') && !m.marked },
			read: func(m *machine, s member) bool { return false },
		},
		{
			name: "name",
			fits: func(m *machine, s member) bool {
				return (s.role == nameRole || s.role == bothRole) && isQuote(s.c) && s.e.name == ""
			},
			read: func(m *machine, s member) bool {
				name, ok := m.nameValue()
				s.e.name, s.e.legacy = name, s.key == "tool" || s.key == "toolName"
				return ok && m.named(s.e)
			},
		},
		{
			name: "arguments",
			fits: func(m *machine, s member) bool { return s.role == argsRole && !s.e.hasArgs && !s.e.begun },
			read: func(m *machine, s member) bool { return m.argsMember(s.e, s.key) },
		},
		{
			name: "id",
			fits: func(m *machine, s member) bool { return s.role == idRole && s.e.id == "" && !s.e.begun },
			read: func(m *machine, s member) bool { return m.envelopeID(s.e) },
		},
		{
			name: "arguments under the name",
			fits: func(m *machine, s member) bool { return s.role == other && m.isKeyedCall(s.e, s.key, s.c) },
			read: func(m *machine, s member) bool { return m.keyedCall(s.e, s.key) },
		},
		{
			name: "something else",
			fits: func(m *machine, s member) bool { return true },
			read: func(m *machine, s member) bool { return m.extra(s.e, s.key) },
		},
	}
}

// holdsCall reports whether the value of a member is an object that holds name
// and arguments, or several calls.
func (m *machine) holdsCall(s member) bool {
	return s.c == '{' && (s.role == bothRole || s.role == argsRole && s.e.name == parallel && !m.names.offered(parallel))
}
