package codec

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/wire/relay"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// MaxHeld bounds the bytes that a relay keeps back.
const MaxHeld = 64 << 20

// maxTrailing limits the bytes after the end of an answer.
const maxTrailing = 1 << 20

// NewRelay returns a relay that copies the stream of an answer from src to dst and shows each event to observe. The
// caller fills in the host before it runs the relay. So the host is not copied on the stack, which lasts as long as the
// stream.
func NewRelay(dst io.Writer, src io.Reader, observe func(llm.Event) format.RelayDecision) *Relay {
	if observe == nil {
		observe = func(llm.Event) format.RelayDecision { return format.Pass }
	}
	return &Relay{dst: dst, src: src, observe: observe}
}

// Host returns the host of the stream.
func (r *Relay) Host() *Host { return &r.c }

// Run relays the whole stream.
func (r *Relay) Run() error {
	r.a = NewAnswer(&r.c, r.event)
	r.a.Relaying, r.a.Verbatim, r.a.await = !r.c.Quirks.Framed, true, r.await
	from := io.Reader(r)
	if r.c.Quirks.Framed {
		r.translate()
		from = FromFrames(r)
	}
	return r.over(r.c.Impl.DecodeStream(r.a, from))
}

// over ends a stream of which nothing more can be read.
func (r *Relay) over(err error) error {
	if err == nil && r.gaveUp == nil {
		r.a.Conclude()
	}
	switch {
	case r.gaveUp != nil:
		err = r.fail(r.gaveUp)
	case err == nil:
		err = r.finish()
	default:
		r.failing = true
		r.a.CutOff()
		err = r.fail(r.reworded(r.c.WithKind("Relay", err)))
	}
	if r.err != nil {
		return r.c.Fail("Relay", llm.Network, fmt.Errorf("writing to the client: %w", r.err))
	}
	return err
}

// Relay is one relayed stream. The decoder reads from it, so it knows when the decoder waits for more.
type Relay struct {
	c       Host
	dst     io.Writer
	src     io.Reader
	observe func(llm.Event) format.RelayDecision
	a       *Answer

	buf     []byte // read and not yet written
	at      int64  // offset in the stream of the first byte of buf
	served  int    // bytes of buf that the decoder has
	room    int    // that a read wants
	tail    []byte // the last bytes that were written
	written bool
	dirty   bool  // written and not flushed
	err     error // of dst
	readErr error // of src, not yet served

	holding bool
	heldAt  int64 // start of the first frame that is held
	begunAt int64 // start of the frame with the llm.Start
	queue   []judged
	enc     *Stream      // not nil: the stream is a translation
	held    []llm.Event  // of a translation
	kept    int          // bytes that were read while events of a translation were held
	called  map[int]bool // answers of which the client has a call, by index
	gaveUp  *llm.Error   // why an observer ended the stream
	failing bool         // events are calls that a failure cut off, which the upstream did not send
}

// judged is an event whose frame is not written yet.
type judged struct {
	ev     llm.Event
	frame  int64 // start of the frame it came in
	from   int64 // start of the first frame that says it
	passed bool
}

