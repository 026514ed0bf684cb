package js

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Writer writes JSON. It adds a comma before a key or element unless the last byte is a bracket, a colon or white
// space. The
// zero value is ready. The first error sticks; check Err when done.
type Writer struct {
	Buf []byte
	Err error
}

func (w *Writer) sep() {
	if n := len(w.Buf); n > 0 {
		switch w.Buf[n-1] {
		case '{', '[', ':', ' ', '\n':
		default:
			w.Buf = append(w.Buf, ',')
		}
	}
}

// Object opens an object and returns where it starts.
func (w *Writer) Object() int {
	w.sep()
	w.Buf = append(w.Buf, '{')
	return len(w.Buf) - 1
}

// End closes an object.
func (w *Writer) End() { w.Buf = append(w.Buf, '}') }

// Array opens an array.
func (w *Writer) Array() {
	w.sep()
	w.Buf = append(w.Buf, '[')
}

// EndArray closes an array.
func (w *Writer) EndArray() { w.Buf = append(w.Buf, ']') }

// Key writes a key of ours, which needs no escapes.
func (w *Writer) Key(k string) {
	w.sep()
	w.Buf = append(append(append(w.Buf, '"'), k...), '"', ':')
}

// AnyKey writes a key that came from outside.
func (w *Writer) AnyKey(k string) {
	w.sep()
	w.Buf = append(AppendQuoted(w.Buf, k), ':')
}

// Text writes a string as a value.
func (w *Writer) Text(s string) {
	w.sep()
	w.Buf = AppendQuoted(w.Buf, s)
}

// Raw writes a value that is JSON already, on one line. An empty or broken
// value is an error.
func (w *Writer) Raw(v []byte) {
	w.sep()
	if !Valid(v) {
		if w.Err == nil {
			w.Err = errors.New("a value that should be JSON is not: " + strconv.QuoteToASCII(head(v)))
		}
		v = []byte("null")
	}
	v = Trim(v)
	if bytes.ContainsAny(v, "\r\n") {
		var b bytes.Buffer
		if json.Compact(&b, v) == nil {
			v = b.Bytes()
		}
	}
	w.Buf = append(w.Buf, v...)
}

func head(v []byte) string { return string(v[:min(len(v), 60)]) }

// Int writes an integer as a value.
func (w *Writer) Int(n int64) {
	w.sep()
	w.Buf = strconv.AppendInt(w.Buf, n, 10)
}

// Float writes a number as a value. NaN and infinities are errors, because JSON cannot express them.
func (w *Writer) Float(f float64) {
	w.sep()
	if math.IsNaN(f) || math.IsInf(f, 0) {
		if w.Err == nil {
			w.Err = errors.New("JSON has no word for " + strconv.FormatFloat(f, 'g', -1, 64))
		}
		f = 0
	}
	w.Buf = strconv.AppendFloat(w.Buf, f, 'f', -1, 64)
}

// Bool writes true or false as a value.
func (w *Writer) Bool(b bool) {
	w.sep()
	w.Buf = strconv.AppendBool(w.Buf, b)
}

// Null writes null as a value.
func (w *Writer) Null() {
	w.sep()
	w.Buf = append(w.Buf, "null"...)
}

// ObjectField begins a member that is an object, and returns what Object does.
func (w *Writer) ObjectField(key string) (start int) { w.Key(key); return w.Object() }

// ArrayField begins a member that is a list.
func (w *Writer) ArrayField(key string) { w.Key(key); w.Array() }

// StringField writes a member.
func (w *Writer) StringField(key, s string) { w.Key(key); w.Text(s) }

// IntField writes a member.
func (w *Writer) IntField(key string, n int) { w.Key(key); w.Int(int64(n)) }

// BoolField writes a member.
func (w *Writer) BoolField(key string, b bool) { w.Key(key); w.Bool(b) }

// RawField writes a member.
func (w *Writer) RawField(key string, v []byte) { w.Key(key); w.Raw(v) }

const hexDigits = "0123456789abcdef"

// AppendQuoted appends s as a JSON string. Bytes that are not UTF-8 become
// U+FFFD; U+2028 and U+2029 are escaped for readers that take them as line
// ends.
func AppendQuoted[T string | []byte](dst []byte, s T) []byte {
	dst = append(append(dst, '"'), s...)
	from := len(dst) - len(s)
	start := asItIs(dst[from:])
	if start == len(s) { // most strings
		return append(dst, '"')
	}
	dst = dst[:from+start]
	for i := start; i < len(s); {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf {
			i++
			continue
		}
		if c < utf8.RuneSelf {
			dst = appendControl(append(dst, s[start:i]...), c)
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(string(s[i:min(i+utf8.UTFMax, len(s))]))
		if r == utf8.RuneError && size == 1 {
			dst = append(append(dst, s[start:i]...), "\ufffd"...)
			start = i + 1
		} else if r == '\u2028' || r == '\u2029' {
			dst = append(append(dst, s[start:i]...), `\u202`...)
			dst = append(dst, hexDigits[r&0xf])
			start = i + size
		}
		i += size
	}
	dst = append(dst, s[start:]...)
	return append(dst, '"')
}

// asItIs returns how many bytes at the start of p are ASCII that needs no escape in a string. It looks at eight bytes at once, as verbatim does.
func asItIs(p []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i <= len(p)-8; i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		if hit := (w | (w - ones*' ') | ((w ^ ones*'"') - ones) | ((w ^ ones*'\\') - ones)) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(p) && standsForItself[p[i]] {
		i++
	}
	return i
}

// standsForItself are the ASCII bytes that need no escape in a string.
var standsForItself = func() (set [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		set[c] = c != '"' && c != '\\'
	}
	return set
}()

func appendControl(dst []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\n':
		return append(dst, '\\', 'n')
	case '\r':
		return append(dst, '\\', 'r')
	case '\t':
		return append(dst, '\\', 't')
	}
	return append(dst, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&0xf])
}

// Keys returns the keys of an object in order. An empty object, the usual one, costs no allocation.
func Keys[V any](object map[string]V) []string {
	if len(object) == 0 {
		return nil
	}
	return slices.Sorted(maps.Keys(object))
}

// Marshal returns the JSON of a value that has one, without the escapes that only HTML needs.
func Marshal(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return json.RawMessage("null")
	}
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'})
}

// Decode returns a value of type T, and the zero value if raw has another type.
func Decode[T any](raw json.RawMessage) T {
	var v T
	if len(raw) > 0 && json.Unmarshal(raw, &v) != nil {
		var zero T
		return zero
	}
	return v
}
