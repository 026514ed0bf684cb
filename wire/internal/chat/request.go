package chat

import (
	"cmp"
	"strconv"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

var settings = codec.Settings{
	{Feature: format.Temperature, Member: "temperature"}, {Feature: format.TopP, Member: "top_p"}, {Feature: format.TopK},
	{Feature: format.FrequencyPenalty, Member: "frequency_penalty"}, {Feature: format.PresencePenalty, Member: "presence_penalty"},
	{Feature: format.Seed, Member: "seed"}, {Feature: format.SeveralAnswers, Member: "n"}, {Feature: format.StopSequences, Member: "stop"},
}

func (Format) EncodeRequest(e *codec.Encoder, req *llm.Request, stream bool) {
	start := e.Object()
	e.OptString("model", req.Model)
	e.ArrayField("messages")
	if req.System != "" {
		e.Object()
		e.StringField("role", cmp.Or(e.Host.Quirks.SystemRole, "system"))
		e.StringField("content", req.System)
		e.End()
	}
	e.Turns(req.Messages, func(turn []llm.Message) {
		for _, m := range turn {
			encodeMessage(e, m)
		}
	})
	e.EndArray()
	encodeTools(e, req)
	encodeChoice(e, req)
	if req.OneCall && len(req.Tools) > 0 {
		e.Flag(!e.Host.Quirks.NoParallel, "parallel_tool_calls", false)
	}
	encodeOutput(e, req.Output)
	e.OptInt(cmp.Or(e.Host.Quirks.MaxTokens, "max_completion_tokens"), req.MaxTokens)
	e.Settings(settings, req)
	encodeReasoning(e, req.Reasoning)
	if stream {
		e.BoolField("stream", true)
	}
	fields := e.OwnExtra(req.Extra)
	if stream && !e.Host.Quirks.NoStreamUsage {
		options := e.ObjectField("stream_options")
		e.BoolField("include_usage", true)
		e.EndRest(options, fields["stream_options"])
		fields = codec.OmitFields(fields, "stream_options")
	}
	e.EndFields(start, fields)
}

func encodeReasoning(e *codec.Encoder, r *llm.Reasoning) {
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
	e.Unsupported(r.Tokens != 0, "reasoning.budget")
	e.Unsupported(r.Summary != "", "reasoning.summary")
}

func encodeOutput(e *codec.Encoder, out *llm.OutputFormat) {
	switch {
	case out == nil:
	case len(out.Schema) == 0:
		e.RawField("response_format", []byte(`{"type":"json_object"}`))
	default:
		e.ObjectField("response_format")
		e.StringField("type", "json_schema")
		e.ObjectField("json_schema")
		EncodeOutput(e, out)
		e.End()
		e.End()
	}
}

// EncodeOutput writes the members that both OpenAI formats give a schema.
func EncodeOutput(e *codec.Encoder, out *llm.OutputFormat) {
	e.StringField("name", cmp.Or(out.Name, "output"))
	e.OptString("description", out.Description)
	e.RawField("schema", out.Schema)
	if out.Strict && !e.Host.Quirks.NoStrict {
		e.BoolField("strict", true)
	}
}

func (c Format) DecodeRequest(d *codec.Decoder, body []byte, req *llm.Request) (stream bool) {
	for key, v := range d.Members(body) {
		switch string(key) {
		case "model":
			req.Model = d.Str(v)
		case "messages":
			decodeMessages(d, v, req)
		case "tools":
			DecodeTools(d, v, req)
		case searchOptions:
			decodeSearch(d, v, req)
		case "tool_choice":
			decodeChoice(d, v, req)
		case "parallel_tool_calls":
			req.OneCall = Refused(d, v)
		case "response_format":
			decodeOutput(d, v, req)
		case "max_tokens", "max_completion_tokens": // of both, a host may read either
			req.MaxTokens = max(req.MaxTokens, d.Integer(v))
		case "reasoning_effort":
			req.Reasoning = decodeEffort(d.Str(v))
		case "stream":
			stream = d.Boolean(v)
		case "stream_options":
			decodeStreamOptions(d, v, req)
		default:
			if !d.Setting(settings, key, v, req) {
				d.Extra(&req.Extra, key, v)
			}
		}
	}
	return stream
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
func decodeStreamOptions(d *codec.Decoder, v []byte, req *llm.Request) {
	var rest codec.Fields
	for key, val := range d.Members(v) {
		if string(key) != "include_usage" {
			rest.Add(key, val)
		} else {
			d.Boolean(val)
		}
	}
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, "stream_options", more)
	}
}

