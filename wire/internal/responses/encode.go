package responses

import (
	"bytes"
	"encoding/json"
	"maps"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (Format) EncodeResponse(e *codec.Encoder, resp *llm.Response) {
	e.AnswerID = resp.Finish.ID
	start := e.Object()
	fields := e.OwnExtra(resp.Finish.Extra)
	encodeEnvelope(e, resp.Finish.ID, resp.Finish.Model, codec.CreatedAt(resp.Start), fields)
	e.ArrayField("output")
	encodeItems(e, resp.Message.Parts, true)
	for _, c := range resp.Invalid {
		encodeInvalid(e, c)
	}
	e.EndArray()
	encodeEnd(e, resp.Finish)
	encodeUsage(e, resp.Finish)
	encodeDefaults(e, fields)
	e.EndFields(start, codec.OmitFields(fields, "usage"))
}

func encodeEnvelope(e *codec.Encoder, id, model string, created int64, fields map[string]json.RawMessage) {
	e.StringField("id", id)
	e.StringField("object", "response")
	if fields["created_at"] == nil {
		e.Key("created_at")
		e.Int(created)
	}
	e.StringField("model", model)
}

// encodeDefaults writes what clients expect to find in every answer.
func encodeDefaults(e *codec.Encoder, fields map[string]json.RawMessage) {
	for _, key := range js.Keys(defaults) {
		if fields[key] == nil {
			e.RawField(key, []byte(defaults[key]))
		}
	}
}

// encodeInvalid writes a call that cannot be run as the vendor would: as an
// item that is not complete.
func encodeInvalid(e *codec.Encoder, c llm.InvalidCall) {
	e.Object()
	e.StringField("type", "function_call")
	e.StringField("id", itemID(e, "fc"))
	e.StringField("call_id", c.ID)
	e.CallName(c.Name)
	e.StringField("arguments", c.Raw)
	e.StringField("status", "incomplete")
	e.End()
}

func encodeEnd(e *codec.Encoder, f llm.Finish) {
	word := words.FinishWord(f)
	if word == "completed" || f.Reason == llm.ToolCalls {
		e.StringField("status", "completed")
		e.RawField("error", []byte("null"))
		e.RawField("incomplete_details", []byte("null"))
		return
	}
	e.StringField("status", "incomplete")
	e.RawField("error", []byte("null"))
	if f.Raw == cut && f.Reason == llm.OtherReason { // the vendor gave no reason
		e.RawField("incomplete_details", []byte("null"))
		return
	}
	e.ObjectField("incomplete_details")
	e.StringField("reason", word)
	e.End()
}

// writer writes a stream of events.
type writer struct {
	e    *codec.Encoder
	head codec.StreamHead
	seq  codec.BlockStream
	sent int // number of the last event
	// The item that is open.
	item   string     // its id
	parts  []llm.Text // of a message
	text   bytes.Buffer
	cites  []llm.Citation
	fields map[string]json.RawMessage // extra ones of the open text
	next   []json.RawMessage          // log probabilities of the next piece
	probs  *llm.LogProbs              // of the open text
	call   llm.CallStart
	args   bytes.Buffer
	done   []json.RawMessage // items
	begun  bool
	coming string          // the id that the next item has
	taken  map[string]bool // ids of items
	// relayed is an item that a relay began before it became a translation. input is the part of a free-text tool's
	// input that the client has.
	relayed *responsesItem
	input   string
}

func (Format) NewStream(e *codec.Encoder, head codec.StreamHead) codec.StreamEncoder {
	e.AnswerID = head.ID
	w := &writer{e: e, head: head}
	w.seq.W = w
	return w
}

// Named takes the id of the next item from an answer of the same vendor.
func (w *writer) Named(id, vendor string) (open bool) {
	if vendor != w.e.Host.Vendor {
		return false
	}
	if id == w.item {
		return true
	}
	w.coming = id
	return false
}

func (w *writer) Known(id, vendor string) {
	if w.item == "" {
		w.Named(id, vendor)
	}
}

// newItem decides the id of an item, once: all its events and the whole item at
// the end have the same.
func (w *writer) newItem(prefix string) string {
	id := w.coming
	w.coming = ""
	if id == "" || w.taken[id] {
		id = itemID(w.e, prefix)
	}
	if w.taken == nil {
		w.taken = make(map[string]bool)
	}
	w.taken[id] = true
	return id
}

// sameID returns an item with the id that it began with.
func sameID(item json.RawMessage, id string) json.RawMessage {
	if id == "" || js.Is(js.Get(item, "id"), id) {
		return item
	}
	var e js.Writer
	e.Object()
	for key, v := range js.Members(item) {
		if string(key) != "id" {
			e.AnyKey(string(key))
			e.Raw(v)
		}
	}
	e.StringField("id", id)
	e.End()
	return e.Buf
}

func (w *writer) Event(ev llm.Event) {
	if !w.begun {
		w.begun = true
		var echo map[string]json.RawMessage
		if w.head.Echo != nil {
			echo = w.head.Echo()
		}
		for _, name := range []string{"response.created", "response.in_progress"} {
			w.frame(name, func() {
				start := w.e.ObjectField("response")
				encodeEnvelope(w.e, w.head.ID, w.head.Model, w.head.Created, nil)
				w.e.StringField("status", "in_progress")
				w.e.RawField("output", []byte("[]"))
				encodeDefaults(w.e, echo)
				w.e.EndFields(start, echo)
			})
		}
	}
	if u, ok := ev.(llm.UnknownEvent); ok {
		w.unknown(u)
		return
	}
	w.seq.Event(ev)
}

// unknown writes an unknown event, with its number in this stream.
func (w *writer) unknown(ev llm.UnknownEvent) {
	w.e.OpenFrame(strings.Map(codec.OneLine, ev.Type))
	for key, v := range js.Members(ev.Raw) {
		w.e.AnyKey(string(key))
		if string(key) == "sequence_number" {
			w.e.Int(int64(w.sent))
			continue
		}
		w.e.Raw(v)
	}
	w.sent++
	w.e.CloseFrame()
}

func (w *writer) frame(name string, body func()) {
	w.e.OpenFrame(name)
	w.e.StringField("type", name)
	w.e.IntField("sequence_number", w.sent)
	w.sent++
	body()
	w.e.CloseFrame()
}

// itemFrame writes an event about the open item.
func (w *writer) itemFrame(name string, body func()) {
	w.frame(name, func() {
		w.e.StringField("item_id", w.item)
		w.e.IntField("output_index", len(w.done))
		body()
	})
}

func (w *writer) partFrame(name string, body func()) {
	w.itemFrame(name, func() {
		w.e.IntField("content_index", len(w.parts))
		body()
	})
}

func (w *writer) added(item func()) {
	w.frame("response.output_item.added", func() {
		w.e.IntField("output_index", len(w.done))
		w.e.Key("item")
		item()
	})
}

// finishItem writes the complete item and keeps it for the end.
func (w *writer) finishItem(item func(e *codec.Encoder)) {
	inner := codec.NewEncoder(w.e.Host)
	inner.Items, inner.AnswerID = w.e.Items, w.head.ID
	item(&inner)
	if w.item == "" {
		w.e.Items = inner.Items // else the item has its id already
	}
	if inner.Err != nil && w.e.Err == nil {
		w.e.Err = inner.Err
	}
	whole := sameID(inner.Buf, w.item)
	w.frame("response.output_item.done", func() {
		w.e.IntField("output_index", len(w.done))
		w.e.RawField("item", whole)
	})
	w.done = append(w.done, whole)
	w.item = ""
}

func (w *writer) Begin(kind codec.SpanKind) {
	switch kind {
	case codec.ThinkingSpan, codec.RedactedSpan:
		w.closeMessage(llm.State{})
		if !w.goesOn("reasoning") {
			w.item = w.newItem("rs")
			w.added(func() {
				w.e.Raw(append(js.AppendQuoted([]byte(`{"type":"reasoning","id":`), w.item), `,"summary":[]}`...))
			})
		}
		w.itemFrame("response.reasoning_summary_part.added", func() {
			w.e.IntField("summary_index", 0)
			w.e.RawField("part", []byte(`{"type":"summary_text","text":""}`))
		})
	default:
		if w.coming != "" {
			w.closeMessage(llm.State{})
		}
		if !w.goesOn("message") && w.item == "" {
			w.item = w.newItem("msg")
			w.added(func() {
				w.e.Raw(append(js.AppendQuoted([]byte(`{"type":"message","id":`), w.item), `,"status":"in_progress","role":"assistant","content":[]}`...))
			})
		}
		w.partFrame("response.content_part.added", func() {
			w.e.Key("part")
			encodeOutputText(w.e, llm.Text{Refusal: kind == codec.RefusalSpan})
		})
	}
	w.text.Reset()
	w.cites, w.probs = nil, nil
}

// LogProbs keeps the log probabilities of the next piece.
func (w *writer) LogProbs(p *llm.LogProbs) {
	w.next = w.e.OwnLogProbs(p)
	if w.probs == nil {
		w.probs = &llm.LogProbs{Form: properties.LogProbs}
	}
	w.probs.Tokens = append(w.probs.Tokens, w.next...)
}

func (w *writer) Piece(kind codec.SpanKind, text string) {
	w.text.WriteString(text)
	switch kind {
	case codec.ThinkingSpan, codec.RedactedSpan:
		w.itemFrame("response.reasoning_summary_text.delta", func() {
			w.e.IntField("summary_index", 0)
			w.e.StringField("delta", text)
		})
	case codec.RefusalSpan:
		w.partFrame("response.refusal.delta", func() { w.e.StringField("delta", text) })
	default:
		w.partFrame("response.output_text.delta", func() {
			w.e.StringField("delta", text)
			w.e.ListField("logprobs", w.next)
			w.next = nil
		})
	}
}

func (w *writer) Cite(c llm.Citation) {
	w.partFrame("response.output_text.annotation.added", func() {
		w.e.IntField("annotation_index", len(w.cites))
		w.e.Key("annotation")
		encodeAnnotation(w.e, c)
	})
	w.cites = append(w.cites, c)
}

func (w *writer) End(kind codec.SpanKind, state llm.State) {
	if kind == codec.ThinkingSpan || kind == codec.RedactedSpan {
		w.endThinking(state)
		return
	}
	t := llm.Text{Text: w.text.String(), Refusal: kind == codec.RefusalSpan, Citations: w.cites, LogProbs: w.probs}
	if len(w.fields) > 0 {
		t.Extra = llm.Extra{w.e.Host.Format: w.fields}
	}
	w.next, w.fields = nil, nil
	name, key := "response.output_text.done", "text"
	if t.Refusal {
		name, key = "response.refusal.done", "refusal"
	}
	w.partFrame(name, func() { w.e.StringField(key, t.Text) })
	w.partFrame("response.content_part.done", func() {
		w.e.Key("part")
		encodeOutputText(w.e, t)
	})
	w.parts = append(w.parts, t)
	if !state.IsZero() {
		w.closeMessage(state)
	}
}

func (w *writer) TakesExtra() {}

// Extra takes the extra fields of a text. They are written when the text is complete.
func (w *writer) Extra(kind codec.SpanKind, _ bool, x llm.Extra) {
	own := x[w.e.Host.Format]
	if kind == codec.ThinkingSpan || kind == codec.RedactedSpan {
		w.e.LostInStream(own) // an item of reasoning is kept whole
		return
	}
	if w.fields == nil {
		w.fields = make(map[string]json.RawMessage)
	}
	maps.Copy(w.fields, own)
}

func (w *writer) endThinking(state llm.State) {
	t := llm.Thinking{Text: w.text.String(), State: state}
	w.itemFrame("response.reasoning_summary_text.done", func() {
		w.e.IntField("summary_index", 0)
		w.e.StringField("text", t.Text)
	})
	w.itemFrame("response.reasoning_summary_part.done", func() {
		w.e.IntField("summary_index", 0)
		w.e.ObjectField("part")
		w.e.StringField("type", "summary_text")
		w.e.StringField("text", t.Text)
		w.e.End()
	})
	w.finishItem(func(e *codec.Encoder) { encodeThinking(e, t, true) })
}

// closeMessage ends a message, whose texts may have been several.
func (w *writer) closeMessage(state llm.State) {
	if len(w.parts) == 0 {
		return
	}
	parts := w.parts
	parts[len(parts)-1].State = state
	w.parts = nil
	id := w.item
	w.finishItem(func(e *codec.Encoder) {
		if e.OwnState(state) == nil {
			parts[len(parts)-1].State = llm.State{Vendor: e.Host.Vendor, Data: append(js.AppendQuoted([]byte(`{"id":`), id), `,"status":"completed"}`...)}
		}
		encodeSaid(e, parts, true)
	})
}

func (w *writer) Opaque(kind codec.SpanKind, state llm.State) {
	if n := len(w.parts); n > 0 && kind != codec.ThinkingSpan && kind != codec.RedactedSpan && len(w.e.OwnState(state)) > 0 && js.Get(w.e.OwnState(state), "type") == nil {
		w.closeMessage(state) // the state of a message whose texts are complete
		return
	}
	w.closeMessage(llm.State{})
	raw, typ := ownType(w.e, state)
	if typ == "" {
		w.e.Lost(llm.Ignored, "opaque part", loss.ForeignPart(state))
		return
	}
	w.whole(raw)
}

// whole writes an item in one piece.
func (w *writer) whole(raw json.RawMessage) {
	if w.relayed != nil && js.Is(js.Get(raw, "id"), w.relayed.id) {
		w.relayed = nil
		w.finishItem(func(e *codec.Encoder) { e.Raw(raw) })
		return
	}
	w.endRelayed()
	w.coming = js.Text(js.Get(raw, "id"))
	w.newItem("item")
	w.added(func() { w.e.Raw(raw) })
	w.finishItem(func(e *codec.Encoder) { e.Raw(raw) })
}

func (w *writer) BeginCall(ev llm.CallStart) {
	w.closeMessage(llm.State{})
	w.endRelayed()
	w.item = w.newItem("fc")
	w.call = ev
	w.args.Reset()
	w.added(func() {
		start := w.e.Object()
		key := "arguments"
		if ev.Kind == llm.FreeTool {
			key = "input"
			w.e.StringField("type", "custom_tool_call")
		} else {
			w.e.StringField("type", "function_call")
		}
		w.e.StringField("id", w.item)
		w.e.StringField("call_id", ev.ID)
		w.e.CallName(ev.Name)
		w.e.StringField(key, "")
		w.e.StringField("status", "in_progress")
		w.e.EndFields(start, nil)
	})
}

func (w *writer) CallPiece(args string) {
	w.args.WriteString(args)
	if w.call.Kind == llm.FreeTool {
		return // the text is known when its JSON is complete
	}
	w.itemFrame("response.function_call_arguments.delta", func() { w.e.StringField("delta", args) })
}

func (w *writer) EndCall(call *llm.Call) {
	id := w.item
	if call == nil {
		w.finishItem(func(e *codec.Encoder) {
			encodeInvalid(e, llm.InvalidCall{ID: w.call.ID, Name: w.call.Name, Raw: w.args.String()})
		})
		return
	}
	c := *call
	if w.call.Kind == llm.FreeTool {
		w.itemFrame("response.custom_tool_call_input.delta", func() { w.e.StringField("delta", strings.TrimPrefix(js.Text(c.Args), w.input)) })
		w.input = ""
		w.itemFrame("response.custom_tool_call_input.done", func() { w.e.StringField("input", js.Text(c.Args)) })
	} else {
		w.itemFrame("response.function_call_arguments.done", func() { w.e.StringField("arguments", string(codec.ObjectOf(c.Args))) })
	}
	w.finishItem(func(e *codec.Encoder) {
		if e.OwnState(c.State) == nil {
			c.State = llm.State{Vendor: e.Host.Vendor, Data: append(js.AppendQuoted([]byte(`{"id":`), id), `,"status":"completed"}`...)}
		}
		encodeCall(e, c, true)
	})
}

func (w *writer) Media(m llm.Media) {
	w.e.Lost(llm.Ignored, string(m.Kind), "an answer of the responses format has no place for it")
}

func (w *writer) HostedCall(c llm.Call) {
	w.closeMessage(llm.State{})
	if raw, typ := ownType(w.e, c.State); typ != "" {
		w.whole(raw)
		return
	}
	w.e.Lost(llm.Ignored, "hosted call", "another vendor ran it")
}

// HostedResult writes nothing: what the vendor's own call gave is in its item.
func (w *writer) HostedResult(r llm.Result) {
	for _, item := range w.done {
		if js.Text(js.Get(item, "id")) == r.CallID {
			return
		}
	}
	w.e.Lost(llm.Ignored, "hosted result", "another vendor made it")
}

func (w *writer) Finish(f llm.Finish) {
	w.closeMessage(llm.State{})
	w.endRelayed()
	fields := w.e.OwnExtra(f.Extra)
	name := "response.completed"
	if word := words.FinishWord(f); word != "completed" && f.Reason != llm.ToolCalls {
		name = "response.incomplete"
	}
	w.frame(name, func() {
		start := w.e.ObjectField("response")
		encodeEnvelope(w.e, w.head.ID, w.head.Model, w.head.Created, fields)
		w.e.ArrayField("output")
		for _, item := range w.done {
			w.e.Raw(item)
		}
		w.e.EndArray()
		encodeEnd(w.e, f)
		encodeUsage(w.e, f)
		encodeDefaults(w.e, fields)
		w.e.EndFields(start, codec.OmitFields(fields, "usage"))
	})
}

func (w *writer) Fail(err *llm.Error) {
	w.frame("error", func() {
		w.e.StringField("code", w.e.Host.Registry.ErrorCode(err, &properties))
		w.e.StringField("message", codec.ErrorMessage(err, &properties))
		w.e.RawField("param", []byte("null"))
	})
}
