package engine

import (
	"fmt"
	"iter"
	"slices"

	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/llm"
)

// defaultMaxCall bounds what must be held at once if the caller does not.
const defaultMaxCall = 16 << 20

// maxGuess bounds how far the engine reads ahead to find out whether text
// without a marker is a call. It keeps the work linear: a guess that fails
// costs no more than this.
const maxGuess = 8 << 10

// maxWaste is how many bytes may be read in vain for each byte of the answer.
// Beyond it, text made of nothing but beginnings of calls is text.
const maxWaste = 16

// machine reads one answer. Its readers are written as straight code that asks
// for the next byte; when there is none yet, the machine first lets go of all
// that is certain and then waits for the next chunk. So a reader never has to
// be resumed, and nothing can depend on where chunks were cut.
//
// The readers run in a coroutine. What is around them, the source of the
// chunks and the consumer of the events, does not: a [Feed] adds a chunk, wakes
// the readers, and passes on what they found. A reader of long text
// leaves a flow behind when it waits, so that it need not be woken for more of
// the same.
type machine struct {
	opts  *Options
	names *names
	hint  rowSet // the row of the dialect that is expected
	input
	output
	state

	findings
	deep       bool            // the stack has room for the readers of calls
	envelopes  []*envelope     // for the next objects
	feeders    []*feeder       // for the next values
	spare      *jsonfix.Reader // for the next value that is read whole
	dataReader *dataReader     // for the next data
	// idle is the call between calls, only the one being read if nothing can
	// be taken back.
	idle, only call
}

// output is what was read and has not left yet.
type output struct {
	run   int         // buf[run:pos] is text or thinking not passed on yet
	ready []llm.Event // certain, for the pump to pass on
	tries []try       // what may still be taken back
	queue []llm.Event // held until the last try is decided
	// holding says that the try of a call stays open until its place is known.
	holding bool
	spans   []Span // likewise
}

// Parse reads an answer that arrives in chunks; see dialect.Parser.Parse.
func Parse(x *Lexicon, o *Options, chunks iter.Seq2[string, error]) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		f := Open(x, o, yield)
		defer f.Stop()
		for chunk, err := range chunks {
			if err != nil {
				f.End(err)
				return
			}
			if !f.Add(chunk) {
				return
			}
		}
		f.End(nil)
	}
}

// Feed is an answer whose chunks are handed over one by one: it takes them to the readers, and what
// they found to the consumer.
type Feed struct {
	machine
	yield func(llm.Event, error) bool
	wake  func() (struct{}, bool) // nil until there is text: many answers have none
	end   func()
}

// Open begins to read an answer. What is found goes to yield.
func Open(x *Lexicon, o *Options, yield func(llm.Event, error) bool) *Feed {
	f := &Feed{machine: machine{opts: o, input: input{lex: x}, names: newNames(o.Tools), hint: x.rowOf(o.Dialect)}, yield: yield}
	m := &f.machine
	m.letGo, m.call, m.showing.at = m.flush, &m.idle, -1
	if o.ThinkingOpen {
		m.mode = inThinking
	}
	return f
}

// Add takes a chunk. It reports whether more is wanted.
func (f *Feed) Add(chunk string) bool {
	m := &f.machine
	if chunk == "" {
		return true
	}
	if m.prose && m.prosaic(chunk) { // most of most answers: no detour
		return f.yield(m.piece(chunk), nil)
	}
	if f.wake == nil {
		f.wake, f.end = iter.Pull(m.answer)
	}
	m.add(chunk)
	if m.flow == nil || !m.flow() {
		m.prose = false
		f.wake()
	} else if m.direct && !m.stop {
		ev := m.next()
		return ev == nil || f.yield(ev, nil)
	} else {
		m.flush()
	}
	return m.deliver(f.yield)
}

// Break says that something else stands between the text so far and what follows. What is held is decided: a call that is
// whole is one, also if its closing marker is missing, one that has begun is cut off, and all else is text. Calls in thinking
// that is open are none: the answer goes on behind them, so the model only thought of them.
// It reports whether more is wanted.
func (f *Feed) Break() bool {
	m := &f.machine
	if f.wake == nil || m.eof || m.stop {
		return !m.stop
	}
	m.eof, m.broken = true, true
	f.wake()
	f.end()
	f.wake, f.end = nil, nil
	m.goOn()
	return m.deliver(f.yield)
}

