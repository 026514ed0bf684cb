package jsonfix

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// tokenReader reads a number or a word.
type tokenReader struct {
	text  []byte
	start int  // offset of its first byte
	key   bool // it is in the place of a key
	regex bool // it starts with a slash and the second one has not come
}

// begin begins a number or a word at the next byte.
func (t *tokenReader) begin(b *builder) {
	c := b.in[b.i]
	wordLike := isWord(c) || isDigit(c)
	key := b.state == wantKey || b.state == wantComma && b.inside('{')
	switch {
	case key && !wordLike && c != '-' && c < utf8.RuneSelf:
		b.failf("a key cannot start with %q", c)
	case b.state == wantComma && !key && !wordLike && bytes.IndexByte([]byte("-+."), c) < 0:
		b.failf("%q cannot stand here", c)
	case len(b.stack) == 0 && b.state != wantValue:
	case b.begin():
		*t = tokenReader{text: t.text[:0], start: b.at(), key: b.state == wantKey, regex: c == '/'}
		b.mode = inToken
	}
}

// maxScalar bounds the numbers and literals that scalar reads. Longer text is
// not scanned to its end.
const maxScalar = 64

// scalar reads a complete number or literal of JSON, the usual case, without a
// token. It returns false for all else.
func scalar(b *builder) bool {
	if b.state != wantValue && b.state != wantItem {
		return false
	}
	rest := b.in[b.i:]
	rest = rest[:min(len(rest), maxScalar)]
	n := 1
	for n < len(rest) && !ends[rest[n]] {
		n++
	}
	if n == len(rest) {
		return false
	}
	switch word := rest[:n]; {
	case isNumber(word), string(word) == "true", string(word) == "false", string(word) == "null":
		if b.begin() {
			b.out = append(b.out, word...)
			b.i += n
			b.ended()
		}
		return true
	}
	return false
}

// ends marks what certainly ends a number or literal.
var ends = [256]bool{',': true, ']': true, '}': true, ' ': true, '\n': true, '\r': true, '\t': true}

// maxToken bounds text without quotes.
const maxToken = 1 << 16

// read reads a number or a word. It returns true if it needs more text.
func (t *tokenReader) read(b *builder, s *stringReader, final bool) (more bool) {
	for b.i < len(b.in) {
		c := b.in[b.i]
		if t.regex {
			t.regex = !(c == '/' && len(t.text) > 0 && t.text[len(t.text)-1] != '\\') && c != '\n'
		} else if stop, more := t.stops(b, s, c, final); more {
			return true
		} else if stop {
			if b.mode == inToken {
				t.end(b, false)
			}
			return false
		}
		t.text = append(t.text, c)
		b.i++
		if len(t.text) > maxToken {
			b.failf("text without quotes is longer than %d bytes", maxToken)
			return false
		}
	}
	return false
}

// stops reports whether c ends the token. It changes the mode if it has handled
// the end itself.
func (t *tokenReader) stops(b *builder, s *stringReader, c byte, final bool) (stop, more bool) {
	if stop, maybe := b.atStop(b.in[b.i:], final); stop || maybe {
		return stop, maybe
	}
	if c == '\'' { // before " the opening quote of a word may be missing
		if class, ok := stringPrefixes[string(t.text)]; ok {
			b.note("string-prefix", class, t.start, t.start+1)
			s.begin(b, quoteSingle, 1)
			return true, false
		}
	}
	if t.key {
		return t.keyStops(b, c), false
	}
	switch c {
	case ',', '\n', '}', ']', '{', '[':
		return true, false
	case ')':
		return b.within('(') || b.within('f') || len(b.stack) > 0 && t.isValue(), false // [1, 2)
	case ' ', '\t', '\r':
		return t.isValue(), false
	case '(':
		if isIdentifier(bytes.TrimRight(t.text, " ")) && len(t.text) > 0 {
			t.call(b)
			return true, false
		}
	case '"':
		if !t.isValue() {
			t.endAtQuote(b)
		}
		return true, false
	case '/':
		return t.commentStops(b, final)
	}
	return false, false
}

// commentStops is stops for a slash, which may begin a comment.
func (t *tokenReader) commentStops(b *builder, final bool) (stop, more bool) {
	if !t.isValue() {
		return false, false
	}
	rest := b.in[b.i:]
	return beginsComment(rest), len(rest) == 1 && !final
}

// keyStops is stops for a key.
func (t *tokenReader) keyStops(b *builder, c byte) bool {
	switch {
	case c == '"' || c == '\'':
		t.endAtQuote(b)
		return true
	case isWord(c), isDigit(c), c == '-', c == '.', c >= utf8.RuneSelf:
		return false
	}
	return true
}

