package engine

import (
	"iter"

	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/llm"
)

// Feed reads an answer whose chunks are added one by one. It wakes the readers for each chunk and yields their events.
type Feed struct {
	machine
	yield func(llm.Event, error) bool
	wake  func() (struct{}, bool) // nil until the first text: many answers have no text
	end   func()
}

// Start begins to read an answer with forms. Events are passed to yield.
func (f *Feed) Start(x *lexicon.Lexicon, o *Options, forms Forms, yield func(llm.Event, error) bool) {
	f.machine, f.yield = machine{Opts: o, forms: forms, Evidence: judge.NewEvidence(x, offered.New(o.Tools), x.RowOf(o.Dialect), o.Marked)}, yield
	f.machine.Mentions = o.Mentions
	m := &f.machine
	m.LetGo, m.Call = m.flush, &m.idle
	if o.ThinkingOpen {
		m.Mode = judge.InThinking
	}
}

// Add reads a chunk. It reports whether the feed accepts more input.
func (f *Feed) Add(chunk string) bool {
	m := &f.machine
	if chunk == "" {
		return true
	}
	if m.Prose && m.PlainText().prosaic(chunk) { // the common case, without waking the readers
		return f.yield(m.piece(chunk), nil)
	}
	if f.wake == nil {
		f.wake, f.end = iter.Pull(m.answer)
	}
	m.add(chunk)
	if m.Flow == nil || !m.Flow() {
		m.Prose = false
		f.wake()
	} else if m.Direct && !m.Stopped {
		ev := m.next()
		return ev == nil || f.yield(ev, nil)
	} else {
		m.flush()
	}
	return m.deliver(f.yield)
}

// Break reports to the feed that something other than text, such as a native call, is between the text so far and the
// text that follows. Everything held is decided: a whole call is a call, even without its closing marker; a call that
// has begun is cut off; the rest is text. Calls in open thinking are dropped: the answer continues after them, so the
// model only thought about them. Break reports whether the feed accepts more input.
func (f *Feed) Break() bool {
	m := &f.machine
	if f.wake == nil || m.Eof || m.Stopped {
		return !m.Stopped
	}
	m.Eof, m.Broken = true, true
	f.wake()
	f.end()
	f.wake, f.end = nil, nil
	m.goOn()
	return m.deliver(f.yield)
}

// goOn prepares for text after a break. Readers may look back at the text before the break, but no reader or try is
// left waiting.
func (m *machine) goOn() {
	m.Eof, m.Broken, m.Starved = false, false, false
	m.Flow, m.Direct, m.Prose, m.Deep = nil, false, false, false
	m.Region, m.guessing = judge.Region{}, guessing{}
	m.Call, m.Last, m.Anchored, m.Nested, m.holding = &m.idle, nil, false, 0, false
}

// End ends the input. err is the reason if it ended with an error.
func (f *Feed) End(err error) {
	m := &f.machine
	m.Err, m.Eof = err, true
	if f.wake != nil {
		f.wake()
	} else if m.Offset() > 0 { // the last input was a break
		m.answer(nil)
	}
	if m.deliver(f.yield) && m.Err != nil {
		f.yield(nil, m.Err)
	}
}

// Stop releases the readers. It must be called once the feed is no longer used, and may be called at any time.
func (f *Feed) Stop() {
	if f.end != nil {
		f.end()
	}
}

// deliver yields the events that are ready. It reports whether the answer continues.
func (m *machine) deliver(yield func(llm.Event, error) bool) bool {
	for _, ev := range m.ready {
		if !yield(ev, nil) {
			return false
		}
	}
	m.ready = m.ready[:0]
	if m.Stopped {
		yield(nil, m.Err)
	}
	return !m.Stopped
}
