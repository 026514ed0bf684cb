package ollama

import (
	"cmp"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/chat"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

func (Format) EncodeRequest(e *codec.Encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.OptString("model", req.Model)
	e.ArrayField("messages")
	if req.System != "" {
		e.Object()
		e.StringField("role", "system")
		e.StringField("content", req.System)
		e.End()
	}
	calls := codec.CallsByID(req.Messages)
	e.Turns(req.Messages, func(turn []llm.Message) {
		for _, m := range turn {
			encodeMessage(e, m, calls)
		}
	})
	e.EndArray()
	encodeTools(e, req)
	if req.Output != nil {
		e.Key("format")
		if len(req.Output.Schema) > 0 {
			e.Raw(req.Output.Schema)
		} else {
			e.Text("json")
		}
	}
	encodeThink(e, req.Reasoning)
	e.BoolField("stream", stream)
	encodeOptions(e, req)
	e.EndFields(start, codec.OmitFields(e.OwnExtra(req.Extra), "options"))
}

func encodeThink(e *codec.Encoder, r *llm.Reasoning) {
	switch {
	case r == nil:
	case r.Off:
		e.BoolField("think", false)
	case r.Effort != "":
		e.StringField("think", r.Effort)
	default:
		e.BoolField("think", true)
	}
	e.Unsupported(r != nil && r.Tokens != 0, "reasoning.budget")
	e.Unsupported(r != nil && r.Summary != "", "reasoning.summary")
}

var settings = codec.Settings{
	{Feature: format.Temperature, Member: "temperature"}, {Feature: format.TopP, Member: "top_p"}, {Feature: format.TopK, Member: "top_k"},
	{Feature: format.MaxTokens, Member: "num_predict"}, {Feature: format.FrequencyPenalty, Member: "frequency_penalty"},
	{Feature: format.PresencePenalty, Member: "presence_penalty"}, {Feature: format.Seed, Member: "seed"}, {Feature: format.StopSequences, Member: "stop"},
}

func encodeOptions(e *codec.Encoder, req *llm.Request) {
	start := e.ObjectField("options")
	e.Settings(settings, req)
	e.EndRest(start, req.Extra[e.Host.Format]["options"])
}

// encodeTools writes the tools. The format lacks a tool choice: forbidden tools are not offered, and no call can be
// forced.
func encodeTools(e *codec.Encoder, req *llm.Request) {
	ch := req.Choice
	tools := e.OfferedTools(req)
	e.Unsupported(ch.Mode == llm.MustCall, "tool_choice")
	e.Unsupported(req.OneCall, "parallel_tool_calls")
	if ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0 {
		if len(tools) > 0 {
			e.Lost(llm.Degraded, "tool_choice", "the ollama format cannot forbid calls; the tools are not offered")
		}
		return
	}
	if len(tools) == 0 {
		return
	}
	e.ArrayField("tools")
	for _, t := range tools {
		encodeTool(e, t)
	}
	e.EndArray()
}

func encodeTool(e *codec.Encoder, t llm.ToolDef) {
	e.Unsupported(t.Strict != nil && *t.Strict, "strict")
	e.Unsupported(len(t.Examples) > 0, "examples")
	if t.Kind == llm.HostedTool {
		e.Refuse("the ollama format has no hosted tool %q", t.Name)
		return
	}
	start := e.Object()
	e.StringField("type", "function")
	inner := e.ObjectField("function")
	e.StringField("name", t.Name)
	e.OptString("description", t.Description)
	switch {
	case t.Kind == llm.FreeTool:
		e.RawField("parameters", e.FreeSchema(t))
	case len(t.Schema) > 0:
		e.RawField("parameters", t.Schema)
	default:
		e.RawField("parameters", []byte(`{"type":"object","properties":{}}`))
	}
	outer := e.SplitExtra(inner, t.Extra)
	e.EndFields(start, outer)
}

func encodeMessage(e *codec.Encoder, m llm.Message, calls map[string]llm.Call) {
	if m.Role == llm.RoleTool {
		encodeResults(e, m, calls)
		return
	}
	role := string(m.Role)
	if m.Role == llm.RoleDeveloper {
		role = "system"
		e.Lost(llm.Degraded, "developer", "the ollama format calls developers system")
	}
	mark := len(e.Buf)
	start := e.Object()
	e.StringField("role", role)
	encodeAssistant(e, m.Parts, "\n", false)
	e.EndExtra(start, m.Extra)
	e.DropUncarried(mark, m)
}

// encodeAssistant writes the parts of a message of any role, whose texts are
// joined into one.
func encodeAssistant(e *codec.Encoder, parts []llm.Part, joint string, answer bool) {
	var texts []string
	var thought strings.Builder
	var images []llm.Media
	var calls []llm.Call
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			if _, opaque := e.Opaque(p); opaque {
				continue
			}
			texts = append(texts, p.Text)
			e.Unsupported(len(p.Citations) > 0, "citations")
			e.Unsupported(p.Refusal, "refusal")
			e.OwnExtra(p.Extra)
			if len(calls) > 0 && !answer {
				e.Lost(llm.Degraded, "order", "the ollama format puts text before calls")
			}
		case llm.Thinking:
			codec.JoinThinking(&thought, p)
			e.Unsupported(p.Redacted, "thinking")
			if !p.Redacted && !p.State.IsZero() {
				e.Lost(llm.Ignored, "signature", "the state of thinking can be read by "+p.State.Vendor+" only")
			}
		case llm.Media:
			if p.Kind == llm.Image && len(p.Data) > 0 {
				images = append(images, p)
			} else if t, said := e.DocumentText(p); said && !answer {
				texts = append(texts, t.Text)
			} else {
				e.Lost(llm.Ignored, string(p.Kind), "the ollama format takes the bytes of images only")
			}
		case llm.Call:
			if p.Hosted {
				e.Lost(llm.Ignored, "hosted call", "the ollama format has no place for calls the provider ran")
			} else {
				calls = append(calls, p)
			}
		case llm.Result:
			e.Lost(llm.Ignored, "hosted result", "the ollama format has no place for results the provider made")
		}
	}
	if len(texts) > 1 && joint != "" {
		e.Lost(llm.Degraded, "text parts", "the ollama format has one text a message; they are joined")
	}
	e.StringField("content", strings.Join(texts, joint))
	e.OptString("thinking", thought.String())
	encodeImages(e, images)
	encodeCalls(e, calls)
}

