package responses

import (
	"cmp"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/chat"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// encodeMessage writes a message as items.
func encodeMessage(e *codec.Encoder, m llm.Message, calls map[string]llm.Call) {
	switch m.Role {
	case llm.RoleAssistant:
		encodeItems(e, m.Parts, false)
		e.OwnExtra(m.Extra)
	case llm.RoleTool:
		for _, p := range m.Parts {
			if res, ok := p.(llm.Result); ok {
				encodeResult(e, res, calls[res.CallID])
			}
		}
		e.OwnExtra(m.Extra)
	default:
		mark := len(e.Buf)
		start := e.Object()
		e.StringField("role", string(m.Role))
		e.Key("content")
		encodeContent(e, m.Parts)
		e.EndExtra(start, m.Extra)
		e.DropUncarried(mark, m)
	}
}

func encodeContent(e *codec.Encoder, parts []llm.Part) {
	e.TextOrParts(parts, "input_text", encodeMedia)
}

func encodeMedia(e *codec.Encoder, m llm.Media) {
	if e.ForeignFile(m) {
		return
	}
	start := e.Object()
	file := e.IsOwnFile(m) && len(m.Data) > 0
	switch {
	case m.Kind == llm.Image && !file:
		e.StringField("type", "input_image")
		if m.ID != "" {
			e.StringField("file_id", m.ID)
		} else {
			e.StringField("image_url", codec.MediaURL(m))
		}
	case m.Kind == llm.Audio && len(m.Data) > 0 && !file:
		e.StringField("type", "input_audio")
		e.ObjectField("input_audio")
		e.StringField("data", codec.Base64Text(m.Data))
		e.StringField("format", codec.AudioFormat(m.MIME))
		e.End()
	default:
		e.StringField("type", "input_file")
		e.OptString("filename", e.FileName(m))
		switch {
		case m.ID != "":
			e.StringField("file_id", m.ID)
		case m.URL != "":
			e.StringField("file_url", m.URL)
		default:
			e.StringField("file_data", codec.MediaURL(m))
		}
		if m.Kind != llm.Document && !file {
			e.Lost(llm.Degraded, string(m.Kind), "the responses format can refer to it as a file only")
		}
	}
	e.EndExtra(start, m.Extra)
}

// encodeItems writes what an assistant said, did and thought. Texts side by
// side are one message; the state of its vendor ends it.
func encodeItems(e *codec.Encoder, parts []llm.Part, answer bool) {
	var run []llm.Text
	flush := func() {
		if len(run) > 0 {
			encodeSaid(e, run, answer)
			run = nil
		}
	}
	own := map[string]bool{}
	for _, p := range parts {
		t, ok := p.(llm.Text)
		if ok {
			if raw, typ := ownType(e, t.State); t.Text == "" && typ != "" {
				flush()
				e.Raw(raw)
				continue
			} else if t.Text == "" && raw == nil && !t.State.IsZero() {
				e.Lost(llm.Ignored, "opaque part", loss.ForeignPart(t.State))
				continue
			}
			run = append(run, t)
			if !t.State.IsZero() {
				flush()
			}
			continue
		}
		flush()
		encodeItem(e, p, own, answer)
	}
	flush()
}

func encodeItem(e *codec.Encoder, p llm.Part, own map[string]bool, answer bool) {
	switch p := p.(type) {
	case llm.Thinking:
		encodeThinking(e, p, answer)
	case llm.Call:
		if !p.Hosted {
			encodeCall(e, p, answer)
			return
		}
		raw, typ := ownType(e, p.State)
		own[p.ID] = typ != ""
		if typ != "" {
			e.Raw(raw)
		} else {
			e.Lost(llm.Ignored, "hosted call", "another vendor ran it")
		}
	case llm.Result:
		if !own[p.CallID] { // what the vendor's own call gave is in its item
			e.Lost(llm.Ignored, "hosted result", "another vendor made it")
		}
	case llm.Media:
		e.Lost(llm.Ignored, string(p.Kind), "an answer of the responses format has no place for it")
	}
}

// itemID mints the id of an item from the answer's and its place in it.
func itemID(e *codec.Encoder, prefix string) string {
	e.Items++
	return prefix + "_" + turns.Digest(e.AnswerID, 12) + strconv.Itoa(e.Items)
}

// encodeSaid writes a message of the assistant.
func encodeSaid(e *codec.Encoder, run []llm.Text, answer bool) {
	last := run[len(run)-1]
	if s, ok := codec.PlainText([]llm.Part{last}); ok && len(run) == 1 && !answer && !e.Host.Quirks.TypedMessages {
		e.Object()
		e.StringField("role", "assistant")
		e.StringField("content", s)
		e.End()
		return
	}
	start := e.Object()
	e.StringField("type", "message")
	e.StringField("role", "assistant")
	e.ArrayField("content")
	for _, t := range run {
		encodeOutputText(e, t)
	}
	e.EndArray()
	e.StateFields(last.State)
	if answer {
		if !codec.HasKey(e.Buf[start:], "id") {
			e.StringField("id", itemID(e, "msg"))
		}
		if !codec.HasKey(e.Buf[start:], "status") {
			e.StringField("status", "completed")
		}
	}
	e.End()
}

func encodeOutputText(e *codec.Encoder, t llm.Text) {
	start := e.Object()
	if t.Refusal {
		e.StringField("type", "refusal")
		e.StringField("refusal", t.Text)
	} else {
		e.StringField("type", "output_text")
		e.StringField("text", t.Text)
		e.ArrayField("annotations")
		for _, c := range t.Citations {
			encodeAnnotation(e, c)
		}
		e.EndArray()
		if tokens := e.OwnLogProbs(t.LogProbs); len(tokens) > 0 {
			e.ListField("logprobs", tokens)
		}
	}
	e.EndExtra(start, t.Extra)
}

func encodeAnnotation(e *codec.Encoder, c llm.Citation) {
	if raw := e.OwnState(c.Raw); raw != nil {
		e.Raw(raw)
		return
	}
	e.Object()
	e.StringField("type", "url_citation")
	chat.EncodeURLCitation(e, c)
	e.End()
}

// encodeThinking writes reasoning that the vendor made. To a client it also
// shows that of others, as a summary.
func encodeThinking(e *codec.Encoder, t llm.Thinking, answer bool) {
	if raw, typ := ownType(e, t.State); typ != "" {
		e.Raw(raw)
		return
	}
	if !answer || t.Redacted {
		e.Lost(llm.Ignored, "thinking", "the responses format takes back its own reasoning only")
		return
	}
	e.Object()
	e.StringField("type", "reasoning")
	e.StringField("id", itemID(e, "rs"))
	e.ArrayField("summary")
	e.Object()
	e.StringField("type", "summary_text")
	e.StringField("text", t.Text)
	e.End()
	e.EndArray()
	e.End()
}

func encodeCall(e *codec.Encoder, c llm.Call, answer bool) {
	if raw, typ := ownType(e, c.State); typ != "" { // a tool of the vendor that the client runs
		e.Raw(raw)
		return
	}
	start := e.Object()
	if c.Kind == llm.FreeTool {
		e.StringField("type", "custom_tool_call")
		e.StringField("call_id", c.ID)
		e.ItemName(c)
		e.StringField("input", js.Text(c.Args))
	} else {
		e.StringField("type", "function_call")
		e.StringField("call_id", c.ID)
		e.ItemName(c)
		e.StringField("arguments", string(codec.ObjectOf(c.Args)))
	}
	e.StateFields(c.State)
	if answer {
		if !codec.HasKey(e.Buf[start:], "id") {
			e.StringField("id", itemID(e, "fc"))
		}
		if !codec.HasKey(e.Buf[start:], "status") {
			e.StringField("status", "completed")
		}
	}
	e.EndExtra(start, c.Extra)
}

func encodeResult(e *codec.Encoder, res llm.Result, call llm.Call) {
	if raw, typ := ownType(e, res.State); typ != "" {
		e.Raw(raw)
		return
	}
	start := e.Object()
	switch _, typ := ownType(e, call.State); {
	case typ != "":
		encodeClientOutput(e, res, typ)
	case call.Kind == llm.FreeTool:
		e.StringField("type", "custom_tool_call_output")
	default:
		e.StringField("type", "function_call_output")
	}
	e.StringField("call_id", res.CallID)
	if !codec.HasKey(e.Buf[start:], "output") {
		e.Key("output")
		encodeContent(e, e.ReadableParts(res.Parts))
	}
	if res.Failed {
		e.Lost(llm.Degraded, "failed", "the responses format cannot mark a result as failed; its text has to say so")
	}
	e.EndExtra(start, res.Extra)
}

// encodeClientOutput writes the result of a tool that the vendor defines and the client runs. Such results have a
// special form.
func encodeClientOutput(e *codec.Encoder, res llm.Result, typ string) {
	e.StringField("type", typ+"_output")
	switch typ {
	case "computer_call":
		for _, p := range res.Parts {
			if m, ok := p.(llm.Media); ok && m.Kind == llm.Image {
				e.ObjectField("output")
				e.StringField("type", "computer_screenshot")
				e.StringField("image_url", codec.MediaURL(m))
				e.End()
				return
			}
		}
	case "shell_call":
		e.ArrayField("output")
		e.Object()
		e.StringField("stdout", res.Text())
		e.StringField("stderr", "")
		e.RawField("outcome", []byte(`{"type":"exit","exit_code":0}`))
		e.End()
		e.EndArray()
	case "apply_patch_call":
		status := "completed"
		if res.Failed {
			status = "failed"
		}
		e.StringField("status", status)
	}
}

// Decoding.

func decodeInput(d *codec.Decoder, v []byte, req *llm.Request) {
	if js.Kind(v) == '"' {
		req.Messages = append(req.Messages, llm.User(d.Text(v)))
		return
	}
	if js.Kind(v) != '[' {
		d.Want(v, "a text or an array")
		return
	}
	for el := range d.Objects(v) {
		decodeItem(d, el, req)
	}
}

// decodeItem adds an item to the conversation. Items of one role in a row are
// one message.
func decodeItem(d *codec.Decoder, v []byte, req *llm.Request) {
	kind := d.Str(d.Get(v, "type"))
	role := d.Str(d.Get(v, "role"))
	for _, key := range itemWords {
		d.OneOf(d.Get(v, key), `"`, "a string")
	}
	switch {
	case (kind == "message" || kind == "") && role != "assistant":
		decodeMessage(d, v, role, req)
	case strings.HasSuffix(kind, "_output") && !foundByServer(v, kind):
		add(req, llm.RoleTool, decodeResult(d, v, kind))
	default:
		add(req, llm.RoleAssistant, decodeOutput(d, v)...)
	}
}

// itemWords are members of items that are kept for the vendor alone, and are strings wherever they stand.
var itemWords = []string{"id", "status", "encrypted_content", codec.NamespaceField, "execution", "call_id"}

// foundByServer reports whether an item is what the vendor's own search for tools found,
// which is part of its answer; what a client found is the result of a call.
func foundByServer(v []byte, kind string) bool {
	return kind == loss.SearchOutput && js.Text(js.Get(v, "call_id")) == ""
}

func add(req *llm.Request, role llm.Role, parts ...llm.Part) {
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == role {
		req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, parts...)
		return
	}
	req.Messages = append(req.Messages, llm.Message{Role: role, Parts: parts})
}

