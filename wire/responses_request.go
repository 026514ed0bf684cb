package wire

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

func (r responses) encodeRequest(e *encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.optString("model", req.Model)
	e.optString("instructions", req.System)
	e.Key("input")
	e.Array()
	calls := callsByID(req.Messages)
	e.turns(req.Messages, func(turn []llm.Message) {
		for _, m := range turn {
			r.encodeMessage(e, m, calls)
		}
	})
	e.EndArray()
	r.encodeTools(e, withoutFound(e, req))
	r.encodeChoice(e, req)
	if req.OneCall && len(req.Tools) > 0 {
		e.flag(!e.c.Quirks.NoParallel, "parallel_tool_calls", false)
	}
	e.optInt("max_output_tokens", req.MaxTokens)
	e.optFloat("temperature", req.Temperature)
	e.optFloat("top_p", req.TopP)
	r.encodeReasoning(e, req)
	r.encodeText(e, req)
	e.unsupported(req.TopK != nil, "top_k")
	e.unsupported(req.FrequencyPenalty != nil, "frequency_penalty")
	e.unsupported(req.PresencePenalty != nil, "presence_penalty")
	e.unsupported(req.Seed != nil, "seed")
	e.unsupported(len(req.Stop) > 0, "stop")
	if stream {
		e.BoolField("stream", true)
	}
	fields := e.ownExtra(req.Extra)
	e.endWith(start, without(without(fields, "text"), "reasoning"))
}

func (responses) encodeReasoning(e *encoder, req *llm.Request) {
	more := req.Extra[e.c.Format]["reasoning"]
	r := req.Reasoning
	if r == nil {
		if more != nil {
			e.RawField("reasoning", more)
		}
		return
	}
	e.Key("reasoning")
	start := e.Object()
	if r.Off {
		e.StringField("effort", "none")
	} else {
		e.optString("effort", r.Effort)
		e.optString("summary", e.display(responsesDisplays, r))
		e.unsupported(r.Budget != 0, "reasoning.budget")
	}
	e.rest(start, more)
}

func (responses) encodeText(e *encoder, req *llm.Request) {
	more := req.Extra[e.c.Format]["text"]
	out := req.Output
	if out == nil && more == nil {
		return
	}
	e.Key("text")
	start := e.Object()
	switch {
	case out == nil:
	case len(out.Schema) == 0:
		e.RawField("format", []byte(`{"type":"json_object"}`))
	default:
		e.Key("format")
		e.Object()
		e.StringField("type", "json_schema")
		e.outputFields(out)
		e.End()
	}
	e.rest(start, more)
}

func (r responses) decodeRequest(d *decoder, body []byte, req *llm.Request) (stream bool) {
	for key, v := range d.members(body) {
		switch string(key) {
		case "instructions":
			req.System = d.str(v)
		case "input":
			r.decodeInput(d, v, req)
		case "tools":
			r.decodeTools(d, v, req)
		case "tool_choice":
			r.decodeChoice(d, v, req)
		case "parallel_tool_calls":
			req.OneCall = d.refused(v)
		case "max_output_tokens":
			req.MaxTokens = d.integer(v)
		case "reasoning":
			r.decodeReasoning(d, v, req)
		case "text":
			r.decodeText(d, v, req)
		case "stream":
			stream = d.boolean(v)
		case "model", "temperature", "top_p":
			d.common(req, key, v)
		default:
			d.extra(&req.Extra, key, v)
		}
	}
	r.offerFound(d, req)
	return stream
}

func (responses) decodeReasoning(d *decoder, v []byte, req *llm.Request) {
	if !d.object(v) {
		return
	}
	r := new(llm.Reasoning)
	var rest fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "effort":
			if r.Effort = d.str(val); r.Effort == "none" {
				r.Effort, r.Off = "", true
			}
		case "summary":
			r.Summary = d.str(val)
		default:
			rest.add(key, val)
		}
	}
	req.Reasoning = r
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, "reasoning", more)
	}
}

func (responses) decodeText(d *decoder, v []byte, req *llm.Request) {
	var rest fields
	for key, val := range d.members(v) {
		if string(key) != "format" {
			rest.add(key, val)
			continue
		}
		kind := d.str(d.get(val, "type"))
		if kind == "text" || kind == "json_object" || kind == "json_schema" {
			d.unread(&req.Extra, val, responsesFormat)
		}
		switch kind {
		case "text":
		case "json_schema":
			req.Output = d.outputFields(val)
		case "json_object":
			req.Output = new(llm.OutputFormat)
		default:
			rest.add(key, val)
		}
	}
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, "text", more)
	}
}