func encodeImages(e *codec.Encoder, images []llm.Media) {
	if len(images) == 0 {
		return
	}
	e.ArrayField("images")
	for _, m := range images {
		e.Text(codec.Base64Text(m.Data))
	}
	e.EndArray()
}

func encodeCalls(e *codec.Encoder, calls []llm.Call) {
	if len(calls) == 0 {
		return
	}
	e.ArrayField("tool_calls")
	for _, c := range calls {
		start := e.Object()
		if !e.Host.Quirks.NoCallIDs {
			e.OptString("id", c.ID)
		}
		inner := e.ObjectField("function")
		e.StringField("name", c.Name)
		e.RawField("arguments", e.ArgsObject(c))
		outer := e.SplitExtra(inner, c.Extra)
		e.EndFields(start, outer)
	}
	e.EndArray()
}

func encodeResults(e *codec.Encoder, m llm.Message, calls map[string]llm.Call) {
	var moved []llm.Part
	for _, p := range m.Parts {
		r, ok := p.(llm.Result)
		if !ok {
			moved = append(moved, p)
			continue
		}
		r.Parts = takenParts(e, e.ResultParts(e.ReadableParts(r.Parts)))
		for _, p := range r.Parts {
			if _, ok := p.(llm.Media); ok {
				moved = append(moved, p)
			}
		}
		start := e.Object()
		e.StringField("role", "tool")
		e.StringField("content", r.Text())
		if len(r.Parts) > 1 {
			e.Lost(llm.Degraded, "text parts", "the ollama format has one text a result; they are joined")
		}
		e.OptString("tool_name", cmp.Or(r.Name, calls[r.CallID].Name))
		if !e.Host.Quirks.NoCallIDs {
			e.OptString("tool_call_id", r.CallID)
		}
		e.EndExtra(start, r.Extra)
		if r.Failed {
			e.Lost(llm.Degraded, "failed", "the ollama format cannot mark a result as failed; its text has to say so")
		}
	}
	if len(moved) > 0 {
		e.Lost(llm.Degraded, "media in results", "the ollama format takes text in results only; the rest follows in a message of the user")
		encodeMessage(e, llm.Message{Role: llm.RoleUser, Parts: moved}, calls)
	}
	e.OwnExtra(m.Extra)
}

// takenParts returns the parts of a result that the format takes somewhere, documents that are text as text, and names the others.
func takenParts(e *codec.Encoder, parts []llm.Part) []llm.Part {
	var out []llm.Part
	for _, p := range parts {
		m, is := p.(llm.Media)
		if !is || m.Kind == llm.Image && len(m.Data) > 0 {
			out = append(out, p)
		} else if t, said := e.DocumentText(m); said {
			out = append(out, t)
		} else {
			e.Lost(llm.Ignored, string(m.Kind), "the ollama format takes the bytes of images only")
		}
	}
	if len(out) == 0 && !codec.SaysNothing(parts) {
		out = append(out, llm.Text{Text: codec.NotShown})
	}
	return out
}

// Decoding.

