package dialect

import "strings"

// Markup is what the model wrote of the call with that id, whose event follows.
// It comes if [Parser.Markup] is set.
type Markup struct {
	ID string `json:"id"`
	// Start is where it begins, in bytes from the beginning of the answer.
	Start int `json:"start"`
	// Text begins with the marker before the call, if it has one of its own,
	// and ends with the call. Of a long call it is the beginning.
	Text string `json:"text"`
	// Opener is the marker around the list that the call stands in, if it has
	// none of its own.
	Opener string `json:"opener,omitempty"`
}

// EventType returns "markup".
func (Markup) EventType() string { return "markup" }

// emitMarkup passes on what the model wrote of the call that has been read.
func (m *machine) emitMarkup() {
	if !m.p.Markup {
		return
	}
	m.keepHead()
	text := m.call.head
	if text == nil {
		text = m.buf[m.call.start-m.base : m.pos]
	}
	opener := ""
	if m.call.marked && m.openAt < m.call.start && (text[0] == '{' || isNameStart(text[0])) {
		opener = m.openText
	}
	m.emit(Markup{ID: m.call.id, Start: m.call.start, Text: string(text), Opener: opener})
}

// promotes reports whether what fits the given dialects may be a call.
func (m *machine) promotes(rows rowSet) bool {
	marked := m.marked || m.loose
	switch {
	case !m.p.Marked:
		return true
	case m.hint.empty():
		return marked
	}
	return rows.meets(m.hint) && (marked || m.hint.meets(m.lex.unmarked))
}

// findUnmarked finds the dialects whose calls, as they write them, begin
// without a marker that only calls have.
func (x *lexicon) findUnmarked() {
	x.unmarked = x.where(func(d *Dialect) bool {
		if !d.Bare {
			return false
		}
		t, _ := x.tree.longest(d.Write.Open + d.Write.Call)
		return !t.is(tagCall) && !x.marks(t)
	})
}

// marks reports whether a marker that begins calls says by itself that calls
// follow.
func (x *lexicon) marks(t *token) bool {
	return t.is(opens) && (!t.in(opens).within(x.bare) || strings.HasPrefix(t.text, "<|"))
}