func decodeMessage(d *codec.Decoder, v []byte, role string, req *llm.Request) {
	m := llm.Message{Role: chat.Roles[role]}
	if m.Role == "" {
		d.Want(v, "an item with a type or a message with a role")
		return
	}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type", "role":
		case "content":
			m.Parts = decodeContent(d, val)
		default:
			d.Extra(&m.Extra, key, val)
		}
	}
	req.Messages = append(req.Messages, m)
}

func decodeContent(d *codec.Decoder, v []byte) []llm.Part {
	if js.Kind(v) != '[' {
		return chat.DecodeContent(d, v)
	}
	var parts []llm.Part
	for el := range d.Objects(v) {
		parts = append(parts, decodePart(d, el))
	}
	return parts
}

func decodePart(d *codec.Decoder, v []byte) llm.Part {
	switch kind := d.Str(d.Get(v, "type")); kind {
	case "input_text", "text", "output_text", "refusal":
		return decodeOutputText(d, v)
	case "input_image":
		return decodeMedia(d, v, llm.Image)
	case "input_file":
		return decodeMedia(d, v, llm.Document)
	case "input_audio":
		return chat.DecodeMedia(d, v, kind)
	}
	return d.Opaque(v)
}

func decodeMedia(d *codec.Decoder, v []byte, kind llm.MediaKind) llm.Media {
	m := llm.Media{Kind: kind}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "image_url", "file_data":
			d.URL(val, &m)
		case "file_url":
			m.URL = d.Str(val)
		case "file_id":
			m.ID = d.Str(val)
		case "filename":
			m.Name = d.Str(val)
		default:
			d.Extra(&m.Extra, key, val)
		}
	}
	if m.ID != "" || kind == llm.Document && path.Ext(m.Name) == "" && len(m.Data) > 0 {
		m.State = d.State([]byte(loss.OwnFile))
	}
	codec.KindFromType(d, &m)
	return m
}

