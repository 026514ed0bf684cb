package engine

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/schema"
)

// codeTools are the names under which models know a tool that runs code. Some
// dialects call it with the code as it is.
var codeTools = []string{"python", "code_interpreter", "ipython", "python_interpreter", "interpreter"}

// codeTool returns the offered tool that runs code, and its parameter.
func (m *machine) codeTool() (name, key string, ok bool) {
	for _, s := range codeTools {
		if i, known := m.names.find(s); known && m.names.tools[i].Name == s {
			if key, ok = m.codeKey(s); ok {
				return s, key, true
			}
		}
	}
	return "", "", false
}

// codeKey returns the parameter of a tool that takes code: one called so, or
// the only one.
func (m *machine) codeKey(name string) (key string, ok bool) {
	shape := m.names.shape(name)
	switch {
	case shape == nil:
		return "", false
	case shape.Declares("code"):
		return "code", true
	case len(shape.Properties()) == 1:
		return shape.Properties()[0], true
	}
	return "", false
}

// codeAt reports whether code stands i bytes from here, not a call in one of
// the other forms.
func (m *machine) codeAt(i int) bool {
	if i = m.spaces(i); m.hasAt(i, "```") {
		for i += 3; m.at(i) && isLetter(m.buf[m.pos+i]); i++ {
		}
		i = m.spaces(i)
	}
	c := m.peek(i)
	if !m.at(i) || strings.IndexByte("{[<`", c) >= 0 || m.closer(i) {
		return false
	}
	j := m.word(i, "")
	word := m.withoutMethod(string(m.buf[m.pos+i : m.pos+j]))
	return m.peek(j) != '(' || j == i || !m.names.offered(word) && len(word) == j-i
}

// isCode reports whether the name written so is that of the tool that runs
// code, and code stands at j, on a line of its own if a separator did not say
// so.
func (m *machine) isCode(written string, i, j int) bool {
	name, _, ok := m.codeTool()
	if !ok || name != written || i != j && m.peek(i) != '\n' {
		return false
	}
	if m.hint.meets(m.lex.namedCode) && m.offset() == m.first && m.depth == 0 {
		return m.at(j) && m.peek(m.spaces(j)) != '{'
	}
	return m.depth > 0 && m.rows.only(m.lex.namedCode) && m.codeAt(j)
}

// rawCode reads the rest of a message as a call of the tool that runs code, if
// there is one and what follows is no other call.
func (m *machine) rawCode(start int) bool {
	name, key, ok := m.codeTool()
	m.narrow(m.lex.rawCode)
	return ok && m.startCall(name, "", start) && m.codeBody(key)
}

// namedCode reads a call of the tool that runs code: its name, of i bytes, and
// from the j-th byte the code.
func (m *machine) namedCode(written string, i, j, start int) bool {
	name, key, ok := m.codeTool()
	if !ok || name != written || !m.callNamed(written, i, start) {
		return false
	}
	m.skip(j-i, "separator")
	return m.codeBody(key)
}

// codeBody reads code, with a fence around it or without, up to the marker
// that ends it, as the parameter key.
func (m *machine) codeBody(key string) bool {
	m.blank("")
	fenced := m.hasAt(0, "```")
	if fenced {
		m.skip(m.fenceLength(), "fence")
	}
	m.arg("{" + quoteJSON(key) + ":")
	s := sink{m: m, value: value{types: schema.String, trim: spec.Trimmed, known: true}}
	stop := byte('>')
	if fenced {
		stop = '`'
	}
	all := func() bool { return s.until('<', stop) }
	for m.flows(0, all) {
		if all() {
			continue
		}
		if fenced && m.hasAt(0, "```") || !fenced && m.closer(0) {
			break
		}
		s.passed = 1
	}
	if !m.more() && m.truncated() {
		m.cutCall()
		return true
	}
	s.close()
	if len(m.call.args) > 0 && m.call.args[len(m.call.args)-1] != '"' { // no code at all
		m.badArgs("there is no code")
	}
	m.arg("}")
	if fenced {
		m.endFence()
	}
	m.endCall()
	return true
}
