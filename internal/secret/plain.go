package secret

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// leastWrapped is the length from which on a secret is recognised across the end
// of a line: the ends of two lines may make a shorter one by chance.
const leastWrapped = 16

// plain is text after decoding: escapes of addresses, HTML, JSON and programs
// are undone, and lines are joined. at holds the offset in the text of each
// byte; it is nil unless requested.
type plain struct {
	bytes []byte
	at    []int
}

// differs reports whether plain text may differ from text.
func differs(text []byte) bool { return bytes.ContainsAny(text, "%&\\\n") }

// special are the bytes that may begin an escape or a line end.
var special = [256]bool{'\n': true, '\r': true, '=': true, '%': true, '&': true, '\\': true}

// plainOf undoes the escapes of text. It takes time in proportion to its length.
func plainOf(text []byte, place bool) plain {
	p := plain{bytes: make([]byte, 0, len(text))}
	for i := 0; i < len(text); {
		from := i
		for i < len(text) && !special[text[i]] {
			i++
		}
		p.bytes = append(p.bytes, text[from:i]...)
		for ; place && from < i; from++ {
			p.at = append(p.at, from)
		}
		if i == len(text) {
			break
		}
		r, n := unit(text, i)
		switch {
		case r == lineEnd:
			i = skipBlanks(text, i+n)
			continue
		case n == 1:
			p.bytes = append(p.bytes, text[i])
		case r < utf8.RuneSelf, r < 0x100 && (text[i] == '%' || text[i+n-3] == 'x'): // a byte; the others are characters
			p.bytes = append(p.bytes, byte(r))
		default:
			p.bytes = utf8.AppendRune(p.bytes, r)
		}
		for place && len(p.at) < len(p.bytes) {
			p.at = append(p.at, i)
		}
		i += n
	}
	return p
}

// lineEnd is the result of unit for the end of a line.
const lineEnd rune = -1

// unit returns the character at i and the length of its spelling. Backslashes count as one
// however many there are: text may be quoted more than once.
func unit(text []byte, i int) (r rune, n int) {
	switch b := text[i]; b {
	case '\n', '\r':
		return lineEnd, 1
	case '=': // a soft end of a line in mail
		if i+1 < len(text) && (text[i+1] == '\n' || text[i+1] == '\r') {
			return lineEnd, 2
		}
	case '%':
		if v, ok := number(text[i+1:], 16, 2); ok {
			return v, 3
		}
	case '&':
		return entity(text[i:])
	case '\\':
		return escape(text, i)
	}
	return rune(text[i]), 1
}

// escape reads an escape of a program or of JSON.
func escape(text []byte, i int) (rune, int) {
	n := 1
	for i+n < len(text) && text[i+n] == '\\' && n < 16 {
		n++
	}
	if i+n == len(text) {
		return '\\', 1
	}
	switch b := text[i+n]; b {
	case 'n', 'r', '\n', '\r':
		return lineEnd, n + 1
	case '/', '"', '\'', '&':
		return rune(b), n + 1
	case 'x':
		if v, ok := number(text[i+n+1:], 16, 2); ok {
			return v, n + 3
		}
	case 'u', 'U':
		return character(text, i, n)
	case '0', '1', '2', '3':
		if v, ok := number(text[i+n:], 8, 3); ok && v < utf8.RuneSelf {
			return v, n + 3
		}
	}
	return '\\', 1
}

// character reads \u0041, \u{41} or \U00000041 after n backslashes.
func character(text []byte, i, n int) (rune, int) {
	digits, size := text[i+n+1:], 4
	switch {
	case text[i+n] == 'U':
		size = 8
	case len(digits) > 0 && digits[0] == '{':
		digits = digits[1:]
		if size = bytes.IndexByte(digits[:min(len(digits), 8)], '}'); size < 1 {
			return '\\', 1
		}
		if v, ok := number(digits, 16, size); ok {
			return v, n + size + 3
		}
		return '\\', 1
	}
	if v, ok := number(digits, 16, size); ok {
		return v, n + 1 + size
	}
	return '\\', 1
}

