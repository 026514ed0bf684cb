package wire

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// messagesMaxTokens is what a request without a limit gets: the format
// demands one, and this is the least that every model allows.
const messagesMaxTokens = 4096

func (m messages) encodeRequest(e *encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.optString("anthropic_version", e.c.Quirks.Version)
	format := e.c.properties()
	if !format.ModelInPath() {
		e.optString("model", req.Model)
	}
	if req.MaxTokens > 0 {
		e.IntField("max_tokens", req.MaxTokens)
	} else {
		e.IntField("max_tokens", messagesMaxTokens)
		e.lost(llm.Compatibility, "max_tokens", "the messages format demands a limit; 4096 was set")
	}
	rest := m.encodeSystem(e, req)
	e.Key("messages")
	e.Array()
	m.encodeMessages(e, rest)
	e.EndArray()
	m.encodeTools(e, req)
	m.encodeChoice(e, req)
	m.encodeThinkingConfig(e, req.Reasoning)
	m.encodeOutputConfig(e, req)
	e.optFloat("temperature", req.Temperature)
	e.optFloat("top_p", req.TopP)
	if req.TopK != nil {
		e.IntField("top_k", *req.TopK)
	}
	e.optStrings("stop_sequences", req.Stop)
	e.unsupported(req.FrequencyPenalty != nil, "frequency_penalty")
	e.unsupported(req.PresencePenalty != nil, "presence_penalty")
	e.unsupported(req.Seed != nil, "seed")
	if stream && !format.StreamInPath() {
		e.BoolField("stream", true)
	}
	fields := e.ownExtra(req.Extra)
	if fields["output_config"] != nil {
		fields = without(fields, "output_config")
	}
	e.endWith(start, fields)
}

func without[V any](m map[string]V, key string) map[string]V {
	c := make(map[string]V, len(m))
	for k, v := range m {
		if k != key {
			c[k] = v
		}
	}
	return c
}

// encodeSystem writes the instructions and returns the messages after them.
func (m messages) encodeSystem(e *encoder, req *llm.Request) []llm.Message {
	n := 0
	for n < len(req.Messages) && isSystem(req.Messages[n].Role) {
		n++
	}
	switch {
	case n > 0:
		e.Key("system")
		e.Array()
		if req.System != "" {
			encodeBlock(m, e, llm.Text{Text: req.System})
		}
		for _, msg := range req.Messages[:n] {
			for _, p := range msg.Parts {
				encodeBlock(m, e, p)
			}
			e.ownExtra(msg.Extra)
		}
		e.EndArray()
	case req.System != "":
		e.StringField("system", req.System)
	}
	return req.Messages[n:]
}

func isSystem(r llm.Role) bool { return r == llm.RoleSystem || r == llm.RoleDeveloper }

func (m messages) encodeThinkingConfig(e *encoder, r *llm.Reasoning) {
	if r == nil {
		return
	}
	e.Key("thinking")
	e.Object()
	switch {
	case r.Off:
		e.StringField("type", "disabled")
	case r.Budget > 0:
		e.StringField("type", "enabled")
		e.IntField("budget_tokens", r.Budget)
		e.optString("display", e.display(messagesDisplays, r))
	default:
		e.StringField("type", "adaptive")
		e.optString("display", e.display(messagesDisplays, r))
	}
	e.End()
}

func (messages) encodeOutputConfig(e *encoder, req *llm.Request) {
	more := req.Extra[e.c.Format]["output_config"]
	effort := ""
	if req.Reasoning != nil && !req.Reasoning.Off {
		effort = req.Reasoning.Effort
	}
	schema := req.Output != nil && len(req.Output.Schema) > 0
	e.unsupported(req.Output != nil && !schema, "output without schema")
	if effort == "" && !schema && more == nil {
		return
	}
	e.Key("output_config")
	start := e.Object()
	e.optString("effort", effort)
	if schema {
		e.Key("format")
		e.Object()
		e.StringField("type", "json_schema")
		e.RawField("schema", req.Output.Schema)
		e.End()
	}
	e.rest(start, more)
}

