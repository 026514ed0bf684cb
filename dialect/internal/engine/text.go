package engine

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// text reads text, and the markers and calls in it, until thinking begins or the answer ends.
func (m proseReader) text() {
	flow := m.allPlain
	for m.Mode == judge.InText && m.Flows(0, flow) {
		if !m.Started {
			m.withMarkup(m.forms.Opening)
			if m.Mode != judge.InText || !m.More() {
				continue
			}
		}
		m.plain()
		if m.Pos < len(m.Buf) && (m.nothing() || !m.withMarkup(m.forms.Special)) {
			m.Pos++
		}
	}
}

// allPlain reads text without waiting and reports whether it reached the end of the buffer. It may leave the last byte
// unread if the next byte decides its meaning.
func (m proseReader) allPlain() bool {
	if !m.Prose {
		if m.Mode == judge.InText && !m.Started {
			return false // the first word is special
		}
		m.Prose = m.Flow != nil && m.Direct && !m.worded()
	}
	m.plain()
	return m.Pos >= len(m.Buf)-1
}

// prosaic adds and reads a chunk of plain text in the middle of a line while no other text is pending. It does the same
// as allPlain for most chunks, in fewer steps. It reports whether it has read the chunk.
func (m proseReader) prosaic(chunk string) bool {
	start := len(m.Buf)
	if m.run != start || start+len(chunk) > cap(m.Buf) || m.Buf[start-1] == '\n' {
		return false
	}
	m.Buf = append(m.Buf, chunk...)
	if m.Lex.IndexStop(m.Buf[start:]) < len(chunk) {
		m.Buf = m.Buf[:start]
		return false
	}
	m.Progress.Clean.Reach(m.Base+start, m.Base+len(m.Buf))
	m.Pos, m.run = len(m.Buf), len(m.Buf) // no pending text needs m.Chunk
	return true
}

// plain reads text up to a byte that may begin a marker or a call.
func (m *machine) plain() {
	rest := m.Buf[m.Pos:]
	prev := m.Prev()
	worded := m.PlainText().worded()
	m.Progress.Clean.Reach(m.Offset(), m.Offset())
	for i := 0; ; i++ {
		if prev != '\n' && !worded {
			if n := m.Lex.IndexStop(rest[i:]); n > 0 {
				i += n
				prev = rest[i-1]
			}
		}
		if i >= len(rest) {
			break
		}
		if lexicon.Anchors[rest[i]] {
			m.Progress.Clean.Start = m.Offset() + i + 1
		}
		if m.PlainText().triggered(rest[i:], prev, worded) {
			m.Pos += i
			m.Progress.Clean.End = m.Offset()
			return
		}
		prev = rest[i]
	}
	m.Pos = len(m.Buf)
	m.Progress.Clean.End = m.Offset()
}

// worded reports whether the current thinking can also end with ordinary words.
func (m proseReader) worded() bool {
	return m.Mode == judge.InThinking && m.ThinkBy != nil && m.ThinkBy.Line
}

// triggered reports whether p, after the byte prev, may begin a marker or a call. It reads only the buffer and never
// waits.
func (m proseReader) triggered(p []byte, prev byte, worded bool) bool {
	c, line := p[0], prev == '\n'
	switch m.placeOf(c) {
	case lexicon.Nowhere:
		return false
	case lexicon.LineOnly:
		if !line || worded {
			return worded
		}
	case lexicon.WordOnly:
		if chars.IsNameByte(prev) && !worded {
			return false
		}
	case lexicon.NameOnly:
		return chars.IsNameByte(prev) || line && !m.Names.Any
	}
	switch {
	case len(p) == 1 || line && (m.Names.First.Has(c) || m.Names.Begin.Has(c)):
		return true
	case c == '<' && p[1] == ' ':
		return m.Lex.SpacedMarker(p)
	}
	return m.Lex.Followers[c].Has(p[1])
}

