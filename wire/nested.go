package wire

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// What a client says in an object that is read member by member, and that its decoder does not know, is an extra field of
// the nearest value that has some. Its name is the place of the object in that value and the name of the member, as a
// JSON pointer, like "/source/hint" of an image. In the same format it goes back to its place; other formats warn about it.

// nestedMark begins the names of extra fields of objects inside of a value.
const nestedMark = "/"

// object is an object of requests whose members are read one by one: where it stands in the value that keeps the members
// that nobody knows, and those that are read. A star in the place is told by the reader.
type object struct {
	at     string
	known  []string
	snakes bool // members may be written with underscores, too
}

// schemaMembers are those that both OpenAI formats give the schema of an answer.
var schemaMembers = []string{"name", "description", "schema", "strict"}

var (
	chatFormat      = &object{at: "/response_format", known: []string{"type", "json_schema"}}
	chatSchema      = &object{at: "/response_format/json_schema", known: schemaMembers}
	chatToolChoice  = &object{at: "/tool_choice", known: []string{"type", "function", "custom", "allowed_tools"}}
	chatChosen      = &object{at: "/tool_choice/*", known: []string{"name"}}
	chatAllowed     = &object{at: "/tool_choice/allowed_tools", known: []string{"mode", "tools"}}
	chatAllowedTool = &object{at: "/tool_choice/allowed_tools/tools/*", known: []string{"type", "function", "custom"}}
	chatAllowedName = &object{at: "/tool_choice/allowed_tools/tools/*/*", known: []string{"name"}}
	chatToolFormat  = &object{at: "/custom/format", known: []string{"type", "grammar"}}
	chatGrammar     = &object{at: "/custom/format/grammar", known: []string{"syntax", "definition"}}
	chatLocation    = &object{at: "/web_search_options/user_location", known: []string{"type", "approximate"}}
	chatWhere       = &object{at: "/web_search_options/user_location/approximate", known: placeMembers}
	chatCustom      = &object{at: "/custom", known: []string{"name", "input"}}

	responsesFormat  = &object{at: "/text/format", known: append([]string{"type"}, schemaMembers...)}
	responsesChoice  = &object{at: "/tool_choice", known: []string{"type", "name", "mode", "tools"}}
	responsesAllowed = &object{at: "/tool_choice/tools/*", known: []string{"type", "name"}}
	responsesGrammar = &object{at: "/format", known: []string{"type", "syntax", "definition"}}

	messagesThinking = &object{at: "/thinking", known: []string{"type", "budget_tokens", "display"}}
	messagesFormat   = &object{at: "/output_config/format", known: []string{"type", "schema"}}
	messagesChoice   = &object{at: "/tool_choice", known: []string{"type", "name", "disable_parallel_tool_use"}}
	messagesSource   = &object{at: "/source", known: []string{"type", "media_type", "data", "url", "file_id"}}

	geminiThinking = &object{at: "/generationConfig/thinkingConfig", known: []string{"includeThoughts", "thinkingBudget", "thinkingLevel"}, snakes: true}
	geminiCalling  = &object{at: "/toolConfig/functionCallingConfig", known: []string{"mode", "allowedFunctionNames"}, snakes: true}
	geminiMedia    = &object{at: "/*", known: []string{"mimeType", "data", "fileUri", "displayName"}, snakes: true}

	converseText      = &object{at: "/outputConfig/textFormat", known: []string{"type", "structure"}}
	converseStructure = &object{at: "/outputConfig/textFormat/structure", known: []string{"jsonSchema"}}
	converseSchema    = &object{at: "/outputConfig/textFormat/structure/jsonSchema", known: []string{"schema", "name", "description"}}
	converseChoice    = &object{at: "/toolConfig/toolChoice/*", known: []string{"name"}}
	converseInput     = &object{at: "/toolSpec/inputSchema", known: []string{"json"}}
	converseThought   = &object{at: "/reasoningContent/reasoningText", known: []string{"text", "signature"}}
	converseCited     = &object{at: "/citationsContent/content/0", known: []string{"text"}}
	converseSource    = &object{at: "/*/source", known: []string{"bytes", "text", "s3Location"}}
	converseStored    = &object{at: "/*/source/s3Location", known: []string{"uri", ownerField}}
)

// unread keeps the members of an object of a request or of an answer that are not read. Each star in the place of the object stands for
// one of the words.
func (d *decoder) unread(x *llm.Extra, v []byte, o *object, stars ...string) {
	if js.Kind(v) != '{' {
		return
	}
	for key, val := range js.Members(v) {
		name := key
		if o.snakes {
			name = camel(key)
		}
		if slices.ContainsFunc(o.known, func(k string) bool { return k == string(name) }) {
			continue
		}
		at := o.at
		for _, word := range stars {
			at = strings.Replace(at, "*", word, 1)
		}
		d.extraNamed(x, at+nestedMark+pointerEscape.Replace(string(key)), val)
	}
}

