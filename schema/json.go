package schema

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/clip"
	"github.com/toolpost/toolpost/internal/js"
)

// The bounds of a schema. They are far above honest use: the largest schema of the
// public tool catalogues has 60 kB and 12 levels.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 128
	maxDepth       = 512 // of a value that is validated
	maxExponent    = 1000
	maxDigits      = 1000 // of a number: turning digits into a number takes time that grows with their square
)

// A reader walks JSON text once. It is strict where encoding/json is not:
// names must not repeat, depth is bounded, and numbers stay literals with few
// enough digits and a small enough exponent for exact arithmetic.
type reader struct{ js.Reader[string] }

func newReader(text string, depth int) *reader {
	return &reader{js.Reader[string]{Text: text, Max: depth}}
}

// number returns the literal at the reader.
func (r *reader) number() (string, error) {
	lit, integer, err := r.Number()
	switch {
	case err != nil:
	case len(lit) > maxDigits:
		return "", r.Fail(fmt.Sprintf("a number of more than %d digits", maxDigits))
	case !integer && !smallExponent(lit):
		return "", r.Fail(fmt.Sprintf("a number with an exponent beyond ±%d", maxExponent))
	}
	return lit, err
}

// str returns the string at the reader, decoded. Invalid UTF-8 becomes U+FFFD,
// as encoding/json has it.
func (r *reader) str() (string, error) {
	quoted, plain, err := r.String()
	if err != nil {
		return "", err
	}
	return decoded(quoted, plain), nil
}

// name returns the name of a member; its value follows.
func (r *reader) name() (string, error) {
	quoted, plain, err := r.Name()
	if err != nil {
		return "", err
	}
	return decoded(quoted, plain), nil
}

func decoded(quoted string, plain bool) string {
	if body := quoted[1 : len(quoted)-1]; plain && utf8.ValidString(body) {
		return body
	}
	return js.Unquote(quoted)
}

func duplicate(r *reader, name string) error {
	return r.Fail(fmt.Sprintf("the name %s occurs twice in one object", clip.Bytes(strconv.Quote(name), 60)))
}

// value reads any value into what encoding/json would give with UseNumber.
func (r *reader) value() (any, error) {
	switch r.Peek() {
	case '{':
		return r.object()
	case '[':
		return r.array()
	case '"':
		return r.str()
	case 't', 'f':
		word, err := r.Word()
		return word == "true", err
	case 'n':
		_, err := r.Word()
		return nil, err
	}
	lit, err := r.number()
	return json.Number(lit), err
}

func (r *reader) object() (any, error) {
	m := make(map[string]any)
	if err := r.Enter(); err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		more, err := r.Next('}', first)
		if !more {
			return m, err
		}
		name, err := r.name()
		if err != nil {
			return nil, err
		}
		if _, twice := m[name]; twice {
			return nil, duplicate(r, name)
		}
		if m[name], err = r.value(); err != nil {
			return nil, err
		}
	}
}

func (r *reader) array() (any, error) {
	list := []any{}
	if err := r.Enter(); err != nil {
		return nil, err
	}
	for first := true; ; first = false {
		more, err := r.Next(']', first)
		if !more {
			return list, err
		}
		v, err := r.value()
		if err != nil {
			return nil, err
		}
		list = append(list, v)
	}
}

// decode reads a whole JSON text into plain Go values; numbers are
// json.Number.
func decode(text string, depth int) (any, error) {
	r := newReader(text, depth)
	v, err := r.value()
	if err == nil {
		err = r.End()
	}
	if err != nil {
		return nil, err
	}
	return v, nil
}

// wellFormed reports whether text is one JSON value within the bounds.
func wellFormed(text string) bool {
	_, err := decode(text, maxDepth)
	return err == nil
}

// isNumber reports whether s is a JSON number that can be computed with.
func isNumber(s string) bool {
	n, _ := js.NumberLength(s)
	return s != "" && n == len(s) && len(s) <= maxDigits && smallExponent(s)
}

// smallExponent reports whether the number can be an exact fraction without
// filling the memory: 1e999999999 cannot.
func smallExponent(lit string) bool {
	at := strings.IndexAny(lit, "eE")
	if at < 0 {
		return true
	}
	n, err := strconv.Atoi(lit[at+1:])
	return err == nil && -maxExponent <= n && n <= maxExponent
}

// appendQuoted appends s as a JSON string without HTML escapes. Invalid UTF-8
// becomes U+FFFD.
func appendQuoted(b []byte, s string) []byte {
	plain := utf8.ValidString(s)
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] != 0x7f
	}
	if plain {
		return append(append(append(b, '"'), s...), '"')
	}
	var out strings.Builder
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // a string always encodes
		return append(b, `""`...)
	}
	return append(b, strings.TrimSuffix(out.String(), "\n")...)
}

// quote returns s as a JSON string; see appendQuoted.
func quote(s string) json.RawMessage { return appendQuoted(make([]byte, 0, len(s)+2), s) }