func decodeOutputText(d *codec.Decoder, v []byte) llm.Text {
	var t llm.Text
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
			t.Refusal = js.Is(val, "refusal")
		case "text", "refusal":
			t.Text = d.Str(val)
		case "annotations":
			for el := range d.Elements(val) {
				t.Citations = append(t.Citations, decodeAnnotation(d, el))
			}
		case "logprobs":
			t.LogProbs = d.LogProbs(val)
		default:
			d.Extra(&t.Extra, key, val)
		}
	}
	return t
}

func decodeAnnotation(d *codec.Decoder, v []byte) llm.Citation {
	if js.Is(d.Get(v, "type"), "url_citation") {
		c, complete := chat.DecodeURLCitation(d, v)
		if !complete {
			c.Raw = d.State(v)
		}
		return c
	}
	return llm.Citation{URL: d.Str(d.Get(v, "url")), Title: d.Str(d.Get(v, "filename")), Raw: d.State(v)}
}

func decodeResult(d *codec.Decoder, v []byte, kind string) llm.Result {
	var res llm.Result
	ofFunction := kind == "function_call_output" || kind == "custom_tool_call_output"
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "call_id":
			res.CallID = d.Str(val)
		case "output":
			if ofFunction || js.Kind(val) == '[' {
				res.Parts = decodeContent(d, val)
			}
		default:
			d.Extra(&res.Extra, key, val)
		}
	}
	if !ofFunction {
		res.State, res.Extra = d.State(v), nil
		res.Parts = clientOutput(d, d.Get(v, "output"))
		for _, t := range foundTools(d, v) {
			res.Parts = append(res.Parts, llm.Text{Text: codec.ToolFound(t.Name)})
		}
	}
	return res
}