var (
	pointerEscape   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescape = strings.NewReplacer("~1", "/", "~0", "~")
)

// nest puts the extra fields of objects inside of the value that began at start, and has ended, where they came from:
// those of one object at once, since there may be many.
func (e *encoder) nest(start int, fields map[string]json.RawMessage) {
	pointers := slices.DeleteFunc(sortedKeys(fields), func(key string) bool { return !strings.HasPrefix(key, nestedMark) })
	for len(pointers) > 0 {
		parent, n := pointers[0][:strings.LastIndexByte(pointers[0], '/')+1], 1
		for n < len(pointers) && strings.HasPrefix(pointers[n], parent) && strings.LastIndexByte(pointers[n], '/') == len(parent)-1 {
			n++
		}
		if !e.insert(start, parent, pointers[:n], fields) {
			for _, pointer := range pointers[:n] {
				e.lost(llm.Ignored, dotted(pointer), unsentField)
			}
		}
		pointers = pointers[n:]
	}
}

// insert adds members to an object inside of the value that began at start, unless it has those. It reports false if there
// is no such object.
func (e *encoder) insert(start int, parent string, pointers []string, fields map[string]json.RawMessage) bool {
	v := js.Trim(e.Buf[start:])
	for word := range strings.SplitSeq(strings.Trim(parent, "/"), "/") {
		if parent != nestedMark {
			v = child(v, pointerUnescape.Replace(word))
		}
	}
	if js.Kind(v) != '{' {
		return false
	}
	there := keysOf(v)
	var members []byte
	for _, pointer := range pointers {
		name := pointerUnescape.Replace(pointer[len(parent):])
		if there[name] {
			continue
		}
		if len(members) > 0 || len(there) > 0 {
			members = append(members, ',')
		}
		members = append(append(js.AppendQuoted(members, name), ':'), fields[pointer]...)
	}
	end := cap(e.Buf) - cap(v) + len(v) - 1 // v is a part of the buffer
	e.Buf = slices.Insert(e.Buf, end, members...)
	return true
}

// child returns a member of an object or an element of a list, and nil if there is none.
func child(v []byte, word string) []byte {
	if js.Kind(v) == '{' {
		return js.Get(v, word)
	}
	n, err := strconv.Atoi(word)
	if err != nil || js.Kind(v) != '[' {
		return nil
	}
	for el := range js.Elements(v) {
		if n--; n < 0 {
			return el
		}
	}
	return nil
}

// dotted is how warnings call an extra field of an object inside of a value.
func dotted(pointer string) string {
	return pointerUnescape.Replace(strings.ReplaceAll(strings.TrimPrefix(pointer, nestedMark), "/", "."))
}

// remainder is an extra field that holds what only its format knows of an object, most of which every format has.
type remainder struct {
	known []string // what is told otherwise
	whole bool     // the field is told, too
}

var remainders = map[[2]string]remainder{
	{Chat, "stream_options"}: {}, {Responses, "text"}: {}, {Responses, "reasoning"}: {}, {Messages, "output_config"}: {},
	{Gemini, "generationConfig"}: {}, {Gemini, "toolConfig"}: {}, {Ollama, "options"}: {},
	{Converse, "inferenceConfig"}: {}, {Converse, "toolConfig"}: {}, {Converse, "outputConfig"}: {},
	{Chat, "usage"}: {}, {Responses, "usage"}: {}, {Messages, "usage"}: {}, {Gemini, "usageMetadata"}: {}, {Converse, "usage"}: {},
	{Responses, namespaceField}: {known: []string{"name", "description", functionField}, whole: true},
}

// unsentField is why an extra field is lost whose value is said otherwise, or not at all.
const unsentField = "what it stood in is not sent"

// lostField notes an extra field that is not sent, and why: each of its members if it is a remainder.
func (e *encoder) lostField(format, key string, raw []byte, why string) {
	rest, ok := remainders[[2]string{format, key}]
	switch {
	case strings.HasPrefix(key, nestedMark):
		e.lost(llm.Ignored, dotted(key), why)
		return
	case !ok || rest.whole:
		name, _ := cutPrefix(key, innerPrefix)
		if part, pointer, nested := strings.Cut(name, "."+nestedMark); nested {
			name = part + "." + dotted(pointer)
		}
		e.lost(llm.Ignored, name, why)
	}
	if !ok {
		return
	}
	for member := range js.Members(raw) {
		if !slices.ContainsFunc(rest.known, func(k string) bool { return k == string(member) }) {
			e.lost(llm.Ignored, key+"."+string(member), why)
		}
	}
}

