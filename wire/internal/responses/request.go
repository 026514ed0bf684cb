package responses

import (
	"cmp"
	"encoding/json"
	"strconv"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/chat"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

var textFormat = &codec.ObjectSpec{Path: "/text/format", Known: append([]string{"type"}, codec.SchemaMembers...)}

var choice = &codec.ObjectSpec{Path: codec.ChoicePlace, Known: []string{"type", "name", "mode", "tools"}}

var allowed = &codec.ObjectSpec{Path: codec.AllowedPlace, Known: []string{"type", "name"}}

var grammar = &codec.ObjectSpec{Path: "/format", Known: []string{"type", "syntax", "definition"}}

var settings = codec.Settings{
	{Feature: format.MaxTokens, Member: "max_output_tokens"}, {Feature: format.Temperature, Member: "temperature"}, {Feature: format.TopP, Member: "top_p"},
	{Feature: format.TopK}, {Feature: format.FrequencyPenalty}, {Feature: format.PresencePenalty}, {Feature: format.Seed}, {Feature: format.StopSequences},
}

func (Format) EncodeRequest(e *codec.Encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.OptString("model", req.Model)
	e.OptString("instructions", req.System)
	e.ArrayField("input")
	calls := codec.CallsByID(req.Messages)
	e.Turns(req.Messages, func(turn []llm.Message) {
		for _, m := range turn {
			encodeMessage(e, m, calls)
		}
	})
	e.EndArray()
	encodeTools(e, withoutFound(e, req))
	encodeChoice(e, req)
	if req.OneCall && len(req.Tools) > 0 {
		e.Flag(!e.Host.Quirks.NoParallel, "parallel_tool_calls", false)
	}
	e.Settings(settings, req)
	encodeReasoning(e, req)
	encodeText(e, req)
	if stream {
		e.BoolField("stream", true)
	}
	fields := e.OwnExtra(req.Extra)
	e.EndFields(start, codec.OmitFields(codec.OmitFields(fields, "text"), "reasoning"))
}

func encodeReasoning(e *codec.Encoder, req *llm.Request) {
	more := req.Extra[e.Host.Format]["reasoning"]
	r := req.Reasoning
	if r == nil {
		if more != nil {
			e.RawField("reasoning", more)
		}
		return
	}
	start := e.ObjectField("reasoning")
	if r.Off {
		e.StringField("effort", "none")
	} else {
		e.OptString("effort", r.Effort)
		e.OptString("summary", e.ThinkingDisplay(displays, r))
		e.Unsupported(r.Tokens != 0, "reasoning.budget")
	}
	e.EndRest(start, more)
}

func encodeText(e *codec.Encoder, req *llm.Request) {
	more := req.Extra[e.Host.Format]["text"]
	out := req.Output
	if out == nil && more == nil {
		return
	}
	start := e.ObjectField("text")
	switch {
	case out == nil:
	case len(out.Schema) == 0:
		e.RawField("format", []byte(`{"type":"json_object"}`))
	default:
		e.ObjectField("format")
		e.StringField("type", "json_schema")
		chat.EncodeOutput(e, out)
		e.End()
	}
	e.EndRest(start, more)
}

func (Format) DecodeRequest(d *codec.Decoder, body []byte, req *llm.Request) (stream bool) {
	for key, v := range d.Members(body) {
		switch string(key) {
		case "instructions":
			req.System = d.Str(v)
		case "input":
			decodeInput(d, v, req)
		case "tools":
			decodeTools(d, v, req)
		case "tool_choice":
			decodeChoice(d, v, req)
		case "parallel_tool_calls":
			req.OneCall = chat.Refused(d, v)
		case "reasoning":
			decodeReasoning(d, v, req)
		case "text":
			decodeText(d, v, req)
		case "stream":
			stream = d.Boolean(v)
		case "model":
			req.Model = d.Str(v)
		default:
			if !d.Setting(settings, key, v, req) {
				d.Extra(&req.Extra, key, v)
			}
		}
	}
	offerFound(d, req)
	return stream
}

func decodeReasoning(d *codec.Decoder, v []byte, req *llm.Request) {
	if !d.Object(v) {
		return
	}
	r := new(llm.Reasoning)
	var rest codec.Fields
	for key, val := range d.Members(v) {
		switch string(key) {
		case "effort":
			if r.Effort = d.Str(val); r.Effort == "none" {
				r.Effort, r.Off = "", true
			}
		case "summary":
			r.Summary = d.Str(val)
		default:
			rest.Add(key, val)
		}
	}
	req.Reasoning = r
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, "reasoning", more)
	}
}

