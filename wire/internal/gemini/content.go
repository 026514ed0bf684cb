package gemini

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/mediatype"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func encodeMessages(e *codec.Encoder, list []llm.Message, calls map[string]llm.Call) {
	e.Turns(list, func(turn []llm.Message) {
		for _, m := range turn {
			encodeMessage(e, m, calls)
		}
	})
}

func encodeMessage(e *codec.Encoder, m llm.Message, calls map[string]llm.Call) {
	role := "user"
	switch m.Role {
	case llm.RoleAssistant:
		role = "model"
	case llm.RoleSystem, llm.RoleDeveloper:
		e.Lost(llm.Degraded, "system", "the gemini format takes instructions before all messages only; this one is said by the user")
	}
	mark := len(e.Buf)
	start := e.Object()
	e.StringField("role", role)
	e.ArrayField("parts")
	for _, p := range m.Parts {
		if s, plain := codec.PlainText([]llm.Part{p}); !plain || s != "" { // Vertex refuses empty text
			encodePart(e, p, calls)
		}
	}
	e.EndArray()
	e.EndExtra(start, m.Extra)
	if len(m.Parts) > 0 {
		e.DropEmpty(mark, `"parts":[]}`)
	}
}

func encodePart(e *codec.Encoder, p llm.Part, calls map[string]llm.Call) {
	switch p := p.(type) {
	case llm.Text:
		encodeText(e, p)
	case llm.Thinking:
		encodeThinking(e, p, false)
	case llm.Media:
		encodeMedia(e, p)
	case llm.Call:
		if p.Hosted {
			encodeHostedPart(e, p.State, "hosted call")
		} else {
			encodeCall(e, p)
		}
	case llm.Result:
		if p.Hosted {
			encodeHostedPart(e, p.State, "hosted result")
		} else {
			encodeResult(e, p, calls)
		}
	}
}

// isSignature reports whether a state is a signature of a part, and not a
// whole part.
func isSignature(data json.RawMessage) bool {
	return codec.OnlyKey(data, "thoughtSignature") && len(data) > 2
}

func encodeText(e *codec.Encoder, t llm.Text) {
	data := e.OwnState(t.State)
	switch {
	case t.Text == "" && data != nil && !isSignature(data):
		e.Raw(data)
		return
	case t.Text == "" && data == nil && !t.State.IsZero():
		e.Lost(llm.Ignored, "opaque part", loss.ForeignPart(t.State))
		return
	}
	start := e.Object()
	e.StringField("text", t.Text)
	e.StateFields(t.State)
	if t.Refusal {
		e.Lost(llm.Degraded, "refusal", "the gemini format does not mark text as a refusal")
	}
	for _, c := range t.Citations {
		if e.OwnState(c.Raw) == nil { // its own are in the grounding metadata
			e.Lost(llm.Ignored, "citations", "the gemini format takes its own citations only")
		}
	}
	e.EndExtra(start, t.Extra)
}

// encodeThinking writes thoughts. Only signed thoughts go back to the vendor, which needs no others.
func encodeThinking(e *codec.Encoder, t llm.Thinking, answer bool) {
	if e.OwnState(t.State) == nil && (!answer || t.Redacted) {
		e.Lost(llm.Ignored, "thinking", "the gemini format takes back thoughts that it signed only")
		return
	}
	start := e.Object()
	e.StringField("text", t.Text)
	e.BoolField("thought", true)
	e.StateFields(t.State)
	e.EndExtra(start, t.Extra)
}

// encodeMedia writes a medium. Only what a client of this format wrote has a name: the Gemini API refuses one, Vertex does not.
func encodeMedia(e *codec.Encoder, m llm.Media) {
	if e.ForeignFile(m) {
		return
	}
	if codec.HasNoSource(m) {
		for _, t := range e.WithoutEmptyMedia([]llm.Part{m}) {
			encodePart(e, t, nil)
		}
		return
	}
	fields := e.OwnExtra(m.Extra)
	name := fields[mediaName]
	if m.Name != "" && name == nil {
		e.Lost(llm.Ignored, string(m.Kind)+" name", "the gemini format has no names of media")
	}
	start := e.Object()
	if len(m.Data) > 0 {
		e.ObjectField("inlineData")
		e.StringField("mimeType", geminiType(m))
		e.StringField("data", codec.Base64Text(m.Data))
	} else {
		e.ObjectField("fileData")
		e.OptString("mimeType", geminiType(m))
		e.StringField("fileUri", cmp.Or(m.URL, m.ID))
	}
	e.OptRaw("displayName", name)
	e.End()
	e.StateFields(m.State)
	e.EndFields(start, codec.OmitFields(fields, mediaName))
}