// placeOf returns where c may begin a marker or a call.
func (m proseReader) placeOf(c byte) lexicon.Position {
	p := m.Lex.Triggers[c]
	if p == lexicon.Nowhere && m.Names.Starts.Has(c) {
		return lexicon.LineOnly
	}
	return p
}

// nothing reports whether the byte after the next one shows that the next byte is plain text. plain may not have seen
// that byte.
func (m proseReader) nothing() bool {
	c := m.Buf[m.Pos]
	if m.placeOf(c) == lexicon.LineOnly || m.Names.First.Has(c) && m.Prev() == '\n' {
		return false
	}
	return m.At(1) && !m.Lex.Followers[c].Has(m.Buf[m.Pos+1])
}

// RecipientLine skips the recipient of a message at the beginning of an answer, where the prompt held the marker before
// it: a word and a marker, or the line of a dialect that separates messages.
func (m proseReader) RecipientLine(i int) bool {
	if m.NamedAt(i) {
		if n := m.Addressee(i, m.Lex.Roles, false); n > 0 {
			m.Skip(i+n, "recipient")
			m.Around.Headed = m.Offset()
			return true
		}
	}
	for _, o := range m.Lex.Openings {
		if m.HasAt(i, o.Line.Open) && m.opensAnswer(o, i+len(o.Line.Open)) {
			m.Skip(i+len(o.Line.Open), "recipient")
			m.First, m.Around.Headed = m.Offset(), m.Offset()
			return true
		}
	}
	return false
}

// opensAnswer reports whether the line before the j-th byte begins an answer in its dialect and is not text.
func (m proseReader) opensAnswer(o lexicon.Opening, j int) bool {
	for !m.Hint.Meets(o.Row) && !m.HasAt(j, o.Line.Close) {
		if j++; j > scan.MaxGuess || !m.At(j) {
			return false
		}
	}
	return true
}

// InsideCall reports whether the end of thinking, of n bytes, is between a call and the marker that ends the call. The
// model then forgot to end its thinking before the call.
func (m proseReader) InsideCall(n int) bool {
	t, _ := m.Match(m.Spaces(n))
	return m.Depth > 0 && t.Is(lexicon.Closes)
}

// Drop skips a marker that has no meaning for calls. A tag that is also an ordinary element counts as a marker only
// next to thinking, at the end, or if the dialect with this marker is expected.
func (m proseReader) Drop(t *lexicon.Token, n int) bool {
	if chars.IsPlainTag(t.Text) && !t.Always {
		if !m.Hint.Meets(t.In(lexicon.Drops)) && (!m.Thought || !strings.HasPrefix(t.Text, "</") && m.Said()) {
			return false
		}
	}
	m.Pass(t, n)
	return true
}

// Citation skips a citation tag, like <co> or </co: 0:[1,2]>, if the dialect of the answer has such tags.
func (m proseReader) Citation() bool {
	if !m.Cites && !m.Hint.Meets(m.Lex.Cites) {
		return false
	}
	i := 1
	if m.Peek(i) == '/' {
		i++
	}
	n := m.AnyOf(i, m.Lex.Cited)
	if n == 0 {
		return false
	}
	for i += n; i < lexicon.MaxName && m.At(i) && strings.IndexByte(" 0123456789:,[]", m.Buf[m.Pos+i]) >= 0; i++ {
	}
	if m.Peek(i) != '>' {
		return false
	}
	m.Skip(i+1, "citation")
	return true
}

// Pass skips a marker that has no meaning for calls and, if it begins a message, the recipient of the message.
func (m proseReader) Pass(t *lexicon.Token, n int) {
	m.Skip(n, t.Text)
	m.Origin = m.Offset() // text after it counts as the beginning of an answer
	m.Cites = m.Cites || t.All.Within(m.Lex.Cites)
	if t.Is(lexicon.Addresses) {
		if n := m.Addressee(m.Spaces(0), t.In(lexicon.Addresses), true); n > 0 {
			m.Skip(m.Spaces(0)+n, "recipient")
		}
	}
	m.Around.Headed = m.Offset()
}
