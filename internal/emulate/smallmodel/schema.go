package smallmodel

import (
	"bytes"
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/internal/js"
)

// keywords are the members of a JSON object: the keywords of a schema, or the
// properties of an object by name.
type keywords map[string]json.RawMessage

// keywordsOf reads an object. It returns nil if raw is something else.
func keywordsOf(raw json.RawMessage) keywords {
	raw = js.Trim(raw)
	if js.Kind(raw) != '{' || !json.Valid(raw) {
		return nil
	}
	out := keywords{}
	for key, value := range js.Members(raw) {
		if _, repeated := out[string(key)]; !repeated {
			out[string(key)] = value
		}
	}
	return out
}

// has reports whether one of the keywords is present.
func (k keywords) has(names ...string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return k[name] != nil })
}

// enum returns the schema of a string that is one of texts.
func enum(texts []string) json.RawMessage {
	return slices.Concat([]byte(`{"enum":`), marshal(texts), []byte("}"))
}

// marshal writes a value that always has a JSON form, without the escapes that
// only HTML needs.
func marshal(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// decode reads a value of type T. It returns the zero value if raw has another type.
func decode[T any](raw json.RawMessage) T {
	var v T
	if len(raw) > 0 && json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero
	}
	return v
}