func (m messages) decodeRequest(d *decoder, body []byte, req *llm.Request) (stream bool) {
	var config []byte
	for key, v := range d.members(body) {
		switch string(key) {
		case "system":
			m.decodeSystem(d, v, req)
		case "messages":
			m.decodeMessages(d, v, req)
		case "tools":
			m.decodeTools(d, v, req)
		case "tool_choice":
			m.decodeChoice(d, v, req)
		case "max_tokens":
			req.MaxTokens = d.integer(v)
		case "top_k":
			if d.is(v, '0', "an integer") {
				n := d.integer(v)
				req.TopK = &n
			}
		case "stop_sequences":
			req.Stop = d.strings(v)
		case "thinking":
			m.decodeThinkingConfig(d, v, req)
		case "output_config":
			config = v
		case "stream":
			stream = d.boolean(v)
		case "anthropic_version":
			if !js.Is(v, d.c.Quirks.Version) {
				d.extra(&req.Extra, key, v)
			}
		case "model", "temperature", "top_p":
			d.common(req, key, v)
		default:
			d.extra(&req.Extra, key, v)
		}
	}
	m.decodeOutputConfig(d, config, req)
	if ch := &req.Choice; strings.HasPrefix(ch.Name, messagesSearch) {
		if _, own := req.Tool(ch.Name); !own { // the vendor's search, which has one name here
			ch.Name = llm.ToolSearch
		}
	}
	return stream
}

func (messages) decodeThinkingConfig(d *decoder, v []byte, req *llm.Request) {
	r := &llm.Reasoning{Summary: d.str(d.get(v, "display"))}
	switch d.str(d.get(v, "type")) {
	case "disabled":
		r.Off = true
	case "enabled":
		r.Budget = d.integer(d.get(v, "budget_tokens"))
	case "adaptive":
	default:
		d.extraNamed(&req.Extra, "thinking", v)
		return
	}
	d.unread(&req.Extra, v, messagesThinking)
	req.Reasoning = r
}

// decodeOutputConfig reads the schema and the effort. An effort without
// thinking does not ask for thinking, so it stays a field of this format.
func (messages) decodeOutputConfig(d *decoder, v []byte, req *llm.Request) {
	var rest fields
	for key, val := range d.members(v) {
		switch {
		case string(key) == "effort" && req.Reasoning != nil && !req.Reasoning.Off:
			req.Reasoning.Effort = d.str(val)
		case string(key) == "format" && d.str(d.get(val, "type")) == "json_schema":
			req.Output = &llm.OutputFormat{Schema: d.schema(d.get(val, "schema"))}
			d.unread(&req.Extra, val, messagesFormat)
		default:
			rest.add(key, val)
		}
	}
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, "output_config", more)
	}
}

// decodeSystem takes a string for Request.System, and blocks for a message
// that stands before all others.
func (m messages) decodeSystem(d *decoder, v []byte, req *llm.Request) {
	if js.Kind(v) == '"' {
		req.System = d.text(v)
		return
	}
	if !d.array(v) {
		return
	}
	parts := m.decodeBlocks(d, v)
	if s, ok := plainText(parts); ok {
		req.System = s
		return
	}
	req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Parts: parts}}, req.Messages...)
}

// Tools.

func (m messages) encodeTools(e *encoder, req *llm.Request) {
	tools := e.offered(req)
	if len(tools) == 0 {
		return
	}
	e.Key("tools")
	e.Array()
	for _, t := range tools {
		m.encodeTool(e, t)
	}
	e.EndArray()
}

// offered returns the tools that the choice allows, for formats that cannot
// name them: what is not offered cannot be called.
func (e *encoder) offered(req *llm.Request) []llm.ToolDef {
	ch := forced(req.Choice)
	if len(ch.Allowed) == 0 || ch.Mode == llm.MustNotCall {
		return req.Tools
	}
	var kept []llm.ToolDef
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool || (llm.ToolChoice{Allowed: ch.Allowed}).Permits(t.Name) {
			kept = append(kept, t)
		}
	}
	if len(kept) < len(req.Tools) {
		e.lost(llm.Degraded, "tool_choice.allowed", "the format cannot name the allowed tools; the others are not offered")
	}
	return kept
}

// forced turns a choice that demands a call and allows a single tool into one
// that names that tool.
func forced(ch llm.ToolChoice) llm.ToolChoice {
	if ch.Mode == llm.MustCall && ch.Name == "" && len(ch.Allowed) == 1 {
		ch.Name, ch.Allowed = ch.Allowed[0], nil
	}
	return ch
}

