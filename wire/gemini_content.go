package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (g gemini) encodeMessages(e *encoder, list []llm.Message, calls map[string]llm.Call) {
	e.turns(list, func(turn []llm.Message) {
		for _, m := range turn {
			g.encodeMessage(e, m, calls)
		}
	})
}

func (g gemini) encodeMessage(e *encoder, m llm.Message, calls map[string]llm.Call) {
	role := "user"
	switch m.Role {
	case llm.RoleAssistant:
		role = "model"
	case llm.RoleSystem, llm.RoleDeveloper:
		e.lost(llm.Degraded, "system", "the gemini format takes instructions before all messages only; this one is said by the user")
	}
	mark := len(e.Buf)
	start := e.Object()
	e.StringField("role", role)
	e.Key("parts")
	e.Array()
	for _, p := range m.Parts {
		if s, plain := plainText([]llm.Part{p}); !plain || s != "" { // Vertex refuses empty text
			g.encodePart(e, p, calls)
		}
	}
	e.EndArray()
	e.end(start, m.Extra)
	if len(m.Parts) > 0 {
		e.dropEmpty(mark, `"parts":[]}`)
	}
}

func (g gemini) encodePart(e *encoder, p llm.Part, calls map[string]llm.Call) {
	switch p := p.(type) {
	case llm.Text:
		g.encodeText(e, p)
	case llm.Thinking:
		g.encodeThinking(e, p, false)
	case llm.Media:
		g.encodeMedia(e, p)
	case llm.Call:
		if p.Hosted {
			g.encodeHostedPart(e, p.State, "hosted call")
		} else {
			g.encodeCall(e, p)
		}
	case llm.Result:
		if p.Hosted {
			g.encodeHostedPart(e, p.State, "hosted result")
		} else {
			g.encodeResult(e, p, calls)
		}
	}
}

// isSignature reports whether a state is a signature of a part, and not a
// whole part.
func isSignature(data json.RawMessage) bool {
	return onlyKey(data, "thoughtSignature") && len(data) > 2
}

func (g gemini) encodeText(e *encoder, t llm.Text) {
	data := e.own(t.State)
	switch {
	case t.Text == "" && data != nil && !isSignature(data):
		e.Raw(data)
		return
	case t.Text == "" && data == nil && !t.State.IsZero():
		e.lost(llm.Ignored, "opaque part", foreignPart(t.State))
		return
	}
	start := e.Object()
	e.StringField("text", t.Text)
	e.stateFields(t.State)
	if t.Refusal {
		e.lost(llm.Degraded, "refusal", "the gemini format does not mark text as a refusal")
	}
	for _, c := range t.Citations {
		if e.own(c.Raw) == nil { // its own are in the grounding metadata
			e.lost(llm.Ignored, "citations", "the gemini format takes its own citations only")
		}
	}
	e.end(start, t.Extra)
}

// encodeThinking writes thoughts. Only those that the vendor signed go back to
// it: it needs no others.
func (gemini) encodeThinking(e *encoder, t llm.Thinking, answer bool) {
	if e.own(t.State) == nil && (!answer || t.Redacted) {
		e.lost(llm.Ignored, "thinking", "the gemini format takes back thoughts that it signed only")
		return
	}
	start := e.Object()
	e.StringField("text", t.Text)
	e.BoolField("thought", true)
	e.stateFields(t.State)
	e.end(start, t.Extra)
}

// encodeMedia writes a medium. Only what a client of this format wrote has a name: the Gemini API refuses one, Vertex does not.
func (g gemini) encodeMedia(e *encoder, m llm.Media) {
	if e.foreignFile(m) {
		return
	}
	if nowhere(m) {
		for _, t := range e.saidNowhere([]llm.Part{m}) {
			g.encodePart(e, t, nil)
		}
		return
	}
	fields := e.ownExtra(m.Extra)
	name := fields[mediaName]
	if m.Name != "" && name == nil {
		e.lost(llm.Ignored, string(m.Kind)+" name", "the gemini format has no names of media")
	}
	start := e.Object()
	if len(m.Data) > 0 {
		e.Key("inlineData")
		e.Object()
		e.StringField("mimeType", geminiType(m))
		e.StringField("data", base64Text(m.Data))
	} else {
		e.Key("fileData")
		e.Object()
		e.optString("mimeType", geminiType(m))
		e.StringField("fileUri", cmp.Or(m.URL, m.ID))
	}
	e.optRaw("displayName", name)
	e.End()
	e.stateFields(m.State)
	e.endWith(start, without(fields, mediaName))
}

// geminiType returns the type of a medium. Of sounds, parameters say how they were sampled; elsewhere the vendor does not know them.
func geminiType(m llm.Media) string {
	if m.Kind == llm.Audio {
		return m.MIME
	}
	mime, _, _ := strings.Cut(m.MIME, ";")
	return strings.TrimSpace(mime)
}

