package engine

import (
	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// passMarkup emits the markup of the call that has been read, if requested.
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

// Around tracks the markup around calls. If markup is requested, events report all of it, so the caller can rebuild the
// text that the model wrote.
type Around struct {
	from   int  // offset of the first byte that was neither emitted as text nor as the markup of a call
	Called bool // the bytes at from follow a call
	Headed int  // offset after a message header that begins at from
}

// withMarkup reads a marker or a call with f, and then emits the markup after the calls in it.
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

// passClosing emits the markup after the last call, up to the offset end.
func (m *machine) passClosing(end int) {
	if m.Around.Called && m.Around.from < end {
		if m.Opts.Closing != nil {
			m.Emit(m.Opts.Closing(m.written(m.Around.from, end)))
		}
		m.Around.from = end
	}
}

// passOpening handles the markup before the call that begins. After another call it is emitted as closing markup;
// otherwise it is kept for the event of this call. passOpening also records how many bytes of the call have already
// left as text.
func (m *machine) passOpening() {
	if m.Opts.Markup == nil {
		return
	}
	c := m.Call
	c.said = max(0, m.Around.from-c.Start)
	end := c.Start
	if m.run < m.Pos { // text is not emitted yet
		end = min(end, m.Base+m.run)
	}
	if m.Around.Called {
		m.passClosing(end)
	} else if m.Around.from < end {
		c.before = m.written(m.Around.from, end)
	}
	m.Around.Called = false
}