func (m messages) encodeTool(e *encoder, t llm.ToolDef) {
	if t.Kind == llm.HostedTool {
		m.encodeHosted(e, t)
		return
	}
	t = m.asDefined(t)
	fields := e.ownExtra(t.Extra)
	start := e.Object()
	e.StringField("name", t.Name)
	e.optString("description", t.Description)
	switch {
	case t.Kind == llm.FreeTool:
		e.RawField("input_schema", e.freeSchema(t))
	case len(t.Schema) > 0:
		e.RawField("input_schema", t.Schema)
	case fields["type"] == nil:
		e.RawField("input_schema", []byte(`{"type":"object","properties":{}}`))
	}
	if t.Strict != nil && !e.c.Quirks.NoStrict {
		e.BoolField("strict", *t.Strict)
	}
	if len(t.Examples) > 0 {
		e.Key("input_examples")
		e.Array()
		for _, ex := range t.Examples {
			e.Raw(ex)
		}
		e.EndArray()
	}
	e.endWith(start, fields)
}

// freeSchema is the schema of a free-text tool where there are only functions.
func (e *encoder) freeSchema(t llm.ToolDef) []byte {
	e.lost(llm.Degraded, "free-text tool", "the format has functions only; the text is the argument "+FreeInput)
	e.unsupported(t.Grammar != nil, "grammar")
	return []byte(`{"type":"object","properties":{"` + FreeInput + `":{"type":"string"}},"required":["` + FreeInput + `"]}`)
}

// FreeInput is the argument that holds the text of a free-text tool in formats
// that have functions only.
const FreeInput = "input"

// messagesHosted is the version of a hosted tool where the caller names none.
var messagesHosted = map[string]string{
	llm.ToolSearch: messagesSearch + "bm25_20251119", llm.WebSearch: "web_search_20250305", "web_fetch": "web_fetch_20250910", "code_execution": "code_execution_20250825",
}

// messagesNameless is what tools are called that have no name in this format: as in others.
var messagesNameless = map[string]string{"mcp_toolset": "mcp"}

// messagesSearch begins the names of the vendor's tools that find tools.
const messagesSearch = "tool_search_tool_"

// hostedName is what the vendor calls a hosted tool of that type.
func (messages) hostedName(name, typ string) string {
	if name != llm.ToolSearch || !strings.HasPrefix(typ, messagesSearch) {
		return name
	}
	how, _, _ := strings.Cut(typ[len(messagesSearch):], "_")
	return messagesSearch + how
}

// calledHere is what the vendor calls a tool of the request.
func (m messages) calledHere(name string, t llm.ToolDef) string {
	typ := messagesHosted[name]
	if t.Hosted != nil && dated(t.Hosted.Type) {
		typ = t.Hosted.Type
	}
	if t.Kind != llm.HostedTool {
		return name
	}
	return m.hostedName(name, typ)
}

func (m messages) encodeHosted(e *encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	if own := t.Extra[Messages]; own["type"] != nil { // as the client of this format said it
		m.encodeOwn(e, own, h)
		return
	}
	typ := h.Type
	if !dated(typ) {
		if typ != "" && len(h.Options) > 0 {
			e.refuse("the options of %s are not those of the messages format: %s", typ, optionNames(h))
		}
		if typ = messagesHosted[t.Name]; typ == "" {
			e.refuse("the messages format has no hosted tool %q", t.Name)
		}
	}
	e.unsupported(h.ContextSize != "", "search_context_size")
	start := e.Object()
	e.StringField("type", typ)
	e.StringField("name", m.hostedName(t.Name, typ))
	m.hostedLimits(e, h)
	e.endWith(start, h.Options)
}

// encodeOwn writes a tool of a type without a date: its type, and its name if it has one.
func (m messages) encodeOwn(e *encoder, own map[string]json.RawMessage, h *llm.HostedConfig) {
	start := e.Object()
	e.RawField("type", own["type"])
	if own["name"] != nil {
		e.RawField("name", own["name"])
	}
	m.hostedLimits(e, h)
	e.endWith(start, h.Options)
}

// hostedLimits writes what guards a hosted tool.
func (messages) hostedLimits(e *encoder, h *llm.HostedConfig) {
	e.optInt("max_uses", h.MaxUses)
	e.optStrings("allowed_domains", h.AllowedDomains)
	e.optStrings("blocked_domains", h.BlockedDomains)
	if h.Location != nil {
		e.Key("user_location")
		e.Object()
		e.StringField("type", "approximate")
		e.location(h.Location)
		e.End()
	}
}

