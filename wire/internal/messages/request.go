package messages

import (
	"cmp"
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/names"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// maxTokens is what a request without a limit gets: the format
// demands one, and this is the least that every model allows.
const maxTokens = 4096

var settings = codec.Settings{
	{Feature: format.Temperature, Member: "temperature"}, {Feature: format.TopP, Member: "top_p"}, {Feature: format.TopK, Member: "top_k"},
	{Feature: format.StopSequences, Member: "stop_sequences"}, {Feature: format.FrequencyPenalty}, {Feature: format.PresencePenalty}, {Feature: format.Seed},
}

func (m Format) EncodeRequest(e *codec.Encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.OptString("anthropic_version", e.Host.Quirks.Version)
	here := e.Host.Properties()
	if !here.ModelInPath() {
		e.OptString("model", req.Model)
	}
	if req.MaxTokens > 0 {
		e.IntField("max_tokens", req.MaxTokens)
	} else {
		e.IntField("max_tokens", maxTokens)
		e.Lost(llm.Compatibility, "max_tokens", "the messages format demands a limit; 4096 was set")
	}
	rest := encodeSystem(e, req)
	e.ArrayField("messages")
	encodeMessages(e, rest)
	e.EndArray()
	encodeTools(e, req)
	encodeChoice(e, req)
	EncodeThinkingConfig(e, req.Reasoning)
	encodeOutputConfig(e, req)
	e.Settings(settings, req)
	if stream && !here.StreamInPath() {
		e.BoolField("stream", true)
	}
	fields := e.OwnExtra(req.Extra)
	if fields["output_config"] != nil {
		fields = codec.OmitFields(fields, "output_config")
	}
	e.EndFields(start, fields)
}

// encodeSystem writes the instructions and returns the messages after them.
func encodeSystem(e *codec.Encoder, req *llm.Request) []llm.Message {
	n := 0
	for n < len(req.Messages) && codec.IsSystem(req.Messages[n].Role) {
		n++
	}
	switch {
	case n > 0:
		e.ArrayField("system")
		if req.System != "" {
			codec.EncodeBlock(Format{}, e, llm.Text{Text: req.System})
		}
		for _, msg := range req.Messages[:n] {
			for _, p := range msg.Parts {
				codec.EncodeBlock(Format{}, e, p)
			}
			e.OwnExtra(msg.Extra)
		}
		e.EndArray()
	case req.System != "":
		e.StringField("system", req.System)
	}
	return req.Messages[n:]
}

func EncodeThinkingConfig(e *codec.Encoder, r *llm.Reasoning) {
	if r == nil {
		return
	}
	e.ObjectField("thinking")
	switch {
	case r.Off:
		e.StringField("type", "disabled")
	case r.Tokens > 0:
		e.StringField("type", "enabled")
		e.IntField("budget_tokens", r.Tokens)
		e.OptString("display", e.ThinkingDisplay(displays, r))
	default:
		e.StringField("type", "adaptive")
		e.OptString("display", e.ThinkingDisplay(displays, r))
	}
	e.End()
}

func encodeOutputConfig(e *codec.Encoder, req *llm.Request) {
	more := req.Extra[e.Host.Format]["output_config"]
	effort := ""
	if req.Reasoning != nil && !req.Reasoning.Off {
		effort = req.Reasoning.Effort
	}
	schema := req.Output != nil && len(req.Output.Schema) > 0
	e.Unsupported(req.Output != nil && !schema, "output without schema")
	if effort == "" && !schema && more == nil {
		return
	}
	start := e.ObjectField("output_config")
	e.OptString("effort", effort)
	if schema {
		e.ObjectField("format")
		e.StringField("type", "json_schema")
		e.RawField("schema", req.Output.Schema)
		e.End()
	}
	e.EndRest(start, more)
}

func (m Format) DecodeRequest(d *codec.Decoder, body []byte, req *llm.Request) (stream bool) {
	var config []byte
	for key, v := range d.Members(body) {
		switch string(key) {
		case "system":
			decodeSystem(d, v, req)
		case "messages":
			decodeMessages(d, v, req)
		case "tools":
			decodeTools(d, v, req)
		case "tool_choice":
			decodeChoice(d, v, req)
		case "max_tokens":
			req.MaxTokens = d.Integer(v)
		case "thinking":
			DecodeThinkingConfig(d, v, req)
		case "output_config":
			config = v
		case "stream":
			stream = d.Boolean(v)
		case "anthropic_version":
			if !js.Is(v, d.Host.Quirks.Version) {
				d.Extra(&req.Extra, key, v)
			}
		case "model":
			req.Model = d.Str(v)
		default:
			if !d.Setting(settings, key, v, req) {
				d.Extra(&req.Extra, key, v)
			}
		}
	}
	decodeOutputConfig(d, config, req)
	if ch := &req.Choice; strings.HasPrefix(ch.Name, search) {
		if _, own := req.Tool(ch.Name); !own { // the vendor's search, which has one name here
			ch.Name = llm.ToolSearch
		}
	}
	return stream
}

func DecodeThinkingConfig(d *codec.Decoder, v []byte, req *llm.Request) {
	r := &llm.Reasoning{Summary: d.Str(d.Get(v, "display"))}
	switch d.Str(d.Get(v, "type")) {
	case "disabled":
		r.Off = true
	case "enabled":
		r.Tokens = d.Integer(d.Get(v, "budget_tokens"))
	case "adaptive":
	default:
		d.ExtraField(&req.Extra, "thinking", v)
		return
	}
	d.KeepUnread(&req.Extra, v, thinking)
	req.Reasoning = r
}

// decodeOutputConfig reads the schema and the effort. An effort without
// thinking does not ask for thinking, so it stays a field of this format.
func decodeOutputConfig(d *codec.Decoder, v []byte, req *llm.Request) {
	var rest codec.Fields
	for key, val := range d.Members(v) {
		switch {
		case string(key) == "effort" && req.Reasoning != nil && !req.Reasoning.Off:
			req.Reasoning.Effort = d.Str(val)
		case string(key) == "format" && d.Str(d.Get(val, "type")) == "json_schema":
			req.Output = &llm.OutputFormat{Schema: d.Schema(d.Get(val, "schema"))}
			d.KeepUnread(&req.Extra, val, outputFormat)
		default:
			rest.Add(key, val)
		}
	}
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, "output_config", more)
	}
}

