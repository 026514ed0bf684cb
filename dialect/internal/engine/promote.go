package engine

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/spec"
)

// passMarkup passes on what the model wrote of the call that has been read.
func (m *machine) passMarkup() {
	if m.opts.Markup == nil {
		return
	}
	m.keepHead()
	text := m.call.head
	if text == nil {
		text = m.buf[m.call.start-m.base : m.pos]
	}
	opener := ""
	if m.openTok != nil && m.call.marked && m.openAt < m.call.start && (text[0] == '{' || isNameStart(text[0])) {
		opener = m.openTok.text
	}
	m.emit(m.opts.Markup(Markup{ID: m.call.id, Start: m.call.start, Before: m.call.before, Text: string(text), Said: min(m.call.said, len(text)), Opener: opener}))
}

// around is the markup around the calls that a reader of text reads. All of it
// is told to whoever asks for markup, so that a call can be made the text again
// that the model wrote.
type around struct {
	from   int  // offset of what neither has left as text nor stands in the markup of a call
	called bool // it stands behind a call
	headed int  // offset behind a header of a message that begins at from
}

// withMarkup reads what is no text with f, and tells the markup behind the calls
// in it.
func (m *machine) withMarkup(f func() bool) bool {
	if m.opts.Markup == nil {
		return f()
	}
	if at := m.offset(); at != m.around.headed || at-m.around.from > maxTail {
		m.around.from = at
	}
	m.around.called = false
	ok := f()
	m.passClosing(m.base + m.run)
	m.around.called = false
	return ok
}

// passClosing passes on the markup behind the last call, up to an offset.
func (m *machine) passClosing(end int) {
	if m.around.called && m.around.from < end {
		if m.opts.Closing != nil {
			m.emit(m.opts.Closing(m.written(m.around.from, end)))
		}
		m.around.from = end
	}
}

// passOpening passes on the markup before the call that begins, or keeps it if
// there is no other call before it. What has left as text already is counted.
func (m *machine) passOpening() {
	if m.opts.Markup == nil {
		return
	}
	c := m.call
	c.said = max(0, m.around.from-c.start)
	end := c.start
	if m.run < m.pos { // text waits to leave
		end = min(end, m.base+m.run)
	}
	if m.around.called {
		m.passClosing(end)
	} else if m.around.from < end {
		c.before = m.written(m.around.from, end)
	}
	m.around.called = false
}

// promotes reports whether what fits the given dialects, behind a marker or
// not, may be a call.
func (m *machine) promotes(rows rowSet, marked bool) bool {
	switch {
	case !m.opts.Marked:
		return true
	case m.hint.empty():
		return marked
	}
	return rows.meets(m.hint) && (marked || m.hint.meets(m.lex.unmarked))
}

// findUnmarked finds the dialects whose calls, as they write them, begin
// without a marker that only calls have.
func (x *Lexicon) findUnmarked() {
	x.unmarked = x.where(func(d *spec.Dialect) bool {
		if !d.Bare {
			return false
		}
		t, _ := x.tree.longest(d.Write.Open + d.Write.Call)
		return !t.is(tagCall) && !x.marks(t)
	})
}

// marks reports whether a marker that begins calls says by itself that calls
// follow.
func (x *Lexicon) marks(t *token) bool {
	return t.is(opens) && (!t.in(opens).within(x.bare) || strings.HasPrefix(t.text, "<|"))
}
