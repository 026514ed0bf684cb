package wire

import (
	"encoding/json"

	"github.com/toolpost/toolpost/llm"
)

func (g gemini) encodeResponse(e *encoder, r *llm.Response) {
	top, candidate := g.splitFinish(e.ownExtra(r.Finish.Extra))
	start := e.Object()
	e.Key("candidates")
	e.Array()
	g.encodeCandidate(e, 0, r, candidate)
	for i, o := range r.Alternatives {
		_, candidate := g.splitFinish(e.ownExtra(o.Finish.Extra))
		g.encodeCandidate(e, i+1, o, candidate)
	}
	e.EndArray()
	if e.counted(r.Finish, "usageMetadata") {
		g.encodeUsage(e, r.Finish)
	}
	e.optString("modelVersion", r.Finish.Model)
	e.optString("responseId", r.Finish.ID)
	e.endWith(start, top)
}

// encodeCandidate writes one answer.
func (g gemini) encodeCandidate(e *encoder, index int, r *llm.Response, fields map[string]json.RawMessage) {
	c := e.Object()
	e.Key("content")
	e.Object()
	e.StringField("role", "model")
	e.Key("parts")
	e.Array()
	for _, p := range r.Message.Parts {
		g.encodeAnswerPart(e, p)
	}
	for _, inv := range r.Invalid {
		e.invalidAsText(inv)
		g.encodeText(e, llm.Text{Text: inv.Raw})
	}
	e.EndArray()
	e.End()
	e.StringField("finishReason", geminiWords.finishWord(r.Finish))
	e.IntField("index", index)
	g.encodeProbs(e, fields["logprobsResult"], textsOf(r.Message.Parts)...)
	e.endWith(c, without(fields, "logprobsResult"))
}

func (g gemini) encodeAnswerPart(e *encoder, p llm.Part) {
	if t, ok := p.(llm.Thinking); ok {
		g.encodeThinking(e, t, true)
		return
	}
	g.encodePart(e, p, nil)
}

// splitFinish sorts the extra fields of an answer by where they belong.
func (gemini) splitFinish(own map[string]json.RawMessage) (top, candidate map[string]json.RawMessage) {
	top, candidate = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range own {
		if name, ok := cutPrefix(key, candidatePrefix); ok {
			candidate[name] = v
		} else if key != "usageMetadata" {
			top[key] = v
		}
	}
	return top, candidate
}

// geminiWriter writes a stream of chunks. Calls go out whole: the format has
// no pieces of arguments.
type geminiWriter struct {
	gemini
	e    *encoder
	head streamHead
	list bool // the stream is one JSON array
	// opened: elements of the array are written.
	opened  bool
	relayed relayedCalls
	others  []relayedOther
	index   int    // of the answer that is being written
	space   []byte // for the next part
}

// relayedOther are the calls that the client has of an answer after the first.
type relayedOther struct {
	index int
	calls relayedCalls
}

// other writes an event of an answer after the first.
func (w *geminiWriter) other(ev llm.Alternative) {
	first := w.relayed
	w.index, w.relayed = ev.Index, nil
	for _, o := range w.others {
		if o.index == ev.Index {
			w.relayed = o.calls
		}
	}
	w.event(ev.Event)
	w.index, w.relayed = 0, first
}

// open begins a chunk, and close ends it.
func (w *geminiWriter) open() int {
	if w.list {
		w.element()
		return w.e.Object()
	}
	return w.e.openFrame("")
}

// element begins an element of the array.
func (w *geminiWriter) element() {
	between := "[\n"
	if w.opened {
		between = ",\n"
	}
	w.opened = true
	w.e.Buf = append(w.e.Buf, between...)
}

func (w *geminiWriter) close() {
	if !w.list {
		w.e.frameEnd()
	}
}

func (gemini) newStream(e *encoder, head streamHead) streamEncoder {
	return &geminiWriter{e: e, head: head, list: head.list}
}

// takesExtra: a part has a place for its extra fields.
func (w *geminiWriter) takesExtra() {}

func (w *geminiWriter) event(ev llm.Event) {
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
		if p := w.e.partOf(ev); p != nil && !w.relayed.have(ev) {
			w.part(p)
		}
	}
}

// unknown writes a field of a chunk that nobody knows.
func (w *geminiWriter) unknown(ev llm.UnknownEvent) {
	name, inner := cutPrefix(ev.Type, candidatePrefix)
	field := map[string]json.RawMessage{name: ev.Raw}
	if inner {
		w.chunk(func() {}, field, nil, nil)
	} else {
		w.chunk(func() {}, nil, nil, field)
	}
}

// part writes a chunk with one part, if the format can carry it.
func (w *geminiWriter) part(p llm.Part) {
	inner := newEncoder(w.e.c)
	inner.warnings = w.e.warnings
	inner.Buf = w.space[:0]
	w.encodeAnswerPart(&inner, p)
	w.e.warnings, w.space = inner.warnings, inner.Buf
	if inner.Err != nil && w.e.Err == nil {
		w.e.Err = inner.Err
	}
	text, _ := p.(llm.Text)
	if len(inner.Buf) == 0 && text.LogProbs == nil {
		return
	}
	w.chunk(func() {
		w.encodeProbs(w.e, nil, text)
		if len(inner.Buf) == 0 {
			return
		}
		w.e.Key("content")
		w.e.Object()
		w.e.StringField("role", "model")
		w.e.Key("parts")
		w.e.Array()
		w.e.Raw(inner.Buf)
		w.e.EndArray()
		w.e.End()
	}, nil, w.usageSoFar(), nil)
}

// usageSoFar writes, in the first chunk, what was counted before the answer.
func (w *geminiWriter) usageSoFar() func() {
	if w.head.usage.IsZero() {
		return nil
	}
	u := w.head.usage
	w.head.usage = llm.Usage{}
	return func() { w.encodeUsage(w.e, llm.Finish{Usage: u}) }
}

// chunk writes a chunk; inner are the extra fields of its candidate, and fields its own.
func (w *geminiWriter) chunk(candidate func(), inner map[string]json.RawMessage, tail func(), fields map[string]json.RawMessage) {
	start := w.open()
	w.e.Key("candidates")
	w.e.Array()
	c := w.e.Object()
	candidate()
	w.e.IntField("index", w.index)
	w.e.endWith(c, inner)
	w.e.EndArray()
	if tail != nil {
		tail()
	}
	w.e.optString("modelVersion", w.head.Model)
	w.e.optString("responseId", w.head.ID)
	w.e.endWith(start, fields)
	w.close()
}

func (w *geminiWriter) finish(f llm.Finish) {
	top, candidate := w.splitFinish(w.e.ownExtra(f.Extra))
	w.chunk(func() {
		w.e.StringField("finishReason", geminiWords.finishWord(f))
	}, candidate, w.usage(f), top)
	if w.list && w.index == 0 {
		w.e.Buf = append(w.e.Buf, ']')
	}
}

// usage writes what was counted, at the end of the first answer.
func (w *geminiWriter) usage(f llm.Finish) func() {
	if w.index > 0 || !w.e.counted(f, "usageMetadata") {
		return nil
	}
	return func() { w.encodeUsage(w.e, f) }
}

func (w *geminiWriter) fail(err *llm.Error) {
	if w.list {
		w.element()
		w.encodeError(w.e, err, errorStatus(err, &geminiProperties))
		w.e.Buf = append(w.e.Buf, ']')
		return
	}
	w.e.Buf = append(w.e.Buf, "data: "...)
	w.encodeError(w.e, err, errorStatus(err, &geminiProperties))
	w.e.frameEnd()
}