// mediaName keeps that a client of this format named a medium.
const mediaName = restated + "displayName"

func (gemini) encodeCall(e *encoder, c llm.Call) {
	start := e.Object()
	e.Key("functionCall")
	inner := e.Object()
	if !e.c.Quirks.NoCallIDs {
		e.optString("id", c.ID)
	}
	e.StringField("name", c.Name)
	e.RawField("args", e.argsObject(c))
	outer := e.splitExtra(inner, c.Extra)
	e.stateFields(c.State)
	e.endWith(start, outer)
}

func (gemini) encodeHostedPart(e *encoder, s llm.State, what string) {
	if raw := e.own(s); raw != nil {
		e.Raw(raw)
	} else {
		e.lost(llm.Ignored, what, "another vendor ran it")
	}
}

// encodeResult writes a result. Its text is a string, never JSON of its own:
// keywords like $ref in a result are refused by the vendor.
func (g gemini) encodeResult(e *encoder, r llm.Result, calls map[string]llm.Call) {
	start := e.Object()
	e.Key("functionResponse")
	inner := e.Object()
	r.Parts = e.saidNowhere(e.resultParts(e.shown(r.Parts)))
	if !e.c.Quirks.NoCallIDs {
		e.optString("id", r.CallID)
	}
	e.StringField("name", cmp.Or(r.Name, calls[r.CallID].Name))
	g.encodeOutput(e, r)
	var media []llm.Media
	for _, p := range r.Parts {
		if m, ok := p.(llm.Media); ok {
			media = append(media, m)
		}
	}
	if len(media) > 0 {
		e.Key("parts")
		e.Array()
		for _, m := range media {
			g.encodeMedia(e, m)
		}
		e.EndArray()
	}
	outer := e.splitExtra(inner, r.Extra)
	e.endWith(start, outer)
}

func (gemini) encodeOutput(e *encoder, r llm.Result) {
	if raw := js.Get(e.own(r.State), "response"); raw != nil {
		e.RawField("response", raw)
		return
	}
	var texts []string
	for _, p := range r.Parts {
		if t, ok := p.(llm.Text); ok {
			texts = append(texts, t.Text)
		}
	}
	key := "output"
	if r.Failed {
		key = "error"
	}
	e.Key("response")
	e.Object()
	switch len(texts) {
	case 0:
		e.StringField(key, "")
	case 1:
		e.StringField(key, texts[0])
	default:
		e.strings(key, texts)
	}
	e.End()
}

// Decoding.

func (g gemini) decodeContents(d *decoder, v []byte, req *llm.Request, calls *callMatcher) {
	if js.Kind(v) == '{' { // one content instead of a list
		g.decodeContent(d, v, req, calls)
		return
	}
	for el := range d.objects(v) {
		g.decodeContent(d, el, req, calls)
	}
}

var geminiRoles = map[string]llm.Role{"user": llm.RoleUser, "model": llm.RoleAssistant, "function": llm.RoleUser, "": llm.RoleUser}

func (g gemini) decodeContent(d *decoder, v []byte, req *llm.Request, calls *callMatcher) {
	m := llm.Message{Role: llm.RoleUser}
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "role":
			role, ok := geminiRoles[d.str(val)]
			if !ok {
				d.want(val, "user or model")
			}
			m.Role = role
		case "parts":
			m.Parts = g.decodeParts(d, val)
		default:
			d.extra(&m.Extra, key, val)
		}
	}
	calls.match(m.Role, m.Parts)
	req.Messages = append(req.Messages, splitResults(m)...)
}

// decodeParts reads a list of parts, or one instead of a list.
func (g gemini) decodeParts(d *decoder, v []byte) []llm.Part {
	if js.Kind(v) == '{' {
		return []llm.Part{g.decodePart(d, v)}
	}
	var parts []llm.Part
	for el := range d.objects(v) {
		parts = append(parts, g.decodePart(d, el))
	}
	return parts
}

