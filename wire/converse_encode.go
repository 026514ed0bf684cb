package wire

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (c converse) encodeResponse(e *encoder, r *llm.Response) {
	top, message := c.splitFinish(e.ownExtra(r.Finish.Extra))
	start := e.Object()
	e.Key("output")
	e.Object()
	e.Key("message")
	inner := e.Object()
	e.StringField("role", "assistant")
	e.Key("content")
	e.Array()
	encodeBlocks(c, e, r.Message.Parts)
	for _, inv := range r.Invalid {
		e.invalidAsText(inv)
		c.encodeText(e, llm.Text{Text: inv.Raw})
	}
	e.EndArray()
	e.endWith(inner, message)
	e.End()
	c.encodeStop(e, r.Finish, top)
	c.encodeUsage(e, r.Finish)
	c.encodeMetrics(e, top)
	c.unnamed(e, r.Finish)
	e.endWith(start, without(top, modelFields))
}

// splitFinish sorts the extra fields of an answer by where they belong.
func (converse) splitFinish(own map[string]json.RawMessage) (top, message map[string]json.RawMessage) {
	top, message = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range own {
		if name, ok := cutPrefix(key, messagePrefix); ok {
			message[name] = v
		} else if key != "usage" {
			top[key] = v
		}
	}
	return top, message
}

// modelFields is where an answer says what only its model does.
const modelFields = "additionalModelResponseFields"

// encodeStop writes why the model stopped. The stop sequence, if there is one,
// stands among the fields of the model.
func (converse) encodeStop(e *encoder, f llm.Finish, own map[string]json.RawMessage) {
	reason := converseWords.finishWord(f)
	if f.StopSequence != "" && f.Reason == llm.Stop {
		reason = "stop_sequence"
	}
	e.StringField("stopReason", reason)
	mark, start := e.member(modelFields)
	e.optString("stop_sequence", f.StopSequence)
	e.endMember(mark, start, own[modelFields])
}

// unnamed notes what an answer of this format does not say.
func (converse) unnamed(e *encoder, f llm.Finish) {
	e.unsupported(f.ID != "", "id")
	e.unsupported(f.Model != "" && f.Extra[e.c.Format]["trace"] == nil, "model")
}

// converseWriter writes a stream of frames.
type converseWriter struct {
	converse
	e     *encoder
	begun bool
	index int
	args  objectArgs // of the open call
	seq   sequence
	said  map[string]json.RawMessage // the extra fields that the open call began with

	signed  bool           // the open block, which was relayed, has its signature
	relayed *converseBlock // not nil: it is open, and the client has all of it
}

func (converse) newStream(e *encoder, _ streamHead) streamEncoder {
	w := &converseWriter{e: e}
	w.seq.w = w
	return w
}

func (w *converseWriter) event(ev llm.Event) {
	if !w.begun {
		w.begun = true
		w.frame("messageStart", func() { w.e.StringField("role", "assistant") })
	}
	if u, ok := ev.(llm.UnknownEvent); ok {
		before := w.e.Buf
		w.e.Buf = nil
		w.seal(before, eventstream.Frame{Kind: eventstream.Event, Name: u.Type, Payload: u.Raw})
		return
	}
	if w.relayed != nil && llm.Begins(ev) && w.endRelayed(ev) {
		return
	}
	w.seq.event(ev)
}

// frame writes an event. Its payload is written apart: commas depend on what
// stands before, and the end of a frame is any byte.
func (w *converseWriter) frame(name string, members func()) {
	before := w.e.Buf
	w.e.Buf = nil
	w.e.Object()
	members()
	w.e.End()
	w.seal(before, eventstream.Frame{Kind: eventstream.Event, Name: name, Payload: w.e.Buf})
}

// seal appends a frame to what was written before it.
func (w *converseWriter) seal(before []byte, f eventstream.Frame) {
	var err error
	if w.e.Buf, err = eventstream.Append(before, f); err != nil && w.e.Err == nil {
		w.e.Err = err
	}
}

// start announces a block, which only those of tools and images are.
func (w *converseWriter) start(kind string, members func()) {
	w.frame("contentBlockStart", func() {
		w.e.Key("start")
		w.e.Object()
		w.e.Key(kind)
		w.e.Object()
		members()
		w.e.End()
		w.e.End()
		w.e.IntField("contentBlockIndex", w.index)
	})
}

func (w *converseWriter) delta(members func()) {
	w.frame("contentBlockDelta", func() {
		w.e.Key("delta")
		w.e.Object()
		members()
		w.e.End()
		w.e.IntField("contentBlockIndex", w.index)
	})
}

func (w *converseWriter) stop() {
	w.frame("contentBlockStop", func() { w.e.IntField("contentBlockIndex", w.index) })
	w.index++
}

func (w *converseWriter) begin(kind spanKind) {
	if kind == refusalSpan {
		w.e.lost(llm.Degraded, "refusal", "the converse format does not mark text as a refusal")
	}
}

func (w *converseWriter) piece(kind spanKind, text string) {
	w.delta(func() {
		if kind == thinkingSpan || kind == redactedSpan {
			w.e.Key("reasoningContent")
			w.e.Object()
			w.e.StringField("text", text)
			w.e.End()
		} else {
			w.e.StringField("text", text)
		}
	})
}

func (w *converseWriter) cite(c llm.Citation) {
	for _, raw := range ownCitations(w.e, []llm.Citation{c}) {
		w.delta(func() { w.e.RawField("citation", raw) })
	}
}

