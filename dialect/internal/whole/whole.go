// Package whole reads a block of text that is plainly one call of an offered tool, in a notation that no dialect has.
//
// There is one grammar for all notations. A block is made of the name of the tool, its parameters with their values, words
// that announce a call, and signs. Every byte of the block must be one of these. A value is always a part of the block.
// Elements are read by the grammar of XML: a parameter is named by its tag or by an attribute.
package whole

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/dialect/internal/loose"
	"github.com/toolpost/toolpost/dialect/internal/offered"
	"github.com/toolpost/toolpost/dialect/internal/values"
	"github.com/toolpost/toolpost/schema"
)

// Call is the call that a block is.
type Call struct {
	Name string
	Args json.RawMessage
	// Open reports whether nothing marks the end of the block, so more of it may have been missing.
	Open bool
	// Unsure reports whether a value can be read in another way too.
	Unsure bool
}

// Place is what the place of a block allows.
type Place struct {
	Code      bool                       // a program may be a call
	Announces func(sentence string) bool // whether a sentence announces an action of the speaker; nil if no sentence counts
}

// Read returns the calls that a block is. It reports false if a part of the block does not belong to a call, or if the
// arguments do not fit the tool.
func Read(block string, n *offered.Names, at Place) ([]Call, bool) {
	block = strings.TrimSpace(block)
	if strings.IndexByte(block, '<') < 0 && strings.Contains(block, "&lt;") {
		block = values.UnescapeXML(block)
	}
	r := &reading{names: n, Place: at}
	block, ok := r.unfenced(untabled(block))
	if !ok || strings.HasPrefix(block, "<!--") || !r.request(block) && !r.block(block, 0) || !r.nextCall() {
		return nil, false
	}
	return r.calls, true
}

// nextCall ends a call and prepares for the next one. It reports false if the call is not complete.
func (r *reading) nextCall() bool {
	if !r.fits() {
		return false
	}
	r.calls = append(r.calls, Call{Name: r.name, Args: r.object(), Open: r.open, Unsure: r.unsure})
	r.name, r.shape, r.args, r.named = "", nil, nil, false
	return len(r.calls) < maxCalls
}

// maxCalls bounds the calls of a block.
const maxCalls = 32

// Elements is Read for the elements of a call that a marker announced. Any name of a tool may be allowed.
func Elements(text string, n *offered.Names) (Call, bool) {
	r := &reading{names: n}
	if list, ok := elements(text); !ok || !r.elements(list, 0) || len(r.calls) > 0 || !r.fits() {
		return Call{}, false
	}
	return Call{Name: r.name, Args: r.object(), Unsure: r.unsure}, true
}

// unfenced removes the code fence around a block. Its info string must be a language that data has, a word for a call, or
// the name of the tool.
func (r *reading) unfenced(block string) (string, bool) {
	if !strings.HasPrefix(block, "```") {
		return block, true
	}
	marks := len(block) - len(strings.TrimLeft(block, "`"))
	head, body, ok := strings.Cut(block[marks:], "\n")
	body, closed := strings.CutSuffix(body, block[:marks])
	head = strings.TrimSpace(head)
	low := strings.ToLower(head)
	r.toml = low == "toml"
	ok = ok && closed && !strings.Contains(body, "```")
	if head != "" && !r.isNotation(low) {
		ok = ok && r.names.Offered(head) && r.setName(head)
	}
	return strings.TrimSpace(body), ok
}

// isNotation reports whether the words of an info string are languages of data or words for a call.
func (r *reading) isNotation(info string) bool {
	for word := range strings.FieldsFuncSeq(info, func(c rune) bool { return c == ' ' || c == ':' || c == ',' }) {
		if !notations[word] && !isCallWord(word) && !(r.Code && programs[word]) {
			return false
		}
	}
	return true
}

// notations are languages of code fences that may hold a call.
var notations = set("json jsonc json5 yaml yml toml xml ini bash sh shell")

// programs are programming languages of code fences.
var programs = set("python py javascript js typescript ts ruby rb php lua go rust java kotlin swift sql graphql http powershell console")

