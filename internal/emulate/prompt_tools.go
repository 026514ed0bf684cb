package emulate

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
)

// The bounds of what a prompt says about a tool.
const (
	compactDescription = 80   // runes of a tool's description in a compact prompt
	compactParameter   = 60   // runes of a parameter's
	maxChoices         = 40   // values of an enum
	maxDepth           = 5    // of nested objects
	maxNodes           = 1000 // schemas visited for one tool: references can multiply
)

// freeSchema describes the arguments of a tool that takes text: emulated, it
// has one parameter.
const freeSchema = `{"type":"object","properties":{"input":{"type":"string","description":"the input, as plain text"}},"required":["input"]}`

// argsSchema returns the schema of a tool's arguments.
func argsSchema(t llm.ToolDef) json.RawMessage {
	switch {
	case t.Kind == llm.FreeTool:
		return json.RawMessage(freeSchema)
	case len(bytes.TrimSpace(t.Schema)) == 0:
		return json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return t.Schema
}

// describe writes what a model needs to know of a tool: for compact prompts a
// signature with short descriptions, else a list of parameters.
func describe(b *strings.Builder, t llm.ToolDef, compact bool) {
	r := newSchemaReader(t)
	if !compact {
		fmt.Fprintf(b, "## %s\n", t.Name)
		if text := strings.TrimSpace(t.Description); text != "" {
			b.WriteString(text + "\n")
		}
		if len(r.properties(r.root)) == 0 {
			b.WriteString("No parameters.\n")
		}
		r.list(b, r.root, "", 0)
		return
	}
	fmt.Fprintf(b, "- %s%s", t.Name, r.signature(r.root))
	about, grammar, _ := strings.Cut(t.Description, history.GrammarFollows)
	if text := clip.Words(about, compactDescription); text != "" {
		b.WriteString(": " + text)
	}
	b.WriteByte('\n')
	if grammar != "" { // without it the model cannot write the input
		b.WriteString(strings.TrimSpace(history.GrammarFollows+grammar) + "\n")
	}
	for _, p := range r.properties(r.root) {
		if text := clip.Words(p.description, compactParameter); text != "" {
			fmt.Fprintf(b, "  %s: %s\n", p.key, text)
		}
	}
}

// schemaReader reads a schema for a description. It does not check whether the schema
// is valid.
type schemaReader struct {
	root  json.RawMessage
	known map[*byte]object // objects that were read, by their first byte
	left  int              // schemas that may still be visited
}

func newSchemaReader(t llm.ToolDef) *schemaReader {
	return &schemaReader{root: argsSchema(t), known: make(map[*byte]object), left: maxNodes}
}

// visit counts a schema and reports whether there were not too many.
func (r *schemaReader) visit() bool {
	r.left--
	return r.left >= 0
}

// members returns the entries of an object, and none for other values.
func (r *schemaReader) members(raw json.RawMessage) object {
	if len(raw) == 0 {
		return nil
	}
	entries, ok := r.known[&raw[0]]
	if !ok {
		entries, _ = readObject(raw)
		r.known[&raw[0]] = entries
	}
	return entries
}

// keyword returns the value of a key of an object, nil if there is none.
func (r *schemaReader) keyword(raw json.RawMessage, key string) json.RawMessage {
	for _, m := range r.members(raw) {
		if m.key == key {
			return m.value
		}
	}
	return nil
}

// property is one parameter.
type property struct {
	key         string
	schema      json.RawMessage
	required    bool
	description string
}

// keywords returns the keywords of a schema, its reference followed.
func (r *schemaReader) keywords(raw json.RawMessage) map[string]json.RawMessage {
	out := make(map[string]json.RawMessage)
	for range maxDepth {
		for _, m := range r.members(raw) {
			if _, ok := out[m.key]; !ok { // siblings of a reference come first
				out[m.key] = m.value
			}
		}
		if all := js.Decode[[]json.RawMessage](out["allOf"]); len(all) == 1 { // how some generators write a described reference
			out["$ref"] = r.keyword(all[0], "$ref")
			delete(out, "allOf")
		}
		ref := js.Decode[string](out["$ref"])
		delete(out, "$ref")
		if raw = r.resolve(ref); raw == nil {
			break
		}
	}
	return out
}

// resolve finds a reference within the schema, nil if it leads nowhere.
func (r *schemaReader) resolve(ref string) json.RawMessage {
	at := r.root
	if ref == "#" {
		return at
	}
	path, ok := strings.CutPrefix(ref, "#/")
	if !ok {
		return nil
	}
	for step := range strings.SplitSeq(path, "/") {
		at = r.keyword(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	return at
}

// properties returns the parameters in the order of the schema.
func (r *schemaReader) properties(raw json.RawMessage) []property {
	k := r.keywords(raw)
	var required []string
	_ = json.Unmarshal(k["required"], &required) // absent or wrong: none
	var out []property
	for _, m := range r.members(k["properties"]) {
		out = append(out, property{
			key: m.key, schema: m.value, required: slices.Contains(required, m.key),
			description: js.Decode[string](r.keywords(m.value)["description"]),
		})
	}
	return out
}

// list writes one line per parameter, those of nested objects below theirs.
func (r *schemaReader) list(b *strings.Builder, raw json.RawMessage, indent string, depth int) {
	if depth == maxDepth {
		return
	}
	for _, p := range r.properties(raw) {
		if !r.visit() {
			return
		}
		k := r.keywords(p.schema)
		need := "optional"
		if p.required {
			need = "required"
		}
		if def, ok := k["default"]; ok {
			need += ", default " + string(def)
		}
		fmt.Fprintf(b, "%s- %s (%s, %s)", indent, p.key, r.kind(p.schema), need)
		if text := strings.Join(strings.Fields(p.description), " "); text != "" {
			b.WriteString(": " + text)
		}
		b.WriteByte('\n')
		inner := p.schema
		if items, ok := k["items"]; ok {
			inner = items
		}
		r.list(b, inner, indent+"  ", depth+1)
	}
}

// kind names the type of a parameter in a list, where the properties of
// objects stand below.
func (r *schemaReader) kind(raw json.RawMessage) string {
	k := r.keywords(raw)
	switch {
	case len(r.properties(raw)) > 0:
		return "object"
	case len(r.properties(k["items"])) > 0:
		return "array of objects"
	}
	return r.typeOf(raw, 0)
}

// signature writes the parameters of a tool in one line, optional ones with a
// question mark.
func (r *schemaReader) signature(raw json.RawMessage) string {
	inner := r.typeOf(raw, 0)
	if strings.HasPrefix(inner, "{") {
		return "(" + inner[1:len(inner)-1] + ")"
	}
	return "()"
}

// typeOf writes a type in one line.
func (r *schemaReader) typeOf(raw json.RawMessage, depth int) string {
	if !r.visit() || depth == maxDepth {
		return "any"
	}
	k := r.keywords(raw)
	for _, key := range []string{"anyOf", "oneOf"} {
		if alts := js.Decode[[]json.RawMessage](k[key]); len(alts) > 0 {
			return r.union(alts, depth)
		}
	}
	if c, ok := k["const"]; ok {
		return string(c)
	}
	if values := js.Decode[[]json.RawMessage](k["enum"]); len(values) > 0 {
		return choices(values)
	}
	var types []string
	if json.Unmarshal(k["type"], &types) != nil { // absent or one word
		types = []string{js.Decode[string](k["type"])}
	}
	for i, t := range types {
		types[i] = r.named(t, k, depth)
	}
	return strings.Join(types, " | ")
}

func (r *schemaReader) union(alts []json.RawMessage, depth int) string {
	var words []string
	for _, alt := range alts {
		if w := r.typeOf(alt, depth+1); !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	return strings.Join(words, " | ")
}

func choices(values []json.RawMessage) string {
	var words []string
	for i, v := range values {
		if i == maxChoices {
			words = append(words, fmt.Sprintf("and %d more", len(values)-i))
			break
		}
		words = append(words, string(v))
	}
	return strings.Join(words, " | ")
}

// named writes a type that has a name.
func (r *schemaReader) named(name string, k map[string]json.RawMessage, depth int) string {
	switch name {
	case "array", "list", "tuple":
		items, ok := k["items"]
		if !ok {
			return "array"
		}
		inner := r.typeOf(items, depth+1)
		if strings.Contains(inner, " | ") {
			inner = "(" + inner + ")"
		}
		return inner + "[]"
	case "object", "dict", "":
		if props, ok := k["properties"]; ok {
			return r.fields(props, k["required"], depth)
		}
		if name == "" {
			return "any"
		}
		return "object"
	case "integer", "number", "int", "float":
		return name + rangeText(k["minimum"], k["maximum"])
	case "string":
		if format := js.Decode[string](k["format"]); format != "" {
			return "string (" + format + ")"
		}
	}
	return name
}

func (r *schemaReader) fields(props, need json.RawMessage, depth int) string {
	var required []string
	_ = json.Unmarshal(need, &required) // absent or wrong: none
	var words []string
	for _, m := range r.members(props) {
		if r.left <= 0 {
			words = append(words, "…")
			break
		}
		mark := "?"
		if slices.Contains(required, m.key) {
			mark = ""
		}
		words = append(words, m.key+mark+": "+r.typeOf(m.value, depth+1))
	}
	return "{" + strings.Join(words, ", ") + "}"
}

// rangeText writes the bounds of a number.
func rangeText(low, high json.RawMessage) string {
	switch {
	case low != nil && high != nil:
		return " " + string(low) + ".." + string(high)
	case low != nil:
		return " >= " + string(low)
	case high != nil:
		return " <= " + string(high)
	}
	return ""
}

// example returns arguments that show how a call of the tool looks: its own
// first example, else the required parameters with made-up values.
func example(t llm.ToolDef) json.RawMessage {
	for _, e := range t.Examples {
		if _, err := readObject(e); err == nil {
			return e
		}
	}
	r := newSchemaReader(t)
	return r.sampleObject(r.root, 0)
}

// sample makes up a value. Names make better examples than nonsense does.
func (r *schemaReader) sample(raw json.RawMessage, name string, depth int) json.RawMessage {
	if !r.visit() {
		return json.RawMessage("null")
	}
	k := r.keywords(raw)
	if given := firstOf(k["const"], first(k["examples"]), k["example"], k["default"], first(k["enum"])); given != nil && string(given) != "null" {
		return given
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if alts := js.Decode[[]json.RawMessage](k[key]); len(alts) > 0 && depth < maxDepth {
			return r.sample(alts[0], name, depth+1)
		}
	}
	typ := js.Decode[string](k["type"])
	if types := js.Decode[[]json.RawMessage](k["type"]); len(types) > 0 {
		typ = js.Decode[string](types[0])
	}
	if k["properties"] != nil && depth < maxDepth {
		return r.sampleObject(raw, depth)
	}
	switch typ {
	case "object", "dict":
		return json.RawMessage("{}")
	case "array", "list", "tuple":
		if k["items"] == nil || depth == maxDepth {
			return json.RawMessage("[]")
		}
		return json.RawMessage("[" + string(r.sample(k["items"], name, depth+1)) + "]")
	case "boolean", "bool":
		return json.RawMessage("true")
	case "integer", "number", "float", "int":
		return firstOf(k["minimum"], json.RawMessage("1"))
	}
	return js.Marshal(sampleText(js.Decode[string](k["format"]), name))
}

func (r *schemaReader) sampleObject(raw json.RawMessage, depth int) json.RawMessage {
	var b strings.Builder
	b.WriteByte('{')
	for _, p := range r.properties(raw) {
		if !p.required {
			continue
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(quote(p.key) + ":" + string(r.sample(p.schema, p.key, depth+1)))
	}
	b.WriteByte('}')
	return json.RawMessage(b.String())
}

var sampleFormats = map[string]string{
	"date": "2025-01-31", "date-time": "2025-01-31T12:00:00Z", "time": "12:00:00", "email": "someone@example.com",
	"uri": "https://example.com/", "url": "https://example.com/", "uuid": "123e4567-e89b-42d3-a456-426614174000",
}

// sampleText makes up a string for a parameter: "some city" for city.
func sampleText(format, name string) string {
	if s, ok := sampleFormats[format]; ok {
		return s
	}
	return strings.TrimSpace("some " + strings.Join(strings.FieldsFunc(name, func(r rune) bool { return r == '_' || r == '-' || r == '.' }), " "))
}

// first returns the first element of an array, nil if there is none.
func first(raw json.RawMessage) json.RawMessage {
	if list := js.Decode[[]json.RawMessage](raw); len(list) > 0 {
		return list[0]
	}
	return nil
}

func firstOf(values ...json.RawMessage) json.RawMessage {
	for _, v := range values {
		if v != nil {
			return v
		}
	}
	return nil
}

// nameList lists the names of tools, at most n of them.
func nameList(tools []llm.ToolDef, n int) string {
	var words []string
	for _, t := range tools[:min(n, len(tools))] {
		words = append(words, t.Name)
	}
	if len(tools) > n {
		words = append(words, "and "+strconv.Itoa(len(tools)-n)+" more")
	}
	return strings.Join(words, ", ")
}
