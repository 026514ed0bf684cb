package converse

import (
	"cmp"
	"encoding/json"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// EncodeRequest writes a request. The model and the stream are in the URL; see Path.
func (Format) EncodeRequest(e *codec.Encoder, req *llm.Request, _ bool) {
	start := e.Object()
	rest := encodeSystem(e, req)
	e.ArrayField("messages")
	encodeMessages(e, rest)
	e.EndArray()
	encodeInference(e, req)
	encodeTools(e, req)
	encodeOutputConfig(e, req)
	encodeModelFields(e, req)
	e.Unsupported(req.OneCall, "parallel_tool_calls")
	fields := e.OwnExtra(req.Extra)
	for _, written := range []string{"inferenceConfig", "toolConfig", "outputConfig", "additionalModelRequestFields", restatedFields} {
		fields = codec.OmitFields(fields, written)
	}
	e.EndFields(start, fields)
}

// encodeSystem writes the instructions and returns the messages after them.
func encodeSystem(e *codec.Encoder, req *llm.Request) []llm.Message {
	n := 0
	for n < len(req.Messages) && codec.IsSystem(req.Messages[n].Role) {
		n++
	}
	if n == 0 && req.System == "" {
		return req.Messages
	}
	e.ArrayField("system")
	codec.EncodeBlock(Format{}, e, llm.Text{Text: req.System})
	for _, m := range req.Messages[:n] {
		codec.EncodeBlocks(Format{}, e, m.Parts)
		e.OwnExtra(m.Extra)
	}
	e.EndArray()
	return req.Messages[n:]
}

// member begins an object that is left out if it stays empty: the caller ends
// it with endMember.
func member(e *codec.Encoder, key string) (mark, start int) {
	mark = len(e.Buf)
	e.Key(key)
	return mark, e.Object()
}

// endMember ends an object with the members of more that it does not have.
func endMember(e *codec.Encoder, mark, start int, more []byte) {
	e.EndRest(start, more)
	if len(e.Buf)-start == len("{}") {
		e.Buf = e.Buf[:mark]
	}
}

var settings = codec.Settings{
	{Feature: format.MaxTokens, Member: "maxTokens"}, {Feature: format.Temperature, Member: "temperature"}, {Feature: format.TopP, Member: "topP"},
	{Feature: format.StopSequences, Member: "stopSequences"}, {Feature: format.FrequencyPenalty}, {Feature: format.PresencePenalty}, {Feature: format.Seed},
}

func encodeInference(e *codec.Encoder, req *llm.Request) {
	mark, start := member(e, "inferenceConfig")
	e.Settings(settings, req)
	endMember(e, mark, start, req.Extra[e.Host.Format]["inferenceConfig"])
}

func encodeOutputConfig(e *codec.Encoder, req *llm.Request) {
	mark, start := member(e, "outputConfig")
	if r := req.Reasoning; r != nil && !r.Off && !ownEffort(e, req) {
		e.OptString("effort", r.Effort)
	}
	switch {
	case req.Output == nil:
	case len(req.Output.Schema) == 0:
		e.Unsupported(true, "output without schema")
	default:
		e.ObjectField("textFormat")
		e.StringField("type", "json_schema")
		e.ObjectField("structure")
		e.ObjectField("jsonSchema")
		e.StringField("schema", string(req.Output.Schema))
		e.OptString("name", req.Output.Name)
		e.OptString("description", req.Output.Description)
		e.End()
		e.End()
		e.End()
	}
	endMember(e, mark, start, req.Extra[e.Host.Format]["outputConfig"])
}

// Tools.

func encodeTools(e *codec.Encoder, req *llm.Request) {
	ch := codec.IsForced(req.Choice)
	tools := e.OfferedTools(req)
	if ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0 {
		tools = withheld(e, req)
	}
	more := req.Extra[e.Host.Format]["toolConfig"]
	if len(tools) == 0 {
		e.LostField(e.Host.Format, "toolConfig", more, loss.NotSent)
		return
	}
	start := e.ObjectField("toolConfig")
	e.ArrayField("tools")
	for _, t := range tools {
		encodeTool(e, t)
	}
	e.EndArray()
	switch {
	case ch.Mode == llm.MustCall && ch.Name != "":
		e.ObjectField("toolChoice")
		e.ObjectField("tool")
		e.StringField("name", ch.Name)
		e.End()
		e.End()
	case ch.Mode == llm.MustCall:
		e.RawField("toolChoice", []byte(`{"any":{}}`))
	}
	e.EndRest(start, more)
}

// withheld returns the tools that are offered although none may be called: the
// format cannot forbid calls, but it demands the tools of a conversation that
// holds some.
func withheld(e *codec.Encoder, req *llm.Request) []llm.ToolDef {
	if len(req.Tools) == 0 {
		return nil
	}
	if len(codec.CallsByID(req.Messages)) > 0 {
		e.Lost(llm.Degraded, "tool_choice", "the converse format cannot forbid calls, and it demands the tools of earlier calls")
		return req.Tools
	}
	e.Lost(llm.Degraded, "tool_choice", "the converse format cannot forbid calls; the tools are not offered")
	return nil
}

func encodeTool(e *codec.Encoder, t llm.ToolDef) {
	if t.Kind == llm.HostedTool {
		encodeHosted(e, t)
		return
	}
	e.Unsupported(len(t.Examples) > 0, "examples")
	start := e.Object()
	inner := e.ObjectField("toolSpec")
	e.StringField("name", t.Name)
	e.OptString("description", t.Description)
	e.ObjectField("inputSchema")
	switch {
	case t.Kind == llm.FreeTool:
		e.RawField("json", e.FreeSchema(t))
	case len(t.Schema) > 0:
		e.RawField("json", t.Schema)
	default:
		e.RawField("json", []byte(`{"type":"object","properties":{}}`))
	}
	e.End()
	if t.Strict != nil && !e.Host.Quirks.NoStrict {
		e.BoolField("strict", *t.Strict)
	}
	endBlock(e, start, inner, t.Extra)
}

// hosted is what the vendor calls the hosted tools that have a common
// name.
var hosted = map[string]string{llm.WebSearch: "nova_grounding", "code_execution": "nova_code_interpreter"}

var hostedNames = map[string]string{"nova_grounding": llm.WebSearch, "nova_code_interpreter": "code_execution"}

const systemTool = "systemTool"

func encodeHosted(e *codec.Encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	name := cmp.Or(hosted[t.Name], t.Name)
	if h.Type != systemTool {
		if len(h.Options) > 0 {
			e.Refuse("the options of %s are not those of the converse format: %s", h.Type, codec.OptionNames(h))
		}
		if hosted[t.Name] == "" {
			e.Refuse("the converse format has no hosted tool %q", t.Name)
		}
	}
	e.RefuseSearchLimits("converse", h, false)
	e.Unsupported(h.Location != nil, "user_location")
	e.Unsupported(h.ContextSize != "", "search_context_size")
	start := e.Object()
	inner := e.ObjectField(systemTool)
	e.StringField("name", name)
	for _, key := range js.Keys(h.Options) {
		e.AnyKey(key)
		e.Raw(h.Options[key])
	}
	endBlock(e, start, inner, t.Extra)
}

// Decoding.

func (Format) DecodeRequest(d *codec.Decoder, body []byte, req *llm.Request) (stream bool) {
	var config []byte
	for key, v := range d.Members(body) {
		switch string(key) {
		case "system":
			decodeSystem(d, v, req)
		case "messages":
			for el := range d.Objects(v) {
				req.Messages = append(req.Messages, codec.DecodeBlockMessage(d, el, decodeBlocks)...)
			}
		case "inferenceConfig":
			decodeInference(d, v, req)
		case "toolConfig":
			decodeToolConfig(d, v, req)
		case "additionalModelRequestFields":
			decodeModelFields(d, v, req)
		case "outputConfig":
			config = v
		case "modelId":
			req.Model = d.Str(v)
		default:
			d.Extra(&req.Extra, key, v)
		}
	}
	decodeOutputConfig(d, config, req)
	return false
}

// decodeSystem reads plain text as Request.System, and blocks as a message before all others.
func decodeSystem(d *codec.Decoder, v []byte, req *llm.Request) {
	parts := decodeBlocks(d, v)
	if s, ok := codec.PlainText(parts); ok {
		req.System = s
		return
	}
	req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Parts: parts}}, req.Messages...)
}

