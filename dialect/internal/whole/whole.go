// Package whole reads a block of text that is plainly one call of an offered tool, in a notation that no dialect has.
//
// There is one grammar for all notations. A block is made of the name of the tool, its parameters with their values, words
// that announce a call, and signs. Every byte of the block must be one of these. A value is always a part of the block.
// Elements are read by the grammar of XML: a parameter is named by its tag or by an attribute.
package whole

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
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

// Read returns the call that a block is. It reports false if a part of the block does not belong to a call, or if the
// arguments do not fit the tool.
func Read(block string, n *offered.Names) (Call, bool) {
	block = strings.TrimSpace(block)
	if strings.IndexByte(block, '<') < 0 && strings.Contains(block, "&lt;") {
		block = values.UnescapeXML(block)
	}
	r := &reading{names: n}
	block, ok := r.unfenced(untabled(block))
	if !ok || !r.block(block, 0) || !r.fits() {
		return Call{}, false
	}
	return Call{Name: r.name, Args: r.object(), Open: r.open, Unsure: r.unsure}, true
}

// Elements is Read for the elements of a call that a marker announced. Any name of a tool may be allowed.
func Elements(text string, n *offered.Names) (Call, bool) {
	r := &reading{names: n}
	if list, ok := elements(text); !ok || !r.elements(list, 0) || !r.fits() {
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
	ok = ok && closed && !strings.Contains(body, "```")
	if head != "" && !notations[low] && !isCallWord(low) {
		ok = ok && r.names.Offered(head) && r.setName(head)
	}
	return strings.TrimSpace(body), ok
}

// notations are languages of code fences that may hold a call.
var notations = set("json jsonc json5 yaml yml toml xml ini bash sh shell")

// reading is what was found in a block so far.
type reading struct {
	names  *offered.Names
	name   string
	shape  *schema.Shape
	named  bool // a word for a name, or a bracket after the name, shows that it is called
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
	case text[0] == '"':
		var inner string
		if json.Unmarshal([]byte(text), &inner) == nil && strings.HasPrefix(strings.TrimSpace(inner), "{") {
			return r.block(inner, depth+1)
		}
	}
	return r.words(text)
}

// setName sets the name of the tool. It reports false if the block names two.
func (r *reading) setName(written string) bool {
	name, ok := r.names.Resolve(strings.TrimSpace(written))
	if !ok || r.name != "" && r.name != name {
		return false
	}
	r.name, r.shape = name, r.names.Shape(name)
	return r.shape != nil || r.names.Any && offered.LikeName(name)
}

// declares reports whether the tool of the call has a parameter. If any name is allowed, it may have all but those with
// names for parts of a call.
func (r *reading) declares(key string) bool {
	if r.names.Any {
		return offered.LikeName(key) && values.Keys[key] == values.OtherKey && !containers[key] && !parameterTags[key]
	}
	return r.shape != nil && r.shape.Declares(key)
}

// types returns the types that a parameter may have.
func (r *reading) types(key string) schema.Types {
	if r.shape != nil && r.shape.Property(key) != nil {
		return r.shape.Property(key).Types()
	}
	return schema.Any
}

// add adds an argument. It reports false if the value does not fit, or if the argument is there already.
func (r *reading) add(key string, value json.RawMessage) bool {
	if !r.declares(key) || !json.Valid(value) || !kindOf(value).fits(r.types(key)) {
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
	return true
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
