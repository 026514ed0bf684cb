package wire

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (c chat) encodeRequest(e *encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.optString("model", req.Model)
	e.Key("messages")
	e.Array()
	if req.System != "" {
		e.Object()
		e.StringField("role", cmp.Or(e.c.Quirks.SystemRole, "system"))
		e.StringField("content", req.System)
		e.End()
	}
	e.turns(req.Messages, func(turn []llm.Message) {
		for _, m := range turn {
			c.encodeMessage(e, m)
		}
	})
	e.EndArray()
	c.encodeTools(e, req)
	c.encodeChoice(e, req)
	if req.OneCall && len(req.Tools) > 0 {
		e.flag(!e.c.Quirks.NoParallel, "parallel_tool_calls", false)
	}
	c.encodeOutput(e, req.Output)
	e.optInt(cmp.Or(e.c.Quirks.MaxTokens, "max_completion_tokens"), req.MaxTokens)
	e.optFloat("temperature", req.Temperature)
	e.optFloat("top_p", req.TopP)
	e.unsupported(req.TopK != nil, "top_k")
	e.optFloat("frequency_penalty", req.FrequencyPenalty)
	e.optFloat("presence_penalty", req.PresencePenalty)
	if req.Seed != nil {
		e.Key("seed")
		e.Int(*req.Seed)
	}
	e.optInt("n", req.N)
	e.optStrings("stop", req.Stop)
	c.encodeReasoning(e, req.Reasoning)
	if stream {
		e.BoolField("stream", true)
	}
	fields := e.ownExtra(req.Extra)
	if stream && !e.c.Quirks.NoStreamUsage {
		e.Key("stream_options")
		options := e.Object()
		e.BoolField("include_usage", true)
		e.rest(options, fields["stream_options"])
		fields = without(fields, "stream_options")
	}
	e.endWith(start, fields)
}

// flag writes a boolean where the host has the field, and says so where not.
func (e *encoder) flag(has bool, key string, value bool) {
	if has {
		e.BoolField(key, value)
	} else {
		e.lost(llm.Ignored, key, "the host has no such field")
	}
}

func (chat) encodeReasoning(e *encoder, r *llm.Reasoning) {
	if r == nil {
		return
	}
	switch {
	case r.Off:
		e.StringField("reasoning_effort", "none")
		return
	case r.Effort != "":
		e.StringField("reasoning_effort", r.Effort)
	}
	e.unsupported(r.Budget != 0, "reasoning.budget")
	e.unsupported(r.Summary != "", "reasoning.summary")
}

func (chat) encodeOutput(e *encoder, out *llm.OutputFormat) {
	switch {
	case out == nil:
	case len(out.Schema) == 0:
		e.RawField("response_format", []byte(`{"type":"json_object"}`))
	default:
		e.Key("response_format")
		e.Object()
		e.StringField("type", "json_schema")
		e.Key("json_schema")
		e.Object()
		e.outputFields(out)
		e.End()
		e.End()
	}
}

// outputFields writes the members that both OpenAI formats give a schema.
func (e *encoder) outputFields(out *llm.OutputFormat) {
	e.StringField("name", cmp.Or(out.Name, "output"))
	e.optString("description", out.Description)
	e.RawField("schema", out.Schema)
	if out.Strict && !e.c.Quirks.NoStrict {
		e.BoolField("strict", true)
	}
}

func (c chat) decodeRequest(d *decoder, body []byte, req *llm.Request) (stream bool) {
	for key, v := range d.members(body) {
		switch string(key) {
		case "messages":
			c.decodeMessages(d, v, req)
		case "tools":
			c.decodeTools(d, v, req)
		case searchOptions:
			c.decodeSearch(d, v, req)
		case "tool_choice":
			c.decodeChoice(d, v, req)
		case "parallel_tool_calls":
			req.OneCall = d.refused(v)
		case "response_format":
			c.decodeOutput(d, v, req)
		case "max_tokens", "max_completion_tokens": // of both, a host may read either
			req.MaxTokens = max(req.MaxTokens, d.integer(v))
		case "reasoning_effort":
			req.Reasoning = decodeEffort(d.str(v))
		case "n":
			req.N = d.integer(v)
		case "stream":
			stream = d.boolean(v)
		case "stream_options":
			c.decodeStreamOptions(d, v, req)
		default:
			if !d.common(req, key, v) {
				d.extra(&req.Extra, key, v)
			}
		}
	}
	return stream
}