// Read serves the decoder. Before it waits for the upstream, all that is
// decided goes out.
func (r *Relay) Read(p []byte) (int, error) {
	if r.served == len(r.buf) && r.readErr == nil {
		r.release(r.decided())
		r.flush()
		if r.err != nil {
			return 0, r.err
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.buf[r.served:])
	r.served += n
	if n == 0 {
		return 0, r.readErr
	}
	return n, nil
}

// A read is small while events arrive slowly, as on most streams, and larger while every read fills the buffer.
const (
	relayLeast = 1 << 10
	relayMost  = 32 << 10
)

func (r *Relay) fill() error {
	if r.enc != nil { // nothing is written from buf any more
		if r.kept += len(r.buf); len(r.held) == 0 {
			r.kept = 0
		}
		r.buf, r.served = r.buf[:0], 0
	}
	if len(r.buf)+r.kept > MaxHeld {
		return r.tooMuch()
	}
	n := len(r.buf)
	if cap(r.buf)-n < max(r.room, relayLeast) {
		r.buf = append(make([]byte, 0, 2*n+max(r.room, relayLeast)), r.buf...)
	}
	m, err := r.src.Read(r.buf[n:cap(r.buf)])
	if r.buf = r.buf[:n+m]; n+m == cap(r.buf) {
		r.room = min(2*m, relayMost)
	}
	r.readErr = err
	return nil
}

func (r *Relay) tooMuch() error {
	return r.c.Fail("Relay", llm.Malformed, fmt.Errorf("more than %d bytes are held back", MaxHeld))
}

// decided returns the offset up to which the stream may be written.
func (r *Relay) decided() int64 {
	limit := r.a.Frame.end
	if r.a.over() {
		limit = min(limit, r.a.ending)
	}
	if r.holding {
		limit = min(limit, r.heldAt)
	}
	return limit
}

// release writes the stream up to an offset.
func (r *Relay) release(limit int64) {
	n := int(limit - r.at)
	if r.enc != nil || n <= 0 {
		return
	}
	r.write(r.buf[:n])
	rest := copy(r.buf, r.buf[n:])
	r.buf, r.served, r.at = r.buf[:rest], r.served-n, limit
}

func (r *Relay) write(b []byte) {
	if len(b) == 0 || r.err != nil {
		return
	}
	_, r.err = r.dst.Write(b)
	r.written, r.dirty = true, true
	r.tail = append(r.tail, b[max(0, len(b)-4):]...)
	r.tail = append(r.tail[:0], r.tail[max(0, len(r.tail)-4):]...)
}

func (r *Relay) flush() {
	if !r.dirty || r.err != nil {
		return
	}
	r.dirty = false
	switch w := r.dst.(type) {
	case interface{ FlushError() error }:
		r.err = w.FlushError()
	case interface{ Flush() error }:
		r.err = w.Flush()
	case interface{ Flush() }:
		w.Flush()
	}
}

// event judges an event, and reports whether there is somebody to write to.
func (r *Relay) event(ev llm.Event) bool {
	if r.gaveUp != nil {
		return false
	}
	v := r.observe(ev)
	if r.failing {
		return true // the client is told of the failure, and ends its calls itself
	}
	if v.Action == relay.GiveUp {
		r.gaveUp = v.Err
		return false
	}
	if v.Action != relay.Pass {
		atEnd(&v, ev)
	}
	if r.enc == nil && (r.a.Position == nil || r.a.OneDocument || r.a.WasChanged()) {
		r.translate()
	}
	if r.enc == nil && v.Action == relay.Replace {
		r.translate()
	}
	if r.enc != nil {
		r.translated(ev, v)
	} else {
		r.judge(ev, v.Action == relay.Pass)
	}
	return r.err == nil
}

// atEnd corrects a decision about the end of an answer: it can be neither held nor dropped.
func atEnd(v *format.RelayDecision, ev llm.Event) {
	index, last := Ends(ev)
	switch {
	case !last:
	case v.Action == relay.Hold && index == 0:
		*v = format.Pass
	case v.Action == relay.Replace && !slices.ContainsFunc(v.Events, func(ev llm.Event) bool { i, last := Ends(ev); return last && i == index }):
		v.Events = append(slices.Clone(v.Events), ev)
	}
}

// Ends reports whether an event ends an answer, and which.
func Ends(ev llm.Event) (index int, last bool) {
	if other, ok := ev.(llm.Alternative); ok {
		index, ev = other.Index, other.Event
	}
	_, last = ev.(llm.Finish)
	return index, last
}

// judge notes a decision that leaves the bytes unchanged.
func (r *Relay) judge(ev llm.Event, passed bool) {
	frame := r.a.Frame.Start
	r.forget(min(frame, r.decided()))
	if _, ok := ev.(llm.Start); ok {
		r.begunAt = frame
	}
	if passed && r.holding {
		r.holding = r.a.unnamed > 0
		for i := range r.queue {
			r.queue[i].passed = true
		}
	}
	if !passed && !r.holding {
		r.holding, r.heldAt = true, frame
		r.a.Position.Mark(holdStart)
	}
	from := frame
	if r.a.late {
		from = r.a.from
	}
	r.queue = append(r.queue, judged{ev, frame, from, passed})
}

// await keeps back the present frame, since the call that begins in it is not told yet: an event that is passed when it was
// lets the frame go.
func (r *Relay) await() {
	if r.enc == nil && !r.holding && r.a.Position != nil {
		r.holding, r.heldAt = true, r.a.Frame.Start
		r.a.Position.Mark(holdStart)
	}
}

// forget drops the events of frames before an offset, about which there are
// verdicts.
func (r *Relay) forget(before int64) {
	n := 0
	for n < len(r.queue) && r.queue[n].frame < before {
		r.noteCall(r.queue[n].ev)
		n++
	}
	r.queue = r.queue[:copy(r.queue, r.queue[n:])]
}

// translate encodes the rest of the stream from events, beginning with the first undecided frame. Held events stay
// held.
func (r *Relay) translate() {
	cut, at := r.a.Frame.Start, frameStart
	if r.a.over() && r.a.ending <= cut {
		cut, at = r.a.ending, endStart
	}
	if r.holding && r.heldAt <= cut {
		cut, at = r.heldAt, holdStart
	}
	r.release(cut)
	if r.written && !endsWith(r.tail, r.a.Gap) {
		r.write([]byte(r.a.Gap))
	}
	r.enc = NewStream(r.c, encoded{r}, StreamHead{List: r.a.IsArray})
	begun := r.a.Begun && r.begunAt < cut
	if begun && r.a.Position != nil && !r.a.OneDocument {
		head := StreamHead{Head: format.Head{ID: r.a.Finish.ID, Model: r.a.Finish.Model}}.with(r.c.Properties(), llm.Start{Created: r.a.created})
		r.enc.s = r.a.Position.Resume(at, &r.enc.E, head)
	}
	for _, q := range r.queue {
		switch {
		case q.frame < cut || q.from < cut || q.frame < r.at: // the client has it
			r.noteCall(q.ev)
		case q.passed:
			r.encode(q.ev)
		default: // the verdict about what follows decides
			r.held = append(r.held, q.ev)
		}
	}
	r.queue, r.holding = nil, false
}

// endsWith reports whether a stream ends with a gap, in line ends of any kind.
func endsWith(tail []byte, gap string) bool {
	cr := strings.ReplaceAll(gap, "\n", "\r")
	return bytes.HasSuffix(tail, []byte(gap)) || bytes.HasSuffix(tail, []byte(cr)) ||
		bytes.HasSuffix(tail, []byte(strings.ReplaceAll(gap, "\n", "\r\n")))
}

// encoded is what a translation writes to.
type encoded struct{ r *Relay }

func (e encoded) Write(b []byte) (int, error) {
	e.r.write(b)
	return len(b), e.r.err
}

func (r *Relay) encode(events ...llm.Event) {
	for _, ev := range events {
		r.noteCall(ev)
		if err := r.enc.Write(r.corrected(ev)); err != nil && r.err == nil {
			r.err = err
		}
	}
}

// noteCall notes that the client has a call. Invalid calls count too, because the format has them as calls.
func (r *Relay) noteCall(ev llm.Event) {
	index := 0
	if other, ok := ev.(llm.Alternative); ok {
		index, ev = other.Index, other.Event
	}
	switch ev := ev.(type) {
	case llm.CallStart, llm.Call:
	case llm.InvalidCall:
		if ev.Name == "" { // it is written as text
			return
		}
	default:
		return
	}
	if r.called == nil {
		r.called = make(map[int]bool)
	}
	r.called[index] = true
}

// corrected returns an event of a translation. Observers may have taken out all
// calls or added the first: the finish reason is that of what the client has.
func (r *Relay) corrected(ev llm.Event) llm.Event {
	switch ev := ev.(type) {
	case llm.Finish:
		return finishAs(ev, r.called[0])
	case llm.Alternative:
		if f, ok := ev.Event.(llm.Finish); ok {
			ev.Event = finishAs(f, r.called[ev.Index])
		}
		return ev
	}
	return ev
}

// finishAs returns the finish of an answer with calls or without.
func finishAs(f llm.Finish, calls bool) llm.Finish {
	switch {
	case f.Reason == llm.ToolCalls && !calls:
		f.Reason, f.Raw = llm.Stop, ""
	case f.Reason == llm.Stop && calls:
		f.Reason, f.Raw = llm.ToolCalls, ""
	}
	return f
}

// translated judges an event of a translation.
func (r *Relay) translated(ev llm.Event, v format.RelayDecision) {
	switch v.Action {
	case relay.Hold:
		r.held = append(r.held, ev)
		return
	case relay.Pass:
		r.encode(r.held...)
		r.encode(ev)
	case relay.Replace:
		r.encode(v.Events...)
	}
	r.held, r.kept = nil, 0
}

// finish writes the end of an answer.
func (r *Relay) finish() error {
	if r.enc == nil {
		r.release(r.a.Frame.end)
		r.flush()
		if n := r.rest(); n > 0 {
			r.observe(format.RelayTrailing{Bytes: n})
		}
	}
	r.flush()
	return nil
}

// rest reads the bytes after the answer and returns how many of them were dropped. Blank lines and the end of a list
// are written. The rest does not belong to the answer.
func (r *Relay) rest() (dropped int) {
	blank := ""
	switch {
	case r.a.IsArray:
		blank = " \t\r\n,]"
	case r.a.Gap != "":
		blank = " \t\r\n"
	}
	b := r.buf
	for left := maxTrailing; ; {
		n := 0
		if dropped == 0 {
			n = len(b) - len(bytes.TrimLeft(b, blank))
			r.write(b[:n])
		}
		dropped += len(b) - n
		if left <= 0 || r.readErr != nil || r.err != nil {
			return dropped
		}
		if b = r.buf[:cap(r.buf)]; len(b) == 0 {
			b = make([]byte, relayMost)
		}
		n, r.readErr = r.src.Read(b)
		b, left = b[:n], left-max(n, 1)
	}
}

// reworded returns the error that a client is told.
func (r *Relay) reworded(err error) error {
	var told *llm.Error
	if !r.a.Reported || !errors.As(err, &told) {
		return err
	}
	f := format.RelayFailure{Err: told}
	if from, to := int(r.a.Frame.Start-r.at), int(r.a.Frame.end-r.at); r.enc == nil && 0 <= from && from <= to && to <= len(r.buf) {
		f.Said = r.buf[from:to]
	}
	if v := r.observe(f); v.Action == relay.GiveUp {
		r.a.Reported = false // its own words are not for the client
		return v.Err
	}
	return err
}

// fail ends the stream of an answer that failed with err.
func (r *Relay) fail(err error) error {
	if r.enc == nil && r.a.Reported && !r.holding {
		if r.written || r.a.Frame.Start > r.at {
			r.release(r.a.Frame.end)
			r.flush()
		}
		return err
	}
	if r.enc == nil && (r.written || r.decided() > r.at) {
		r.translate()
	}
	var failure *llm.Error
	if r.enc != nil && r.written && errors.As(err, &failure) {
		_ = r.enc.FailWith(failure) // r.err has it
	}
	r.flush()
	return err
}

// Moment is a point of a stream at which a translation may begin.
type Moment uint8

const (
	frameStart Moment = iota // before the frame that is being read
	holdStart                // before the first frame that is held
	endStart                 // before the frame that said why the model stopped
	moments
)

// Positioner is the part of a decoder that lets a relay go on by itself in the
// middle of a stream.
type Positioner interface {
	// mark remembers the state of the stream. At frameStart that is the
	// present one; the others are what it was before the present frame.
	Mark(at Moment)
	// resume returns an encoder that continues from there.
	Resume(at Moment, e *Encoder, head StreamHead) StreamEncoder
}

// Positions are the states of a stream at each moment.
type Positions[P any] [moments]P

func (p *Positions[P]) Set(at Moment, now func() P) {
	if at == frameStart {
		p[at] = now()
		return
	}
	p[at] = p[frameStart]
}

// WholeCalls is the placer of formats whose frames do not depend on each other:
// a relay can go on after any. Calls come whole, and the client has those of
// the frames it was sent.
type WholeCalls struct{ begun Positions[int] }

func (w *WholeCalls) Set(at Moment, a *Answer) {
	w.begun.Set(at, func() int { return len(a.Calls) })
}

// Sent returns the ids of the calls that the client has at a moment.
func (w *WholeCalls) Sent(at Moment, a *Answer) RelayedCalls {
	ids := make(RelayedCalls)
	for _, p := range a.Calls[:w.begun[at]] {
		ids[p.ID] = true
	}
	return ids
}

// RelayedCalls are the ids of calls that the client of a relay has.
type RelayedCalls map[string]bool

// Have reports whether an event is the end of such a call.
func (r RelayedCalls) Have(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.Call:
		return r[ev.ID]
	case llm.InvalidCall:
		return r[ev.ID]
	}
	return false
}

// stretch is a part of a stream, in bytes.
type stretch struct{ Start, end int64 }

// MarkFinished notes that the vendor sent a finish reason.
func (a *Answer) MarkFinished() {
	if a.Finished {
		return
	}
	a.Finished = true
	all := cmp.Or(a.firstAnswer, a)
	if !all.over() {
		return
	}
	all.ending = all.Frame.Start
	if all.Position != nil {
		all.Position.Mark(endStart)
	}
}

// Since sends events whose data is in the frames since an offset.
func (a *calls) Since(start int64, send func()) {
	all := a.ofResponse()
	all.late, all.from = true, start
	send()
	all.late = false
}
