package gemini

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/loss"
	"github.com/toolpost/toolpost/internal/wire/turns"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/codec"
)

// EncodeRequest writes a request. The model is in the URL; see Path.
func (Format) EncodeRequest(e *codec.Encoder, req *llm.Request, _ bool) {
	start := e.Object()
	rest := encodeSystem(e, req)
	e.ArrayField("contents")
	calls := codec.CallsByID(req.Messages)
	encodeMessages(e, rest, calls)
	e.EndArray()
	encodeTools(e, req.Tools)
	encodeToolConfig(e, req)
	encodeConfig(e, req)
	e.Unsupported(req.OneCall, "parallel_tool_calls")
	fields := e.OwnExtra(req.Extra)
	e.EndFields(start, codec.OmitFields(codec.OmitFields(fields, "generationConfig"), "toolConfig"))
}

func encodeSystem(e *codec.Encoder, req *llm.Request) []llm.Message {
	n := 0
	for n < len(req.Messages) && codec.IsSystem(req.Messages[n].Role) {
		n++
	}
	if n == 0 && req.System == "" {
		return req.Messages
	}
	e.ObjectField("systemInstruction")
	e.ArrayField("parts")
	if req.System != "" {
		encodeText(e, llm.Text{Text: req.System})
	}
	for _, m := range req.Messages[:n] {
		for _, p := range m.Parts {
			encodePart(e, p, nil)
		}
		e.OwnExtra(m.Extra)
	}
	e.EndArray()
	e.End()
	return req.Messages[n:]
}

var settings = codec.Settings{
	{Feature: format.Temperature, Member: "temperature"}, {Feature: format.TopP, Member: "topP"}, {Feature: format.TopK, Member: "topK"},
	{Feature: format.MaxTokens, Member: "maxOutputTokens"}, {Feature: format.StopSequences, Member: "stopSequences"},
	{Feature: format.FrequencyPenalty, Member: "frequencyPenalty"}, {Feature: format.PresencePenalty, Member: "presencePenalty"},
	{Feature: format.Seed, Member: "seed"}, {Feature: format.SeveralAnswers, Member: "candidateCount"},
}

func encodeConfig(e *codec.Encoder, req *llm.Request) {
	start := e.ObjectField("generationConfig")
	e.Settings(settings, req)
	if req.Output != nil {
		e.StringField("responseMimeType", "application/json")
		e.OptRaw("responseJsonSchema", req.Output.Schema)
	}
	encodeThinkingConfig(e, req.Reasoning)
	e.EndRest(start, req.Extra[e.Host.Format]["generationConfig"])
}

func encodeThinkingConfig(e *codec.Encoder, r *llm.Reasoning) {
	if r == nil {
		return
	}
	e.ObjectField("thinkingConfig")
	if r.Off {
		e.IntField("thinkingBudget", 0)
	} else {
		if !codec.HidesThinking(r.Summary) {
			e.BoolField("includeThoughts", true)
			e.Unsupported(r.Summary != "" && r.Summary != "auto" && r.Summary != "summarized", "reasoning.summary")
		}
		e.OptInt("thinkingBudget", r.Tokens)
		e.OptString("thinkingLevel", strings.ToUpper(r.Effort))
	}
	e.End()
}

func (Format) DecodeRequest(d *codec.Decoder, body []byte, req *llm.Request) bool {
	calls := &turns.CallMatcher{}
	for key, v := range d.Members(body) {
		switch string(codec.CamelCase(key)) {
		case "systemInstruction":
			decodeSystem(d, v, req)
		case "contents":
			decodeContents(d, v, req, calls)
		case "tools":
			decodeTools(d, v, req)
		case "toolConfig":
			decodeToolConfig(d, v, req)
		case "generationConfig":
			decodeConfig(d, v, req)
		case "model":
			req.Model = strings.TrimPrefix(d.Str(v), "models/")
		default:
			d.Extra(&req.Extra, key, v)
		}
	}
	return false
}

