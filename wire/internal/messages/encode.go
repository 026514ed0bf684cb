package messages

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (m Format) EncodeResponse(e *codec.Encoder, r *llm.Response) {
	start := e.Object()
	encodeEnvelope(e, r.Finish.ID, r.Finish.Model)
	e.ArrayField("content")
	for _, p := range r.Message.Parts {
		codec.EncodeBlock(m, e, p)
	}
	for _, c := range r.Invalid {
		e.InvalidAsText(c)
		m.EncodeText(e, llm.Text{Text: c.Raw})
	}
	e.EndArray()
	encodeStop(e, r.Finish)
	encodeUsage(e, r.Finish)
	fields, event, stop := splitFinish(e.OwnExtra(r.Finish.Extra))
	maps.Copy(fields, event)
	maps.Copy(fields, stop)
	e.EndFields(start, fields)
}

// splitFinish sorts the extra fields of an answer by where they belong.
func splitFinish(own map[string]json.RawMessage) (delta, event, stop map[string]json.RawMessage) {
	delta, event = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range own {
		if name, ok := loss.CutPrefix(key, eventPrefix); ok {
			event[name] = v
		} else if name, ok := loss.CutPrefix(key, stopPrefix); ok {
			if stop == nil {
				stop = map[string]json.RawMessage{}
			}
			stop[name] = v
		} else if key != "usage" {
			delta[key] = v
		}
	}
	return delta, event, stop
}

func encodeEnvelope(e *codec.Encoder, id, model string) {
	e.StringField("id", id)
	e.StringField("type", "message")
	e.StringField("role", "assistant")
	e.StringField("model", model)
}

func encodeStop(e *codec.Encoder, f llm.Finish) {
	reason := messagesWords.FinishWord(f)
	if f.StopSequence != "" && f.Reason == llm.Stop {
		reason = "stop_sequence"
	}
	e.StringField("stop_reason", reason)
	e.Key("stop_sequence")
	if f.StopSequence != "" {
		e.Text(f.StopSequence)
	} else {
		e.Null()
	}
}

// writer writes a stream of events.
type writer struct {
	e      *codec.Encoder
	head   codec.StreamHead
	begun  bool
	index  int
	args   codec.ObjectArgs // of the open call
	seq    codec.BlockStream
	fields map[string]json.RawMessage // extra ones of the block that is written next
	said   map[string]json.RawMessage // the fields with which the open call began
	// signed: the client has the signature of the open block.
	signed bool
	// relayed: a block of another kind is open since before the translation of
	// a relay began; relayedID is the id of the hosted call in it.
	relayed   bool
	relayedID string
}

func (Format) NewStream(e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	w := &writer{e: e, head: head}
	w.seq.W = w
	return w
}

func (w *writer) Event(ev llm.Event) {
	if !w.begun {
		w.begun = true
		w.e.OpenFrame("message_start")
		w.e.StringField("type", "message_start")
		w.e.ObjectField("message")
		encodeEnvelope(w.e, w.head.ID, w.head.Model)
		w.e.RawField("content", []byte("[]"))
		w.e.RawField("stop_reason", []byte("null"))
		w.e.RawField("stop_sequence", []byte("null"))
		encodeUsage(w.e, llm.Finish{Usage: w.head.Usage})
		w.e.End()
		w.e.CloseFrame()
	}
	if u, ok := ev.(llm.UnknownEvent); ok {
		w.unknown(u)
		return
	}
	if w.relayed && codec.EndsBlock(ev) && w.endRelayed(hostedID(ev)) {
		return
	}
	w.seq.Event(ev)
}

// unknown writes an unknown event. If it is about a block, it is written for the block that is open here.
func (w *writer) unknown(ev llm.UnknownEvent) {
	if js.Get(ev.Raw, "index") == nil {
		w.e.RawFrame(ev.Type, ev.Raw)
		return
	}
	if w.seq.Span == codec.NoSpan && !w.seq.Open {
		w.e.Lost(llm.Ignored, ev.Type, "a piece of a block that is not open")
		return
	}
	w.e.OpenFrame(strings.Map(codec.OneLine, ev.Type))
	for key, v := range js.Members(ev.Raw) {
		w.e.AnyKey(string(key))
		if string(key) == "index" {
			w.e.Int(int64(w.index))
			continue
		}
		w.e.Raw(v)
	}
	w.e.CloseFrame()
}

// frame writes an event about the current block.
func (w *writer) frame(name string, body func()) {
	w.e.OpenFrame(name)
	w.e.StringField("type", name)
	w.e.IntField("index", w.index)
	if body != nil {
		body()
	}
	w.e.CloseFrame()
}

func (w *writer) start(block func()) {
	w.frame("content_block_start", func() {
		w.e.Key("content_block")
		block()
	})
}

func (w *writer) delta(kind, key, value string) {
	w.frame("content_block_delta", func() {
		w.e.ObjectField("delta")
		w.e.StringField("type", kind)
		w.e.StringField(key, value)
		w.e.End()
	})
}

func (w *writer) stop() {
	w.frame("content_block_stop", nil)
	w.index++
}

func (w *writer) Begin(kind codec.SpanKind) {
	w.start(func() {
		start := w.e.Object()
		if kind == codec.ThinkingSpan || kind == codec.RedactedSpan {
			w.e.StringField("type", "thinking")
			w.e.StringField("thinking", "")
			w.e.StringField("signature", "")
		} else {
			w.e.StringField("type", "text")
			w.e.StringField("text", "")
		}
		w.e.EndFields(start, w.fields)
	})
	w.fields = nil
}

