package schema

import "strings"

// flat is the schema most tools have: an object of plain values, and nothing
// said about them but their types. What it accepts is valid, at a fraction of
// the cost; about everything else the validator decides, and says why.
type flat struct {
	properties map[string]flatProperty
	required   uint64 // bits of properties
}

type flatProperty struct {
	bit   uint64
	types Types
}

// The keywords of a flat schema and of its properties. All but the structural
// ones are annotations.
var (
	flatKeywords      = words("type properties required additionalProperties title description default examples $comment")
	flatValueKeywords = words("type title description default examples $comment")
	flatTypes         = map[string]Types{"string": String, "integer": Integer, "number": Number, "boolean": Boolean}
)

func words(list string) map[string]bool {
	set := make(map[string]bool)
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// flatten returns doc as a flat schema, nil if it says more than one can.
func flatten(doc any) *flat {
	root, ok := doc.(map[string]any)
	if !ok || root["type"] != "object" || !within(root, flatKeywords) {
		return nil
	}
	properties, _ := root["properties"].(map[string]any)
	if _, isBool := root["additionalProperties"].(bool); root["additionalProperties"] != nil && !isBool || len(properties) > 64 {
		return nil
	}
	f := &flat{properties: make(map[string]flatProperty, len(properties))}
	for name, sub := range properties {
		p, ok := sub.(map[string]any)
		word, _ := p["type"].(string)
		types := flatTypes[word]
		if !ok || types == 0 || !within(p, flatValueKeywords) {
			return nil
		}
		f.properties[name] = flatProperty{1 << len(f.properties), types}
	}
	required, _ := root["required"].([]any)
	for _, name := range required {
		p, ok := f.properties[name.(string)] // the compiler has seen to that
		if !ok {
			return nil
		}
		f.required |= p.bit
	}
	return f
}

func within(m map[string]any, keywords map[string]bool) bool {
	for k := range m {
		if !keywords[k] {
			return false
		}
	}
	return true
}

// accepts reports whether args are certainly valid. Properties that are not
// declared it leaves to the validator, whether they are allowed or not.
func (f *flat) accepts(args string) bool {
	r := newReader(args, 1)
	if r.Peek() != '{' || r.Enter() != nil {
		return false
	}
	var seen uint64
	for first := true; ; first = false {
		more, err := r.Next('}', first)
		if err != nil {
			return false
		}
		if !more {
			return r.End() == nil && seen&f.required == f.required
		}
		name, err := r.name()
		if err != nil {
			return false
		}
		p, ok := f.properties[name]
		if !ok || seen&p.bit != 0 || !r.plain(p.types) {
			return false
		}
		seen |= p.bit
	}
}

// plain passes over a value of a type that is plain to see, and reports whether
// it is one of t: an integer is written without fraction and exponent.
func (r *reader) plain(t Types) bool {
	switch r.Peek() {
	case '"':
		_, _, err := r.String()
		return err == nil && t.Has(String)
	case 't', 'f':
		_, err := r.Word()
		return err == nil && t.Has(Boolean)
	case '{', '[', 'n', 0:
		return false
	}
	lit, err := r.number()
	is := Number
	if !strings.ContainsAny(lit, ".eE") {
		is = Integer
	}
	return err == nil && t.Has(is)
}
