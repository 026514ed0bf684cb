package codec

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"time"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// StreamHead is a Head with what only the machinery sets.
type StreamHead struct {
	format.Head
	Usage llm.Usage // before the answer
	List  bool      // the stream is one JSON array, where the format has that
}

// with returns h completed by what an answer says about itself.
func (h StreamHead) with(format format.Properties, s llm.Start) StreamHead {
	h.ID = cmp.Or(h.ID, s.ID)
	if h.ID == "" {
		h.ID = NewAnswerID(format)
	}
	h.Model = cmp.Or(h.Model, s.Model)
	if h.Created == 0 {
		h.Created = CreatedAt(s)
	}
	h.Usage = s.Usage
	return h
}

// EndsBlock reports whether an event ends a block whose bytes were relayed. All events do but those that may come at
// any time.
func EndsBlock(ev llm.Event) bool {
	switch ev.(type) {
	case llm.Start, llm.KeepAlive, llm.Warning:
		return false
	}
	return true
}

// CreatedAt returns when an answer began, in seconds since 1970. The default is now.
func CreatedAt(s llm.Start) int64 {
	if s.Created.IsZero() {
		return time.Now().Unix()
	}
	return s.Created.Unix()
}

// NewAnswerID makes the id of an answer whose model gave none, and returns an
// empty one for a format without ids.
func NewAnswerID(p format.Properties) string {
	if !p.AnswerIDs {
		return ""
	}
	return p.IDPrefix + rand.Text()
}

// Identified returns r with the id and the time that every answer has.
func (h *Host) Identified(r *llm.Response) *llm.Response {
	id := cmp.Or(r.Finish.ID, r.Start.ID)
	if id == "" {
		id = NewAnswerID(h.Properties())
	}
	model := cmp.Or(r.Finish.Model, r.Start.Model)
	if id == r.Finish.ID && model == r.Finish.Model && !r.Start.Created.IsZero() {
		return r
	}
	out := *r
	out.Finish.Model = model
	out.Finish.ID, out.Start.Created = id, time.Unix(CreatedAt(r.Start), 0).UTC()
	return &out
}

// Stream writes an answer as a stream of its format. It takes the
// events of package llm in any order their contract allows; calls that are
// written side by side come out one after the other where the format demands
// it. It is not safe for concurrent use.
type Stream struct {
	w    io.Writer
	E    Encoder
	head StreamHead
	s    StreamEncoder // nil before the first event
	Err  error
	done bool
	told int // warnings that Lost was told
}

// StreamEncoder turns events into the bytes of one format.
type StreamEncoder interface {
	Event(ev llm.Event)
	Fail(err *llm.Error)
}

// NewStream returns a stream that writes to w. Each event is one Write, so a server can flush after each.
func NewStream(h Host, w io.Writer, head StreamHead) *Stream {
	return &Stream{w: w, E: NewEncoder(h), head: head}
}

// begin makes the encoder of the format, when the first event tells what the
// stream says about itself.
func (s *Stream) begin(first llm.Event) {
	start, _ := first.(llm.Start)
	s.s = s.E.Host.Impl.NewStream(&s.E, s.head.with(s.E.Host.Properties(), start))
}

// Write writes an event. The llm.Finish ends the stream. An llm.KeepAlive is
// written as the format has it, and not at all where it has none; an llm.Retract
// ends the stream with an error. Events of types it does not know are passed
// over. Once a write failed, all do.
func (s *Stream) Write(ev llm.Event) error {
	if s.Err != nil || s.done {
		return s.Err
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
		if !s.E.Host.Custom {
			end.Extra = s.E.share(end.Extra, ofFinish)
			ev = end
		}
	}
	s.s.Event(ev)
	s.noteOtherFormats(ev)
	return s.flush()
}

// noteOtherFormats notes what an event says that only another format or vendor knows, and that was passed over.
func (s *Stream) noteOtherFormats(ev llm.Event) {
	if s.E.Host.Custom {
		return
	}
	switch ev := ev.(type) {
	case llm.TextDelta:
		if ev.Part != nil {
			t := *ev.Part
			if js.Get(t.State.Data, "type") == nil { // otherwise it is a separate block
				t.Text = "signed"
			}
			s.E.ForeignParts([]llm.Part{t})
		}
	case llm.ThinkingDelta:
		if ev.Part != nil {
			s.E.ForeignParts([]llm.Part{*ev.Part})
		}
	case llm.Media:
		s.E.ForeignParts([]llm.Part{ev})
	case llm.Call:
		s.E.ForeignParts([]llm.Part{ev})
	case llm.Alternative:
		if s.E.Host.Impl.Properties().Has(format.SeveralAnswers) {
			s.noteOtherFormats(ev.Event)
		}
	}
}

