package wire

import (
	"bytes"
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// encodeRequest writes a request. The model stands in the address, see Path.
func (g gemini) encodeRequest(e *encoder, req *llm.Request, _ bool) {
	start := e.Object()
	rest := g.encodeSystem(e, req)
	e.Key("contents")
	e.Array()
	calls := callsByID(req.Messages)
	g.encodeMessages(e, rest, calls)
	e.EndArray()
	g.encodeTools(e, req.Tools)
	g.encodeToolConfig(e, req)
	g.encodeConfig(e, req)
	e.unsupported(req.OneCall, "parallel_tool_calls")
	fields := e.ownExtra(req.Extra)
	e.endWith(start, without(without(fields, "generationConfig"), "toolConfig"))
}

func (g gemini) encodeSystem(e *encoder, req *llm.Request) []llm.Message {
	n := 0
	for n < len(req.Messages) && isSystem(req.Messages[n].Role) {
		n++
	}
	if n == 0 && req.System == "" {
		return req.Messages
	}
	e.Key("systemInstruction")
	e.Object()
	e.Key("parts")
	e.Array()
	if req.System != "" {
		g.encodeText(e, llm.Text{Text: req.System})
	}
	for _, m := range req.Messages[:n] {
		for _, p := range m.Parts {
			g.encodePart(e, p, nil)
		}
		e.ownExtra(m.Extra)
	}
	e.EndArray()
	e.End()
	return req.Messages[n:]
}

func (g gemini) encodeConfig(e *encoder, req *llm.Request) {
	e.Key("generationConfig")
	start := e.Object()
	e.optFloat("temperature", req.Temperature)
	e.optFloat("topP", req.TopP)
	if req.TopK != nil {
		e.IntField("topK", *req.TopK)
	}
	e.optInt("maxOutputTokens", req.MaxTokens)
	e.optStrings("stopSequences", req.Stop)
	e.optFloat("frequencyPenalty", req.FrequencyPenalty)
	e.optFloat("presencePenalty", req.PresencePenalty)
	if req.Seed != nil {
		e.Key("seed")
		e.Int(*req.Seed)
	}
	e.optInt("candidateCount", req.N)
	if req.Output != nil {
		e.StringField("responseMimeType", "application/json")
		e.optRaw("responseJsonSchema", req.Output.Schema)
	}
	g.encodeThinkingConfig(e, req.Reasoning)
	e.rest(start, req.Extra[e.c.Format]["generationConfig"])
}

func (gemini) encodeThinkingConfig(e *encoder, r *llm.Reasoning) {
	if r == nil {
		return
	}
	e.Key("thinkingConfig")
	e.Object()
	if r.Off {
		e.IntField("thinkingBudget", 0)
	} else {
		if !hidesThinking(r.Summary) {
			e.BoolField("includeThoughts", true)
			e.unsupported(r.Summary != "" && r.Summary != "auto" && r.Summary != "summarized", "reasoning.summary")
		}
		e.optInt("thinkingBudget", r.Budget)
		e.optString("thinkingLevel", strings.ToUpper(r.Effort))
	}
	e.End()
}

func (g gemini) decodeRequest(d *decoder, body []byte, req *llm.Request) bool {
	calls := &callMatcher{}
	for key, v := range d.members(body) {
		switch string(camel(key)) {
		case "systemInstruction":
			g.decodeSystem(d, v, req)
		case "contents":
			g.decodeContents(d, v, req, calls)
		case "tools":
			g.decodeTools(d, v, req)
		case "toolConfig":
			g.decodeToolConfig(d, v, req)
		case "generationConfig":
			g.decodeConfig(d, v, req)
		case "model":
			req.Model = strings.TrimPrefix(d.str(v), "models/")
		default:
			d.extra(&req.Extra, key, v)
		}
	}
	return false
}

func (g gemini) decodeSystem(d *decoder, v []byte, req *llm.Request) {
	if js.Kind(v) == '"' {
		req.System = d.text(v)
		return
	}
	var parts []llm.Part
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "parts":
			parts = g.decodeParts(d, val)
		case "role":
			d.str(val) // the instructions are the system's, whoever it names
		default:
			d.want(val, "absent: instructions have a role and parts")
		}
	}
	if s, ok := plainText(parts); ok {
		req.System = s
		return
	}
	req.Messages = append([]llm.Message{{Role: llm.RoleSystem, Parts: parts}}, req.Messages...)
}