func decodeOutput(d *codec.Decoder, v []byte, req *llm.Request) {
	kind := d.Str(d.Get(v, "type"))
	if kind == "text" || kind == "json_object" || kind == "json_schema" {
		d.KeepUnread(&req.Extra, v, responseFormat)
	}
	switch kind {
	case "text":
	case "json_object":
		req.Output = new(llm.OutputFormat)
	case "json_schema":
		schema := d.Get(v, "json_schema")
		req.Output = DecodeOutput(d, schema)
		d.KeepUnread(&req.Extra, schema, chatSchema)
	default:
		d.ExtraField(&req.Extra, "response_format", v)
	}
}

func DecodeOutput(d *codec.Decoder, v []byte) *llm.OutputFormat {
	out := new(llm.OutputFormat)
	for key, val := range d.Members(v) {
		switch string(key) {
		case "name":
			out.Name = d.Str(val)
		case "description":
			out.Description = d.Str(val)
		case "schema":
			out.Schema = d.Schema(val)
		case "strict":
			out.Strict = d.Boolean(val)
		}
	}
	return out
}

// Tools.

func encodeTools(e *codec.Encoder, req *llm.Request) {
	open := false
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool && t.Name == llm.WebSearch && len(t.Extra[e.Host.Format]) == 0 {
			continue // an option of the request, not a tool
		}
		if !open {
			open = true
			e.ArrayField("tools")
		}
		encodeTool(e, t)
	}
	if open {
		e.EndArray()
	}
	for _, t := range req.Tools {
		if t.Kind == llm.HostedTool && t.Name == llm.WebSearch && len(t.Extra[e.Host.Format]) == 0 {
			encodeSearch(e, t.Hosted)
		}
	}
}

func encodeTool(e *codec.Encoder, t llm.ToolDef) {
	e.Unsupported(len(t.Examples) > 0, "examples")
	if t.Kind == llm.HostedTool {
		if raw := t.Extra[e.Host.Format]["tool"]; raw != nil {
			e.Raw(raw)
			return
		}
		e.Refuse("the chat format has no hosted tool %q", t.Name)
		return
	}
	start := e.Object()
	kind := ToolWord(t.Kind)
	e.StringField("type", kind)
	inner := e.ObjectField(kind)
	e.StringField("name", t.Name)
	e.OptString("description", t.Description)
	if t.Kind == llm.FreeTool {
		encodeGrammar(e, t.Grammar)
	} else {
		e.OptRaw("parameters", t.Schema)
		if t.Strict != nil && !e.Host.Quirks.NoStrict {
			e.BoolField("strict", *t.Strict)
		}
	}
	outer := e.SplitExtra(inner, t.Extra)
	e.EndFields(start, outer)
}

func ToolWord(k llm.ToolKind) string {
	if k == llm.FreeTool {
		return "custom"
	}
	return "function"
}

func encodeGrammar(e *codec.Encoder, g *llm.Grammar) {
	if g == nil {
		return
	}
	e.ObjectField("format")
	e.StringField("type", "grammar")
	e.ObjectField("grammar")
	e.StringField("syntax", g.Syntax)
	e.StringField("definition", g.Definition)
	e.End()
	e.End()
}

// searchOptions is the member of a request that asks for a web search, and the type of a hosted tool with options that no
// other format has.
const searchOptions = "web_search_options"

