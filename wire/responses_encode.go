package wire

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (r responses) encodeResponse(e *encoder, resp *llm.Response) {
	e.answerID = resp.Finish.ID
	start := e.Object()
	fields := e.ownExtra(resp.Finish.Extra)
	r.encodeEnvelope(e, resp.Finish.ID, resp.Finish.Model, createdAt(resp.Start), fields)
	e.Key("output")
	e.Array()
	r.encodeItems(e, resp.Message.Parts, true)
	for _, c := range resp.Invalid {
		r.encodeInvalid(e, c)
	}
	e.EndArray()
	r.encodeEnd(e, resp.Finish)
	r.encodeUsage(e, resp.Finish)
	r.encodeDefaults(e, fields)
	e.endWith(start, without(fields, "usage"))
}

func (responses) encodeEnvelope(e *encoder, id, model string, created int64, fields map[string]json.RawMessage) {
	e.StringField("id", id)
	e.StringField("object", "response")
	if fields["created_at"] == nil {
		e.Key("created_at")
		e.Int(created)
	}
	e.StringField("model", model)
}

// encodeDefaults writes what clients expect to find in every answer.
func (responses) encodeDefaults(e *encoder, fields map[string]json.RawMessage) {
	for _, key := range slices.Sorted(maps.Keys(responsesDefaults)) {
		if fields[key] == nil {
			e.RawField(key, []byte(responsesDefaults[key]))
		}
	}
}

// encodeInvalid writes a call that cannot be run as the vendor would: as an
// item that is not complete.
func (responses) encodeInvalid(e *encoder, c llm.InvalidCall) {
	e.Object()
	e.StringField("type", "function_call")
	e.StringField("id", e.itemID("fc"))
	e.StringField("call_id", c.ID)
	e.callName(c.Name)
	e.StringField("arguments", c.Raw)
	e.StringField("status", "incomplete")
	e.End()
}

func (responses) encodeEnd(e *encoder, f llm.Finish) {
	word := responsesWords.finishWord(f)
	if word == "completed" || f.Reason == llm.ToolCalls {
		e.StringField("status", "completed")
		e.RawField("error", []byte("null"))
		e.RawField("incomplete_details", []byte("null"))
		return
	}
	e.StringField("status", "incomplete")
	e.RawField("error", []byte("null"))
	if f.Raw == responsesCut && f.Reason == llm.OtherReason { // the vendor did not say why
		e.RawField("incomplete_details", []byte("null"))
		return
	}
	e.Key("incomplete_details")
	e.Object()
	e.StringField("reason", word)
	e.End()
}

// responsesWriter writes a stream of events.
type responsesWriter struct {
	responses
	e    *encoder
	head streamHead
	seq  sequence
	sent int // events, which are numbered
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
	// relayed is an item that is open since before the translation of a relay
	// began; input is what was sent of the input of a free-text tool then.
	relayed *responsesItem
	input   string
}

func (responses) newStream(e *encoder, head streamHead) streamEncoder {
	e.answerID = head.ID
	w := &responsesWriter{e: e, head: head}
	w.seq.w = w
	return w
}

// named takes the id of the next item from an answer of the same vendor.
func (w *responsesWriter) named(id, vendor string) (open bool) {
	if vendor != w.e.c.Vendor {
		return false
	}
	if id == w.item {
		return true
	}
	w.coming = id
	return false
}

func (w *responsesWriter) known(id, vendor string) {
	if w.item == "" {
		w.named(id, vendor)
	}
}