// decodeSystem reads a string as Request.System, and blocks as a message before all others.
func decodeSystem(d *codec.Decoder, v []byte, req *llm.Request) {
	if js.Kind(v) == '"' {
		req.System = d.Text(v)
		return
	}
	if !d.Array(v) {
		return
	}
	parts := decodeBlocks(d, v)
	if s, ok := codec.PlainText(parts); ok {
		req.System = s
		return
	}
	req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Parts: parts}}, req.Messages...)
}

// Tools.

func encodeTools(e *codec.Encoder, req *llm.Request) {
	tools := e.OfferedTools(req)
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
	if t.Kind == llm.HostedTool {
		encodeHosted(e, t)
		return
	}
	t = asDefined(t)
	fields := e.OwnExtra(t.Extra)
	start := e.Object()
	e.StringField("name", t.Name)
	e.OptString("description", t.Description)
	switch {
	case t.Kind == llm.FreeTool:
		e.RawField("input_schema", e.FreeSchema(t))
	case len(t.Schema) > 0:
		e.RawField("input_schema", t.Schema)
	case fields["type"] == nil:
		e.RawField("input_schema", []byte(`{"type":"object","properties":{}}`))
	}
	if t.Strict != nil && !e.Host.Quirks.NoStrict {
		e.BoolField("strict", *t.Strict)
	}
	if len(t.Examples) > 0 {
		e.ArrayField("input_examples")
		for _, ex := range t.Examples {
			e.Raw(ex)
		}
		e.EndArray()
	}
	e.EndFields(start, fields)
}