// clientOutput returns the readable parts of the result of a tool that the vendor defines.
func clientOutput(d *codec.Decoder, v []byte) []llm.Part {
	var parts []llm.Part
	show := func(v []byte) {
		if s := d.Text(v); s != "" {
			parts = append(parts, llm.Text{Text: s})
		}
	}
	switch d.OneOf(v, `"[{`, "a string, an array or an object"); js.Kind(v) {
	case '"':
		show(v)
	case '[':
		for el := range d.Elements(v) {
			show(d.Get(el, "stdout"))
			show(d.Get(el, "stderr"))
		}
	}
	return parts
}

// decodeOutput returns the parts for an item of an answer.
func decodeOutput(d *codec.Decoder, v []byte) []llm.Part {
	kind := d.Str(d.Get(v, "type"))
	switch kind {
	case "message", "":
		return decodeSaid(d, v)
	case "reasoning":
		return []llm.Part{llm.Thinking{Text: reasoningText(d, v), State: d.State(v)}}
	case "function_call", "custom_tool_call":
		return []llm.Part{decodeCall(d, v)}
	}
	if c, ok := vendorCalls[kind]; ok {
		return c.parts(d, v, kind)
	}
	return []llm.Part{d.Opaque(v)}
}

func decodeSaid(d *codec.Decoder, v []byte) []llm.Part {
	var parts []llm.Part
	var state codec.Fields
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type", "role":
		case "content":
			parts = decodeContent(d, val)
		default:
			state.Add(key, val)
		}
	}
	data := state.Object()
	if data == nil {
		return parts
	}
	if n := len(parts); n > 0 {
		if t, ok := parts[n-1].(llm.Text); ok && t.State.IsZero() {
			t.State = d.State(data)
			parts[n-1] = t
			return parts
		}
	}
	return append(parts, d.Opaque(v))
}