func decodeText(d *codec.Decoder, v []byte, req *llm.Request) {
	var rest codec.Fields
	for key, val := range d.Members(v) {
		if string(key) != "format" {
			rest.Add(key, val)
			continue
		}
		kind := d.Str(d.Get(val, "type"))
		if kind == "text" || kind == "json_object" || kind == "json_schema" {
			d.KeepUnread(&req.Extra, val, textFormat)
		}
		switch kind {
		case "text":
		case "json_schema":
			req.Output = chat.DecodeOutput(d, val)
		case "json_object":
			req.Output = new(llm.OutputFormat)
		default:
			rest.Add(key, val)
		}
	}
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, "text", more)
	}
}

// Tools.

func encodeTools(e *codec.Encoder, tools []llm.ToolDef) {
	if len(tools) == 0 {
		return
	}
	e.ArrayField("tools")
	for len(tools) > 0 {
		n := 1
		switch space, _ := spaceOf(tools[0]); {
		case space != nil:
			n = encodeNamespace(e, tools)
		case tools[0].Kind == llm.HostedTool:
			encodeHosted(e, tools[0])
		default:
			encodeTool(e, tools[0])
		}
		tools = tools[n:]
	}
	e.EndArray()
}

func encodeTool(e *codec.Encoder, t llm.ToolDef) {
	e.Unsupported(len(t.Examples) > 0, "examples")
	start := e.Object()
	e.StringField("type", chat.ToolWord(t.Kind))
	e.StringField("name", t.Name)
	e.OptString("description", t.Description)
	if t.Kind == llm.FreeTool {
		if t.Grammar != nil {
			e.ObjectField("format")
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
		if !e.Host.Quirks.NoStrict {
			// Left out, the vendor would take the schema as strict.
			e.BoolField("strict", t.Strict != nil && *t.Strict)
		}
	}
	e.EndExtra(start, t.Extra)
}

func encodeHosted(e *codec.Encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	typ := h.Type
	if _, ok := hostedTypes[typ]; !ok && len(t.Extra[e.Host.Format]) == 0 {
		if typ != "" && len(h.Options) > 0 {
			e.Refuse("the options of %s are not those of the responses format: %s", typ, codec.OptionNames(h))
		}
		if typ = hosted[t.Name]; typ == "" {
			if typ = t.Name; hostedTypes[typ] == "" {
				e.Refuse("the responses format has no hosted tool %q", t.Name)
			}
		}
	}
	e.RefuseSearchLimits("responses", h, true)
	start := e.Object()
	e.StringField("type", typ)
	if typ == "code_interpreter" && h.Options["container"] == nil {
		e.RawField("container", []byte(`{"type":"auto"}`))
	}
	if len(h.AllowedDomains) > 0 {
		e.ObjectField("filters")
		e.StringsField("allowed_domains", h.AllowedDomains)
		e.End()
	}
	if h.Location != nil {
		e.ObjectField("user_location")
		e.StringField("type", "approximate")
		e.Location(h.Location)
		e.End()
	}
	e.OptString("search_context_size", h.ContextSize)
	e.EndFields(start, h.Options)
}

func decodeTools(d *codec.Decoder, v []byte, req *llm.Request) {
	for el := range d.Objects(v) {
		if js.Is(d.Get(el, "type"), "namespace") {
			if tools, ok := decodeNamespace(d, el); ok {
				req.Tools = append(req.Tools, tools...)
				continue
			}
		}
		req.Tools = append(req.Tools, decodeTool(d, el))
	}
}

func decodeTool(d *codec.Decoder, v []byte) llm.ToolDef {
	var t llm.ToolDef
	switch kind := d.Str(d.Get(v, "type")); kind {
	case "function", "":
	case "custom":
		t.Kind = llm.FreeTool
	default:
		return decodeHosted(d, v, kind)
	}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "name":
			t.Name = d.Str(val)
		case "description":
			t.Description = d.Str(val)
		case "parameters":
			t.Schema = d.Schema(val)
		case "strict":
			t.Strict = d.Flag(val)
		case "format":
			switch d.Str(d.Get(val, "type")) {
			case "text":
			case "grammar":
				t.Grammar = chat.Grammar(d, val)
				d.KeepUnread(&t.Extra, val, grammar)
			default:
				d.Extra(&t.Extra, key, val)
			}
		default:
			d.Extra(&t.Extra, key, val)
		}
	}
	return t
}