// common reads the fields that have the same name in most formats.
func (d *decoder) common(req *llm.Request, key, v []byte) bool {
	switch string(key) {
	case "model":
		req.Model = d.str(v)
	case "temperature":
		req.Temperature = d.float(v)
	case "top_p":
		req.TopP = d.float(v)
	case "frequency_penalty":
		req.FrequencyPenalty = d.float(v)
	case "presence_penalty":
		req.PresencePenalty = d.float(v)
	case "seed":
		if d.is(v, '0', "an integer") {
			n := int64(d.integer(v))
			req.Seed = &n
		}
	case "stop":
		req.Stop = d.strings(v)
	default:
		return false
	}
	return true
}

func decodeEffort(word string) *llm.Reasoning {
	switch word {
	case "":
		return nil
	case "none":
		return &llm.Reasoning{Off: true}
	}
	return &llm.Reasoning{Effort: word}
}

// decodeStreamOptions drops include_usage, which every stream of ours has.
func (chat) decodeStreamOptions(d *decoder, v []byte, req *llm.Request) {
	var rest fields
	for key, val := range d.members(v) {
		if string(key) != "include_usage" {
			rest.add(key, val)
		} else {
			d.boolean(val)
		}
	}
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, "stream_options", more)
	}
}

func (chat) decodeOutput(d *decoder, v []byte, req *llm.Request) {
	kind := d.str(d.get(v, "type"))
	if kind == "text" || kind == "json_object" || kind == "json_schema" {
		d.unread(&req.Extra, v, chatFormat)
	}
	switch kind {
	case "text":
	case "json_object":
		req.Output = new(llm.OutputFormat)
	case "json_schema":
		schema := d.get(v, "json_schema")
		req.Output = d.outputFields(schema)
		d.unread(&req.Extra, schema, chatSchema)
	default:
		d.extraNamed(&req.Extra, "response_format", v)
	}
}

func (d *decoder) outputFields(v []byte) *llm.OutputFormat {
	out := new(llm.OutputFormat)
	for key, val := range d.members(v) {
		switch string(key) {
		case "name":
			out.Name = d.str(val)
		case "description":
			out.Description = d.str(val)
		case "schema":
			out.Schema = d.schema(val)
		case "strict":
			out.Strict = d.boolean(val)
		}
	}
	return out
}

// Tools.

func (c chat) encodeTools(e *encoder, req *llm.Request) {
	open := false
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool && t.Name == llm.WebSearch && len(t.Extra[e.c.Format]) == 0 {
			continue // an option of the request, not a tool
		}
		if !open {
			open = true
			e.Key("tools")
			e.Array()
		}
		c.encodeTool(e, t)
	}
	if open {
		e.EndArray()
	}
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool && t.Name == llm.WebSearch && len(t.Extra[e.c.Format]) == 0 {
			c.encodeSearch(e, t.Hosted)
		}
	}
}

func (c chat) encodeTool(e *encoder, t llm.ToolDef) {
	e.unsupported(len(t.Examples) > 0, "examples")
	if t.Kind == llm.HostedTool {
		if raw := t.Extra[e.c.Format]["tool"]; raw != nil {
			e.Raw(raw)
			return
		}
		e.refuse("the chat format has no hosted tool %q", t.Name)
		return
	}
	start := e.Object()
	kind := toolWord(t.Kind)
	e.StringField("type", kind)
	e.Key(kind)
	inner := e.Object()
	e.StringField("name", t.Name)
	e.optString("description", t.Description)
	if t.Kind == llm.FreeTool {
		c.encodeGrammar(e, t.Grammar)
	} else {
		e.optRaw("parameters", t.Schema)
		if t.Strict != nil && !e.c.Quirks.NoStrict {
			e.BoolField("strict", *t.Strict)
		}
	}
	outer := e.splitExtra(inner, t.Extra)
	e.endWith(start, outer)
}