// dated reports whether a type ends with a date, as the tools of this vendor
// do.
func dated(typ string) bool {
	i := strings.LastIndexByte(typ, '_')
	return i > 0 && len(typ) == i+9 && strings.Trim(typ[i+1:], "0123456789") == ""
}

func (m messages) decodeTools(d *decoder, v []byte, req *llm.Request) {
	for el := range d.objects(v) {
		req.Tools = append(req.Tools, m.decodeTool(d, el))
	}
}

// clientTools are tools whose definition the vendor knows and the client runs.
var clientTools = []string{"bash_", "text_editor_", "computer_", "memory_"}

func (m messages) decodeTool(d *decoder, v []byte) llm.ToolDef {
	typ := d.str(d.get(v, "type"))
	if typ != "" && typ != "custom" && !definesType(typ) {
		return m.decodeHosted(d, v)
	}
	var t llm.ToolDef
	for key, val := range d.members(v) {
		switch string(key) {
		case "name":
			t.Name = d.str(val)
		case "description":
			t.Description = d.str(val)
		case "input_schema":
			t.Schema = d.schema(val)
		case "strict":
			t.Strict = d.flag(val)
		case "input_examples":
			for el := range d.elements(val) {
				t.Examples = append(t.Examples, d.raw(el))
			}
		case "type":
			if typ != "custom" {
				d.extra(&t.Extra, key, val)
			}
		default:
			d.extra(&t.Extra, key, val)
		}
	}
	m.define(&t)
	return t
}

func (messages) decodeHosted(d *decoder, v []byte) llm.ToolDef {
	h := new(llm.HostedConfig)
	t := llm.ToolDef{Kind: llm.HostedTool, Hosted: h}
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
			h.Type = d.str(val)
		case "name":
			t.Name = d.str(val)
		case "max_uses":
			h.MaxUses = d.integer(val)
		case "allowed_domains":
			h.AllowedDomains = d.strings(val)
		case "blocked_domains":
			h.BlockedDomains = d.strings(val)
		case "user_location":
			if h.Location = d.location(val); h.Location == nil {
				d.option(h, key, val)
			}
		default:
			d.option(h, key, val)
		}
	}
	switch {
	case strings.HasPrefix(h.Type, messagesSearch):
		t.Name = llm.ToolSearch
	case !dated(h.Type):
		d.extraNamed(&t.Extra, "type", d.get(v, "type"))
		if t.Name != "" {
			d.extraNamed(&t.Extra, "name", d.get(v, "name"))
		}
	}
	t.Name = cmp.Or(t.Name, cmp.Or(messagesNameless[h.Type], h.Type))
	return t
}

func (m messages) encodeChoice(e *encoder, req *llm.Request) {
	if len(req.Tools) == 0 {
		return
	}
	ch := forced(req.Choice)
	kind := "auto"
	switch {
	case ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0:
		e.RawField("tool_choice", []byte(`{"type":"none"}`))
		return
	case ch.Mode == llm.MustCall && ch.Name != "":
		kind = "tool"
	case ch.Mode == llm.MustCall:
		kind = "any"
	case !req.OneCall:
		return
	}
	e.Key("tool_choice")
	e.Object()
	e.StringField("type", kind)
	if kind == "tool" {
		t, _ := req.Tool(ch.Name)
		e.StringField("name", m.calledHere(ch.Name, t))
	}
	if req.OneCall {
		e.flag(!e.c.Quirks.NoParallel, "disable_parallel_tool_use", true)
	}
	e.End()
}

func (messages) decodeChoice(d *decoder, v []byte, req *llm.Request) {
	if !d.object(v) {
		return
	}
	d.unread(&req.Extra, v, messagesChoice)
	for key, val := range d.members(v) {
		switch string(key) {
		case "type":
			switch d.str(val) {
			case "tool", "any":
				req.Choice.Mode = llm.MustCall
			case "none":
				req.Choice.Mode = llm.MustNotCall
			case "auto":
			default:
				d.want(val, "auto, any, tool or none")
			}
		case "name":
			req.Choice.Name = d.str(val)
		case "disable_parallel_tool_use":
			req.OneCall = d.boolean(val)
		}
	}
}