// Tools.

func (r responses) encodeTools(e *encoder, tools []llm.ToolDef) {
	if len(tools) == 0 {
		return
	}
	e.Key("tools")
	e.Array()
	for len(tools) > 0 {
		n := 1
		switch space, _ := spaceOf(tools[0]); {
		case space != nil:
			n = r.encodeNamespace(e, tools)
		case tools[0].Kind == llm.HostedTool:
			r.encodeHosted(e, tools[0])
		default:
			r.encodeTool(e, tools[0])
		}
		tools = tools[n:]
	}
	e.EndArray()
}

func (responses) encodeTool(e *encoder, t llm.ToolDef) {
	e.unsupported(len(t.Examples) > 0, "examples")
	start := e.Object()
	e.StringField("type", toolWord(t.Kind))
	e.StringField("name", t.Name)
	e.optString("description", t.Description)
	if t.Kind == llm.FreeTool {
		if t.Grammar != nil {
			e.Key("format")
			e.Object()
			e.StringField("type", "grammar")
			e.StringField("syntax", t.Grammar.Syntax)
			e.StringField("definition", t.Grammar.Definition)
			e.End()
		}
	} else {
		if len(t.Schema) > 0 {
			e.RawField("parameters", t.Schema)
		} else {
			e.RawField("parameters", []byte(`{"type":"object","properties":{}}`))
		}
		if !e.c.Quirks.NoStrict {
			// Left out, the vendor would take the schema as strict.
			e.BoolField("strict", t.Strict != nil && *t.Strict)
		}
	}
	e.end(start, t.Extra)
}

func (responses) encodeHosted(e *encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	typ := h.Type
	if _, ok := hostedTypes[typ]; !ok && len(t.Extra[e.c.Format]) == 0 {
		if typ != "" && len(h.Options) > 0 {
			e.refuse("the options of %s are not those of the responses format: %s", typ, optionNames(h))
		}
		if typ = responsesHosted[t.Name]; typ == "" {
			if typ = t.Name; hostedTypes[typ] == "" {
				e.refuse("the responses format has no hosted tool %q", t.Name)
			}
		}
	}
	e.searchLimits("responses", h, true)
	start := e.Object()
	e.StringField("type", typ)
	if typ == "code_interpreter" && h.Options["container"] == nil {
		e.RawField("container", []byte(`{"type":"auto"}`))
	}
	if len(h.AllowedDomains) > 0 {
		e.Key("filters")
		e.Object()
		e.strings("allowed_domains", h.AllowedDomains)
		e.End()
	}
	if h.Location != nil {
		e.Key("user_location")
		e.Object()
		e.StringField("type", "approximate")
		e.location(h.Location)
		e.End()
	}
	e.optString("search_context_size", h.ContextSize)
	e.endWith(start, h.Options)
}

func (r responses) decodeTools(d *decoder, v []byte, req *llm.Request) {
	for el := range d.objects(v) {
		if js.Is(d.get(el, "type"), "namespace") {
			if tools, ok := r.decodeNamespace(d, el); ok {
				req.Tools = append(req.Tools, tools...)
				continue
			}
		}
		req.Tools = append(req.Tools, r.decodeTool(d, el))
	}
}

func (r responses) decodeTool(d *decoder, v []byte) llm.ToolDef {
	var t llm.ToolDef
	switch kind := d.str(d.get(v, "type")); kind {
	case "function", "":
	case "custom":
		t.Kind = llm.FreeTool
	default:
		return r.decodeHosted(d, v, kind)
	}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "name":
			t.Name = d.str(val)
		case "description":
			t.Description = d.str(val)
		case "parameters":
			t.Schema = d.schema(val)
		case "strict":
			t.Strict = d.flag(val)
		case "format":
			switch d.str(d.get(val, "type")) {
			case "text":
			case "grammar":
				t.Grammar = d.grammar(val)
				d.unread(&t.Extra, val, responsesGrammar)
			default:
				d.extra(&t.Extra, key, val)
			}
		default:
			d.extra(&t.Extra, key, val)
		}
	}
	return t
}

