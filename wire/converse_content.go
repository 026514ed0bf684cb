package wire

import (
	"cmp"
	"encoding/json"
	"maps"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// cachePoint is a block that says up to where the vendor caches a prompt. In
// package llm it is a field of the part or tool before it.
const cachePoint = "cachePoint"

// encodeMessages writes the messages. Those of one turn are one: roles must
// alternate, and results are said by the user.
func (c converse) encodeMessages(e *encoder, list []llm.Message) {
	e.turns(list, func(turn []llm.Message) {
		var role string
		for _, m := range turn { // all are one, and each has its warning
			role = blockRole(e, m.Role)
		}
		mark := len(e.Buf)
		start := e.Object()
		e.StringField("role", role)
		e.Key("content")
		e.Array()
		var extra map[string]json.RawMessage
		for _, m := range turn {
			encodeBlocks(c, e, m.Parts)
			extra = e.joined(extra, e.ownExtra(m.Extra))
		}
		e.EndArray()
		e.endWith(start, extra)
		e.dropEmpty(mark, `"content":[]}`)
	})
}

// endBlock ends the object inside a block, the block, and writes the cache point
// that follows it.
func (c converse) endBlock(e *encoder, start, inner int, x llm.Extra) {
	c.endOuter(e, start, e.splitExtra(inner, x))
}

func (converse) endOuter(e *encoder, start int, fields map[string]json.RawMessage) {
	e.endWith(start, without(fields, cachePoint))
	if point := fields[cachePoint]; point != nil {
		e.Object()
		e.RawField(cachePoint, point)
		e.End()
	}
}

func (c converse) encodeText(e *encoder, t llm.Text) {
	if raw, ok := e.block(t); ok {
		if raw != nil {
			e.Raw(raw)
			c.cachePointOf(e, t.Extra)
		}
		return
	}
	cites := ownCitations(e, t.Citations)
	if t.Text == "" && (len(cites) == 0 || !e.answering) {
		return // the vendor refuses empty text
	}
	if t.Refusal {
		e.lost(llm.Degraded, "refusal", "the converse format does not mark text as a refusal")
	}
	start := e.Object()
	form := t.Extra[e.c.Format][citedForm]
	if form != nil {
		t.Extra = maps.Clone(t.Extra)
		t.Extra[e.c.Format] = without(t.Extra[e.c.Format], citedForm)
	}
	if len(cites) == 0 && form == nil {
		e.StringField("text", t.Text)
		c.endOuter(e, start, e.ownExtra(t.Extra))
		return
	}
	e.Key("citationsContent")
	inner := e.Object()
	c.encodeCited(e, t.Text, form)
	if len(cites) > 0 || js.Get(form, "citations") != nil {
		e.Key("citations")
		e.Array()
		for _, raw := range cites {
			e.Raw(raw)
		}
		e.EndArray()
	}
	c.endBlock(e, start, inner, t.Extra)
}

// citedForm keeps how a text with citations was written, where that is not one piece with a list of them: its pieces, and
// whether there was a list.
const citedForm = restated + "citationsContent"

// encodeCited writes the text of a block of citations, in its pieces if it is still theirs.
func (converse) encodeCited(e *encoder, text string, form []byte) {
	var pieces []string
	for el := range js.Elements(js.Get(form, "content")) {
		pieces = append(pieces, js.Text(el))
	}
	if text != "" && strings.Join(pieces, "") != text {
		pieces = []string{text}
	}
	e.Key("content")
	e.Array()
	for _, piece := range pieces {
		e.Object()
		e.StringField("text", piece)
		e.End()
	}
	e.EndArray()
}

// cachePointOf writes the cache point after a block that is kept whole.
func (converse) cachePointOf(e *encoder, x llm.Extra) {
	if point := e.ownExtra(x)[cachePoint]; point != nil {
		e.Object()
		e.RawField(cachePoint, point)
		e.End()
	}
}

// encodeThinking writes thinking. Only what the vendor signed goes back to it.
func (c converse) encodeThinking(e *encoder, t llm.Thinking) {
	data := e.own(t.State)
	if data == nil && (!e.answering || t.Redacted) {
		e.lost(llm.Ignored, "thinking", "the converse format takes back thinking with its own signature only")
		return
	}
	start := e.Object()
	e.Key("reasoningContent")
	inner := e.Object()
	if t.Redacted {
		e.stateFields(t.State)
	} else {
		e.Key("reasoningText")
		e.Object()
		e.StringField("text", t.Text)
		e.stateFields(t.State)
		e.End()
	}
	c.endBlock(e, start, inner, t.Extra)
}

func (c converse) encodeCall(e *encoder, call llm.Call) {
	if call.Hosted {
		c.encodeOwn(e, call.State, "hosted call", "another vendor ran it", call.Extra)
		return
	}
	start := e.Object()
	e.Key("toolUse")
	inner := e.Object()
	e.StringField("toolUseId", call.ID)
	e.StringField("name", call.Name)
	e.RawField("input", e.argsObject(call))
	c.endBlock(e, start, inner, call.Extra)
}

// encodeOwn writes a block that is kept whole, if this vendor made it.
func (c converse) encodeOwn(e *encoder, s llm.State, what, why string, x llm.Extra) {
	raw := e.own(s)
	if raw == nil {
		e.lost(llm.Ignored, what, why)
		return
	}
	e.Raw(raw)
	c.cachePointOf(e, x)
}

func (c converse) encodeResult(e *encoder, r llm.Result) {
	if r.Hosted {
		c.encodeOwn(e, r.State, "hosted result", "another vendor made it", r.Extra)
		return
	}
	start := e.Object()
	e.Key("toolResult")
	inner := e.Object()
	e.StringField("toolUseId", r.CallID)
	e.Key("content")
	e.Array()
	mark := len(e.Buf)
	for _, p := range r.Parts {
		c.encodeResultPart(e, p)
	}
	switch {
	case len(e.Buf) > mark:
	case r.Failed:
		c.encodeText(e, llm.Text{Text: noOutput})
	case !saysNothing(r.Parts):
		c.encodeText(e, llm.Text{Text: notShown})
	}
	e.EndArray()
	if r.Failed {
		e.StringField("status", "error")
	}
	c.endBlock(e, start, inner, r.Extra)
}

// asJSON marks text of a result that is a JSON value of its own.
const asJSON = "json"

func (c converse) encodeResultPart(e *encoder, p llm.Part) {
	switch p := p.(type) {
	case llm.Text:
		if string(p.Extra[e.c.Format][asJSON]) == "true" {
			if json.Valid([]byte(p.Text)) {
				start := e.Object()
				e.RawField("json", []byte(p.Text))
				e.endWith(start, without(e.ownExtra(p.Extra), asJSON))
				return
			}
			p.Extra = llm.Extra{e.c.Format: without(p.Extra[e.c.Format], asJSON)}
		}
		c.encodeText(e, p)
	case llm.Media:
		if p.Kind == llm.Audio {
			e.lost(llm.Ignored, "media in results", "results of the converse format hold no audio")
			return
		}
		c.encodeMedia(e, p)
	}
}

// Decoding.

// decodeBlocks reads the blocks of a message. A cache point belongs to the block
// before it; without one it is kept as a part.
func (c converse) decodeBlocks(d *decoder, v []byte) []llm.Part {
	var parts []llm.Part
	for el := range d.objects(v) {
		point := d.get(el, cachePoint)
		if n := len(parts); d.oneOf(point, "{", "an object") && n > 0 && onlyKey(el, cachePoint) {
			if p, ok := c.withCachePoint(d, parts[n-1], point); ok {
				parts[n-1] = p
				continue
			}
		}
		parts = append(parts, c.decodeBlock(d, el))
	}
	return parts
}

// withCachePoint reports false where the part has a cache point already.
func (converse) withCachePoint(d *decoder, p llm.Part, point []byte) (llm.Part, bool) {
	mark := func(x *llm.Extra) bool {
		if (*x)[d.c.Format][cachePoint] != nil {
			return false
		}
		d.extraNamed(x, cachePoint, point)
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

// splitBlock returns the member that says what a block is, and keeps those that
// stand beside it.
func (converse) splitBlock(d *decoder, v []byte) (kind string, body []byte, extra llm.Extra) {
	for key, val := range d.members(v) {
		switch name := string(key); name {
		case "text", "image", "document", "video", "audio", "toolUse", "toolResult", "reasoningContent", "citationsContent",
			cachePoint, "json", "toolSpec", systemTool:
			kind, body = name, val
		default:
			d.extra(&extra, key, val)
		}
	}
	return kind, body, extra
}

func (c converse) decodeBlock(d *decoder, v []byte) llm.Part {
	kind, body, extra := c.splitBlock(d, v)
	switch kind {
	case "text":
		return llm.Text{Text: d.str(body), Extra: extra}
	case "citationsContent":
		return c.decodeCited(d, body, extra)
	case "reasoningContent":
		return c.decodeThinking(d, body, extra)
	case "image", "document", "video", "audio":
		if m, ok := c.decodeMedia(d, llm.MediaKind(kind), body, extra); ok {
			return m
		}
		return d.reading(v, d.get(d.get(body, "source"), "content"), d.get(body, "name"))
	case "toolUse":
		return c.decodeCall(d, v, body, extra)
	case "toolResult":
		return c.decodeResult(d, v, body, extra)
	case "json":
		d.extraNamed(&extra, asJSON, []byte("true"))
		return llm.Text{Text: string(body), Extra: extra}
	}
	if found := d.get(v, "searchResult"); found != nil {
		return d.reading(v, d.get(found, "content"), d.get(found, "title"), d.get(found, "source"))
	}
	return d.opaque(v)
}

func (c converse) decodeCited(d *decoder, v []byte, extra llm.Extra) llm.Text {
	t := llm.Text{Extra: extra}
	var form js.Writer
	form.Object()
	pieces := 0
	for key, val := range d.members(v) {
		switch string(key) {
		case "content":
			form.Key("content")
			form.Array()
			for el := range d.objects(val) {
				text := d.str(d.get(el, "text"))
				t.Text += text
				form.Text(text)
				pieces++
				d.unread(&t.Extra, el, converseCited)
			}
			form.EndArray()
		case "citations":
			form.RawField("citations", []byte("true"))
			for el := range d.objects(val) {
				t.Citations = append(t.Citations, c.decodeCitation(d, el))
			}
		default:
			d.extraNamed(&t.Extra, innerPrefix+string(key), val)
		}
	}
	if form.End(); form.Err == nil && (pieces != 1 || len(t.Citations) == 0) {
		d.extraNamed(&t.Extra, citedForm, form.Buf)
	}
	return t
}

func (converse) decodeCitation(d *decoder, v []byte) llm.Citation {
	c := llm.Citation{
		URL:   cmp.Or(d.text(d.get(d.get(d.get(v, "location"), "web"), "url")), d.text(d.get(v, "source"))),
		Title: d.text(d.get(v, "title")), Raw: d.state(v),
	}
	for el := range d.elements(d.get(v, "sourceContent")) {
		c.Quote += d.text(d.get(el, "text"))
	}
	return c
}

func (converse) decodeThinking(d *decoder, v []byte, extra llm.Extra) llm.Thinking {
	t := llm.Thinking{Extra: extra}
	var state fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "reasoningText":
			t.Text = d.str(d.get(val, "text"))
			d.unread(&t.Extra, val, converseThought)
			if s := d.get(val, "signature"); d.oneOf(s, `"`, "a string") && says(s) {
				state.add([]byte("signature"), s)
			}
		case "redactedContent":
			if t.Redacted = d.oneOf(val, `"`, "base64"); t.Redacted {
				state.add(key, val)
			}
		default:
			d.extraNamed(&t.Extra, innerPrefix+string(key), val)
		}
	}
	if data := state.object(); data != nil {
		t.State = d.state(data)
	}
	return t
}

// decodeCall reads a call. One that the vendor runs itself has a type.
func (converse) decodeCall(d *decoder, block, v []byte, extra llm.Extra) llm.Call {
	c := llm.Call{Extra: extra}
	for key, val := range d.members(v) {
		switch string(key) {
		case "toolUseId":
			c.ID = d.str(val)
		case "name":
			c.Name = d.str(val)
		case "input":
			c.Args = d.args(val)
		case "type":
			c.Hosted = d.text(val) != ""
		default:
			d.extraNamed(&c.Extra, innerPrefix+string(key), val)
		}
	}
	c.Args = objectOf(c.Args)
	if c.Hosted {
		c.Name, c.State, c.Extra = cmp.Or(converseHostedNames[c.Name], c.Name), d.state(block), nil
	}
	return c
}

func (c converse) decodeResult(d *decoder, block, v []byte, extra llm.Extra) llm.Result {
	r := llm.Result{Extra: extra}
	for key, val := range d.members(v) {
		switch string(key) {
		case "toolUseId":
			r.CallID = d.str(val)
		case "content":
			for el := range d.objects(val) {
				r.Parts = append(r.Parts, c.decodeResultPart(d, el))
			}
		case "status":
			c.decodeStatus(d, val, &r)
		case "type":
			kind := d.str(val)
			r.Hosted, r.Name = kind != "", hostedResultName(kind)
		default:
			d.extraNamed(&r.Extra, innerPrefix+string(key), val)
		}
	}
	r.Parts = withoutNoOutput(r)
	if r.Hosted {
		r.State, r.Extra = d.state(block), nil
		for i, p := range r.Parts { // what is shown; the block goes back whole
			if t, ok := p.(llm.Text); ok {
				r.Parts[i] = llm.Text{Text: t.Text}
			}
		}
	}
	return r
}

// decodeStatus reads whether a tool failed. The vendor refuses other words; of those that it may write itself one day nothing is known.
func (converse) decodeStatus(d *decoder, v []byte, r *llm.Result) {
	switch word := d.text(v); {
	case word == "error":
		r.Failed = true
	case word == "success" || js.Kind(v) == 'n':
	case d.asking:
		d.want(v, "success or error")
	default:
		d.extraNamed(&r.Extra, innerPrefix+"status", v)
	}
}

// decodeResultPart reads a block of a result. Blocks that only messages hold are kept as they are.
func (c converse) decodeResultPart(d *decoder, v []byte) llm.Part {
	switch p := c.decodeBlock(d, v).(type) {
	case llm.Text, llm.Media:
		return p
	}
	return d.opaque(v)
}

// hostedResultName is the tool whose result has a type, like
// nova_code_interpreter_result.
func hostedResultName(typ string) string {
	name := strings.TrimSuffix(typ, "_result")
	return cmp.Or(converseHostedNames[name], name)
}