// goOn prepares for more text behind a break. It is read with an eye on what stands before the break, of which no reader
// waits for it any more.
func (m *machine) goOn() {
	m.eof, m.broken, m.starved = false, false, false
	m.flow, m.direct, m.prose, m.deep = nil, false, false, false
	m.state.region, m.guessing = region{}, guessing{}
	m.call, m.last, m.anchored, m.nested, m.holding = &m.idle, nil, false, 0, false
}

// End says that nothing more comes, and why if that is an error.
func (f *Feed) End(err error) {
	m := &f.machine
	m.err, m.eof = err, true
	if f.wake != nil {
		f.wake()
	} else if m.offset() > 0 { // a break was the last
		m.answer(nil)
	}
	if m.deliver(f.yield) && m.err != nil {
		f.yield(nil, m.err)
	}
}

// Stop lets go of the readers. It can be called at any time, and has to be.
func (f *Feed) Stop() {
	if f.end != nil {
		f.end()
	}
}

// deliver passes on what is ready. It reports whether the answer goes on.
func (m *machine) deliver(yield func(llm.Event, error) bool) bool {
	for _, ev := range m.ready {
		if !yield(ev, nil) {
			return false
		}
	}
	m.ready = m.ready[:0]
	if m.stop {
		yield(nil, m.err)
	}
	return !m.stop
}

// answer reads the whole answer. It is a sequence of waits for more of it.
func (m *machine) answer(wait func(struct{}) bool) {
	m.wait = wait
	m.parts()
	if m.held && len(m.tries) > 0 && m.truncated() { // the thinking may have been about to end
		m.dropHeld()
		m.parts()
	}
	for len(m.tries) > 0 { // calls in thinking that never closed
		m.commit()
	}
	m.flush()
	if m.broken {
		return
	}
	m.lastWatch()
	m.lost.report(m)
}

// parts reads text and thinking up to the end of the answer.
func (m *machine) parts() {
	for m.more() {
		switch m.mode {
		case inText:
			m.text()
		case inThinking:
			m.thinking()
		}
	}
}

// truncated reports whether the answer, or the text before a break, ended before the model did. It is
// asked at the end only.
func (m *machine) truncated() bool {
	if m.err != nil || m.broken || m.opts.Finish == nil {
		return m.err != nil || m.broken
	}
	reason := m.opts.Finish()
	return reason == llm.Length || reason == llm.ContentFilter
}

// flows is at for the loop of a reader of long text. While it waits, f is
// called with each chunk in the buffer: it reads what it can without waiting,
// and reports whether the reader could do no more than wait for the next one.
func (m *machine) flows(i int, f func() bool) bool {
	if m.pos+i < len(m.buf) {
		return true
	}
	if !m.undecided {
		m.flow, m.direct = f, len(m.tries) == 0 && m.opts.Trace == nil
	}
	ok := m.fill()
	m.flow = nil
	return ok || m.pos+i < len(m.buf) // f may have left a byte to read at the end
}

// add puts a chunk into the buffer.
func (m *machine) add(chunk string) {
	if full := len(m.buf) + len(chunk); full > cap(m.buf) || full > m.maxCall() {
		m.makeRoom(len(chunk))
	}
	m.buf = append(m.buf, chunk...)
	m.chunk = chunk
}

// makeRoom makes room for n bytes in the buffer.
func (m *machine) makeRoom(n int) {
	m.compact()
	if cap(m.buf)-len(m.buf) < n {
		m.buf = slices.Grow(m.buf, max(len(m.buf)+n+maxTail, minBuffer))
	}
}

// minBuffer is the room that is made at once. It is some times maxTail, so that
// the tail is seldom moved.
const minBuffer = 1 << 10

func (m *machine) maxCall() int {
	if m.opts.MaxCall > 0 {
		return m.opts.MaxCall
	}
	return defaultMaxCall
}

// fail ends the stream with an error of our own.
func (in *input) fail(err error) {
	if !in.stop {
		in.stop = true
		in.err = &llm.Error{Op: "dialect.Parse", Kind: llm.Malformed, Err: err}
	}
}