func decodeSystem(d *codec.Decoder, v []byte, req *llm.Request) {
	if js.Kind(v) == '"' {
		req.System = d.Text(v)
		return
	}
	var parts []llm.Part
	for key, val := range d.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "parts":
			parts = decodeParts(d, val)
		case "role":
			d.Str(val) // instructions belong to the system, whatever the role
		default:
			d.Want(val, "absent: instructions have a role and parts")
		}
	}
	if s, ok := codec.PlainText(parts); ok {
		req.System = s
		return
	}
	req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Parts: parts}}, req.Messages...)
}

func decodeConfig(d *codec.Decoder, v []byte, req *llm.Request) {
	if !d.Object(v) {
		return
	}
	var rest codec.Fields
	words := asksForWord(d, v)
	for key, val := range d.Members(v) {
		name := codec.CamelCase(key)
		switch string(name) {
		case "responseMimeType":
			if d.Str(val) != "application/json" {
				rest.Add(key, val)
			} else if req.Output == nil {
				req.Output = new(llm.OutputFormat)
			}
		case "responseJsonSchema", "responseSchema":
			if words {
				rest.Add(key, val)
			} else {
				req.Output = &llm.OutputFormat{Schema: answerSchema(d, key, val)}
			}
		case "thinkingConfig":
			decodeThinkingConfig(d, val, req)
		default:
			if !d.Setting(settings, name, val, req) {
				rest.Add(key, val)
			}
		}
	}
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, "generationConfig", more)
	}
}

// answerSchema reads the schema of an answer, in either of the ways to write one.
func answerSchema(d *codec.Decoder, key, v []byte) json.RawMessage {
	if string(codec.CamelCase(key)) == "responseSchema" {
		return openAPISchema(d.Schema(v))
	}
	return d.Schema(v)
}

// asksForWord reports whether the answer is to be a word of an enumeration, bare. No other format has that: with the schema alone the answer would
// be a word in quotes.
func asksForWord(d *codec.Decoder, config []byte) bool {
	for key, val := range d.Members(config) {
		if string(codec.CamelCase(key)) == "responseMimeType" {
			return js.Is(val, "text/x.enum")
		}
	}
	return false
}

func decodeThinkingConfig(d *codec.Decoder, v []byte, req *llm.Request) {
	d.KeepUnread(&req.Extra, v, thinking)
	r := &llm.Reasoning{Summary: codec.HiddenThoughts}
	zero := false
	for key, val := range d.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "includeThoughts":
			if d.Boolean(val) {
				r.Summary = ""
			}
		case "thinkingBudget":
			r.Tokens = d.Integer(val)
			zero = r.Tokens == 0
		case "thinkingLevel":
			r.Effort = strings.ToLower(d.Str(val))
		}
	}
	if zero {
		r = &llm.Reasoning{Off: true}
	}
	req.Reasoning = r
}

// Tools.

func encodeTools(e *codec.Encoder, tools []llm.ToolDef) {
	if len(tools) == 0 {
		return
	}
	e.ArrayField("tools")
	open := false
	for _, t := range tools {
		if t.Kind == llm.HostedTool {
			continue
		}
		if !open {
			open = true
			e.Object()
			e.ArrayField("functionDeclarations")
		}
		encodeTool(e, t)
	}
	if open {
		e.EndArray()
		e.End()
	}
	for _, t := range tools {
		if t.Kind == llm.HostedTool {
			encodeHosted(e, t)
		}
	}
	e.EndArray()
}

func encodeTool(e *codec.Encoder, t llm.ToolDef) {
	e.Unsupported(t.Strict != nil && *t.Strict, "strict")
	e.Unsupported(len(t.Examples) > 0, "examples")
	fields := e.OwnExtra(t.Extra)
	start := e.Object()
	e.StringField("name", t.Name)
	e.OptString("description", t.Description)
	switch {
	case fields[loss.Restated+"parameters"] != nil:
		e.RawField("parameters", fields[loss.Restated+"parameters"])
	case t.Kind == llm.FreeTool:
		e.RawField("parametersJsonSchema", e.FreeSchema(t))
	case e.Host.Quirks.OpenAPISchema:
		e.OptRaw("parameters", t.Schema)
	default:
		e.OptRaw("parametersJsonSchema", t.Schema)
	}
	e.EndFields(start, codec.OmitFields(fields, loss.Restated+"parameters"))
}

// geminiHosted is what the vendor calls the hosted tools that have a common
// name.
var geminiHosted = map[string]string{llm.WebSearch: "googleSearch", "code_execution": "codeExecution", "web_fetch": "urlContext"}