func encodeSearch(e *codec.Encoder, h *llm.HostedConfig) {
	if h == nil {
		h = new(llm.HostedConfig)
	}
	if h.Type != "" && h.Type != searchOptions && len(h.Options) > 0 {
		e.Refuse("the options of %s are not those of the chat format: %s", h.Type, codec.OptionNames(h))
	}
	e.RefuseSearchLimits("chat", h, false)
	start := e.ObjectField(searchOptions)
	e.OptString("search_context_size", h.ContextSize)
	if h.Location != nil {
		e.ObjectField("user_location")
		e.StringField("type", "approximate")
		e.ObjectField("approximate")
		e.Location(h.Location)
		e.End()
		e.End()
	}
	e.EndFields(start, h.Options)
}

func decodeSearch(d *codec.Decoder, v []byte, req *llm.Request) {
	h := new(llm.HostedConfig)
	for key, val := range d.Members(v) {
		switch string(key) {
		case "search_context_size":
			h.ContextSize = d.Str(val)
		case "user_location":
			d.Str(d.Get(val, "type"))
			d.KeepUnread(&req.Extra, val, location)
			if place := d.Get(val, "approximate"); d.OneOf(place, "{", "an object") {
				h.Location = d.ReadPlace(place)
				d.KeepUnread(&req.Extra, place, chatWhere)
			}
		default:
			d.Option(h, key, val)
		}
	}
	if len(h.Options) > 0 {
		h.Type = searchOptions
	}
	req.Tools = append(req.Tools, llm.ToolDef{Kind: llm.HostedTool, Name: llm.WebSearch, Hosted: h})
}

func DecodeTools(d *codec.Decoder, v []byte, req *llm.Request) {
	for el := range d.Objects(v) {
		req.Tools = append(req.Tools, decodeTool(d, el))
	}
}

func decodeTool(d *codec.Decoder, v []byte) llm.ToolDef {
	var t llm.ToolDef
	kind := d.Str(d.Get(v, "type"))
	switch kind {
	case "custom":
		t.Kind = llm.FreeTool
	case "function", "":
	default:
		t = llm.ToolDef{Kind: llm.HostedTool, Name: kind, Hosted: &llm.HostedConfig{Type: kind}}
		d.ExtraField(&t.Extra, "tool", v)
		return t
	}
	for key, val := range d.Members(v) {
		switch string(key) {
		case "type":
		case "function", "custom":
			decodeToolBody(d, val, &t)
		default:
			d.Extra(&t.Extra, key, val)
		}
	}
	return t
}

func decodeToolBody(d *codec.Decoder, v []byte, t *llm.ToolDef) {
	for key, val := range d.Members(v) {
		switch string(key) {
		case "name":
			t.Name = d.Str(val)
		case "description":
			t.Description = d.Str(val)
		case "parameters":
			t.Schema = d.Schema(val)
		case "strict":
			t.Strict = d.Flag(val)
		case "format":
			kind, grammar := d.Str(d.Get(val, "type")), d.Get(val, "grammar")
			if t.Grammar = Grammar(d, grammar); t.Grammar == nil && kind != "text" {
				d.ExtraField(&t.Extra, loss.InnerPrefix+string(key), val)
				continue
			}
			d.KeepUnread(&t.Extra, val, toolFormat)
			d.KeepUnread(&t.Extra, grammar, chatGrammar)
		default:
			d.ExtraField(&t.Extra, loss.InnerPrefix+string(key), val)
		}
	}
}

// Refused reports whether a boolean that may be absent is false.
func Refused(d *codec.Decoder, v []byte) bool {
	b := d.Flag(v)
	return b != nil && !*b
}

