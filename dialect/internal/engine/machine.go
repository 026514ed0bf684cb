package engine

import (
	"fmt"
	"math"
	"slices"

	"github.com/toolpost/toolpost/dialect/internal/judge"
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/internal/scan"
	"github.com/toolpost/toolpost/llm"
)

// defaultMaxCall bounds the bytes held at once if the caller sets no bound.
const defaultMaxCall = 16 << 20

// maxWaste is how many bytes may be read in vain for each byte of the answer.
// Beyond it, text made of only beginnings of calls is text.
const maxWaste = 16

// machine reads one answer. Its readers are written as straight code that asks
// for the next byte; when there is none yet, the machine first lets go of all
// that is certain and then waits for the next chunk. So a reader never has to
// be resumed, and nothing can depend on where chunks were cut.
//
// The readers run in a coroutine. The code around them, the source of the
// chunks and the consumer of the events, does not: a [Feed] adds a chunk, wakes
// the readers, and passes on what they found. A reader of long text
// leaves a flow after when it waits, so it need not be woken for more of
// the same.
type machine struct {
	Opts  *Options
	forms Forms
	judge.Evidence
	output
	state

	Deep bool // the stack has room for the readers of calls
	// idle is the call between calls, only the one being read if nothing can
	// be taken back.
	idle, only Call
}

// Forms reads calls, in whatever form they have.
type Forms interface {
	// Opening looks at the first word of an answer, which may be the name of a tool
	// or the rest of a message header. It reports whether it was.
	Opening() bool
	// Special reads the marker, or the call without one, that stands here. It
	// reports false if the next byte is just text.
	Special() bool
	// Thought reads the call that stands here in thinking, after the marker t, of n
	// bytes, or without one.
	Thought(t *lexicon.Token, n int) bool
	// Plausible reports whether a call without a marker may begin with c, which
	// stands here.
	Plausible(c byte) bool
	// CutShort handles a guess that failed because the answer was cut off in it.
	CutShort(f Failure) bool
}

// output holds events that have not left yet.
type output struct {
	run   int         // buf[run:pos] is text or thinking not passed on yet
	ready []llm.Event // certain, for the pump to pass on
	Tries []try       // attempts that can still be undone
	queue []llm.Event // held until the last try is decided
	// holding says that the try of a call stays open until its place is known.
	holding bool
	spans   []Span // likewise
}

// answer reads the whole answer. It is a sequence of waits for more of it.
func (m *machine) answer(wait func(struct{}) bool) {
	m.Wait = wait
	m.parts()
	if m.Held && len(m.Tries) > 0 && m.Truncated() { // the thinking may have been about to end
		m.PlainText().DropHeld()
		m.parts()
	}
	for len(m.Tries) > 0 { // calls in thinking that never closed
		m.Commit()
	}
	m.flush()
	if m.Broken {
		return
	}
	m.check().Finish()
	for _, w := range m.Lost.Warnings(m.Lex) {
		m.Emit(w)
	}
}

// parts reads text and thinking up to the end of the answer.
func (m *machine) parts() {
	for m.More() {
		switch m.Mode {
		case judge.InText:
			m.PlainText().text()
		case judge.InThinking:
			m.PlainText().thinking()
		}
	}
}

// Truncated reports whether the answer, or the text before a break, ended before the model did. It is
// asked at the end only.
func (m *machine) Truncated() bool {
	if m.Err != nil || m.Broken || m.Opts.Finish == nil {
		return m.Err != nil || m.Broken
	}
	reason := m.Opts.Finish()
	return reason == llm.Length || reason == llm.ContentFilter
}

// Flows is at for the loop of a reader of long text. While it waits, f is
// called with each chunk in the buffer: it reads what it can without waiting,
// and reports whether the reader could do no more than wait for the next one.
func (m *machine) Flows(i int, f func() bool) bool {
	if m.Pos+i < len(m.Buf) {
		return true
	}
	if !m.Undecided {
		m.Flow, m.Direct = f, len(m.Tries) == 0 && m.Opts.Trace == nil
	}
	ok := m.Fill()
	m.Flow = nil
	return ok || m.Pos+i < len(m.Buf) // f may have left a byte to read at the end
}

// add puts a chunk into the buffer.
func (m *machine) add(chunk string) {
	if full := len(m.Buf) + len(chunk); full > cap(m.Buf) || full > m.MaxCall() {
		m.makeRoom(len(chunk))
	}
	m.Buf = append(m.Buf, chunk...)
	m.Chunk = chunk
}

// makeRoom makes room for n bytes in the buffer.
func (m *machine) makeRoom(n int) {
	m.compact()
	if cap(m.Buf)-len(m.Buf) < n {
		m.Buf = slices.Grow(m.Buf, max(len(m.Buf)+n+scan.MaxTail, minBuffer))
	}
}

// minBuffer is the room that is made at once. It is some times maxTail, so
// the tail is seldom moved.
const minBuffer = 1 << 10

