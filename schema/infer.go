package schema

import (
	"encoding"
	"encoding/json"
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// For returns the schema of the JSON that encoding/json decodes into a T.
//
// Structs become closed objects with the names encoding/json uses; a field is required
// unless it is a pointer or has omitempty or omitzero. Embedded structs give their
// fields to the outer one. Maps become objects with free names, recursive types become
// definitions. [time.Time] is a date-time, [json.RawMessage] and any are any value,
// []byte is base64, and a type that reads text is a string.
//
// Field tags add more: description, format, pattern, enum (values separated by
// commas), default, minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf,
// minLength, maxLength, minItems, maxItems, uniqueItems. On a slice those about values
// go to its items. The tag jsonschema of other libraries is understood, too: as a list
// like "required,minimum=1,enum=a,enum=b", as a description, or as "-" for a field
// that is hidden from the model. An unsupported part of it is an error, and so is a
// misspelt word of a list, an unknown format, and a minimum above its maximum. A
// [Union] is one of several types.
//
//	type Search struct {
//		Query string   `json:"query" description:"What to look for" minLength:"1"`
//		Kind  []string `json:"kind,omitempty" enum:"file,folder"`
//		Limit int      `json:"limit,omitempty" minimum:"1" maximum:"100" default:"10"`
//	}
//
// A type that has no JSON, like a channel, or a tag that does not fit its field is an
// error that names the field.
func For[T any]() (Schema, error) { return ForType(reflect.TypeFor[T]()) }

// ForType is [For] for a type that is known only at run time.
func ForType(t reflect.Type) (Schema, error) {
	in := inferrer{names: make(map[reflect.Type]string), defs: object()}
	n, err := in.schema(t, t.String())
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if len(in.defs.names) > 0 {
		n.set("$defs", in.defs)
	}
	return n.append(nil), nil
}

// inferrer collects the definitions of recursive types.
type inferrer struct {
	open  []reflect.Type // structs being described, outermost first
	names map[reflect.Type]string
	defs  *node
}

// wellKnown are types whose JSON is not what their kind suggests.
var wellKnown = map[reflect.Type]string{
	reflect.TypeFor[time.Time]():       `{"type":"string","format":"date-time"}`,
	reflect.TypeFor[json.RawMessage](): `{}`,
	reflect.TypeFor[json.Number]():     `{"type":"number"}`,
	reflect.TypeFor[big.Int]():         `{"type":"integer"}`,
	reflect.TypeFor[[]byte]():          `{"type":"string","contentEncoding":"base64"}`,
}

var (
	textReader = reflect.TypeFor[encoding.TextUnmarshaler]()
	jsonReader = reflect.TypeFor[json.Unmarshaler]()
)

// simple are the kinds that need no looking into.
var simple = map[reflect.Kind]string{
	reflect.Bool: `{"type":"boolean"}`, reflect.String: `{"type":"string"}`,
	reflect.Float32: `{"type":"number"}`, reflect.Float64: `{"type":"number"}`,
	reflect.Int: `{"type":"integer"}`, reflect.Int8: `{"type":"integer","minimum":-128,"maximum":127}`,
	reflect.Int16: `{"type":"integer","minimum":-32768,"maximum":32767}`, reflect.Int32: `{"type":"integer"}`, reflect.Int64: `{"type":"integer"}`,
	reflect.Uint: `{"type":"integer","minimum":0}`, reflect.Uint8: `{"type":"integer","minimum":0,"maximum":255}`,
	reflect.Uint16: `{"type":"integer","minimum":0,"maximum":65535}`, reflect.Uint32: `{"type":"integer","minimum":0}`, reflect.Uint64: `{"type":"integer","minimum":0}`,
}

// schema describes a type; where is its place, for errors.
func (in *inferrer) schema(t reflect.Type, where string) (*node, error) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if s, ok := wellKnown[t]; ok {
		return literal(s), nil
	}
	if u, ok := reflect.Zero(t).Interface().(union); ok {
		return in.union(t, u, where)
	}
	if p := reflect.PointerTo(t); p.Implements(jsonReader) {
		return object(), nil // it reads what it likes
	} else if p.Implements(textReader) {
		return typed(text("string")), nil
	}
	if s, ok := simple[t.Kind()]; ok {
		return literal(s), nil
	}
	switch t.Kind() {
	case reflect.Struct:
		return in.structure(t, where)
	case reflect.Map:
		return in.mapping(t, where)
	case reflect.Slice, reflect.Array:
		return in.list(t, where)
	case reflect.Interface:
		if t.NumMethod() == 0 {
			return object(), nil
		}
		return nil, fmt.Errorf("%s: JSON cannot be decoded into the interface %s", where, t)
	}
	return nil, fmt.Errorf("%s: a %s has no JSON", where, t.Kind())
}

