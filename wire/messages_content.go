package wire

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// encodeMessages writes the messages. Results and what the user says after
// them are one message: the vendor wants all results of a turn at the start
// of the next.
func (m messages) encodeMessages(e *encoder, list []llm.Message) {
	e.turns(list, func(turn []llm.Message) { m.encodeTurn(e, turn) })
}

func (m messages) encodeTurn(e *encoder, list []llm.Message) {
	for i := 0; i < len(list); i++ {
		msg := list[i]
		parts, fields := msg.Parts, e.ownExtra(msg.Extra)
		if msg.Role == llm.RoleTool && i+1 < len(list) && list[i+1].Role == llm.RoleUser {
			i++
			parts = append(append([]llm.Part{}, parts...), list[i].Parts...)
			fields = e.joined(fields, e.ownExtra(list[i].Extra))
		}
		mark := len(e.Buf)
		start := e.Object()
		e.StringField("role", blockRole(e, msg.Role))
		e.Key("content")
		m.encodeContent(e, parts)
		e.endWith(start, fields)
		e.dropEmpty(mark, `"content":[]}`)
	}
}

func (m messages) encodeContent(e *encoder, parts []llm.Part) {
	if s, ok := plainText(parts); ok {
		e.Text(s)
		return
	}
	e.Array()
	encodeBlocks(m, e, parts)
	e.EndArray()
}

func (m messages) encodeText(e *encoder, t llm.Text) {
	if raw, ok := e.block(t); ok {
		if raw != nil {
			e.Raw(raw)
		}
		return
	}
	if t.Text == "" {
		return // the vendor refuses empty text
	}
	start := e.Object()
	e.StringField("type", "text")
	e.StringField("text", t.Text)
	if cites := ownCitations(e, t.Citations); len(cites) > 0 {
		e.Key("citations")
		e.Array()
		for _, raw := range cites {
			e.Raw(raw)
		}
		e.EndArray()
	}
	if t.Refusal {
		e.lost(llm.Degraded, "refusal", "the messages format does not mark text as a refusal")
	}
	e.end(start, t.Extra)
}

// encodeThinking writes thinking. The vendor takes back only what it signed; an
// answer has an empty signature where there is none, as in a stream.
func (messages) encodeThinking(e *encoder, t llm.Thinking) {
	data := e.own(t.State)
	if data == nil && e.answering && !t.Redacted {
		data = json.RawMessage(`{"signature":""}`)
	}
	if data == nil {
		e.lost(llm.Ignored, "thinking", "the messages format takes thinking with its own signature only")
		return
	}
	start := e.Object()
	if t.Redacted {
		e.StringField("type", "redacted_thinking")
	} else {
		e.StringField("type", "thinking")
		e.StringField("thinking", t.Text)
	}
	for key, v := range js.Members(data) {
		e.AnyKey(string(key))
		e.Raw(v)
	}
	e.end(start, t.Extra)
}

func (m messages) encodeCall(e *encoder, c llm.Call) {
	if c.Hosted {
		if raw := e.own(c.State); raw != nil {
			e.Raw(raw)
		} else {
			e.lost(llm.Ignored, "hosted call", "another vendor ran it")
		}
		return
	}
	start := e.Object()
	e.StringField("type", "tool_use")
	e.StringField("id", c.ID)
	e.StringField("name", c.Name)
	e.RawField("input", e.argsObject(c))
	e.end(start, c.Extra)
}

// argsObject returns the arguments of a call as an object, for formats that
// take nothing else.
func (e *encoder) argsObject(c llm.Call) json.RawMessage {
	args := objectOf(c.Args)
	if js.Kind(js.Trim(args)) == '{' {
		return args
	}
	if c.Kind != llm.FreeTool {
		e.lost(llm.Degraded, "arguments", objectsOnly)
	}
	return append(append([]byte(wrapOpen), args...), '}')
}

// objectArgs puts the arguments of streamed calls into objects, for formats that take nothing else: what argsObject does for
// calls in one piece. The first letter of the arguments decides.
type objectArgs struct {
	free    bool // the call is of a free-text tool
	begun   bool // it is decided; a call that a relay began is its vendor's
	wrapped bool // the value stands in an object
}

// begin returns what comes before the pieces of a call.
func (o *objectArgs) begin(start llm.CallStart) string {
	*o = objectArgs{free: start.Kind == llm.FreeTool}
	if o.free {
		o.begun, o.wrapped = true, true
		return wrapOpen
	}
	return ""
}

// wrapOpen begins the object that a value stands in.
const wrapOpen = `{"` + FreeInput + `":`

// piece returns a piece as it is written.
func (o *objectArgs) piece(e *encoder, args string) string {
	first := strings.TrimLeft(args, " \t\r\n")
	if o.begun || first == "" {
		return args
	}
	if o.begun = true; first[0] == '{' {
		return args
	}
	o.wrapped = true
	e.lost(llm.Degraded, "arguments", objectsOnly)
	return wrapOpen + args
}

