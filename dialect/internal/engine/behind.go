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
// that the line before names. The name has left as text, so that it is a guess.
func (m *machine) jsonBehindName() bool {
	if m.names.any || m.names.none || m.coded || m.quoting || !m.atLine() {
		return false
	}
	name, start := m.namedBefore(1)
	if key, _ := m.keyAt(m.spaces(1)); name == "" || !m.declares(name, key) {
		return false
	}
	return m.guess(func() bool { return m.argumentsBehind(name, start) })
}

// fenceBehindName is jsonBehindName for JSON in the code fence that stands here.
func (m *machine) fenceBehindName() bool {
	if m.names.any || m.names.none || m.coded || !m.atLine() {
		return false
	}
	name, start := m.namedBefore(2)
	i := m.spaces(m.fenceLength())
	if name == "" || m.peek(i) != '{' {
		return false
	}
	if key, _ := m.keyAt(m.spaces(i + 1)); !m.declares(name, key) {
		return false
	}
	return m.guess(func() bool { return m.argumentsBehind(name, start) })
}

// namedBefore returns the offered name with which the line before here ends, or
// the only one in it if it ends with a colon, and its offset. No more than the
// given number of newlines stand between the two.
func (m *machine) namedBefore(lines int) (name string, at int) {
	line := m.lately()
	text := bytes.TrimRight(line, " \t\r\n:*")
	if n := bytes.Count(line[len(text):], []byte{'\n'}); n < 1 || n > lines {
		return "", 0
	}
	colon := bytes.IndexByte(line[len(text):], ':') >= 0
	if s := bytes.TrimSuffix(text, []byte{'`'}); len(s) < len(text) && (colon || bytes.HasPrefix(bytes.TrimLeft(lastLine(s), " \t"), []byte{'`'})) {
		text = s // all of its line is inline code
	}
	end := m.offset() - len(line) + len(text)
	if name, n := m.nameBefore(text); name != "" || !colon {
		return name, end - n
	}
	return m.onlyName(lastLine(text), end)
}

// onlyName returns the only offered name in a line that ends at an offset, and
// its offset.
func (m *machine) onlyName(line []byte, end int) (name string, at int) {
	for i := 0; i < len(line); {
		n := wordLength(line[i:])
		if n == 0 {
			i++
			continue
		}
		if found, ok := m.names.resolve(unescaped(line[i : i+n])); ok {
			if name != "" && name != found {
				return "", 0
			}
			name, at = found, end-len(line)+i
		}
		i += n
	}
	return name, at
}

// argumentsBehind reads the JSON that stands here, in a fence or not, as the
// arguments of a tool whose name, at start, has left as text.
func (m *machine) argumentsBehind(name string, start int) bool {
	m.marked, m.depth, m.rows = false, 1, m.lex.bare.and(m.lex.form[spec.NameJSON])
	if !m.startCall(name, "", start) {
		return false
	}
	m.repair("name-in-text", llm.Guess, start, m.offset())
	m.jsonBody()
	return true
}

// callInLine reads the arguments in parentheses that stand here, behind the name
// of a tool in a line of text. The name has left as text.
func (m *machine) callInLine() bool {
	if m.names.any || m.names.none || m.coded || m.quoting || m.exampled() {
		return false
	}
	before := m.lately()
	name, n := m.nameBefore(before)
	if name == "" || m.inResult(before[:len(before)-n]) || !m.argumentsOf(name) {
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
