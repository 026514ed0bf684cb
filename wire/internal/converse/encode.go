package converse

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/eventstream"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (c Format) EncodeResponse(e *codec.Encoder, r *llm.Response) {
	top, message := splitFinish(e.OwnExtra(r.Finish.Extra))
	start := e.Object()
	e.ObjectField("output")
	inner := e.ObjectField("message")
	e.StringField("role", "assistant")
	e.ArrayField("content")
	codec.EncodeBlocks(c, e, r.Message.Parts)
	for _, inv := range r.Invalid {
		e.InvalidAsText(inv)
		c.EncodeText(e, llm.Text{Text: inv.Raw})
	}
	e.EndArray()
	e.EndFields(inner, message)
	e.End()
	encodeStop(e, r.Finish, top)
	encodeUsage(e, r.Finish)
	encodeMetrics(e, top)
	unnamed(e, r.Finish)
	e.EndFields(start, codec.OmitFields(top, modelFields))
}

// splitFinish sorts the extra fields of an answer by where they belong.
func splitFinish(own map[string]json.RawMessage) (top, message map[string]json.RawMessage) {
	top, message = map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range own {
		if name, ok := loss.CutPrefix(key, loss.MessagePrefix); ok {
			message[name] = v
		} else if key != "usage" {
			top[key] = v
		}
	}
	return top, message
}

// modelFields is the member of an answer with fields of the model's maker.
const modelFields = "additionalModelResponseFields"

// encodeStop writes why the model stopped. The stop sequence, if there is one,
// stands among the fields of the model.
func encodeStop(e *codec.Encoder, f llm.Finish, own map[string]json.RawMessage) {
	reason := words.FinishWord(f)
	if f.StopSequence != "" && f.Reason == llm.Stop {
		reason = "stop_sequence"
	}
	e.StringField("stopReason", reason)
	mark, start := member(e, modelFields)
	e.OptString("stop_sequence", f.StopSequence)
	endMember(e, mark, start, own[modelFields])
}

// unnamed notes what an answer of this format does not say.
func unnamed(e *codec.Encoder, f llm.Finish) {
	e.Unsupported(f.ID != "", "id")
	e.Unsupported(f.Model != "" && f.Extra[e.Host.Format]["trace"] == nil, "model")
}

// writer writes a stream of frames.
type writer struct {
	e     *codec.Encoder
	begun bool
	index int
	args  codec.ObjectArgs // of the open call
	seq   codec.BlockStream
	said  map[string]json.RawMessage // the extra fields that the open call began with

	payload []byte // the room for the payload of a frame

	signed  bool           // the open block, which was relayed, has its signature
	relayed *converseBlock // not nil: it is open, and the client has all of it
}

func (Format) NewStream(e *codec.Encoder, _ codec.StreamHead) codec.StreamEncoder {
	w := &writer{e: e}
	w.seq.W = w
	return w
}

func (w *writer) Event(ev llm.Event) {
	if !w.begun {
		w.begun = true
		w.frame("messageStart", func() { w.e.StringField("role", "assistant") })
	}
	if u, ok := ev.(llm.UnknownEvent); ok {
		w.seal(w.e.Buf, eventstream.Frame{Kind: eventstream.Event, Name: u.Type, Payload: u.Raw})
		return
	}
	if w.relayed != nil && codec.EndsBlock(ev) && w.endRelayed(ev) {
		return
	}
	w.seq.Event(ev)
}

// frame writes an event.
func (w *writer) frame(name string, members func()) {
	before := w.apart()
	w.e.Object()
	members()
	w.e.End()
	w.sealPayload(before, eventstream.Event, name)
}

// apart begins a payload and returns the preceding bytes. A payload is written separately: commas depend on the
// preceding bytes, and a frame may end in any byte.
func (w *writer) apart() (before []byte) {
	before = w.e.Buf
	w.e.Buf = w.payload[:0]
	return before
}

func (w *writer) sealPayload(before []byte, kind, name string) {
	w.payload = w.e.Buf
	w.seal(before, eventstream.Frame{Kind: kind, Name: name, Payload: w.payload})
}

// seal appends a frame to the preceding bytes.
func (w *writer) seal(before []byte, f eventstream.Frame) {
	var err error
	if w.e.Buf, err = eventstream.Append(before, f); err != nil && w.e.Err == nil {
		w.e.Err = err
	}
}

// start announces a block, which only those of tools and images are.
func (w *writer) start(kind string, members func()) {
	w.frame("contentBlockStart", func() {
		w.e.ObjectField("start")
		w.e.ObjectField(kind)
		members()
		w.e.End()
		w.e.End()
		w.e.IntField("contentBlockIndex", w.index)
	})
}

func (w *writer) delta(members func()) {
	w.frame("contentBlockDelta", func() {
		w.e.ObjectField("delta")
		members()
		w.e.End()
		w.e.IntField("contentBlockIndex", w.index)
	})
}

func (w *writer) stop() {
	w.frame("contentBlockStop", func() { w.e.IntField("contentBlockIndex", w.index) })
	w.index++
}

func (w *writer) Begin(kind codec.SpanKind) {
	if kind == codec.RefusalSpan {
		w.e.Lost(llm.Degraded, "refusal", "the converse format does not mark text as a refusal")
	}
}

func (w *writer) Piece(kind codec.SpanKind, text string) {
	w.delta(func() {
		if kind == codec.ThinkingSpan || kind == codec.RedactedSpan {
			w.e.ObjectField("reasoningContent")
			w.e.StringField("text", text)
			w.e.End()
		} else {
			w.e.StringField("text", text)
		}
	})
}