// end returns what comes after the pieces. A call that cannot be run stays open.
func (o *objectArgs) end(call *llm.Call) string {
	if o.wrapped && (o.free || call != nil) {
		return "}"
	}
	return ""
}

// objectsOnly says what becomes of arguments that are no object.
const objectsOnly = "the format takes objects only; the value is under " + FreeInput

func (m messages) encodeResult(e *encoder, r llm.Result) {
	if r.Hosted {
		if raw := e.own(r.State); raw != nil {
			e.Raw(raw)
		} else {
			e.lost(llm.Ignored, "hosted result", "another vendor made it")
		}
		return
	}
	start := e.Object()
	e.StringField("type", "tool_result")
	e.StringField("tool_use_id", r.CallID)
	if r.Failed && saysNothing(r.Parts) {
		r.Parts = []llm.Part{llm.Text{Text: noOutput}}
	}
	if len(r.Parts) > 0 {
		e.Key("content")
		mark := len(e.Buf)
		m.encodeContent(e, r.Parts)
		if string(e.Buf[mark:]) == "[]" && !saysNothing(r.Parts) { // like a video, which the vendor does not take
			e.Buf = e.Buf[:mark]
			e.Text(notShown)
		}
	}
	if r.Failed {
		e.BoolField("is_error", true)
	}
	e.end(start, r.Extra)
}

// messagesMedia are the media that a request can hold.
var messagesMedia = MediaTypes{llm.Image: webImages, llm.Document: {"application/pdf", AnyText}, llm.Audio: {}, llm.Video: {}}

func (m messages) encodeMedia(e *encoder, md llm.Media) {
	kind := string(md.Kind)
	if md.Kind != llm.Image && md.Kind != llm.Document {
		e.lost(llm.Ignored, kind, "the messages format takes images and documents only")
		return
	}
	if e.foreignFile(md) {
		return
	}
	if mime := bareType(md); md.URL != "" && mime != "" && mime != pdfType { // what is not known may be a PDF
		if t, said := e.saidDocument(md); said {
			m.encodeText(e, t)
			return
		}
	}
	start := e.Object()
	e.StringField("type", kind)
	e.Key("source")
	e.Object()
	switch {
	case md.ID != "":
		e.StringField("type", "file")
		e.StringField("file_id", md.ID)
	case md.URL != "":
		e.StringField("type", "url")
		e.StringField("url", md.URL)
	case bareType(md) == plainType || isText(md):
		if mime := bareType(md); mime != plainType {
			e.lost(llm.Degraded, "document type", "the messages format takes PDF and plain text only; "+mime+" is sent as plain text")
		}
		e.StringField("type", "text")
		e.StringField("media_type", plainType)
		e.StringField("data", string(md.Data))
	default:
		e.StringField("type", "base64")
		e.StringField("media_type", bareType(md)) // the vendor takes no parameters
		e.StringField("data", base64Text(md.Data))
	}
	e.End()
	if md.Kind == llm.Document {
		e.optString("title", md.Name)
	}
	e.end(start, md.Extra)
}

// Decoding.

func (m messages) decodeMessages(d *decoder, v []byte, req *llm.Request) {
	for el := range d.objects(v) {
		req.Messages = append(req.Messages, decodeBlockMessage(d, el, m.decodeContent)...)
	}
}

// decodeContent reads the content of a message: one text, or blocks.
func (m messages) decodeContent(d *decoder, v []byte) []llm.Part {
	if js.Kind(v) != '"' {
		if d.array(v) {
			return m.decodeBlocks(d, v)
		}
		return nil
	}
	if s := d.text(v); s != "" {
		return []llm.Part{llm.Text{Text: s}}
	}
	return nil
}

func (m messages) decodeBlocks(d *decoder, v []byte) []llm.Part {
	var parts []llm.Part
	for el := range d.objects(v) {
		parts = append(parts, m.decodeBlock(d, el))
	}
	return parts
}

func (m messages) decodeBlock(d *decoder, v []byte) llm.Part {
	kind := d.str(d.get(v, "type"))
	switch kind {
	case "text":
		return m.decodeText(d, v)
	case "thinking", "redacted_thinking":
		return m.decodeThinking(d, v)
	case "image", "document":
		return m.decodeMedia(d, v)
	case "tool_use":
		return m.decodeCall(d, v)
	case "tool_result":
		return m.decodeResult(d, v)
	case "server_tool_use", "mcp_tool_use":
		return m.decodeHostedCall(d, v)
	case toolReference:
		return llm.Text{Text: toolFound(d.text(d.get(v, "tool_name"))), State: d.state(v)}
	case "search_result":
		return d.reading(v, d.get(v, "content"), d.get(v, "title"), d.get(v, "source"))
	}
	if strings.HasSuffix(kind, "_tool_result") && d.get(v, "tool_use_id") != nil {
		return m.decodeHostedResult(d, v, kind)
	}
	return d.opaque(v)
}

// toolReference is the block with which a client that searches tools itself has the vendor load one.
const toolReference = "tool_reference"