// messagesHosted is the version of a hosted tool where the caller names none.
var messagesHosted = map[string]string{
	llm.ToolSearch: search + "bm25_20251119", llm.WebSearch: "web_search_20250305", "web_fetch": "web_fetch_20250910", "code_execution": "code_execution_20250825",
}

// nameless are our names for tools that do not have a name in this format.
var nameless = map[string]string{"mcp_toolset": "mcp"}

// search begins the names of the vendor's tools that find tools.
const search = "tool_search_tool_"

// hostedName is what the vendor calls a hosted tool of that type.
func hostedName(name, typ string) string {
	if name != llm.ToolSearch || !strings.HasPrefix(typ, search) {
		return name
	}
	how, _, _ := strings.Cut(typ[len(search):], "_")
	return search + how
}

// calledHere is what the vendor calls a tool of the request.
func calledHere(name string, t llm.ToolDef) string {
	typ := messagesHosted[name]
	if t.Hosted != nil && dated(t.Hosted.Type) {
		typ = t.Hosted.Type
	}
	if t.Kind != llm.HostedTool {
		return name
	}
	return hostedName(name, typ)
}

func encodeHosted(e *codec.Encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	if own := t.Extra[names.Messages]; own["type"] != nil { // as the client of this format said it
		encodeOwn(e, own, h)
		return
	}
	typ := h.Type
	if !dated(typ) {
		if typ != "" && len(h.Options) > 0 {
			e.Refuse("the options of %s are not those of the messages format: %s", typ, codec.OptionNames(h))
		}
		if typ = messagesHosted[t.Name]; typ == "" {
			e.Refuse("the messages format has no hosted tool %q", t.Name)
		}
	}
	e.Unsupported(h.ContextSize != "", "search_context_size")
	start := e.Object()
	e.StringField("type", typ)
	e.StringField("name", hostedName(t.Name, typ))
	hostedLimits(e, h)
	e.EndFields(start, h.Options)
}

// encodeOwn writes a tool of a type without a date: its type, and its name if it has one.
func encodeOwn(e *codec.Encoder, own map[string]json.RawMessage, h *llm.HostedConfig) {
	start := e.Object()
	e.RawField("type", own["type"])
	if own["name"] != nil {
		e.RawField("name", own["name"])
	}
	hostedLimits(e, h)
	e.EndFields(start, h.Options)
}

// hostedLimits writes what guards a hosted tool.
func hostedLimits(e *codec.Encoder, h *llm.HostedConfig) {
	e.OptInt("max_uses", h.MaxUses)
	e.OptStrings("allowed_domains", h.AllowedDomains)
	e.OptStrings("blocked_domains", h.BlockedDomains)
	if h.Location != nil {
		e.ObjectField("user_location")
		e.StringField("type", "approximate")
		e.Location(h.Location)
		e.End()
	}
}

// dated reports whether a type ends with a date, as the tools of this vendor
// do.
func dated(typ string) bool {
	i := strings.LastIndexByte(typ, '_')
	return i > 0 && len(typ) == i+9 && strings.Trim(typ[i+1:], "0123456789") == ""
}

func decodeTools(d *codec.Decoder, v []byte, req *llm.Request) {
	for el := range d.Objects(v) {
		req.Tools = append(req.Tools, decodeTool(d, el))
	}
}

// clientTools are tools whose definition the vendor knows and the client runs.
var clientTools = []string{"bash_", "text_editor_", "computer_", "memory_"}

