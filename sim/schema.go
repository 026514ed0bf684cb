package sim

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// maxDepth limits the depth to which the offline model follows a schema.
const maxDepth = 8

// property is one parameter of a tool as the offline model sees it. An unknown
// schema counts as a string. Strict modes make every parameter required, and
// allow null for parameters that were optional: those are optional here, too.
type property struct {
	name        string
	description string
	types       []string
	format      string
	enum        []json.RawMessage
	def         json.RawMessage // default
	required    bool            // a value is needed: null will not do
	listed      bool            // it must be there, be it as null
	path        []string        // of objects around it, and its name; of the leaves of a schema
	items       *property
	properties  []property
}

// is reports whether the schema allows the type.
func (p property) is(t string) bool { return slices.Contains(p.types, t) }

// rawSchema is the part of JSON Schema the offline model reads. Properties
// stay raw, to keep their order.
type rawSchema struct {
	Type        json.RawMessage   `json:"type"`
	Description string            `json:"description"`
	Format      string            `json:"format"`
	Enum        []json.RawMessage `json:"enum"`
	Const       json.RawMessage   `json:"const"`
	Default     json.RawMessage   `json:"default"`
	Required    []string          `json:"required"`
	Properties  json.RawMessage   `json:"properties"`
	Items       json.RawMessage   `json:"items"`
	Nullable    bool              `json:"nullable"`
	AnyOf       []json.RawMessage `json:"anyOf"`
	OneOf       []json.RawMessage `json:"oneOf"`
}

// readSchema reads a schema. It never fails: an unreadable schema allows
// anything.
func readSchema(raw json.RawMessage) property { return readProperty("", raw, 0) }

func readProperty(name string, raw json.RawMessage, depth int) property {
	var s rawSchema
	p := property{name: name}
	if depth > maxDepth || json.Unmarshal(raw, &s) != nil {
		return p
	}
	p.description, p.format, p.enum, p.def = s.Description, s.Format, s.Enum, s.Default
	if s.Const != nil {
		p.enum = []json.RawMessage{s.Const}
	}
	p.types = readTypes(s.Type)
	if s.Nullable {
		p.types = append(p.types, "null")
	}
	for _, alternative := range append(s.AnyOf, s.OneOf...) {
		a := readProperty(name, alternative, depth+1)
		p.types = append(p.types, a.types...)
		p.enum = append(p.enum, a.enum...)
		if len(p.properties) == 0 {
			p.properties = a.properties
		}
		if p.items == nil {
			p.items = a.items
		}
	}
	if s.Items != nil {
		items := readProperty(name, s.Items, depth+1)
		p.items = &items
	}
	for key, value := range js.Members(js.Trim(s.Properties)) {
		child := readProperty(string(key), value, depth+1)
		child.listed = slices.Contains(s.Required, string(key))
		child.required = child.listed && !child.is("null")
		p.properties = append(p.properties, child)
	}
	if n := len(p.enum); n > 0 {
		p.enum = slices.DeleteFunc(p.enum, func(v json.RawMessage) bool { return string(v) == "null" })
		if len(p.enum) < n && !p.is("null") {
			p.types = append(p.types, "null")
		}
	}
	return p
}

// leaves returns the parameters that hold no others, at any depth. One in an
// object that may be left out is not required.
func leaves(properties []property, outer []string, required bool) []property {
	var out []property
	for _, p := range properties {
		p.path = append(slices.Clone(outer), p.name)
		p.required = p.required && required
		if p.is("object") && len(p.properties) > 0 {
			out = append(out, leaves(p.properties, p.path, p.required)...)
		} else {
			out = append(out, p)
		}
	}
	return out
}

// readTypes reads "type", which is a word or a list of words.
func readTypes(raw json.RawMessage) []string {
	var one string
	if json.Unmarshal(raw, &one) == nil && one != "" {
		return []string{one}
	}
	var many []string
	_ = json.Unmarshal(raw, &many)
	return many
}

// words splits a name or a description into lower-case words: "lowerLimit",
// "lower_limit" and "lower limit" are the same.
func words(s string) []string {
	var b strings.Builder
	lower := false
	for _, r := range s {
		switch {
		case r >= 'A' && r <= 'Z':
			if lower {
				b.WriteByte(' ')
			}
			b.WriteRune(r + 'a' - 'A')
			lower = false
			continue
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r > 127:
			b.WriteRune(r)
		default:
			b.WriteByte(' ')
		}
		lower = r >= 'a' && r <= 'z'
	}
	return strings.Fields(b.String())
}
