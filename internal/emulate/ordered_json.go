package emulate

import (
	"encoding/json"
	"errors"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
)

// field is an entry of a JSON object.
type field struct {
	key   string
	value json.RawMessage
}

// object is a JSON object that keeps its order: hosts write the answer in the
// order of the schema.
type object []field

// readObject reads the entries of an object.
func readObject(raw json.RawMessage) (object, error) {
	raw = js.Trim(raw)
	if js.Kind(raw) != '{' || !json.Valid(raw) {
		return nil, errors.New("a schema must be a JSON object")
	}
	var out object
	for key, value := range js.Members(raw) {
		out = append(out, field{string(key), slices.Clip(value)}) // an append must not overwrite the following bytes
	}
	return out, nil
}

// get returns the value of a key, nil if there is none.
func (o object) get(key string) json.RawMessage {
	if i := o.index(key); i >= 0 {
		return o[i].value
	}
	return nil
}

func (o object) index(key string) int {
	return slices.IndexFunc(o, func(f field) bool { return f.key == key })
}

// has reports whether one of the keys is there.
func (o object) has(keys ...string) bool {
	return slices.ContainsFunc(o, func(f field) bool { return slices.Contains(keys, f.key) })
}

// raw writes the object.
func (o object) raw() json.RawMessage {
	b := []byte{'{'}
	for i, f := range o {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(append(b, js.Marshal(f.key)...), ':'), f.value...)
	}
	return append(b, '}')
}

// array writes a list of values.
func array(values []json.RawMessage) json.RawMessage {
	b := []byte{'['}
	for i, v := range values {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(b, v...)
	}
	return append(b, ']')
}

// quote returns s as a JSON string.
func quote(s string) string { return string(js.Marshal(s)) }