// compact drops bytes of the buffer to which no try can go back. It moves bytes
// only when it drops at least as many, so that the work stays linear.
func (m *machine) compact() {
	m.keepHead()
	keep := m.oldest()
	if len(m.buf)-keep > m.maxCall() {
		m.fail(fmt.Errorf("more than %d bytes must be held to understand the answer", m.maxCall()))
	}
	if keep = max(0, keep-maxTail); keep <= len(m.buf)/2 {
		return
	}
	m.watch(keep)
	keep = max(0, keep-maxAhead) // a name may stand behind its arguments
	m.buf = m.buf[:copy(m.buf, m.buf[keep:])]
	m.base += keep
	m.pos -= keep
	m.run -= keep
}

// skip passes over n bytes as markup.
func (m *machine) skip(n int, rule string) {
	m.passOn()
	m.read(MarkerSpan, n, rule)
}

// read passes over n bytes that are part of a call, or markup.
func (m *machine) read(kind SpanKind, n int, rule string) {
	m.mark(kind, n, rule)
	m.take(n)
}

// take passes over n bytes that something else accounts for.
func (m *machine) take(n int) {
	m.pos += n
	m.run = m.pos
	if n > 0 {
		m.since = m.offset()
	}
}

// mark notes what became of the next n bytes.
func (m *machine) mark(kind SpanKind, n int, rule string) {
	if m.opts.Trace == nil || n == 0 {
		return
	}
	s := Span{Start: m.offset(), End: m.offset() + n, Kind: kind, Rule: rule}
	if kind != TextSpan && kind != ThinkingSpan {
		s.Dialect = m.dialect()
	}
	m.spans = append(m.spans, s)
}

// passOn makes events of the text or thinking before here.
func (m *machine) passOn() {
	if m.run >= m.pos {
		m.run = m.pos
		return
	}
	if m.opts.Trace != nil {
		kind := TextSpan
		if m.mode == inThinking {
			kind = ThinkingSpan
		}
		m.spans = append(m.spans, Span{Start: m.base + m.run, End: m.offset(), Kind: kind})
	}
	m.passClosing(m.base + m.run)
	m.emit(m.delta())
}

// delta returns the text or thinking before here as an event. Most of the time
// it is the last chunk, or a part of it, and need not be copied.
func (m *machine) delta() llm.Event {
	s := m.written(m.base+m.run, m.offset())
	m.run, m.around.from = m.pos, m.offset()
	return m.piece(s)
}

// written returns what stands between two offsets, of which the buffer holds the
// second.
func (m *machine) written(start, end int) string {
	from, to := max(0, start-m.base), end-m.base
	if i := from - (len(m.buf) - len(m.chunk)); i >= 0 {
		return m.chunk[i : i+to-from]
	}
	return string(m.buf[from:to])
}

// piece returns s as an event of the text or thinking we are in.
func (m *machine) piece(s string) llm.Event {
	if m.mode == inThinking {
		return llm.ThinkingDelta{Text: s}
	}
	return llm.TextDelta{Text: s}
}

// next returns what a flow has read as one event, nil if there is nothing to
// pass on. A flow reads text, or thinking, or arguments.
func (m *machine) next() llm.Event {
	if m.run < m.pos {
		return m.delta()
	}
	return m.call.delta(m.chunk)
}

// maxTail is how much of the text before is remembered.
const maxTail = 160

// lately returns the last bytes of the text, or thinking, before here.
func (m *machine) lately() []byte {
	return m.buf[max(0, m.since-m.base, m.pos-maxTail):m.pos]
}

// emit passes an event on, or holds it while it may be taken back.
func (m *machine) emit(ev llm.Event) {
	if m.stop {
		return
	}
	if len(m.tries) > 0 {
		m.queue = append(m.queue, ev)
	} else {
		m.ready = append(m.ready, ev)
	}
}

// flush lets go of everything that is certain.
func (m *machine) flush() {
	if len(m.tries) > 0 {
		return
	}
	m.passOn()
	m.passClosing(m.offset())
	m.passArgs()
	if len(m.spans) > 0 {
		m.release()
	}
}

// release lets go of what was held for tries, once there are none.
func (m *machine) release() {
	if len(m.tries) > 0 {
		return
	}
	m.ready = append(m.ready, m.queue...)
	m.queue = m.queue[:0]
	if m.opts.Trace != nil {
		for _, s := range m.spans {
			m.opts.Trace(s)
		}
	}
	m.spans = m.spans[:0]
}
