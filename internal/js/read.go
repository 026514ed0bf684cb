// Package js reads and writes JSON without reflection. It is the only walker of
// JSON in this module; package jsonfix reads broken JSON.
//
// There are three ways to read. [Members] and [Elements] walk a text that
// [encoding/json.Valid] has accepted and return slices of it. A decoder pays only
// for the fields it wants and keeps unknown ones. A [Reader] walks and checks an
// unchecked text. A [Tracker] follows a text that comes in pieces.
package js

import (
	"bytes"
	"encoding/binary"
	"iter"
	"math/bits"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"
)

// Kind is the first byte of a value, with '0' for every number: one of
// { [ " t f n 0, and 0 for an empty text.
func Kind(v []byte) byte {
	if len(v) == 0 {
		return 0
	}
	if c := v[0]; c != '-' && (c < '0' || c > '9') {
		return c
	}
	return '0'
}

// Members walks the members of an object: key and value, both slices of v.
// A key with escapes is unquoted into a copy. Other values have no members.
func Members(v []byte) iter.Seq2[[]byte, []byte] { return (*Ends)(nil).Members(v) }

// Elements walks the elements of an array. Other values have no elements.
func Elements(v []byte) iter.Seq[[]byte] { return (*Ends)(nil).Elements(v) }

// Get returns the value of a key of an object, and nil if there is none.
func Get(v []byte, key string) []byte { return (*Ends)(nil).Get(v, key) }

// Trim removes the white space around a text.
func Trim(v []byte) []byte { return bytes.Trim(v, " \t\r\n") }

func space(v []byte, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\t' || v[i] == '\r') {
		i++
	}
	return i
}

// EndOfValue returns where the value that starts at i ends.
func EndOfValue(v []byte, i int) int { return skip(v, i) }

// skip returns where the value that starts at i ends.
func skip(v []byte, i int) int {
	if i >= len(v) {
		return i
	}
	switch v[i] {
	case '"':
		return EndOfString(v, i)
	case '{', '[':
		return skipNested(v, i)
	}
	for i < len(v) {
		switch v[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r':
			return i
		}
		i++
	}
	return i
}

// EndOfString returns where the string that starts at i ends, quotes included. A
// string that does not end, ends with the text.
func EndOfString(v []byte, i int) int {
	for i++; i < len(v); i++ {
		n := bytes.IndexByte(v[i:], '"')
		if n < 0 {
			return len(v)
		}
		// An even number of backslashes before the quote leaves it a quote.
		end := i + n
		slashes := 0
		for end-1-slashes >= i && v[end-1-slashes] == '\\' {
			slashes++
		}
		if slashes%2 == 0 {
			return end + 1
		}
		i = end
	}
	return len(v)
}

// Crowded reports whether valid JSON holds more than most values, nested ones
// and members of objects included.
func Crowded(v []byte, most int) bool {
	if len(v) <= most { // each value takes a byte
		return false
	}
	n := 1
	for i := 0; i < len(v) && n <= most; i++ {
		switch v[i] {
		case '"':
			i = EndOfString(v, i) - 1
		case ',', '{', '[':
			n++
		}
	}
	return n > most
}

