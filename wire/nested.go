package wire

import (
	"encoding/json"
	"maps"
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

var chatFormat = &object{at: "/response_format", known: []string{"type", "json_schema"}}
var chatSchema = &object{at: "/response_format/json_schema", known: schemaMembers}
var chatToolChoice = &object{at: "/tool_choice", known: []string{"type", "function", "custom", "allowed_tools"}}
var chatChosen = &object{at: "/tool_choice/*", known: []string{"name"}}
var chatAllowed = &object{at: "/tool_choice/allowed_tools", known: []string{"mode", "tools"}}
var chatAllowedTool = &object{at: "/tool_choice/allowed_tools/tools/*", known: []string{"type", "function", "custom"}}
var chatAllowedName = &object{at: "/tool_choice/allowed_tools/tools/*/*", known: []string{"name"}}
var chatToolFormat = &object{at: "/custom/format", known: []string{"type", "grammar"}}
var chatGrammar = &object{at: "/custom/format/grammar", known: []string{"syntax", "definition"}}
var chatLocation = &object{at: "/web_search_options/user_location", known: []string{"type", "approximate"}}
var chatWhere = &object{at: "/web_search_options/user_location/approximate", known: placeMembers}
var chatCustom = &object{at: "/custom", known: []string{"name", "input"}}
var responsesFormat = &object{at: "/text/format", known: append([]string{"type"}, schemaMembers...)}
var responsesChoice = &object{at: choicePlace, known: []string{"type", "name", "mode", "tools"}}
var responsesAllowed = &object{at: allowedPlace, known: []string{"type", "name"}}
var responsesGrammar = &object{at: "/format", known: []string{"type", "syntax", "definition"}}
var messagesThinking = &object{at: "/thinking", known: []string{"type", "budget_tokens", "display"}}
var messagesFormat = &object{at: "/output_config/format", known: []string{"type", "schema"}}
var messagesChoice = &object{at: "/tool_choice", known: []string{"type", "name", "disable_parallel_tool_use"}}
var messagesSource = &object{at: "/source", known: []string{"type", "media_type", "data", "url", "file_id"}}
var geminiThinking = &object{at: "/generationConfig/thinkingConfig", known: []string{"includeThoughts", "thinkingBudget", "thinkingLevel"}, snakes: true}
var geminiCalling = &object{at: "/toolConfig/functionCallingConfig", known: []string{"mode", "allowedFunctionNames"}, snakes: true}
var geminiMedia = &object{at: "/*", known: []string{"mimeType", "data", "fileUri", "displayName"}, snakes: true}
var converseText = &object{at: "/outputConfig/textFormat", known: []string{"type", "structure"}}
var converseStructure = &object{at: "/outputConfig/textFormat/structure", known: []string{"jsonSchema"}}
var converseSchema = &object{at: "/outputConfig/textFormat/structure/jsonSchema", known: []string{"schema", "name", "description"}}
var converseChoice = &object{at: "/toolConfig/toolChoice/*", known: []string{"name"}}
var converseInput = &object{at: "/toolSpec/inputSchema", known: []string{"json"}}
var converseThought = &object{at: "/reasoningContent/reasoningText", known: []string{"text", "signature"}}
var converseCited = &object{at: "/citationsContent/content/0", known: []string{"text"}}
var converseSource = &object{at: "/*/source", known: []string{"bytes", "text", "s3Location"}}
var converseStored = &object{at: "/*/source/s3Location", known: []string{"uri", ownerField}}

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
	pointers := slices.DeleteFunc(slices.Sorted(maps.Keys(fields)), func(key string) bool { return !strings.HasPrefix(key, nestedMark) })
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
	{Responses, "namespace"}: {known: []string{"name", "description", "function"}, whole: true},
}

// unsentField is why an extra field is lost whose value is said otherwise, or not at all.
const unsentField = "what it stood in is not sent"

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
