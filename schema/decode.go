package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"sync"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
)

// Decode reads one JSON value into v, a pointer to a type that [For] describes. Names
// must equal those of the schema, letter for letter, at every depth: encoding/json
// would also take {"AMOUNT":5000} for the field amount, which no validation of amount
// has seen. An unknown name and a repeated field are errors. The error about a value
// that its type refuses has a [Fault] with its place.
func Decode(raw json.RawMessage, v any) error { return decodeExact(raw, v, true) }

// DecodeKnown is Decode for values that may have more fields than v: those are
// passed over, unless all that tells their name from a field's is the case of its
// letters.
func DecodeKnown(raw json.RawMessage, v any) error { return decodeExact(raw, v, false) }

func decodeExact(raw json.RawMessage, v any, all bool) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	if all {
		dec.DisallowUnknownFields()
	}
	if err := dec.Decode(v); err != nil {
		if json.Valid(raw) {
			if refusal := refused(js.Trim(raw), reflect.TypeOf(v), ""); refusal != nil {
				return refusal
			}
		}
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return exactNames(js.Trim(raw), reflect.TypeOf(v))
}

// decodeError says where and why a value was refused.
type decodeError struct {
	fault Fault
	err   error
}

func (e *decodeError) Error() string   { return e.fault.Message }
func (e *decodeError) Unwrap() []error { return []error{e.fault, e.err} }

// refused finds the value that t cannot be decoded from and reports its place.
// encoding/json names the place of some errors only, and never that of a type which
// decodes itself.
func refused(raw []byte, t reflect.Type, at pointer) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	kind := t.Kind()
	if decodesItself(t) {
		kind = reflect.Invalid
	}
	var inside error
	look := func(v []byte, t reflect.Type, at pointer) bool {
		inside = refused(v, t, at)
		return inside != nil
	}
	switch {
	case kind == reflect.Struct && raw[0] == '{':
		types := fieldTypes(t)
		for k, v := range js.Members(raw) {
			if ft, ok := types[string(k)]; ok && !ft.quoted && look(v, ft.Type, at.at(string(k))) {
				break
			}
		}
	case kind == reflect.Map && raw[0] == '{':
		for k, v := range js.Members(raw) {
			if look(v, t.Elem(), at.at(string(k))) {
				break
			}
		}
	case (kind == reflect.Slice || kind == reflect.Array) && raw[0] == '[':
		i := 0
		for v := range js.Elements(raw) {
			if look(v, t.Elem(), at.index(i)) {
				break
			}
			i++
		}
	default:
		if err := json.Unmarshal(raw, reflect.New(t).Interface()); err != nil {
			return &decodeError{refusal(err, string(at)), err}
		}
	}
	return inside
}

// decodesItself reports whether the kind of t says nothing about its JSON.
func decodesItself(t reflect.Type) bool {
	_, known := wellKnown[t]
	p := reflect.PointerTo(t)
	return known || p.Implements(jsonReader) || p.Implements(textReader)
}

// refusal returns why a value cannot be decoded. An error inside of it may have a
// separate place.
func refusal(err error, path string) Fault {
	var f Fault
	if errors.As(err, &f) {
		was := f.Path
		f.Path = path + was
		f.Message = strings.Replace(f.Message, "The value at "+clip.Bytes(was, 200)+" ", "The value at "+clip.Bytes(f.Path, 200)+" ", 1)
		return f
	}
	subject := "The top level "
	if path != "" {
		subject = "The value at " + clip.Bytes(path, 200) + " "
	}
	return Fault{Path: path, Keyword: "decode", Message: subject + "was refused: " + clip.Bytes(strings.TrimRight(err.Error(), "."), 300) + "."}
}

// exactNames returns an error unless the names of all objects in raw, which was
// decoded into t, are those of its fields.
func exactNames(raw []byte, t reflect.Type) error {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if _, ok := wellKnown[t]; ok || reflect.PointerTo(t).Implements(jsonReader) {
		return nil // it reads what it likes
	}
	switch t.Kind() {
	case reflect.Struct:
		return exactFields(raw, t)
	case reflect.Map:
		for _, v := range js.Members(raw) {
			if err := exactNames(v, t.Elem()); err != nil {
				return err
			}
		}
	case reflect.Slice, reflect.Array:
		for v := range js.Elements(raw) {
			if err := exactNames(v, t.Elem()); err != nil {
				return err
			}
		}
	}
	return nil
}

func exactFields(raw []byte, t reflect.Type) error {
	types := fieldTypes(t)
	seen := make(map[string]bool, len(types))
	for k, v := range js.Members(raw) {
		name := string(k)
		ft, ok := types[name]
		switch {
		case !ok:
			for field := range types {
				if strings.EqualFold(field, name) {
					return fmt.Errorf("%q is not the field %q: names are matched letter for letter", name, field)
				}
			}
			continue
		case seen[name]:
			return fmt.Errorf("%q stands twice", name)
		}
		seen[name] = true
		if err := exactNames(v, ft.Type); err != nil {
			return err
		}
	}
	return nil
}

var fieldTypesOf sync.Map // of structs: reflect.Type to map[string]field

// fieldTypes returns a struct's fields by name.
func fieldTypes(t reflect.Type) map[string]field {
	if m, ok := fieldTypesOf.Load(t); ok {
		return m.(map[string]field)
	}
	m := make(map[string]field)
	for _, f := range fields(t) {
		m[f.name] = f
	}
	fieldTypesOf.Store(t, m)
	return m
}
