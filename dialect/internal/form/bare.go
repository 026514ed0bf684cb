package form

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/spec"
)

// bare reads a call that begins with c at the current position and has no marker. Only its name distinguishes it from
// other text.
func (m bareReader) bare(c byte) bool {
	if c == '{' && m.asEnvelope().saidInEnvelope() {
		return true
	}
	if m.Names.None || m.Coded || !m.plausible(c) {
		return m.looseLine(nil)
	}
	before := m.suspectedBefore()
	if (c == '{' || c == '[') && (m.Exampled() || m.asFence().inCode()) {
		m.Lost.Add(m.Lex.Bare, m.Offset(), judge.Example)
		return false
	}
	start := m.Offset()
	m.Marked, m.Depth, m.Rows = false, 1, m.Lex.Bare
	ok := false
	switch {
	case c == '{':
		ok = m.Guess(func() bool {
			m.Form(spec.JSONCall)
			return m.asJson().object(m.asJson().newEnvelope(start))
		})
	case c == '[':
		ok = m.Guess(func() bool { return m.asMarker().list(start) })
	case c == '`':
		ok = m.asFence().fence(start)
	case c == '<':
		ok = m.Guess(func() bool { return m.asElement().element(start) })
	case m.Names.First.Has(c) && m.AtLine() && !m.Names.Any:
		ok = m.Guess(m.bareNamed)
	}
	if ok && c != '`' {
		m.moreBare()
	}
	return ok || m.looseLine(before)
}

// suspectedBefore returns a copy of the current suspects for looseLine. It returns nil unless a line begins here.
func (m bareReader) suspectedBefore() *judge.Suspects {
	if !m.AtLine() {
		return nil
	}
	now := m.Lost.Clone()
	return &now
}

// looseLine reads the block that begins with this line if package loose can read it. Otherwise it counts the line as a
// suspect if it looks like a call. before holds the suspects at the beginning of this line; nil means the current ones.
func (m bareReader) looseLine(before *judge.Suspects) bool {
	start := m.Offset()
	if m.Buf[m.Pos] == '{' && m.jsonAfterName() {
		return true
	}
	if m.asLoose().looseAt() {
		if before == nil {
			now := m.Lost.Clone()
			before = &now
		}
		m.Marked, m.Depth, m.Rows = false, 1, m.Lex.Bare
		if m.Guess(func() bool { return m.asLoose().looseBlock("") }) {
			m.Lost = *before
			return true
		}
		if m.Peek(0) != '{' { // an object may be data
			m.Lost.Add(m.Lex.Bare.And(m.Lex.Form[spec.PyCall]), start, judge.Unreadable)
		}
	}
	m.asBare().suspectName()
	return false
}

// plausible reports whether the next bytes justify a guess. It looks only at the first ones.
func (m bareReader) plausible(c byte) bool {
	switch c {
	case '{':
		return m.plausibleKey(m.Spaces(1))
	case '[':
		p := m.Prev()
		if p == '\\' { // a formula
			return false
		}
		i := m.Spaces(m.PyComment(m.Spaces(1)))
		if m.Peek(i) == '[' { // a list in a list may hold calls; deeper lists do not
			i = m.Spaces(i + 1)
		}
		if m.Peek(i) == '{' {
			return m.plausibleKey(m.Spaces(i + 1))
		}
		index := chars.IsLetter(p) || p >= '0' && p <= '9' || p == '_' || p == ')' || p == ']'
		return chars.IsNameStart(m.Peek(i)) && (!index || m.Since == m.Offset()) // right after a call it is not an index
	case '`':
		return m.HasAt(0, "```")
	case '<':
		return chars.IsNameStart(m.Peek(1))
	}
	return m.Names.First.Has(c) && !m.Names.Any && m.AtLine()
}