// foreign notes what a request holds that only another format knows, and that was passed over where something became
// something else, like the parts of a result its text.
func (e *encoder) foreign(req *llm.Request) {
	for _, t := range req.Tools {
		e.foreignExtra(t.Extra)
	}
	for _, m := range req.Messages {
		e.foreignExtra(m.Extra)
		e.foreignParts(m.Parts)
	}
}

// foreignExtra is ownExtra for what was told already, most of the time.
func (e *encoder) foreignExtra(x llm.Extra) {
	for format, fields := range x {
		for key := range fields {
			if format != e.c.Format && !e.toldField(key) {
				e.ownExtra(x)
				return
			}
		}
	}
}

func (e *encoder) toldField(key string) bool {
	name, _ := cutPrefix(key, innerPrefix)
	return strings.HasPrefix(key, restated) || slices.ContainsFunc(e.warnings, func(w llm.Warning) bool { return w.Feature == name })
}

func (e *encoder) foreignParts(parts []llm.Part) {
	for _, p := range parts {
		switch p := p.(type) {
		case llm.Text:
			e.foreignExtra(p.Extra)
			e.ownProbs(p.LogProbs)
			if p.Text != "" {
				e.foreignBlock(p.State)
			}
			for _, c := range p.Citations {
				e.foreignState("citations.", c.Raw)
				e.foreignState("citations.", llm.State{Vendor: c.Raw.Vendor, Data: js.Get(c.Raw.Data, "url_citation")})
			}
		case llm.Thinking:
			e.foreignExtra(p.Extra)
			e.foreignState("", p.State)
			e.foreignSummary(p.State)
		case llm.Media:
			e.foreignExtra(p.Extra)
			e.foreignState("", p.State)
		case llm.Call:
			if !p.Hosted {
				e.foreignExtra(p.Extra)
				e.foreignState("", p.State)
			}
		case llm.Result:
			if !p.Hosted {
				e.foreignExtra(p.Extra)
				e.foreignState("", p.State)
				e.foreignOutput(p.State)
				e.foreignParts(p.Parts)
			}
		}
	}
}

// foreignState notes the members of a state of another vendor, except those that only it can read, or that say again what
// the part says.
func (e *encoder) foreignState(under string, s llm.State) {
	if s.Vendor == e.c.Vendor {
		return
	}
	for key := range js.Members(s.Data) {
		if !slices.Contains(stateMembers, string(key)) {
			e.lost(llm.Ignored, under+string(key), "only "+s.Vendor+" can read it")
		}
	}
}

// foreignSummary notes the members of the texts of an item of reasoning, beside the texts, which thinking has.
func (e *encoder) foreignSummary(s llm.State) {
	if s.Vendor == e.c.Vendor {
		return
	}
	for _, list := range []string{"summary", "content"} {
		for el := range js.Elements(js.Get(s.Data, list)) {
			for key := range js.Members(el) {
				if k := string(key); k != "type" && k != "text" {
					e.lost(llm.Ignored, list+"."+k, "only "+s.Vendor+" can read it")
				}
			}
		}
	}
}

// foreignOutput notes that of the result of a tool that another vendor defines there is only the text.
func (e *encoder) foreignOutput(s llm.State) {
	if typ := js.Text(js.Get(s.Data, "type")); typ != "" && typ != searchOutput && s.Vendor != e.c.Vendor {
		e.lost(llm.Degraded, typ, "only "+s.Vendor+" takes it as it is; others are told its text")
	}
}

// sealedMembers are the members of states that are for the eyes of their vendor.
var sealedMembers = []string{"signature", "data", "thoughtSignature", "encrypted_content", "redactedContent", "extra_content", "reasoning_details"}

// stateMembers are the members of states of all vendors that nobody else needs.
var stateMembers = append([]string{
	"id", "status", "call_id", "type", "role", "name", "execution", // what pairs items
	"text", "content", "summary", "action", "actions", "operation", "arguments", "input", "output", "response", "tools", "tool_name", "tool_use_id", // what the part says
	// Of citations.
	"url", "title", "source", "cited_text", "document_title", "document_index", "search_result_index", "encrypted_index", "file_id", "filename", "index",
	"start_char_index", "end_char_index", "start_page_number", "end_page_number", "start_block_index", "end_block_index", "start_index", "end_index",
	"container_id", "location", "sourceContent", "url_citation",
}, sealedMembers...)
