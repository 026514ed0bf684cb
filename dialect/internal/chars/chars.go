// Package chars has the classes of bytes and characters that readers of dialects tell
// apart: letters, white space, names, and the words that are made of them.
package chars

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/internal/jsonfix"
)

func IsLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

func BoolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func IsQuote(c byte) bool { return c == '"' || c == '\'' }

func IsSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// BytesWhere returns the bytes that fit.
func BytesWhere(fits func(c byte) bool) string {
	var list []byte
	for c := range 256 {
		if fits(byte(c)) {
			list = append(list, byte(c))
		}
	}
	return string(list)
}

// LastLine returns what p holds after its last newline.
func LastLine(p []byte) []byte {
	if bytes.IndexByte(p, '\n') < 0 { // faster than from after
		return p
	}
	return p[bytes.LastIndexByte(p, '\n')+1:]
}

// IsPlainTag reports whether a marker is a tag that ordinary markup may hold:
// its name is only letters.
func IsPlainTag(marker string) bool {
	name := strings.TrimPrefix(strings.Trim(marker, "<>"), "/")
	for i := range len(name) {
		if !IsLetter(name[i]) {
			return false
		}
	}
	return marker[0] == '<'
}

// ByteSet is a set of bytes.
type ByteSet [4]uint64

func (s *ByteSet) Add(bytes string) {
	for i := range len(bytes) {
		s[bytes[i]>>6] |= 1 << (bytes[i] & 63)
	}
}

func ByteSetOf(fits func(c byte) bool) (s ByteSet) {
	s.Add(BytesWhere(fits))
	return s
}

func (s *ByteSet) Has(c byte) bool { return s[c>>6]&(1<<(c&63)) != 0 }

func IsNameStart(c byte) bool { return IsLetter(c) || c == '_' || c >= 0x80 }

func IsNameByte(c byte) bool {
	return IsNameStart(c) || c >= '0' && c <= '9' || c == '.' || c == '-' || c == ':' || c == '/'
}

func IsCounter(s string) bool { return strings.Trim(s, "0123456789") == "" }

// IsNameRune reports whether r may be part of a name, or escapes a part of one.
func IsNameRune(r rune) bool { return r < utf8.RuneSelf && IsNameByte(byte(r)) || r == '\\' }

func IsCapital(r rune) bool { return r >= 'A' && r <= 'Z' }

// IsWordByte reports whether c may be part of a name in the answer.
func IsWordByte(c byte) bool { return IsNameByte(c) && c < 0x80 }

// IsJoint reports whether c may join a name to a word before it.
func IsJoint(c byte) bool { return c == '.' || c == ':' || c == '/' }

// IsSeparator reports whether c stands between the words of a name. All three
// count as one.
func IsSeparator(c byte) bool { return c == '_' || c == '-' || c == '.' }

// WordLength returns the length of the name at the beginning of p, with the
// backslashes that Markdown puts into it.
func WordLength(p []byte) int {
	n := 0
	for n < len(p) && (IsWordByte(p[n]) || p[n] == '\\' && n+1 < len(p) && IsSeparator(p[n+1])) {
		n++
	}
	for n > 0 && (IsJoint(p[n-1]) || p[n-1] == '-' && n < len(p) && p[n] == '>') { // of the text after it
		n--
	}
	return n
}

func Unescaped(p []byte) string {
	if bytes.IndexByte(p, '\\') < 0 {
		return string(p)
	}
	return string(bytes.ReplaceAll(p, []byte{'\\'}, nil))
}

// LastBefore returns the last byte of p that is not white space.
func LastBefore(p []byte) byte {
	p = bytes.TrimRight(p, " \t\r\n")
	if len(p) == 0 {
		return 0
	}
	return p[len(p)-1]
}

// IndexEither returns the index of the first a or b in p, len(p) if there is
// none. It looks at eight bytes at once: a byte that is one of the two becomes
// zero and leaves a high bit, and the lowest of these bits is exact, because
// borrows only go up.
func IndexEither(p []byte, a, b byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i <= len(p)-8; i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		x, y := w^ones*uint64(a), w^ones*uint64(b)
		if hit := ((x-ones)&^x | (y-ones)&^y) & high; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(p) && p[i] != a && p[i] != b {
		i++
	}
	return i
}

// Partial returns the length of the incomplete rune at the end of p.
func Partial(p []byte) int {
	for i := 1; i <= 3 && i <= len(p); i++ {
		if c := p[len(p)-i]; c >= 0xC0 {
			if utf8.FullRune(p[len(p)-i:]) {
				return 0
			}
			return i
		} else if c < 0x80 {
			return 0
		}
	}
	return 0
}

// HasOverlap reports whether one of raw and word begins with the other.
func HasOverlap(raw []byte, word string) bool {
	n := min(len(raw), len(word))
	return string(raw[:n]) == word[:n]
}

// AppendEscaped appends p unchanged in a JSON string.
func AppendEscaped(out, p []byte) []byte {
	const hex = "0123456789abcdef"
	done := 0 // p[:done] has been appended
	for i := 0; ; {
		i += jsonfix.Verbatim(p[i:])
		if i == len(p) {
			break
		}
		c := p[i]
		if c >= utf8.RuneSelf {
			r, n := utf8.DecodeRune(p[i:])
			if i += n; r != utf8.RuneError || n > 1 {
				continue
			}
			out = append(append(out, p[done:i-1]...), "\ufffd"...)
			done = i
			continue
		}
		out = append(out, p[done:i]...)
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\n':
			out = append(out, '\\', 'n')
		case '\r':
			out = append(out, '\\', 'r')
		case '\t':
			out = append(out, '\\', 't')
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
		i++
		done = i
	}
	return append(out, p[done:]...)
}

// QuoteJSON returns s as a JSON string.
func QuoteJSON(s string) string {
	return string(append(AppendEscaped([]byte{'"'}, []byte(s)), '"'))
}
