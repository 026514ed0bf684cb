package schema

import (
	"slices"
	"strings"
)

// flat is the schema most tools have: an object of plain values, with no constraints
// but their types. A value that it accepts is valid, at a fraction of the cost; about
// everything else the validator decides, and reports why.
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

// flatten returns a schema that is valid as a flat one, nil if it says more than one
// can.
func flatten(root *node) *flat {
	if kind := root.get("type"); kind == nil || kind.kind != String || kind.text != "object" || !within(root, flatKeywords) {
		return nil
	}
	if more := root.get("additionalProperties"); more != nil && more.kind != Boolean {
		return nil
	}
	f := &flat{}
	if properties := root.get("properties"); properties != nil {
		if len(properties.names) > 64 {
			return nil
		}
		f.properties = make(map[string]flatProperty, len(properties.names))
		for i, p := range properties.list {
			kind := p.get("type")
			if kind == nil || kind.kind != String || flatTypes[kind.text] == 0 || !within(p, flatValueKeywords) {
				return nil
			}
			f.properties[properties.names[i]] = flatProperty{1 << i, flatTypes[kind.text]}
		}
	}
	for _, name := range root.get("required").strings() {
		p, ok := f.properties[name]
		if !ok {
			return nil
		}
		f.required |= p.bit
	}
	return f
}

func within(n *node, keywords map[string]bool) bool {
	return !slices.ContainsFunc(n.names, func(name string) bool { return !keywords[name] })
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