// splitExtra closes an inner object with the extra fields named "inner.x"
// and returns the others.
func (e *encoder) splitExtra(inner int, x llm.Extra) map[string]json.RawMessage {
	in, out := map[string]json.RawMessage{}, map[string]json.RawMessage{}
	for key, v := range e.ownExtra(x) {
		if name, ok := cutPrefix(key, innerPrefix); ok {
			in[name] = v
		} else {
			out[key] = v
		}
	}
	e.endWith(inner, in)
	return out
}

// innerPrefix marks extra fields of the object inside a tool or a call.
const innerPrefix = "inner."

func cutPrefix(s, prefix string) (string, bool) {
	if len(s) > len(prefix) && s[:len(prefix)] == prefix {
		return s[len(prefix):], true
	}
	return s, false
}

func toolWord(k llm.ToolKind) string {
	if k == llm.FreeTool {
		return "custom"
	}
	return "function"
}

func (chat) encodeGrammar(e *encoder, g *llm.Grammar) {
	if g == nil {
		return
	}
	e.Key("format")
	e.Object()
	e.StringField("type", "grammar")
	e.Key("grammar")
	e.Object()
	e.StringField("syntax", g.Syntax)
	e.StringField("definition", g.Definition)
	e.End()
	e.End()
}

// searchOptions is the member of a request that asks for a web search, and the type of a hosted tool with options that no
// other format has.
const searchOptions = "web_search_options"

func (chat) encodeSearch(e *encoder, h *llm.HostedConfig) {
	if h == nil {
		h = new(llm.HostedConfig)
	}
	if h.Type != "" && h.Type != searchOptions && len(h.Options) > 0 {
		e.refuse("the options of %s are not those of the chat format: %s", h.Type, optionNames(h))
	}
	e.searchLimits("chat", h, false)
	e.Key(searchOptions)
	start := e.Object()
	e.optString("search_context_size", h.ContextSize)
	if h.Location != nil {
		e.Key("user_location")
		e.Object()
		e.StringField("type", "approximate")
		e.Key("approximate")
		e.Object()
		e.location(h.Location)
		e.End()
		e.End()
	}
	e.endWith(start, h.Options)
}

func (chat) decodeSearch(d *decoder, v []byte, req *llm.Request) {
	h := new(llm.HostedConfig)
	for key, val := range d.members(v) {
		switch string(key) {
		case "search_context_size":
			h.ContextSize = d.str(val)
		case "user_location":
			d.str(d.get(val, "type"))
			d.unread(&req.Extra, val, chatLocation)
			if place := d.get(val, "approximate"); d.oneOf(place, "{", "an object") {
				h.Location = d.place(place)
				d.unread(&req.Extra, place, chatWhere)
			}
		default:
			d.option(h, key, val)
		}
	}
	if len(h.Options) > 0 {
		h.Type = searchOptions
	}
	req.Tools = append(req.Tools, llm.ToolDef{Kind: llm.HostedTool, Name: llm.WebSearch, Hosted: h})
}

func (c chat) decodeTools(d *decoder, v []byte, req *llm.Request) {
	for el := range d.objects(v) {
		req.Tools = append(req.Tools, c.decodeTool(d, el))
	}
}

func (c chat) decodeTool(d *decoder, v []byte) llm.ToolDef {
	var t llm.ToolDef
	kind := d.str(d.get(v, "type"))
	switch kind {
	case "custom":
		t.Kind = llm.FreeTool
	case "function", "":
	default:
		t = llm.ToolDef{Kind: llm.HostedTool, Name: kind, Hosted: &llm.HostedConfig{Type: kind}}
		d.extraNamed(&t.Extra, "tool", v)
		return t
	}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "function", "custom":
			c.decodeToolBody(d, val, &t)
		default:
			d.extra(&t.Extra, key, val)
		}
	}
	return t
}