// decodePart reads a part: the member that says what it is, and those that
// stand beside it.
func (g gemini) decodePart(d *decoder, v []byte) llm.Part {
	var kind string
	var body []byte
	var signature fields
	var extra llm.Extra
	thought := false
	for key, val := range d.members(v) {
		switch name := string(camel(key)); name {
		case "thought":
			thought = d.boolean(val)
		case "thoughtSignature":
			if d.oneOf(val, `"`, "a string") {
				signature.add([]byte(name), val)
			}
		case "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse":
			kind, body = name, val
		default:
			d.extra(&extra, key, val)
		}
	}
	var state llm.State
	if data := signature.object(); data != nil {
		state = d.state(data)
	}
	switch kind {
	case "text":
		if thought {
			return llm.Thinking{Text: d.str(body), State: state, Extra: extra}
		}
		return llm.Text{Text: d.str(body), State: state, Extra: extra}
	case "inlineData", "fileData":
		m := g.decodeMedia(d, body)
		m.State = state
		for key, val := range extra[d.c.Format] {
			d.extraNamed(&m.Extra, key, val)
		}
		d.unread(&m.Extra, body, geminiMedia, kind)
		return m
	case "functionCall":
		return g.decodeCall(d, body, state, extra)
	case "functionResponse":
		return g.decodeResult(d, body, extra)
	case "executableCode", "toolCall":
		return g.decodeHostedCall(d, v, kind, body)
	case "codeExecutionResult", "toolResponse":
		return g.decodeHostedResult(d, v, kind, body)
	}
	if state.IsZero() {
		return d.opaque(v)
	}
	return llm.Text{State: state, Extra: extra}
}

func (gemini) decodeMedia(d *decoder, v []byte) llm.Media {
	var m llm.Media
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "mimeType":
			m.MIME = lowerType(d.str(val))
		case "data":
			m.Data = d.data(val)
		case "fileUri":
			m.URL = d.str(val)
		case "displayName":
			if m.Name = d.str(val); m.Name != "" {
				d.extraNamed(&m.Extra, mediaName, val)
			}
		}
	}
	m.Kind = mediaKind(cmp.Or(m.MIME, bareType(m)))
	return m
}

func (gemini) decodeCall(d *decoder, v []byte, state llm.State, extra llm.Extra) llm.Call {
	c := llm.Call{State: state, Extra: extra}
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "id":
			c.ID = d.str(val)
		case "name":
			c.Name = d.str(val)
		case "args":
			c.Args = d.args(val)
		case "partialArgs":
			d.want(val, "absent: arguments in pieces cannot be read")
		default:
			d.extraNamed(&c.Extra, innerPrefix+string(key), val)
		}
	}
	c.Args = objectOf(c.Args)
	return c
}

func (g gemini) decodeResult(d *decoder, v []byte, extra llm.Extra) llm.Result {
	r := llm.Result{Extra: extra}
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "id":
			r.CallID = d.str(val)
		case "name":
			r.Name = d.str(val)
		case "response":
			g.decodeOutput(d, val, &r)
		case "parts":
			for el := range d.elements(val) {
				if m, ok := g.decodePart(d, el).(llm.Media); ok {
					r.Parts = append(r.Parts, m)
				} else if d.asking {
					d.want(el, "inlineData or fileData")
				}
			}
		default:
			d.extraNamed(&r.Extra, innerPrefix+string(key), val)
		}
	}
	return r
}

// decodeOutput reads the text of a result. An object that we would not have
// written stays in the state as it is, and its JSON is the text.
func (gemini) decodeOutput(d *decoder, v []byte, r *llm.Result) {
	output, failure := d.get(v, "output"), d.get(v, "error")
	value := output
	if failure != nil {
		value, r.Failed = failure, true
	}
	kind := js.Kind(value)
	ours := kind == '"' || kind == '['
	for el := range js.Elements(value) {
		ours = ours && js.Kind(el) == '"'
	}
	if !ours || !(onlyKey(v, "output") || onlyKey(v, "error")) {
		r.Parts = append(r.Parts, llm.Text{Text: string(v)})
		r.State = d.state(append(append([]byte(`{"response":`), v...), '}'))
		return
	}
	for _, s := range d.strings(value) {
		if s != "" || kind == '[' {
			r.Parts = append(r.Parts, llm.Text{Text: s})
		}
	}
}

func (gemini) decodeHostedCall(d *decoder, v []byte, kind string, body []byte) llm.Call {
	c := llm.Call{ID: d.str(d.camelGet(body, "id")), Name: "code_execution", Hosted: true, State: d.state(v)}
	if kind == "toolCall" {
		c.Name = d.str(d.camelGet(body, "toolType"))
		c.Args = objectOf(d.raw(d.camelGet(body, "args")))
		return c
	}
	c.Args = d.raw(body)
	return c
}

func (gemini) decodeHostedResult(d *decoder, v []byte, kind string, body []byte) llm.Result {
	r := llm.Result{CallID: d.str(d.camelGet(body, "id")), Name: "code_execution", Hosted: true, State: d.state(v)}
	text := d.str(d.camelGet(body, "output"))
	if kind == "toolResponse" {
		r.Name = d.str(d.camelGet(body, "toolType"))
		text = string(d.camelGet(body, "response"))
	} else if outcome := d.camelGet(body, "outcome"); outcome != nil {
		r.Failed = !js.Is(outcome, "OUTCOME_OK")
	}
	if text != "" {
		r.Parts = []llm.Part{llm.Text{Text: text}}
	}
	return r
}
