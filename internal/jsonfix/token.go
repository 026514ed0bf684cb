package jsonfix

import (
	"bytes"
	"math/big"
	"strings"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// token is a number or a word being read.
type token struct {
	text  []byte
	start int  // offset of its first byte
	key   bool // it stands where a key must
	regex bool // it starts with a slash and has not met the second one
}

// literal is how a word reads in JSON.
type literal struct {
	json  string
	class llm.RepairClass
}

// literals are the words that are values. NaN and infinities have no form in
// JSON; null is what JavaScript writes for them.
var literals = map[string]literal{
	"true": {"true", llm.Intact}, "false": {"false", llm.Intact}, "null": {"null", llm.Intact},
	"True": {"true", llm.Syntax}, "False": {"false", llm.Syntax}, "None": {"null", llm.Syntax},
	"TRUE": {"true", llm.Syntax}, "FALSE": {"false", llm.Syntax}, "NULL": {"null", llm.Syntax},
	"Null": {"null", llm.Syntax}, "nil": {"null", llm.Syntax}, "undefined": {"null", llm.Syntax},
	"NaN": {"null", llm.Guess}, "nan": {"null", llm.Guess},
	"Infinity": {"null", llm.Guess}, "-Infinity": {"null", llm.Guess}, "+Infinity": {"null", llm.Guess},
	"inf": {"null", llm.Guess}, "-inf": {"null", llm.Guess},
}

func (r *Reader) beginToken() {
	c := r.in[r.i]
	key := r.state == wantKey || r.state == wantComma && r.top().open == '{'
	if key && !isWord(c) && !isDigit(c) && c != '-' && c < 0x80 {
		r.failf(r.i, "a key cannot start with %q", c)
		return
	}
	if r.state == wantComma && r.top().open != '{' && !isWord(c) && !isDigit(c) && bytes.IndexByte([]byte("-+."), c) < 0 {
		r.failf(r.i, "%q cannot stand here", c)
		return
	}
	if len(r.stack) == 0 && r.state != wantValue || !r.room() {
		return
	}
	r.tok = token{text: r.tok.text[:0], start: r.off + r.i, key: r.state == wantKey, regex: c == '/'}
	r.mode = inToken
}

// scalar reads a number or literal that is valid JSON and whole, the usual
// case, without a token. It returns false for all else.
func (r *Reader) scalar() bool {
	if r.state != wantValue && r.state != wantItem {
		return false
	}
	rest := r.in[r.i:]
	rest = rest[:min(len(rest), maxScalar)] // beyond it the token is read as any other
	n := 1
	for n < len(rest) && !ends[rest[n]] {
		n++
	}
	if n == len(rest) {
		return false
	}
	switch word := rest[:n]; {
	case isNumber(word), string(word) == "true", string(word) == "false", string(word) == "null":
		if r.room() {
			r.out = append(r.out, word...)
			r.i += n
			r.ended()
		}
		return true
	}
	return false
}

// maxScalar bounds the numbers and literals that scalar reads, so that what is
// none is not looked through to its end.
const maxScalar = 64

// ends marks what certainly ends a number or literal.
var ends = [256]bool{',': true, ']': true, '}': true, ' ': true, '\n': true, '\r': true, '\t': true}

// maxToken bounds text without quotes.
const maxToken = 1 << 16

// token reads a number or a word. It returns true if it needs more.
func (r *Reader) token(final bool) (more bool) {
	for r.i < len(r.in) {
		c := r.in[r.i]
		if r.tok.regex {
			r.tok.regex = !(c == '/' && len(r.tok.text) > 0 && r.tok.text[len(r.tok.text)-1] != '\\') && c != '\n'
		} else if stop, more := r.tokenStops(c, final); more {
			return true
		} else if stop {
			if r.mode == inToken {
				r.endToken(false)
			}
			return false
		}
		r.tok.text = append(r.tok.text, c)
		r.i++
		if len(r.tok.text) > maxToken {
			r.failf(r.i, "text without quotes is longer than %d bytes", maxToken)
			return false
		}
	}
	return false
}

// tokenStops reports whether c ends the token. It leaves inToken if it has
// handled the end itself.
func (r *Reader) tokenStops(c byte, final bool) (stop, more bool) {
	if stop, maybe := r.atStop(r.in[r.i:], final); stop || maybe {
		return stop, maybe
	}
	if c == '\'' && r.stringPrefix() { // before " its opening quote may be missing
		r.startString(quoteSingle, 1)
		return true, false
	}
	if r.tok.key {
		return r.keyStops(c), false
	}
	switch c {
	case ',', '\n', '}', ']':
		return true, false
	case ')':
		return r.within('(') || r.within('f') || len(r.stack) > 0 && r.tokenIsValue(), false // [1, 2)
	case ' ', '\t', '\r', '{', '[':
		return c == '{' || c == '[' || r.tokenIsValue(), false
	case '(':
		if isIdentifier(bytes.TrimRight(r.tok.text, " ")) && len(r.tok.text) > 0 {
			r.call()
			return true, false
		}
	case '"':
		return r.strayQuote(), false
	case '/':
		return r.commentStops(final)
	}
	return false, false
}

// commentStops is tokenStops for a slash, which may begin a comment.
func (r *Reader) commentStops(final bool) (stop, more bool) {
	if !r.tokenIsValue() {
		return false, false
	}
	if r.i+1 == len(r.in) && !final {
		return false, true
	}
	return r.i+1 < len(r.in) && (r.in[r.i+1] == '/' || r.in[r.i+1] == '*'), false
}

// stringPrefixes are the letters before a string in Python. All but u give
// its backslashes or braces another meaning, or make it bytes.
var stringPrefixes = map[string]llm.RepairClass{
	"u": llm.Syntax, "U": llm.Syntax, "b": llm.Guess, "B": llm.Guess,
	"r": llm.Guess, "R": llm.Guess, "f": llm.Guess, "F": llm.Guess,
}

// stringPrefix notes that the token is the letter before a Python string.
func (r *Reader) stringPrefix() bool {
	class, ok := stringPrefixes[string(r.tok.text)]
	if ok {
		r.note("string-prefix", class, r.tok.start, r.tok.start+1)
	}
	return ok
}

func (r *Reader) keyStops(c byte) bool {
	switch {
	case c == '"' || c == '\'': // its opening quote is missing
		r.edit("missing-quote", llm.Guess, r.i, r.i+1)
		r.endToken(false)
		r.i++
		return true
	case isWord(c), isDigit(c), c == '-', c == '.', c >= 0x80:
		return false
	}
	return true
}

// strayQuote ends a word whose opening quote is missing.
func (r *Reader) strayQuote() bool {
	if r.tokenIsValue() {
		return true
	}
	r.edit("missing-quote", llm.Guess, r.i, r.i+1)
	r.endToken(false)
	r.i++
	return true
}

// call reads a word and a parenthesis, as in ObjectId("1") or callback({…}):
// the value is the argument.
func (r *Reader) call() {
	if !r.shallow() {
		return
	}
	r.note("call", llm.Guess, r.tok.start, r.off+r.i+1)
	r.stack = append(r.stack, frame{open: 'f', start: r.tok.start})
	r.state, r.mode = wantValue, inStructure
	r.i++
}

func isIdentifier(b []byte) bool {
	for k, c := range b {
		if !isWord(c) && !(k > 0 && (isDigit(c) || c == '.')) {
			return false
		}
	}
	return true
}

// maxLiteral is more than the longest literal or number in another notation
// has. Longer text is not looked at again and again.
const maxLiteral = 64

// tokenIsValue reports whether the token is a literal or a number as it is.
func (r *Reader) tokenIsValue() bool {
	if isNumber(r.tok.text) {
		return true
	}
	if len(r.tok.text) > maxLiteral {
		return false
	}
	if _, ok := literals[string(r.tok.text)]; ok {
		return true
	}
	_, class := number(r.tok.text, false)
	return class < llm.Guess
}

// endToken writes the token. With final the text ended in it.
func (r *Reader) endToken(final bool) {
	word := bytes.TrimRight(r.tok.text, " \t\r")
	end := r.tok.start + len(word)
	cut := final && len(r.stack) > 0 && len(word) == len(r.tok.text) // a number may have gone on
	if r.tok.key {
		r.note("unquoted-key", llm.Syntax, r.tok.start, end)
		r.bareKey = true
		r.quote(word)
		r.ended()
		return
	}
	if lit, ok := literals[string(word)]; ok {
		r.literal(lit, word)
		return
	}
	if r.isNumber(word, cut) {
		return
	}
	if final && (string(word) == "-" || string(word) == "+" || string(word) == ".") {
		r.note("number", llm.Truncation, r.tok.start, end) // only its beginning is there
		r.out = append(r.out, '0')
		r.ended()
		return
	}
	if len(r.stack) == 0 && !r.bare {
		r.fail(&SyntaxError{r.Base + r.tok.start, "text without quotes is not a value"})
		return
	}
	if r.Types != nil && !cut && len(word) <= maxLiteral {
		if v, ok := r.Types.Arithmetic(r.path(), string(word)); ok {
			r.note("arithmetic", llm.Coercion, r.tok.start, end)
			r.out = append(r.out, v...)
			r.ended()
			return
		}
	}
	if r.inSum(word) {
		r.fail(&SyntaxError{r.Base + r.tok.start, "an expression in parentheses is not a value"})
		return
	}
	if final && len(r.stack) > 0 {
		r.note("unquoted-string", llm.Truncation, r.tok.start, end)
	} else {
		r.note("unquoted-string", llm.Guess, r.tok.start, end)
	}
	r.quote(word)
	r.ended()
}

// inSum reports whether word goes on with an expression in parentheses.
func (r *Reader) inSum(word []byte) bool {
	return r.Types != nil && len(r.stack) > 0 && r.top().open == '(' && len(word) > 0 && bytes.IndexByte([]byte("+*/%"), word[0]) >= 0
}

// literal writes a word that is a value.
func (r *Reader) literal(lit literal, word []byte) {
	class := lit.class
	if class == llm.Guess && r.Types != nil {
		class = r.Types.NotANumber(r.path(), string(word))
	}
	if class != llm.Intact {
		r.note("literal", class, r.tok.start, r.tok.start+len(word))
	}
	r.out = append(r.out, lit.json...)
	r.ended()
}

// isNumber writes word if it is a number. A number that the text ends in may
// have been cut off.
func (r *Reader) isNumber(word []byte, cut bool) bool {
	end := r.tok.start + len(word)
	if isNumber(word) {
		if cut {
			r.note("cut-number", llm.Truncation, r.tok.start, end)
		}
		r.out = append(r.out, word...)
		r.ended()
		return true
	}
	text, class := number(word, r.numbers)
	switch {
	case class == llm.Truncation:
		return false
	case cut:
		class = llm.Truncation
	case r.Types != nil && r.Types.WantsText(r.path()):
		r.note("number-as-text", llm.Coercion, r.tok.start, end)
		r.quote(word)
		r.ended()
		return true
	}
	r.note("number", class, r.tok.start, end)
	r.out = append(r.out, text...)
	r.ended()
	return true
}

// quote writes word as a JSON string.
func (r *Reader) quote(word []byte) {
	r.out = append(r.out, '"')
	for len(word) > 0 {
		c, n := utf8.DecodeRune(word)
		switch {
		case c == '"' || c == '\\':
			r.out = append(r.out, '\\', byte(c))
		case c < ' ':
			r.out = append(r.out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			r.out = utf8.AppendRune(r.out, c) // U+FFFD for what is no UTF-8
		}
		word = word[n:]
	}
	r.out = append(r.out, '"')
}

// number returns word as a JSON number and how sure that is; Truncation means
// that it is none. Leading zeros make an identifier, like a postcode, unless
// zeros allows them.
func number(word []byte, zeros bool) (string, llm.RepairClass) {
	s := string(word)
	if s == "" || strings.Trim(s, "0123456789+-.xXabcdefABCDEF_n") != "" {
		return "", llm.Truncation
	}
	sign, digits := "", s
	if s[0] == '-' || s[0] == '+' {
		sign, digits = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	if len(digits) > 2 && digits[0] == '0' && digits[1]|0x20 == 'x' {
		if n, ok := new(big.Int).SetString(digits[2:], 16); ok {
			return sign + n.String(), llm.Syntax
		}
		return "", llm.Truncation
	}
	digits = wholeDigits(digits)
	if isNumber(sign+digits) && digits != "0.0" {
		return sign + digits, llm.Syntax
	}
	return guessedNumber(sign, digits, zeros)
}

// wholeDigits adds the zeros that other languages leave out around a point, and
// takes away the n of a big integer.
func wholeDigits(digits string) string {
	if strings.HasPrefix(digits, ".") {
		digits = "0" + digits
	}
	digits = strings.TrimSuffix(digits, "n")
	for _, fix := range []struct{ old, new string }{{".e", ".0e"}, {".E", ".0E"}} {
		digits = strings.Replace(digits, fix.old, fix.new, 1)
	}
	if strings.HasSuffix(digits, ".") {
		digits += "0"
	}
	return digits
}

// guessedNumber is number for what is one only after a change that may be
// wrong.
func guessedNumber(sign, digits string, zeros bool) (string, llm.RepairClass) {
	if plain := strings.TrimLeft(digits, "0"); zeros && plain != digits {
		if plain == "" || !isDigit(plain[0]) {
			plain = "0" + plain
		}
		if isNumber(sign + plain) {
			return sign + plain, llm.Guess
		}
	}
	if cut := strings.TrimRight(digits, "eE+-"); cut != digits && isNumber(sign+cut) {
		return sign + cut, llm.Guess
	}
	if plain := strings.ReplaceAll(digits, "_", ""); plain != digits && isNumber(sign+plain) {
		return sign + plain, llm.Guess
	}
	return "", llm.Truncation
}

// isNumber reports whether s is a JSON number.
func isNumber[T string | []byte](s T) bool {
	i := 0
	if i < len(s) && s[i] == '-' {
		i++
	}
	digits := skipDigits(s, i)
	if digits == i || s[i] == '0' && digits > i+1 {
		return false
	}
	i = digits
	if i < len(s) && s[i] == '.' {
		if digits = skipDigits(s, i+1); digits == i+1 {
			return false
		}
		i = digits
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		if i++; i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		if digits = skipDigits(s, i); digits == i {
			return false
		}
		i = digits
	}
	return i == len(s)
}

func skipDigits[T string | []byte](s T, i int) int {
	for i < len(s) && isDigit(s[i]) {
		i++
	}
	return i
}