// newItem decides the id of an item, once: all its events and the whole item at
// the end have the same.
func (w *responsesWriter) newItem(prefix string) string {
	id := w.coming
	w.coming = ""
	if id == "" || w.taken[id] {
		id = w.e.itemID(prefix)
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

func (w *responsesWriter) event(ev llm.Event) {
	if !w.begun {
		w.begun = true
		var echo map[string]json.RawMessage
		if w.head.Echo != nil {
			echo = w.head.Echo()
		}
		for _, name := range []string{"response.created", "response.in_progress"} {
			w.frame(name, func() {
				w.e.Key("response")
				start := w.e.Object()
				w.encodeEnvelope(w.e, w.head.ID, w.head.Model, w.head.Created, nil)
				w.e.StringField("status", "in_progress")
				w.e.RawField("output", []byte("[]"))
				w.encodeDefaults(w.e, echo)
				w.e.endWith(start, echo)
			})
		}
	}
	if u, ok := ev.(llm.UnknownEvent); ok {
		w.unknown(u)
		return
	}
	w.seq.event(ev)
}

// unknown writes an event that nobody knows, with the number it has here.
func (w *responsesWriter) unknown(ev llm.UnknownEvent) {
	w.e.openFrame(strings.Map(oneLine, ev.Type))
	for key, v := range js.Members(ev.Raw) {
		w.e.AnyKey(string(key))
		if string(key) == "sequence_number" {
			w.e.Int(int64(w.sent))
			continue
		}
		w.e.Raw(v)
	}
	w.sent++
	w.e.closeFrame()
}

func (w *responsesWriter) frame(name string, body func()) {
	w.e.openFrame(name)
	w.e.StringField("type", name)
	w.e.IntField("sequence_number", w.sent)
	w.sent++
	body()
	w.e.closeFrame()
}

// itemFrame writes an event about the open item.
func (w *responsesWriter) itemFrame(name string, body func()) {
	w.frame(name, func() {
		w.e.StringField("item_id", w.item)
		w.e.IntField("output_index", len(w.done))
		body()
	})
}

func (w *responsesWriter) partFrame(name string, body func()) {
	w.itemFrame(name, func() {
		w.e.IntField("content_index", len(w.parts))
		body()
	})
}

func (w *responsesWriter) added(item func()) {
	w.frame("response.output_item.added", func() {
		w.e.IntField("output_index", len(w.done))
		w.e.Key("item")
		item()
	})
}

// finishItem writes the complete item and keeps it for the end.
func (w *responsesWriter) finishItem(item func(e *encoder)) {
	inner := newEncoder(w.e.c)
	inner.items, inner.answerID = w.e.items, w.head.ID
	item(&inner)
	if w.item == "" {
		w.e.items = inner.items // else the item has its id already
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

func (w *responsesWriter) begin(kind spanKind) {
	switch kind {
	case thinkingSpan, redactedSpan:
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
			w.encodeOutputText(w.e, llm.Text{Refusal: kind == refusalSpan})
		})
	}
	w.text.Reset()
	w.cites, w.probs = nil, nil
}

// logProbs takes those of the next piece.
func (w *responsesWriter) logProbs(p *llm.LogProbs) {
	w.next = w.e.ownProbs(p)
	if w.probs == nil {
		w.probs = &llm.LogProbs{Form: responsesProperties.LogProbs}
	}
	w.probs.Tokens = append(w.probs.Tokens, w.next...)
}

func (w *responsesWriter) piece(kind spanKind, text string) {
	w.text.WriteString(text)
	switch kind {
	case thinkingSpan, redactedSpan:
		w.itemFrame("response.reasoning_summary_text.delta", func() {
			w.e.IntField("summary_index", 0)
			w.e.StringField("delta", text)
		})
	case refusalSpan:
		w.partFrame("response.refusal.delta", func() { w.e.StringField("delta", text) })
	default:
		w.partFrame("response.output_text.delta", func() {
			w.e.StringField("delta", text)
			w.e.list("logprobs", w.next)
			w.next = nil
		})
	}
}

func (w *responsesWriter) cite(c llm.Citation) {
	w.partFrame("response.output_text.annotation.added", func() {
		w.e.IntField("annotation_index", len(w.cites))
		w.e.Key("annotation")
		encodeAnnotation(w.e, c)
	})
	w.cites = append(w.cites, c)
}

func (w *responsesWriter) end(kind spanKind, state llm.State) {
	if kind == thinkingSpan || kind == redactedSpan {
		w.endThinking(state)
		return
	}
	t := llm.Text{Text: w.text.String(), Refusal: kind == refusalSpan, Citations: w.cites, LogProbs: w.probs}
	if len(w.fields) > 0 {
		t.Extra = llm.Extra{w.e.c.Format: w.fields}
	}
	w.next, w.fields = nil, nil
	name, key := "response.output_text.done", "text"
	if t.Refusal {
		name, key = "response.refusal.done", "refusal"
	}
	w.partFrame(name, func() { w.e.StringField(key, t.Text) })
	w.partFrame("response.content_part.done", func() {
		w.e.Key("part")
		w.encodeOutputText(w.e, t)
	})
	w.parts = append(w.parts, t)
	if !state.IsZero() {
		w.closeMessage(state)
	}
}

func (w *responsesWriter) takesExtra() {}

// extra takes the extra fields of a text, which are said when it is complete.
func (w *responsesWriter) extra(kind spanKind, _ bool, x llm.Extra) {
	own := x[w.e.c.Format]
	if kind == thinkingSpan || kind == redactedSpan {
		w.e.unplaced(own) // an item of reasoning is kept whole
		return
	}
	if w.fields == nil {
		w.fields = make(map[string]json.RawMessage)
	}
	maps.Copy(w.fields, own)
}

func (w *responsesWriter) endThinking(state llm.State) {
	t := llm.Thinking{Text: w.text.String(), State: state}
	w.itemFrame("response.reasoning_summary_text.done", func() {
		w.e.IntField("summary_index", 0)
		w.e.StringField("text", t.Text)
	})
	w.itemFrame("response.reasoning_summary_part.done", func() {
		w.e.IntField("summary_index", 0)
		w.e.Key("part")
		w.e.Object()
		w.e.StringField("type", "summary_text")
		w.e.StringField("text", t.Text)
		w.e.End()
	})
	w.finishItem(func(e *encoder) { w.encodeThinking(e, t, true) })
}

// closeMessage ends a message, whose texts may have been several.
func (w *responsesWriter) closeMessage(state llm.State) {
	if len(w.parts) == 0 {
		return
	}
	parts := w.parts
	parts[len(parts)-1].State = state
	w.parts = nil
	id := w.item
	w.finishItem(func(e *encoder) {
		if e.own(state) == nil {
			parts[len(parts)-1].State = llm.State{Vendor: e.c.Vendor, Data: append(js.AppendQuoted([]byte(`{"id":`), id), `,"status":"completed"}`...)}
		}
		w.encodeSaid(e, parts, true)
	})
}

func (w *responsesWriter) opaque(kind spanKind, state llm.State) {
	if n := len(w.parts); n > 0 && kind != thinkingSpan && kind != redactedSpan && len(w.e.own(state)) > 0 && js.Get(w.e.own(state), "type") == nil {
		w.closeMessage(state) // the state of a message whose texts are complete
		return
	}
	w.closeMessage(llm.State{})
	raw, typ := w.e.ownType(state)
	if typ == "" {
		w.e.lost(llm.Ignored, "opaque part", foreignPart(state))
		return
	}
	w.whole(raw)
}

// whole writes an item in one piece.
func (w *responsesWriter) whole(raw json.RawMessage) {
	if w.relayed != nil && js.Is(js.Get(raw, "id"), w.relayed.id) {
		w.relayed = nil
		w.finishItem(func(e *encoder) { e.Raw(raw) })
		return
	}
	w.endRelayed()
	w.coming = js.Text(js.Get(raw, "id"))
	w.newItem("item")
	w.added(func() { w.e.Raw(raw) })
	w.finishItem(func(e *encoder) { e.Raw(raw) })
}

func (w *responsesWriter) beginCall(ev llm.CallStart) {
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
		w.e.callName(ev.Name)
		w.e.StringField(key, "")
		w.e.StringField("status", "in_progress")
		w.e.endWith(start, nil)
	})
}