func (g gemini) decodeConfig(d *decoder, v []byte, req *llm.Request) {
	if !d.object(v) {
		return
	}
	var rest fields
	words := asksForWord(d, v)
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "temperature":
			req.Temperature = d.float(val)
		case "topP":
			req.TopP = d.float(val)
		case "topK":
			if d.is(val, '0', "an integer") {
				n := d.integer(val)
				req.TopK = &n
			}
		case "maxOutputTokens":
			req.MaxTokens = d.integer(val)
		case "stopSequences":
			req.Stop = d.strings(val)
		case "frequencyPenalty":
			req.FrequencyPenalty = d.float(val)
		case "presencePenalty":
			req.PresencePenalty = d.float(val)
		case "seed":
			d.common(req, []byte("seed"), val)
		case "candidateCount":
			req.N = d.integer(val)
		case "responseMimeType":
			if d.str(val) != "application/json" {
				rest.add(key, val)
			} else if req.Output == nil {
				req.Output = new(llm.OutputFormat)
			}
		case "responseJsonSchema", "responseSchema":
			if words {
				rest.add(key, val)
			} else {
				req.Output = &llm.OutputFormat{Schema: answerSchema(d, key, val)}
			}
		case "thinkingConfig":
			g.decodeThinkingConfig(d, val, req)
		default:
			rest.add(key, val)
		}
	}
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, "generationConfig", more)
	}
}

// answerSchema reads the schema of an answer, in either of the ways to write one.
func answerSchema(d *decoder, key, v []byte) json.RawMessage {
	if string(camel(key)) == "responseSchema" {
		return openAPISchema(d.schema(v))
	}
	return d.schema(v)
}

// asksForWord reports whether the answer is to be a word of an enumeration, bare. No other format has that: with the schema alone the answer would
// be a word in quotes.
func asksForWord(d *decoder, config []byte) bool {
	for key, val := range d.members(config) {
		if string(camel(key)) == "responseMimeType" {
			return js.Is(val, "text/x.enum")
		}
	}
	return false
}

func (gemini) decodeThinkingConfig(d *decoder, v []byte, req *llm.Request) {
	d.unread(&req.Extra, v, geminiThinking)
	r := &llm.Reasoning{Summary: hiddenThoughts}
	zero := false
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "includeThoughts":
			if d.boolean(val) {
				r.Summary = ""
			}
		case "thinkingBudget":
			r.Budget = d.integer(val)
			zero = r.Budget == 0
		case "thinkingLevel":
			r.Effort = strings.ToLower(d.str(val))
		}
	}
	if zero {
		r = &llm.Reasoning{Off: true}
	}
	req.Reasoning = r
}

// Tools.

func (g gemini) encodeTools(e *encoder, tools []llm.ToolDef) {
	if len(tools) == 0 {
		return
	}
	e.Key("tools")
	e.Array()
	open := false
	for _, t := range tools {
		if t.Kind == llm.HostedTool {
			continue
		}
		if !open {
			open = true
			e.Object()
			e.Key("functionDeclarations")
			e.Array()
		}
		g.encodeTool(e, t)
	}
	if open {
		e.EndArray()
		e.End()
	}
	for _, t := range tools {
		if t.Kind == llm.HostedTool {
			g.encodeHosted(e, t)
		}
	}
	e.EndArray()
}

func (gemini) encodeTool(e *encoder, t llm.ToolDef) {
	e.unsupported(t.Strict != nil && *t.Strict, "strict")
	e.unsupported(len(t.Examples) > 0, "examples")
	fields := e.ownExtra(t.Extra)
	start := e.Object()
	e.StringField("name", t.Name)
	e.optString("description", t.Description)
	switch {
	case fields[restated+"parameters"] != nil:
		e.RawField("parameters", fields[restated+"parameters"])
	case t.Kind == llm.FreeTool:
		e.RawField("parametersJsonSchema", e.freeSchema(t))
	case e.c.Quirks.OpenAPISchema:
		e.optRaw("parameters", t.Schema)
	default:
		e.optRaw("parametersJsonSchema", t.Schema)
	}
	e.endWith(start, without(fields, restated+"parameters"))
}