// reading is what was found in a block so far.
type reading struct {
	Place
	names  *offered.Names
	toml   bool   // the block is a code fence of TOML
	calls  []Call // that were read
	name   string
	shape  *schema.Shape
	named  bool // a word for a name, or a bracket after the name, shows that it is called
	depth  int  // of the element that names the tool
	args   []member
	open   bool
	unsure bool
}

// member is an argument.
type member struct {
	key   string
	value json.RawMessage
}

// maxDepth bounds blocks inside of blocks.
const maxDepth = 8

// block reads a part of the block that may hold a name and arguments.
func (r *reading) block(text string, depth int) bool {
	text = strings.TrimSpace(text)
	switch {
	case text == "":
		return true
	case depth > maxDepth:
		return false
	case text[0] == '<':
		if list, ok := elements(text); ok {
			return r.elements(list, depth)
		}
	case text[0] == '{' && strings.Contains(text, "&quot;") && !strings.Contains(text, `"`):
		r.unsure = true
		return r.block(values.UnescapeXML(text), depth+1)
	case text[0] == '`' && strings.HasPrefix(text, "`<") && strings.HasSuffix(text, ">`"):
		return r.block(text[1:len(text)-1], depth+1)
	case text[0] == '[':
		if plain, ok := untagged(text); ok {
			return r.block(plain, depth+1) && !r.holdsTag()
		}
	case text[0] == '"':
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			return r.block(inner, depth+1)
		}
	}
	return r.words(text)
}

// squareTag is a tag in square brackets.
var squareTag = regexp.MustCompile(`\[(/?)([A-Za-z_][\w.-]*)((?:=|\s)[^\[\]]*)?\]`)

// untagged replaces tags in square brackets by those of elements: [tool=f][city]Rome[/city][/tool].
func untagged(text string) (string, bool) {
	first := squareTag.FindStringSubmatchIndex(text)
	if first == nil || first[0] != 0 || !strings.HasSuffix(text, "[/"+text[first[4]:first[5]]+"]") || strings.ContainsAny(text, "<>") {
		return "", false
	}
	return squareTag.ReplaceAllStringFunc(text, func(tag string) string {
		if name := squareTag.FindStringSubmatch(tag)[2]; !strings.Contains(text, "[/"+name+"]") {
			return tag
		}
		return "<" + tag[1:len(tag)-1] + ">"
	}), true
}

// holdsTag reports whether a value holds a bracket of a tag, which was a square bracket.
func (r *reading) holdsTag() bool { return bytes.ContainsAny(r.object(), "<>") }

// setName sets the name of the tool. It reports false if the block names two.
func (r *reading) setName(written string) bool {
	name, ok := r.names.Resolve(strings.TrimSpace(written))
	if !ok || r.name != "" && r.name != name {
		return false
	}
	r.name, r.shape = name, r.names.Shape(name)
	return r.shape != nil || r.names.Any && offered.LikeName(name)
}

// types returns the types that a parameter may have.
func (r *reading) types(key string) schema.Types {
	key, _ = r.parameterName(key)
	if r.shape != nil && r.shape.Property(key) != nil {
		return r.shape.Property(key).Types()
	}
	return schema.Any
}

// add adds an argument. It reports false if the value does not fit, or if the argument is there already.
func (r *reading) add(key string, value json.RawMessage) bool {
	declared := r.declares(key)
	key, _ = r.parameterName(key)
	if !declared || !json.Valid(value) || !kindOf(value).fits(r.types(key)) {
		return false
	}
	for i := range r.args {
		if r.args[i].key == key {
			return false
		}
	}
	r.args = append(r.args, member{key, value})
	return true
}

// addText adds an argument that is written as text.
func (r *reading) addText(key, text string) bool {
	return r.declares(key) && r.add(key, values.Typed(r.types(key), text))
}

// addObject adds the members of a JSON object.
func (r *reading) addObject(text string) bool {
	if !json.Valid([]byte(text)) {
		return false
	}
	var few map[string]json.RawMessage
	if json.Unmarshal([]byte(text), &few) != nil {
		return false
	}
	dec := json.NewDecoder(strings.NewReader(text))
	dec.Token()
	for dec.More() {
		key, _ := dec.Token()
		var v json.RawMessage
		if dec.Decode(&v) != nil || !r.addJSON(key.(string), v) {
			return false
		}
	}
	return true
}

