package engine

import (
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// state is everything that reading may change and that a guess which fails must
// change back. It is copied when a guess begins and restored as a whole, so no
// reader undoes anything by hand.
type state struct {
	passage
	region
	guessing
	around
	call  *call // being read; never nil
	last  *llm.Call
	calls int // read so far
	ids   llm.CallIDs
	// anchor is where the call that may begin here began, if anchored.
	anchor   int
	anchored bool
	covers   extents // of calls, valid or not, and of what a warning tells of
	nested   int     // how deep we are in readers that call themselves
}

// passage is where in the answer we are.
type passage struct {
	mode     mode
	thinkBy  *token // what opened the thinking we are in; nil if the prompt did
	byHeader bool   // the thinking we are in was opened by a message header
	held     bool   // a try holds calls in thinking
	thought  bool   // thinking has ended before here

	since   int  // offset of the text or thinking since the last markup
	origin  int  // offset of what counts as the beginning of the answer
	first   int  // offset of the first byte of text that is no white space
	message int  // offset of the message we are in
	started bool // something other than white space has been read as text
	muted   bool // the message is addressed to the user: nothing in it is a call
	cites   bool // a marker says that text may hold tags of citations
	coded   bool // a fence with code is open: nothing in it is a call without a marker
	block   codeFence
}

// region is the calls we are in and the markers around them.
type region struct {
	rows    rowSet // the dialects that what was read of this call fits
	marked  bool   // a marker says that calls follow
	loose   bool   // a call follows another behind its marker, and only its name says so
	depth   int    // how many markers around calls are open
	outer   rowSet // the dialects that the last of these markers fits
	openAt  int    // offset of the last of these markers
	openTok *token // the last of these markers
	escaped bool   // it is escaped as in Markdown
	code    bool   // it may be followed by code
	behind  bool   // no marker stands between the last call and here
	listed  bool   // the call we read is an element of a list
	// presented says that a label stands on the line above the last marker.
	presented bool
	printed   bool // the Python call we read is the argument of print
	keyword   bool // the Python value we read has a key
	// endOfMessage says that the last calls were followed by the end of their
	// message.
	endOfMessage bool
}

// guessing is the guess we are in.
type guessing struct {
	undecided bool // the innermost try may not be a call at all
	entered   int  // offset behind the last marker it has read
	unitAt    int  // offset of what it takes for a call
	keeps     bool // its try stays open although it is decided: see placed
}

// findings are kept even if the guess that found them fails; see state for what
// is not.
type findings struct {
	lost         suspects
	wasted       int  // bytes read by guesses that failed
	noCallBefore int  // offset up to which nothing in thinking is a call
	quoting      bool // we are in a code fence that is no call
	document     bool // the last element stood in a document of elements
	watched      watched
	messageAt    int // offset of the calls of a message that is written as JSON
	shownTo      int // offset up to which nothing is a call, because it is shown
	showing      showing
}

type mode uint8

const (
	inText mode = iota
	inThinking
)

// try is a point to which the machine can go back.
type try struct {
	state
	at     int // absolute offset
	events int
	spans  int
}

// begin starts a try: until commit or undo, nothing leaves the machine.
func (m *machine) begin() {
	m.passOn()
	if !m.undecided { // else it may be the beginning of the call
		m.passClosing(m.offset())
	}
	saved := m.call
	if saved.open { // what is read from here on goes into a copy
		c := *saved
		m.call = &c
	}
	n := len(m.tries)
	m.tries = slices.Grow(m.tries, 1)[:n+1]
	t := &m.tries[n] // in place: a state is large
	t.state, t.at, t.events, t.spans = m.state, m.offset(), len(m.queue), len(m.spans)
	t.call = saved
}

// commit ends the innermost try: what it read stands.
func (m *machine) commit() {
	m.tries = m.tries[:len(m.tries)-1]
	m.release()
}

// undo ends the innermost try and goes back to where it began.
func (m *machine) undo() {
	t := &m.tries[len(m.tries)-1]
	m.queue, m.spans = m.queue[:t.events], m.spans[:t.spans]
	m.state = t.state
	m.pos = t.at - m.base
	m.run = m.pos
	m.tries = m.tries[:len(m.tries)-1]
}

// dropTry ends the innermost try: what it read is markup, and no call.
func (m *machine) dropTry() {
	t := &m.tries[len(m.tries)-1]
	m.queue, m.calls, m.ids, m.around = m.queue[:t.events], t.calls, t.ids, t.around
	m.commit()
}

// oldest returns the index of the first byte that somebody may go back to.
func (m *machine) oldest() int {
	oldest := min(m.run, m.pos)
	if m.anchored && m.call.head == nil {
		oldest = min(oldest, m.anchor-m.base)
	}
	for i := range m.tries {
		t := &m.tries[i]
		oldest = min(oldest, t.at-m.base)
		if t.anchored && t.call.head == nil {
			oldest = min(oldest, t.anchor-m.base)
		}
	}
	return oldest
}

// guess reads something that may turn out not to be a call. If f reports
// false and no call was begun, everything f read is given back.
func (m *machine) guess(f func() bool) bool {
	start := m.offset()
	if m.wasted > maxWaste*(start+maxGuess) {
		return false
	}
	if !m.deep {
		m.deep = makeStack(m.pos)
	}
	keeps := m.holding && len(m.tries) == 0
	m.begin()
	before, starved := m.guessing, m.starved
	m.guessing, m.starved = guessing{undecided: true, entered: -1, unitAt: start, keeps: keeps}, false
	ok := f()
	in, cut := m.guessing, m.starved
	m.starved = starved || cut
	m.entered = before.entered
	switch {
	case !in.undecided:
		return true
	case ok:
		m.decide()
		return true
	}
	m.wasted += m.offset() - start
	failed := failure{from: in.unitAt, body: in.entered, rows: m.rows, marked: m.marked, loose: m.loose, starved: cut}
	m.undo()
	return m.cutShort(failed)
}

// decide ends the guess: it is a call.
func (m *machine) decide() {
	if m.undecided {
		if m.undecided = false; !m.keeps {
			m.commit()
		}
	}
}

// makeStack makes the stack large enough for the readers of calls, which are
// deep. To let it grow step by step, below them, would cost more than to read a
// short call.
//
// It returns true. The result does not matter; it depends on i so that the
// compiler cannot remove the array.
//
//go:noinline
func makeStack(i int) bool {
	var room [6 << 10]byte
	return room[i%len(room)] == 0
}
