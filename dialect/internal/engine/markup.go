package engine

import (
	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// passMarkup passes on what the model wrote of the call that has been read.
func (m *machine) passMarkup() {
	if m.Opts.Markup == nil {
		return
	}
	m.keepHead()
	text := m.Call.head
	if text == nil {
		text = m.Buf[m.Call.Start-m.Base : m.Pos]
	}
	opener := ""
	if m.OpenTok != nil && m.Call.Marked && m.OpenAt < m.Call.Start && (text[0] == '{' || chars.IsNameStart(text[0])) {
		opener = m.OpenTok.Text
	}
	m.Emit(m.Opts.Markup(Markup{ID: m.Call.Id, Start: m.Call.Start, Before: m.Call.before, Text: string(text), Said: min(m.Call.said, len(text)), Opener: opener}))
}

// Around is the markup around the calls that a reader of text reads. All of it
// is told to anyone who asks for markup, so a call can be made the text again
// that the model wrote.
type Around struct {
	from   int  // offset of what neither has left as text nor is in the markup of a call
	Called bool // it follows a call
	Headed int  // offset after a header of a message that begins at from
}

// withMarkup reads a marker or a call with f, and reports the markup after the calls
// in it.
func (m *machine) withMarkup(f func() bool) bool {
	if m.Opts.Markup == nil {
		return f()
	}
	if at := m.Offset(); at != m.Around.Headed || at-m.Around.from > scan.MaxTail {
		m.Around.from = at
	}
	m.Around.Called = false
	ok := f()
	m.passClosing(m.Base + m.run)
	m.Around.Called = false
	return ok
}

// passClosing passes on the markup after the last call, up to an offset.
func (m *machine) passClosing(end int) {
	if m.Around.Called && m.Around.from < end {
		if m.Opts.Closing != nil {
			m.Emit(m.Opts.Closing(m.written(m.Around.from, end)))
		}
		m.Around.from = end
	}
}

// passOpening passes on the markup before the call that begins, or keeps it if
// there is no other call before it. It counts the bytes that have left as text already.
func (m *machine) passOpening() {
	if m.Opts.Markup == nil {
		return
	}
	c := m.Call
	c.said = max(0, m.Around.from-c.Start)
	end := c.Start
	if m.run < m.Pos { // text waits to leave
		end = min(end, m.Base+m.run)
	}
	if m.Around.Called {
		m.passClosing(end)
	} else if m.Around.from < end {
		c.before = m.written(m.Around.from, end)
	}
	m.Around.Called = false
}

// Promotes reports whether what fits the given dialects, after a marker or
// not, may be a call.
func (m *machine) Promotes(rows lexicon.RowSet, marked bool) bool {
	switch {
	case !m.Opts.Marked:
		return true
	case m.Hint.Empty():
		return marked
	}
	return rows.Meets(m.Hint) && (marked || m.Hint.Meets(m.Lex.Unmarked))
}
