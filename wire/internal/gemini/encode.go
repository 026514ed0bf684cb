package gemini

import (
	"encoding/json"

	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (Format) EncodeResponse(e *codec.Encoder, r *llm.Response) {
	top, candidate := splitFinish(e.OwnExtra(r.Finish.Extra))
	start := e.Object()
	e.ArrayField("candidates")
	encodeCandidate(e, 0, r, candidate)
	for i, o := range r.Alternatives {
		_, candidate := splitFinish(e.OwnExtra(o.Finish.Extra))
		encodeCandidate(e, i+1, o, candidate)
	}
	e.EndArray()
	if e.HasUsage(r.Finish, "usageMetadata") {
		encodeUsage(e, r.Finish)
	}
	e.OptString("modelVersion", r.Finish.Model)
	e.OptString("responseId", r.Finish.ID)
	e.EndFields(start, top)
}

// encodeCandidate writes one answer.
func encodeCandidate(e *codec.Encoder, index int, r *llm.Response, fields map[string]json.RawMessage) {
	c := e.Object()
	e.ObjectField("content")
	e.StringField("role", "model")
	e.ArrayField("parts")
	for _, p := range r.Message.Parts {
		encodeAnswerPart(e, p)
	}
	for _, inv := range r.Invalid {
		e.InvalidAsText(inv)
		encodeText(e, llm.Text{Text: inv.Raw})
	}
	e.EndArray()
	e.End()
	e.StringField("finishReason", geminiWords.FinishWord(r.Finish))
	e.IntField("index", index)
	encodeProbs(e, fields["logprobsResult"], codec.TextsOf(r.Message.Parts)...)
	e.EndFields(c, codec.OmitFields(fields, "logprobsResult"))
}

func encodeAnswerPart(e *codec.Encoder, p llm.Part) {
	if t, ok := p.(llm.Thinking); ok {
		encodeThinking(e, t, true)
		return
	}
	encodePart(e, p, nil)
}

// splitFinish sorts the extra fields of an answer by where they belong.
func splitFinish(own map[string]json.RawMessage) (top, candidate map[string]json.RawMessage) {
	top, candidate = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range own {
		if name, ok := loss.CutPrefix(key, candidatePrefix); ok {
			candidate[name] = v
		} else if key != "usageMetadata" {
			top[key] = v
		}
	}
	return top, candidate
}

// writer writes a stream of chunks. Calls go out whole: the format has
// no pieces of arguments.
type writer struct {
	e    *codec.Encoder
	head codec.StreamHead
	list bool // the stream is one JSON array
	// opened: elements of the array are written.
	opened  bool
	relayed codec.RelayedCalls
	others  []relayedOther
	index   int    // of the answer that is being written
	space   []byte // for the next part
}

// relayedOther are the calls that the client has of an answer after the first.
type relayedOther struct {
	index int
	calls codec.RelayedCalls
}

// other writes an event of an answer after the first.
func (w *writer) other(ev llm.Alternative) {
	first := w.relayed
	w.index, w.relayed = ev.Index, nil
	for _, o := range w.others {
		if o.index == ev.Index {
			w.relayed = o.calls
		}
	}
	w.Event(ev.Event)
	w.index, w.relayed = 0, first
}

// open begins a chunk, and close ends it.
func (w *writer) open() int {
	if w.list {
		w.element()
		return w.e.Object()
	}
	return w.e.OpenFrame("")
}

// element begins an element of the array.
func (w *writer) element() {
	between := "[\n"
	if w.opened {
		between = ",\n"
	}
	w.opened = true
	w.e.Buf = append(w.e.Buf, between...)
}

func (w *writer) close() {
	if !w.list {
		w.e.FrameEnd()
	}
}

func (Format) NewStream(e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	return &writer{e: e, head: head, list: head.List}
}

// TakesExtra: a part has a place for its extra fields.
func (w *writer) TakesExtra() {}

func (w *writer) Event(ev llm.Event) {
	switch ev := ev.(type) {
	case llm.Finish:
		w.finish(ev)
	case llm.Alternative:
		if ev.Index > 0 && ev.Event != nil {
			w.other(ev)
		}
	case llm.UnknownEvent:
		w.unknown(ev)
	default:
		if p := w.e.PartOf(ev); p != nil && !w.relayed.Have(ev) {
			w.part(p)
		}
	}
}

// unknown writes an unknown field of a chunk.
func (w *writer) unknown(ev llm.UnknownEvent) {
	name, inner := loss.CutPrefix(ev.Type, candidatePrefix)
	field := map[string]json.RawMessage{name: ev.Raw}
	if inner {
		w.chunk(func() {}, field, nil, nil)
	} else {
		w.chunk(func() {}, nil, nil, field)
	}
}

// part writes a chunk with one part, if the format can carry it.
func (w *writer) part(p llm.Part) {
	inner := codec.NewEncoder(w.e.Host)
	inner.Warnings = w.e.Warnings
	inner.Buf = w.space[:0]
	encodeAnswerPart(&inner, p)
	w.e.Warnings, w.space = inner.Warnings, inner.Buf
	if inner.Err != nil && w.e.Err == nil {
		w.e.Err = inner.Err
	}
	text, _ := p.(llm.Text)
	if len(inner.Buf) == 0 && text.LogProbs == nil {
		return
	}
	w.chunk(func() {
		encodeProbs(w.e, nil, text)
		if len(inner.Buf) == 0 {
			return
		}
		w.e.ObjectField("content")
		w.e.StringField("role", "model")
		w.e.ArrayField("parts")
		w.e.Raw(inner.Buf)
		w.e.EndArray()
		w.e.End()
	}, nil, w.usageSoFar(), nil)
}

// usageSoFar writes, in the first chunk, the usage before the answer.
func (w *writer) usageSoFar() func() {
	if w.head.Usage.IsZero() {
		return nil
	}
	u := w.head.Usage
	w.head.Usage = llm.Usage{}
	return func() { encodeUsage(w.e, llm.Finish{Usage: u}) }
}

// chunk writes a chunk; inner are the extra fields of its candidate, and fields its own.
func (w *writer) chunk(candidate func(), inner map[string]json.RawMessage, tail func(), fields map[string]json.RawMessage) {
	start := w.open()
	w.e.ArrayField("candidates")
	c := w.e.Object()
	candidate()
	w.e.IntField("index", w.index)
	w.e.EndFields(c, inner)
	w.e.EndArray()
	if tail != nil {
		tail()
	}
	w.e.OptString("modelVersion", w.head.Model)
	w.e.OptString("responseId", w.head.ID)
	w.e.EndFields(start, fields)
	w.close()
}

func (w *writer) finish(f llm.Finish) {
	top, candidate := splitFinish(w.e.OwnExtra(f.Extra))
	w.chunk(func() {
		w.e.StringField("finishReason", geminiWords.FinishWord(f))
	}, candidate, w.usage(f), top)
	if w.list && w.index == 0 {
		w.e.Buf = append(w.e.Buf, ']')
	}
}

// usage writes the usage, at the end of the first answer.
func (w *writer) usage(f llm.Finish) func() {
	if w.index > 0 || !w.e.HasUsage(f, "usageMetadata") {
		return nil
	}
	return func() { encodeUsage(w.e, f) }
}

func (w *writer) Fail(err *llm.Error) {
	if w.list {
		w.element()
		Format{}.EncodeError(w.e, err, codec.ErrorStatus(err, &properties))
		w.e.Buf = append(w.e.Buf, ']')
		return
	}
	w.e.Buf = append(w.e.Buf, "data: "...)
	Format{}.EncodeError(w.e, err, codec.ErrorStatus(err, &properties))
	w.e.FrameEnd()
}
