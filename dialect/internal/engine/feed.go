package engine

import (
	"iter"

	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/llm"
)

// Feed is an answer whose chunks are handed over one by one: it takes them to the readers, and what
// they found to the consumer.
type Feed struct {
	machine
	yield func(llm.Event, error) bool
	wake  func() (struct{}, bool) // nil until there is text: many answers have none
	end   func()
}

// Start begins to read an answer with forms. Events go to yield.
func (f *Feed) Start(x *lexicon.Lexicon, o *Options, forms Forms, yield func(llm.Event, error) bool) {
	f.machine, f.yield = machine{Opts: o, forms: forms, Evidence: judge.NewEvidence(x, offered.New(o.Tools), x.RowOf(o.Dialect))}, yield
	m := &f.machine
	m.LetGo, m.Call = m.flush, &m.idle
	if o.ThinkingOpen {
		m.Mode = judge.InThinking
	}
}

// Add takes a chunk. It reports whether more is wanted.
func (f *Feed) Add(chunk string) bool {
	m := &f.machine
	if chunk == "" {
		return true
	}
	if m.Prose && m.PlainText().prosaic(chunk) { // most of most answers: no detour
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

// Break says that something else stands between the text so far and what follows. What is held is decided: a call that is
// whole is one, also if its closing marker is missing, one that has begun is cut off, and all else is text. Calls in thinking
// that is open are none: the answer continues after them, so the model only thought of them.
// It reports whether more is wanted.
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

// goOn prepares for more text after a break. Readers may look back at the text before the break, but none
// waits for it any more.
func (m *machine) goOn() {
	m.Eof, m.Broken, m.Starved = false, false, false
	m.Flow, m.Direct, m.Prose, m.Deep = nil, false, false, false
	m.Region, m.guessing = judge.Region{}, guessing{}
	m.Call, m.Last, m.Anchored, m.Nested, m.holding = &m.idle, nil, false, 0, false
}

// End says that nothing more comes, and why if that is an error.
func (f *Feed) End(err error) {
	m := &f.machine
	m.Err, m.Eof = err, true
	if f.wake != nil {
		f.wake()
	} else if m.Offset() > 0 { // a break was the last
		m.answer(nil)
	}
	if m.deliver(f.yield) && m.Err != nil {
		f.yield(nil, m.Err)
	}
}

// Stop lets go of the readers. It can be called at any time, and has to be.
func (f *Feed) Stop() {
	if f.end != nil {
		f.end()
	}
}

// deliver passes on the events that are ready. It reports whether the answer continues.
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
