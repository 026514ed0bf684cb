package form

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
)

// fence reads a call in a code fence. It reports false if the fence does not hold a call.
func (m fenceReader) fence(start int) bool {
	if !m.HasAt(0, "```") {
		return false
	}
	if m.Quoting && chars.IsSpace(m.Peek(m.FenceLength())) && !chars.IsLetter(m.Buf[m.Pos+m.FenceLength()-1]) { // the end of the fence
		m.Quoting = false
		return false
	}
	before := m.Lost.Clone()
	m.Quoting = !m.Guess(func() bool { return m.fenced(start) })
	if m.Quoting && (m.Guess(m.asLoose().looseFence) || m.asBare().fenceAfterName()) {
		m.Quoting, m.Lost = false, before
	}
	return !m.Quoting
}

// inCode reports whether the current position is in a code fence that does not hold a call, after other code on the
// line.
func (m fenceReader) inCode() bool {
	if !m.Quoting {
		return false
	}
	line := m.Lately()
	return len(bytes.TrimLeft(chars.LastLine(line), " \t")) > 0
}

// fenced reads the calls in a code fence.
func (m fenceReader) fenced(start int) bool {
	n := m.FenceLength()
	all := m.Lex.Fences[string(m.Buf[m.Pos:m.Pos+n])]
	if m.Rows.Meets(all) {
		m.Rows = m.Rows.And(all)
	}
	m.openFence(n)
	m.fenceInfo()
	m.Blank("")
	read := m.asMarker().one
	if t, _ := m.Match(0); t.In(lexicon.Opens).Meets(all) { // the marker of its calls
		read = func(start int) bool { return m.asMarker().unit(start, true) }
	}
	if m.HasAt(0, "```") || !read(start) {
		if all.Within(m.Lex.Fenced) { // its info string announces a call
			m.Lost.Add(all, start, judge.Unreadable)
		}
		return false
	}
	for m.Depth > 0 && !m.endFence() && m.More() {
		m.Blank(",;")
		if c := m.Peek(0); (c != '{' && c != '[' && !chars.IsNameStart(c)) || !m.Guess(func() bool { return m.asMarker().one(m.Offset()) }) {
			break
		}
	}
	return true
}

// openFence skips the beginning of a fence of n bytes. Its info string should be a language, a notation of calls or the
// name of a tool.
func (m fenceReader) openFence(n int) {
	word := strings.ToLower(strings.TrimLeft(string(m.Buf[m.Pos:m.Pos+n]), "`"))
	if word != "" && !judge.Languages[word] && !judge.Documents[word] && !judge.CallWords[word] && !notations[word] && m.Lex.Fences["```"+word].Empty() && !m.Names.Offered(word) {
		m.noteUnused(unusedText)
	}
	m.Skip(n, "fence")
}

// notations are further info strings of fences that hold calls.
var notations = map[string]bool{"json": true, "json5": true, "jsonc": true, "yaml": true, "yml": true, "python": true, "py": true}

// fenceInfo skips the words after the first word of an info string.
func (m fenceReader) fenceInfo() {
	for i := 0; i < lexicon.MaxName && m.At(i); i++ {
		c := m.Buf[m.Pos+i]
		if c == '\n' {
			for word := range strings.FieldsSeq(string(m.Buf[m.Pos : m.Pos+i])) {
				if !judge.CallWords[strings.ToLower(word)] {
					m.Unused = unusedText
				}
			}
			m.Skip(i, "fence")
		}
		if !chars.IsNameByte(c) && c != ' ' && c != '=' {
			return
		}
	}
}

// endFence skips a closing fence, if there is one. It reports whether there was one.
func (m fenceReader) endFence() bool {
	i := m.Spaces(0)
	if !m.HasAt(i, "```") {
		return false
	}
	for i += 3; m.Peek(i) == '`'; i++ {
	}
	m.Skip(i, "fence")
	m.Block = judge.CodeFence{}
	return true
}

// program skips the fence at the current position if it begins or ends a block of code. Code that a model shows does
// not contain calls.
func (m fenceReader) program() bool {
	if m.Mode != judge.InText || len(m.Tries) > 0 || !m.HasAt(0, "```") {
		return false
	}
	if m.InLongerFence() {
		m.Pos += m.Ticks()
		return true
	}
	if m.Coded {
		m.Coded = false
		m.Pos += m.FenceLength()
		return true
	}
	line := m.Lately()
	line = chars.LastLine(line)
	n := m.FenceLength()
	if len(bytes.TrimSpace(line)) > 0 || !judge.Languages[strings.ToLower(strings.TrimLeft(string(m.Buf[m.Pos:m.Pos+n]), "`"))] {
		return false
	}
	m.Coded = true
	m.Pos += n
	return true
}

// noteFence records that a code fence begins or ends here.
func (m *answer) noteFence() {
	if m.Mode != judge.InText || len(m.Tries) > 0 || m.Prev() == '`' || !m.HasAt(0, "```") {
		return
	}
	if m.Block.Open {
		if !m.InLongerFence() {
			m.Block = judge.CodeFence{}
		}
		return
	}
	n := m.FenceLength() // it may wait for input and move the buffer
	if rows := m.Lex.Fences[string(m.Buf[m.Pos:m.Pos+n])]; !rows.Empty() && rows.Within(m.Lex.Fenced) {
		return // its info string is a marker, so the fence holds only calls
	}
	word := strings.ToLower(strings.TrimLeft(string(m.Buf[m.Pos:m.Pos+n]), "`"))
	if judge.CallWords[word] {
		return
	}
	m.Block = judge.CodeFence{Open: true, Prose: !m.Begins(), Shows: judge.Languages[word] || judge.Documents[word], Start: m.Offset() + n, Ticks: m.Ticks()}
}