func (m *machine) MaxCall() int {
	if m.Opts.MaxCall > 0 {
		return m.Opts.MaxCall
	}
	return defaultMaxCall
}

// check returns the check over the whole answer.
func (m *machine) check() judge.Check {
	open := math.MaxInt
	if m.Call.Open {
		open = m.Call.Start
	}
	return judge.Check{Evidence: &m.Evidence, Open: open}
}

// compact drops bytes of the buffer to which no try can go back. It moves bytes
// only when it drops at least as many, so the work stays linear.
func (m *machine) compact() {
	m.keepHead()
	keep := m.oldest()
	if len(m.Buf)-keep > m.MaxCall() {
		m.Fail(fmt.Errorf("more than %d bytes must be held to understand the answer", m.MaxCall()))
	}
	if keep = max(0, keep-scan.MaxTail); keep <= len(m.Buf)/2 {
		return
	}
	m.check().Advance(keep)
	keep = max(0, keep-judge.MaxAhead) // a name may follow its arguments
	m.Buf = m.Buf[:copy(m.Buf, m.Buf[keep:])]
	m.Base += keep
	m.Pos -= keep
	m.run -= keep
}

// Skip passes over n bytes as markup.
func (m *machine) Skip(n int, rule string) {
	m.PassOn()
	m.Read(MarkerSpan, n, rule)
}

// Read passes over n bytes that are part of a call, or markup.
func (m *machine) Read(kind SpanKind, n int, rule string) {
	m.Mark(kind, n, rule)
	m.Take(n)
}

// Take passes over n bytes that something else accounts for.
func (m *machine) Take(n int) {
	m.Pos += n
	m.run = m.Pos
	if n > 0 {
		m.Since = m.Offset()
	}
}

// Mark notes what became of the next n bytes.
func (m *machine) Mark(kind SpanKind, n int, rule string) {
	if m.Opts.Trace == nil || n == 0 {
		return
	}
	s := Span{Start: m.Offset(), End: m.Offset() + n, Kind: kind, Rule: rule}
	if kind != TextSpan && kind != ThinkingSpan {
		s.Dialect = m.Dialect()
	}
	m.spans = append(m.spans, s)
}

// PassOn makes events of the text or thinking before here.
func (m *machine) PassOn() {
	if m.run >= m.Pos {
		m.run = m.Pos
		return
	}
	if m.Opts.Trace != nil {
		kind := TextSpan
		if m.Mode == judge.InThinking {
			kind = ThinkingSpan
		}
		m.spans = append(m.spans, Span{Start: m.Base + m.run, End: m.Offset(), Kind: kind})
	}
	m.passClosing(m.Base + m.run)
	m.Emit(m.delta())
}

// delta returns the text or thinking before here as an event. Most of the time
// it is the last chunk, or a part of it, and need not be copied.
func (m *machine) delta() llm.Event {
	s := m.written(m.Base+m.run, m.Offset())
	m.run, m.Around.from = m.Pos, m.Offset()
	return m.piece(s)
}

// written returns what stands between two offsets, of which the buffer holds the
// second.
func (m *machine) written(start, end int) string {
	from, to := max(0, start-m.Base), end-m.Base
	if i := from - (len(m.Buf) - len(m.Chunk)); i >= 0 {
		return m.Chunk[i : i+to-from]
	}
	return string(m.Buf[from:to])
}

// piece returns s as an event of the text or thinking we are in.
func (m *machine) piece(s string) llm.Event {
	if m.Mode == judge.InThinking {
		return llm.ThinkingDelta{Text: s}
	}
	return llm.TextDelta{Text: s}
}

// next returns what a flow has read as one event, nil if there is nothing to
// pass on. A flow reads text, or thinking, or arguments.
func (m *machine) next() llm.Event {
	if m.run < m.Pos {
		return m.delta()
	}
	return m.Call.delta(m.Chunk)
}

// Emit passes an event on, or holds it while it may be taken back.
func (m *machine) Emit(ev llm.Event) {
	if m.Stopped {
		return
	}
	if len(m.Tries) > 0 {
		m.queue = append(m.queue, ev)
	} else {
		m.ready = append(m.ready, ev)
	}
}

// flush lets go of everything that is certain.
func (m *machine) flush() {
	if len(m.Tries) > 0 {
		return
	}
	m.PassOn()
	m.passClosing(m.Offset())
	m.passArgs()
	if len(m.spans) > 0 {
		m.release()
	}
}

// release lets go of what was held for tries, once there are none.
func (m *machine) release() {
	if len(m.Tries) > 0 {
		return
	}
	m.ready = append(m.ready, m.queue...)
	m.queue = m.queue[:0]
	if m.Opts.Trace != nil {
		for _, s := range m.spans {
			m.Opts.Trace(s)
		}
	}
	m.spans = m.spans[:0]
}

// proseReader reads text and thinking.
type proseReader struct{ *machine }

func (m *machine) PlainText() proseReader { return proseReader{m} }