func decodeTool(d *codec.Decoder, v []byte) llm.ToolDef {
	typ := d.Str(d.Get(v, "type"))
	if typ != "" && typ != "custom" && !definesType(typ) {
		return decodeHosted(d, v)
	}
	var t llm.ToolDef
	for key, val := range d.Members(v) {
		switch string(key) {
		case "name":
			t.Name = d.Str(val)
		case "description":
			t.Description = d.Str(val)
		case "input_schema":
			t.Schema = d.Schema(val)
		case "strict":
			t.Strict = d.Flag(val)
		case "input_examples":
			for el := range d.Elements(val) {
				t.Examples = append(t.Examples, d.Raw(el))
			}
		case "type":
			if typ != "custom" {
				d.Extra(&t.Extra, key, val)
			}
		default:
			d.Extra(&t.Extra, key, val)
		}
	}
	define(&t)
	return t
}

func decodeHosted(d *codec.Decoder, v []byte) llm.ToolDef {
	h := new(llm.HostedConfig)
	t := llm.ToolDef{Kind: llm.HostedTool, Hosted: h}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
			h.Type = d.Str(val)
		case "name":
			t.Name = d.Str(val)
		case "max_uses":
			h.MaxUses = d.Integer(val)
		case "allowed_domains":
			h.AllowedDomains = d.Strings(val)
		case "blocked_domains":
			h.BlockedDomains = d.Strings(val)
		case "user_location":
			if h.Location = d.Location(val); h.Location == nil {
				d.Option(h, key, val)
			}
		default:
			d.Option(h, key, val)
		}
	}
	switch {
	case strings.HasPrefix(h.Type, search):
		t.Name = llm.ToolSearch
	case !dated(h.Type):
		d.ExtraField(&t.Extra, "type", d.Get(v, "type"))
		if t.Name != "" {
			d.ExtraField(&t.Extra, "name", d.Get(v, "name"))
		}
	}
	t.Name = cmp.Or(t.Name, cmp.Or(nameless[h.Type], h.Type))
	return t
}

func encodeChoice(e *codec.Encoder, req *llm.Request) {
	if len(req.Tools) == 0 {
		return
	}
	ch := codec.IsForced(req.Choice)
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
	e.ObjectField("tool_choice")
	e.StringField("type", kind)
	if kind == "tool" {
		t, _ := req.Tool(ch.Name)
		e.StringField("name", calledHere(ch.Name, t))
	}
	if req.OneCall {
		e.Flag(!e.Host.Quirks.NoParallel, "disable_parallel_tool_use", true)
	}
	e.End()
}

func decodeChoice(d *codec.Decoder, v []byte, req *llm.Request) {
	if !d.Object(v) {
		return
	}
	d.KeepUnread(&req.Extra, v, choice)
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
			switch d.Str(val) {
			case "tool", "any":
				req.Choice.Mode = llm.MustCall
			case "none":
				req.Choice.Mode = llm.MustNotCall
			case "auto":
			default:
				d.Want(val, "auto, any, tool or none")
			}
		case "name":
			req.Choice.Name = d.Str(val)
		case "disable_parallel_tool_use":
			req.OneCall = d.Boolean(val)
		}
	}
}

var thinking = &codec.ObjectSpec{Path: "/thinking", Known: []string{"type", "budget_tokens", "display"}}

var outputFormat = &codec.ObjectSpec{Path: "/output_config/format", Known: []string{"type", "schema"}}

var choice = &codec.ObjectSpec{Path: "/tool_choice", Known: []string{"type", "name", "disable_parallel_tool_use"}}

var source = &codec.ObjectSpec{Path: "/source", Known: []string{"type", "media_type", "data", "url", "file_id"}}

// The words of the formats for how thinking is shown, by the word that a client has for it: "auto", "concise" and
// "detailed" are those of the responses format, "summarized" and "omitted" those of the messages format.
var displays = map[string]codec.Display{
	"summarized": {Word: "summarized"}, "auto": {Word: "summarized"},
	"concise": {Word: "summarized", Close: true}, "detailed": {Word: "summarized", Close: true},
	"omitted": {Word: "omitted"}, codec.HiddenThoughts: {Word: "omitted"},
}
