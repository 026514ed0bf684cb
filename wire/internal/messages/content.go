package messages

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// encodeMessages writes the messages. Results and what the user says after
// them are one message: the vendor wants all results of a turn at the start
// of the next.
func encodeMessages(e *codec.Encoder, list []llm.Message) {
	e.Turns(list, func(turn []llm.Message) { encodeTurn(e, turn) })
}

func encodeTurn(e *codec.Encoder, list []llm.Message) {
	for i := 0; i < len(list); i++ {
		msg := list[i]
		parts, fields := msg.Parts, e.OwnExtra(msg.Extra)
		if msg.Role == llm.RoleTool && i+1 < len(list) && list[i+1].Role == llm.RoleUser {
			i++
			parts = append(append([]llm.Part{}, parts...), list[i].Parts...)
			fields = e.JoinFields(fields, e.OwnExtra(list[i].Extra))
		}
		mark := len(e.Buf)
		start := e.Object()
		e.StringField("role", codec.BlockRole(e, msg.Role))
		e.Key("content")
		encodeContent(e, parts)
		e.EndFields(start, fields)
		e.DropEmpty(mark, `"content":[]}`)
	}
}

func encodeContent(e *codec.Encoder, parts []llm.Part) {
	if s, ok := codec.PlainText(parts); ok {
		e.Text(s)
		return
	}
	e.Array()
	codec.EncodeBlocks(Format{}, e, parts)
	e.EndArray()
}

