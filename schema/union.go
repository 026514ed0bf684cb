package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// Union is a value of one of several types, whose JSON objects are told apart by
// the value of one field. T is usually an interface that all of them have, and C
// lists them:
//
//	type Shape interface{ Area() float64 }
//
//	type shapes struct{}
//
//	func (shapes) Cases() (string, map[string]Shape) {
//		return "kind", map[string]Shape{"circle": Circle{}, "square": Square{}}
//	}
//
//	type Drawing struct {
//		Shapes []schema.Union[Shape, shapes] `json:"shapes"`
//	}
//
// Its schema is anyOf the objects of the cases, each with that field as a
// required constant. A case need not have the field itself.
type Union[T any, C Cases[T]] struct {
	Value T
}

// Cases lists the types of a [Union]. Its zero value must be ready to use.
type Cases[T any] interface {
	// Cases returns the field that tells the types apart, and for each of its
	// values the type: a struct or a pointer to one, of which only the type counts.
	Cases() (field string, types map[string]T)
}

// union is what every Union is, whatever its types.
type union interface {
	cases() (field string, types map[string]reflect.Type, of reflect.Type, err error)
}

func (u Union[T, C]) cases() (string, map[string]reflect.Type, reflect.Type, error) {
	var c C
	field, values := c.Cases()
	types := make(map[string]reflect.Type, len(values))
	for name, v := range values {
		t := reflect.TypeOf(v)
		if t == nil || t.Kind() != reflect.Struct && (t.Kind() != reflect.Pointer || t.Elem().Kind() != reflect.Struct) {
			return "", nil, nil, fmt.Errorf("the case %q of %s is not a struct", name, reflect.TypeFor[T]())
		}
		types[name] = t
	}
	if field == "" || len(types) == 0 {
		return "", nil, nil, fmt.Errorf("the union of %s has no cases, or no field that tells them apart", reflect.TypeFor[T]())
	}
	return field, types, reflect.TypeFor[T](), nil
}

// UnmarshalJSON decodes the case that the object names. Names of fields are
// matched letter for letter, as by [DecodeKnown].
func (u *Union[T, C]) UnmarshalJSON(raw []byte) error {
	field, types, _, err := u.cases()
	if err != nil {
		return fmt.Errorf("schema: %w", err)
	}
	raw = js.Trim(raw)
	if string(raw) == "null" {
		return nil
	}
	named, rest := takeMember(raw, field)
	var name string
	if err := json.Unmarshal(named, &name); err != nil {
		return unknownCase(field, slices.Sorted(maps.Keys(types)))
	}
	t, ok := types[name]
	if !ok {
		return unknownCase(field, slices.Sorted(maps.Keys(types)))
	}
	elem := t
	if t.Kind() == reflect.Pointer {
		elem = t.Elem()
	}
	if _, own := fieldTypes(elem)[field]; own {
		rest = raw
	}
	v := reflect.New(elem)
	if err := DecodeKnown(rest, v.Interface()); err != nil {
		return err
	}
	if t.Kind() != reflect.Pointer {
		v = v.Elem()
	}
	u.Value = v.Interface().(T)
	return nil
}

func unknownCase(field string, names []string) Fault {
	for i, n := range names {
		names[i] = name(n)
	}
	want := strings.Join(names, " or ")
	path := string(pointer("").at(field))
	return Fault{Path: path, Keyword: "const", Expected: want, Message: "The value at " + path + " must be " + want + "."}
}

// takeMember returns the member of an object called name, and the object
// without it.
func takeMember(raw []byte, name string) (member, rest []byte) {
	rest = []byte("{")
	for key, v := range js.Members(raw) {
		if member == nil && string(key) == name {
			member = v
			continue
		}
		if len(rest) > 1 {
			rest = append(rest, ',')
		}
		rest = append(append(js.AppendQuoted(rest, string(key)), ':'), v...)
	}
	return member, append(rest, '}')
}

// MarshalJSON encodes the value with the field that tells which case it is. An
// empty union is null.
func (u Union[T, C]) MarshalJSON() ([]byte, error) {
	field, types, _, err := u.cases()
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if v := reflect.ValueOf(&u.Value).Elem(); v.IsZero() && (v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer) {
		return []byte("null"), nil
	}
	t := reflect.TypeOf(u.Value)
	for _, name := range slices.Sorted(maps.Keys(types)) {
		if types[name] != t {
			continue
		}
		raw, err := json.Marshal(u.Value)
		if err != nil {
			return nil, err
		}
		_, rest := takeMember(raw, field)
		out := append(js.AppendQuoted([]byte("{"), field), ':')
		out = js.AppendQuoted(out, name)
		if !bytes.Equal(rest, []byte("{}")) {
			out = append(out, ',')
		}
		return append(out, rest[1:]...), nil
	}
	return nil, fmt.Errorf("schema: %s is not a case of the union of %s", t, reflect.TypeFor[T]())
}

// union describes a union: one alternative for each case, in the order of their
// names.
func (in *inferrer) union(t reflect.Type, u union, where string) (*node, error) {
	field, types, of, err := u.cases()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", where, err)
	}
	return in.once(t, of.Name(), func() (*node, error) {
		list := array()
		for _, name := range slices.Sorted(maps.Keys(types)) {
			elem := types[name]
			if elem.Kind() == reflect.Pointer {
				elem = elem.Elem()
			}
			if reflect.PointerTo(elem).Implements(jsonReader) {
				return nil, fmt.Errorf("%s: the case %q decodes its own JSON, so its fields are not known", where, name)
			}
			n, err := in.object(elem, where+"("+name+")")
			if err != nil {
				return nil, err
			}
			list.list = append(list.list, withCase(n, field, name))
		}
		n := object()
		n.set("anyOf", list)
		return n, nil
	})
}

// withCase puts the field that tells the case before the others, as a required
// constant.
func withCase(n *node, field, name string) *node {
	constant := typed(text("string"))
	constant.set("const", text(name))
	props, required := object(), array(text(field))
	have := n.get("properties")
	props.set(field, constant)
	for i, key := range have.names {
		if key == field {
			if about := have.list[i].get("description"); about != nil {
				constant.set("description", about)
			}
			continue
		}
		props.set(key, have.list[i])
	}
	if r := n.get("required"); r != nil {
		for _, v := range r.list {
			if v.text != field {
				required.list = append(required.list, v)
			}
		}
	}
	out := typed(text("object"))
	out.set("properties", props)
	out.set("required", required)
	out.set("additionalProperties", boolean(false))
	return out
}