// geminiHosted is what the vendor calls the hosted tools that have a common
// name.
var geminiHosted = map[string]string{llm.WebSearch: "googleSearch", "code_execution": "codeExecution", "web_fetch": "urlContext"}

var geminiHostedNames = map[string]string{
	"googleSearch": llm.WebSearch, "codeExecution": "code_execution", "urlContext": "web_fetch",
	"googleSearchRetrieval": "googleSearchRetrieval", "googleMaps": "googleMaps", "fileSearch": "fileSearch",
	"computerUse": "computerUse", "retrieval": "retrieval", "enterpriseWebSearch": "enterpriseWebSearch",
	"mcpServers": "mcpServers", "parallelAiSearch": "parallelAiSearch", "exaAiSearch": "exaAiSearch",
}

func (gemini) encodeHosted(e *encoder, t llm.ToolDef) {
	h := t.Hosted
	if h == nil {
		h = new(llm.HostedConfig)
	}
	typ := h.Type
	if _, ok := geminiHostedNames[typ]; !ok && len(t.Extra[e.c.Format]) == 0 {
		if typ != "" && len(h.Options) > 0 {
			e.refuse("the options of %s are not those of the gemini format: %s", typ, optionNames(h))
		}
		if typ = geminiHosted[t.Name]; typ == "" {
			e.refuse("the gemini format has no hosted tool %q", t.Name)
		}
	}
	if raw := t.Extra[e.c.Format]["value"]; raw != nil {
		e.Object()
		e.RawField(typ, raw)
		e.End()
		return
	}
	blocked := h.BlockedDomains
	limits := *h
	limits.BlockedDomains = nil
	e.searchLimits("gemini", &limits, false)
	e.unsupported(h.Location != nil, "user_location")
	e.unsupported(h.ContextSize != "", "search_context_size")
	e.Object()
	e.Key(typ)
	start := e.Object()
	e.optStrings("excludeDomains", blocked)
	e.endWith(start, h.Options)
	e.End()
}

func (g gemini) decodeTools(d *decoder, v []byte, req *llm.Request) {
	var strays []geminiStray
	for el := range d.objects(v) {
		first, known := len(req.Tools), len(strays)
		for key, val := range d.members(el) {
			kind := string(camel(key))
			_, hosted := geminiHostedNames[kind]
			switch {
			case kind == "functionDeclarations":
				for decl := range d.objects(val) {
					req.Tools = append(req.Tools, g.decodeTool(d, decl))
				}
			case js.Kind(val) == 'n':
			case hosted || js.Kind(val) == '{': // one that is not known may be new
				req.Tools = append(req.Tools, g.decodeHosted(d, kind, val))
			default:
				strays = append(strays, geminiStray{key: key, val: val, first: first})
			}
		}
		for i := range strays[known:] {
			strays[known+i].end = len(req.Tools)
		}
	}
	g.keepStrays(d, strays, req)
}

// geminiStray is a member beside the tools of an object that holds some, and which of the request's those are. All tools that
// Google hosts are configured by objects, or known.
type geminiStray struct {
	key, val   []byte
	first, end int
}

