package wire

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// Head is what a stream says before its first event. What is left empty is
// taken from the llm.Start; an id and a time that are missing there too are
// made.
type Head struct {
	ID      string // of the answer
	Model   string
	Created int64 // seconds since 1970, for formats that say when
	// NoUsage leaves out the chunk with the usage that clients of the chat
	// format get only if they ask for it.
	NoUsage bool
	// Echo returns the members of the request that the first events of the responses format repeat. It may be nil.
	Echo func() map[string]json.RawMessage
	// Lost is told of what the format cannot carry, before the bytes of the event that has it are written.
	Lost func(llm.Warning)
}

// streamHead is a Head with what only the machinery sets.
type streamHead struct {
	Head
	usage llm.Usage // before the answer
	list  bool      // the stream is one JSON array, where the format has that
}

// with returns h completed by what an answer says about itself.
func (h streamHead) with(format Properties, s llm.Start) streamHead {
	h.ID = cmp.Or(h.ID, s.ID)
	if h.ID == "" {
		h.ID = newAnswerID(format)
	}
	h.Model = cmp.Or(h.Model, s.Model)
	if h.Created == 0 {
		h.Created = createdAt(s)
	}
	h.usage = s.Usage
	return h
}

// createdAt returns when an answer began, in seconds since 1970; one that does
// not say began now.
func createdAt(s llm.Start) int64 {
	if s.Created.IsZero() {
		return time.Now().Unix()
	}
	return s.Created.Unix()
}

// newAnswerID makes the id of an answer whose model gave none, and returns an
// empty one for a format without ids.
func newAnswerID(p Properties) string {
	if !p.AnswerIDs {
		return ""
	}
	return p.IDPrefix + rand.Text()
}

// identified returns r with the id and the time that every answer has.
func (h *host) identified(r *llm.Response) *llm.Response {
	id := cmp.Or(r.Finish.ID, r.Start.ID)
	if id == "" {
		id = newAnswerID(h.properties())
	}
	model := cmp.Or(r.Finish.Model, r.Start.Model)
	if id == r.Finish.ID && model == r.Finish.Model && !r.Start.Created.IsZero() {
		return r
	}
	out := *r
	out.Finish.Model = model
	out.Finish.ID, out.Start.Created = id, time.Unix(createdAt(r.Start), 0).UTC()
	return &out
}

// stream writes an answer as a stream of its format. It takes the
// events of package llm in any order their contract allows; calls that are
// written side by side come out one after the other where the format demands
// it. It is not safe for concurrent use.
type stream struct {
	w    io.Writer
	e    encoder
	head streamHead
	s    streamEncoder // nil before the first event
	err  error
	done bool
	told int // warnings that Lost was told
}

// streamEncoder turns events into the bytes of one format.
type streamEncoder interface {
	event(ev llm.Event)
	fail(err *llm.Error)
}

// newStream returns a stream that writes to w. Each event is one Write, so that a server can flush after each.
func newStream(h host, w io.Writer, head streamHead) *stream {
	return &stream{w: w, e: newEncoder(h), head: head}
}

// begin makes the encoder of the format, when the first event tells what the
// stream says about itself.
func (s *stream) begin(first llm.Event) {
	start, _ := first.(llm.Start)
	s.s = s.e.c.impl.newStream(&s.e, s.head.with(s.e.c.properties(), start))
}

// write writes an event. The llm.Finish ends the stream. An llm.KeepAlive is
// written as the format has it, and not at all where it has none; an llm.Retract
// ends the stream with an error. Events of types it does not know are passed
// over. Once a write failed, all do.
func (s *stream) write(ev llm.Event) error {
	if s.err != nil || s.done {
		return s.err
	}
	switch ev := ev.(type) {
	case llm.KeepAlive:
		s.keepAlive()
		return s.flush()
	case llm.Retract:
		return s.retract(ev)
	}
	if s.s == nil {
		s.begin(ev)
	}
	if !s.carries(ev) {
		s.tell()
		return nil
	}
	if end, last := ev.(llm.Finish); last {
		s.done = true
		if !s.e.c.own {
			end.Extra = s.e.share(end.Extra, ofFinish)
			ev = end
		}
	}
	s.s.event(ev)
	s.foreign(ev)
	return s.flush()
}

// foreign notes what an event says that only another format or vendor knows, and that was passed over.
func (s *stream) foreign(ev llm.Event) {
	if s.e.c.own {
		return
	}
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Part != nil {
			t := *ev.Part
			if js.Get(t.State.Data, "type") == nil { // else it is a block of its own
				t.Text = "signed"
			}
			s.e.foreignParts([]llm.Part{t})
		}
	case llm.ThinkingDelta:
		if ev.Part != nil {
			s.e.foreignParts([]llm.Part{*ev.Part})
		}
	case llm.Media:
		s.e.foreignParts([]llm.Part{ev})
	case llm.Call:
		s.e.foreignParts([]llm.Part{ev})
	case llm.Alternative:
		if s.e.c.impl.properties().Has(SeveralAnswers) {
			s.foreign(ev.Event)
		}
	}
}

