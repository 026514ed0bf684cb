package wire

import (
	"cmp"
	"encoding/json"
	"path"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// encodeMessage writes a message as items.
func (r responses) encodeMessage(e *encoder, m llm.Message, calls map[string]llm.Call) {
	switch m.Role {
	case llm.RoleAssistant:
		r.encodeItems(e, m.Parts, false)
		e.ownExtra(m.Extra)
	case llm.RoleTool:
		for _, p := range m.Parts {
			if res, ok := p.(llm.Result); ok {
				r.encodeResult(e, res, calls[res.CallID])
			}
		}
		e.ownExtra(m.Extra)
	default:
		mark := len(e.Buf)
		start := e.Object()
		e.StringField("role", string(m.Role))
		e.Key("content")
		r.encodeContent(e, m.Parts)
		e.end(start, m.Extra)
		e.dropUnsaid(mark, m)
	}
}

func (r responses) encodeContent(e *encoder, parts []llm.Part) {
	e.said(parts, "input_text", r.encodeMedia)
}

func (responses) encodeMedia(e *encoder, m llm.Media) {
	if e.foreignFile(m) {
		return
	}
	start := e.Object()
	file := e.isOwnFile(m) && len(m.Data) > 0
	switch {
	case m.Kind == llm.Image && !file:
		e.StringField("type", "input_image")
		if m.ID != "" {
			e.StringField("file_id", m.ID)
		} else {
			e.StringField("image_url", mediaURL(m))
		}
	case m.Kind == llm.Audio && len(m.Data) > 0 && !file:
		e.StringField("type", "input_audio")
		e.Key("input_audio")
		e.Object()
		e.StringField("data", base64Text(m.Data))
		e.StringField("format", audioFormat(m.MIME))
		e.End()
	default:
		e.StringField("type", "input_file")
		e.optString("filename", e.fileName(m))
		switch {
		case m.ID != "":
			e.StringField("file_id", m.ID)
		case m.URL != "":
			e.StringField("file_url", m.URL)
		default:
			e.StringField("file_data", mediaURL(m))
		}
		if m.Kind != llm.Document && !file {
			e.lost(llm.Degraded, string(m.Kind), "the responses format can refer to it as a file only")
		}
	}
	e.end(start, m.Extra)
}

// encodeItems writes what an assistant said, did and thought. Texts side by
// side are one message; the state of its vendor ends it.
func (r responses) encodeItems(e *encoder, parts []llm.Part, answer bool) {
	var run []llm.Text
	flush := func() {
		if len(run) > 0 {
			r.encodeSaid(e, run, answer)
			run = nil
		}
	}
	own := map[string]bool{}
	for _, p := range parts {
		t, ok := p.(llm.Text)
		if ok {
			if raw, typ := e.ownType(t.State); t.Text == "" && typ != "" {
				flush()
				e.Raw(raw)
				continue
			} else if t.Text == "" && raw == nil && !t.State.IsZero() {
				e.lost(llm.Ignored, "opaque part", foreignPart(t.State))
				continue
			}
			run = append(run, t)
			if !t.State.IsZero() {
				flush()
			}
			continue
		}
		flush()
		r.encodeItem(e, p, own, answer)
	}
	flush()
}

func (r responses) encodeItem(e *encoder, p llm.Part, own map[string]bool, answer bool) {
	switch p := p.(type) {
	case llm.Thinking:
		r.encodeThinking(e, p, answer)
	case llm.Call:
		if !p.Hosted {
			r.encodeCall(e, p, answer)
			return
		}
		raw, typ := e.ownType(p.State)
		own[p.ID] = typ != ""
		if typ != "" {
			e.Raw(raw)
		} else {
			e.lost(llm.Ignored, "hosted call", "another vendor ran it")
		}
	case llm.Result:
		if !own[p.CallID] { // what the vendor's own call gave is in its item
			e.lost(llm.Ignored, "hosted result", "another vendor made it")
		}
	case llm.Media:
		e.lost(llm.Ignored, string(p.Kind), "an answer of the responses format has no place for it")
	}
}

// itemID mints the id of an item from the answer's and its place in it.
func (e *encoder) itemID(prefix string) string {
	e.items++
	return prefix + "_" + digest(e.answerID, 12) + strconv.Itoa(e.items)
}

// encodeSaid writes a message of the assistant.
func (r responses) encodeSaid(e *encoder, run []llm.Text, answer bool) {
	last := run[len(run)-1]
	if s, ok := plainText([]llm.Part{last}); ok && len(run) == 1 && !answer && !e.c.Quirks.TypedMessages {
		e.Object()
		e.StringField("role", "assistant")
		e.StringField("content", s)
		e.End()
		return
	}
	start := e.Object()
	e.StringField("type", "message")
	e.StringField("role", "assistant")
	e.Key("content")
	e.Array()
	for _, t := range run {
		r.encodeOutputText(e, t)
	}
	e.EndArray()
	e.stateFields(last.State)
	if answer {
		if !hasKey(e.Buf[start:], "id") {
			e.StringField("id", e.itemID("msg"))
		}
		if !hasKey(e.Buf[start:], "status") {
			e.StringField("status", "completed")
		}
	}
	e.End()
}

func (responses) encodeOutputText(e *encoder, t llm.Text) {
	start := e.Object()
	if t.Refusal {
		e.StringField("type", "refusal")
		e.StringField("refusal", t.Text)
	} else {
		e.StringField("type", "output_text")
		e.StringField("text", t.Text)
		e.Key("annotations")
		e.Array()
		for _, c := range t.Citations {
			encodeAnnotation(e, c)
		}
		e.EndArray()
		if tokens := e.ownProbs(t.LogProbs); len(tokens) > 0 {
			e.list("logprobs", tokens)
		}
	}
	e.end(start, t.Extra)
}

func encodeAnnotation(e *encoder, c llm.Citation) {
	if raw := e.own(c.Raw); raw != nil {
		e.Raw(raw)
		return
	}
	e.Object()
	e.StringField("type", "url_citation")
	e.urlCitation(c)
	e.End()
}

// encodeThinking writes reasoning that the vendor made. To a client it also
// shows that of others, as a summary.
func (responses) encodeThinking(e *encoder, t llm.Thinking, answer bool) {
	if raw, typ := e.ownType(t.State); typ != "" {
		e.Raw(raw)
		return
	}
	if !answer || t.Redacted {
		e.lost(llm.Ignored, "thinking", "the responses format takes back its own reasoning only")
		return
	}
	e.Object()
	e.StringField("type", "reasoning")
	e.StringField("id", e.itemID("rs"))
	e.Key("summary")
	e.Array()
	e.Object()
	e.StringField("type", "summary_text")
	e.StringField("text", t.Text)
	e.End()
	e.EndArray()
	e.End()
}

func (responses) encodeCall(e *encoder, c llm.Call, answer bool) {
	if raw, typ := e.ownType(c.State); typ != "" { // a tool of the vendor that the client runs
		e.Raw(raw)
		return
	}
	start := e.Object()
	if c.Kind == llm.FreeTool {
		e.StringField("type", "custom_tool_call")
		e.StringField("call_id", c.ID)
		e.itemName(c)
		e.StringField("input", js.Text(c.Args))
	} else {
		e.StringField("type", "function_call")
		e.StringField("call_id", c.ID)
		e.itemName(c)
		e.StringField("arguments", string(objectOf(c.Args)))
	}
	e.stateFields(c.State)
	if answer {
		if !hasKey(e.Buf[start:], "id") {
			e.StringField("id", e.itemID("fc"))
		}
		if !hasKey(e.Buf[start:], "status") {
			e.StringField("status", "completed")
		}
	}
	e.end(start, c.Extra)
}

func (r responses) encodeResult(e *encoder, res llm.Result, call llm.Call) {
	if raw, typ := e.ownType(res.State); typ != "" {
		e.Raw(raw)
		return
	}
	start := e.Object()
	switch _, typ := e.ownType(call.State); {
	case typ != "":
		r.encodeClientOutput(e, res, typ)
	case call.Kind == llm.FreeTool:
		e.StringField("type", "custom_tool_call_output")
	default:
		e.StringField("type", "function_call_output")
	}
	e.StringField("call_id", res.CallID)
	if !hasKey(e.Buf[start:], "output") {
		e.Key("output")
		r.encodeContent(e, e.shown(res.Parts))
	}
	if res.Failed {
		e.lost(llm.Degraded, "failed", "the responses format cannot mark a result as failed; its text has to say so")
	}
	e.end(start, res.Extra)
}

// encodeClientOutput writes the result of a tool that the vendor defines and
// the client runs, whose output has a form of its own.
func (responses) encodeClientOutput(e *encoder, res llm.Result, typ string) {
	e.StringField("type", typ+"_output")
	switch typ {
	case "computer_call":
		for _, p := range res.Parts {
			if m, ok := p.(llm.Media); ok && m.Kind == llm.Image {
				e.Key("output")
				e.Object()
				e.StringField("type", "computer_screenshot")
				e.StringField("image_url", mediaURL(m))
				e.End()
				return
			}
		}
	case "shell_call":
		e.Key("output")
		e.Array()
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

func (r responses) decodeInput(d *decoder, v []byte, req *llm.Request) {
	if js.Kind(v) == '"' {
		req.Messages = append(req.Messages, llm.User(d.text(v)))
		return
	}
	if js.Kind(v) != '[' {
		d.want(v, "a text or an array")
		return
	}
	for el := range d.objects(v) {
		r.decodeItem(d, el, req)
	}
}

// decodeItem adds an item to the conversation. Items of one role in a row are
// one message.
func (r responses) decodeItem(d *decoder, v []byte, req *llm.Request) {
	kind := d.str(d.get(v, "type"))
	role := d.str(d.get(v, "role"))
	for _, key := range itemWords {
		d.oneOf(d.get(v, key), `"`, "a string")
	}
	switch {
	case (kind == "message" || kind == "") && role != "assistant":
		r.decodeMessage(d, v, role, req)
	case strings.HasSuffix(kind, "_output") && !foundByServer(v, kind):
		r.add(req, llm.RoleTool, r.decodeResult(d, v, kind))
	default:
		r.add(req, llm.RoleAssistant, r.decodeOutput(d, v)...)
	}
}

// itemWords are members of items that are kept for the vendor alone, and are strings wherever they stand.
var itemWords = []string{"id", "status", "encrypted_content", namespaceField, "execution", "call_id"}

// foundByServer reports whether an item is what the vendor's own search for tools found,
// which is part of its answer; what a client found is the result of a call.
func foundByServer(v []byte, kind string) bool {
	return kind == searchOutput && js.Text(js.Get(v, "call_id")) == ""
}

func (responses) add(req *llm.Request, role llm.Role, parts ...llm.Part) {
	if n := len(req.Messages); n > 0 && req.Messages[n-1].Role == role {
		req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, parts...)
		return
	}
	req.Messages = append(req.Messages, llm.Message{Role: role, Parts: parts})
}

func (r responses) decodeMessage(d *decoder, v []byte, role string, req *llm.Request) {
	m := llm.Message{Role: chatRoles[role]}
	if m.Role == "" {
		d.want(v, "an item with a type or a message with a role")
		return
	}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type", "role":
		case "content":
			m.Parts = r.decodeContent(d, val)
		default:
			d.extra(&m.Extra, key, val)
		}
	}
	req.Messages = append(req.Messages, m)
}

