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

// defaultMaxCall limits the bytes held at once if Options.MaxCall is not set.
const defaultMaxCall = 16 << 20

// maxWaste limits the bytes that failed guesses may read for each byte of the answer. Beyond it, guesses stop and the
// input is text.
const maxWaste = 16

// machine reads one answer. Its readers are straight code that asks for the next byte. If that byte has not arrived,
// the machine first releases all events that are certain and then waits for the next chunk. A reader therefore keeps no
// state between chunks, and its result cannot depend on where chunks were cut.
//
// The readers run in a coroutine. The source of the chunks and the consumer of the events do not: a [Feed] adds a
// chunk, wakes the readers, and passes on their events. A reader of long text sets Flow before it waits. The feed then
// calls Flow for more of the same text without waking the reader.
type machine struct {
	Opts  *Options
	forms Forms
	judge.Evidence
	output
	state

	Deep bool // MakeStack was called: the stack has room for the readers of calls
	// idle is the value of Call between calls. only holds the current call while no try is open.
	idle, only Call
}

// Forms reads calls in all their forms.
type Forms interface {
	// Opening looks at the first word of an answer, which may be the name of a tool or the rest of a message header. It
	// reports whether it has read a call or a header.
	Opening() bool
	// Special reads the marker, or the call without a marker, at the current position. It reports false if the next
	// byte is plain text.
	Special() bool
	// Thought reads the call at the current position in thinking. It begins with the marker t of n bytes, or without a
	// marker if t is nil.
	Thought(t *lexicon.Token, n int) bool
	// Plausible reports whether a call without a marker may begin with c, the byte at the current position.
	Plausible(c byte) bool
	// LastBlock reads the end of an answer that holds no call yet.
	LastBlock()
	// Unread reports the end of such an answer if it still looks like a call that was lost.
	Unread()
	// CutShort handles a failed guess. If the answer was cut off in a call, it makes an invalid call of the rest and
	// reports true.
	CutShort(f Failure) bool
}

// output holds events that have not been passed on.
type output struct {
	run   int         // Buf[run:Pos] is text or thinking not passed on yet
	ready []llm.Event // certain events, for Feed to pass on
	Tries []try       // open tries, the innermost last
	queue []llm.Event // events held until no try is open
	// holding makes the next outermost guess keep its try open even after it is a call, because the text after it
	// decides whether the call is real.
	holding bool
	spans   []Span // trace spans, held like queue
}

