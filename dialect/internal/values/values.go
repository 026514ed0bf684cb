// Package values converts text to JSON values: text of a known type, XML elements, YAML, and strings that arrive in
// pieces.
package values

import (
	"encoding/json"
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/chars"
	"github.com/toolpost/toolpost/internal/jsonfix"
	"github.com/toolpost/toolpost/schema"
)

// MayBegin reports whether raw may be the beginning of a value of one of the types other than a string.
func MayBegin(t schema.Types, raw []byte) bool {
	switch c := raw[0]; {
	case c == '{':
		return t&schema.Object != 0
	case c == '[':
		return t&schema.Array != 0
	case c == '-' || c >= '0' && c <= '9':
		return t&(schema.Number|schema.Integer) != 0
	case c == 't' || c == 'f':
		return t&schema.Boolean != 0 && (chars.HasOverlap(raw, "true") || chars.HasOverlap(raw, "false"))
	case c == 'n':
		return t&schema.Null != 0 && chars.HasOverlap(raw, "null")
	}
	return false
}

// Typed converts text to one of types. In addition to schema.Types.Typed, it repairs lists and objects if no other type
// fits.
func Typed(t schema.Types, text string) json.RawMessage {
	v, ok := t.Typed(text)
	if ok || t&(schema.Object|schema.Array) == 0 {
		return v
	}
	c := strings.TrimSpace(text)
	if inner, quoted := unquoted(c); quoted {
		text, c = inner, strings.TrimSpace(inner)
	}
	if c == "" || c[0] != '{' && c[0] != '[' {
		return v
	}
	var r jsonfix.Reader
	r.Feed(text)
	if !r.Done() && r.Close() != nil || r.Err() != nil {
		return v
	}
	return json.RawMessage(r.Value())
}

// unquoted returns the text of a JSON string that holds a list or an object.
func unquoted(text string) (inner string, ok bool) {
	if !strings.HasPrefix(text, `"`) || json.Unmarshal([]byte(text), &inner) != nil {
		return "", false
	}
	return inner, true
}