func (r responses) decodeContent(d *decoder, v []byte) []llm.Part {
	if js.Kind(v) != '[' {
		return chat{}.decodeContent(d, v)
	}
	var parts []llm.Part
	for el := range d.objects(v) {
		parts = append(parts, r.decodePart(d, el))
	}
	return parts
}

func (r responses) decodePart(d *decoder, v []byte) llm.Part {
	switch kind := d.str(d.get(v, "type")); kind {
	case "input_text", "text", "output_text", "refusal":
		return r.decodeOutputText(d, v)
	case "input_image":
		return r.decodeMedia(d, v, llm.Image)
	case "input_file":
		return r.decodeMedia(d, v, llm.Document)
	case "input_audio":
		return chat{}.decodeMedia(d, v, kind)
	}
	return d.opaque(v)
}

func (responses) decodeMedia(d *decoder, v []byte, kind llm.MediaKind) llm.Media {
	m := llm.Media{Kind: kind}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "image_url", "file_data":
			d.url(val, &m)
		case "file_url":
			m.URL = d.str(val)
		case "file_id":
			m.ID = d.str(val)
		case "filename":
			m.Name = d.str(val)
		default:
			d.extra(&m.Extra, key, val)
		}
	}
	if m.ID != "" || kind == llm.Document && path.Ext(m.Name) == "" && len(m.Data) > 0 {
		m.State = d.state([]byte(ownFile))
	}
	asWhatItIs(d, &m)
	return m
}

