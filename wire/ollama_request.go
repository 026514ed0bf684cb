package wire

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (o ollama) encodeRequest(e *encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.optString("model", req.Model)
	e.Key("messages")
	e.Array()
	if req.System != "" {
		e.Object()
		e.StringField("role", "system")
		e.StringField("content", req.System)
		e.End()
	}
	calls := callsByID(req.Messages)
	e.turns(req.Messages, func(turn []llm.Message) {
		for _, m := range turn {
			o.encodeMessage(e, m, calls)
		}
	})
	e.EndArray()
	o.encodeTools(e, req)
	if req.Output != nil {
		e.Key("format")
		if len(req.Output.Schema) > 0 {
			e.Raw(req.Output.Schema)
		} else {
			e.Text("json")
		}
	}
	o.encodeThink(e, req.Reasoning)
	e.BoolField("stream", stream)
	o.encodeOptions(e, req)
	e.endWith(start, without(e.ownExtra(req.Extra), "options"))
}

func (ollama) encodeThink(e *encoder, r *llm.Reasoning) {
	switch {
	case r == nil:
	case r.Off:
		e.BoolField("think", false)
	case r.Effort != "":
		e.StringField("think", r.Effort)
	default:
		e.BoolField("think", true)
	}
	e.unsupported(r != nil && r.Budget != 0, "reasoning.budget")
	e.unsupported(r != nil && r.Summary != "", "reasoning.summary")
}

func (ollama) encodeOptions(e *encoder, req *llm.Request) {
	e.Key("options")
	start := e.Object()
	e.optFloat("temperature", req.Temperature)
	e.optFloat("top_p", req.TopP)
	if req.TopK != nil {
		e.IntField("top_k", *req.TopK)
	}
	e.optInt("num_predict", req.MaxTokens)
	e.optFloat("frequency_penalty", req.FrequencyPenalty)
	e.optFloat("presence_penalty", req.PresencePenalty)
	if req.Seed != nil {
		e.Key("seed")
		e.Int(*req.Seed)
	}
	e.optStrings("stop", req.Stop)
	e.rest(start, req.Extra[e.c.Format]["options"])
}

// encodeTools offers the tools. The format has no choice: what must not be
// called is not offered, and nothing can be forced.
func (o ollama) encodeTools(e *encoder, req *llm.Request) {
	ch := req.Choice
	tools := e.offered(req)
	e.unsupported(ch.Mode == llm.MustCall, "tool_choice")
	e.unsupported(req.OneCall, "parallel_tool_calls")
	if ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0 {
		if len(tools) > 0 {
			e.lost(llm.Degraded, "tool_choice", "the ollama format cannot forbid calls; the tools are not offered")
		}
		return
	}
	if len(tools) == 0 {
		return
	}
	e.Key("tools")
	e.Array()
	for _, t := range tools {
		o.encodeTool(e, t)
	}
	e.EndArray()
}

func (o ollama) encodeTool(e *encoder, t llm.ToolDef) {
	e.unsupported(t.Strict != nil && *t.Strict, "strict")
	e.unsupported(len(t.Examples) > 0, "examples")
	if t.Kind == llm.HostedTool {
		e.refuse("the ollama format has no hosted tool %q", t.Name)
		return
	}
	start := e.Object()
	e.StringField("type", "function")
	e.Key("function")
	inner := e.Object()
	e.StringField("name", t.Name)
	e.optString("description", t.Description)
	switch {
	case t.Kind == llm.FreeTool:
		e.RawField("parameters", e.freeSchema(t))
	case len(t.Schema) > 0:
		e.RawField("parameters", t.Schema)
	default:
		e.RawField("parameters", []byte(`{"type":"object","properties":{}}`))
	}
	outer := e.splitExtra(inner, t.Extra)
	e.endWith(start, outer)
}

func (o ollama) encodeMessage(e *encoder, m llm.Message, calls map[string]llm.Call) {
	if m.Role == llm.RoleTool {
		o.encodeResults(e, m, calls)
		return
	}
	role := string(m.Role)
	if m.Role == llm.RoleDeveloper {
		role = "system"
		e.lost(llm.Degraded, "developer", "the ollama format calls developers system")
	}
	mark := len(e.Buf)
	start := e.Object()
	e.StringField("role", role)
	o.encodeAssistant(e, m.Parts, "\n", false)
	e.end(start, m.Extra)
	e.dropUnsaid(mark, m)
}

