package wire

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// encodeRequest writes a request. Model and stream stand in the address, see
// Path.
func (c converse) encodeRequest(e *encoder, req *llm.Request, _ bool) {
	start := e.Object()
	rest := c.encodeSystem(e, req)
	e.Key("messages")
	e.Array()
	c.encodeMessages(e, rest)
	e.EndArray()
	c.encodeInference(e, req)
	c.encodeTools(e, req)
	c.encodeOutputConfig(e, req)
	c.encodeModelFields(e, req)
	e.unsupported(req.OneCall, "parallel_tool_calls")
	e.unsupported(req.FrequencyPenalty != nil, "frequency_penalty")
	e.unsupported(req.PresencePenalty != nil, "presence_penalty")
	e.unsupported(req.Seed != nil, "seed")
	fields := e.ownExtra(req.Extra)
	for _, written := range []string{"inferenceConfig", "toolConfig", "outputConfig", "additionalModelRequestFields", restatedFields} {
		fields = without(fields, written)
	}
	e.endWith(start, fields)
}

// encodeSystem writes the instructions and returns the messages after them.
func (c converse) encodeSystem(e *encoder, req *llm.Request) []llm.Message {
	n := 0
	for n < len(req.Messages) && isSystem(req.Messages[n].Role) {
		n++
	}
	if n == 0 && req.System == "" {
		return req.Messages
	}
	e.Key("system")
	e.Array()
	encodeBlock(c, e, llm.Text{Text: req.System})
	for _, m := range req.Messages[:n] {
		encodeBlocks(c, e, m.Parts)
		e.ownExtra(m.Extra)
	}
	e.EndArray()
	return req.Messages[n:]
}

// member begins an object that is left out if it stays empty: the caller ends
// it with endMember.
func (e *encoder) member(key string) (mark, start int) {
	mark = len(e.Buf)
	e.Key(key)
	return mark, e.Object()
}

// endMember ends an object with the members of more that it does not have.
func (e *encoder) endMember(mark, start int, more []byte) {
	e.rest(start, more)
	if len(e.Buf)-start == len("{}") {
		e.Buf = e.Buf[:mark]
	}
}

func (converse) encodeInference(e *encoder, req *llm.Request) {
	mark, start := e.member("inferenceConfig")
	e.optInt("maxTokens", req.MaxTokens)
	e.optFloat("temperature", req.Temperature)
	e.optFloat("topP", req.TopP)
	e.optStrings("stopSequences", req.Stop)
	e.endMember(mark, start, req.Extra[e.c.Format]["inferenceConfig"])
}

func (converse) encodeOutputConfig(e *encoder, req *llm.Request) {
	mark, start := e.member("outputConfig")
	if r := req.Reasoning; r != nil && !r.Off && !ownEffort(e, req) {
		e.optString("effort", r.Effort)
	}
	switch {
	case req.Output == nil:
	case len(req.Output.Schema) == 0:
		e.unsupported(true, "output without schema")
	default:
		e.Key("textFormat")
		e.Object()
		e.StringField("type", "json_schema")
		e.Key("structure")
		e.Object()
		e.Key("jsonSchema")
		e.Object()
		e.StringField("schema", string(req.Output.Schema))
		e.optString("name", req.Output.Name)
		e.optString("description", req.Output.Description)
		e.End()
		e.End()
		e.End()
	}
	e.endMember(mark, start, req.Extra[e.c.Format]["outputConfig"])
}

// Tools.

func (c converse) encodeTools(e *encoder, req *llm.Request) {
	ch := forced(req.Choice)
	tools := e.offered(req)
	if ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0 {
		tools = c.withheld(e, req)
	}
	more := req.Extra[e.c.Format]["toolConfig"]
	if len(tools) == 0 {
		e.lostField(e.c.Format, "toolConfig", more, unsentField)
		return
	}
	e.Key("toolConfig")
	start := e.Object()
	e.Key("tools")
	e.Array()
	for _, t := range tools {
		c.encodeTool(e, t)
	}
	e.EndArray()
	switch {
	case ch.Mode == llm.MustCall && ch.Name != "":
		e.Key("toolChoice")
		e.Object()
		e.Key("tool")
		e.Object()
		e.StringField("name", ch.Name)
		e.End()
		e.End()
	case ch.Mode == llm.MustCall:
		e.RawField("toolChoice", []byte(`{"any":{}}`))
	}
	e.rest(start, more)
}