func (w *writer) Cite(c llm.Citation) {
	for _, raw := range codec.OwnCitations(w.e, []llm.Citation{c}) {
		w.delta(func() { w.e.RawField("citation", raw) })
	}
}

func (w *writer) End(_ codec.SpanKind, state llm.State) {
	if !w.signed {
		w.sign(state)
	}
	w.signed = false
	w.stop()
}

// sign writes what only the vendor can read of thinking.
func (w *writer) sign(state llm.State) {
	for key, v := range js.Members(w.e.OwnState(state)) {
		w.delta(func() {
			w.e.ObjectField("reasoningContent")
			w.e.AnyKey(string(key))
			w.e.Raw(v)
			w.e.End()
		})
	}
}

func (w *writer) Opaque(kind codec.SpanKind, state llm.State) {
	switch {
	case w.e.OwnState(state) == nil:
		w.e.Lost(llm.Ignored, "opaque part", loss.ForeignPart(state))
	case kind == codec.ThinkingSpan || kind == codec.RedactedSpan:
		w.End(kind, state)
	default:
		w.e.Lost(llm.Ignored, "opaque part", "streams of the converse format hold no such block")
	}
}

func (w *writer) BeginCall(ev llm.CallStart) {
	w.said = nil
	w.start("toolUse", func() {
		w.e.StringField("toolUseId", ev.ID)
		w.e.StringField("name", ev.Name)
		w.sayFields(ev.Extra[w.e.Host.Format])
	})
	if open := w.args.Begin(ev); open != "" {
		w.argsPiece(open)
	}
}

// sayFields writes the extra fields of a call. Only fields inside the call's object fit at its start.
func (w *writer) sayFields(fields map[string]json.RawMessage) {
	for _, key := range js.Keys(fields) {
		if name, ok := loss.CutPrefix(key, loss.InnerPrefix); ok && !strings.HasPrefix(name, loss.NestedMark) {
			w.e.AnyKey(name)
			w.e.Raw(fields[key])
			if w.said == nil {
				w.said = make(map[string]json.RawMessage)
			}
			w.said[key] = fields[key]
		}
	}
}

func (w *writer) CallPiece(args string) { w.argsPiece(w.args.Piece(w.e, args)) }

func (w *writer) argsPiece(args string) {
	w.delta(func() {
		w.e.ObjectField("toolUse")
		w.e.StringField("input", args)
		w.e.End()
	})
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

// Media writes an image; streams hold no other media.
func (w *writer) Media(m llm.Media) {
	format := converseFormat(m)
	if m.Kind != llm.Image || len(m.Data) == 0 || format == "" {
		w.e.Lost(llm.Ignored, string(m.Kind), "streams of the converse format hold images only")
		return
	}
	w.start("image", func() { w.e.StringField("format", format) })
	w.delta(func() {
		w.e.ObjectField("image")
		w.e.ObjectField("source")
		w.e.StringField("bytes", codec.Base64Text(m.Data))
		w.e.End()
		w.e.End()
	})
	w.stop()
}

func (w *writer) HostedCall(c llm.Call) {
	data := js.Get(w.e.OwnState(c.State), "toolUse")
	if data == nil {
		w.e.Lost(llm.Ignored, "hosted call", "another vendor ran it")
		return
	}
	w.hosted("toolUse", data, "input")
	w.CallPiece(string(codec.ObjectOf(js.Get(data, "input"))))
	w.stop()
}

func (w *writer) HostedResult(r llm.Result) {
	data := js.Get(w.e.OwnState(r.State), "toolResult")
	if data == nil {
		w.e.Lost(llm.Ignored, "hosted result", "another vendor made it")
		return
	}
	w.hosted("toolResult", data, "content")
	w.delta(func() { w.e.RawField("toolResult", js.Get(data, "content")) })
	w.stop()
}

// hosted announces a block that is kept whole, but for the member that follows
// in pieces.
func (w *writer) hosted(kind string, data []byte, later string) {
	w.start(kind, func() {
		for key, v := range js.Members(data) {
			if string(key) != later {
				w.e.AnyKey(string(key))
				w.e.Raw(v)
			}
		}
	})
}

func (w *writer) Finish(f llm.Finish) {
	own, message := splitFinish(w.e.OwnExtra(f.Extra))
	if len(message) > 0 {
		w.e.Lost(llm.Ignored, "message fields", "a stream of the converse format has no place for them")
	}
	w.frame("messageStop", func() { encodeStop(w.e, f, own) })
	before := w.apart()
	start := w.e.Object()
	encodeUsage(w.e, f)
	encodeMetrics(w.e, own)
	unnamed(w.e, f)
	w.e.EndFields(start, codec.OmitFields(own, modelFields))
	w.sealPayload(before, eventstream.Event, "metadata")
}

// streamExceptions are the errors that a stream can end with.
var streamExceptions = []string{
	"InternalServerException", "ModelStreamErrorException", "ValidationException", "ThrottlingException", "ServiceUnavailableException",
}

func (w *writer) Fail(err *llm.Error) {
	code := awsCode(w.e.Host.Registry, err)
	if !slices.Contains(streamExceptions, code) {
		code = "ModelStreamErrorException"
	}
	before := w.apart()
	w.e.Object()
	w.e.StringField("message", codec.ErrorMessage(err, &properties))
	w.e.End()
	name := strings.ToLower(code[:1]) + code[1:]
	w.sealPayload(before, eventstream.Exception, name)
}