// literal reads a schema of this file.
func literal(s string) *node {
	n, err := parse([]byte(s))
	if err != nil {
		panic(err) // a constant of this package is wrong
	}
	return n
}

func (in *inferrer) list(t reflect.Type, where string) (*node, error) {
	if t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8 {
		return literal(wellKnown[reflect.TypeFor[[]byte]()]), nil
	}
	items, err := in.schema(t.Elem(), where+"[]")
	if err != nil {
		return nil, err
	}
	n := typed(text("array"))
	n.set("items", items)
	if t.Kind() == reflect.Array {
		length := &node{kind: Number, text: strconv.Itoa(t.Len())}
		n.set("minItems", length)
		n.set("maxItems", length)
	}
	return n, nil
}

func (in *inferrer) mapping(t reflect.Type, where string) (*node, error) {
	n := typed(text("object"))
	key := t.Key()
	switch k := key.Kind(); {
	case k == reflect.String || reflect.PointerTo(key).Implements(textReader):
	case reflect.Int <= k && k <= reflect.Uint64:
		n.set("propertyNames", literal(`{"pattern":"^-?[0-9]+$"}`))
	default:
		return nil, fmt.Errorf("%s: a map with keys of type %s has no JSON", where, key)
	}
	values, err := in.schema(t.Elem(), where+"[]")
	if err != nil {
		return nil, err
	}
	n.set("additionalProperties", values)
	return n, nil
}

// structure describes a struct.
func (in *inferrer) structure(t reflect.Type, where string) (*node, error) {
	return in.once(t, t.Name(), func() (*node, error) { return in.object(t, where) })
}

// once describes a type, as a definition if it contains itself.
func (in *inferrer) once(t reflect.Type, base string, describe func() (*node, error)) (*node, error) {
	for _, o := range in.open {
		if o == t {
			return reference(text("#/$defs/" + in.define(t, base))), nil
		}
	}
	in.open = append(in.open, t)
	n, err := describe()
	in.open = in.open[:len(in.open)-1]
	if err != nil {
		return nil, err
	}
	if name, recursive := in.names[t]; recursive {
		in.defs.set(name, n)
		return reference(text("#/$defs/" + name)), nil
	}
	return n, nil
}

// define names the definition of a recursive type.
func (in *inferrer) define(t reflect.Type, base string) string {
	if name, ok := in.names[t]; ok {
		return name
	}
	if base == "" || strings.ContainsAny(base, "[]/.") { // a generic type
		base = "Type"
	}
	name := base
	for i := 2; in.taken(name); i++ {
		name = base + strconv.Itoa(i)
	}
	in.names[t] = name
	return name
}

func (in *inferrer) taken(name string) bool {
	for _, n := range in.names {
		if n == name {
			return true
		}
	}
	return false
}

func (in *inferrer) object(t reflect.Type, where string) (*node, error) {
	props, required := object(), array()
	for _, f := range fields(t) {
		if f.Tag.Get("jsonschema") == "-" { // the program fills it in
			continue
		}
		p, demanded, err := in.field(f, where)
		if err != nil {
			return nil, err
		}
		props.set(f.name, p)
		if demanded {
			required.list = append(required.list, text(f.name))
		}
	}
	n := typed(text("object"))
	n.set("properties", props)
	if len(required.list) > 0 {
		n.set("required", required)
	}
	n.set("additionalProperties", boolean(false))
	return n, nil
}

// field returns the schema of a field and whether it is required.
func (in *inferrer) field(f field, where string) (*node, bool, error) {
	where += "." + f.Name
	p, err := in.schema(f.Type, where)
	if err != nil {
		return nil, false, err
	}
	if f.quoted {
		p = typed(text("string"))
	}
	if p.has("$ref") { // the keywords of the tags are next to it
		p = shallow(p)
	}
	said, err := readTags(f.StructField, where)
	if err != nil {
		return nil, false, err
	}
	return p, !f.optional || said.required, said.apply(p, where)
}
