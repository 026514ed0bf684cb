package form

import (
	"fmt"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/engine"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/llm"
)

// yamlElement reads a call whose arguments are YAML in the element of its name, after a tag of n bytes. The tag must
// have its own line, and the first key must be a parameter of the tool. The arguments are emitted when they are
// complete, because later lines can change the meaning of a line.
func (m elementReader) yamlElement(word string, n, start int) bool {
	indent, ok := m.yamlAt(word, n)
	if !ok || !m.AtLine() {
		return false
	}
	m.Narrow(m.Lex.Yaml)
	if !m.StartCall(word, "", start) {
		return false
	}
	m.Read(engine.NameSpan, n, "element")
	text, ok := m.yamlText("</"+word+">", indent)
	if !ok {
		m.CutCall()
		return true
	}
	args, odd, err := values.ReadYAML(values.WithoutFence(text), m.Shape())
	if err != nil {
		m.BadArgs("the YAML cannot be read: %v", err)
	} else {
		m.ArgBytes(args)
		if odd || chars.IsPlainTag("<"+word+">") && !m.Hint.Meets(m.Lex.Yaml) { // a document may hold such an element
			m.Repair("yaml", llm.Guess, start+n, m.Offset())
		}
	}
	m.EndCall()
	return true
}

// yamlAt reports whether a line with a parameter of the tool word follows the tag of n bytes. indent is the indentation
// of that line.
func (m elementReader) yamlAt(word string, n int) (indent int, ok bool) {
	name, _ := m.Names.Resolve(word)
	shape := m.Names.Shape(name)
	for m.Peek(n) == ' ' || m.Peek(n) == '\r' {
		n++
	}
	if m.Peek(n) != '\n' || shape == nil && !m.Hint.Meets(m.Lex.Yaml) {
		return 0, false
	}
	end := m.yamlPreamble(m.Spaces(n))
	line := end
	for m.Buf[m.Pos+line-1] != '\n' {
		line--
	}
	key, i := m.yamlKeyAt(end)
	if m.Peek(i) != ':' || shape != nil && !shape.Declares(key) {
		return 0, false
	}
	return end - line, chars.IsSpace(m.Peek(i + 1))
}

// yamlPreamble returns the index of the first key after i. It skips comments, a document marker and a code fence.
func (m elementReader) yamlPreamble(i int) int {
	for n := 0; n < scan.MaxNested && (m.Peek(i) == '#' || m.HasAt(i, values.YamlDocument) || m.HasAt(i, "```")); n++ {
		for end := i + scan.MaxTag; i < end && m.At(i) && m.Buf[m.Pos+i] != '\n'; i++ {
		}
		i = m.Spaces(i)
	}
	return i
}

// yamlKeyAt returns the key at i, with or without quotes, and the index after it.
func (m elementReader) yamlKeyAt(i int) (key string, end int) {
	if q := m.Peek(i); chars.IsQuote(q) {
		j := i + 1
		for j < i+lexicon.MaxName && m.At(j) && m.Buf[m.Pos+j] != q && m.Buf[m.Pos+j] != '\n' {
			j++
		}
		return string(m.Buf[m.Pos+i+1 : m.Pos+j]), j + 1
	}
	end = m.Word(i, ":")
	return string(m.Buf[m.Pos+i : m.Pos+end]), end
}

// yamlText reads up to the tag end. The tag counts only on a line that is not indented further than the keys; on other
// lines it is part of a value. It reports false if the answer ends first.
func (m elementReader) yamlText(end string, indent int) (text string, ok bool) {
	var raw []byte
	for m.More() {
		i := 0
		for m.Peek(i) == ' ' {
			i++
		}
		mayEnd := i <= indent
		for m.At(i) && m.Buf[m.Pos+i] != '\n' && !(mayEnd && m.Buf[m.Pos+i] == '<' && m.HasAt(i, end)) {
			i++
		}
		ends := m.At(i) && m.Buf[m.Pos+i] == '<'
		if m.At(i) && !ends {
			i++
		}
		raw = append(raw, m.Buf[m.Pos:m.Pos+i]...)
		m.Read(engine.ArgsSpan, i, "YAML")
		if len(raw) > m.MaxCall() {
			m.Fail(fmt.Errorf("the arguments of %s are longer than %d bytes", m.Call.Name, m.MaxCall()))
			return "", false
		}
		if ends {
			m.Skip(len(end), end)
			return string(raw), true
		}
	}
	return "", false
}