// geminiType returns the type of a medium. Only audio types keep their parameters, which describe the sampling.
func geminiType(m llm.Media) string {
	if m.Kind == llm.Audio {
		return m.MIME
	}
	mime, _, _ := strings.Cut(m.MIME, ";")
	return strings.TrimSpace(mime)
}

// mediaName keeps that a client of this format named a medium.
const mediaName = loss.Restated + "displayName"

func encodeCall(e *codec.Encoder, c llm.Call) {
	start := e.Object()
	inner := e.ObjectField("functionCall")
	if !e.Host.Quirks.NoCallIDs {
		e.OptString("id", c.ID)
	}
	e.StringField("name", c.Name)
	e.RawField("args", e.ArgsObject(c))
	outer := e.SplitExtra(inner, c.Extra)
	e.StateFields(c.State)
	e.EndFields(start, outer)
}

func encodeHostedPart(e *codec.Encoder, s llm.State, what string) {
	if raw := e.OwnState(s); raw != nil {
		e.Raw(raw)
	} else {
		e.Lost(llm.Ignored, what, "another vendor ran it")
	}
}

// encodeResult writes a result. Its text is always a string, because the vendor refuses results with JSON keywords like
// $ref.
func encodeResult(e *codec.Encoder, r llm.Result, calls map[string]llm.Call) {
	start := e.Object()
	inner := e.ObjectField("functionResponse")
	r.Parts = e.WithoutEmptyMedia(e.ResultParts(e.ReadableParts(r.Parts)))
	if !e.Host.Quirks.NoCallIDs {
		e.OptString("id", r.CallID)
	}
	e.StringField("name", cmp.Or(r.Name, calls[r.CallID].Name))
	encodeOutput(e, r)
	var media []llm.Media
	for _, p := range r.Parts {
		if m, ok := p.(llm.Media); ok {
			media = append(media, m)
		}
	}
	if len(media) > 0 {
		e.ArrayField("parts")
		for _, m := range media {
			encodeMedia(e, m)
		}
		e.EndArray()
	}
	outer := e.SplitExtra(inner, r.Extra)
	e.EndFields(start, outer)
}

func encodeOutput(e *codec.Encoder, r llm.Result) {
	if raw := js.Get(e.OwnState(r.State), "response"); raw != nil {
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
	e.ObjectField("response")
	switch len(texts) {
	case 0:
		e.StringField(key, "")
	case 1:
		e.StringField(key, texts[0])
	default:
		e.StringsField(key, texts)
	}
	e.End()
}

// Decoding.

func decodeContents(d *codec.Decoder, v []byte, req *llm.Request, calls *turns.CallMatcher) {
	if js.Kind(v) == '{' { // one content instead of a list
		decodeContent(d, v, req, calls)
		return
	}
	for el := range d.Objects(v) {
		decodeContent(d, el, req, calls)
	}
}

var roles = map[string]llm.Role{"user": llm.RoleUser, "model": llm.RoleAssistant, "function": llm.RoleUser, "": llm.RoleUser}

func decodeContent(d *codec.Decoder, v []byte, req *llm.Request, calls *turns.CallMatcher) {
	m := llm.Message{Role: llm.RoleUser}
	for key, val := range d.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "role":
			role, ok := roles[d.Str(val)]
			if !ok {
				d.Want(val, "user or model")
			}
			m.Role = role
		case "parts":
			m.Parts = decodeParts(d, val)
		default:
			d.Extra(&m.Extra, key, val)
		}
	}
	calls.Match(m.Role, m.Parts)
	req.Messages = append(req.Messages, codec.SplitResults(m)...)
}

// decodeParts reads a list of parts, or one instead of a list.
func decodeParts(d *codec.Decoder, v []byte) []llm.Part {
	if js.Kind(v) == '{' {
		return []llm.Part{decodePart(d, v)}
	}
	var parts []llm.Part
	for el := range d.Objects(v) {
		parts = append(parts, decodePart(d, el))
	}
	return parts
}

// decodePart reads a part: the member for its kind, and the others.
func decodePart(d *codec.Decoder, v []byte) llm.Part {
	var kind string
	var body []byte
	var signature codec.Fields
	var extra llm.Extra
	thought := false
	for key, val := range d.Members(v) {
		switch name := string(codec.CamelCase(key)); name {
		case "thought":
			thought = d.Boolean(val)
		case "thoughtSignature":
			if d.OneOf(val, `"`, "a string") {
				signature.Add([]byte(name), val)
			}
		case "text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse":
			kind, body = name, val
		default:
			d.Extra(&extra, key, val)
		}
	}
	var state llm.State
	if data := signature.Object(); data != nil {
		state = d.State(data)
	}
	switch kind {
	case "text":
		if thought {
			return llm.Thinking{Text: d.Str(body), State: state, Extra: extra}
		}
		return llm.Text{Text: d.Str(body), State: state, Extra: extra}
	case "inlineData", "fileData":
		m := decodeMedia(d, body)
		m.State = state
		for key, val := range extra[d.Host.Format] {
			d.ExtraField(&m.Extra, key, val)
		}
		d.KeepUnread(&m.Extra, body, geminiMedia, kind)
		return m
	case "functionCall":
		return decodeCall(d, body, state, extra)
	case "functionResponse":
		return decodeResult(d, body, extra)
	case "executableCode", "toolCall":
		return decodeHostedCall(d, v, kind, body)
	case "codeExecutionResult", "toolResponse":
		return decodeHostedResult(d, v, kind, body)
	}
	if state.IsZero() {
		return d.Opaque(v)
	}
	return llm.Text{State: state, Extra: extra}
}