func decodeInference(d *codec.Decoder, v []byte, req *llm.Request) {
	if !d.Object(v) {
		return
	}
	var rest codec.Fields
	for key, val := range d.Members(v) {
		if !d.Setting(settings, key, val, req) {
			rest.Add(key, val)
		}
	}
	keep(d, req, "inferenceConfig", rest)
}

// keep holds the members of an object that were not understood.
func keep(d *codec.Decoder, req *llm.Request, key string, rest codec.Fields) {
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, key, more)
	}
}

// decodeOutputConfig reads the schema and the effort. Where thinking is asked
// for apart, an effort alone asks for none and stays a field of this format.
func decodeOutputConfig(d *codec.Decoder, v []byte, req *llm.Request) {
	if _, apart := makers[d.Host.Quirks.ModelFields]; !apart && req.Reasoning == nil && codec.HasValue(d.Get(v, "effort")) {
		req.Reasoning = new(llm.Reasoning)
	}
	var rest codec.Fields
	for key, val := range d.Members(v) {
		switch {
		case string(key) == "effort" && req.Reasoning != nil && !req.Reasoning.Off:
			req.Reasoning.Effort = d.Str(val)
		case string(key) == "textFormat" && d.Str(d.Get(val, "type")) == "json_schema":
			structure := d.Get(val, "structure")
			decodeSchema(d, d.Get(structure, "jsonSchema"), req)
			d.KeepUnread(&req.Extra, val, converseText)
			d.KeepUnread(&req.Extra, structure, converseStructure)
		default:
			rest.Add(key, val)
		}
	}
	keep(d, req, "outputConfig", rest)
}