// toolFound says to models of others that a tool was found. They are offered it anyway.
func toolFound(name string) string { return "The tool " + name + " can be called now." }

func (m messages) decodeText(d *decoder, v []byte) llm.Text {
	var t llm.Text
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "text":
			t.Text = d.str(val)
		case "citations":
			for el := range d.elements(val) {
				t.Citations = append(t.Citations, m.decodeCitation(d, el))
			}
		default:
			d.extra(&t.Extra, key, val)
		}
	}
	return t
}

func (messages) decodeCitation(d *decoder, v []byte) llm.Citation {
	c := llm.Citation{Raw: d.state(v)}
	for key, val := range d.members(v) {
		switch string(key) {
		case "url", "source":
			c.URL = d.str(val)
		case "title", "document_title":
			c.Title = d.str(val)
		case "cited_text":
			c.Quote = d.str(val)
		}
	}
	return c
}

func (messages) decodeThinking(d *decoder, v []byte) llm.Thinking {
	var t llm.Thinking
	var state fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
			t.Redacted = js.Is(val, "redacted_thinking")
		case "thinking":
			t.Text = d.str(val)
		case "signature", "data":
			if d.oneOf(val, `"`, "a string") && says(val) {
				state.add(key, val)
			}
		default:
			d.extra(&t.Extra, key, val)
		}
	}
	if data := state.object(); data != nil {
		t.State = d.state(data)
	}
	return t
}

func (m messages) decodeMedia(d *decoder, v []byte) llm.Part {
	md := llm.Media{Kind: llm.MediaKind(d.text(d.get(v, "type")))}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "title":
			md.Name = d.str(val)
		case "source":
			if !m.decodeSource(d, val, &md) {
				return d.reading(v, d.get(val, "content"), d.get(v, "title"))
			}
		default:
			d.extra(&md.Extra, key, val)
		}
	}
	return md
}

// decodeSource reports whether it knows the kind of source.
func (messages) decodeSource(d *decoder, v []byte, md *llm.Media) bool {
	kind := d.str(d.get(v, "type"))
	md.MIME = lowerType(d.str(d.get(v, "media_type")))
	switch kind {
	case "base64":
		md.Data = d.data(d.get(v, "data"))
	case "text":
		md.Data = []byte(d.str(d.get(v, "data")))
	case "url":
		md.URL = d.str(d.get(v, "url"))
	case "file":
		md.ID = d.str(d.get(v, "file_id"))
		md.State = d.state([]byte(ownFile))
	default:
		return false
	}
	d.unread(&md.Extra, v, messagesSource)
	return true
}

func (messages) decodeCall(d *decoder, v []byte) llm.Call {
	var c llm.Call
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "id":
			c.ID = d.str(val)
		case "name":
			c.Name = d.str(val)
		case "input":
			c.Args = d.args(val)
		default:
			d.extra(&c.Extra, key, val)
		}
	}
	c.Args = objectOf(c.Args)
	return c
}

func (m messages) decodeResult(d *decoder, v []byte) llm.Result {
	var r llm.Result
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "tool_use_id":
			r.CallID = d.str(val)
		case "is_error":
			r.Failed = d.boolean(val)
		case "content":
			r.Parts = m.decodeContent(d, val)
		default:
			d.extra(&r.Extra, key, val)
		}
	}
	r.Parts = withoutNoOutput(r)
	return r
}

func (messages) decodeHostedCall(d *decoder, v []byte) llm.Call {
	name := d.str(d.get(v, "name"))
	if strings.HasPrefix(name, messagesSearch) {
		name = llm.ToolSearch
	}
	return llm.Call{
		ID: d.str(d.get(v, "id")), Name: name,
		Args: objectOf(d.raw(d.get(v, "input"))), Hosted: true, State: d.state(v),
	}
}

// decodeHostedResult keeps the block for the vendor and shows what can be
// read of it.
func (messages) decodeHostedResult(d *decoder, v []byte, kind string) llm.Result {
	content := d.get(v, "content")
	r := llm.Result{
		CallID: d.str(d.get(v, "tool_use_id")), Name: strings.TrimSuffix(kind, "_tool_result"),
		Hosted: true, State: d.state(v),
	}
	show := func(s string) {
		if s != "" {
			r.Parts = append(r.Parts, llm.Text{Text: s})
		}
	}
	if !d.oneOf(content, "[{", "an array or an object") {
		return r
	}
	if js.Kind(content) == '[' {
		for el := range d.elements(content) {
			show(strings.TrimSpace(d.text(d.get(el, "title")) + "\n" + d.text(d.get(el, "url"))))
			d.text(d.get(el, "type"))
			show(d.text(d.get(el, "text")))
		}
		return r
	}
	for el := range d.elements(d.get(content, "tool_references")) {
		show(d.text(d.get(el, "tool_name")))
	}
	show(d.text(d.get(content, "stdout")))
	show(d.text(d.get(content, "stderr")))
	if code := d.text(d.get(content, "error_code")); code != "" {
		r.Failed = true
		show(code)
	}
	return r
}
