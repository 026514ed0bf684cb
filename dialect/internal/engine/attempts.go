package engine

import (
	"slices"

	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/llm"
)

// state is the part of the machine, besides judge.Situation, that a failed guess restores. It is copied when a guess
// begins and restored as a whole, so no reader undoes anything by hand.
type state struct {
	guessing
	Around
	Call *Call // the current call; never nil
	Last *llm.Call
	Ids  llm.CallIDs
	// Anchor is the offset of the possible call that is being read, valid if Anchored is set.
	Anchor   int
	Anchored bool
	Nested   int    // depth of recursive readers
	Unused   string // the rule for words before the call that mean nothing
}

// guessing is the current guess.
type guessing struct {
	Undecided bool // the innermost try may still not be a call
	Entered   int  // offset after the last marker that the guess has read, -1 if none
	UnitAt    int  // offset of the possible call
	keeps     bool // its try stays open when it is decided, see output.holding
}

// try is a point to which the machine can go back.
type try struct {
	judge.Situation
	state
	at     int // offset in the answer
	events int
	spans  int
}

// Begin opens a try. Until Commit or Undo, no event leaves the machine.
func (m *machine) Begin() {
	m.PassOn()
	if !m.Undecided { // otherwise it may be the beginning of the call
		m.passClosing(m.Offset())
	}
	saved := m.Call
	if saved.Open { // input read from here on changes a copy
		c := *saved
		m.Call = &c
	}
	n := len(m.Tries)
	m.Tries = slices.Grow(m.Tries, 1)[:n+1]
	t := &m.Tries[n] // in place, because a state is large
	t.Situation, t.state, t.at, t.events, t.spans = m.Situation, m.state, m.Offset(), len(m.queue), len(m.spans)
	t.Call = saved
}

// Commit closes the innermost try and keeps what it read.
func (m *machine) Commit() {
	m.Tries = m.Tries[:len(m.Tries)-1]
	m.release()
}

// Undo closes the innermost try and goes back to where it began.
func (m *machine) Undo() {
	t := &m.Tries[len(m.Tries)-1]
	m.queue, m.spans = m.queue[:t.events], m.spans[:t.spans]
	m.Situation, m.state = t.Situation, t.state
	m.Pos = t.at - m.Base
	m.run = m.Pos
	m.Tries = m.Tries[:len(m.Tries)-1]
}

// DropTry closes the innermost try and drops its events and calls: the input it read counts as markup.
func (m *machine) DropTry() {
	t := &m.Tries[len(m.Tries)-1]
	m.queue, m.Calls, m.Ids, m.Around = m.queue[:t.events], t.Calls, t.Ids, t.Around
	m.Commit()
}

// oldest returns the index of the first byte of the buffer to which the machine may go back.
func (m *machine) oldest() int {
	oldest := min(m.run, m.Pos)
	if m.Anchored && m.Call.head == nil {
		oldest = min(oldest, m.Anchor-m.Base)
	}
	for i := range m.Tries {
		t := &m.Tries[i]
		oldest = min(oldest, t.at-m.Base)
		if t.Anchored && t.Call.head == nil {
			oldest = min(oldest, t.Anchor-m.Base)
		}
	}
	return oldest
}

// Guess calls f to read input that may not be a call. If f reports false and no call was begun, Guess goes back to
// where f began. The result reports whether input was read. After too many failed guesses, Guess does not call f.
func (m *machine) Guess(f func() bool) bool {
	start := m.Offset()
	if m.Wasted > maxWaste*(start+scan.MaxGuess) {
		return false
	}
	if !m.Deep {
		m.Deep = MakeStack(m.Pos)
	}
	keeps := m.holding && len(m.Tries) == 0
	m.Begin()
	before, starved := m.guessing, m.Starved
	m.guessing, m.Starved = guessing{Undecided: true, Entered: -1, UnitAt: start, keeps: keeps}, false
	ok := f()
	in, cut := m.guessing, m.Starved
	m.Starved = starved || cut
	m.Entered = before.Entered
	switch {
	case !in.Undecided:
		return true
	case ok:
		m.decide()
		return true
	}
	m.Wasted += m.Offset() - start
	failed := Failure{From: in.UnitAt, Body: in.Entered, Rows: m.Rows, Marked: m.Marked, Loose: m.Loose, Starved: cut}
	m.Undo()
	return m.forms.CutShort(failed)
}

// decide ends the current guess: the input is a call.
func (m *machine) decide() {
	if m.Undecided {
		if m.Undecided = false; !m.keeps {
			m.Commit()
		}
	}
}