func (Format) EncodeText(e *codec.Encoder, t llm.Text) {
	if raw, ok := e.OwnBlock(t); ok {
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
	if cites := codec.OwnCitations(e, t.Citations); len(cites) > 0 {
		e.ArrayField("citations")
		for _, raw := range cites {
			e.Raw(raw)
		}
		e.EndArray()
	}
	if t.Refusal {
		e.Lost(llm.Degraded, "refusal", "the messages format does not mark text as a refusal")
	}
	e.EndExtra(start, t.Extra)
}

// EncodeThinking writes thinking. The vendor takes back only what it signed; an
// answer has an empty signature where there is none, as in a stream.
func (Format) EncodeThinking(e *codec.Encoder, t llm.Thinking) {
	data := e.OwnState(t.State)
	if data == nil && e.Answering && !t.Redacted {
		data = json.RawMessage(`{"signature":""}`)
	}
	if data == nil {
		e.Lost(llm.Ignored, "thinking", "the messages format takes thinking with its own signature only")
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
	e.EndExtra(start, t.Extra)
}

func (Format) EncodeCall(e *codec.Encoder, c llm.Call) {
	if c.Hosted {
		if raw := e.OwnState(c.State); raw != nil {
			e.Raw(raw)
		} else {
			e.Lost(llm.Ignored, "hosted call", "another vendor ran it")
		}
		return
	}
	start := e.Object()
	e.StringField("type", "tool_use")
	e.StringField("id", c.ID)
	e.StringField("name", c.Name)
	e.RawField("input", e.ArgsObject(c))
	e.EndExtra(start, c.Extra)
}

func (Format) EncodeResult(e *codec.Encoder, r llm.Result) {
	if r.Hosted {
		if raw := e.OwnState(r.State); raw != nil {
			e.Raw(raw)
		} else {
			e.Lost(llm.Ignored, "hosted result", "another vendor made it")
		}
		return
	}
	start := e.Object()
	e.StringField("type", "tool_result")
	e.StringField("tool_use_id", r.CallID)
	if r.Failed && codec.SaysNothing(r.Parts) {
		r.Parts = []llm.Part{llm.Text{Text: codec.NoOutput}}
	}
	if len(r.Parts) > 0 {
		e.Key("content")
		mark := len(e.Buf)
		encodeContent(e, r.Parts)
		if string(e.Buf[mark:]) == "[]" && !codec.SaysNothing(r.Parts) { // like a video, which the vendor does not take
			e.Buf = e.Buf[:mark]
			e.Text(codec.NotShown)
		}
	}
	if r.Failed {
		e.BoolField("is_error", true)
	}
	e.EndExtra(start, r.Extra)
}

// media are the media that a request can hold.
var media = format.MediaTypes{llm.Image: mediatype.WebImages, llm.Document: {"application/pdf", format.AnyText}, llm.Audio: {}, llm.Video: {}}

func (m Format) EncodeMedia(e *codec.Encoder, md llm.Media) {
	kind := string(md.Kind)
	if md.Kind != llm.Image && md.Kind != llm.Document {
		e.Lost(llm.Ignored, kind, "the messages format takes images and documents only")
		return
	}
	if e.ForeignFile(md) {
		return
	}
	if mime := mediatype.BareType(md); md.URL != "" && mime != "" && mime != mediatype.PDFType { // an unknown type may be a PDF
		if t, said := e.DocumentText(md); said {
			m.EncodeText(e, t)
			return
		}
	}
	start := e.Object()
	e.StringField("type", kind)
	e.ObjectField("source")
	switch {
	case md.ID != "":
		e.StringField("type", "file")
		e.StringField("file_id", md.ID)
	case md.URL != "":
		e.StringField("type", "url")
		e.StringField("url", md.URL)
	case mediatype.BareType(md) == mediatype.PlainType || mediatype.IsText(md):
		if mime := mediatype.BareType(md); mime != mediatype.PlainType {
			e.Lost(llm.Degraded, "document type", "the messages format takes PDF and plain text only; "+mime+" is sent as plain text")
		}
		e.StringField("type", "text")
		e.StringField("media_type", mediatype.PlainType)
		e.StringField("data", string(md.Data))
	default:
		e.StringField("type", "base64")
		e.StringField("media_type", mediatype.BareType(md)) // the vendor takes no parameters
		e.StringField("data", codec.Base64Text(md.Data))
	}
	e.End()
	if md.Kind == llm.Document {
		e.OptString("title", md.Name)
	}
	e.EndExtra(start, md.Extra)
}

// Decoding.

func decodeMessages(d *codec.Decoder, v []byte, req *llm.Request) {
	for el := range d.Objects(v) {
		req.Messages = append(req.Messages, codec.DecodeBlockMessage(d, el, decodeContent)...)
	}
}

// decodeContent reads the content of a message: one text, or blocks.
func decodeContent(d *codec.Decoder, v []byte) []llm.Part {
	if js.Kind(v) != '"' {
		if d.Array(v) {
			return decodeBlocks(d, v)
		}
		return nil
	}
	if s := d.Text(v); s != "" {
		return []llm.Part{llm.Text{Text: s}}
	}
	return nil
}

func decodeBlocks(d *codec.Decoder, v []byte) []llm.Part {
	var parts []llm.Part
	for el := range d.Objects(v) {
		parts = append(parts, decodeBlock(d, el))
	}
	return parts
}

func decodeBlock(d *codec.Decoder, v []byte) llm.Part {
	kind := d.Str(d.Get(v, "type"))
	switch kind {
	case "text":
		return decodeText(d, v)
	case "thinking", "redacted_thinking":
		return decodeThinking(d, v)
	case "image", "document":
		return decodeMedia(d, v)
	case "tool_use":
		return decodeCall(d, v)
	case "tool_result":
		return decodeResult(d, v)
	case "server_tool_use", "mcp_tool_use":
		return decodeHostedCall(d, v)
	case toolReference:
		return llm.Text{Text: codec.ToolFound(d.Text(d.Get(v, "tool_name"))), State: d.State(v)}
	case "search_result":
		return d.ReadableBlock(v, d.Get(v, "content"), d.Get(v, "title"), d.Get(v, "source"))
	}
	if strings.HasSuffix(kind, "_tool_result") && d.Get(v, "tool_use_id") != nil {
		return decodeHostedResult(d, v, kind)
	}
	return d.Opaque(v)
}

// toolReference is the block with which a client that searches tools itself has the vendor load one.
const toolReference = "tool_reference"

func decodeText(d *codec.Decoder, v []byte) llm.Text {
	var t llm.Text
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "text":
			t.Text = d.Str(val)
		case "citations":
			for el := range d.Elements(val) {
				t.Citations = append(t.Citations, decodeCitation(d, el))
			}
		default:
			d.Extra(&t.Extra, key, val)
		}
	}
	return t
}

func decodeCitation(d *codec.Decoder, v []byte) llm.Citation {
	c := llm.Citation{Raw: d.State(v)}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "url", "source":
			c.URL = d.Str(val)
		case "title", "document_title":
			c.Title = d.Str(val)
		case "cited_text":
			c.Quote = d.Str(val)
		}
	}
	return c
}

