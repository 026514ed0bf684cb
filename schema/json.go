package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The bounds of what is read. They are far above honest use: the largest
// schema of the public tool catalogues has 60 kB and 12 levels.
const (
	maxSchemaBytes = 1 << 20
	maxSchemaDepth = 128
	maxDepth       = 512 // of a value that is validated
	maxExponent    = 1000
)

// A reader walks JSON text once. It is strict where encoding/json is not:
// names must not repeat, depth is bounded, and numbers stay literals whose
// exponent is small enough for exact arithmetic.
type reader struct {
	text  string
	pos   int
	depth int
	max   int // depth allowed
}

var errEnd = errors.New("the JSON ends too early")

func (r *reader) fail(format string, args ...any) error {
	return fmt.Errorf("at byte %d: %s", r.pos, fmt.Sprintf(format, args...))
}

func (r *reader) space() {
	for r.pos < len(r.text) {
		switch r.text[r.pos] {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return
		}
	}
}

// peek skips white space and returns the next byte, 0 at the end.
func (r *reader) peek() byte {
	r.space()
	if r.pos < len(r.text) {
		return r.text[r.pos]
	}
	return 0
}

func (r *reader) literal(word string) error {
	if !strings.HasPrefix(r.text[r.pos:], word) {
		return r.fail("not a JSON value")
	}
	r.pos += len(word)
	return nil
}

// number returns the literal at the reader.
func (r *reader) number() (string, error) {
	n := numberLength(r.text[r.pos:])
	if n == 0 {
		return "", r.fail("not a JSON number")
	}
	lit := r.text[r.pos : r.pos+n]
	if !smallExponent(lit) {
		return "", r.fail("a number with an exponent beyond ±%d", maxExponent)
	}
	r.pos += n
	return lit, nil
}

// str returns the string at the reader, decoded.
func (r *reader) str() (string, error) {
	start := r.pos + 1
	for i := start; i < len(r.text); i++ {
		switch c := r.text[i]; {
		case c == '"':
			r.pos = i + 1
			return r.text[start:i], nil
		case c == '\\' || c >= utf8.RuneSelf:
			return r.slowStr(start, i)
		case c < ' ':
			r.pos = i
			return "", r.fail("a control character inside a string")
		}
	}
	return "", errEnd
}

// slowStr finds the end of a string that has escapes or is not ASCII and lets
// encoding/json decode it, which replaces invalid UTF-8 by U+FFFD.
func (r *reader) slowStr(start, i int) (string, error) {
	plain := true
	for ; i < len(r.text); i++ {
		switch r.text[i] {
		case '\\':
			plain = false
			i++
		case '"':
			body := r.text[start:i]
			if plain && utf8.ValidString(body) && !hasControl(body) {
				r.pos = i + 1
				return body, nil
			}
			var s string
			if err := json.Unmarshal([]byte(r.text[start-1:i+1]), &s); err != nil {
				return "", r.fail("not a JSON string")
			}
			r.pos = i + 1
			return s, nil
		}
	}
	return "", errEnd
}

func hasControl(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' {
			return true
		}
	}
	return false
}

// list calls item for each element of the array at the reader.
func (r *reader) list(item func() error) error {
	return r.nested(']', "array", item)
}

// members calls member with each name of the object at the reader; member
// reads the value.
func (r *reader) members(member func(name string) error) error {
	return r.nested('}', "object", func() error {
		switch r.peek() {
		case '"':
		case 0:
			return errEnd
		default:
			return r.fail("an object needs a name in double quotes here")
		}
		name, err := r.str()
		if err != nil {
			return err
		}
		if r.peek() != ':' {
			return r.fail("no colon after a name")
		}
		r.pos++
		return member(name)
	})
}

// nested reads the comma-separated things up to the closer.
func (r *reader) nested(closer byte, what string, one func() error) error {
	if r.depth++; r.depth > r.max {
		return r.fail("nested deeper than %d levels", r.max)
	}
	defer func() { r.depth-- }()
	r.pos++
	if r.peek() == closer {
		r.pos++
		return nil
	}
	for {
		if err := one(); err != nil {
			return err
		}
		switch r.peek() {
		case closer:
			r.pos++
			return nil
		case ',':
			r.pos++
		case 0:
			return errEnd
		default:
			return r.fail("no comma or end of the %s here", what)
		}
	}
}

// end checks that nothing but white space is left.
func (r *reader) end() error {
	if r.peek() != 0 || r.pos < len(r.text) {
		return r.fail("more text after the JSON value")
	}
	return nil
}

func duplicate(r *reader, name string) error {
	return r.fail("the name %s occurs twice in one object", clip(strconv.Quote(name), 60))
}

// value reads any value into what encoding/json would give with UseNumber.
func (r *reader) value() (any, error) {
	switch c := r.peek(); c {
	case '{':
		m := make(map[string]any)
		err := r.members(func(name string) error {
			if _, twice := m[name]; twice {
				return duplicate(r, name)
			}
			v, err := r.value()
			m[name] = v
			return err
		})
		return m, err
	case '[':
		list := []any{}
		err := r.list(func() error {
			v, err := r.value()
			list = append(list, v)
			return err
		})
		return list, err
	case '"':
		return r.str()
	case 't':
		return true, r.literal("true")
	case 'f':
		return false, r.literal("false")
	case 'n':
		return nil, r.literal("null")
	case 0:
		return nil, errEnd
	default:
		lit, err := r.number()
		return json.Number(lit), err
	}
}

// decode reads a whole JSON text into plain Go values; numbers are
// json.Number.
func decode(text string, depth int) (any, error) {
	r := reader{text: text, max: depth}
	v, err := r.value()
	if err == nil {
		err = r.end()
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
	return s != "" && numberLength(s) == len(s) && smallExponent(s)
}

// numberLength returns the length of the JSON number at the start of s.
func numberLength(s string) int {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	whole := digits(s[i:])
	if whole == 0 || whole > 1 && s[i] == '0' {
		return 0
	}
	i += whole
	if i < len(s) && s[i] == '.' {
		n := digits(s[i+1:])
		if n == 0 {
			return 0
		}
		i += 1 + n
	}
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		j := i + 1
		if j < len(s) && (s[j] == '+' || s[j] == '-') {
			j++
		}
		n := digits(s[j:])
		if n == 0 {
			return 0
		}
		i = j + n
	}
	return i
}

func digits(s string) int {
	i := 0
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i
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

// quote returns s as a JSON string without HTML escapes. Invalid UTF-8 becomes
// U+FFFD.
func quote(s string) json.RawMessage {
	plain := utf8.ValidString(s)
	for i := 0; plain && i < len(s); i++ {
		plain = s[i] >= ' ' && s[i] != '"' && s[i] != '\\' && s[i] != 0x7f
	}
	if plain {
		return json.RawMessage(`"` + s + `"`)
	}
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(s) != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	return json.RawMessage(strings.TrimSuffix(b.String(), "\n"))
}

// clip cuts s to at most n bytes on a rune boundary and marks the cut.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
