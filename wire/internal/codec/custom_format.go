package codec

import (
	"cmp"
	"io"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/sse"
)

// sink is the Sink of an answer.
type sink struct{ a *Answer }

func (a sink) Start(s llm.Start) {
	a.a.Finish.ID, a.a.Finish.Model, a.a.Finish.Usage, a.a.created = s.ID, s.Model, s.Usage, s.Created
	a.a.Begin()
}

func (a sink) Text(s string) { a.a.Text(s) }

func (a sink) Refusal(s string) { a.a.Refusal(s) }

func (a sink) Thinking(s string) { a.a.Thinking(s) }

func (a sink) SignThinking(data []byte) { a.a.ThinkingState(a.a.State(data), false) }

func (a sink) Media(m llm.Media) { a.a.Media(m) }

func (a sink) Call(index int, id, name, args string) {
	a.a.HasArgs = args != ""
	a.a.AddArgs(a.a.Delta(index, id, name, llm.FunctionTool), []byte(args))
}

func (a sink) EndCalls() {
	for _, p := range a.a.Calls {
		p.Closed = true
	}
}

func (a sink) Finish(f llm.Finish) {
	f.ID, f.Model = cmp.Or(f.ID, a.a.Finish.ID), cmp.Or(f.Model, a.a.Finish.Model)
	a.a.Finish, a.a.PlainStop = f, true
	a.a.MarkFinished()
}

func (a sink) Fail(body []byte) { a.a.Fail(body) }

func (a sink) Warn(w llm.Warning) { a.a.Emit(w) }

func (a sink) Stopped() bool { return a.a.Stopped || a.a.Err != nil }

func (a sink) Events(src io.Reader, each func(data []byte) (more bool)) error {
	return a.a.ReadEvents(sse.NewReader(src), each)
}

func (a sink) Lines(src io.Reader, each func(line []byte) (more bool)) error {
	lines := sse.NewLines(src)
	for !a.Stopped() {
		line, err := lines.Next()
		if err != nil {
			return a.a.Ended(err)
		}
		if line = js.Trim(line); len(line) == 0 {
			continue
		}
		if !js.Valid(line) {
			return a.a.Broken(line, lines.Cut())
		}
		if !each(line) {
			break
		}
	}
	return nil
}

// Custom makes a Format one of ours.
type Custom struct{ Impl format.Format }

func (o Custom) Properties() *format.Properties {
	p := o.Impl.Properties()
	return &p
}

func (Custom) Detects([]byte) bool { return false }

func (Custom) Words() *Words { return new(Words) }

// take keeps what an own format wrote.
func (o Custom) take(e *Encoder, body []byte, lost []llm.Warning, err error) {
	e.Buf = append(e.Buf, body...)
	e.Warnings = append(e.Warnings, lost...)
	switch {
	case err == nil:
	case llm.KindOf(err) == llm.Unsupported:
		e.refused = err
	case e.Err == nil:
		e.Err = err
	}
}

func (o Custom) EncodeRequest(e *Encoder, req *llm.Request, stream bool) {
	req = req.Clone()
	for i, m := range req.Messages {
		req.Messages[i].Parts = e.OwnParts(m.Parts)
	}
	body, lost, err := o.Impl.EncodeRequest(req, stream)
	o.take(e, body, lost, err)
}

func (o Custom) DecodeRequest(d *Decoder, body []byte, req *llm.Request) bool {
	got, stream, err := o.Impl.DecodeRequest(body)
	switch {
	case err != nil:
		d.Err = err
	case got != nil:
		*req = *got
	}
	return stream
}

func (o Custom) EncodeResponse(e *Encoder, r *llm.Response) {
	mine := *r
	mine.Message.Parts = e.OwnParts(r.Message.Parts)
	body, lost, err := o.Impl.EncodeResponse(&mine)
	o.take(e, body, lost, err)
}

func (o Custom) DecodeResponse(d *Decoder, body []byte, a *Answer) {
	if err := o.Impl.DecodeResponse(body, &format.Answer{Sink: sink{a}}); err != nil && d.Err == nil {
		d.Err = err
	}
}

func (o Custom) DecodeStream(a *Answer, src io.Reader) error {
	err := o.Impl.DecodeStream(src, &format.Answer{Sink: sink{a}})
	switch {
	case a.Err != nil:
		return a.DecodeFailure()
	case err == nil && !a.Finished && !a.Stopped:
		return ErrNoEnd
	}
	return err
}

func (o Custom) EncodeError(e *Encoder, err *llm.Error, status int) {
	e.Buf = append(e.Buf, o.Impl.EncodeError(err, status)...)
}

func (o Custom) DecodeError(_ *Registry, body []byte) (code, message string) {
	return o.Impl.DecodeError(body)
}

func (o Custom) NewStream(e *Encoder, head StreamHead) StreamEncoder {
	return &customStream{o, e, o.Impl.EncodeStream(head.Head)}
}

type customStream struct {
	Custom
	e *Encoder
	w format.EventWriter
}

func (s *customStream) Event(ev llm.Event) {
	chunk, lost, err := s.w.Event(ev)
	for _, w := range lost {
		s.e.Lost(w.Code, w.Feature, w.Detail)
	}
	s.take(s.e, chunk, nil, err)
}

func (s *customStream) Fail(err *llm.Error) { s.e.Buf = append(s.e.Buf, s.w.Fail(err)...) }
