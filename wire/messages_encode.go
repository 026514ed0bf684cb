package wire

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (m messages) encodeResponse(e *encoder, r *llm.Response) {
	start := e.Object()
	m.encodeEnvelope(e, r.Finish.ID, r.Finish.Model)
	e.Key("content")
	e.Array()
	for _, p := range r.Message.Parts {
		encodeBlock(m, e, p)
	}
	for _, c := range r.Invalid {
		e.invalidAsText(c)
		m.encodeText(e, llm.Text{Text: c.Raw})
	}
	e.EndArray()
	m.encodeStop(e, r.Finish)
	m.encodeUsage(e, r.Finish)
	fields, event, stop := m.splitFinish(e.ownExtra(r.Finish.Extra))
	maps.Copy(fields, event)
	maps.Copy(fields, stop)
	e.endWith(start, fields)
}

// splitFinish sorts the extra fields of an answer by where they belong.
func (messages) splitFinish(own map[string]json.RawMessage) (delta, event, stop map[string]json.RawMessage) {
	delta, event = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range own {
		if name, ok := cutPrefix(key, eventPrefix); ok {
			event[name] = v
		} else if name, ok := cutPrefix(key, stopPrefix); ok {
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

func (messages) encodeEnvelope(e *encoder, id, model string) {
	e.StringField("id", id)
	e.StringField("type", "message")
	e.StringField("role", "assistant")
	e.StringField("model", model)
}

func (messages) encodeStop(e *encoder, f llm.Finish) {
	reason := messagesWords.finishWord(f)
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

// messagesWriter writes a stream of events.
type messagesWriter struct {
	messages
	e      *encoder
	head   streamHead
	begun  bool
	index  int
	args   objectArgs // of the open call
	seq    sequence
	fields map[string]json.RawMessage // extra ones of the block that is written next
	said   map[string]json.RawMessage // those that the open call began with
	// signed: the client has the signature of the open block.
	signed bool
	// relayed: a block of another kind is open since before the translation of
	// a relay began; relayedID is the id of the hosted call in it.
	relayed   bool
	relayedID string
}

func (messages) newStream(e *encoder, head streamHead) streamEncoder {
	w := &messagesWriter{e: e, head: head}
	w.seq.w = w
	return w
}

func (w *messagesWriter) event(ev llm.Event) {
	if !w.begun {
		w.begun = true
		w.e.openFrame("message_start")
		w.e.StringField("type", "message_start")
		w.e.Key("message")
		w.e.Object()
		w.encodeEnvelope(w.e, w.head.ID, w.head.Model)
		w.e.RawField("content", []byte("[]"))
		w.e.RawField("stop_reason", []byte("null"))
		w.e.RawField("stop_sequence", []byte("null"))
		w.encodeUsage(w.e, llm.Finish{Usage: w.head.usage})
		w.e.End()
		w.e.closeFrame()
	}
	if u, ok := ev.(llm.UnknownEvent); ok {
		w.unknown(u)
		return
	}
	if w.relayed && llm.Begins(ev) && w.endRelayed(hostedID(ev)) {
		return
	}
	w.seq.event(ev)
}

// unknown writes an event that nobody knows. What it says about a block, it says
// about the one that is open here.
func (w *messagesWriter) unknown(ev llm.UnknownEvent) {
	if js.Get(ev.Raw, "index") == nil {
		w.e.rawFrame(ev.Type, ev.Raw)
		return
	}
	if w.seq.span == noSpan && !w.seq.open {
		w.e.lost(llm.Ignored, ev.Type, "a piece of a block that is not open")
		return
	}
	w.e.openFrame(strings.Map(oneLine, ev.Type))
	for key, v := range js.Members(ev.Raw) {
		w.e.AnyKey(string(key))
		if string(key) == "index" {
			w.e.Int(int64(w.index))
			continue
		}
		w.e.Raw(v)
	}
	w.e.closeFrame()
}

// frame writes an event about the current block.
func (w *messagesWriter) frame(name string, body func()) {
	w.e.openFrame(name)
	w.e.StringField("type", name)
	w.e.IntField("index", w.index)
	if body != nil {
		body()
	}
	w.e.closeFrame()
}

func (w *messagesWriter) start(block func()) {
	w.frame("content_block_start", func() {
		w.e.Key("content_block")
		block()
	})
}

func (w *messagesWriter) delta(kind, key, value string) {
	w.frame("content_block_delta", func() {
		w.e.Key("delta")
		w.e.Object()
		w.e.StringField("type", kind)
		w.e.StringField(key, value)
		w.e.End()
	})
}

func (w *messagesWriter) stop() {
	w.frame("content_block_stop", nil)
	w.index++
}

func (w *messagesWriter) begin(kind spanKind) {
	w.start(func() {
		start := w.e.Object()
		if kind == thinkingSpan || kind == redactedSpan {
			w.e.StringField("type", "thinking")
			w.e.StringField("thinking", "")
			w.e.StringField("signature", "")
		} else {
			w.e.StringField("type", "text")
			w.e.StringField("text", "")
		}
		w.e.endWith(start, w.fields)
	})
	w.fields = nil
}

func (w *messagesWriter) takesExtra() {}

// extra takes the extra fields of a block, which are said where it begins.
func (w *messagesWriter) extra(_ spanKind, open bool, x llm.Extra) {
	if open {
		w.e.unplaced(x[w.e.c.Format])
		return
	}
	w.fields = maps.Clone(x[w.e.c.Format])
}

func (w *messagesWriter) piece(kind spanKind, text string) {
	switch kind {
	case thinkingSpan, redactedSpan:
		w.delta("thinking_delta", "thinking", text)
	case refusalSpan:
		w.e.lost(llm.Degraded, "refusal", "the messages format does not mark text as a refusal")
		fallthrough
	default:
		w.delta("text_delta", "text", text)
	}
}

func (w *messagesWriter) cite(c llm.Citation) {
	for _, raw := range ownCitations(w.e, []llm.Citation{c}) {
		w.frame("content_block_delta", func() {
			w.e.Key("delta")
			w.e.Object()
			w.e.StringField("type", "citations_delta")
			w.e.RawField("citation", raw)
			w.e.End()
		})
	}
}

func (w *messagesWriter) end(_ spanKind, state llm.State) {
	if sig := js.Text(js.Get(w.e.own(state), "signature")); sig != "" && !w.signed {
		w.delta("signature_delta", "signature", sig)
	}
	w.signed = false
	w.stop()
}

// opaque writes a block that is only state: hidden thinking, or a block of a
// type that was not understood.
func (w *messagesWriter) opaque(kind spanKind, state llm.State) {
	switch data := w.e.own(state); {
	case data == nil:
		w.e.lost(llm.Ignored, "opaque part", foreignPart(state))
	case kind == redactedSpan:
		w.block(llm.Thinking{Redacted: true, State: state, Extra: llm.Extra{w.e.c.Format: w.fields}})
	case kind == thinkingSpan:
		w.begin(thinkingSpan)
		w.end(thinkingSpan, state)
	default:
		w.start(func() { w.e.Raw(data) })
		w.stop()
		w.e.unplaced(w.fields)
	}
	w.fields = nil
}

// block writes a block in one piece.
func (w *messagesWriter) block(p llm.Part) {
	w.start(func() { encodeBlock(w, w.e, p) })
	w.stop()
}

func (w *messagesWriter) beginCall(ev llm.CallStart) {
	w.said = ev.Extra[w.e.c.Format]
	w.start(func() {
		start := w.e.Object()
		w.e.StringField("type", "tool_use")
		w.e.StringField("id", ev.ID)
		w.e.StringField("name", ev.Name)
		w.e.RawField("input", []byte("{}"))
		w.e.endWith(start, w.said)
	})
	if open := w.args.begin(ev); open != "" {
		w.argsPiece(open)
	}
}

func (w *messagesWriter) callPiece(args string) { w.argsPiece(w.args.piece(w.e, args)) }

func (w *messagesWriter) argsPiece(args string) {
	w.delta("input_json_delta", "partial_json", args)
}

func (w *messagesWriter) endCall(call *llm.Call) {
	if end := w.args.end(call); end != "" {
		w.argsPiece(end)
	}
	if call != nil {
		w.e.lateFields(call.Extra, w.said)
	}
	w.stop()
}

func (w *messagesWriter) media(m llm.Media) {
	if m.Kind == llm.Image || m.Kind == llm.Document {
		w.block(m)
		return
	}
	w.e.lost(llm.Ignored, string(m.Kind), "the messages format takes images and documents only")
}

// hostedCall streams the input of a hosted call as the vendor does.
func (w *messagesWriter) hostedCall(c llm.Call) {
	data := w.e.own(c.State)
	if data == nil {
		w.e.lost(llm.Ignored, "hosted call", "another vendor ran it")
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
		w.e.endWith(start, nil)
	})
	w.callPiece(string(objectOf(js.Get(data, "input"))))
	w.stop()
}

func (w *messagesWriter) hostedResult(r llm.Result) {
	if w.e.own(r.State) == nil {
		w.e.lost(llm.Ignored, "hosted result", "another vendor made it")
		return
	}
	w.block(r)
}

func (w *messagesWriter) finish(f llm.Finish) {
	fields, event, stop := w.splitFinish(w.e.ownExtra(f.Extra))
	frame := w.e.openFrame("message_delta")
	w.e.StringField("type", "message_delta")
	w.e.Key("delta")
	start := w.e.Object()
	w.encodeStop(w.e, f)
	w.e.endWith(start, fields)
	w.encodeUsage(w.e, f)
	w.e.endWith(frame, event)
	w.e.frameEnd()
	frame = w.e.openFrame("message_stop")
	w.e.StringField("type", "message_stop")
	w.e.endWith(frame, stop)
	w.e.frameEnd()
}

func (w *messagesWriter) fail(err *llm.Error) {
	w.e.Buf = append(w.e.Buf, "event: error\ndata: "...)
	w.encodeError(w.e, err, errorStatus(err, &messagesProperties))
	w.e.frameEnd()
}
