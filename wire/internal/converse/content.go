package converse

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// encodeMessages writes the messages. Those of one turn are one: roles must
// alternate, and results are said by the user.
func encodeMessages(e *codec.Encoder, list []llm.Message) {
	e.Turns(list, func(turn []llm.Message) {
		var role string
		for _, m := range turn { // all are one, and each has its warning
			role = codec.BlockRole(e, m.Role)
		}
		mark := len(e.Buf)
		start := e.Object()
		e.StringField("role", role)
		e.ArrayField("content")
		var extra map[string]json.RawMessage
		for _, m := range turn {
			codec.EncodeBlocks(Format{}, e, m.Parts)
			extra = e.JoinFields(extra, e.OwnExtra(m.Extra))
		}
		e.EndArray()
		e.EndFields(start, extra)
		e.DropEmpty(mark, `"content":[]}`)
	})
}

// endBlock ends the object inside a block, the block, and writes the cache point
// that follows it.
func endBlock(e *codec.Encoder, start, inner int, x llm.Extra) {
	endOuter(e, start, e.SplitExtra(inner, x))
}

func endOuter(e *codec.Encoder, start int, fields map[string]json.RawMessage) {
	e.EndFields(start, codec.OmitFields(fields, codec.CachePoint))
	if point := fields[codec.CachePoint]; point != nil {
		e.Object()
		e.RawField(codec.CachePoint, point)
		e.End()
	}
}

func (Format) EncodeText(e *codec.Encoder, t llm.Text) {
	if raw, ok := e.OwnBlock(t); ok {
		if raw != nil {
			e.Raw(raw)
			cachePointOf(e, t.Extra)
		}
		return
	}
	cites := codec.OwnCitations(e, t.Citations)
	if t.Text == "" && (len(cites) == 0 || !e.Answering) {
		return // the vendor refuses empty text
	}
	if t.Refusal {
		e.Lost(llm.Degraded, "refusal", "the converse format does not mark text as a refusal")
	}
	start := e.Object()
	form := t.Extra[e.Host.Format][citedForm]
	if form != nil {
		t.Extra = maps.Clone(t.Extra)
		t.Extra[e.Host.Format] = codec.OmitFields(t.Extra[e.Host.Format], citedForm)
	}
	if len(cites) == 0 && form == nil {
		e.StringField("text", t.Text)
		endOuter(e, start, e.OwnExtra(t.Extra))
		return
	}
	inner := e.ObjectField("citationsContent")
	encodeCited(e, t.Text, form)
	if len(cites) > 0 || js.Get(form, "citations") != nil {
		e.ArrayField("citations")
		for _, raw := range cites {
			e.Raw(raw)
		}
		e.EndArray()
	}
	endBlock(e, start, inner, t.Extra)
}

// citedForm keeps how a text with citations was written, where that is not one piece with a list of them: its pieces, and
// whether there was a list.
const citedForm = loss.Restated + "citationsContent"

// encodeCited writes the text of a block of citations, in its pieces if it is still theirs.
func encodeCited(e *codec.Encoder, text string, form []byte) {
	var pieces []string
	for el := range js.Elements(js.Get(form, "content")) {
		pieces = append(pieces, js.Text(el))
	}
	if text != "" && strings.Join(pieces, "") != text {
		pieces = []string{text}
	}
	e.ArrayField("content")
	for _, piece := range pieces {
		e.Object()
		e.StringField("text", piece)
		e.End()
	}
	e.EndArray()
}

// cachePointOf writes the cache point after a block that is kept whole.
func cachePointOf(e *codec.Encoder, x llm.Extra) {
	if point := e.OwnExtra(x)[codec.CachePoint]; point != nil {
		e.Object()
		e.RawField(codec.CachePoint, point)
		e.End()
	}
}

// EncodeThinking writes thinking. Only what the vendor signed goes back to it.
func (Format) EncodeThinking(e *codec.Encoder, t llm.Thinking) {
	data := e.OwnState(t.State)
	if data == nil && (!e.Answering || t.Redacted) {
		e.Lost(llm.Ignored, "thinking", "the converse format takes back thinking with its own signature only")
		return
	}
	start := e.Object()
	inner := e.ObjectField("reasoningContent")
	if t.Redacted {
		e.StateFields(t.State)
	} else {
		e.ObjectField("reasoningText")
		e.StringField("text", t.Text)
		e.StateFields(t.State)
		e.End()
	}
	endBlock(e, start, inner, t.Extra)
}

func (Format) EncodeCall(e *codec.Encoder, call llm.Call) {
	if call.Hosted {
		encodeOwn(e, call.State, "hosted call", "another vendor ran it", call.Extra)
		return
	}
	start := e.Object()
	inner := e.ObjectField("toolUse")
	e.StringField("toolUseId", call.ID)
	e.StringField("name", call.Name)
	e.RawField("input", e.ArgsObject(call))
	endBlock(e, start, inner, call.Extra)
}

// encodeOwn writes a block that is kept whole, if this vendor made it.
func encodeOwn(e *codec.Encoder, s llm.State, what, why string, x llm.Extra) {
	raw := e.OwnState(s)
	if raw == nil {
		e.Lost(llm.Ignored, what, why)
		return
	}
	e.Raw(raw)
	cachePointOf(e, x)
}

