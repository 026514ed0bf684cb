package wire

import (
	"bytes"
	"io"
	"slices"

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

// Answer takes what a [Format] reads of an answer. The codec makes the events
// of package llm out of it: it gives ids to calls that have none, keeps
// parallel calls apart, corrects a finish that contradicts the answer, and sees
// to it that no call that was cut off can be run.
type Answer struct{ a *answer }

// Start says what is known about the answer before its first piece. It may be
// left out: the codec then takes what Finish says.
func (a *Answer) Start(s llm.Start) {
	a.a.finish.ID, a.a.finish.Model, a.a.finish.Usage, a.a.created = s.ID, s.Model, s.Usage, s.Created
	a.a.begin()
}

// Text says the next piece of text.
func (a *Answer) Text(s string) { a.a.text(s) }

// Refusal says the next piece of a text in which the model declines to answer.
func (a *Answer) Refusal(s string) { a.a.refusal(s) }

// Thinking says the next piece of thinking.
func (a *Answer) Thinking(s string) { a.a.thinking(s) }

// SignThinking gives the thinking that was written the vendor's opaque state,
// which goes back with it; data is JSON.
func (a *Answer) SignThinking(data []byte) { a.a.thinkingState(a.a.state(data), false) }

// Media says an image, a sound or a document.
func (a *Answer) Media(m llm.Media) { a.a.media(m) }

// Call says a piece of a call. The id decides to which call a piece belongs,
// then the index and the order: leave out what the format does not have, -1
// for the index. The pieces of args, joined, are one JSON object.
func (a *Answer) Call(index int, id, name, args string) {
	a.a.adds = args != ""
	a.a.addArgs(a.a.delta(index, id, name, llm.FunctionTool), []byte(args))
}

// EndCalls says that the calls so far are whole: not even a limit that the
// model reaches later can have cut them.
func (a *Answer) EndCalls() {
	for _, p := range a.a.calls {
		p.closed = true
	}
}

// Finish says why the model stopped. The answer is whole as soon as this is
// said: what is missing then is nothing but the end of the bytes.
func (a *Answer) Finish(f llm.Finish) {
	f.ID, f.Model = or(f.ID, a.a.finish.ID), or(f.Model, a.a.finish.Model)
	a.a.finish, a.a.plainStop = f, true
	a.a.end()
}

// Fail ends the answer with an error that the server sent inside it.
func (a *Answer) Fail(body []byte) { a.a.fail(body) }

// Warn passes on something that was not done as asked.
func (a *Answer) Warn(w llm.Warning) { a.a.emit(w) }

// Stopped reports whether nothing more needs to be read: the caller does not
// listen any more, or something went wrong.
func (a *Answer) Stopped() bool { return a.a.stopped || a.a.err != nil }

// Events reads a stream of server-sent events whose data is JSON and calls
// each with the data of the next one, until it returns false or the stream
// ends. Events longer than 32 MiB are an error.
func (a *Answer) Events(src io.Reader, each func(data []byte) (more bool)) error {
	return a.a.readEvents(sse.NewReader(src), each)
}

// Lines does the same for a stream of JSON documents, one a line.
func (a *Answer) Lines(src io.Reader, each func(line []byte) (more bool)) error {
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
	if err := o.f.DecodeResponse(body, &Answer{a}); err != nil && d.err == nil {
		d.err = err
	}
}

func (o own) decodeStream(a *answer, src io.Reader) error {
	err := o.f.DecodeStream(src, &Answer{a})
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

func (o own) newStream(e *encoder, head Head) streamEncoder {
	return &ownStream{o, e, o.f.EncodeStream(head)}
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

// ownParts returns parts without the state of other vendors.
func (e *encoder) ownParts(parts []llm.Part) []llm.Part {
	out := make([]llm.Part, 0, len(parts))
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			opaque := p.Text == "" && !p.State.IsZero()
			if p.State = e.ownState(p.State); !opaque || !p.State.IsZero() {
				out = append(out, p)
			}
		case llm.Thinking:
			hidden := p.Text == "" && !p.State.IsZero()
			if p.State = e.ownState(p.State); !hidden || !p.State.IsZero() {
				out = append(out, p)
			}
		case llm.Media:
			if e.foreignFile(p) {
				continue
			}
			if string(p.State.Data) == ownFile && e.own(p.State) == nil {
				p.State = llm.State{}
			}
			p.State = e.ownState(p.State)
			out = append(out, p)
		case llm.Call:
			p.State = e.ownState(p.State)
			out = append(out, p)
		case llm.Result:
			p.State = e.ownState(p.State)
			p.Parts = e.ownParts(p.Parts)
			out = append(out, p)
		}
	}
	return slices.Clip(out)
}

func (e *encoder) ownState(s llm.State) llm.State {
	if s.IsZero() || e.own(s) != nil {
		return llm.State{Vendor: s.Vendor, Data: bytes.Clone(s.Data)}
	}
	e.lost(llm.Ignored, "state", "only "+s.Vendor+" can read it")
	return llm.State{}
}
