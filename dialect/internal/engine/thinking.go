package engine

import (
	"bytes"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// openThinking enters the thinking that a marker begins.
func (m *machine) openThinking(t *token, n int) bool {
	if t.atStart && m.said() {
		return false
	}
	if t.in(thinks).meets(m.lex.thoughts) {
		return m.hint.meets(m.lex.thoughts) && m.atLine() && m.thoughtLine(t, n)
	}
	m.keepHeld()
	m.passOn()
	m.rows = t.in(thinks)
	m.cites = m.cites || t.all.within(m.lex.cites)
	m.skip(n, t.text)
	m.mode, m.thinkBy, m.started = inThinking, t, true
	if t.label != "" && m.labelled(t.label) { // a label, not a thought
		m.skip(len(t.label), "label")
	}
	if m.peek(0) == '\n' {
		m.skip(1, "space")
	}
	return true
}

// thoughtLine reads a line that is thinking because of its first word. The
// word is an ordinary one, so only a hint makes it a marker.
func (m *machine) thoughtLine(t *token, n int) bool {
	m.skip(m.spaces(n), t.text)
	m.mode = inThinking
	for m.more() && m.buf[m.pos] != '\n' {
		m.pos++
	}
	m.passOn()
	m.mode, m.thought = inText, true
	m.blank("")
	m.restart()
	return true
}

// labelled reports whether a label stands here: a line of its own, or all that
// there is before the end of thinking.
func (m *machine) labelled(label string) bool {
	if !m.hasAt(0, label) {
		return false
	}
	if m.peek(len(label)) == '\n' {
		return true
	}
	t, _ := m.match(len(label))
	return t.in(unthinks).meets(m.rows)
}

// thinking reads thinking up to its end, or up to a call that may be real.
func (m *machine) thinking() {
	if m.offset() == 0 && m.thinkBy == nil { // the prompt opened the channel
		for _, label := range m.lex.labels {
			if m.hasAt(0, label+"\n") {
				m.skip(len(label)+1, "label")
			}
		}
	}
	flow := m.allPlain
	for m.mode == inThinking && m.flows(0, flow) {
		m.plain()
		if m.pos < len(m.buf) && (m.nothing() || !m.inThought()) {
			m.pos++
		}
	}
}

// inThought reads what stands here in thinking and is no thought: its end, the
// tag of a citation or a call.
func (m *machine) inThought() bool {
	t, n := m.match(0)
	return m.endThinking(t, n) || m.citation() || m.candidate(t, n)
}

// endThinking leaves thinking if the marker t, of n bytes, ends it here.
func (m *machine) endThinking(t *token, n int) bool {
	if t.is(thinks) && m.thinkBy == nil && !m.byHeader && m.blankSoFar() { // the prompt did not open it after all
		m.skip(n, t.text)
		m.thinkBy = t
		return true
	}
	if !m.closesThinking(t, n) {
		return false
	}
	m.passOn()
	m.mode, m.thought, m.started, m.byHeader = inText, true, true, false
	if t.is(heads) {
		m.thinkBy = nil
		return true // it is read again, as text
	}
	m.rows = t.in(unthinks)
	m.cites = m.cites || t.all.within(m.lex.cites)
	m.skip(n, t.text)
	m.thinkBy = nil
	m.blank("")
	m.restart()
	return true
}

// aheadHeader reports whether the header of which n bytes stand here is whole.
func (in *input) aheadHeader(n int) bool {
	_, ok := in.headerEnd(n)
	return ok
}

// blankSoFar reports whether the answer has been white space up to here.
func (m *machine) blankSoFar() bool {
	return m.offset() < maxTail && len(bytes.TrimSpace(m.lately())) == 0
}

// closesThinking reports whether the marker t, which stands here, ends the
// thinking we are in.
func (m *machine) closesThinking(t *token, n int) bool {
	switch {
	case t == nil || t.line && !m.atLine() && (m.thinkBy == nil || !m.thinkBy.line):
		return false
	case m.byHeader:
		return t.is(heads) && m.aheadHeader(n) || t.in(drops).meets(m.lex.header)
	}
	return t.is(unthinks) && (m.thinkBy == nil || t.in(unthinks).meets(m.thinkBy.in(thinks)))
}

// restart makes what follows count as the beginning of the answer.
func (m *machine) restart() {
	m.started, m.origin, m.quoting, m.coded = false, m.offset(), false, false
}

// candidate reads a call inside thinking, if the policy allows it and one stands
// here, behind the marker t, of n bytes, or without one. The call and all that
// follows are held in the machine: if the thinking ends later, the model was only
// thinking about the call (a rehearsal), and it is no call.
func (m *machine) candidate(t *token, n int) bool {
	if m.opts.Thinking == Ignore || m.offset() < m.noCallBefore || m.held {
		m.noteRehearsal(t)
		return false
	}
	if n == 0 && !m.plausible(m.buf[m.pos]) || n > 0 && !t.is(opens) && !t.is(tagCall) {
		return false // the check over the whole answer looks at names in thinking
	}
	m.begin()
	by, header := m.thinkBy, m.byHeader
	if !m.withMarkup(func() bool { return m.thinkingCall(t, n) }) {
		m.undo()
		return false
	}
	if m.opts.Thinking == Promote {
		m.commit()
		m.mode, m.thinkBy, m.byHeader = inThinking, by, header
		return true
	}
	m.mode, m.held = inText, true
	return true
}

// thinkingCall reads the call that stands here in thinking, behind the marker t,
// of n bytes, or without one.
func (m *machine) thinkingCall(t *token, n int) bool {
	before := m.calls
	switch {
	case m.names.none: // nothing is a call, but one would end thinking
		return t.is(opens) && !t.line && !m.quoted()
	case m.quoted() || t != nil && t.line && !m.atLine():
		return false
	case t.is(opens) && !t.is(thinks):
		m.region(t, n)
	case t.is(tagCall):
		m.lone(t, n)
	case t.is(heads):
		return false
	default:
		m.bare(m.buf[m.pos])
	}
	return m.calls > before
}

// strayThinking handles the end of thinking where none is open: the end of a
// block that held a call, a closer too many, or an answer that began inside
// thinking without our knowing.
func (m *machine) strayThinking(t *token, n int) bool {
	first := t.in(unthinks).meets(m.lex.unthought) && !m.said()
	if m.thought && m.said() || m.opts.ThinkingOff && !m.thought && !first && !strings.Contains(t.text, "|") {
		return false // a closer too many is text
	}
	m.skip(n, t.text)
	m.thought = true
	m.blank("")
	return true
}

// said reports whether there was text since thinking ended.
func (m *machine) said() bool { return m.started && m.offset() > m.first }

// dropHeld makes text of the calls that were held in thinking, because the
// thinking ends here: the model was only thinking about them.
func (m *machine) dropHeld() {
	end := m.offset()
	m.held = false
	m.undo()
	m.noCallBefore = end
}

// keepHeld decides that calls held in thinking are real.
func (m *machine) keepHeld() {
	if m.held {
		m.held = false
		m.commit()
	}
}

// noteRehearsal counts the marker t of text in thinking that looks like a call.
func (m *machine) noteRehearsal(t *token) {
	if t.is(opens) && !t.line || t.is(tagCall) {
		m.lost.add(t.in(opens).or(t.in(tagCall)), m.offset())
	}
}

// suspects counts what looks like a call and was not read as one.
type suspects struct {
	rows []suspected // by row, as far as there are any
	// places are where something was found, the last ones of them.
	places []int
	last   int // offset of the last one, and one more
}

// maxPlaces bounds how many places are remembered.
const maxPlaces = 64

// suspected is how often something was seen, and where first.
type suspected struct{ count, first int }

// clone returns a copy that later findings do not change.
func (s *suspects) clone() suspects {
	return suspects{rows: slices.Clone(s.rows), places: s.places, last: s.last}
}

// add counts a marker of the given dialects at an offset.
func (s *suspects) add(rows rowSet, at int) {
	if rows.empty() || s.last == at+1 { // readers may look at the same thing in turn
		return
	}
	s.last = at + 1
	if len(s.places) >= maxPlaces {
		s.places = append(make([]int, 0, maxPlaces), s.places[maxPlaces/2:]...)
	}
	s.places = append(s.places, at)
	i := rows.first()
	if i >= len(s.rows) {
		s.rows = append(s.rows, make([]suspected, i+1-len(s.rows))...)
	}
	row := &s.rows[i]
	if row.count == 0 {
		row.first = at
	}
	row.count++
}

// report warns of what was not read.
func (s *suspects) report(m *machine) {
	for i, row := range s.rows {
		if name := m.lex.rows[i].Name; row.count > 0 {
			m.emit(llm.Warning{Code: llm.SuspectedCall, Feature: name, Detail: suspicion(row.count, row.first, name)})
		}
	}
}