func decodeThinking(d *codec.Decoder, v []byte) llm.Thinking {
	var t llm.Thinking
	var state codec.Fields
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
			t.Redacted = js.Is(val, "redacted_thinking")
		case "thinking":
			t.Text = d.Str(val)
		case "signature", "data":
			if d.OneOf(val, `"`, "a string") && codec.HasValue(val) {
				state.Add(key, val)
			}
		default:
			d.Extra(&t.Extra, key, val)
		}
	}
	if data := state.Object(); data != nil {
		t.State = d.State(data)
	}
	return t
}

func decodeMedia(d *codec.Decoder, v []byte) llm.Part {
	md := llm.Media{Kind: llm.MediaKind(d.Text(d.Get(v, "type")))}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "title":
			md.Name = d.Str(val)
		case "source":
			if !decodeSource(d, val, &md) {
				return d.ReadableBlock(v, d.Get(val, "content"), d.Get(v, "title"))
			}
		default:
			d.Extra(&md.Extra, key, val)
		}
	}
	return md
}

// decodeSource reports whether it knows the kind of source.
func decodeSource(d *codec.Decoder, v []byte, md *llm.Media) bool {
	kind := d.Str(d.Get(v, "type"))
	md.MIME = codec.LowerType(d.Str(d.Get(v, "media_type")))
	switch kind {
	case "base64":
		md.Data = d.Data(d.Get(v, "data"))
	case "text":
		md.Data = []byte(d.Str(d.Get(v, "data")))
	case "url":
		md.URL = d.Str(d.Get(v, "url"))
	case "file":
		md.ID = d.Str(d.Get(v, "file_id"))
		md.State = d.State([]byte(loss.OwnFile))
	default:
		return false
	}
	d.KeepUnread(&md.Extra, v, source)
	return true
}

func decodeCall(d *codec.Decoder, v []byte) llm.Call {
	var c llm.Call
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "id":
			c.ID = d.Str(val)
		case "name":
			c.Name = d.Str(val)
		case "input":
			c.Args = d.Args(val)
		default:
			d.Extra(&c.Extra, key, val)
		}
	}
	c.Args = codec.ObjectOf(c.Args)
	return c
}

func decodeResult(d *codec.Decoder, v []byte) llm.Result {
	var r llm.Result
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "tool_use_id":
			r.CallID = d.Str(val)
		case "is_error":
			r.Failed = d.Boolean(val)
		case "content":
			r.Parts = decodeContent(d, val)
		default:
			d.Extra(&r.Extra, key, val)
		}
	}
	r.Parts = codec.WithoutNoOutput(r)
	return r
}

func decodeHostedCall(d *codec.Decoder, v []byte) llm.Call {
	name := d.Str(d.Get(v, "name"))
	if strings.HasPrefix(name, search) {
		name = llm.ToolSearch
	}
	return llm.Call{
		ID: d.Str(d.Get(v, "id")), Name: name,
		Args: codec.ObjectOf(d.Raw(d.Get(v, "input"))), Hosted: true, State: d.State(v),
	}
}

// decodeHostedResult keeps the block for the vendor and returns its readable parts.
func decodeHostedResult(d *codec.Decoder, v []byte, kind string) llm.Result {
	content := d.Get(v, "content")
	r := llm.Result{
		CallID: d.Str(d.Get(v, "tool_use_id")), Name: strings.TrimSuffix(kind, "_tool_result"),
		Hosted: true, State: d.State(v),
	}
	show := func(s string) {
		if s != "" {
			r.Parts = append(r.Parts, llm.Text{Text: s})
		}
	}
	if !d.OneOf(content, "[{", "an array or an object") {
		return r
	}
	if js.Kind(content) == '[' {
		for el := range d.Elements(content) {
			show(strings.TrimSpace(d.Text(d.Get(el, "title")) + "\n" + d.Text(d.Get(el, "url"))))
			d.Text(d.Get(el, "type"))
			show(d.Text(d.Get(el, "text")))
		}
		return r
	}
	for el := range d.Elements(d.Get(content, "tool_references")) {
		show(d.Text(d.Get(el, "tool_name")))
	}
	show(d.Text(d.Get(content, "stdout")))
	show(d.Text(d.Get(content, "stderr")))
	if code := d.Text(d.Get(content, "error_code")); code != "" {
		r.Failed = true
		show(code)
	}
	return r
}