// addJSON adds an argument that is written as JSON. A value in quotes may be of another type.
func (r *reading) addJSON(key string, v json.RawMessage) bool {
	if !r.declares(key) {
		return false
	}
	var s string
	if types := r.types(key); types&schema.String == 0 && json.Unmarshal(v, &s) == nil {
		v = values.Typed(types, s)
	}
	return r.add(key, v)
}

// fits reports whether the call has a name and all arguments that the tool requires.
func (r *reading) fits() bool {
	if r.name == "" || len(r.args) == 0 && !r.named {
		return false
	}
	for _, key := range r.shape.Properties() {
		if r.shape.Required(key) && !r.has(key) {
			return false
		}
	}
	return !r.declaration()
}

// declaration reports whether all arguments are names of types.
func (r *reading) declaration() bool {
	for _, m := range r.args {
		if !loose.TypeNames[strings.ToLower(strings.Trim(string(m.value), `"`))] || string(m.value) == "null" {
			return false
		}
	}
	return len(r.args) > 0
}

func (r *reading) has(key string) bool {
	for _, m := range r.args {
		if m.key == key {
			return true
		}
	}
	return false
}

// object returns the arguments as a JSON object.
func (r *reading) object() json.RawMessage {
	out := []byte{'{'}
	for i, m := range r.args {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, chars.QuoteJSON(m.key)...), ':')
		out = append(out, m.value...)
	}
	return append(out, '}')
}

// kind is the type of a JSON value.
type kind schema.Types

func kindOf(v json.RawMessage) kind {
	switch v[0] {
	case '"':
		return kind(schema.String)
	case '{':
		return kind(schema.Object)
	case '[':
		return kind(schema.Array)
	case 't', 'f':
		return kind(schema.Boolean)
	case 'n':
		return kind(schema.Null)
	}
	return kind(schema.Number | schema.Integer)
}

func (k kind) fits(types schema.Types) bool { return schema.Types(k)&types != 0 }

// set makes a set of the words in a string.
func set(s string) map[string]bool {
	words := make(map[string]bool)
	for _, w := range strings.Fields(s) {
		words[w] = true
	}
	return words
}

// schemaWords are keys of descriptions of tools.
var schemaWords = set("properties description required input_schema")

// Resembles reports whether a block names an offered tool and has all parameters that the tool requires, each with a sign
// for its value. at is the index of the name.
func Resembles(block string, n *offered.Names) (at int, ok bool) {
	r := &reading{names: n}
	given := make(map[string]bool)
	p := scanner{reading: r, s: block}
	for p.i < len(block) {
		size := p.wordAt(p.i)
		if size == 0 {
			_, size = p.rune()
			p.i += size
			continue
		}
		word, end := block[p.i:p.i+size], p.i+size
		if dot := strings.LastIndexAny(word, "./"); dot >= 0 && !n.Offered(word) {
			size = dot + 1
			word, end = block[p.i:p.i+dot], p.i+dot
		}
		if dash := strings.LastIndexByte(word, '-'); dash >= 0 && !n.Offered(word) && !r.declares(word) { // data-city
			word = word[dash+1:]
		}
		switch {
		case schemaWords[word] && !r.declares(word) && p.separated(end):
			return 0, false
		case r.name == "" && n.Offered(word):
			at = p.i
			r.setName(word)
		case r.declares(word) && (p.separated(end) || p.i > 0 && (strings.IndexByte("-/?&<[>", block[p.i-1]) >= 0 || p.inQuotes(end))):
			key, _ := r.parameterName(word)
			given[key] = true
		}
		p.i += size
	}
	if r.shape == nil || len(given) == 0 {
		return 0, false
	}
	for _, key := range r.shape.Properties() {
		if r.shape.Required(key) && !given[key] {
			return 0, false
		}
	}
	return at, true
}