// encodeAssistant writes the parts of a message of any role, whose texts are
// joined into one.
func (o ollama) encodeAssistant(e *encoder, parts []llm.Part, joint string, answer bool) {
	var texts []string
	var thought strings.Builder
	var images []llm.Media
	var calls []llm.Call
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if _, opaque := e.opaque(p); opaque {
				continue
			}
			texts = append(texts, p.Text)
			e.unsupported(len(p.Citations) > 0, "citations")
			e.unsupported(p.Refusal, "refusal")
			e.ownExtra(p.Extra)
			if len(calls) > 0 && !answer {
				e.lost(llm.Degraded, "order", "the ollama format puts text before calls")
			}
		case llm.Thinking:
			joinThinking(&thought, p)
			e.unsupported(p.Redacted, "thinking")
			if !p.Redacted && !p.State.IsZero() {
				e.lost(llm.Ignored, "signature", "the state of thinking can be read by "+p.State.Vendor+" only")
			}
		case llm.Media:
			if p.Kind == llm.Image && len(p.Data) > 0 {
				images = append(images, p)
			} else if t, said := e.saidDocument(p); said && !answer {
				texts = append(texts, t.Text)
			} else {
				e.lost(llm.Ignored, string(p.Kind), "the ollama format takes the bytes of images only")
			}
		case llm.Call:
			if p.Hosted {
				e.lost(llm.Ignored, "hosted call", "the ollama format has no place for calls the provider ran")
			} else {
				calls = append(calls, p)
			}
		case llm.Result:
			e.lost(llm.Ignored, "hosted result", "the ollama format has no place for results the provider made")
		}
	}
	if len(texts) > 1 && joint != "" {
		e.lost(llm.Degraded, "text parts", "the ollama format has one text a message; they are joined")
	}
	e.StringField("content", strings.Join(texts, joint))
	e.optString("thinking", thought.String())
	o.encodeImages(e, images)
	o.encodeCalls(e, calls)
}

func (ollama) encodeImages(e *encoder, images []llm.Media) {
	if len(images) == 0 {
		return
	}
	e.Key("images")
	e.Array()
	for _, m := range images {
		e.Text(base64Text(m.Data))
	}
	e.EndArray()
}

func (ollama) encodeCalls(e *encoder, calls []llm.Call) {
	if len(calls) == 0 {
		return
	}
	e.Key("tool_calls")
	e.Array()
	for _, c := range calls {
		start := e.Object()
		if !e.c.Quirks.NoCallIDs {
			e.optString("id", c.ID)
		}
		e.Key("function")
		inner := e.Object()
		e.StringField("name", c.Name)
		e.RawField("arguments", e.argsObject(c))
		outer := e.splitExtra(inner, c.Extra)
		e.endWith(start, outer)
	}
	e.EndArray()
}

func (o ollama) encodeResults(e *encoder, m llm.Message, calls map[string]llm.Call) {
	var moved []llm.Part
	for _, p := range m.Parts {
		r, ok := p.(llm.Result)
		if !ok {
			moved = append(moved, p)
			continue
		}
		r.Parts = o.takenParts(e, e.resultParts(e.shown(r.Parts)))
		for _, p := range r.Parts {
			if _, ok := p.(llm.Media); ok {
				moved = append(moved, p)
			}
		}
		start := e.Object()
		e.StringField("role", "tool")
		e.StringField("content", r.Text())
		if len(r.Parts) > 1 {
			e.lost(llm.Degraded, "text parts", "the ollama format has one text a result; they are joined")
		}
		e.optString("tool_name", cmp.Or(r.Name, calls[r.CallID].Name))
		if !e.c.Quirks.NoCallIDs {
			e.optString("tool_call_id", r.CallID)
		}
		e.end(start, r.Extra)
		if r.Failed {
			e.lost(llm.Degraded, "failed", "the ollama format cannot mark a result as failed; its text has to say so")
		}
	}
	if len(moved) > 0 {
		e.lost(llm.Degraded, "media in results", "the ollama format takes text in results only; the rest follows in a message of the user")
		o.encodeMessage(e, llm.Message{Role: llm.RoleUser, Parts: moved}, calls)
	}
	e.ownExtra(m.Extra)
}

// takenParts returns the parts of a result that the format takes somewhere, documents that are text as text, and names the others.
func (ollama) takenParts(e *encoder, parts []llm.Part) []llm.Part {
	var out []llm.Part
	for _, p := range parts {
		m, is := p.(llm.Media)
		if !is || m.Kind == llm.Image && len(m.Data) > 0 {
			out = append(out, p)
		} else if t, said := e.saidDocument(m); said {
			out = append(out, t)
		} else {
			e.lost(llm.Ignored, string(m.Kind), "the ollama format takes the bytes of images only")
		}
	}
	if len(out) == 0 && !saysNothing(parts) {
		out = append(out, llm.Text{Text: notShown})
	}
	return out
}

// Decoding.

func (o ollama) decodeRequest(d *decoder, body []byte, req *llm.Request) (stream bool) {
	if d.c.Quirks.Prompt {
		body = o.chatOfPrompt(d, body)
	}
	stream = true // unless the client says otherwise
	calls := &callMatcher{}
	for key, v := range d.members(body) {
		switch string(key) {
		case "model":
			req.Model = d.str(v)
		case "messages":
			o.decodeMessages(d, v, req, calls)
		case "tools":
			chat{}.decodeTools(d, v, req)
		case "format":
			req.Output = o.decodeFormat(d, v)
		case "think":
			if js.Kind(v) == '"' {
				req.Reasoning = &llm.Reasoning{Effort: d.text(v)}
			} else if js.Kind(v) != 'n' {
				req.Reasoning = &llm.Reasoning{Off: !d.boolean(v)}
			}
		case "stream":
			stream = js.Kind(v) == 'n' || d.boolean(v)
		case "options":
			o.decodeOptions(d, v, req)
		default:
			d.extra(&req.Extra, key, v)
		}
	}
	return stream
}