// decodeSchema reads a schema, which is JSON in a string.
func decodeSchema(d *codec.Decoder, v []byte, req *llm.Request) {
	text := d.Str(d.Get(v, "schema"))
	if !json.Valid([]byte(text)) {
		d.Want(v, "a JSON schema as a string")
		return
	}
	req.Output = &llm.OutputFormat{
		Schema: json.RawMessage(text), Name: d.Str(d.Get(v, "name")), Description: d.Str(d.Get(v, "description")),
	}
	d.KeepUnread(&req.Extra, v, schema)
}

func decodeToolConfig(d *codec.Decoder, v []byte, req *llm.Request) {
	if !d.Object(v) {
		return
	}
	var rest codec.Fields
	for key, val := range d.Members(v) {
		switch string(key) {
		case "tools":
			for el := range d.Objects(val) {
				decodeTool(d, el, req)
			}
		case "toolChoice":
			decodeChoice(d, val, req)
		default:
			rest.Add(key, val)
		}
	}
	keep(d, req, "toolConfig", rest)
}

// decodeTool reads a tool, or a cache point, which belongs to the tool before
// it.
func decodeTool(d *codec.Decoder, v []byte, req *llm.Request) {
	kind, body, extra := splitBlock(d, v)
	t := llm.ToolDef{Extra: extra}
	switch kind {
	case "toolSpec":
		for key, val := range d.Members(body) {
			switch string(key) {
			case "name":
				t.Name = d.Str(val)
			case "description":
				t.Description = d.Str(val)
			case "inputSchema":
				if t.Schema = d.Schema(d.Get(val, "json")); t.Schema == nil && js.Kind(val) == '{' {
					d.Want(val, "an object with the member json")
				}
				d.KeepUnread(&t.Extra, val, input)
			case "strict":
				t.Strict = d.Flag(val)
			default:
				d.ExtraField(&t.Extra, loss.InnerPrefix+string(key), val)
			}
		}
	case systemTool:
		name := d.Str(d.Get(body, "name"))
		t.Kind, t.Name, t.Hosted = llm.HostedTool, cmp.Or(hostedNames[name], name), &llm.HostedConfig{Type: systemTool}
		for key, val := range d.Members(body) {
			if string(key) != "name" {
				d.Option(t.Hosted, key, val)
			}
		}
	case codec.CachePoint:
		d.OneOf(body, "{", "an object")
		for key, val := range d.Members(v) {
			if string(key) != codec.CachePoint {
				d.Want(val, "absent: a cache point stands alone")
			}
		}
		if n := len(req.Tools); n > 0 {
			d.ExtraField(&req.Tools[n-1].Extra, codec.CachePoint, body)
		} else {
			d.Want(v, "a tool: a cache point follows one")
		}
		return
	default:
		d.Want(v, "a toolSpec, a systemTool or a cachePoint")
		return
	}
	req.Tools = append(req.Tools, t)
}

func decodeChoice(d *codec.Decoder, v []byte, req *llm.Request) {
	if !d.Object(v) {
		return
	}
	for key, val := range d.Members(v) {
		d.Object(val)
		d.KeepUnread(&req.Extra, val, choice, string(key))
		switch string(key) {
		case "auto":
		case "any":
			req.Choice.Mode = llm.MustCall
		case "tool":
			req.Choice.Mode, req.Choice.Name = llm.MustCall, d.Str(d.Get(val, "name"))
		default:
			d.Want(v, "auto, any or tool")
		}
	}
}

var converseText = &codec.ObjectSpec{Path: "/outputConfig/textFormat", Known: []string{"type", "structure"}}

var converseStructure = &codec.ObjectSpec{Path: "/outputConfig/textFormat/structure", Known: []string{"jsonSchema"}}

var schema = &codec.ObjectSpec{Path: "/outputConfig/textFormat/structure/jsonSchema", Known: []string{"schema", "name", "description"}}

var choice = &codec.ObjectSpec{Path: "/toolConfig/toolChoice/*", Known: []string{"name"}}

var input = &codec.ObjectSpec{Path: "/toolSpec/inputSchema", Known: []string{"json"}}

var thought = &codec.ObjectSpec{Path: "/reasoningContent/reasoningText", Known: []string{"text", "signature"}}

var cited = &codec.ObjectSpec{Path: "/citationsContent/content/0", Known: []string{"text"}}

var converseSource = &codec.ObjectSpec{Path: "/*/source", Known: []string{"bytes", "text", "s3Location"}}

var converseStored = &codec.ObjectSpec{Path: "/*/source/s3Location", Known: []string{"uri", codec.OwnerField}}