// MakeStack grows the stack once for the readers of calls, which nest deeply. Growing it step by step would cost more
// than reading a short call.
//
// It always returns true. The result depends on i to keep the compiler from removing the array.
//
//go:noinline
func MakeStack(i int) bool {
	var room [6 << 10]byte
	return room[i%len(room)] == 0
}

// Failure describes a guess that failed.
type Failure struct {
	From    int            // offset of the possible call
	Body    int            // offset after its last marker, negative if there was none
	Rows    lexicon.RowSet // the dialects that it fits
	Marked  bool           // a marker shows that it is a call
	Loose   bool           // see judge.Region
	Starved bool           // the answer ended in it
}

// ReadCandidate reads a call with f if a call may be at this place. If the surrounding text may make it text, the call
// is held until the line after it has been seen. A call with a marker is held only in a fence, or where a sentence or a
// heading precedes it. t is the marker, nil if there is none.
func (m *machine) ReadCandidate(t *lexicon.Token, marked bool, f func() bool) bool {
	if m.Buf[m.Pos] == '`' && !m.Block.Open {
		marked = true // a fence with calls
	}
	if m.Mode != judge.InText || len(m.Tries) > 0 {
		return f()
	}
	m.Approach(t)
	m.Presented = marked && !m.Block.Open && t.IsWritten() && judge.EndsLabel(judge.LabelAbove(m.Lately()))
	switch v := judge.Decide(&m.Evidence, judge.Candidate{Stage: judge.Begun, Token: t, Marked: marked}); v.Result {
	case judge.IsText:
		m.Suspect(v.Why())
		return false
	case judge.IsCall:
		return f()
	}
	m.holding = true
	ok := f()
	m.holding = false
	if len(m.Tries) == 0 {
		return ok
	}
	m.settle(m.candidate(marked, t != nil && t.Special))
	return true
}

// candidate returns the calls that were read since the outermost try began.
func (m *machine) candidate(marked, special bool) judge.Candidate {
	t := &m.Tries[0]
	return judge.Candidate{
		From: t.at, TextFrom: t.Since, Before: t.Calls, Marked: marked, Special: special, Held: true, Fenced: t.Block.Open,
	}
}

// settle decides about the calls that were held and applies the decision.
func (m *machine) settle(c judge.Candidate) {
	closed := !m.Block.Open
	v := judge.Decide(&m.Evidence, c)
	switch v.Result {
	case judge.IsText:
		m.refuse(v.Why())
		m.ShownTo = max(m.ShownTo, v.ShownTo)
		if c.Fenced {
			m.Quoting = !closed
			if m.Block.Shown = true; closed {
				m.Block = judge.CodeFence{}
			}
		}
		return
	case judge.IsDoubtful:
		m.doubt(&m.Tries[0], v.Doubt)
	}
	if c.Fenced {
		m.Block.Called = m.Block.Open
	}
	m.Commit()
}

// checkContext checks the text after the call that ends here, unless the call is held.
func (m *machine) checkContext() {
	if m.Printed || m.Mode != judge.InText || len(m.Tries) > 0 || m.Call.Problem != "" {
		return
	}
	switch v := judge.Decide(&m.Evidence, judge.Candidate{}); v.Result {
	case judge.IsDoubtful:
		m.Repair(v.Doubt.Rule(), llm.Guess, m.Call.Start, m.Offset())
	case judge.IsInvalid:
		m.Call.Unmeant = true
		m.BadArgs("%s", v.Problem)
	}
}

// refuse turns the calls that were held into text, for the reason why.
func (m *machine) refuse(why string) {
	end, rows := m.Offset(), m.Rows
	m.Undo()
	if rows.Empty() {
		rows = m.Lex.Bare
	}
	m.Lost.Add(rows, m.Offset(), why)
	m.Covers = append(m.Covers, judge.Extent{Start: m.Offset(), End: end})
	m.Pos = end - m.Base
}

// doubt adds a repair to the calls that were held: they count as calls although the text may only talk about them.
func (m *machine) doubt(t *try, why judge.Doubt) {
	r := llm.Repair{Rule: why.Rule(), Class: llm.Guess, Start: t.at, End: m.Offset()}
	for i := t.events; i < len(m.queue); i++ {
		if c, ok := m.queue[i].(llm.Call); ok {
			c.Provenance.Repairs = append(c.Provenance.Repairs[:len(c.Provenance.Repairs):len(c.Provenance.Repairs)], r)
			m.queue[i] = c
		}
	}
}