func (responses) decodeOutputText(d *decoder, v []byte) llm.Text {
	var t llm.Text
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
			t.Refusal = js.Is(val, "refusal")
		case "text", "refusal":
			t.Text = d.str(val)
		case "annotations":
			for el := range d.elements(val) {
				t.Citations = append(t.Citations, decodeAnnotation(d, el))
			}
		case "logprobs":
			t.LogProbs = d.probsOf(val)
		default:
			d.extra(&t.Extra, key, val)
		}
	}
	return t
}

func decodeAnnotation(d *decoder, v []byte) llm.Citation {
	if js.Is(d.get(v, "type"), "url_citation") {
		c, complete := d.urlCitation(v)
		if !complete {
			c.Raw = d.state(v)
		}
		return c
	}
	return llm.Citation{URL: d.str(d.get(v, "url")), Title: d.str(d.get(v, "filename")), Raw: d.state(v)}
}

func (r responses) decodeResult(d *decoder, v []byte, kind string) llm.Result {
	var res llm.Result
	ofFunction := kind == "function_call_output" || kind == "custom_tool_call_output"
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "call_id":
			res.CallID = d.str(val)
		case "output":
			if ofFunction || js.Kind(val) == '[' {
				res.Parts = r.decodeContent(d, val)
			}
		default:
			d.extra(&res.Extra, key, val)
		}
	}
	if !ofFunction {
		res.State, res.Extra = d.state(v), nil
		res.Parts = d.clientOutput(d.get(v, "output"))
		for _, t := range r.foundTools(d, v) {
			res.Parts = append(res.Parts, llm.Text{Text: toolFound(t.Name)})
		}
	}
	return res
}