// carries reports whether the format can express an event, and adds a warning
// if it cannot.
func (s *Stream) carries(ev llm.Event) bool {
	switch ev := ev.(type) {
	case llm.Alternative:
		if !s.E.Host.Impl.Properties().Has(format.SeveralAnswers) {
			s.E.Lost(llm.Ignored, "n", OneAnswer)
			return false
		}
		return s.carries(ev.Event)
	case llm.UnknownEvent:
		if ev.Format != s.E.Host.Format {
			s.E.Lost(llm.Ignored, ev.Type, "an event that only the "+ev.Format+" format has")
			return false
		}
	case llm.TextDelta:
		if ev.Part == nil {
			return true
		}
		s.E.OwnLogProbs(ev.Part.LogProbs)
		return !s.extra(ev.Part.Extra) || ev.Text != "" || ev.Part.LogProbs != nil || len(ev.Part.Citations) > 0 || !ev.Part.State.IsZero()
	case llm.ThinkingDelta:
		return ev.Part == nil || !s.extra(ev.Part.Extra) || ev.Text != "" || !ev.Part.State.IsZero()
	}
	return true
}

// extraTaker is a [StreamEncoder] that has a place for the extra fields of texts and thinking, or tells that they have come
// too late for it.
type extraTaker interface{ TakesExtra() }

// extra warns about the extra fields of a text or of thinking that are not for this format, or for which its streams have
// no place. It reports whether those are all there are.
func (s *Stream) extra(x llm.Extra) bool {
	if s.E.Host.Custom || len(x) == 0 {
		return false
	}
	fields := s.E.OwnExtra(x)
	if _, takes := s.s.(extraTaker); takes && len(fields) > 0 {
		return false
	}
	s.E.LostInStream(fields)
	return true
}

// SSEKeepAlive is a comment: every reader of server-sent events passes over it.
const SSEKeepAlive = ": keep-alive\n\n"

// keepAlive writes what the format has for it. Before the first server-sent
// event it must not look like an event, so it is a comment.
func (s *Stream) keepAlive() {
	p := s.E.Host.Properties()
	alive := p.KeepAlive
	if alive != "" && s.s == nil && p.StreamType == "text/event-stream" && !p.NoComments {
		alive = SSEKeepAlive
	}
	s.E.Buf = append(s.E.Buf, alive...)
}

// FailWith ends the stream with an error, as the vendor would say it.
func (s *Stream) FailWith(err *llm.Error) error {
	if s.Err != nil || s.done {
		return s.Err
	}
	if s.s == nil {
		s.begin(nil)
	}
	s.done = true
	s.s.Fail(err)
	return s.flush()
}

// retract ends the stream, because no format can take back written text.
func (s *Stream) retract(r llm.Retract) error {
	failed := &llm.Error{Op: s.E.Host.Format + ".Write", Kind: llm.Incomplete, Err: fmt.Errorf("the answer was taken back after it had begun, which this format cannot say: %s", r.Why)}
	if err := s.FailWith(failed); err != nil {
		return err
	}
	s.Err = failed
	return failed
}

// tell reports new warnings to the caller.
func (s *Stream) tell() {
	if s.head.Lost == nil {
		return
	}
	for ; s.told < len(s.E.Warnings); s.told++ {
		s.head.Lost(s.E.Warnings[s.told])
	}
}

func (s *Stream) flush() error {
	s.tell()
	if s.E.Err != nil {
		s.Err = s.E.Host.Fail("Write", llm.Invalid, s.E.Err)
		return s.Err
	}
	out := s.E.Buf
	if s.E.Host.Quirks.Framed {
		out, s.Err = toFrames(&s.E.Host, out)
	}
	if len(out) > 0 && s.Err == nil {
		_, s.Err = s.w.Write(out)
	}
	s.E.Buf = s.E.Buf[:0]
	return s.Err
}

// OneLine drops what would end a line.
func OneLine(r rune) rune {
	if r == '\n' || r == '\r' {
		return -1
	}
	return r
}

// OneAnswer is why there is only one where several were asked for.
const OneAnswer = "the format has one answer to a request"
