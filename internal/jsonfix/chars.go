package jsonfix

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func isWord(c byte) bool { return isLetter(c) || c == '_' || c == '$' }

func isHex(c byte) bool { return isDigit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }

// hexRun counts the hexadecimal digits at the start of b, up to limit.
func hexRun(b []byte, limit int) int {
	n := 0
	for n < limit && n < len(b) && isHex(b[n]) {
		n++
	}
	return n
}

func isIdentifier(b []byte) bool {
	for k, c := range b {
		if !isWord(c) && !(k > 0 && (isDigit(c) || c == '.')) {
			return false
		}
	}
	return true
}

// quote is a family of quotes that close each other.
type quote uint8

const (
	quoteDouble quote = iota // "
	quoteSingle              // ' ` and their curly forms
	quoteCurly               // “ and similar quotes, also closed by "
)

func isDoubleQuote(c rune) bool { return c == '“' || c == '”' || c == '„' || c == '‟' }

func isSingleQuote(c rune) bool {
	return c == '‘' || c == '’' || c == '‚' || c == '‛' || c == '´'
}

// occursIn reports whether text holds a quote of the family.
func (q quote) occursIn(text []byte) bool {
	switch q {
	case quoteSingle:
		return bytes.ContainsAny(text, "'`‘’‚‛´")
	case quoteCurly:
		return bytes.ContainsAny(text, "\"“”„‟")
	}
	return bytes.IndexByte(text, '"') >= 0
}

// plain marks the bytes that are always string content: in strings in double
// quotes, and in others.
var plain = func() (t [2][256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		t[0][c], t[1][c] = true, true
	}
	for _, c := range `"\\` {
		t[0][c], t[1][c] = false, false
	}
	t[1]['\''], t[1]['`'] = false, false
	return t
}()

// simpleEscape marks the bytes that may follow a backslash in JSON, except u.
var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

const hexDigits = "0123456789abcdef"

var shortEscapes = map[byte]string{'\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// run returns how many bytes at the beginning of in are content of a string in
// quotes of the family q and valid in JSON without a change.
func run(in []byte, q quote) int {
	ok, i := &plain[min(q, 1)], 0
	for {
		if q == quoteDouble {
			i += Verbatim(in[i:])
		}
		for i < len(in) && ok[in[i]] {
			i++
		}
		if i == len(in) {
			return i
		}
		switch c := in[i]; {
		case c == '\\' && i+1 < len(in) && simpleEscape[in[i+1]]:
			i += 2
		case c >= utf8.RuneSelf && q == quoteDouble:
			n := wideLen(in[i:])
			if n == 0 {
				return i
			}
			i += n
		default:
			return i
		}
	}
}

// Verbatim returns how many bytes at the beginning of p are ASCII that a JSON
// string holds without escapes. It looks at eight bytes at once: a byte that is
// not ASCII, a control character, a quote or a backslash leaves a high bit, and
// the lowest of these bits is exact, because borrows only go up.
func Verbatim(p []byte) int {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i <= len(p)-8; i += 8 {
		w := binary.LittleEndian.Uint64(p[i:])
		if hit := (w | (w - ones*' ') | (w ^ ones*'"' - ones) | (w ^ ones*'\\' - ones)) & high; hit != 0 {
			return i + bits.TrailingZeros64(hit)/8
		}
	}
	for i < len(p) && plain[quoteDouble][p[i]] {
		i++
	}
	return i
}

// wideLen returns the length of the rune at the start of b, 0 if it is
// incomplete or invalid.
func wideLen(b []byte) int {
	if c, n := utf8.DecodeRune(b); c != utf8.RuneError || n > 1 {
		return n
	}
	return 0
}
