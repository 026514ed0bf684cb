package engine

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// nameBefore returns the offered name with which the text before here ends,
// behind other words or glued to them, and its length.
func (m *machine) nameBefore(text []byte) (name string, n int) {
	for n < min(len(text), maxName) && (isWordByte(text[len(text)-1-n]) || text[len(text)-1-n] == '\\') {
		n++
	}
	written := text[len(text)-n:]
	for {
		if name, ok := m.names.resolve(string(written)); ok && len(written) > 0 {
			return name, len(written)
		}
		i := bytes.IndexAny(written, ".:/")
		if i < 0 {
			return "", 0
		}
		written = written[i+1:]
	}
}

// jsonBehindName reads the JSON that stands here as the arguments of the tool
// whose name ends the line before. The name has left as text, so that it is a
// guess.
func (m *machine) jsonBehindName() bool {
	if m.names.any || m.names.none || m.coded || m.quoting || !m.atLine() {
		return false
	}
	line := m.lately()
	text := bytes.TrimRight(line, " \t\r\n:")
	if bytes.Count(line[len(text):], []byte{'\n'}) != 1 {
		return false
	}
	if s := bytes.TrimSuffix(text, []byte{'`'}); len(s) < len(text) && bytes.HasPrefix(bytes.TrimLeft(lastLine(s), " \t"), []byte{'`'}) {
		text = s // all of its line is inline code
	}
	name, n := m.nameBefore(text)
	if key, _ := m.keyAt(m.spaces(1)); name == "" || !m.declares(name, key) {
		return false
	}
	start := m.offset() - len(line) + len(text) - n
	return m.guess(func() bool {
		m.marked, m.depth, m.rows = false, 1, m.lex.bare.and(m.lex.form[spec.NameJSON])
		if !m.startCall(name, "", start) {
			return false
		}
		m.repair("name-in-text", llm.Guess, start, m.offset())
		m.jsonBody()
		return true
	})
}

// callInLine reads the arguments in parentheses that stand here, behind the name
// of a tool in a line of text. The name has left as text.
func (m *machine) callInLine() bool {
	if m.names.any || m.names.none || m.coded || m.quoting || m.exampled() {
		return false
	}
	name, n := m.nameBefore(m.lately())
	if name == "" || !m.argumentsOf(name) {
		return false
	}
	return m.guess(func() bool {
		m.marked, m.depth, m.rows = false, 1, m.lex.bare.and(m.lex.form[spec.PyCall])
		if !m.startCall(name, "", m.offset()-n) {
			return false
		}
		m.skip(1, "(")
		m.pyArgs()
		m.endCall()
		return true
	})
}

// argumentsOf reports whether a parenthesis, or a brace in it, stands here with
// a parameter of a tool.
func (m *machine) argumentsOf(name string) bool {
	i := m.spaces(1)
	if m.peek(i) == '{' {
		key, _ := m.keyAt(m.spaces(i + 1))
		return m.declares(name, key)
	}
	n := m.keyLength(i)
	return n > 0 && m.declares(name, strings.TrimRight(string(m.buf[m.pos+i:m.pos+i+n]), "= \t\r\n"))
}

// declares reports whether a tool has a parameter of that name.
func (m *machine) declares(name, key string) bool {
	shape := m.names.shape(name)
	return shape != nil && key != "" && shape.Declares(loose.Unescape(key))
}
