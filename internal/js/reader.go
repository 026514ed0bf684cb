package js

import (
	"strconv"
	"unicode/utf8"
)

// Reader walks an unchecked JSON text once and checks syntax, depth, and that nothing follows the value. It decodes
// nothing: strings and numbers are parts of the text. The work is linear and nothing is allocated.
//
//	r.Peek()                       // { [ " or the first byte of anything else
//	r.Enter()                      // past { or [
//	for first := true; ; first = false {
//		more, err := r.Next('}', first)
//		…                          // r.Name, then a value
//	}
type Reader[T []byte | string] struct {
	Text T
	Pos  int
	// Max is how deep objects and arrays may be nested.
	Max int

	depth int
}

// SyntaxError is a problem in a text and its position.
type SyntaxError struct {
	Offset  int
	Problem string
	Early   bool // the text ends too early
}

// Error returns the problem and where it is.
func (e *SyntaxError) Error() string {
	if e.Early {
		return e.Problem
	}
	return "at byte " + strconv.Itoa(e.Offset) + ": " + e.Problem
}

// Fail returns an error at the reader.
func (r *Reader[T]) Fail(problem string) error { return &SyntaxError{Offset: r.Pos, Problem: problem} }

func (r *Reader[T]) early() error {
	return &SyntaxError{Offset: len(r.Text), Problem: "the JSON ends too early", Early: true}
}

// Peek skips white space and returns the next byte, 0 at the end.
func (r *Reader[T]) Peek() byte {
	for r.Pos < len(r.Text) {
		switch c := r.Text[r.Pos]; c {
		case ' ', '\t', '\n', '\r':
			r.Pos++
		default:
			return c
		}
	}
	return 0
}

// Enter goes past the { or [ at the reader.
func (r *Reader[T]) Enter() error {
	if r.depth++; r.depth > r.Max {
		return r.Fail("nested deeper than " + strconv.Itoa(r.Max) + " levels")
	}
	r.Pos++
	return nil
}

// Next goes to the next member or item of the object or array that ends with
// closer, or past its end. It reports whether there is one. First says that
// there was none before.
func (r *Reader[T]) Next(closer byte, first bool) (more bool, err error) {
	switch c := r.Peek(); {
	case c == closer:
		r.Pos++
		r.depth--
		return false, nil
	case first && c != 0:
		return true, nil
	case c == ',':
		r.Pos++
		return true, nil
	case c == 0 && r.Pos >= len(r.Text):
		return false, r.early()
	case closer == '}':
		return false, r.Fail("no comma or end of the object here")
	}
	return false, r.Fail("no comma or end of the array here")
}

// Name reads the name of a member and the colon after it. See [Reader.String].
func (r *Reader[T]) Name() (quoted T, plain bool, err error) {
	if r.Peek() != '"' {
		if r.Pos >= len(r.Text) {
			return quoted, false, r.early()
		}
		return quoted, false, r.Fail("an object needs a name in double quotes here")
	}
	if quoted, plain, err = r.String(); err != nil {
		return quoted, false, err
	}
	if r.Peek() != ':' {
		return quoted, false, r.Fail("no colon after a name")
	}
	r.Pos++
	return quoted, plain, nil
}

// String reads the string at the reader and returns it with its quotes. Plain
// means that there are no escapes, so that the text between the quotes is the decoded text.
// UTF-8 is not checked. [AppendUnquoted] decodes it.
func (r *Reader[T]) String() (quoted T, plain bool, err error) {
	text, start := r.Text, r.Pos
	i := start + 1
	plain = true
	for {
		for i < len(text) && !special[text[i]] {
			i++
		}
		if i >= len(text) {
			r.Pos = len(text)
			return quoted, false, r.early()
		}
		if text[i] == '"' {
			r.Pos = i + 1
			return text[start : i+1], plain, nil
		}
		n := 0
		if text[i] == '\\' {
			n = escapeLength(text[i:min(i+6, len(text))])
		}
		if n == 0 {
			return quoted, false, r.badByte(i)
		}
		plain = false
		i += n
	}
}

// badByte returns the error for the byte of a string at i.
func (r *Reader[T]) badByte(i int) error {
	r.Pos = i
	if r.Text[i] == '\\' {
		return r.Fail("an escape that means nothing")
	}
	return r.Fail("a control character inside a string")
}