// clientOutput shows what can be read of the result of a tool that the vendor
// defines.
func (d *decoder) clientOutput(v []byte) []llm.Part {
	var parts []llm.Part
	show := func(v []byte) {
		if s := d.text(v); s != "" {
			parts = append(parts, llm.Text{Text: s})
		}
	}
	switch d.oneOf(v, `"[{`, "a string, an array or an object"); js.Kind(v) {
	case '"':
		show(v)
	case '[':
		for el := range d.elements(v) {
			show(d.get(el, "stdout"))
			show(d.get(el, "stderr"))
		}
	}
	return parts
}

// decodeOutput reads an item of an answer as the parts it stands for.
func (r responses) decodeOutput(d *decoder, v []byte) []llm.Part {
	kind := d.str(d.get(v, "type"))
	switch kind {
	case "message", "":
		return r.decodeSaid(d, v)
	case "reasoning":
		return []llm.Part{llm.Thinking{Text: d.reasoningText(v), State: d.state(v)}}
	case "function_call", "custom_tool_call":
		return []llm.Part{r.decodeCall(d, v)}
	}
	if c, ok := vendorCalls[kind]; ok {
		return c.parts(d, v, kind)
	}
	return []llm.Part{d.opaque(v)}
}

func (r responses) decodeSaid(d *decoder, v []byte) []llm.Part {
	var parts []llm.Part
	var state fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "type", "role":
		case "content":
			parts = r.decodeContent(d, val)
		default:
			state.add(key, val)
		}
	}
	data := state.object()
	if data == nil {
		return parts
	}
	if n := len(parts); n > 0 {
		if t, ok := parts[n-1].(llm.Text); ok && t.State.IsZero() {
			t.State = d.state(data)
			parts[n-1] = t
			return parts
		}
	}
	return append(parts, d.opaque(v))
}