// moreBare reads the calls that directly follow a call without a marker.
func (m bareReader) moreBare() {
	for m.More() {
		ok := m.Guess(func() bool {
			start := m.Offset()
			m.Blank(";,")
			switch c := m.Peek(0); {
			case c == '{':
				return m.asJson().object(m.asJson().newEnvelope(start))
			case c == ']' && m.Buf[m.Pos] == ']':
				m.Skip(1, "]")
				return true
			case m.HasAt(0, bracePrefix) && m.Rows.Meets(m.Lex.Form[spec.BraceCall]):
				return m.asBrace().braceCall(start)
			case chars.IsNameStart(c) && (!m.Names.Any || m.Rows.Within(m.Lex.Form[spec.PyCall]) && m.Peek(m.Word(0, "")) == '('):
				return m.asName().nameFirst(start)
			}
			return false
		})
		if !ok {
			m.suspectUnknown()
			break
		}
	}
	if i := m.Spaces(0); m.Peek(i) == ';' && !m.At(m.Spaces(i+1)) { // a separator after the last call
		m.Skip(m.Spaces(i+1), "separator")
	}
}

// suspectUnknown counts a call of an unknown tool on the line after a call. Without this it would be lost silently.
func (m bareReader) suspectUnknown() {
	i := m.Gap(0)
	if m.Names.Any || !m.At(i) || bytes.IndexByte(m.Buf[m.Pos:m.Pos+i], '\n') < 0 {
		return
	}
	if j := m.Word(i, ""); j > i && chars.IsNameStart(m.Peek(i)) && m.Peek(j) == '(' && m.asPython().keyLength(m.Spaces(j+1)) > 0 {
		m.Lost.Add(m.Lex.Bare.And(m.Lex.Form[spec.PyCall]), m.Offset()+i, judge.UnknownTool)
	}
}

// bareNamed reads a call that begins with its name.
func (m bareReader) bareNamed() bool {
	m.Marked, m.Depth, m.Rows = false, 0, m.Lex.Bare
	if m.HasAt(0, bracePrefix) && !m.Names.Any { // the special tokens around it are missing
		m.Rows = m.Lex.Form[spec.BraceCall]
		return m.asBrace().braceCall(m.Offset())
	}
	return m.asName().nameFirst(m.Offset())
}

// suspectName counts an offered name just before a parenthesis or a brace. A name before a square bracket is usually a
// list in a program; the check over the whole answer finds such lists if they hold a parameter.
func (m bareReader) suspectName() {
	c := m.Buf[m.Pos]
	if m.Names.Any || c != '(' && c != '{' {
		return
	}
	text := m.Lately()
	start := len(text)
	for start > 0 && chars.IsNameByte(text[start-1]) {
		start--
	}
	like := spec.PyCall
	if c != '(' {
		like = spec.NameJSON
	}
	if name := string(text[start:]); name != "" && m.Names.Offered(name) || m.asBare().unknownFirst() {
		m.Lost.Add(m.Lex.Bare.And(m.Lex.Form[like]), m.Offset()-len(name), judge.Unreadable)
	}
}

// unknownFirst reports whether the bracket at the current position may begin the arguments of a tool that was not
// offered: the text before it is only a name, and a key follows.
func (m bareReader) unknownFirst() bool {
	if !m.Started || m.Offset()-m.First > lexicon.MaxName || m.First < m.Base {
		return false
	}
	before := string(m.Buf[m.First-m.Base : m.Pos])
	name := strings.TrimRight(before, " \r\n")
	if name == "" || strings.ContainsFunc(name, func(r rune) bool { return r >= utf8.RuneSelf || !chars.IsNameByte(byte(r)) }) {
		return false
	}
	switch c := m.Buf[m.Pos]; {
	case c == '(' && name == before:
		return m.asPython().keyLength(m.Spaces(1)) > 0
	case c == '{' && strings.ContainsAny(name, "_."):
		return m.Peek(m.Spaces(1)) == '"'
	}
	return false
}