// answer reads the whole answer. wait suspends it until the next chunk.
func (m *machine) answer(wait func(struct{}) bool) {
	m.Wait = wait
	m.parts()
	if m.Held && len(m.Tries) > 0 && m.Interrupted() { // the thinking may not have been complete
		m.PlainText().DropHeld()
		m.parts()
	}
	if len(m.Tries) > 0 && m.Held {
		m.doubt(&m.Tries[0], judge.InThought)
	}
	for len(m.Tries) > 0 { // calls in thinking that did not end
		m.Commit()
	}
	m.flush()
	if m.Broken {
		return
	}
	m.withMarkup(func() bool { m.forms.LastBlock(); return true })
	m.flush()
	m.check().Finish()
	m.forms.Unread()
	for _, w := range m.Lost.Warnings(m.Lex) {
		m.Emit(w)
	}
	if m.Opts.Suspected != nil {
		m.Lost.Places(m.Opts.Suspected)
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

// Truncated reports whether the answer, or the text before a break, was cut off before the model ended it, or may have
// been. Call it only at the end of the input.
func (m *machine) Truncated() bool {
	return m.Interrupted() || m.Opts.Finish != nil && m.Opts.Finish() == ""
}

// Interrupted is Truncated for answers that are known to be cut off.
func (m *machine) Interrupted() bool {
	if m.Err != nil || m.Broken || m.Opts.Finish == nil {
		return m.Err != nil || m.Broken
	}
	reason := m.Opts.Finish()
	return reason == llm.Length || reason == llm.ContentFilter
}

// Flows is At for the loop of a reader of long text. While it waits, f is called for each new chunk in the buffer. f
// reads as much as it can without waiting, and reports whether the reader would only wait for the next chunk.
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

// add appends a chunk to the buffer.
func (m *machine) add(chunk string) {
	if full := len(m.Buf) + len(chunk); full > cap(m.Buf) || full > m.MaxCall() {
		m.makeRoom(len(chunk))
	}
	m.Buf = append(m.Buf, chunk...)
	m.Chunk = chunk
}

// makeRoom makes room for n more bytes in the buffer.
func (m *machine) makeRoom(n int) {
	m.compact()
	if cap(m.Buf)-len(m.Buf) < n {
		m.Buf = slices.Grow(m.Buf, max(len(m.Buf)+n+scan.MaxAbove, minBuffer))
	}
}

// minBuffer is the minimum growth of the buffer. It is several times scan.MaxAbove, so the tail is rarely moved.
const minBuffer = 1 << 10

// MaxCall returns the limit of bytes held at once.
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

// compact drops the bytes of the buffer to which no try can go back. It moves bytes only if it drops at least as many,
// so the work stays linear. It fails the answer if more than MaxCall bytes must be kept.
func (m *machine) compact() {
	m.keepHead()
	keep := m.oldest()
	if len(m.Buf)-keep > m.MaxCall() {
		m.Fail(fmt.Errorf("more than %d bytes must be held to understand the answer", m.MaxCall()))
	}
	tail := scan.MaxAbove
	if m.Calls == 0 && !m.Names.Any && !m.Names.None {
		tail = scan.MaxBlock
	}
	if keep = max(0, keep-tail); keep <= len(m.Buf)/2 {
		return
	}
	m.check().Advance(keep)
	keep = max(0, keep-judge.MaxAhead) // a name may follow its arguments, so the check looks back
	m.Buf = m.Buf[:copy(m.Buf, m.Buf[keep:])]
	m.Base += keep
	m.Pos -= keep
	m.run -= keep
}

// Skip consumes n bytes as markup.
func (m *machine) Skip(n int, rule string) {
	m.PassOn()
	m.Read(MarkerSpan, n, rule)
}

// Read consumes n bytes that are part of a call or markup.
func (m *machine) Read(kind SpanKind, n int, rule string) {
	m.Mark(kind, n, rule)
	m.Take(n)
}

// Take consumes n bytes without a span; the caller records them.
func (m *machine) Take(n int) {
	m.Pos += n
	m.run = m.Pos
	if n > 0 {
		m.Since = m.Offset()
	}
}

// Mark records a span for the next n bytes if the caller of the parser traces them.
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

// PassOn emits the text or thinking before the current position.
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

// delta returns the text or thinking before the current position as an event. Usually it is a part of the last chunk
// and is not copied.
func (m *machine) delta() llm.Event {
	s := m.written(m.Base+m.run, m.Offset())
	m.run, m.Around.from, m.Unused = m.Pos, m.Offset(), ""
	return m.piece(s)
}

// written returns the input between two offsets. The buffer must still hold the second one.
func (m *machine) written(start, end int) string {
	from, to := max(0, start-m.Base), end-m.Base
	if i := from - (len(m.Buf) - len(m.Chunk)); i >= 0 {
		return m.Chunk[i : i+to-from]
	}
	return string(m.Buf[from:to])
}

// piece returns s as an event of text or thinking, depending on the mode.
func (m *machine) piece(s string) llm.Event {
	if m.Mode == judge.InThinking {
		return llm.ThinkingDelta{Text: s}
	}
	return llm.TextDelta{Text: s}
}

// next returns what a flow has read as one event, nil if there is nothing to pass on. A flow reads text, thinking or
// arguments.
func (m *machine) next() llm.Event {
	if m.run < m.Pos {
		return m.delta()
	}
	return m.Call.delta(m.Chunk)
}

// Emit passes an event on, or holds it while a try is open.
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

// flush releases everything that is certain. It does nothing while a try is open.
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

// release passes on the events and spans that were held, unless a try is still open.
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

// PlainText returns the reader of text and thinking.
func (m *machine) PlainText() proseReader { return proseReader{m} }
