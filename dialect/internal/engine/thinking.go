package engine

import (
	"bytes"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
)

// OpenThinking enters thinking after the marker t, of n bytes. It reports false if the marker does not begin thinking
// here.
func (m proseReader) OpenThinking(t *lexicon.Token, n int) bool {
	if t.AtStart && m.Said() {
		return false
	}
	if t.In(lexicon.Thinks).Meets(m.Lex.Thoughts) {
		return m.Hint.Meets(m.Lex.Thoughts) && m.AtLine() && m.thoughtLine(t, n)
	}
	m.KeepHeld()
	m.PassOn()
	m.Rows = t.In(lexicon.Thinks)
	m.Cites = m.Cites || t.All.Within(m.Lex.Cites)
	m.Skip(n, t.Text)
	m.Mode, m.ThinkBy, m.Started = judge.InThinking, t, true
	if t.Label != "" && m.labelled(t.Label) { // a label is not part of the thinking
		m.Skip(len(t.Label), "label")
	}
	if m.Peek(0) == '\n' {
		m.Skip(1, "space")
	}
	return true
}

// thoughtLine reads a line that is thinking because of its first word. The word is an ordinary word, so it is a marker
// only if its dialect is expected.
func (m proseReader) thoughtLine(t *lexicon.Token, n int) bool {
	m.Skip(m.Spaces(n), t.Text)
	m.Mode = judge.InThinking
	for m.More() && m.Buf[m.Pos] != '\n' {
		m.Pos++
	}
	m.PassOn()
	m.Mode, m.Thought = judge.InText, true
	m.Blank("")
	m.restart()
	return true
}

// labelled reports whether a label is at the current position: on a separate line, or directly before the end of
// thinking.
func (m proseReader) labelled(label string) bool {
	if !m.HasAt(0, label) {
		return false
	}
	if m.Peek(len(label)) == '\n' {
		return true
	}
	t, _ := m.Match(len(label))
	return t.In(lexicon.Unthinks).Meets(m.Rows)
}

// thinking reads thinking up to its end, or up to a call that may be real.
func (m proseReader) thinking() {
	if m.Offset() == 0 && m.ThinkBy == nil { // the prompt opened the channel
		for _, label := range m.Lex.Labels {
			if m.HasAt(0, label+"\n") {
				m.Skip(len(label)+1, "label")
			}
		}
	}
	flow := m.allPlain
	for m.Mode == judge.InThinking && m.Flows(0, flow) {
		m.plain()
		if m.Pos < len(m.Buf) && (m.nothing() || !m.inThought()) {
			m.Pos++
		}
	}
}

// inThought reads the end of thinking, a citation tag or a call at the current position. It reports false if the next
// byte is plain thinking.
func (m proseReader) inThought() bool {
	t, n := m.Match(0)
	return m.endThinking(t, n) || m.Citation() || m.candidate(t, n)
}

// endThinking leaves thinking if the marker t, of n bytes, ends it.
func (m proseReader) endThinking(t *lexicon.Token, n int) bool {
	if t.Is(lexicon.Thinks) && m.ThinkBy == nil && !m.ByHeader && m.blankSoFar() { // the prompt did not open the thinking
		m.Skip(n, t.Text)
		m.ThinkBy = t
		return true
	}
	if !m.ClosesThinking(t, n) {
		return false
	}
	m.PassOn()
	m.Mode, m.Thought, m.Started, m.ByHeader = judge.InText, true, true, false
	if t.Is(lexicon.Heads) {
		m.ThinkBy = nil
		return true // the header is read again, as text
	}
	m.Rows = t.In(lexicon.Unthinks)
	m.Cites = m.Cites || t.All.Within(m.Lex.Cites)
	m.Skip(n, t.Text)
	m.ThinkBy = nil
	m.Blank("")
	m.restart()
	return true
}

// blankSoFar reports whether the answer has only white space before the current position.
func (m proseReader) blankSoFar() bool {
	return m.Offset() < scan.MaxTail && len(bytes.TrimSpace(m.Lately())) == 0
}

// ClosesThinking reports whether the marker t at the current position ends the current thinking.
func (m proseReader) ClosesThinking(t *lexicon.Token, n int) bool {
	switch {
	case t == nil || t.Line && !m.AtLine() && (m.ThinkBy == nil || !m.ThinkBy.Line):
		return false
	case m.ByHeader:
		return t.Is(lexicon.Heads) && m.AheadHeader(n) || t.In(lexicon.Drops).Meets(m.Lex.Header)
	}
	return t.Is(lexicon.Unthinks) && (m.ThinkBy == nil || t.In(lexicon.Unthinks).Meets(m.ThinkBy.In(lexicon.Thinks)))
}

// restart makes the current position count as the beginning of the answer.
func (m proseReader) restart() {
	m.Started, m.Origin, m.Quoting, m.Coded = false, m.Offset(), false, false
}

// candidate reads a call inside thinking, if the policy allows it. The call may begin with the marker t, of n bytes.
// The call and everything after it are held: if the thinking ends later, the model was only thinking about the call,
// and it is not a call.
func (m proseReader) candidate(t *lexicon.Token, n int) bool {
	if m.Opts.Thinking == Ignore || m.Offset() < m.NoCallBefore || m.Held {
		m.noteRehearsal(t)
		return false
	}
	if n == 0 && !m.forms.Plausible(m.Buf[m.Pos]) || n > 0 && !t.Is(lexicon.Opens) && !t.Is(lexicon.TagCall) {
		return false // the check over the whole answer looks at names in thinking
	}
	m.Begin()
	by, header := m.ThinkBy, m.ByHeader
	if !m.withMarkup(func() bool { return m.forms.Thought(t, n) }) {
		m.Undo()
		return false
	}
	if m.Opts.Thinking == Promote {
		m.Commit()
		m.Mode, m.ThinkBy, m.ByHeader = judge.InThinking, by, header
		return true
	}
	m.Mode, m.Held = judge.InText, true
	return true
}

// StrayThinking handles the end of thinking while no thinking is open: the end of a block that held a call, a surplus
// end tag, or the end of thinking that the prompt opened.
func (m proseReader) StrayThinking(t *lexicon.Token, n int) bool {
	first := t.In(lexicon.Unthinks).Meets(m.Lex.Unthought) && !m.Said()
	if m.Thought && m.Said() || m.Opts.ThinkingOff && !m.Thought && !first && !strings.Contains(t.Text, "|") {
		return false // a surplus end tag is text
	}
	m.Skip(n, t.Text)
	m.Thought = true
	m.Blank("")
	return true
}

// DropHeld turns the calls that were held in thinking into thinking text. The thinking ends here, so the model was only
// thinking about them.
func (m proseReader) DropHeld() {
	end := m.Offset()
	m.Held = false
	m.Undo()
	m.NoCallBefore = end
}

// KeepHeld accepts the calls that were held in thinking.
func (m proseReader) KeepHeld() {
	if m.Held {
		m.Held = false
		m.Commit()
	}
}

// noteRehearsal counts the marker t in thinking as a suspect if it begins a call.
func (m proseReader) noteRehearsal(t *lexicon.Token) {
	if t.Is(lexicon.Opens) && !t.Line || t.Is(lexicon.TagCall) {
		m.Lost.Add(t.In(lexicon.Opens).Or(t.In(lexicon.TagCall)), m.Offset(), judge.Rehearsed)
	}
}
