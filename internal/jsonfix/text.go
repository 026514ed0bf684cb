package jsonfix

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// text is the string being read.
type text struct {
	quote  quote
	open   byte // the first byte of the opening quote
	key    bool
	triple bool
	start  int  // offset of the opening quote
	from   int  // where its content starts in out
	path   bool // a path of Windows: a backslash is one
}

// quote is a family of quotes that close each other.
type quote uint8

const (
	quoteDouble quote = iota // "
	quoteSingle              // ' ` and their curly forms
	quoteCurly               // “ and its like, also closed by "
)

func isDoubleQuote(c rune) bool { return c == '“' || c == '”' || c == '„' || c == '‟' }
func isSingleQuote(c rune) bool {
	return c == '‘' || c == '’' || c == '‚' || c == '‛' || c == '´'
}

// plain marks the bytes that are string content and nothing else: in strings
// in double quotes, and in others.
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

func (r *Reader) beginString(q quote, n int) {
	if r.room() {
		r.startString(q, n)
	}
}

// startString begins a string with a quote of n bytes at r.i.
func (r *Reader) startString(q quote, n int) {
	if q == quoteSingle {
		r.edit("quotes", llm.Syntax, r.i, r.i+n)
	}
	r.str = text{quote: q, open: r.in[r.i], key: r.state == wantKey, start: r.off + r.i}
	r.out = append(r.out, '"')
	r.str.from = len(r.out)
	r.mode = inString
	r.i += n
}

// text reads the content of a string. It returns true if it needs more.
func (r *Reader) text(final bool) (more bool) {
	for r.mode == inString && r.err == nil && !r.done {
		n := r.content(r.in[r.i:])
		held := 0
		if r.i+n == len(r.in) {
			held = r.closersAtEnd(r.in[r.i:])
			n -= held
		}
		r.out = append(r.out, r.in[r.i:r.i+n]...)
		r.i += n
		if r.i == len(r.in) {
			return false
		}
		if held > 0 {
			if final {
				r.endBeforeClosers(held)
			}
			return !final
		}
		switch c := r.in[r.i]; {
		case c == '\\':
			more = r.escape(r.in[r.i:], final)
		case c < ' ':
			r.control(c)
		case c >= utf8.RuneSelf:
			more = r.wide(r.in[r.i:], final)
		default:
			more = r.quoted(c, final)
		}
		if more {
			return true
		}
	}
	return false
}

// maxClosersAtEnd is how many bytes of closers are held at the end of the text.
const maxClosersAtEnd = 16

// closersAtEnd returns the length of the closers, with the white space between
// and behind them, with which the text of a string ends so far. A patient Reader
// holds them: if the quote before them is missing, they are none of the string.
func (r *Reader) closersAtEnd(p []byte) (n int) {
	if !r.Patient || r.str.key || r.str.triple || r.escaped || len(r.stack) == 0 {
		return 0
	}
	for i := len(p) - 1; i >= max(0, len(p)-maxClosersAtEnd); i-- {
		switch c := p[i]; {
		case c == '}' || c == ']':
			n = len(p) - i
		case !isSpace(c):
			return n
		}
	}
	return n
}

// endBeforeClosers ends a string whose quote is missing before the n bytes of
// closers with which the text ends, if the first of them closes the container
// that the string is in. Else they are part of it.
func (r *Reader) endBeforeClosers(n int) {
	if openerOf[r.in[r.i]] != r.top().open {
		r.out = append(r.out, r.in[r.i:r.i+n]...)
		r.i += n
		return
	}
	r.edit("missing-quote", llm.Guess, r.i, r.i)
	r.out = append(r.out, '"')
	r.ended()
}

// content returns how many bytes of in are content of the string that is valid
// as it stands. The backslashes of a path of Windows are not: see path.
func (r *Reader) content(in []byte) int {
	if r.Types == nil || r.str.key {
		return run(in, r.str.quote)
	}
	switch n := len(r.out) - r.str.from; {
	case r.str.path:
		return Verbatim(in)
	case n > 2, n < 2 && len(in) > 1-n && in[1-n] != ':': // no letter and colon
	case n < 2:
		in = in[:min(len(in), 2-n)]
	case len(in) > 0 && in[0] == '\\':
		return 0
	}
	return run(in, r.str.quote)
}

// run returns how many bytes of in are content that is valid as it stands.
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

