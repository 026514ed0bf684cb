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
	m.emit(m.opts.Markup(m.call.id, m.call.start, string(text), opener))
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