// special are the bytes that end a run of literal bytes in a string.
var special = func() (set [256]bool) {
	for c := range ' ' {
		set[c] = true
	}
	set['"'], set['\\'] = true, true
	return set
}()

// escapeLength returns the length of the escape at the start of s, 0 if it is
// none.
func escapeLength[T []byte | string](s T) int {
	switch {
	case len(s) >= 2 && escapes[s[1]] != 0:
		return 2
	case len(s) >= 6 && s[1] == 'u' && hexDigits4(s[2], s[3], s[4], s[5]) >= 0:
		return 6
	}
	return 0
}

// Number reads the number at the reader. Integer means that it has neither a
// fraction nor an exponent.
func (r *Reader[T]) Number() (literal T, integer bool, err error) {
	n, integer := NumberLength(r.Text[r.Pos:])
	if n == 0 {
		if r.Pos >= len(r.Text) {
			return literal, false, r.early()
		}
		return literal, false, r.Fail("not a JSON value")
	}
	literal = r.Text[r.Pos : r.Pos+n]
	r.Pos += n
	return literal, integer, nil
}

// NumberLength returns the length of the JSON number at the start of s, 0 if
// there is none, and whether it has neither a fraction nor an exponent.
func NumberLength[T []byte | string](s T) (n int, integer bool) {
	i := 0
	if len(s) > 0 && s[0] == '-' {
		i++
	}
	whole := digits(s, i)
	if whole == 0 || whole > 1 && s[i] == '0' {
		return 0, false
	}
	i += whole
	integer = true
	if i < len(s) && s[i] == '.' {
		n := digits(s, i+1)
		if n == 0 {
			return 0, false
		}
		i, integer = i+1+n, false
	}
	if i < len(s) && s[i]|0x20 == 'e' {
		i++
		if i < len(s) && (s[i] == '+' || s[i] == '-') {
			i++
		}
		n := digits(s, i)
		if n == 0 {
			return 0, false
		}
		i, integer = i+n, false
	}
	return i, integer
}

func digits[T []byte | string](s T, from int) int {
	i := from
	for i < len(s) && '0' <= s[i] && s[i] <= '9' {
		i++
	}
	return i - from
}

// Word reads true, false or null at the reader.
func (r *Reader[T]) Word() (word string, err error) {
	switch r.Peek() {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	}
	if word == "" || len(r.Text)-r.Pos < len(word) || string(r.Text[r.Pos:r.Pos+len(word)]) != word {
		return "", r.Fail("not a JSON value")
	}
	r.Pos += len(word)
	return word, nil
}

// End checks that only white space is left.
func (r *Reader[T]) End() error {
	if r.Peek(); r.Pos < len(r.Text) {
		return r.Fail("more text after the JSON value")
	}
	return nil
}

// AppendUnquoted appends the decoded text of a string that [Reader.String] has read. An unpaired surrogate becomes
// U+FFFD, and exact is false then. Bytes that are not UTF-8 are kept.
func AppendUnquoted[T []byte | string](dst []byte, quoted T) (out []byte, exact bool) {
	exact = true
	body := quoted[1 : len(quoted)-1]
	plain := 0
	for i := 0; i < len(body); {
		if body[i] != '\\' {
			i++
			continue
		}
		dst = append(dst, body[plain:i]...)
		r, n := unescape(body[i:min(i+12, len(body))])
		exact = exact && n > 0
		if n < 0 {
			n = -n
		}
		dst = utf8.AppendRune(dst, r)
		i += n
		plain = i
	}
	return append(dst, body[plain:]...), exact
}

// Unquote returns the decoded text of a string that [Reader.String] has read. Bytes that
// are not UTF-8 and halves of surrogate pairs become U+FFFD, as encoding/json
// has it.
func Unquote(quoted string) string {
	body := quoted[1 : len(quoted)-1]
	out := make([]byte, 0, len(body))
	for i := 0; i < len(body); {
		switch c := body[i]; {
		case c == '\\':
			r, n := unescape(body[i:min(i+12, len(body))])
			if n < 0 {
				n = -n
			}
			out = utf8.AppendRune(out, r)
			i += n
		case c < utf8.RuneSelf:
			out = append(out, c)
			i++
		default:
			r, n := utf8.DecodeRuneInString(body[i:])
			out = utf8.AppendRune(out, r)
			i += n
		}
	}
	return string(out)
}