// keepStrays keeps strays where the tools beside them are written: all functions in one object, and each hosted tool in one
// after it. One that has no place is told to be lost when the request is sent.
func (gemini) keepStrays(d *decoder, strays []geminiStray, req *llm.Request) {
	if len(strays) == 0 {
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
	for i, s := range strays {
		at := functions + hosted[s.first]
		if s.end-s.first > hosted[s.end]-hosted[s.first] { // functions are among them
			at = 0
		}
		name := nestedMark + pointerEscape.Replace(string(s.key))
		pointer := "/tools/" + strconv.Itoa(at) + name
		if have := req.Extra[d.c.Format][pointer]; s.first == s.end || have != nil && !bytes.Equal(have, s.val) {
			pointer = "/tools/" + strconv.Itoa(functions+hosted[last]+i) + name
		}
		d.extraNamed(&req.Extra, pointer, s.val)
	}
}

func (gemini) decodeTool(d *decoder, v []byte) llm.ToolDef {
	var t llm.ToolDef
	for key, val := range d.members(v) {
		switch string(camel(key)) {
		case "name":
			t.Name = d.str(val)
		case "description":
			t.Description = d.str(val)
		case "parametersJsonSchema":
			t.Schema = d.schema(val)
		case "parameters":
			if schema := d.schema(val); schema != nil {
				t.Schema = openAPISchema(schema)
				d.extraNamed(&t.Extra, restated+"parameters", val)
			}
		default:
			d.extra(&t.Extra, key, val)
		}
	}
	return t
}

func (gemini) decodeHosted(d *decoder, kind string, v []byte) llm.ToolDef {
	h := &llm.HostedConfig{Type: kind}
	name, known := geminiHostedNames[kind]
	t := llm.ToolDef{Kind: llm.HostedTool, Name: cmp.Or(name, kind), Hosted: h}
	if t.Name != kind {
		d.askObject(v) // the others may be lists
	}
	if js.Kind(v) != '{' || !known {
		d.extraNamed(&t.Extra, "value", v)
		return t
	}
	for key, val := range d.members(v) {
		if string(camel(key)) == "excludeDomains" {
			h.BlockedDomains = d.strings(val)
		} else {
			d.option(h, key, val)
		}
	}
	return t
}

// geminiModes are the modes of function calling. Only a mode that allows no
// plain text can name the functions, or one that checks the arguments.
var geminiModes = map[string]llm.ChoiceMode{"AUTO": llm.MayCall, "ANY": llm.MustCall, "NONE": llm.MustNotCall, "VALIDATED": llm.MayCall}

func (gemini) encodeToolConfig(e *encoder, req *llm.Request) {
	more := req.Extra[e.c.Format]["toolConfig"]
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
	e.Key("toolConfig")
	start := e.Object()
	if mode != "" {
		e.Key("functionCallingConfig")
		e.Object()
		e.StringField("mode", mode)
		e.optStrings("allowedFunctionNames", names)
		e.End()
	}
	e.rest(start, more)
}

func (gemini) decodeToolConfig(d *decoder, v []byte, req *llm.Request) {
	var rest fields
	for key, val := range d.members(v) {
		if string(camel(key)) != "functionCallingConfig" {
			rest.add(key, val)
			continue
		}
		mode := d.str(d.camelGet(val, "mode"))
		names := d.strings(d.camelGet(val, "allowedFunctionNames"))
		_, known := geminiModes[mode]
		switch {
		case !known && mode != "" && mode != "MODE_UNSPECIFIED", mode == "VALIDATED" && len(names) == 0:
			rest.add(key, val)
			continue
		case mode == "ANY" && len(names) == 1:
			req.Choice = llm.ToolChoice{Mode: llm.MustCall, Name: names[0]}
		default:
			req.Choice = llm.ToolChoice{Mode: geminiModes[mode]}
			if len(names) > 0 {
				req.Choice.Allowed = names
			}
		}
		d.unread(&req.Extra, val, geminiCalling)
	}
	if more := rest.object(); more != nil {
		d.extraNamed(&req.Extra, "toolConfig", more)
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
	w.Key("anyOf")
	w.Array()
	writeMembers(w, v, true, false)
	w.Raw([]byte(nullSchema))
	w.EndArray()
	w.End()
}

// nullSchema is the schema of null.
const nullSchema = `{"type":"null"}`

// writeMembers copies an object of a schema. If null is allowed beside what the members say, each of them allows it.
func writeMembers(w *js.Writer, v []byte, schema, nullable bool) {
	w.Object()
	for key, val := range js.Members(v) {
		name := string(camel(key))
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

// choiceWords are the keywords that list what is allowed, valueWords those that hold no schemas, and namingWords those whose
// members are names. referWords are the words of JSON Schema for the vendor's own.
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

// writeChoice copies a list of what is allowed, with null.
func writeChoice(w *js.Writer, name string, list []byte) {
	if name == "enum" {
		writeWith(w, list, "null", w.Raw)
		return
	}
	writeWith(w, list, nullSchema, func(el []byte) { writeSchema(w, el, true) })
}

// writeWith copies a list, each element by write, and adds one that it may lack.
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