func decodeMedia(d *codec.Decoder, v []byte) llm.Media {
	var m llm.Media
	for key, val := range d.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "mimeType":
			m.MIME = codec.LowerType(d.Str(val))
		case "data":
			m.Data = d.Data(val)
		case "fileUri":
			m.URL = d.Str(val)
		case "displayName":
			if m.Name = d.Str(val); m.Name != "" {
				d.ExtraField(&m.Extra, mediaName, val)
			}
		}
	}
	m.Kind = codec.MediaKind(cmp.Or(m.MIME, mediatype.BareType(m)))
	return m
}

func decodeCall(d *codec.Decoder, v []byte, state llm.State, extra llm.Extra) llm.Call {
	c := llm.Call{State: state, Extra: extra}
	for key, val := range d.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "id":
			c.ID = d.Str(val)
		case "name":
			c.Name = d.Str(val)
		case "args":
			c.Args = d.Args(val)
		case "partialArgs":
			d.Want(val, "absent: arguments in pieces cannot be read")
		default:
			d.ExtraField(&c.Extra, loss.InnerPrefix+string(key), val)
		}
	}
	c.Args = codec.ObjectOf(c.Args)
	return c
}

func decodeResult(d *codec.Decoder, v []byte, extra llm.Extra) llm.Result {
	r := llm.Result{Extra: extra}
	for key, val := range d.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "id":
			r.CallID = d.Str(val)
		case "name":
			r.Name = d.Str(val)
		case "response":
			decodeOutput(d, val, &r)
		case "parts":
			for el := range d.Elements(val) {
				if m, ok := decodePart(d, el).(llm.Media); ok {
					r.Parts = append(r.Parts, m)
				} else if d.IsRequest {
					d.Want(el, "inlineData or fileData")
				}
			}
		default:
			d.ExtraField(&r.Extra, loss.InnerPrefix+string(key), val)
		}
	}
	return r
}

// decodeOutput reads the text of a result. An object in another form than ours stays in the state unchanged, and its
// JSON is the text.
func decodeOutput(d *codec.Decoder, v []byte, r *llm.Result) {
	output, failure := d.Get(v, "output"), d.Get(v, "error")
	value := output
	if failure != nil {
		value, r.Failed = failure, true
	}
	kind := js.Kind(value)
	ours := kind == '"' || kind == '['
	for el := range js.Elements(value) {
		ours = ours && js.Kind(el) == '"'
	}
	if !ours || !(codec.OnlyKey(v, "output") || codec.OnlyKey(v, "error")) {
		r.Parts = append(r.Parts, llm.Text{Text: string(v)})
		r.State = d.State(append(append([]byte(`{"response":`), v...), '}'))
		return
	}
	for _, s := range d.Strings(value) {
		if s != "" || kind == '[' {
			r.Parts = append(r.Parts, llm.Text{Text: s})
		}
	}
}

func decodeHostedCall(d *codec.Decoder, v []byte, kind string, body []byte) llm.Call {
	c := llm.Call{ID: d.Str(getCamel(d, body, "id")), Name: "code_execution", Hosted: true, State: d.State(v)}
	if kind == "toolCall" {
		c.Name = d.Str(getCamel(d, body, "toolType"))
		c.Args = codec.ObjectOf(d.Raw(getCamel(d, body, "args")))
		return c
	}
	c.Args = d.Raw(body)
	return c
}

func decodeHostedResult(d *codec.Decoder, v []byte, kind string, body []byte) llm.Result {
	r := llm.Result{CallID: d.Str(getCamel(d, body, "id")), Name: "code_execution", Hosted: true, State: d.State(v)}
	text := d.Str(getCamel(d, body, "output"))
	if kind == "toolResponse" {
		r.Name = d.Str(getCamel(d, body, "toolType"))
		text = string(getCamel(d, body, "response"))
	} else if outcome := getCamel(d, body, "outcome"); outcome != nil {
		r.Failed = !js.Is(outcome, "OUTCOME_OK")
	}
	if text != "" {
		r.Parts = []llm.Part{llm.Text{Text: text}}
	}
	return r
}
