package smallmodel

import (
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
	return slices.Concat([]byte(`{"enum":`), js.Marshal(texts), []byte("}"))
}
