package wire

import (
	"cmp"
	"io"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// Format is a format of a program's own. As [Codec.Own] it is used like those
// of this package: a codec adds the bounds, the assembly of calls and the
// promises of package llm about streams. llmtest.TestCodec checks the rest. A
// Format is safe for concurrent use.
//
// The opaque state that Format gets to encode is its own: the codec takes out
// what another vendor made.
type Format interface {
	// Properties returns the same value at every call. Nobody changes its maps
	// and slices.
	Properties() Properties

	// EncodeRequest returns the body of a request, and a warning for each
	// thing the format cannot carry. What would be dangerous to drop, like a
	// filter of a hosted tool, is an error of kind llm.Unsupported.
	EncodeRequest(req *llm.Request, stream bool) (body []byte, lost []llm.Warning, err error)
	// DecodeRequest reads the body of a request. Where the properties say
	// that the path names the model, it need not know the model.
	DecodeRequest(body []byte) (req *llm.Request, stream bool, err error)

	// EncodeResponse returns the body of a whole answer.
	EncodeResponse(r *llm.Response) (body []byte, lost []llm.Warning, err error)
	// DecodeResponse reads the body of a whole answer and reports its contents
	// to a.
	DecodeResponse(body []byte, a *Answer) error

	// EncodeStream returns a writer for one answer.
	EncodeStream(head Head) EventWriter
	// DecodeStream reads a stream and reports its contents to a as they arrive.
	// It returns nil when the answer is whole, and as soon as a.Stopped.
	DecodeStream(src io.Reader, a *Answer) error

	// EncodeError returns the body of a response with the status.
	EncodeError(err *llm.Error, status int) []byte
	// DecodeError finds the code and the words in the body of an error.
	DecodeError(body []byte) (code, message string)
}

// EventWriter writes the events of one answer as a stream.
type EventWriter interface {
	// Event returns the bytes of the next event, which may be none. The
	// llm.Finish is the last one.
	Event(ev llm.Event) (chunk []byte, lost []llm.Warning, err error)
	// Fail returns the bytes that end the stream with an error.
	Fail(err *llm.Error) []byte
}

// Answer takes the contents of an answer from a [Format]. The codec makes the events of package llm from it: it gives ids to
// calls that have none, keeps parallel calls apart, corrects a finish reason that contradicts the answer, and never delivers
// a truncated call as one that can be run.
type Answer struct{ Sink }

// Sink receives the contents of an answer, in order. The codec implements it; a test of a Format may use its own.
type Sink interface {
	// Start reports what is known about the answer before its first piece. It is optional: without it the codec uses the
	// values of Finish.
	Start(s llm.Start)
	// Text adds a piece of text.
	Text(s string)
	// Refusal adds a piece of a text in which the model declines to answer.
	Refusal(s string)
	// Thinking adds a piece of thinking.
	Thinking(s string)
	// SignThinking attaches the vendor's opaque state to the thinking so far. It is sent back with it; data is JSON.
	SignThinking(data []byte)
	// Media adds an image, audio or a document.
	Media(m llm.Media)
	// Call adds a piece of a call. The id decides which call a piece belongs to, then the index and the order. Leave out what
	// the format does not have; the index is then -1. The pieces of args, joined, are one JSON object.
	Call(index int, id, name, args string)
	// EndCalls reports that the calls so far are complete: a limit reached later did not truncate them.
	EndCalls()
	// Finish reports why the model stopped. From then on the answer is complete, even if the stream breaks.
	Finish(f llm.Finish)
	// Fail ends the answer with an error that the server sent inside it.
	Fail(body []byte)
	// Warn passes on a warning.
	Warn(w llm.Warning)
	// Stopped reports whether reading can end: the caller has stopped listening, or an error occurred.
	Stopped() bool
	// Events reads a stream of server-sent events with JSON data and calls each with the data of every event, until each
	// returns false or the stream ends. An event of more than 32 MiB is an error.
	Events(src io.Reader, each func(data []byte) (more bool)) error
	// Lines does the same for a stream with one JSON document per line.
	Lines(src io.Reader, each func(line []byte) (more bool)) error
}

// sink is the Sink of an answer.
type sink struct{ a *answer }

func (a sink) Start(s llm.Start) {
	a.a.finish.ID, a.a.finish.Model, a.a.finish.Usage, a.a.created = s.ID, s.Model, s.Usage, s.Created
	a.a.begin()
}

func (a sink) Text(s string) { a.a.text(s) }

func (a sink) Refusal(s string) { a.a.refusal(s) }

func (a sink) Thinking(s string) { a.a.thinking(s) }

func (a sink) SignThinking(data []byte) { a.a.thinkingState(a.a.state(data), false) }

func (a sink) Media(m llm.Media) { a.a.media(m) }

func (a sink) Call(index int, id, name, args string) {
	a.a.adds = args != ""
	a.a.addArgs(a.a.delta(index, id, name, llm.FunctionTool), []byte(args))
}

func (a sink) EndCalls() {
	for _, p := range a.a.calls {
		p.closed = true
	}
}

func (a sink) Finish(f llm.Finish) {
	f.ID, f.Model = cmp.Or(f.ID, a.a.finish.ID), cmp.Or(f.Model, a.a.finish.Model)
	a.a.finish, a.a.plainStop = f, true
	a.a.end()
}

func (a sink) Fail(body []byte) { a.a.fail(body) }

func (a sink) Warn(w llm.Warning) { a.a.emit(w) }

func (a sink) Stopped() bool { return a.a.stopped || a.a.err != nil }

func (a sink) Events(src io.Reader, each func(data []byte) (more bool)) error {
	return a.a.readEvents(sse.NewReader(src), each)
}

func (a sink) Lines(src io.Reader, each func(line []byte) (more bool)) error {
	lines := sse.NewLines(src)
	for !a.Stopped() {
		line, err := lines.Next()
		if err != nil {
			return a.a.ended(err)
		}
		if line = js.Trim(line); len(line) == 0 {
			continue
		}
		if !js.Valid(line) {
			return a.a.broken(line, lines.Cut())
		}
		if !each(line) {
			break
		}
	}
	return nil
}

// own makes a Format one of ours.
type own struct{ f Format }

func (o own) properties() *Properties {
	p := o.f.Properties()
	return &p
}

func (own) detects([]byte) bool { return false }

func (own) words() *words { return new(words) }

// take keeps what an own format wrote.
func (o own) take(e *encoder, body []byte, lost []llm.Warning, err error) {
	e.Buf = append(e.Buf, body...)
	e.warnings = append(e.warnings, lost...)
	switch {
	case err == nil:
	case llm.KindOf(err) == llm.Unsupported:
		e.refused = err
	case e.Err == nil:
		e.Err = err
	}
}

func (o own) encodeRequest(e *encoder, req *llm.Request, stream bool) {
	req = req.Clone()
	for i, m := range req.Messages {
		req.Messages[i].Parts = e.ownParts(m.Parts)
	}
	body, lost, err := o.f.EncodeRequest(req, stream)
	o.take(e, body, lost, err)
}

func (o own) decodeRequest(d *decoder, body []byte, req *llm.Request) bool {
	got, stream, err := o.f.DecodeRequest(body)
	switch {
	case err != nil:
		d.err = err
	case got != nil:
		*req = *got
	}
	return stream
}

func (o own) encodeResponse(e *encoder, r *llm.Response) {
	mine := *r
	mine.Message.Parts = e.ownParts(r.Message.Parts)
	body, lost, err := o.f.EncodeResponse(&mine)
	o.take(e, body, lost, err)
}

func (o own) decodeResponse(d *decoder, body []byte, a *answer) {
	if err := o.f.DecodeResponse(body, &Answer{sink{a}}); err != nil && d.err == nil {
		d.err = err
	}
}

func (o own) decodeStream(a *answer, src io.Reader) error {
	err := o.f.DecodeStream(src, &Answer{sink{a}})
	switch {
	case a.err != nil:
		return a.decodeFailure()
	case err == nil && !a.finished && !a.stopped:
		return errNoEnd
	}
	return err
}

func (o own) encodeError(e *encoder, err *llm.Error, status int) {
	e.Buf = append(e.Buf, o.f.EncodeError(err, status)...)
}

func (o own) decodeError(_ *registry, body []byte) (code, message string) {
	return o.f.DecodeError(body)
}

func (o own) newStream(e *encoder, head streamHead) streamEncoder {
	return &ownStream{o, e, o.f.EncodeStream(head.Head)}
}

type ownStream struct {
	own
	e *encoder
	w EventWriter
}

func (s *ownStream) event(ev llm.Event) {
	chunk, lost, err := s.w.Event(ev)
	for _, w := range lost {
		s.e.lost(w.Code, w.Feature, w.Detail)
	}
	s.take(s.e, chunk, nil, err)
}

func (s *ownStream) fail(err *llm.Error) { s.e.Buf = append(s.e.Buf, s.w.Fail(err)...) }
