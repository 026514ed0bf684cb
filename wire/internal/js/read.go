// Package js reads and writes JSON without reflection. Reading walks a text
// that [encoding/json.Valid] has accepted and returns slices of it, so that a
// decoder pays only for the fields it wants and keeps those it does not know.
package js

import (
	"bytes"
	"iter"
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
// A key with escapes is unquoted into a copy. What is not an object has none.
func Members(v []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if Kind(v) != '{' {
			return
		}
		i := space(v, 1)
		for i < len(v) && v[i] == '"' {
			end := skip(v, i)
			key := v[i:end]
			i = space(v, end)
			if i >= len(v) || v[i] != ':' {
				return
			}
			i = space(v, i+1)
			end = skip(v, i)
			if end <= i || !yield(plain(key), v[i:end]) {
				return
			}
			i = space(v, end)
			if i >= len(v) || v[i] != ',' {
				return
			}
			i = space(v, i+1)
		}
	}
}

// Elements walks the elements of an array; what is not an array has none.
func Elements(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if Kind(v) != '[' {
			return
		}
		i := space(v, 1)
		for i < len(v) && v[i] != ']' {
			end := skip(v, i)
			if end <= i || !yield(v[i:end]) {
				return
			}
			i = space(v, end)
			if i >= len(v) || v[i] != ',' {
				return
			}
			i = space(v, i+1)
		}
	}
}

// Get returns the value of a key of an object, and nil if there is none.
func Get(v []byte, key string) []byte {
	var found []byte
	for k, val := range Members(v) {
		if string(k) == key {
			found = val
		}
	}
	return found
}

// Trim removes the white space around a text.
func Trim(v []byte) []byte { return bytes.Trim(v, " \t\r\n") }

func space(v []byte, i int) int {
	for i < len(v) && (v[i] == ' ' || v[i] == '\n' || v[i] == '\t' || v[i] == '\r') {
		i++
	}
	return i
}

// skip returns where the value that starts at i ends.
func skip(v []byte, i int) int {
	if i >= len(v) {
		return i
	}
	switch v[i] {
	case '"':
		return skipString(v, i)
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

func skipString(v []byte, i int) int {
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

func skipNested(v []byte, i int) int {
	depth := 0
	for i < len(v) {
		switch v[i] {
		case '"':
			i = skipString(v, i)
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

// clean returns how many bytes of s are ASCII that stands for itself.
func clean(s []byte) int {
	for i, c := range s {
		if c == '\\' || c >= utf8.RuneSelf {
			return i
		}
	}
	return len(s)
}

var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

func appendEscape(dst, s []byte) (out, rest []byte) {
	if len(s) < 2 {
		return dst, nil
	}
	if c := escapes[s[1]]; c != 0 {
		return append(dst, c), s[2:]
	}
	r := hex4(s)
	if r < 0 {
		return dst, s[2:]
	}
	s = s[6:]
	if utf16.IsSurrogate(r) {
		pair := utf16.DecodeRune(r, hex4(s))
		if pair != utf8.RuneError {
			s = s[6:]
		}
		r = pair
	}
	return utf8.AppendRune(dst, r), s
}

// hex4 reads \uXXXX at the start of s, and returns -1 if it is not there.
func hex4(s []byte) rune {
	if len(s) < 6 || s[0] != '\\' || s[1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range s[2:6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

// Text returns the text of a quoted string, and "" for anything else.
func Text(v []byte) string {
	if Kind(v) != '"' || len(v) < 2 {
		return ""
	}
	if s := v[1 : len(v)-1]; clean(s) == len(s) {
		return string(s)
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
