package wire

import (
	"io"

	"github.com/toolpost/toolpost/llm"
)

// Head is what a stream says before its first event.
type Head struct {
	ID      string // of the answer
	Model   string
	Created int64 // seconds since 1970, for formats that say when
	// NoUsage leaves out the chunk with the usage that clients of the chat
	// format get only if they ask for it.
	NoUsage bool
}

// StreamEncoder writes an answer as a stream of its format. It takes the
// events of package llm in any order their contract allows; calls that are
// written side by side come out one after the other where the format demands
// it. It is not safe for concurrent use.
type StreamEncoder struct {
	w    io.Writer
	e    encoder
	s    streamEncoder
	err  error
	done bool
}

// streamEncoder turns events into the bytes of one format.
type streamEncoder interface {
	event(ev llm.Event)
	fail(err *llm.Error)
}

// NewStream returns an encoder that writes to w. Each event is one Write, so
// that a server can flush after each.
func (c Codec) NewStream(w io.Writer, head Head) *StreamEncoder {
	s := &StreamEncoder{w: w, e: encoder{c: c}}
	f, err := c.lookup("NewStream")
	if err != nil {
		s.err = err
		return s
	}
	s.s = f.newStream(&s.e, head)
	return s
}

// Write writes an event. The llm.Finish ends the stream. Events of types it
// does not know are passed over. Once a write failed, all do.
func (s *StreamEncoder) Write(ev llm.Event) error {
	if s.err != nil || s.done {
		return s.err
	}
	_, s.done = ev.(llm.Finish)
	s.s.event(ev)
	return s.flush()
}

// Fail ends the stream with an error, as the vendor would say it.
func (s *StreamEncoder) Fail(err *llm.Error) error {
	if s.err != nil || s.done {
		return s.err
	}
	s.done = true
	s.s.fail(err)
	return s.flush()
}

// Warnings returns what the format could not carry so far.
func (s *StreamEncoder) Warnings() []llm.Warning { return s.e.warnings }

func (s *StreamEncoder) flush() error {
	if s.e.Err != nil {
		s.err = s.e.c.fail("Write", llm.Invalid, s.e.Err)
		return s.err
	}
	if len(s.e.Buf) > 0 {
		_, s.err = s.w.Write(s.e.Buf)
		s.e.Buf = s.e.Buf[:0]
	}
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

// frameEnd ends a frame whose object is closed already.
func (e *encoder) frameEnd() { e.Buf = append(e.Buf, "\n\n"...) }
