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
	e.StringField("finishReason", finishWord(r.Finish, geminiReasons, geminiFinish))
	e.IntField("index", 0)
	e.endWith(c, candidate)
	e.EndArray()
	g.encodeUsage(e, r.Finish)
	e.optString("modelVersion", r.Finish.Model)
	e.optString("responseId", r.Finish.ID)
	e.endWith(start, top)
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
	head Head
	list bool // the stream is one JSON array
	// opened: elements of the array are written.
	opened  bool
	relayed relayedCalls
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

func (gemini) newStream(e *encoder, head Head) streamEncoder {
	return &geminiWriter{e: e, head: head, list: head.list}
}

func (w *geminiWriter) event(ev llm.Event) {
	if f, ok := ev.(llm.Finish); ok {
		w.finish(f)
	} else if w.relayed.have(ev) {
		return
	} else if p := w.e.partOf(ev); p != nil {
		w.part(p)
	}
}

// part writes a chunk with one part, if the format can carry it.
func (w *geminiWriter) part(p llm.Part) {
	inner := &encoder{c: w.e.c, warnings: w.e.warnings}
	w.encodeAnswerPart(inner, p)
	w.e.warnings = inner.warnings
	if inner.Err != nil && w.e.Err == nil {
		w.e.Err = inner.Err
	}
	if len(inner.Buf) == 0 {
		return
	}
	w.chunk(func() {
		w.e.Key("content")
		w.e.Object()
		w.e.StringField("role", "model")
		w.e.Key("parts")
		w.e.Array()
		w.e.Raw(inner.Buf)
		w.e.EndArray()
		w.e.End()
	}, w.usageSoFar(), nil)
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

func (w *geminiWriter) chunk(candidate, tail func(), fields map[string]json.RawMessage) {
	start := w.open()
	w.e.Key("candidates")
	w.e.Array()
	w.e.Object()
	candidate()
	w.e.IntField("index", 0)
	w.e.End()
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
		w.e.StringField("finishReason", finishWord(f, geminiReasons, geminiFinish))
		for _, key := range sortedKeys(candidate) {
			w.e.AnyKey(key)
			w.e.Raw(candidate[key])
		}
	}, func() { w.encodeUsage(w.e, f) }, top)
	if w.list {
		w.e.Buf = append(w.e.Buf, ']')
	}
}

func (w *geminiWriter) fail(err *llm.Error) {
	if w.list {
		w.element()
		w.encodeError(w.e, err, errorStatus(err))
		w.e.Buf = append(w.e.Buf, ']')
		return
	}
	w.e.Buf = append(w.e.Buf, "data: "...)
	w.encodeError(w.e, err, errorStatus(err))
	w.e.frameEnd()
}