// decodeFormat reads what form the answer has to have, nil if any.
func (ollama) decodeFormat(d *decoder, v []byte) *llm.OutputFormat {
	switch {
	case js.Is(v, "json"):
		return new(llm.OutputFormat)
	case js.Is(v, ""): // as many clients say nothing
	case d.is(v, '{', `"json" or a schema`) && len(v) > 2:
		return &llm.OutputFormat{Schema: d.raw(v)}
	}
	return nil
}

func (ollama) decodeOptions(d *decoder, v []byte, req *llm.Request) {
	var rest fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "num_predict":
			req.MaxTokens = max(0, d.integer(val)) // below 0 means no limit
		case "top_k":
			if d.is(val, '0', "an integer") {
				n := d.integer(val)
				req.TopK = &n
			}
		case "model":
			rest.add(key, val)
		default:
			if !d.common(req, key, val) {
				rest.add(key, val)
			}
		}
	}
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, "options", more)
	}
}

func (o ollama) decodeMessages(d *decoder, v []byte, req *llm.Request, calls *callMatcher) {
	for el := range d.objects(v) {
		m := o.decodeMessage(d, el)
		calls.match(m.Role, m.Parts)
		n := len(req.Messages)
		text, plain := plainText(m.Parts)
		switch {
		case n == 0 && req.System == "" && m.Role == llm.RoleSystem && plain && m.Extra == nil:
			req.System = text
		case m.Role == llm.RoleTool && n > 0 && req.Messages[n-1].Role == llm.RoleTool:
			req.Messages[n-1].Parts = append(req.Messages[n-1].Parts, m.Parts...)
		default:
			req.Messages = append(req.Messages, m)
		}
	}
}

func (o ollama) decodeMessage(d *decoder, v []byte) llm.Message {
	word := d.get(v, "role")
	role, ok := chatRoles[d.str(word)]
	if !ok {
		if word == nil {
			word = v
		}
		d.want(word, "a role: system, user, assistant or tool")
	}
	m := llm.Message{Role: role}
	if role == llm.RoleTool {
		m.Parts = []llm.Part{o.decodeResult(d, v)}
		return m
	}
	var thinking, text string
	var images, calls []llm.Part
	for key, val := range d.members(v) {
		switch string(key) {
		case "role":
		case "content":
			text = d.str(val)
		case "thinking":
			thinking = d.str(val)
		case "images":
			for el := range d.elements(val) {
				d.element(el, '"', "base64")
				images = append(images, o.decodeImage(d, el))
			}
		case "tool_calls":
			for el := range d.objects(val) {
				calls = append(calls, o.decodeCall(d, el))
			}
		default:
			d.extra(&m.Extra, key, val)
		}
	}
	if thinking != "" {
		m.Parts = append(m.Parts, llm.Thinking{Text: thinking})
	}
	if text != "" {
		m.Parts = append(m.Parts, llm.Text{Text: text})
	}
	m.Parts = append(append(m.Parts, images...), calls...)
	return m
}

func (ollama) decodeResult(d *decoder, v []byte) llm.Result {
	var r llm.Result
	for key, val := range d.members(v) {
		switch string(key) {
		case "role":
		case "content":
			if s := d.str(val); s != "" {
				r.Parts = []llm.Part{llm.Text{Text: s}}
			}
		case "tool_name":
			r.Name = d.str(val)
		case "tool_call_id":
			r.CallID = d.str(val)
		default:
			d.extra(&r.Extra, key, val)
		}
	}
	return r
}

// decodeImage finds the type of an image in its bytes: the format does not
// say it.
func (ollama) decodeImage(d *decoder, v []byte) llm.Media {
	data := d.data(v)
	return llm.Media{Kind: llm.Image, MIME: http.DetectContentType(data), Data: data}
}

func (ollama) decodeCall(d *decoder, v []byte) llm.Call {
	var c llm.Call
	for key, val := range d.members(v) {
		switch string(key) {
		case "id":
			c.ID = d.str(val)
		case "type":
			d.oneOf(val, `"`, "a string")
		case "function":
			for key, val := range d.members(val) {
				switch string(key) {
				case "name":
					c.Name = d.str(val)
				case "arguments":
					c.Args = d.ollamaArgs(val)
				case "index":
					d.oneOf(val, "0", "an integer")
				default:
					d.extraNamed(&c.Extra, innerPrefix+string(key), val)
				}
			}
		default:
			d.extra(&c.Extra, key, val)
		}
	}
	c.Args = objectOf(c.Args)
	return c
}

// ollamaArgs reads the arguments of a call. Servers that copy the chat format
// write them as a string.
func (d *decoder) ollamaArgs(v []byte) json.RawMessage {
	if js.Kind(v) != '"' {
		return d.args(v)
	}
	text := js.Trim([]byte(d.text(v)))
	if d.asking && len(text) > 0 && (js.Kind(text) != '{' || !js.Valid(text)) {
		d.want(v, "an object")
	}
	return text
}