// endAtQuote ends a word whose opening quote is missing.
func (t *tokenReader) endAtQuote(b *builder) {
	b.edit("missing-quote", llm.Guess, 1)
	t.end(b, false)
	b.i++
}

// call reads a word and a parenthesis, as in ObjectId("1") or callback({…}): the
// value is the argument.
func (t *tokenReader) call(b *builder) {
	start := t.start
	if !b.push(frame{open: 'f', start: start}) {
		return
	}
	b.note("call", llm.Guess, start, b.at()+1)
	b.state, b.mode = wantValue, inStructure
	b.i++
}

// isValue reports whether the token is a literal or a number without a change.
func (t *tokenReader) isValue() bool {
	if isNumber(t.text) {
		return true
	}
	if len(t.text) > maxLiteral {
		return false
	}
	if _, ok := literals[string(t.text)]; ok {
		return true
	}
	_, class := number(t.text, false)
	return class < llm.Guess
}

// end writes the token. With final the text ended in it.
func (t *tokenReader) end(b *builder, final bool) {
	word := bytes.TrimRight(t.text, " \t\r")
	cut := final && len(b.stack) > 0 && len(word) == len(t.text) // a number may continue
	if t.key {
		t.note(b, "unquoted-key", llm.Syntax, word)
		b.bareKey = true
		writeQuoted(b, word)
		return
	}
	if t.literal(b, word) || t.number(b, word, cut) {
		return
	}
	switch {
	case final && (string(word) == "-" || string(word) == "+" || string(word) == "."):
		t.note(b, "number", llm.Truncation, word) // only its beginning is there
		b.write("0")
	case len(b.stack) == 0 && !b.bare:
		b.failAt(t.start, "text without quotes is not a value")
	case b.Types != nil && b.inside('(') && len(word) > 0 && bytes.IndexByte([]byte("+*/%"), word[0]) >= 0:
		b.failAt(t.start, "an expression in parentheses is not a value")
	default:
		class := llm.Guess
		if final && len(b.stack) > 0 {
			class = llm.Truncation
		}
		t.note(b, "unquoted-string", class, word)
		writeQuoted(b, word)
	}
}

// note records an edit of the token, which is word.
func (t *tokenReader) note(b *builder, rule string, class llm.RepairClass, word []byte) {
	b.note(rule, class, t.start, t.start+len(word))
}

// literal writes word if it is a literal.
func (t *tokenReader) literal(b *builder, word []byte) bool {
	lit, ok := literals[string(word)]
	if !ok {
		return false
	}
	class := lit.class
	if class == llm.Guess && b.Types != nil {
		class = b.Types.NotANumber(b.path(), string(word))
	}
	if class != llm.Intact {
		t.note(b, "literal", class, word)
	}
	b.write(lit.json)
	return true
}

// number writes word if it is a number. A number that the text ends in may have
// been cut off.
func (t *tokenReader) number(b *builder, word []byte, cut bool) bool {
	if isNumber(word) {
		if cut {
			t.note(b, "cut-number", llm.Truncation, word)
		}
		b.out = append(b.out, word...)
		b.ended()
		return true
	}
	text, class := number(word, b.numbers)
	switch {
	case class == llm.Truncation:
		return false
	case cut:
		class = llm.Truncation
	case b.Types != nil && b.Types.WantsText(b.path()):
		t.note(b, "number-as-text", llm.Coercion, word)
		writeQuoted(b, word)
		return true
	}
	t.note(b, "number", class, word)
	b.write(text)
	return true
}

// writeQuoted writes word as a JSON string.
func writeQuoted(b *builder, word []byte) {
	b.out = append(b.out, '"')
	for len(word) > 0 {
		c, n := utf8.DecodeRune(word)
		switch {
		case c == '"' || c == '\\':
			b.out = append(b.out, '\\', byte(c))
		case c < ' ':
			b.out = append(b.out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b.out = utf8.AppendRune(b.out, c) // U+FFFD for invalid UTF-8
		}
		word = word[n:]
	}
	b.endString()
}

// partial returns the value that the token has so far.
func (t *tokenReader) partial() (string, bool) {
	word := string(t.text)
	for _, full := range []string{"true", "false", "null", "True", "False", "None"} {
		if word != "" && strings.HasPrefix(full, word) {
			return literals[full].json, true
		}
	}
	for word != "" {
		if isNumber(word) {
			return word, true
		}
		if !strings.ContainsRune("eE+-.", rune(word[len(word)-1])) {
			break
		}
		word = word[:len(word)-1]
	}
	return "", false
}