func (w *writer) TakesExtra() {}

// Extra takes the extra fields of a block. They are written at its start.
func (w *writer) Extra(_ codec.SpanKind, open bool, x llm.Extra) {
	if open {
		w.e.LostInStream(x[w.e.Host.Format])
		return
	}
	w.fields = maps.Clone(x[w.e.Host.Format])
}

func (w *writer) Piece(kind codec.SpanKind, text string) {
	switch kind {
	case codec.ThinkingSpan, codec.RedactedSpan:
		w.delta("thinking_delta", "thinking", text)
	case codec.RefusalSpan:
		w.e.Lost(llm.Degraded, "refusal", "the messages format does not mark text as a refusal")
		fallthrough
	default:
		w.delta("text_delta", "text", text)
	}
}

func (w *writer) Cite(c llm.Citation) {
	for _, raw := range codec.OwnCitations(w.e, []llm.Citation{c}) {
		w.frame("content_block_delta", func() {
			w.e.ObjectField("delta")
			w.e.StringField("type", "citations_delta")
			w.e.RawField("citation", raw)
			w.e.End()
		})
	}
}

func (w *writer) End(_ codec.SpanKind, state llm.State) {
	if sig := js.Text(js.Get(w.e.OwnState(state), "signature")); sig != "" && !w.signed {
		w.delta("signature_delta", "signature", sig)
	}
	w.signed = false
	w.stop()
}

// Opaque writes a block that is only state: hidden thinking, or a block of a
// type that was not understood.
func (w *writer) Opaque(kind codec.SpanKind, state llm.State) {
	switch data := w.e.OwnState(state); {
	case data == nil:
		w.e.Lost(llm.Ignored, "opaque part", loss.ForeignPart(state))
	case kind == codec.RedactedSpan:
		w.block(llm.Thinking{Redacted: true, State: state, Extra: llm.Extra{w.e.Host.Format: w.fields}})
	case kind == codec.ThinkingSpan:
		w.Begin(codec.ThinkingSpan)
		w.End(codec.ThinkingSpan, state)
	default:
		w.start(func() { w.e.Raw(data) })
		w.stop()
		w.e.LostInStream(w.fields)
	}
	w.fields = nil
}

// block writes a block in one piece.
func (w *writer) block(p llm.Part) {
	w.start(func() { codec.EncodeBlock(Format{}, w.e, p) })
	w.stop()
}

func (w *writer) BeginCall(ev llm.CallStart) {
	w.said = ev.Extra[w.e.Host.Format]
	w.start(func() {
		start := w.e.Object()
		w.e.StringField("type", "tool_use")
		w.e.StringField("id", ev.ID)
		w.e.StringField("name", ev.Name)
		w.e.RawField("input", []byte("{}"))
		w.e.EndFields(start, w.said)
	})
	if open := w.args.Begin(ev); open != "" {
		w.argsPiece(open)
	}
}

func (w *writer) CallPiece(args string) { w.argsPiece(w.args.Piece(w.e, args)) }

func (w *writer) argsPiece(args string) {
	w.delta("input_json_delta", "partial_json", args)
}

func (w *writer) EndCall(call *llm.Call) {
	if end := w.args.End(call); end != "" {
		w.argsPiece(end)
	}
	if call != nil {
		w.e.LateFields(call.Extra, w.said)
	}
	w.stop()
}

func (w *writer) Media(m llm.Media) {
	if m.Kind == llm.Image || m.Kind == llm.Document {
		w.block(m)
		return
	}
	w.e.Lost(llm.Ignored, string(m.Kind), "the messages format takes images and documents only")
}

// HostedCall streams the input of a hosted call as the vendor does.
func (w *writer) HostedCall(c llm.Call) {
	data := w.e.OwnState(c.State)
	if data == nil {
		w.e.Lost(llm.Ignored, "hosted call", "another vendor ran it")
		return
	}
	w.start(func() {
		start := w.e.Object()
		for key, v := range js.Members(data) {
			w.e.AnyKey(string(key))
			if string(key) == "input" {
				v = []byte("{}")
			}
			w.e.Raw(v)
		}
		w.e.EndFields(start, nil)
	})
	w.CallPiece(string(codec.ObjectOf(js.Get(data, "input"))))
	w.stop()
}

func (w *writer) HostedResult(r llm.Result) {
	if w.e.OwnState(r.State) == nil {
		w.e.Lost(llm.Ignored, "hosted result", "another vendor made it")
		return
	}
	w.block(r)
}

func (w *writer) Finish(f llm.Finish) {
	fields, event, stop := splitFinish(w.e.OwnExtra(f.Extra))
	frame := w.e.OpenFrame("message_delta")
	w.e.StringField("type", "message_delta")
	start := w.e.ObjectField("delta")
	encodeStop(w.e, f)
	w.e.EndFields(start, fields)
	encodeUsage(w.e, f)
	w.e.EndFields(frame, event)
	w.e.FrameEnd()
	frame = w.e.OpenFrame("message_stop")
	w.e.StringField("type", "message_stop")
	w.e.EndFields(frame, stop)
	w.e.FrameEnd()
}

func (w *writer) Fail(err *llm.Error) {
	w.e.Buf = append(w.e.Buf, "event: error\ndata: "...)
	Format{}.EncodeError(w.e, err, codec.ErrorStatus(err, &Properties))
	w.e.FrameEnd()
}
