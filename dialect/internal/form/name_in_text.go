package form

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/spec"
	"github.com/toolpost/toolpost/llm"
)

// maxMarks is the most signs before a name on its line that may have been suspected themselves.
const maxMarks = 16

// jsonAfterName reads the JSON at the current position as the arguments of the tool named on the line before. The name
// was already emitted as text, so the call is a guess.
func (m bareReader) jsonAfterName() bool { return !m.Quoting && m.objectAfterName(0, 1) }

// fenceAfterName is jsonAfterName for JSON in the code fence at the current position.
func (m bareReader) fenceAfterName() bool { return m.objectAfterName(m.Spaces(m.FenceLength()), 2) }

// objectAfterName reads the object at a distance, up to so many lines below the name of its tool.
func (m bareReader) objectAfterName(at, lines int) bool {
	if m.Names.Any || m.Names.None || m.Coded || !m.AtLine() || m.Peek(at) != '{' {
		return false
	}
	name, start := m.namedBefore(lines)
	if key, _ := m.KeyAt(m.Spaces(at + 1)); name == "" || !m.Declares(name, key) || m.Lost.Before(start-maxMarks) { // part of a list
		return false
	}
	return m.Guess(func() bool { return m.argumentsAfterName(name, start) })
}

// namedBefore returns the offered name that ends the previous line and its offset. If the line ends with a colon, the
// only offered name in it counts. At most the given number of newlines may follow the line.
func (m bareReader) namedBefore(lines int) (name string, at int) {
	line := m.Lately()
	text := bytes.TrimRight(line, " \t\r\n:*")
	if n := bytes.Count(line[len(text):], []byte{'\n'}); n < 1 || n > lines {
		return "", 0
	}
	colon := bytes.IndexByte(line[len(text):], ':') >= 0
	if s := bytes.TrimSuffix(text, []byte{'`'}); len(s) < len(text) && (colon || bytes.HasPrefix(bytes.TrimLeft(chars.LastLine(s), " \t"), []byte{'`'})) {
		text = s // the whole line is inline code
	}
	end := m.Offset() - len(line) + len(text)
	if name, n := m.NameBefore(text); name != "" || !colon {
		return name, end - n
	}
	return m.onlyName(chars.LastLine(text), end)
}

// onlyName returns the only offered name in a line, and its offset. The line ends at the offset end.
func (m bareReader) onlyName(line []byte, end int) (name string, at int) {
	for i := 0; i < len(line); {
		n := chars.WordLength(line[i:])
		if n == 0 {
			i++
			continue
		}
		if found, ok := m.Names.Resolve(chars.Unescaped(line[i : i+n])); ok {
			if name != "" && name != found {
				return "", 0
			}
			name, at = found, end-len(line)+i
		}
		i += n
	}
	return name, at
}

// argumentsAfterName reads the JSON at the current position, in a fence or not, as the arguments of a tool. The name of
// the tool, at start, was already emitted as text.
func (m bareReader) argumentsAfterName(name string, start int) bool {
	m.Marked, m.Depth, m.Rows = false, 1, m.Lex.Bare.And(m.Lex.Form[spec.NameJSON])
	if !m.StartCall(name, "", start) {
		return false
	}
	m.Repair("name-in-text", llm.Guess, start, m.Offset())
	m.asName().jsonBody()
	return true
}

// callInLine reads the arguments in parentheses at the current position, after the name of a tool in a line of text.
// The name was already emitted as text.
func (m bareReader) callInLine() bool {
	if m.Names.Any || m.Names.None || m.Coded || m.Quoting || m.Exampled() {
		return false
	}
	before := m.Lately()
	name, n := m.NameBefore(before)
	if name == "" || m.InResult(before[:len(before)-n]) || !m.argumentsOf(name) {
		return false
	}
	return m.Guess(func() bool {
		m.Marked, m.Depth, m.Rows = false, 1, m.Lex.Bare.And(m.Lex.Form[spec.PyCall])
		if !m.StartCall(name, "", m.Offset()-n) {
			return false
		}
		m.Skip(1, "(")
		m.asPython().pyArgs()
		m.EndCall()
		return true
	})
}

// argumentsOf reports whether the parenthesis at the current position, or a brace in it, begins with a parameter of a
// tool.
func (m bareReader) argumentsOf(name string) bool {
	i := m.Spaces(1)
	if m.Peek(i) == '{' {
		key, _ := m.KeyAt(m.Spaces(i + 1))
		return m.Declares(name, key)
	}
	n := m.asPython().keyLength(i)
	return n > 0 && m.Declares(name, strings.TrimRight(string(m.Buf[m.Pos+i:m.Pos+i+n]), "= \t\r\n"))
}