// carries reports whether the format can express an event, and adds a warning
// if it cannot.
func (s *stream) carries(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.Alternative:
		if !s.e.c.impl.properties().Has(SeveralAnswers) {
			s.e.lost(llm.Ignored, "n", oneAnswer)
			return false
		}
		return s.carries(ev.Event)
	case llm.UnknownEvent:
		if ev.Format != s.e.c.Format {
			s.e.lost(llm.Ignored, ev.Type, "an event that only the "+ev.Format+" format has")
			return false
		}
	case llm.TextDelta:
		if ev.Part == nil {
			return true
		}
		s.e.ownProbs(ev.Part.LogProbs)
		return !s.extra(ev.Part.Extra) || ev.Text != "" || ev.Part.LogProbs != nil || len(ev.Part.Citations) > 0 || !ev.Part.State.IsZero()
	case llm.ThinkingDelta:
		return ev.Part == nil || !s.extra(ev.Part.Extra) || ev.Text != "" || !ev.Part.State.IsZero()
	}
	return true
}

// extraTaker is a streamEncoder that has a place for the extra fields of texts and thinking, or tells that they have come
// too late for it.
type extraTaker interface{ takesExtra() }

// extra warns about the extra fields of a text or of thinking that are not for this format, or for which its streams have
// no place. It reports whether those are all there are.
func (s *stream) extra(x llm.Extra) bool {
	if s.e.c.own || len(x) == 0 {
		return false
	}
	fields := s.e.ownExtra(x)
	if _, takes := s.s.(extraTaker); takes && len(fields) > 0 {
		return false
	}
	s.e.unplaced(fields)
	return true
}

// sseKeepAlive is a comment: every reader of server-sent events passes over it.
const sseKeepAlive = ": keep-alive\n\n"

// keepAlive writes what the format has for it. Before the first server-sent
// event it must not look like an event, so it is a comment.
func (s *stream) keepAlive() {
	p := s.e.c.properties()
	alive := p.KeepAlive
	if alive != "" && s.s == nil && p.StreamType == "text/event-stream" && !p.NoComments {
		alive = sseKeepAlive
	}
	s.e.Buf = append(s.e.Buf, alive...)
}

// failWith ends the stream with an error, as the vendor would say it.
func (s *stream) failWith(err *llm.Error) error {
	if s.err != nil || s.done {
		return s.err
	}
	if s.s == nil {
		s.begin(nil)
	}
	s.done = true
	s.s.fail(err)
	return s.flush()
}

// retract ends the stream: no format can take back what was said.
func (s *stream) retract(r llm.Retract) error {
	failed := &llm.Error{Op: s.e.c.Format + ".Write", Kind: llm.Incomplete, Err: fmt.Errorf("the answer was taken back after it had begun, which this format cannot say: %s", r.Why)}
	if err := s.failWith(failed); err != nil {
		return err
	}
	s.err = failed
	return failed
}

// tell tells what was lost since it was last called.
func (s *stream) tell() {
	if s.head.Lost == nil {
		return
	}
	for ; s.told < len(s.e.warnings); s.told++ {
		s.head.Lost(s.e.warnings[s.told])
	}
}

func (s *stream) flush() error {
	s.tell()
	if s.e.Err != nil {
		s.err = s.e.c.fail("Write", llm.Invalid, s.e.Err)
		return s.err
	}
	out := s.e.Buf
	if s.e.c.Quirks.Framed {
		out, s.err = framed(&s.e.c, out)
	}
	if len(out) > 0 && s.err == nil {
		_, s.err = s.w.Write(out)
	}
	s.e.Buf = s.e.Buf[:0]
	return s.err
}

// openFrame and closeFrame put an event of a stream around an object.
func (e *encoder) openFrame(name string) int {
	if name != "" {
		e.Buf = append(append(append(e.Buf, "event: "...), name...), '\n')
	}
	e.Buf = append(e.Buf, "data: "...)
	return e.Object()
}

func (e *encoder) closeFrame() {
	e.End()
	e.Buf = append(e.Buf, "\n\n"...)
}

// rawFrame writes an event whose data is there already.
func (e *encoder) rawFrame(name string, data []byte) {
	if name != "" {
		e.Buf = append(append(append(e.Buf, "event: "...), strings.Map(oneLine, name)...), '\n')
	}
	e.Buf = append(e.Buf, "data: "...)
	e.Raw(data)
	e.frameEnd()
}

// oneLine drops what would end a line.
func oneLine(r rune) rune {
	if r == '\n' || r == '\r' {
		return -1
	}
	return r
}

// frameEnd ends a frame whose object is closed already.
func (e *encoder) frameEnd() { e.Buf = append(e.Buf, "\n\n"...) }
