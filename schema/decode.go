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

	"github.com/toolpost/toolpost/internal/js"
)

// Decode reads one JSON value into v, a pointer to a type that [For] describes.
// Names are those of the schema, letter for letter, at every depth: encoding/json
// would also take {"AMOUNT":5000} for the field amount, which no validation of
// amount has seen. A name that is no field's, and a field that stands twice, are
// errors.
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
		return err
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is more than one JSON value")
	}
	return exactNames(js.Trim(raw), reflect.TypeOf(v))
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
		if err := exactNames(v, ft); err != nil {
			return err
		}
	}
	return nil
}

var fieldTypesOf sync.Map // of structs: reflect.Type to map[string]reflect.Type

// fieldTypes returns the types of a struct's fields by name.
func fieldTypes(t reflect.Type) map[string]reflect.Type {
	if m, ok := fieldTypesOf.Load(t); ok {
		return m.(map[string]reflect.Type)
	}
	m := make(map[string]reflect.Type)
	for _, f := range fields(t) {
		m[f.name] = f.Type
	}
	fieldTypesOf.Store(t, m)
	return m
}
