package jsonfix

import (
	"bytes"
	"slices"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// stringReader reads a key or value in quotes.
type stringReader struct {
	quote  quote
	open   byte // the first byte of the opening quote
	key    bool
	triple bool
	start  int  // offset of the opening quote
	from   int  // where its content starts in the output
	path   bool // a Windows path whose backslashes are not escaped
}

// begin reads the opening quote, which has n bytes.
func (s *stringReader) begin(b *builder, q quote, n int) {
	if q == quoteSingle {
		b.edit("quotes", llm.Syntax, n)
	}
	b.out = append(b.out, '"')
	*s = stringReader{quote: q, open: b.in[b.i], key: b.state == wantKey, start: b.at(), from: len(b.out)}
	b.mode = inString
	b.i += n
}

// read reads the content of a string. It returns true if it needs more text.
func (s *stringReader) read(b *builder, final bool) (more bool) {
	for b.mode == inString && !b.stopped() {
		n := s.content(b, b.in[b.i:])
		held := 0
		if b.i+n == len(b.in) {
			held = s.closersAtEnd(b, b.in[b.i:])
			n -= held
		}
		b.out = append(b.out, b.in[b.i:b.i+n]...)
		b.i += n
		if b.i == len(b.in) {
			return false
		}
		if held > 0 {
			if final {
				s.endBeforeClosers(b, held)
			}
			return !final
		}
		switch c := b.in[b.i]; {
		case c == '\\':
			more = s.escape(b, b.in[b.i:], final)
		case c < ' ':
			s.control(b, c)
		case c >= utf8.RuneSelf:
			more = s.wide(b, b.in[b.i:], final)
		default:
			more = s.ascii(b, c, final)
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
// and after them, at the end of the text of a string so far. A patient Reader
// holds them: if the quote before them is missing, they are not part of the string.
func (s *stringReader) closersAtEnd(b *builder, p []byte) (n int) {
	if !b.Patient || s.key || s.triple || b.layer.on || len(b.stack) == 0 {
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
// closers at the end of the text, if the first of them closes the container of
// the string. Otherwise they are part of the string.
func (s *stringReader) endBeforeClosers(b *builder, n int) {
	if openerOf[b.in[b.i]] != b.top().open {
		b.out = append(b.out, b.in[b.i:b.i+n]...)
		b.i += n
		return
	}
	b.edit("missing-quote", llm.Guess, 0)
	b.endString()
}

// content returns how many bytes of in are content of the string and valid
// without a change. The backslashes of a Windows path are not: see inPath.
func (s *stringReader) content(b *builder, in []byte) int {
	if b.Types == nil || s.key {
		return run(in, s.quote)
	}
	switch n := len(b.out) - s.from; {
	case s.path:
		return Verbatim(in)
	case n > 2, n < 2 && len(in) > 1-n && in[1-n] != ':': // no letter and colon
	case n < 2:
		in = in[:min(len(in), 2-n)]
	case len(in) > 0 && in[0] == '\\':
		return 0
	}
	return run(in, s.quote)
}

// control escapes a control character in a string.
func (s *stringReader) control(b *builder, c byte) {
	if esc, ok := shortEscapes[c]; ok {
		b.edit("control-character", llm.Syntax, 1)
		b.out = append(b.out, esc...)
	} else { // such a character is not written on purpose
		b.edit("control-character", llm.Guess, 1)
		b.out = append(b.out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
	}
	b.i++
}

// wide reads a character beyond ASCII.
func (s *stringReader) wide(b *builder, rest []byte, final bool) (more bool) {
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
		b.edit("invalid-utf8", class, n)
		b.out = append(b.out, "\ufffd"...)
	case s.quote == quoteCurly && isDoubleQuote(c), s.quote == quoteSingle && isSingleQuote(c):
		return s.end(b, n, final)
	default:
		b.out = append(b.out, rest[:n]...)
	}
	b.i += n
	return false
}

// ascii reads a quote, which is the end of the string or content, or an ordinary
// character.
func (s *stringReader) ascii(b *builder, c byte, final bool) (more bool) {
	switch {
	case c == '"' && s.quote == quoteSingle:
		b.out = append(b.out, `\"`...)
	case c == '`' && s.open == '\'': // not a quote of this string
		b.out = append(b.out, c)
	case c == '"', s.quote == quoteSingle && !plain[quoteSingle][c]: // content may stop before an ordinary letter
		return s.end(b, 1, final)
	default:
		b.out = append(b.out, c)
	}
	b.i++
	return false
}

// escape reads a backslash in a string and the text it escapes.
func (s *stringReader) escape(b *builder, rest []byte, final bool) (more bool) {
	if len(rest) < 2 {
		return s.cutEscape(b, 1, final)
	}
	if len(rest) == 2 && !final && s.afterDrive(b) {
		return true // the next byte decides
	}
	if s.inPath(b, rest) {
		s.literalBackslash(b)
		return false
	}
	switch c := rest[1]; c {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		b.out = append(b.out, rest[:2]...)
	case 'u':
		return s.unicodeEscape(b, rest, final)
	case '\'', '`':
		b.edit("escape", llm.Syntax, 2)
		b.out = append(b.out, c)
	case '\n':
		b.edit("escape", llm.Guess, 2)
		b.out = append(b.out, `\n`...)
	case 'x':
		return s.hexEscape(b, rest, final)
	default:
		if b.Types == nil || bytes.IndexByte(markdown, c) < 0 || !b.Types.Markdown(b.out, c) && !s.key {
			s.literalBackslash(b)
			return false
		}
		b.edit("markdown-escape", llm.Syntax, 1)
		b.out = append(b.out, c)
	}
	b.i += 2
	return false
}

// cutEscape drops an escape of n bytes that the text ends in, or waits for more.
func (s *stringReader) cutEscape(b *builder, n int, final bool) (more bool) {
	if final {
		b.edit("cut-escape", llm.Truncation, n)
		b.i += n
	}
	return !final
}

// hexEscape reads \xXX.
func (s *stringReader) hexEscape(b *builder, rest []byte, final bool) (more bool) {
	switch n := hexRun(rest[2:], 2); {
	case n == 2:
		b.edit("escape", llm.Guess, 4)
		b.out = append(append(b.out, `\u00`...), rest[2:4]...)
		b.i += 4
	case n == len(rest)-2 && !final:
		return true
	default:
		s.literalBackslash(b)
	}
	return false
}

// unicodeEscape reads \uXXXX, and both halves of a surrogate pair at once.
func (s *stringReader) unicodeEscape(b *builder, rest []byte, final bool) (more bool) {
	n := hexRun(rest[2:], 4)
	switch {
	case n < 4 && n == len(rest)-2:
		return s.cutEscape(b, len(rest), final)
	case n < 4:
		s.literalBackslash(b)
		return false
	}
	n = 6
	if rest[2]|0x20 == 'd' && bytes.IndexByte([]byte("89abAB"), rest[3]) >= 0 { // the second half may follow
		k := 0
		for k < 6 && 6+k < len(rest) && lowSurrogate(k, rest[6+k]) {
			k++
		}
		if k < 6 && 6+k == len(rest) && !final {
			return true
		}
		if k == 6 {
			n = 12
		}
	}
	b.out = append(b.out, rest[:n]...)
	b.i += n
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

// inPath reports whether a backslash before c is in a Windows path whose
// backslashes are not escaped: C: followed by a line break is unlikely. Only the
// schema of a call, whose arguments hold no other such text, makes a path likely.
// A name in a path begins with no space, so "a:\n  b" is YAML.
func (s *stringReader) inPath(b *builder, rest []byte) bool {
	c := rest[1]
	if s.afterDrive(b) {
		s.path = c != '\\' && c != '"' && c != '/' && (len(rest) == 2 || rest[2] > ' ')
	}
	return s.path && c != '\\' && c != '"'
}

// afterDrive reports whether the string so far is a letter and a colon.
func (s *stringReader) afterDrive(b *builder) bool {
	t := b.out[s.from:]
	return len(t) == 2 && b.Types != nil && !s.key && isLetter(t[0]) && t[1] == ':'
}

// markdown is the punctuation that Markdown escapes and JSON does not.
var markdown = []byte("_*[](){}#+-.!<>|~")

// literalBackslash keeps a backslash that escapes nothing, as in "\d+".
func (s *stringReader) literalBackslash(b *builder) {
	b.edit("escape", llm.Guess, 1)
	b.out = append(b.out, `\\`...)
	b.i++
}

// end decides from the text after a quote of n bytes whether it ends the string.
func (s *stringReader) end(b *builder, n int, final bool) (more bool) {
	if s.triple {
		return s.endTriple(b, final)
	}
	rest := b.in[b.i+n:]
	if len(b.out) == s.from && len(rest) > 0 && rest[0] == b.in[b.i] && n == 1 && (b.whole || len(b.stack) > 0) {
		b.note("quotes", llm.Syntax, b.at()-1, b.at()+2)
		s.triple = true
		b.i += 2
		return false
	}
	role, skip := s.role(b, rest, final)
	switch role {
	case undecided:
		return true
	case closing:
		b.i += n
		b.endString()
	case joining:
		b.edit("string-concatenation", llm.Guess, n+skip)
		b.i += n + skip
		s.quote = quoteDouble
		if b.in[b.i-1] != '"' {
			s.quote = quoteSingle
		}
	case content:
		if b.whole && s.endedBefore(b, n) {
			return false
		}
		b.edit("inner-quote", llm.Guess, n)
		if b.in[b.i] == '"' {
			b.out = append(b.out, '\\')
		}
		b.out = append(b.out, b.in[b.i:b.i+n]...)
		b.i += n
	}
	return false
}

// role decides what the quote before rest is.
func (s *stringReader) role(b *builder, rest []byte, final bool) (role, int) {
	if len(b.stack) == 0 && !b.whole {
		return closing, 0 // a string on its own: the text after it does not matter
	}
	look := lookahead{b: b, quote: s.quote, key: s.key, text: rest, final: final,
		patient: b.Patient && !b.layer.on && b.in[b.i] < utf8.RuneSelf}
	if len(rest) > maxLook {
		look.text, look.final = rest[:maxLook], true
	}
	return look.role(rest)
}

// endTriple ends a string in triple quotes.
func (s *stringReader) endTriple(b *builder, final bool) (more bool) {
	q := b.in[b.i]
	n := 1
	for n < 3 && b.i+n < len(b.in) && b.in[b.i+n] == q {
		n++
	}
	switch {
	case n == 3:
		b.i += 3
		b.endString()
		return false
	case b.i+n == len(b.in) && !final:
		return true
	}
	if q == '"' {
		b.out = append(b.out, '\\')
	}
	b.out = append(b.out, q)
	b.i++
	return false
}

// The rest works only on a whole text, none of whose output has left: it takes
// back the end of a string whose quote is missing.

// endedBefore finds that the quote of n bytes opens the next string, because the
// string being read lacks its end: a comma comes before the quote, and a key or
// an item begins with it. It then goes back to the comma.
func (s *stringReader) endedBefore(b *builder, n int) bool {
	if len(b.stack) == 0 || n != 1 {
		return false
	}
	comma := b.i - 1
	for comma >= 0 && isSpace(b.in[comma]) {
		comma--
	}
	if comma < 0 || b.in[comma] != ',' || b.off+comma <= s.start {
		return false
	}
	look := lookahead{b: b, text: b.in[:min(len(b.in), b.i+maxLook)], i: b.i, final: true}
	if b.inside('{') && look.nextKey(true) != closing || !b.inside('{') && !look.wholeItem() {
		return false
	}
	s.goBack(b, comma)
	return true
}

// endedInClosers finds that a string that never ended includes the closing
// brackets of its containers, as in {"a":"b}, and goes back to them.
func (s *stringReader) endedInClosers(b *builder) bool {
	at, depth := len(b.in), len(b.stack)
	inner := b.in[max(s.start+1-b.off, 0):]
	for k := len(b.in) - 1; k >= 0 && b.off+k > s.start; k-- {
		c := b.in[k]
		if isSpace(c) {
			continue
		}
		if c != '}' && c != ']' {
			break
		}
		at = k
	}
	closers := slices.DeleteFunc(slices.Clone(b.in[at:]), isSpace)
	if len(closers) == 0 || len(closers) > depth || s.key {
		return false
	}
	for k, c := range closers {
		if closerOf[b.stack[depth-1-k].open] != c {
			return false
		}
		if bytes.IndexByte(inner, openerOf[c]) >= 0 { // it may close that one
			return false
		}
	}
	s.goBack(b, at)
	return true
}

// goBack ends the string before in[at], without the white space there. All
// between is unescaped ASCII, so its length in the output is known.
func (s *stringReader) goBack(b *builder, at int) {
	from := at
	for from > 0 && isSpace(b.in[from-1]) && b.off+from-1 > s.start {
		from--
	}
	for _, c := range b.in[from:b.i] {
		n := 1
		if c < ' ' {
			n = 2
		}
		b.out = b.out[:len(b.out)-n]
	}
	b.edits = slices.DeleteFunc(b.edits, func(e llm.Repair) bool { return e.Start >= b.Base+b.off+from && e.Rule == "control-character" })
	b.note("missing-quote", llm.Guess, b.off+from, b.off+from)
	b.i = at
	b.endString()
}