// withheld returns the tools that are offered although none may be called: the
// format cannot forbid calls, but it demands the tools of a conversation that
// holds some.
func (converse) withheld(e *encoder, req *llm.Request) []llm.ToolDef {
	if len(req.Tools) == 0 {
		return nil
	}
	if len(callsByID(req.Messages)) > 0 {
		e.lost(llm.Degraded, "tool_choice", "the converse format cannot forbid calls, and it demands the tools of earlier calls")
		return req.Tools
	}
	e.lost(llm.Degraded, "tool_choice", "the converse format cannot forbid calls; the tools are not offered")
	return nil
}

func (c converse) encodeTool(e *encoder, t llm.ToolDef) {
	if t.Kind == llm.HostedTool {
		c.encodeHosted(e, t)
		return
	}
	e.unsupported(len(t.Examples) > 0, "examples")
	start := e.Object()
	e.Key("toolSpec")
	inner := e.Object()
	e.StringField("name", t.Name)
	e.optString("description", t.Description)
	e.Key("inputSchema")
	e.Object()
	switch {
	case t.Kind == llm.FreeTool:
		e.RawField("json", e.freeSchema(t))
	case len(t.Schema) > 0:
		e.RawField("json", t.Schema)
	default:
		e.RawField("json", []byte(`{"type":"object","properties":{}}`))
	}
	e.End()
	if t.Strict != nil && !e.c.Quirks.NoStrict {
		e.BoolField("strict", *t.Strict)
	}
	c.endBlock(e, start, inner, t.Extra)
}

// converseHosted is what the vendor calls the hosted tools that have a common
// name.
var converseHosted = map[string]string{llm.WebSearch: "nova_grounding", "code_execution": "nova_code_interpreter"}

var converseHostedNames = map[string]string{"nova_grounding": llm.WebSearch, "nova_code_interpreter": "code_execution"}

const systemTool = "systemTool"

func (c converse) encodeHosted(e *encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	name := cmp.Or(converseHosted[t.Name], t.Name)
	if h.Type != systemTool {
		if len(h.Options) > 0 {
			e.refuse("the options of %s are not those of the converse format: %s", h.Type, optionNames(h))
		}
		if converseHosted[t.Name] == "" {
			e.refuse("the converse format has no hosted tool %q", t.Name)
		}
	}
	e.searchLimits("converse", h, false)
	e.unsupported(h.Location != nil, "user_location")
	e.unsupported(h.ContextSize != "", "search_context_size")
	start := e.Object()
	e.Key(systemTool)
	inner := e.Object()
	e.StringField("name", name)
	for _, key := range slices.Sorted(maps.Keys(h.Options)) {
		e.AnyKey(key)
		e.Raw(h.Options[key])
	}
	c.endBlock(e, start, inner, t.Extra)
}

// Decoding.

func (c converse) decodeRequest(d *decoder, body []byte, req *llm.Request) (stream bool) {
	var config []byte
	for key, v := range d.members(body) {
		switch string(key) {
		case "system":
			c.decodeSystem(d, v, req)
		case "messages":
			for el := range d.objects(v) {
				req.Messages = append(req.Messages, decodeBlockMessage(d, el, c.decodeBlocks)...)
			}
		case "inferenceConfig":
			c.decodeInference(d, v, req)
		case "toolConfig":
			c.decodeToolConfig(d, v, req)
		case "additionalModelRequestFields":
			c.decodeModelFields(d, v, req)
		case "outputConfig":
			config = v
		case "modelId":
			req.Model = d.str(v)
		default:
			d.extra(&req.Extra, key, v)
		}
	}
	c.decodeOutputConfig(d, config, req)
	return false
}

// decodeSystem takes plain text for Request.System, and blocks for a message
// that stands before all others.
func (c converse) decodeSystem(d *decoder, v []byte, req *llm.Request) {
	parts := c.decodeBlocks(d, v)
	if s, ok := plainText(parts); ok {
		req.System = s
		return
	}
	req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Parts: parts}}, req.Messages...)
}

func (converse) decodeInference(d *decoder, v []byte, req *llm.Request) {
	if !d.object(v) {
		return
	}
	var rest fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "maxTokens":
			req.MaxTokens = d.integer(val)
		case "temperature":
			req.Temperature = d.float(val)
		case "topP":
			req.TopP = d.float(val)
		case "stopSequences":
			req.Stop = d.strings(val)
		default:
			rest.add(key, val)
		}
	}
	d.keep(req, "inferenceConfig", rest)
}

// keep holds the members of an object that were not understood.
func (d *decoder) keep(req *llm.Request, key string, rest fields) {
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, key, more)
	}
}