func skipNested(v []byte, i int) int {
	depth := 0
	for i < len(v) {
		switch v[i] {
		case '"':
			i = EndOfString(v, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
			if depth == 0 {
				return i + 1
			}
		}
		i++
	}
	return i
}

// plain returns the text of a quoted key.
func plain(quoted []byte) []byte {
	if len(quoted) < 2 {
		return nil
	}
	if s := quoted[1 : len(quoted)-1]; clean(s) == len(s) {
		return s
	}
	return AppendText(nil, quoted)
}

// AppendText appends the text of a quoted string to dst. Bytes that are not
// UTF-8 and lone surrogates become U+FFFD, as encoding/json has it.
func AppendText(dst, quoted []byte) []byte {
	if len(quoted) < 2 || quoted[0] != '"' {
		return dst
	}
	s := quoted[1 : len(quoted)-1]
	for len(s) > 0 {
		n := clean(s)
		dst = append(dst, s[:n]...)
		s = s[n:]
		if len(s) == 0 {
			break
		}
		if s[0] != '\\' {
			r, size := utf8.DecodeRune(s)
			dst = utf8.AppendRune(dst, r)
			s = s[size:]
			continue
		}
		dst, s = appendEscape(dst, s)
	}
	return dst
}

// clean returns the length of the ASCII without escapes at the start of s. It looks at eight bytes at once, like verbatim.
func clean(s []byte) int {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i <= len(s)-8; i += 8 {
		w := binary.LittleEndian.Uint64(s[i:])
		slash := w ^ ones*'\\'
		if hit := (w | (slash-ones)&^slash) & highs; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(s) && s[i] != '\\' && s[i] < utf8.RuneSelf {
		i++
	}
	return i
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func appendEscape(dst, s []byte) (out, rest []byte) {
	if escapeLength(s) == 0 {
		return dst, s[min(2, len(s)):]
	}
	r, n := unescape(s)
	if n < 0 {
		n = -n
	}
	return utf8.AppendRune(dst, r), s[n:]
}

// unescape reads the escape at the start of s, which is one, and returns its
// length: below 0 if it is half of a surrogate pair, which means U+FFFD.
func unescape[T []byte | string](s T) (rune, int) {
	if c := escapes[s[1]]; c != 0 {
		return rune(c), 2
	}
	r := hexDigits4(s[2], s[3], s[4], s[5])
	if !utf16.IsSurrogate(r) {
		return r, 6
	}
	if len(s) >= 12 && s[6] == '\\' && s[7] == 'u' {
		if pair := utf16.DecodeRune(r, hexDigits4(s[8], s[9], s[10], s[11])); pair != utf8.RuneError {
			return pair, 12
		}
	}
	return utf8.RuneError, -6
}

// hexDigits4 returns the number that four hexadecimal digits write, or -1.
func hexDigits4(a, b, c, d byte) rune {
	r := rune(hexValues[a])<<12 | rune(hexValues[b])<<8 | rune(hexValues[c])<<4 | rune(hexValues[d])
	if hexValues[a]|hexValues[b]|hexValues[c]|hexValues[d] < 0 {
		return -1
	}
	return r
}

// hexValues are the values of hexadecimal digits, -1 for any other byte.
var hexValues = func() (v [256]int32) {
	for c := range v {
		v[c] = -1
	}
	for i := range 10 {
		v['0'+i] = int32(i)
	}
	for i := range 6 {
		v['a'+i], v['A'+i] = int32(10+i), int32(10+i)
	}
	return v
}()

// Text returns the text of a quoted string, and "" for anything else.
func Text(v []byte) string {
	if Kind(v) != '"' || len(v) < 2 {
		return ""
	}
	if s := v[1 : len(v)-1]; clean(s) == len(s) {
		return string(s)
	}
	var short [128]byte // as the pieces of a stream are; a longer one would be held on the stack of each stream
	if len(v) <= len(short) {
		return string(AppendText(short[:0], v))
	}
	return string(AppendText(make([]byte, 0, len(v)), v))
}

// Is reports whether v is the string s, written without escapes.
func Is(v []byte, s string) bool {
	return len(v) == len(s)+2 && v[0] == '"' && string(v[1:len(v)-1]) == s
}

// Int returns the value of an integer, also where it is written as 3.0 or 3e2.
func Int(v []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(v), 10, 64)
	if err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(string(v), 64)
	if err != nil || f != float64(int64(f)) || f >= 1<<53 || f <= -1<<53 {
		return 0, false
	}
	return int64(f), true
}

// Path returns where in the text the byte at offset is, like
// messages[2].content[0].
func Path(v []byte, offset int) string {
	return string(appendPath(nil, v, space(v, 0), offset))
}

func appendPath(dst, v []byte, base, offset int) []byte {
	v = v[min(base, len(v)):]
	offset -= base
	within := func(val []byte) (start int, ok bool) {
		start = cap(v) - cap(val)
		return start, start <= offset && offset < start+len(val)
	}
	for k, val := range Members(v) {
		if start, ok := within(val); ok {
			if len(dst) > 0 {
				dst = append(dst, '.')
			}
			return appendPath(append(dst, k...), v, start, offset)
		}
	}
	i := 0
	for val := range Elements(v) {
		if start, ok := within(val); ok {
			dst = append(strconv.AppendInt(append(dst, '['), int64(i), 10), ']')
			return appendPath(dst, v, start, offset)
		}
		i++
	}
	return dst
}