// reasoningText returns what a reasoning item shows: its summary, or else the
// thoughts themselves.
func (d *decoder) reasoningText(v []byte) string {
	for _, key := range []string{"summary", "content"} {
		var texts []string
		for el := range d.elements(d.get(v, key)) {
			d.text(d.get(el, "type"))
			texts = append(texts, d.text(d.get(el, "text")))
		}
		if len(texts) > 0 {
			return strings.Join(texts, "\n\n")
		}
	}
	return ""
}

func (responses) decodeCall(d *decoder, v []byte) llm.Call {
	var c llm.Call
	var state fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
			if js.Is(val, "custom_tool_call") {
				c.Kind = llm.FreeTool
			}
		case "call_id":
			c.ID = d.str(val)
		case "name":
			c.Name = d.str(val)
		case "arguments":
			c.Args = []byte(d.str(val))
		case "input":
			c.Args = js.AppendQuoted(nil, d.str(val))
		case namespaceField:
			d.extra(&c.Extra, key, val)
		default:
			state.add(key, val)
		}
	}
	switch {
	case c.Kind == llm.FreeTool && c.Args == nil:
		c.Args = []byte(`""`)
	case c.Kind == llm.FunctionTool:
		c.Args = objectOf(c.Args)
	}
	d.c.names.flatten(&c)
	if data := state.object(); data != nil {
		c.State = d.state(data)
	}
	return c
}

// clientArgs returns the arguments of a call that the client runs.
func (h vendorCall) clientArgs(d *decoder, v []byte) json.RawMessage {
	if h.list != "" && js.Kind(d.get(v, h.args)) != '{' {
		if several := d.get(v, h.list); d.oneOf(several, "[", "an array") {
			return append(append([]byte(`{"`+h.list+`":`), several...), '}')
		}
	}
	return objectOf(d.raw(d.get(v, h.args)))
}

// parts returns what the item of a call stands for.
func (h vendorCall) parts(d *decoder, v []byte, item string) []llm.Part {
	if h.client && (item != searchCall || d.text(d.get(v, "call_id")) != "") { // a search without it the vendor ran
		return []llm.Part{llm.Call{ID: d.str(d.get(v, "call_id")), Name: h.tool, Args: h.clientArgs(d, v), State: d.state(v)}}
	}
	c := llm.Call{ID: d.str(d.get(v, "id")), Name: h.tool, Hosted: true, State: d.state(v)}
	if h.named {
		c.Name = d.text(d.get(v, "name"))
	}
	args := d.get(v, h.args)
	switch {
	case h.wrap && says(args):
		c.Args = append(append([]byte(`{"`+h.args+`":`), args...), '}')
	case js.Kind(args) == '"':
		c.Args = []byte(d.text(args))
	case d.oneOf(args, "{", "a string or an object"):
		c.Args = d.raw(args)
	}
	c.Args = objectOf(c.Args)
	res := llm.Result{CallID: c.ID, Name: c.Name, Hosted: true, Failed: js.Is(d.get(v, "status"), "failed")}
	result := d.get(v, h.result)
	kind := js.Kind(result)
	d.oneOf(result, `"[`, "a string or an array")
	if h.result == "result" {
		if b, ok := unbase64(d.text(result)); ok && b != nil {
			res.Parts = []llm.Part{llm.Media{Kind: llm.Image, MIME: "image/" + cmp.Or(d.text(d.get(v, "output_format")), "png"), Data: b}}
		}
	} else if kind == '"' {
		res.Parts = []llm.Part{llm.Text{Text: d.text(result)}}
	}
	if kind != '[' {
		result = nil
	}
	for el := range d.elements(result) {
		if s := cmp.Or(d.text(d.get(el, "logs")), d.text(d.get(el, "text"))); s != "" {
			res.Parts = append(res.Parts, llm.Text{Text: s})
		}
	}
	if len(res.Parts) == 0 && !res.Failed {
		return []llm.Part{c}
	}
	return []llm.Part{c, res}
}