var hostedNames = map[string]string{
	"googleSearch": llm.WebSearch, "codeExecution": "code_execution", "urlContext": "web_fetch",
	"googleSearchRetrieval": "googleSearchRetrieval", "googleMaps": "googleMaps", "fileSearch": "fileSearch",
	"computerUse": "computerUse", "retrieval": "retrieval", "enterpriseWebSearch": "enterpriseWebSearch",
	"mcpServers": "mcpServers", "parallelAiSearch": "parallelAiSearch", "exaAiSearch": "exaAiSearch",
}

func encodeHosted(e *codec.Encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	typ := h.Type
	if _, ok := hostedNames[typ]; !ok && len(t.Extra[e.Host.Format]) == 0 {
		if typ != "" && len(h.Options) > 0 {
			e.Refuse("the options of %s are not those of the gemini format: %s", typ, codec.OptionNames(h))
		}
		if typ = geminiHosted[t.Name]; typ == "" {
			e.Refuse("the gemini format has no hosted tool %q", t.Name)
		}
	}
	if raw := t.Extra[e.Host.Format]["value"]; raw != nil {
		e.Object()
		e.RawField(typ, raw)
		e.End()
		return
	}
	blocked := h.BlockedDomains
	limits := *h
	limits.BlockedDomains = nil
	e.RefuseSearchLimits("gemini", &limits, false)
	e.Unsupported(h.Location != nil, "user_location")
	e.Unsupported(h.ContextSize != "", "search_context_size")
	e.Object()
	start := e.ObjectField(typ)
	e.OptStrings("excludeDomains", blocked)
	e.EndFields(start, h.Options)
	e.End()
}

func decodeTools(d *codec.Decoder, v []byte, req *llm.Request) {
	var unknown []unknownMember
	for el := range d.Objects(v) {
		first, known := len(req.Tools), len(unknown)
		for key, val := range d.Members(el) {
			kind := string(codec.CamelCase(key))
			_, hosted := hostedNames[kind]
			switch {
			case kind == "functionDeclarations":
				for decl := range d.Objects(val) {
					req.Tools = append(req.Tools, decodeTool(d, decl))
				}
			case js.Kind(val) == 'n':
			case hosted || js.Kind(val) == '{': // an unknown tool may be new
				req.Tools = append(req.Tools, decodeHosted(d, kind, val))
			default:
				unknown = append(unknown, unknownMember{key: key, val: val, first: first})
			}
		}
		for i := range unknown[known:] {
			unknown[known+i].end = len(req.Tools)
		}
	}
	keepUnknown(d, unknown, req)
}

// unknownMember is an unknown member of an object with tools, and the range of the request's tools in that object. All of
// Google's hosted tools are objects, or known.
type unknownMember struct {
	key, val   []byte
	first, end int
}

// keepUnknown keeps unknown members at the place where their tools are written: all functions in one object, and each
// hosted tool in an object after it. A member without a place causes a warning when the request is sent.
func keepUnknown(d *codec.Decoder, unknown []unknownMember, req *llm.Request) {
	if len(unknown) == 0 {
		return
	}
	hosted := make([]int, len(req.Tools)+1) // among the first so many
	for i, t := range req.Tools {
		if hosted[i+1] = hosted[i]; t.Kind == llm.HostedTool {
			hosted[i+1]++
		}
	}
	last := len(req.Tools)
	functions := min(1, last-hosted[last])
	for i, s := range unknown {
		at := functions + hosted[s.first]
		if s.end-s.first > hosted[s.end]-hosted[s.first] { // functions are among them
			at = 0
		}
		name := loss.NestedMark + loss.PointerEscape.Replace(string(s.key))
		pointer := "/tools/" + strconv.Itoa(at) + name
		if have := req.Extra[d.Host.Format][pointer]; s.first == s.end || have != nil && !bytes.Equal(have, s.val) {
			pointer = "/tools/" + strconv.Itoa(functions+hosted[last]+i) + name
		}
		d.ExtraField(&req.Extra, pointer, s.val)
	}
}