func (w *responsesWriter) callPiece(args string) {
	w.args.WriteString(args)
	if w.call.Kind == llm.FreeTool {
		return // the text is known when its JSON is complete
	}
	w.itemFrame("response.function_call_arguments.delta", func() { w.e.StringField("delta", args) })
}

func (w *responsesWriter) endCall(call *llm.Call) {
	id := w.item
	if call == nil {
		w.finishItem(func(e *encoder) {
			w.encodeInvalid(e, llm.InvalidCall{ID: w.call.ID, Name: w.call.Name, Raw: w.args.String()})
		})
		return
	}
	c := *call
	if w.call.Kind == llm.FreeTool {
		w.itemFrame("response.custom_tool_call_input.delta", func() { w.e.StringField("delta", strings.TrimPrefix(js.Text(c.Args), w.input)) })
		w.input = ""
		w.itemFrame("response.custom_tool_call_input.done", func() { w.e.StringField("input", js.Text(c.Args)) })
	} else {
		w.itemFrame("response.function_call_arguments.done", func() { w.e.StringField("arguments", string(objectOf(c.Args))) })
	}
	w.finishItem(func(e *encoder) {
		if e.own(c.State) == nil {
			c.State = llm.State{Vendor: e.c.Vendor, Data: append(js.AppendQuoted([]byte(`{"id":`), id), `,"status":"completed"}`...)}
		}
		w.encodeCall(e, c, true)
	})
}

func (w *responsesWriter) media(m llm.Media) {
	w.e.lost(llm.Ignored, string(m.Kind), "an answer of the responses format has no place for it")
}

func (w *responsesWriter) hostedCall(c llm.Call) {
	w.closeMessage(llm.State{})
	if raw, typ := w.e.ownType(c.State); typ != "" {
		w.whole(raw)
		return
	}
	w.e.lost(llm.Ignored, "hosted call", "another vendor ran it")
}

// hostedResult writes nothing: what the vendor's own call gave is in its item.
func (w *responsesWriter) hostedResult(r llm.Result) {
	for _, item := range w.done {
		if js.Text(js.Get(item, "id")) == r.CallID {
			return
		}
	}
	w.e.lost(llm.Ignored, "hosted result", "another vendor made it")
}

func (w *responsesWriter) finish(f llm.Finish) {
	w.closeMessage(llm.State{})
	w.endRelayed()
	fields := w.e.ownExtra(f.Extra)
	name := "response.completed"
	if word := responsesWords.finishWord(f); word != "completed" && f.Reason != llm.ToolCalls {
		name = "response.incomplete"
	}
	w.frame(name, func() {
		w.e.Key("response")
		start := w.e.Object()
		w.encodeEnvelope(w.e, w.head.ID, w.head.Model, w.head.Created, fields)
		w.e.Key("output")
		w.e.Array()
		for _, item := range w.done {
			w.e.Raw(item)
		}
		w.e.EndArray()
		w.encodeEnd(w.e, f)
		w.encodeUsage(w.e, f)
		w.encodeDefaults(w.e, fields)
		w.e.endWith(start, without(fields, "usage"))
	})
}

func (w *responsesWriter) fail(err *llm.Error) {
	w.frame("error", func() {
		w.e.StringField("code", w.e.c.all.errorCode(err, &responsesProperties))
		w.e.StringField("message", errorMessage(err, &responsesProperties))
		w.e.RawField("param", []byte("null"))
	})
}