func (responses) decodeHosted(d *decoder, v []byte, kind string) llm.ToolDef {
	h := &llm.HostedConfig{Type: kind}
	t := llm.ToolDef{Kind: llm.HostedTool, Name: cmp.Or(hostedTypes[kind], kind), Hosted: h}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
		case "filters":
			domains := d.get(val, "allowed_domains")
			if domains == nil || !onlyKey(val, "allowed_domains") {
				d.option(h, key, val)
				continue
			}
			h.AllowedDomains = d.strings(domains)
		case "user_location":
			if h.Location = d.location(val); h.Location == nil {
				d.option(h, key, val)
			}
		case "search_context_size":
			h.ContextSize = d.str(val)
		default:
			d.option(h, key, val)
		}
	}
	if hostedTypes[kind] == "" {
		d.extraNamed(&t.Extra, "type", d.get(v, "type"))
	}
	return t
}

func onlyKey(v []byte, key string) bool {
	for k := range js.Members(v) {
		if string(k) != key {
			return false
		}
	}
	return true
}

func (r responses) encodeChoice(e *encoder, req *llm.Request) {
	ch := req.Choice
	switch {
	case ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0:
		e.StringField("tool_choice", "none")
	case ch.Mode == llm.MustCall && ch.Name != "":
		e.Key("tool_choice")
		r.toolRef(e, req, ch.Name)
	case ch.Allowed != nil:
		e.Key("tool_choice")
		e.Object()
		e.StringField("type", "allowed_tools")
		e.StringField("mode", ch.Mode.String())
		e.Key("tools")
		e.Array()
		for _, name := range ch.Allowed {
			r.toolRef(e, req, name)
		}
		e.EndArray()
		e.End()
	case ch.Mode == llm.MustCall:
		e.StringField("tool_choice", "required")
	}
}

func (responses) toolRef(e *encoder, req *llm.Request, name string) {
	t, _ := req.Tool(name)
	e.Object()
	if t.Kind == llm.HostedTool {
		typ := responsesHosted[name]
		if t.Hosted != nil {
			typ = cmp.Or(t.Hosted.Type, typ)
		}
		e.StringField("type", cmp.Or(typ, name))
	} else {
		e.StringField("type", toolWord(t.Kind))
		e.callName(name)
	}
	e.End()
}

func (responses) decodeChoice(d *decoder, v []byte, req *llm.Request) {
	ch := &req.Choice
	if js.Kind(v) == '"' {
		d.mode(v, ch)
		return
	}
	if !d.object(v) {
		return
	}
	name := func(ref []byte) string {
		kind := d.str(d.get(ref, "type"))
		if here := hostedTypes[kind]; here != "" { // a name beside it is of something inside, as of a tool of an MCP server
			return here
		}
		if n := d.get(ref, "name"); n != nil {
			return d.str(n)
		}
		if kind == "" {
			d.want(ref, "a choice that names a tool")
		}
		return kind
	}
	unread := func(ref []byte, o *object, stars ...string) {
		if hostedTypes[d.text(d.get(ref, "type"))] != "" {
			o = &object{at: o.at, known: []string{"type"}}
		}
		d.unread(&req.Extra, ref, o, stars...)
	}
	unread(v, responsesChoice)
	if !js.Is(d.get(v, "type"), "allowed_tools") {
		ch.Mode, ch.Name = llm.MustCall, name(v)
		return
	}
	d.mode(d.get(v, "mode"), ch)
	ch.Allowed = []string{}
	for el := range d.elements(d.get(v, "tools")) {
		unread(el, responsesAllowed, strconv.Itoa(len(ch.Allowed)))
		ch.Allowed = append(ch.Allowed, name(el))
	}
}

// stateFields writes the members of a state of this vendor.
func (e *encoder) stateFields(s llm.State) {
	for key, v := range js.Members(e.own(s)) {
		e.AnyKey(string(key))
		e.Raw(v)
	}
}

// ownType returns the type of an item that is kept whole in a state of this
// vendor, and "" if the state is not a whole item.
func (e *encoder) ownType(s llm.State) (raw json.RawMessage, typ string) {
	raw = e.own(s)
	return raw, js.Text(js.Get(raw, "type"))
}
