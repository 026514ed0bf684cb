package responses

import (
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/document"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// track is what a relay needs of the items that went by: the last
// event of a stream repeats them all.
type track struct {
	sent int               // number of the next event
	done []json.RawMessage // items
	open *responsesItem
	size int
}

// responsesItem is an item that is being written. What grows only grows, so
// that its lengths are enough to know what it was.
type responsesItem struct {
	id, kind string
	raw      json.RawMessage // as it began
	text     []byte          // of all parts
	parts    []responsesPart
	closed   int // parts that are complete
	cites    []llm.Citation
	call     *codec.PendingCall
}

// responsesPart is a part of a message or of a summary.
type responsesPart struct {
	refusal bool
	start   int // of its text
}

// responsesPlace is how far a stream of items is.
type responsesPlace struct {
	sent, done               int
	open                     *responsesItem
	text, parts, cites, args int
	closed                   bool // the last part is complete
	calls                    int
}

// follow keeps track of the items.
func (s *responsesStream) follow(ev *event, v []byte) {
	t := &s.track
	t.sent++
	if n, ok := js.Int(js.Get(v, "sequence_number")); ok {
		t.sent = int(n) + 1
	}
	item := t.open
	switch typ := string(ev.typ[1 : len(ev.typ)-1]); {
	case typ == "response.output_item.added":
		t.open = &responsesItem{id: js.Text(js.Get(ev.item, "id")), kind: js.Text(js.Get(ev.item, "type")), raw: slices.Clone(ev.item)}
	case typ == "response.output_item.done":
		t.open = nil
		if t.size += len(ev.item); t.size <= document.MaxBytes {
			t.done = append(t.done, slices.Clone(ev.item))
		}
	case item == nil:
	case typ == "response.content_part.added" || typ == "response.reasoning_summary_part.added":
		item.parts = append(item.parts, responsesPart{js.Is(js.Get(ev.part, "type"), "refusal"), len(item.text)})
	case typ == "response.content_part.done":
		item.closed++
	case grows[typ]:
		item.text = js.AppendText(item.text, ev.delta)
	case typ == "response.output_text.annotation.added":
		item.cites = append(item.cites, decodeAnnotation(&s.Decoder, ev.annotation))
	}
}

// grows are the events with a piece of the open item's text.
var grows = map[string]bool{
	"response.output_text.delta": true, "response.refusal.delta": true,
	"response.reasoning_summary_text.delta": true, "response.reasoning_text.delta": true,
}

func (s *responsesStream) Mark(at codec.Moment) {
	s.places.Set(at, func() responsesPlace {
		t := &s.track
		p := responsesPlace{sent: t.sent, done: len(t.done), open: t.open, calls: len(s.Calls)}
		if o := t.open; o != nil {
			p.text, p.parts, p.cites, p.closed = len(o.text), len(o.parts), len(o.cites), o.closed == len(o.parts)
			if n := len(s.Calls); n > 0 && (o.kind == "function_call" || o.kind == "custom_tool_call") {
				o.call = s.Calls[n-1]
				p.args = o.call.Args.Len()
			}
		}
		return p
	})
}

func (s *responsesStream) Resume(at codec.Moment, e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	place := s.places[at]
	e.AnswerID, e.Items = head.ID, place.done+1
	w := &writer{e: e, head: head, begun: true, sent: place.sent, done: slices.Clone(s.track.done[:place.done])}
	w.seq.W = w
	w.seq.Begun = make(map[string]bool)
	w.taken = make(map[string]bool)
	for _, item := range w.done {
		w.taken[js.Text(js.Get(item, "id"))] = true
	}
	for _, p := range s.Calls[:place.calls] {
		w.seq.Begun[p.ID] = true
	}
	if place.open != nil {
		w.adopt(place)
	}
	return w
}

// adopt continues an item whose beginning the client has.
func (w *writer) adopt(p responsesPlace) {
	o := p.open
	w.item, w.taken[o.id] = o.id, true
	parts := o.parts[:p.parts]
	switch {
	case o.call != nil:
		c := o.call
		w.call = llm.CallStart{ID: c.ID, Name: c.Name, Kind: c.Kind}
		w.args.WriteString(c.Args.String()[:p.args])
		if c.Kind == llm.FreeTool && p.args > 0 {
			w.input = js.Text(append([]byte(c.Args.String()[:p.args]), '"'))
		}
		w.seq.Call, w.seq.Open = c.ID, true
	case o.kind == "message" && len(parts) > 0:
		for i, part := range parts[:len(parts)-1] {
			w.parts = append(w.parts, llm.Text{Text: string(o.text[part.start:parts[i+1].start]), Refusal: part.refusal})
		}
		w.adoptPart(p, parts[len(parts)-1])
	case o.kind == "reasoning" && p.text+p.parts > 0:
		w.text.Write(o.text[:p.text])
		w.seq.Span = codec.ThinkingSpan
	default:
		w.relayed = o
	}
}

// adoptPart continues the last part of a message.
func (w *writer) adoptPart(p responsesPlace, last responsesPart) {
	text, cites := p.open.text[last.start:p.text], slices.Clone(p.open.cites[:p.cites])
	if p.closed {
		w.parts = append(w.parts, llm.Text{Text: string(text), Refusal: last.refusal, Citations: cites})
		return
	}
	w.text.Write(text)
	w.cites = cites
	w.seq.Span = codec.TextSpan
	if last.refusal {
		w.seq.Span = codec.RefusalSpan
	}
}

// goesOn reports whether an item of that kind is open since before, with no
// part yet. It is the one to write into.
func (w *writer) goesOn(kind string) bool {
	if w.relayed == nil || w.relayed.kind != kind {
		w.endRelayed()
		return false
	}
	w.relayed = nil
	return true
}

// endRelayed completes an item that is open since before the translation of a
// relay began and of which nothing is known but its beginning.
func (w *writer) endRelayed() {
	if o := w.relayed; o != nil {
		w.relayed = nil
		w.finishItem(func(e *codec.Encoder) { e.Raw(o.raw) })
	}
}