func decodeTool(d *codec.Decoder, v []byte) llm.ToolDef {
	var t llm.ToolDef
	for key, val := range d.Members(v) {
		switch string(codec.CamelCase(key)) {
		case "name":
			t.Name = d.Str(val)
		case "description":
			t.Description = d.Str(val)
		case "parametersJsonSchema":
			t.Schema = d.Schema(val)
		case "parameters":
			if schema := d.Schema(val); schema != nil {
				t.Schema = openAPISchema(schema)
				d.ExtraField(&t.Extra, loss.Restated+"parameters", val)
			}
		default:
			d.Extra(&t.Extra, key, val)
		}
	}
	return t
}

func decodeHosted(d *codec.Decoder, kind string, v []byte) llm.ToolDef {
	h := &llm.HostedConfig{Type: kind}
	name, known := hostedNames[kind]
	t := llm.ToolDef{Kind: llm.HostedTool, Name: cmp.Or(name, kind), Hosted: h}
	if t.Name != kind {
		d.AskObject(v) // the others may be lists
	}
	if js.Kind(v) != '{' || !known {
		d.ExtraField(&t.Extra, "value", v)
		return t
	}
	for key, val := range d.Members(v) {
		if string(codec.CamelCase(key)) == "excludeDomains" {
			h.BlockedDomains = d.Strings(val)
		} else {
			d.Option(h, key, val)
		}
	}
	return t
}

// modes are the modes of function calling. Only modes that forbid plain text, or that check arguments, can name
// functions.
var modes = map[string]llm.ChoiceMode{"AUTO": llm.MayCall, "ANY": llm.MustCall, "NONE": llm.MustNotCall, "VALIDATED": llm.MayCall}

func encodeToolConfig(e *codec.Encoder, req *llm.Request) {
	more := req.Extra[e.Host.Format]["toolConfig"]
	ch := req.Choice
	mode := ""
	names := ch.Allowed
	switch {
	case ch.Mode == llm.MustNotCall || ch.Allowed != nil && len(ch.Allowed) == 0:
		mode, names = "NONE", nil
	case ch.Mode == llm.MustCall && ch.Name != "":
		mode, names = "ANY", []string{ch.Name}
	case ch.Mode == llm.MustCall:
		mode = "ANY"
	case len(names) > 0:
		mode = "VALIDATED"
	}
	if mode == "" && more == nil {
		return
	}
	start := e.ObjectField("toolConfig")
	if mode != "" {
		e.ObjectField("functionCallingConfig")
		e.StringField("mode", mode)
		e.OptStrings("allowedFunctionNames", names)
		e.End()
	}
	e.EndRest(start, more)
}

func decodeToolConfig(d *codec.Decoder, v []byte, req *llm.Request) {
	var rest codec.Fields
	for key, val := range d.Members(v) {
		if string(codec.CamelCase(key)) != "functionCallingConfig" {
			rest.Add(key, val)
			continue
		}
		mode := d.Str(getCamel(d, val, "mode"))
		names := d.Strings(getCamel(d, val, "allowedFunctionNames"))
		_, known := modes[mode]
		switch {
		case !known && mode != "" && mode != "MODE_UNSPECIFIED", mode == "VALIDATED" && len(names) == 0:
			rest.Add(key, val)
			continue
		case mode == "ANY" && len(names) == 1:
			req.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: names[0]}
		default:
			req.Choice = llm.ToolChoice{Mode: modes[mode]}
			if len(names) > 0 {
				req.Choice.Allowed = names
			}
		}
		d.KeepUnread(&req.Extra, val, calling)
	}
	if more := rest.Object(); more != nil {
		d.ExtraField(&req.Extra, "toolConfig", more)
	}
}

// openAPISchema turns the vendor's own kind of schema into JSON Schema: the
// names of types in lower case, null as a type, and references as JSON Schema writes them.
func openAPISchema(v []byte) []byte {
	var w js.Writer
	writeSchema(&w, v, true)
	return w.Buf
}

// writeSchema copies a schema. Only where a schema is expected are "type" and
// "nullable" keywords; below "properties" they are names.
func writeSchema(w *js.Writer, v []byte, schema bool) {
	switch js.Kind(v) {
	case '{':
		nullable := schema && js.Kind(camelGet(v, "nullable")) == 't'
		if nullable && (camelGet(v, "ref") != nil || camelGet(v, "$ref") != nil) { // which nothing can be added to
			writeOrNull(w, v)
			return
		}
		writeMembers(w, v, schema, nullable)
	case '[':
		w.Array()
		for el := range js.Elements(v) {
			writeSchema(w, el, schema)
		}
		w.EndArray()
	default:
		w.Raw(v)
	}
}