// entities are the characters that HTML must escape.
var entities = map[string]rune{"amp": '&', "lt": '<', "gt": '>', "quot": '"', "apos": '\''}

// entity reads an entity of HTML at the beginning of text.
func entity(text []byte) (rune, int) {
	end := bytes.IndexByte(text[:min(len(text), 12)], ';')
	if end < 0 {
		return '&', 1
	}
	name := text[1:end]
	if r, ok := entities[string(name)]; ok {
		return r, end + 1
	}
	if len(name) < 2 || name[0] != '#' {
		return '&', 1
	}
	digits, base := name[1:], rune(10)
	if digits[0]|0x20 == 'x' {
		digits, base = digits[1:], 16
	}
	if v, ok := number(digits, base, len(digits)); ok && len(digits) > 0 {
		return v, end + 1
	}
	return '&', 1
}

// number reads exactly n digits.
func number(text []byte, base rune, n int) (v rune, ok bool) {
	if len(text) < n || n > 8 {
		return 0, false
	}
	for _, b := range text[:n] {
		d := strings.IndexByte("0123456789abcdef", lower(b))
		if d < 0 || rune(d) >= base || v > utf8.MaxRune {
			return 0, false
		}
		v = v*base + rune(d)
	}
	return v, true
}

func lower(b byte) byte {
	if b >= 'A' && b <= 'Z' {
		return b | 0x20
	}
	return b
}

// skipBlanks passes over the ends of lines and their indentation.
func skipBlanks(text []byte, i int) int {
	for i < len(text) {
		if b := text[i]; b == ' ' || b == '\t' {
			i++
			continue
		}
		if bytes.HasPrefix(text[i:], []byte(`\t`)) {
			i += 2
			continue
		}
		r, n := unit(text, i)
		if r != lineEnd {
			break
		}
		i += n
	}
	return i
}

// inPlain reports whether a secret is seen in plain text that is not seen in text.
func (s *Set) inPlain(text []byte) bool {
	if !differs(text) {
		return false
	}
	_, ok := s.next(plainOf(text, false).bytes, 0)
	return ok
}

// hidden returns the positions in text of secrets that are only visible in
// plain text, in order.
func (s *Set) hidden(text []byte) []stretch {
	if !s.inPlain(text) {
		return nil
	}
	p := plainOf(text, true)
	var found []stretch
	for _, seen := range s.all(p.bytes) {
		last := p.at[seen.to-1]
		_, n := unit(text, last)
		if part := (stretch{p.at[seen.from], last + n}); seen.to-seen.from >= leastWrapped || !wrapped(text, part) {
			found = append(found, part)
		}
	}
	return found
}

// wrapped reports whether a line ends within a part of text.
func wrapped(text []byte, part stretch) bool {
	for i := part.from; i < part.to; {
		r, n := unit(text, i)
		if r == lineEnd {
			return true
		}
		i += n
	}
	return false
}

// leastCut is the length from which on the end of a text counts as the beginning of a secret: shorter matches are
// coincidences.
const leastCut = 3

// longestEscape limits the escape of one character, in bytes.
const longestEscape = 16

// Uncut returns a truncated text without a possible beginning of a secret at its end, in any spelling that Redact
// finds. The truncation may also have split the escape of a character.
func (s *Set) Uncut(text []byte) []byte {
	if s == nil || len(s.forms) == 0 {
		return text
	}
	least := s.uncut(text)
	for i := max(0, len(text)-longestEscape); i < len(text); i++ {
		if special[text[i]] {
			if n := s.uncut(text[:i]); n < i {
				least = min(least, n)
			}
		}
	}
	return text[:least]
}

// uncut is the length of text without the beginning of a secret at its end.
func (s *Set) uncut(text []byte) int {
	least := len(text)
	if n := s.Held(text); n >= leastCut {
		least -= n
	}
	p := plainOf(text, true)
	if n := s.Held(p.bytes); n >= leastCut {
		least = min(least, p.at[len(p.at)-n])
	}
	return least
}