func (c Format) EncodeResult(e *codec.Encoder, r llm.Result) {
	if r.Hosted {
		encodeOwn(e, r.State, "hosted result", "another vendor made it", r.Extra)
		return
	}
	start := e.Object()
	inner := e.ObjectField("toolResult")
	e.StringField("toolUseId", r.CallID)
	e.ArrayField("content")
	mark := len(e.Buf)
	for _, p := range r.Parts {
		encodeResultPart(e, p)
	}
	switch {
	case len(e.Buf) > mark:
	case r.Failed:
		c.EncodeText(e, llm.Text{Text: codec.NoOutput})
	case !codec.SaysNothing(r.Parts):
		c.EncodeText(e, llm.Text{Text: codec.NotShown})
	}
	e.EndArray()
	if r.Failed {
		e.StringField("status", "error")
	}
	endBlock(e, start, inner, r.Extra)
}

// asJSON marks text of a result that is a JSON value.
const asJSON = "json"

func encodeResultPart(e *codec.Encoder, p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		if string(p.Extra[e.Host.Format][asJSON]) == "true" {
			if json.Valid([]byte(p.Text)) {
				start := e.Object()
				e.RawField("json", []byte(p.Text))
				e.EndFields(start, codec.OmitFields(e.OwnExtra(p.Extra), asJSON))
				return
			}
			p.Extra = llm.Extra{e.Host.Format: codec.OmitFields(p.Extra[e.Host.Format], asJSON)}
		}
		Format{}.EncodeText(e, p)
	case llm.Media:
		if p.Kind == llm.Audio {
			e.Lost(llm.Ignored, "media in results", "results of the converse format hold no audio")
			return
		}
		Format{}.EncodeMedia(e, p)
	}
}

// Decoding.

// decodeBlocks reads the blocks of a message. A cache point belongs to the block
// before it; without one it is kept as a part.
func decodeBlocks(d *codec.Decoder, v []byte) []llm.Part {
	var parts []llm.Part
	for el := range d.Objects(v) {
		point := d.Get(el, codec.CachePoint)
		if n := len(parts); d.OneOf(point, "{", "an object") && n > 0 && codec.OnlyKey(el, codec.CachePoint) {
			if p, ok := withCachePoint(d, parts[n-1], point); ok {
				parts[n-1] = p
				continue
			}
		}
		parts = append(parts, decodeBlock(d, el))
	}
	return parts
}

// withCachePoint reports false where the part has a cache point already.
func withCachePoint(d *codec.Decoder, p llm.Part, point []byte) (llm.Part, bool) {
	mark := func(x *llm.Extra) bool {
		if (*x)[d.Host.Format][codec.CachePoint] != nil {
			return false
		}
		d.ExtraField(x, codec.CachePoint, point)
		return true
	}
	ok := false
	switch part := p.(type) {
	case llm.Text:
		ok = mark(&part.Extra)
		p = part
	case llm.Thinking:
		ok = mark(&part.Extra)
		p = part
	case llm.Media:
		ok = mark(&part.Extra)
		p = part
	case llm.Call:
		ok = mark(&part.Extra)
		p = part
	case llm.Result:
		ok = mark(&part.Extra)
		p = part
	}
	return p, ok
}

// splitBlock returns the member for the kind of a block, and keeps the others.
func splitBlock(d *codec.Decoder, v []byte) (kind string, body []byte, extra llm.Extra) {
	for key, val := range d.Members(v) {
		switch name := string(key); name {
		case "text", "image", "document", "video", "audio", "toolUse", "toolResult", "reasoningContent", "citationsContent",
			codec.CachePoint, "json", "toolSpec", systemTool:
			kind, body = name, val
		default:
			d.Extra(&extra, key, val)
		}
	}
	return kind, body, extra
}

func decodeBlock(d *codec.Decoder, v []byte) llm.Part {
	kind, body, extra := splitBlock(d, v)
	switch kind {
	case "text":
		return llm.Text{Text: d.Str(body), Extra: extra}
	case "citationsContent":
		return decodeCited(d, body, extra)
	case "reasoningContent":
		return decodeThinking(d, body, extra)
	case "image", "document", "video", "audio":
		if m, ok := decodeMedia(d, llm.MediaKind(kind), body, extra); ok {
			return m
		}
		return d.ReadableBlock(v, d.Get(d.Get(body, "source"), "content"), d.Get(body, "name"))
	case "toolUse":
		return decodeCall(d, v, body, extra)
	case "toolResult":
		return decodeResult(d, v, body, extra)
	case "json":
		d.ExtraField(&extra, asJSON, []byte("true"))
		return llm.Text{Text: string(body), Extra: extra}
	}
	if found := d.Get(v, "searchResult"); found != nil {
		return d.ReadableBlock(v, d.Get(found, "content"), d.Get(found, "title"), d.Get(found, "source"))
	}
	return d.Opaque(v)
}