func (Format) DecodeRequest(d *codec.Decoder, body []byte, req *llm.Request) (stream bool) {
	if d.Host.Quirks.Prompt {
		body = chatOfPrompt(d, body)
	}
	stream = true // unless the client says otherwise
	calls := &turns.CallMatcher{}
	for key, v := range d.Members(body) {
		switch string(key) {
		case "model":
			req.Model = d.Str(v)
		case "messages":
			decodeMessages(d, v, req, calls)
		case "tools":
			chat.DecodeTools(d, v, req)
		case "format":
			req.Output = decodeFormat(d, v)
		case "think":
			if js.Kind(v) == '"' {
				req.Reasoning = &llm.Reasoning{Effort: d.Text(v)}
			} else if js.Kind(v) != 'n' {
				req.Reasoning = &llm.Reasoning{Off: !d.Boolean(v)}
			}
		case "stream":
			stream = js.Kind(v) == 'n' || d.Boolean(v)
		case "options":
			decodeOptions(d, v, req)
		default:
			d.Extra(&req.Extra, key, v)
		}
	}
	return stream
}

// decodeFormat reads what form the answer has to have, nil if any.
func decodeFormat(d *codec.Decoder, v []byte) *llm.OutputFormat {
	switch {
	case js.Is(v, "json"):
		return new(llm.OutputFormat)
	case js.Is(v, ""): // as many clients say nothing
	case d.Is(v, '{', `"json" or a schema`) && len(v) > 2:
		return &llm.OutputFormat{Schema: d.Raw(v)}
	}
	return nil
}

func decodeOptions(d *codec.Decoder, v []byte, req *llm.Request) {
	var rest codec.Fields
	for key, val := range d.Members(v) {
		switch string(key) {
		case "num_predict":
			req.MaxTokens = max(0, d.Integer(val)) // below 0 means no limit
		default:
			if !d.Setting(settings, key, val, req) {
				rest.Add(key, val)
			}
		}
	}
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, "options", more)
	}
}

func decodeMessages(d *codec.Decoder, v []byte, req *llm.Request, calls *turns.CallMatcher) {
	for el := range d.Objects(v) {
		m := decodeMessage(d, el)
		calls.Match(m.Role, m.Parts)
		n := len(req.Messages)
		text, plain := codec.PlainText(m.Parts)
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

func decodeMessage(d *codec.Decoder, v []byte) llm.Message {
	word := d.Get(v, "role")
	role, ok := chat.Roles[d.Str(word)]
	if !ok {
		if word == nil {
			word = v
		}
		d.Want(word, "a role: system, user, assistant or tool")
	}
	m := llm.Message{Role: role}
	if role == llm.RoleTool {
		m.Parts = []llm.Part{decodeResult(d, v)}
		return m
	}
	var thinking, text string
	var images, calls []llm.Part
	for key, val := range d.Members(v) {
		switch string(key) {
		case "role":
		case "content":
			text = d.Str(val)
		case "thinking":
			thinking = d.Str(val)
		case "images":
			for el := range d.Elements(val) {
				d.Element(el, '"', "base64")
				images = append(images, decodeImage(d, el))
			}
		case "tool_calls":
			for el := range d.Objects(val) {
				calls = append(calls, decodeCall(d, el))
			}
		default:
			d.Extra(&m.Extra, key, val)
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

func decodeResult(d *codec.Decoder, v []byte) llm.Result {
	var r llm.Result
	for key, val := range d.Members(v) {
		switch string(key) {
		case "role":
		case "content":
			if s := d.Str(val); s != "" {
				r.Parts = []llm.Part{llm.Text{Text: s}}
			}
		case "tool_name":
			r.Name = d.Str(val)
		case "tool_call_id":
			r.CallID = d.Str(val)
		default:
			d.Extra(&r.Extra, key, val)
		}
	}
	return r
}

// decodeImage finds the type of an image in its bytes: the format does not
// say it.
func decodeImage(d *codec.Decoder, v []byte) llm.Media {
	data := d.Data(v)
	return llm.Media{Kind: llm.Image, MIME: http.DetectContentType(data), Data: data}
}

func decodeCall(d *codec.Decoder, v []byte) llm.Call {
	var c llm.Call
	for key, val := range d.Members(v) {
		switch string(key) {
		case "id":
			c.ID = d.Str(val)
		case "type":
			d.OneOf(val, `"`, "a string")
		case "function":
			for key, val := range d.Members(val) {
				switch string(key) {
				case "name":
					c.Name = d.Str(val)
				case "arguments":
					c.Args = ollamaArgs(d, val)
				case "index":
					d.OneOf(val, "0", "an integer")
				default:
					d.ExtraField(&c.Extra, loss.InnerPrefix+string(key), val)
				}
			}
		default:
			d.Extra(&c.Extra, key, val)
		}
	}
	c.Args = codec.ObjectOf(c.Args)
	return c
}

// ollamaArgs reads the arguments of a call. Servers that copy the chat format
// write them as a string.
func ollamaArgs(d *codec.Decoder, v []byte) json.RawMessage {
	if js.Kind(v) != '"' {
		return d.Args(v)
	}
	text := js.Trim([]byte(d.Text(v)))
	if d.IsRequest && len(text) > 0 && (js.Kind(text) != '{' || !js.Valid(text)) {
		d.Want(v, "an object")
	}
	return text
}