// decodeOutputConfig reads the schema and the effort. Where thinking is asked
// for apart, an effort alone asks for none and stays a field of this format.
func (c converse) decodeOutputConfig(d *decoder, v []byte, req *llm.Request) {
	if _, apart := converseMakers[d.c.Quirks.ModelFields]; !apart && req.Reasoning == nil && says(d.get(v, "effort")) {
		req.Reasoning = new(llm.Reasoning)
	}
	var rest fields
	for key, val := range d.members(v) {
		switch {
		case string(key) == "effort" && req.Reasoning != nil && !req.Reasoning.Off:
			req.Reasoning.Effort = d.str(val)
		case string(key) == "textFormat" && d.str(d.get(val, "type")) == "json_schema":
			structure := d.get(val, "structure")
			c.decodeSchema(d, d.get(structure, "jsonSchema"), req)
			d.unread(&req.Extra, val, converseText)
			d.unread(&req.Extra, structure, converseStructure)
		default:
			rest.add(key, val)
		}
	}
	d.keep(req, "outputConfig", rest)
}

// decodeSchema reads a schema, which is JSON in a string.
func (converse) decodeSchema(d *decoder, v []byte, req *llm.Request) {
	text := d.str(d.get(v, "schema"))
	if !json.Valid([]byte(text)) {
		d.want(v, "a JSON schema as a string")
		return
	}
	req.Output = &llm.OutputFormat{
		Schema: json.RawMessage(text), Name: d.str(d.get(v, "name")), Description: d.str(d.get(v, "description")),
	}
	d.unread(&req.Extra, v, converseSchema)
}

func (c converse) decodeToolConfig(d *decoder, v []byte, req *llm.Request) {
	if !d.object(v) {
		return
	}
	var rest fields
	for key, val := range d.members(v) {
		switch string(key) {
		case "tools":
			for el := range d.objects(val) {
				c.decodeTool(d, el, req)
			}
		case "toolChoice":
			c.decodeChoice(d, val, req)
		default:
			rest.add(key, val)
		}
	}
	d.keep(req, "toolConfig", rest)
}

// decodeTool reads a tool, or a cache point, which belongs to the tool before
// it.
func (c converse) decodeTool(d *decoder, v []byte, req *llm.Request) {
	kind, body, extra := c.splitBlock(d, v)
	t := llm.ToolDef{Extra: extra}
	switch kind {
	case "toolSpec":
		for key, val := range d.members(body) {
			switch string(key) {
			case "name":
				t.Name = d.str(val)
			case "description":
				t.Description = d.str(val)
			case "inputSchema":
				if t.Schema = d.schema(d.get(val, "json")); t.Schema == nil && js.Kind(val) == '{' {
					d.want(val, "an object with the member json")
				}
				d.unread(&t.Extra, val, converseInput)
			case "strict":
				t.Strict = d.flag(val)
			default:
				d.extraNamed(&t.Extra, innerPrefix+string(key), val)
			}
		}
	case systemTool:
		name := d.str(d.get(body, "name"))
		t.Kind, t.Name, t.Hosted = llm.HostedTool, cmp.Or(converseHostedNames[name], name), &llm.HostedConfig{Type: systemTool}
		for key, val := range d.members(body) {
			if string(key) != "name" {
				d.option(t.Hosted, key, val)
			}
		}
	case cachePoint:
		d.oneOf(body, "{", "an object")
		for key, val := range d.members(v) {
			if string(key) != cachePoint {
				d.want(val, "absent: a cache point stands alone")
			}
		}
		if n := len(req.Tools); n > 0 {
			d.extraNamed(&req.Tools[n-1].Extra, cachePoint, body)
		} else {
			d.want(v, "a tool: a cache point follows one")
		}
		return
	default:
		d.want(v, "a toolSpec, a systemTool or a cachePoint")
		return
	}
	req.Tools = append(req.Tools, t)
}

func (converse) decodeChoice(d *decoder, v []byte, req *llm.Request) {
	if !d.object(v) {
		return
	}
	for key, val := range d.members(v) {
		d.object(val)
		d.unread(&req.Extra, val, converseChoice, string(key))
		switch string(key) {
		case "auto":
		case "any":
			req.Choice.Mode = llm.MustCall
		case "tool":
			req.Choice.Mode, req.Choice.Name = llm.MustCall, d.str(d.get(val, "name"))
		default:
			d.want(v, "auto, any or tool")
		}
	}
}
