package form

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/schema"
)

// codeTools are common names of a tool that runs code. In some dialects a call of it contains only the code.
var codeTools = []string{"python", "code_interpreter", "ipython", "python_interpreter", "interpreter"}

// codeTool returns the offered tool that runs code, and its parameter for the code.
func (m codeReader) codeTool() (name, key string, ok bool) {
	for _, s := range codeTools {
		if i, known := m.Names.Find(s); known && m.Names.Tools[i].Name == s {
			if key, ok = m.codeKey(s); ok {
				return s, key, true
			}
		}
	}
	return "", "", false
}

// codeKey returns the parameter of a tool that takes code: a parameter named "code", or the only parameter.
func (m codeReader) codeKey(name string) (key string, ok bool) {
	shape := m.Names.Shape(name)
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

// codeAt reports whether code is i bytes from here, and not a call in another form.
func (m codeReader) codeAt(i int) bool {
	if i = m.Spaces(i); m.HasAt(i, "```") {
		for i += 3; m.At(i) && chars.IsLetter(m.Buf[m.Pos+i]); i++ {
		}
		i = m.Spaces(i)
	}
	c := m.Peek(i)
	if !m.At(i) || strings.IndexByte("{[<`", c) >= 0 || m.Closer(i) {
		return false
	}
	j := m.Word(i, "")
	word := m.asPython().withoutMethod(string(m.Buf[m.Pos+i : m.Pos+j]))
	return m.Peek(j) != '(' || j == i || !m.Names.Offered(word) && len(word) == j-i
}

// isCode reports whether written is the name of the tool that runs code, and the code begins at j. The name ends at i.
// Without a separator between i and j, the code must be on a separate line.
func (m codeReader) isCode(written string, i, j int) bool {
	name, _, ok := m.codeTool()
	if !ok || name != written || i != j && m.Peek(i) != '\n' {
		return false
	}
	if m.Hint.Meets(m.Lex.NamedCode) && m.Offset() == m.First && m.Depth == 0 {
		return m.At(j) && m.Peek(m.Spaces(j)) != '{'
	}
	return m.Depth > 0 && m.Rows.Only(m.Lex.NamedCode) && m.codeAt(j)
}

// rawCode reads the rest of a message as a call of the tool that runs code. It reports false if no such tool was
// offered.
func (m codeReader) rawCode(start int) bool {
	name, key, ok := m.codeTool()
	m.Narrow(m.Lex.RawCode)
	return ok && m.StartCall(name, "", start) && m.codeBody(key)
}

// namedCode reads a call of the tool that runs code: its name of i bytes and, from the j-th byte, the code.
func (m codeReader) namedCode(written string, i, j, start int) bool {
	name, key, ok := m.codeTool()
	if !ok || name != written || !m.asName().callNamed(written, i, start) {
		return false
	}
	m.Skip(j-i, "separator")
	return m.codeBody(key)
}

// codeBody reads code as the parameter key, up to the marker that ends it. A code fence around the code is dropped.
func (m codeReader) codeBody(key string) bool {
	m.Blank("")
	fenced := m.HasAt(0, "```")
	if fenced {
		m.Skip(m.FenceLength(), "fence")
	}
	m.Arg("{" + chars.QuoteJSON(key) + ":")
	s := sink{m: m.answer, value: value{types: schema.String, trim: spec.Trimmed, known: true}, unended: true}
	stop := byte('>')
	if fenced {
		stop = '`'
	}
	all := func() bool { return s.until('<', stop) }
	for m.Flows(0, all) {
		if all() {
			continue
		}
		if fenced && m.HasAt(0, "```") || !fenced && m.Closer(0) {
			break
		}
		s.passed = 1
	}
	if !m.More() && m.Truncated() {
		m.CutCall()
		return true
	}
	s.close()
	if len(m.Call.Args) > 0 && m.Call.Args[len(m.Call.Args)-1] != '"' { // the code is empty
		m.BadArgs("there is no code")
	}
	m.Arg("}")
	if fenced {
		m.asFence().endFence()
	}
	m.EndCall()
	return true
}