// writeOrNull writes the choice between a schema and null.
func writeOrNull(w *js.Writer, v []byte) {
	w.Object()
	w.ArrayField("anyOf")
	writeMembers(w, v, true, false)
	w.Raw([]byte(nullSchema))
	w.EndArray()
	w.End()
}

// nullSchema is the schema of null.
const nullSchema = `{"type":"null"}`

// writeMembers copies an object of a schema. If null is also allowed, each member allows it.
func writeMembers(w *js.Writer, v []byte, schema, nullable bool) {
	w.Object()
	for key, val := range js.Members(v) {
		name := string(codec.CamelCase(key))
		switch {
		case schema && name == "nullable" && strings.IndexByte("tfn", js.Kind(val)) >= 0:
		case schema && name == "type" && js.Kind(val) == '"':
			w.Key("type")
			writeType(w, strings.ToLower(js.Text(val)), nullable)
		case nullable && js.Kind(val) == '[' && slices.Contains(choiceWords, name):
			w.Key(name)
			writeChoice(w, name, val)
		case schema && slices.Contains(valueWords, name):
			w.RawField(name, val)
		case schema && referWords[name] != "" && camelGet(v, referWords[name]) == nil:
			writeReference(w, referWords[name], val)
		default:
			w.AnyKey(schemaKey(schema, name, key))
			writeSchema(w, val, !schema || !slices.Contains(namingWords, name))
		}
	}
	w.End()
}

// choiceWords are the keywords that list alternatives, valueWords those without schemas, and namingWords those whose
// members are names. referWords maps the vendor's keywords to those of JSON Schema.
var (
	choiceWords = []string{"enum", "anyOf", "oneOf"}
	valueWords  = []string{"enum", "default", "example", "required", "propertyOrdering"}
	namingWords = []string{"properties", "defs", "$defs", "definitions"}
	referWords  = map[string]string{"ref": "$ref", "defs": "$defs"}
)

// writeReference writes a reference, or the definitions that references name.
func writeReference(w *js.Writer, word string, v []byte) {
	w.AnyKey(word)
	switch to, defined := strings.CutPrefix(js.Text(v), "#/defs/"); {
	case word == "$defs":
		writeSchema(w, v, false)
	case js.Kind(v) == '"' && defined:
		w.Text("#/$defs/" + to)
	default:
		w.Raw(v)
	}
}

// writeChoice copies a list of alternatives, with null.
func writeChoice(w *js.Writer, name string, list []byte) {
	if name == "enum" {
		writeWith(w, list, "null", w.Raw)
		return
	}
	writeWith(w, list, nullSchema, func(el []byte) { writeSchema(w, el, true) })
}

// writeWith copies a list, each element by write, and adds an element if it is missing.
func writeWith(w *js.Writer, list []byte, more string, write func([]byte)) {
	there := false
	w.Array()
	for el := range js.Elements(list) {
		write(el)
		there = there || strings.EqualFold(string(el), more)
	}
	if !there {
		w.Raw([]byte(more))
	}
	w.EndArray()
}

func schemaKey(schema bool, name string, key []byte) string {
	if schema {
		return name
	}
	return string(key)
}

func writeType(w *js.Writer, typ string, nullable bool) {
	if !nullable {
		w.Text(typ)
		return
	}
	w.Array()
	w.Text(typ)
	w.Text("null")
	w.EndArray()
}

var thinking = &codec.ObjectSpec{Path: "/generationConfig/thinkingConfig", Known: []string{"includeThoughts", "thinkingBudget", "thinkingLevel"}, SnakeCase: true}

var calling = &codec.ObjectSpec{Path: "/toolConfig/functionCallingConfig", Known: []string{"mode", "allowedFunctionNames"}, SnakeCase: true}

var geminiMedia = &codec.ObjectSpec{Path: "/*", Known: []string{"mimeType", "data", "fileUri", "displayName"}, SnakeCase: true}