// Verbatim returns how many bytes at the beginning of p are ASCII that stands
// in a JSON string as it is. It looks at eight bytes at once: one that is no
// ASCII, a control character, a quote or a backslash leaves a high bit, and the
// lowest of these bits is exact, because borrows only go up.
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

// wideLen returns the length of the rune at the start of b, 0 if it is not
// whole or not valid.
func wideLen(b []byte) int {
	if c, n := utf8.DecodeRune(b); c != utf8.RuneError || n > 1 {
		return n
	}
	return 0
}

// simpleEscape marks what may follow a backslash in JSON, but for u.
var simpleEscape = [256]bool{'"': true, '\\': true, '/': true, 'b': true, 'f': true, 'n': true, 'r': true, 't': true}

const hexDigits = "0123456789abcdef"

var shortEscapes = map[byte]string{'\n': `\n`, '\r': `\r`, '\t': `\t`, '\b': `\b`, '\f': `\f`}

// control escapes a control character that stands in a string as it is.
func (r *Reader) control(c byte) {
	if esc, ok := shortEscapes[c]; ok {
		r.edit("control-character", llm.Syntax, r.i, r.i+1)
		r.out = append(r.out, esc...)
	} else { // nobody writes these on purpose
		r.edit("control-character", llm.Guess, r.i, r.i+1)
		r.out = append(r.out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	r.i++
}

// wide reads a character beyond ASCII.
func (r *Reader) wide(rest []byte, final bool) (more bool) {
	if !utf8.FullRune(rest) && !final {
		return true
	}
	c, n := utf8.DecodeRune(rest)
	switch {
	case c == utf8.RuneError && n == 1:
		class := llm.Guess
		if final && !utf8.FullRune(rest) {
			class = llm.Truncation
			n = len(rest)
		}
		r.edit("invalid-utf8", class, r.i, r.i+n)
		r.out = append(r.out, "\ufffd"...)
	case r.str.quote == quoteCurly && isDoubleQuote(c), r.str.quote == quoteSingle && isSingleQuote(c):
		return r.endQuote(n, final)
	default:
		r.out = append(r.out, rest[:n]...)
	}
	r.i += n
	return false
}

// quoted reads an ASCII quote in a string: the end of it, or content.
func (r *Reader) quoted(c byte, final bool) (more bool) {
	switch {
	case c == '"' && r.str.quote == quoteSingle:
		r.out = append(r.out, `\"`...)
	case c == '`' && r.str.open == '\'': // no quote of this string
		r.out = append(r.out, c)
	case c == '"', r.str.quote == quoteSingle && !plain[quoteSingle][c]: // content may stop before an ordinary letter
		return r.endQuote(1, final)
	default:
		r.out = append(r.out, c)
	}
	r.i++
	return false
}

// escape reads a backslash in a string and what follows it.
func (r *Reader) escape(rest []byte, final bool) (more bool) {
	if len(rest) < 2 {
		if final {
			r.edit("cut-escape", llm.Truncation, r.i, r.i+1)
			r.i++
		}
		return !final
	}
	if r.inPath(rest[1]) {
		r.literalBackslash()
		return false
	}
	switch c := rest[1]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		r.out = append(r.out, rest[:2]...)
	case 'u':
		return r.unicodeEscape(rest, final)
	case '\'', '`':
		r.edit("escape", llm.Syntax, r.i, r.i+2)
		r.out = append(r.out, c)
	case '\n':
		r.edit("escape", llm.Guess, r.i, r.i+2)
		r.out = append(r.out, `\n`...)
	case 'x':
		if n := hexRun(rest[2:], 2); n == 2 {
			r.edit("escape", llm.Guess, r.i, r.i+4)
			r.out = append(r.out, `\u00`...)
			r.out = append(r.out, rest[2:4]...)
			r.i += 4
			return false
		} else if n == len(rest)-2 && !final {
			return true
		}
		r.literalBackslash()
		return false
	default:
		if r.Types == nil || bytes.IndexByte(markdown, c) < 0 || !r.Types.Markdown(r.out, c) && !r.str.key {
			r.literalBackslash()
			return false
		}
		r.edit("markdown-escape", llm.Syntax, r.i, r.i+1)
		r.out = append(r.out, c)
	}
	r.i += 2
	return false
}

// inPath reports whether a backslash before c stands in a path of Windows whose
// backslashes were not escaped: nobody begins a new line behind C:. Only the
// schema of a call, where nothing else is written so, makes that likely.
func (r *Reader) inPath(c byte) bool {
	if s := r.out[r.str.from:]; len(s) == 2 && r.Types != nil && !r.str.key {
		r.str.path = isLetter(s[0]) && s[1] == ':' && c != '\\' && c != '"' && c != '/'
	}
	return r.str.path && c != '\\' && c != '"'
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// markdown is the punctuation that Markdown escapes and JSON does not.
var markdown = []byte("_*[](){}#+-.!<>|~")

// literalBackslash keeps a backslash that escapes nothing, as in "\d+".
func (r *Reader) literalBackslash() {
	r.edit("escape", llm.Guess, r.i, r.i+1)
	r.out = append(r.out, `\\`...)
	r.i++
}

// hexRun counts the hexadecimal digits at the start of b, up to limit.
func hexRun(b []byte, limit int) int {
	n := 0
	for n < limit && n < len(b) && isHex(b[n]) {
		n++
	}
	return n
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'f'
}

// unicodeEscape reads \uXXXX, and both halves of a surrogate pair at once.
func (r *Reader) unicodeEscape(rest []byte, final bool) (more bool) {
	n := hexRun(rest[2:], 4)
	switch {
	case n < 4 && n == len(rest)-2:
		if final {
			r.edit("cut-escape", llm.Truncation, r.i, r.i+len(rest))
			r.i += len(rest)
		}
		return !final
	case n < 4:
		r.literalBackslash()
		return false
	}
	n = 6
	if rest[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), rest[3]) >= 0 { // the second half may follow
		tail := rest[6:]
		for k := 0; k < 6; k++ {
			if k == len(tail) {
				if !final {
					return true
				}
				break
			}
			if !lowSurrogate(k, tail[k]) {
				break
			}
			if k == 5 {
				n = 12
			}
		}
	}
	r.out = append(r.out, rest[:n]...)
	r.i += n
	return false
}

// lowSurrogate reports whether c may be the k-th byte of \uDC00 to \uDFFF.
func lowSurrogate(k int, c byte) bool {
	switch k {
	case 0:
		return c == '\\'
	case 1:
		return c == 'u'
	case 2:
		return c|0x20 == 'd'
	case 3:
		return 'c' <= c|0x20 && c|0x20 <= 'f'
	}
	return isHex(c)
}

// endQuote decides what a quote of n bytes at r.i is, from what follows it.
func (r *Reader) endQuote(n int, final bool) (more bool) {
	if r.str.triple {
		return r.endTriple(final)
	}
	rest := r.in[r.i+n:]
	if len(r.out) == r.str.from && len(rest) > 0 && rest[0] == r.in[r.i] && n == 1 && (r.whole || len(r.stack) > 0) {
		r.note("quotes", llm.Syntax, r.off+r.i-1, r.off+r.i+2)
		r.str.triple = true
		r.i += 2
		return false
	}
	role, skip := r.role(rest, final)
	switch role {
	case undecided:
		return true
	case closing:
		r.out = append(r.out, '"')
		r.i += n
		r.ended()
	case joining:
		r.edit("string-concatenation", llm.Syntax, r.i, r.i+n+skip)
		r.i += n + skip
		r.str.quote = quoteDouble
		if r.in[r.i-1] != '"' {
			r.str.quote = quoteSingle
		}
		return false
	case content:
		if r.whole && r.endedBefore(n) {
			return false
		}
		r.edit("inner-quote", llm.Guess, r.i, r.i+n)
		if r.in[r.i] == '"' {
			r.out = append(r.out, '\\')
		}
		r.out = append(r.out, r.in[r.i:r.i+n]...)
		r.i += n
	}
	return false
}

// endTriple ends a string in triple quotes.
func (r *Reader) endTriple(final bool) (more bool) {
	q := r.in[r.i]
	n := 1
	for n < 3 && r.i+n < len(r.in) && r.in[r.i+n] == q {
		n++
	}
	if n < 3 && r.i+n == len(r.in) && !final {
		return true
	}
	if n < 3 {
		if q == '"' {
			r.out = append(r.out, '\\')
		}
		r.out = append(r.out, q)
		r.i++
		return false
	}
	r.out = append(r.out, '"')
	r.i += 3
	r.ended()
	return false
}
