package engine

import (
	"bytes"
	"strings"
)

// fence reads a call in a code fence, or passes over one that holds none.
func (m *machine) fence(start int) bool {
	if !m.hasAt(0, "```") {
		return false
	}
	if m.quoting && isSpace(m.peek(m.fenceLength())) && !isLetter(m.buf[m.pos+m.fenceLength()-1]) { // its end
		m.quoting = false
		return false
	}
	before := m.lost.clone()
	m.quoting = !m.guess(func() bool { return m.fenced(start) })
	if m.quoting && (m.guess(m.looseFence) || m.fenceBehindName()) {
		m.quoting, m.lost = false, before
	}
	return !m.quoting
}

// inCode reports whether we are in a code fence that is no call, behind other
// code on the same line.
func (m *machine) inCode() bool {
	if !m.quoting {
		return false
	}
	line := m.lately()
	return len(bytes.TrimLeft(lastLine(line), " \t")) > 0
}

// fenced reads a call inside a code fence.
func (m *machine) fenced(start int) bool {
	n := m.fenceLength()
	all := m.lex.fences[string(m.buf[m.pos:m.pos+n])]
	if m.rows.meets(all) {
		m.rows = m.rows.and(all)
	}
	m.skip(n, "fence")
	m.fenceInfo()
	m.blank("")
	if m.hasAt(0, "```") || !m.one(start) {
		if all.within(m.lex.fenced) { // its word says that it is a call
			m.lost.add(all, start)
		}
		return false
	}
	for m.depth > 0 && !m.endFence() && m.more() {
		m.blank(",;")
		if c := m.peek(0); (c != '{' && c != '[' && !isNameStart(c)) || !m.guess(func() bool { return m.one(m.offset()) }) {
			break
		}
	}
	return true
}

// maxFence bounds the backticks of a fence that are looked at, so that a run of
// them is read in linear time.
const maxFence = 32

// fenceLength is the length of the fence that stands here with its word.
func (in *input) fenceLength() int {
	i := 3
	for i < maxFence && in.peek(i) == '`' {
		i++
	}
	for in.at(i) && (isLetter(in.peek(i)) || in.peek(i) == '_') {
		i++
	}
	return i
}

// fenceInfo passes over words that stand behind the first one of a fence.
func (m *machine) fenceInfo() {
	for i := 0; i < maxName && m.at(i); i++ {
		c := m.buf[m.pos+i]
		if c == '\n' {
			m.skip(i, "fence")
		}
		if !isNameByte(c) && c != ' ' && c != '=' {
			return
		}
	}
}

// endFence passes over a closing fence, if there is one.
func (m *machine) endFence() bool {
	i := m.spaces(0)
	if !m.hasAt(i, "```") {
		return false
	}
	for i += 3; m.peek(i) == '`'; i++ {
	}
	m.skip(i, "fence")
	m.block = codeFence{}
	return true
}

// program passes over the fence that stands here if it begins or ends a block of
// code. A model that shows a program calls nothing with it.
func (m *machine) program() bool {
	if m.mode != inText || len(m.tries) > 0 || !m.hasAt(0, "```") {
		return false
	}
	if m.inLongerFence() {
		m.pos += m.ticks()
		return true
	}
	if m.coded {
		m.coded = false
		m.pos += m.fenceLength()
		return true
	}
	line := m.lately()
	line = lastLine(line)
	n := m.fenceLength()
	if len(bytes.TrimSpace(line)) > 0 || !languages[strings.ToLower(strings.TrimLeft(string(m.buf[m.pos:m.pos+n]), "`"))] {
		return false
	}
	m.coded = true
	m.pos += n
	return true
}

// languages are the words of fences in which models do not write calls.
var languages = func() map[string]bool {
	set := make(map[string]bool)
	for word := range strings.FieldsSeq(`bash c console cpp cs csharp css csv cuda dart diff dockerfile elixir erlang go golang
		graphql haskell hcl html ini java javascript js jsx julia kotlin kt latex lua makefile markdown matlab md nginx objc
		perl php powershell proto protobuf r rb rs ruby rust scala sh shell sql svelte swift terraform tex toml ts tsx
		typescript vue yaml yml zig zsh`) {
		set[word] = true
	}
	return set
}()