func Grammar(d *codec.Decoder, v []byte) *llm.Grammar {
	if !d.Object(v) {
		return nil
	}
	return &llm.Grammar{Syntax: d.Str(d.Get(v, "syntax")), Definition: d.Str(d.Get(v, "definition"))}
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
		e.ObjectField("allowed_tools")
		e.StringField("mode", ch.Mode.String())
		e.ArrayField("tools")
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
func toolRef(e *codec.Encoder, req *llm.Request, name string) {
	t, _ := req.Tool(name)
	kind := ToolWord(t.Kind)
	e.Object()
	e.StringField("type", kind)
	e.ObjectField(kind)
	e.StringField("name", name)
	e.End()
	e.End()
}

var choiceModes = map[string]llm.ChoiceMode{"auto": llm.MayCall, "required": llm.MustCall, "any": llm.MustCall, "none": llm.MustNotCall}

func decodeChoice(d *codec.Decoder, v []byte, req *llm.Request) {
	ch := &req.Choice
	if js.Kind(v) == '"' {
		Mode(d, v, ch)
		return
	}
	if !d.Object(v) {
		return
	}
	kind := d.Str(d.Get(v, "type"))
	d.KeepUnread(&req.Extra, v, toolChoice)
	if kind != "allowed_tools" {
		ch.Mode = llm.MustCall
		ch.Name = chosen(d, v, kind)
		d.KeepUnread(&req.Extra, d.Get(v, kind), chatChosen, kind)
		return
	}
	allowed := d.Get(v, "allowed_tools")
	d.KeepUnread(&req.Extra, allowed, chatAllowed)
	Mode(d, d.Get(allowed, "mode"), ch)
	ch.Allowed = []string{}
	for el := range d.Elements(d.Get(allowed, "tools")) {
		kind, n := d.Str(d.Get(el, "type")), strconv.Itoa(len(ch.Allowed))
		ch.Allowed = append(ch.Allowed, chosen(d, el, kind))
		d.KeepUnread(&req.Extra, el, allowedTool, n)
		d.KeepUnread(&req.Extra, d.Get(el, kind), allowedName, n, kind)
	}
}

// chosen returns the name of the tool that a choice of some kind names.
func chosen(d *codec.Decoder, v []byte, kind string) string {
	name := d.Str(d.Get(d.Get(v, kind), "name"))
	if name == "" {
		d.Want(v, "a choice that names a tool")
	}
	return name
}

func Mode(d *codec.Decoder, v []byte, ch *llm.ToolChoice) {
	mode, ok := choiceModes[js.Text(v)]
	if !ok {
		d.Want(v, "auto, required or none")
	}
	ch.Mode = mode
}

var responseFormat = &codec.ObjectSpec{Path: "/response_format", Known: []string{"type", "json_schema"}}

var chatSchema = &codec.ObjectSpec{Path: "/response_format/json_schema", Known: codec.SchemaMembers}

var toolChoice = &codec.ObjectSpec{Path: "/tool_choice", Known: []string{"type", "function", "custom", "allowed_tools"}}

var chatChosen = &codec.ObjectSpec{Path: "/tool_choice/*", Known: []string{"name"}}

var chatAllowed = &codec.ObjectSpec{Path: "/tool_choice/allowed_tools", Known: []string{"mode", "tools"}}

var allowedTool = &codec.ObjectSpec{Path: "/tool_choice/allowed_tools/tools/*", Known: []string{"type", "function", "custom"}}

var allowedName = &codec.ObjectSpec{Path: "/tool_choice/allowed_tools/tools/*/*", Known: []string{"name"}}

var toolFormat = &codec.ObjectSpec{Path: "/custom/format", Known: []string{"type", "grammar"}}

var chatGrammar = &codec.ObjectSpec{Path: "/custom/format/grammar", Known: []string{"syntax", "definition"}}

var location = &codec.ObjectSpec{Path: "/web_search_options/user_location", Known: []string{"type", "approximate"}}

var chatWhere = &codec.ObjectSpec{Path: "/web_search_options/user_location/approximate", Known: codec.PlaceMembers}

var custom = &codec.ObjectSpec{Path: "/custom", Known: []string{"name", "input"}}