func (w *converseWriter) end(_ spanKind, state llm.State) {
	if !w.signed {
		w.sign(state)
	}
	w.signed = false
	w.stop()
}

// sign writes what only the vendor can read of thinking.
func (w *converseWriter) sign(state llm.State) {
	for key, v := range js.Members(w.e.own(state)) {
		w.delta(func() {
			w.e.Key("reasoningContent")
			w.e.Object()
			w.e.AnyKey(string(key))
			w.e.Raw(v)
			w.e.End()
		})
	}
}

func (w *converseWriter) opaque(kind spanKind, state llm.State) {
	switch {
	case w.e.own(state) == nil:
		w.e.lost(llm.Ignored, "opaque part", foreignPart(state))
	case kind == thinkingSpan || kind == redactedSpan:
		w.end(kind, state)
	default:
		w.e.lost(llm.Ignored, "opaque part", "streams of the converse format hold no such block")
	}
}

func (w *converseWriter) beginCall(ev llm.CallStart) {
	w.said = nil
	w.start("toolUse", func() {
		w.e.StringField("toolUseId", ev.ID)
		w.e.StringField("name", ev.Name)
		w.sayFields(ev.Extra[w.e.c.Format])
	})
	if open := w.args.begin(ev); open != "" {
		w.argsPiece(open)
	}
}

// sayFields writes the extra fields of a call. Those that do not stand inside of it have no place where it begins.
func (w *converseWriter) sayFields(fields map[string]json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(fields)) {
		if name, ok := cutPrefix(key, innerPrefix); ok && !strings.HasPrefix(name, nestedMark) {
			w.e.AnyKey(name)
			w.e.Raw(fields[key])
			if w.said == nil {
				w.said = make(map[string]json.RawMessage)
			}
			w.said[key] = fields[key]
		}
	}
}

func (w *converseWriter) callPiece(args string) { w.argsPiece(w.args.piece(w.e, args)) }

func (w *converseWriter) argsPiece(args string) {
	w.delta(func() {
		w.e.Key("toolUse")
		w.e.Object()
		w.e.StringField("input", args)
		w.e.End()
	})
}

func (w *converseWriter) endCall(call *llm.Call) {
	if end := w.args.end(call); end != "" {
		w.argsPiece(end)
	}
	if call != nil {
		w.e.lateFields(call.Extra, w.said)
	}
	w.stop()
}

// media writes an image; streams hold no other media.
func (w *converseWriter) media(m llm.Media) {
	format := converseFormat(m)
	if m.Kind != llm.Image || len(m.Data) == 0 || format == "" {
		w.e.lost(llm.Ignored, string(m.Kind), "streams of the converse format hold images only")
		return
	}
	w.start("image", func() { w.e.StringField("format", format) })
	w.delta(func() {
		w.e.Key("image")
		w.e.Object()
		w.e.Key("source")
		w.e.Object()
		w.e.StringField("bytes", base64Text(m.Data))
		w.e.End()
		w.e.End()
	})
	w.stop()
}

func (w *converseWriter) hostedCall(c llm.Call) {
	data := js.Get(w.e.own(c.State), "toolUse")
	if data == nil {
		w.e.lost(llm.Ignored, "hosted call", "another vendor ran it")
		return
	}
	w.hosted("toolUse", data, "input")
	w.callPiece(string(objectOf(js.Get(data, "input"))))
	w.stop()
}

func (w *converseWriter) hostedResult(r llm.Result) {
	data := js.Get(w.e.own(r.State), "toolResult")
	if data == nil {
		w.e.lost(llm.Ignored, "hosted result", "another vendor made it")
		return
	}
	w.hosted("toolResult", data, "content")
	w.delta(func() { w.e.RawField("toolResult", js.Get(data, "content")) })
	w.stop()
}

// hosted announces a block that is kept whole, but for the member that follows
// in pieces.
func (w *converseWriter) hosted(kind string, data []byte, later string) {
	w.start(kind, func() {
		for key, v := range js.Members(data) {
			if string(key) != later {
				w.e.AnyKey(string(key))
				w.e.Raw(v)
			}
		}
	})
}

func (w *converseWriter) finish(f llm.Finish) {
	own, message := w.splitFinish(w.e.ownExtra(f.Extra))
	if len(message) > 0 {
		w.e.lost(llm.Ignored, "message fields", "a stream of the converse format has no place for them")
	}
	w.frame("messageStop", func() { w.encodeStop(w.e, f, own) })
	before := w.e.Buf
	w.e.Buf = nil
	start := w.e.Object()
	w.encodeUsage(w.e, f)
	w.encodeMetrics(w.e, own)
	w.unnamed(w.e, f)
	w.e.endWith(start, without(own, modelFields))
	w.seal(before, eventstream.Frame{Kind: eventstream.Event, Name: "metadata", Payload: w.e.Buf})
}

// streamExceptions are the errors that a stream can end with.
var streamExceptions = []string{
	"InternalServerException", "ModelStreamErrorException", "ValidationException", "ThrottlingException", "ServiceUnavailableException",
}

func (w *converseWriter) fail(err *llm.Error) {
	code := awsCode(w.e.c.all, err)
	if !slices.Contains(streamExceptions, code) {
		code = "ModelStreamErrorException"
	}
	before := w.e.Buf
	w.e.Buf = nil
	w.e.Object()
	w.e.StringField("message", errorMessage(err, &converseProperties))
	w.e.End()
	name := strings.ToLower(code[:1]) + code[1:]
	w.seal(before, eventstream.Frame{Kind: eventstream.Exception, Name: name, Payload: w.e.Buf})
}