func (chat) decodeToolBody(d *decoder, v []byte, t *llm.ToolDef) {
	for key, val := range d.members(v) {
		switch string(key) {
		case "name":
			t.Name = d.str(val)
		case "description":
			t.Description = d.str(val)
		case "parameters":
			t.Schema = d.schema(val)
		case "strict":
			t.Strict = d.flag(val)
		case "format":
			kind, grammar := d.str(d.get(val, "type")), d.get(val, "grammar")
			if t.Grammar = d.grammar(grammar); t.Grammar == nil && kind != "text" {
				d.extraNamed(&t.Extra, innerPrefix+string(key), val)
				continue
			}
			d.unread(&t.Extra, val, chatToolFormat)
			d.unread(&t.Extra, grammar, chatGrammar)
		default:
			d.extraNamed(&t.Extra, innerPrefix+string(key), val)
		}
	}
}

// flag reads a boolean that may be absent.
func (d *decoder) flag(v []byte) *bool {
	if js.Kind(v) == 'n' {
		return nil
	}
	b := d.boolean(v)
	return &b
}

// refused reports whether a boolean that may be absent is false.
func (d *decoder) refused(v []byte) bool {
	b := d.flag(v)
	return b != nil && !*b
}

func (d *decoder) grammar(v []byte) *llm.Grammar {
	if !d.object(v) {
		return nil
	}
	return &llm.Grammar{Syntax: d.str(d.get(v, "syntax")), Definition: d.str(d.get(v, "definition"))}
}

func (chat) encodeChoice(e *encoder, req *llm.Request) {
	ch := req.Choice
	switch {
	case ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0:
		e.StringField("tool_choice", "none")
	case ch.Mode == llm.MustCall && ch.Name != "":
		e.Key("tool_choice")
		toolRef(e, req, ch.Name)
	case ch.Allowed != nil:
		e.Key("tool_choice")
		e.Object()
		e.StringField("type", "allowed_tools")
		e.Key("allowed_tools")
		e.Object()
		e.StringField("mode", ch.Mode.String())
		e.Key("tools")
		e.Array()
		for _, name := range ch.Allowed {
			toolRef(e, req, name)
		}
		e.EndArray()
		e.End()
		e.End()
	case ch.Mode == llm.MustCall:
		e.StringField("tool_choice", "required")
	}
}

// toolRef writes {"type":"function","function":{"name":…}}.
func toolRef(e *encoder, req *llm.Request, name string) {
	t, _ := req.Tool(name)
	kind := toolWord(t.Kind)
	e.Object()
	e.StringField("type", kind)
	e.Key(kind)
	e.Object()
	e.StringField("name", name)
	e.End()
	e.End()
}

var choiceModes = map[string]llm.ChoiceMode{"auto": llm.MayCall, "required": llm.MustCall, "any": llm.MustCall, "none": llm.MustNotCall}

func (chat) decodeChoice(d *decoder, v []byte, req *llm.Request) {
	ch := &req.Choice
	if js.Kind(v) == '"' {
		d.mode(v, ch)
		return
	}
	if !d.object(v) {
		return
	}
	kind := d.str(d.get(v, "type"))
	d.unread(&req.Extra, v, chatToolChoice)
	if kind != "allowed_tools" {
		ch.Mode = llm.MustCall
		ch.Name = d.chosen(v, kind)
		d.unread(&req.Extra, d.get(v, kind), chatChosen, kind)
		return
	}
	allowed := d.get(v, "allowed_tools")
	d.unread(&req.Extra, allowed, chatAllowed)
	d.mode(d.get(allowed, "mode"), ch)
	ch.Allowed = []string{}
	for el := range d.elements(d.get(allowed, "tools")) {
		kind, n := d.str(d.get(el, "type")), strconv.Itoa(len(ch.Allowed))
		ch.Allowed = append(ch.Allowed, d.chosen(el, kind))
		d.unread(&req.Extra, el, chatAllowedTool, n)
		d.unread(&req.Extra, d.get(el, kind), chatAllowedName, n, kind)
	}
}

// chosen returns the name of the tool that a choice of some kind names.
func (d *decoder) chosen(v []byte, kind string) string {
	name := d.str(d.get(d.get(v, kind), "name"))
	if name == "" {
		d.want(v, "a choice that names a tool")
	}
	return name
}

func (d *decoder) mode(v []byte, ch *llm.ToolChoice) {
	mode, ok := choiceModes[js.Text(v)]
	if !ok {
		d.want(v, "auto, required or none")
	}
	ch.Mode = mode
}