// reasoningText returns what a reasoning item shows: its summary, or else the
// thoughts themselves.
func reasoningText(d *codec.Decoder, v []byte) string {
	for _, key := range []string{"summary", "content"} {
		var texts []string
		for el := range d.Elements(d.Get(v, key)) {
			d.Text(d.Get(el, "type"))
			texts = append(texts, d.Text(d.Get(el, "text")))
		}
		if len(texts) > 0 {
			return strings.Join(texts, "\n\n")
		}
	}
	return ""
}

func decodeCall(d *codec.Decoder, v []byte) llm.Call {
	var c llm.Call
	var state codec.Fields
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
			if js.Is(val, "custom_tool_call") {
				c.Kind = llm.FreeTool
			}
		case "call_id":
			c.ID = d.Str(val)
		case "name":
			c.Name = d.Str(val)
		case "arguments":
			c.Args = []byte(d.Str(val))
		case "input":
			c.Args = js.AppendQuoted(nil, d.Str(val))
		case codec.NamespaceField:
			d.Extra(&c.Extra, key, val)
		default:
			state.Add(key, val)
		}
	}
	switch {
	case c.Kind == llm.FreeTool && c.Args == nil:
		c.Args = []byte(`""`)
	case c.Kind == llm.FunctionTool:
		c.Args = codec.ObjectOf(c.Args)
	}
	d.Host.Names.Flatten(&c)
	if data := state.Object(); data != nil {
		c.State = d.State(data)
	}
	return c
}

// clientArgs returns the arguments of a call that the client runs.
func (h vendorCall) clientArgs(d *codec.Decoder, v []byte) json.RawMessage {
	if h.list != "" && js.Kind(d.Get(v, h.args)) != '{' {
		if several := d.Get(v, h.list); d.OneOf(several, "[", "an array") {
			return append(append([]byte(`{"`+h.list+`":`), several...), '}')
		}
	}
	return codec.ObjectOf(d.Raw(d.Get(v, h.args)))
}

// parts returns the parts for the item of a call.
func (h vendorCall) parts(d *codec.Decoder, v []byte, item string) []llm.Part {
	if h.client && (item != loss.SearchCall || d.Text(d.Get(v, "call_id")) != "") { // a search without it the vendor ran
		return []llm.Part{llm.Call{ID: d.Str(d.Get(v, "call_id")), Name: h.tool, Args: h.clientArgs(d, v), State: d.State(v)}}
	}
	c := llm.Call{ID: d.Str(d.Get(v, "id")), Name: h.tool, Hosted: true, State: d.State(v)}
	if h.named {
		c.Name = d.Text(d.Get(v, "name"))
	}
	args := d.Get(v, h.args)
	switch {
	case h.wrap && codec.HasValue(args):
		c.Args = append(append([]byte(`{"`+h.args+`":`), args...), '}')
	case js.Kind(args) == '"':
		c.Args = []byte(d.Text(args))
	case d.OneOf(args, "{", "a string or an object"):
		c.Args = d.Raw(args)
	}
	c.Args = codec.ObjectOf(c.Args)
	res := llm.Result{CallID: c.ID, Name: c.Name, Hosted: true, Failed: js.Is(d.Get(v, "status"), "failed")}
	result := d.Get(v, h.result)
	kind := js.Kind(result)
	d.OneOf(result, `"[`, "a string or an array")
	if h.result == "result" {
		if b, ok := codec.DecodeBase64(d.Text(result)); ok && b != nil {
			res.Parts = []llm.Part{llm.Media{Kind: llm.Image, MIME: "image/" + cmp.Or(d.Text(d.Get(v, "output_format")), "png"), Data: b}}
		}
	} else if kind == '"' {
		res.Parts = []llm.Part{llm.Text{Text: d.Text(result)}}
	}
	if kind != '[' {
		result = nil
	}
	for el := range d.Elements(result) {
		if s := cmp.Or(d.Text(d.Get(el, "logs")), d.Text(d.Get(el, "text"))); s != "" {
			res.Parts = append(res.Parts, llm.Text{Text: s})
		}
	}
	if len(res.Parts) == 0 && !res.Failed {
		return []llm.Part{c}
	}
	return []llm.Part{c, res}
}