func decodeCited(d *codec.Decoder, v []byte, extra llm.Extra) llm.Text {
	t := llm.Text{Extra: extra}
	var form js.Writer
	form.Object()
	pieces := 0
	for key, val := range d.Members(v) {
		switch string(key) {
		case "content":
			form.ArrayField("content")
			for el := range d.Objects(val) {
				text := d.Str(d.Get(el, "text"))
				t.Text += text
				form.Text(text)
				pieces++
				d.KeepUnread(&t.Extra, el, cited)
			}
			form.EndArray()
		case "citations":
			form.RawField("citations", []byte("true"))
			for el := range d.Objects(val) {
				t.Citations = append(t.Citations, decodeCitation(d, el))
			}
		default:
			d.ExtraField(&t.Extra, loss.InnerPrefix+string(key), val)
		}
	}
	if form.End(); form.Err == nil && (pieces != 1 || len(t.Citations) == 0) {
		d.ExtraField(&t.Extra, citedForm, form.Buf)
	}
	return t
}

func decodeCitation(d *codec.Decoder, v []byte) llm.Citation {
	c := llm.Citation{
		URL:   cmp.Or(d.Text(d.Get(d.Get(d.Get(v, "location"), "web"), "url")), d.Text(d.Get(v, "source"))),
		Title: d.Text(d.Get(v, "title")), Raw: d.State(v),
	}
	for el := range d.Elements(d.Get(v, "sourceContent")) {
		c.Quote += d.Text(d.Get(el, "text"))
	}
	return c
}

func decodeThinking(d *codec.Decoder, v []byte, extra llm.Extra) llm.Thinking {
	t := llm.Thinking{Extra: extra}
	var state codec.Fields
	for key, val := range d.Members(v) {
		switch string(key) {
		case "reasoningText":
			t.Text = d.Str(d.Get(val, "text"))
			d.KeepUnread(&t.Extra, val, thought)
			if s := d.Get(val, "signature"); d.OneOf(s, `"`, "a string") && codec.HasValue(s) {
				state.Add([]byte("signature"), s)
			}
		case "redactedContent":
			if t.Redacted = d.OneOf(val, `"`, "base64"); t.Redacted {
				state.Add(key, val)
			}
		default:
			d.ExtraField(&t.Extra, loss.InnerPrefix+string(key), val)
		}
	}
	if data := state.Object(); data != nil {
		t.State = d.State(data)
	}
	return t
}

// decodeCall reads a call. Calls that the vendor runs have a type.
func decodeCall(d *codec.Decoder, block, v []byte, extra llm.Extra) llm.Call {
	c := llm.Call{Extra: extra}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "toolUseId":
			c.ID = d.Str(val)
		case "name":
			c.Name = d.Str(val)
		case "input":
			c.Args = d.Args(val)
		case "type":
			c.Hosted = d.Text(val) != ""
		default:
			d.ExtraField(&c.Extra, loss.InnerPrefix+string(key), val)
		}
	}
	c.Args = codec.ObjectOf(c.Args)
	if c.Hosted {
		c.Name, c.State, c.Extra = cmp.Or(hostedNames[c.Name], c.Name), d.State(block), nil
	}
	return c
}

func decodeResult(d *codec.Decoder, block, v []byte, extra llm.Extra) llm.Result {
	r := llm.Result{Extra: extra}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "toolUseId":
			r.CallID = d.Str(val)
		case "content":
			for el := range d.Objects(val) {
				r.Parts = append(r.Parts, decodeResultPart(d, el))
			}
		case "status":
			decodeStatus(d, val, &r)
		case "type":
			kind := d.Str(val)
			r.Hosted, r.Name = kind != "", hostedResultName(kind)
		default:
			d.ExtraField(&r.Extra, loss.InnerPrefix+string(key), val)
		}
	}
	r.Parts = codec.WithoutNoOutput(r)
	if r.Hosted {
		r.State, r.Extra = d.State(block), nil
		for i, p := range r.Parts { // the readable parts; the block goes back whole
			if t, ok := p.(llm.Text); ok {
				r.Parts[i] = llm.Text{Text: t.Text}
			}
		}
	}
	return r
}

// decodeStatus reads whether a tool failed. The vendor refuses other values today; future values are unknown.
func decodeStatus(d *codec.Decoder, v []byte, r *llm.Result) {
	switch word := d.Text(v); {
	case word == "error":
		r.Failed = true
	case word == "success" || js.Kind(v) == 'n':
	case d.IsRequest:
		d.Want(v, "success or error")
	default:
		d.ExtraField(&r.Extra, loss.InnerPrefix+"status", v)
	}
}

// decodeResultPart reads a block of a result. Blocks that belong only in messages are kept unchanged.
func decodeResultPart(d *codec.Decoder, v []byte) llm.Part {
	switch p := decodeBlock(d, v).(type) {
	case llm.Text, llm.Media:
		return p
	}
	return d.Opaque(v)
}

// hostedResultName is the tool whose result has a type, like
// nova_code_interpreter_result.
func hostedResultName(typ string) string {
	name := strings.TrimSuffix(typ, "_result")
	return cmp.Or(hostedNames[name], name)
}