func decodeHosted(d *codec.Decoder, v []byte, kind string) llm.ToolDef {
	h := &llm.HostedConfig{Type: kind}
	t := llm.ToolDef{Kind: llm.HostedTool, Name: cmp.Or(hostedTypes[kind], kind), Hosted: h}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "filters":
			domains := d.Get(val, "allowed_domains")
			if domains == nil || !codec.OnlyKey(val, "allowed_domains") {
				d.Option(h, key, val)
				continue
			}
			h.AllowedDomains = d.Strings(domains)
		case "user_location":
			if h.Location = d.Location(val); h.Location == nil {
				d.Option(h, key, val)
			}
		case "search_context_size":
			h.ContextSize = d.Str(val)
		default:
			d.Option(h, key, val)
		}
	}
	if hostedTypes[kind] == "" {
		d.ExtraField(&t.Extra, "type", d.Get(v, "type"))
	}
	return t
}

func encodeChoice(e *codec.Encoder, req *llm.Request) {
	ch := req.Choice
	switch {
	case ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0:
		e.StringField("tool_choice", "none")
	case ch.Mode == llm.MustCall && ch.Name != "":
		e.Key("tool_choice")
		toolRef(e, req, ch.Name)
	case ch.Allowed != nil:
		e.ObjectField("tool_choice")
		e.StringField("type", "allowed_tools")
		e.StringField("mode", ch.Mode.String())
		e.ArrayField("tools")
		for _, name := range ch.Allowed {
			toolRef(e, req, name)
		}
		e.EndArray()
		e.End()
	case ch.Mode == llm.MustCall:
		e.StringField("tool_choice", "required")
	}
}

func toolRef(e *codec.Encoder, req *llm.Request, name string) {
	t, _ := req.Tool(name)
	e.Object()
	if t.Kind == llm.HostedTool {
		typ := hosted[name]
		if t.Hosted != nil {
			typ = cmp.Or(t.Hosted.Type, typ)
		}
		e.StringField("type", cmp.Or(typ, name))
	} else {
		e.StringField("type", chat.ToolWord(t.Kind))
		e.CallName(name)
	}
	e.End()
}

func decodeChoice(d *codec.Decoder, v []byte, req *llm.Request) {
	ch := &req.Choice
	if js.Kind(v) == '"' {
		chat.Mode(d, v, ch)
		return
	}
	if !d.Object(v) {
		return
	}
	name := func(ref []byte) string {
		kind := d.Str(d.Get(ref, "type"))
		if here := hostedTypes[kind]; here != "" { // a name next to it belongs to an inner object, such as a tool of an MCP server
			return here
		}
		if n := d.Get(ref, "name"); n != nil {
			return d.Str(n)
		}
		if kind == "" {
			d.Want(ref, "a choice that names a tool")
		}
		return kind
	}
	unread := func(ref []byte, o *codec.ObjectSpec, stars ...string) {
		if hostedTypes[d.Text(d.Get(ref, "type"))] != "" {
			o = &codec.ObjectSpec{Path: o.Path, Known: []string{"type"}}
		}
		d.KeepUnread(&req.Extra, ref, o, stars...)
	}
	unread(v, choice)
	if !js.Is(d.Get(v, "type"), "allowed_tools") {
		ch.Mode, ch.Name = llm.MustCall, name(v)
		return
	}
	chat.Mode(d, d.Get(v, "mode"), ch)
	ch.Allowed = []string{}
	for el := range d.Elements(d.Get(v, "tools")) {
		unread(el, allowed, strconv.Itoa(len(ch.Allowed)))
		ch.Allowed = append(ch.Allowed, name(el))
	}
}

// ownType returns the type of an item that is kept whole in a state of this
// vendor, and "" if the state is not a whole item.
func ownType(e *codec.Encoder, s llm.State) (raw json.RawMessage, typ string) {
	raw = e.OwnState(s)
	return raw, js.Text(js.Get(raw, "type"))
}

var displays = map[string]codec.Display{
	"auto": {Word: "auto"}, "concise": {Word: "concise"}, "detailed": {Word: "detailed"}, "summarized": {Word: "auto"},
	"omitted": {}, codec.HiddenThoughts: {},
}
