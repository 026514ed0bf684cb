package jsonfix

import (
	"bytes"
	"unicode/utf8"
)

// maxLook bounds how far a Reader looks ahead to find out what a quote is.
const maxLook = 1 << 10

// role is what a quote inside a string turned out to be.
type role uint8

const (
	undecided role = iota // more text will tell
	closing               // the end of the string
	content               // part of the text, unescaped
	joining               // "a" + "b": the string goes on
)

// role finds out what a quote is from the text that follows it. For joining it
// also returns how much of rest to skip. Its answer for a text is its answer
// for every longer one.
func (r *Reader) role(rest []byte, final bool) (role, int) {
	if len(r.stack) == 0 && !r.whole {
		return closing, 0 // a string on its own: nothing after it matters
	}
	look := lookahead{text: rest, final: final, patient: r.Patient && !r.escaped && r.in[r.i] < utf8.RuneSelf}
	if len(rest) > maxLook {
		look.text, look.final = rest[:maxLook], true
	}
	look.space()
	if stop, maybe := r.atStop(rest[look.i:], look.final); stop || maybe {
		return endOr(stop), 0
	}
	c, ok := look.peek()
	switch {
	case !ok:
		return endOr(look.final), 0
	case c == '+':
		return look.join()
	case r.whole && len(r.stack) > 0 && !r.quoteFollows(rest):
		return closing, 0 // there is no other quote to end the string
	case c == '/' && look.i+1 == len(look.text) && !look.final:
		return undecided, 0
	case beginsComment(rest[look.i:]):
		return closing, 0
	case len(r.stack) == 0:
		return r.roleAtRoot(rest[look.i:], look.newline), 0
	case r.str.key:
		return look.afterKey(c), 0
	case r.top().open == '{':
		return r.roleInObject(&look, c), 0
	}
	return r.roleInArray(&look, c), 0
}

// beginsComment reports whether a comment stands at the beginning of rest.
func beginsComment(rest []byte) bool {
	return len(rest) > 1 && rest[0] == '/' && (rest[1] == '/' || rest[1] == '*')
}

// endOr returns that a quote ends its string if that is certain.
func endOr(certain bool) role {
	if certain {
		return closing
	}
	return undecided
}

// roleAtRoot decides on a quote in a text that is one string: the last quote
// ends it, unless another value seems to follow.
func (r *Reader) roleAtRoot(rest []byte, newline bool) role {
	if !r.quoteFollows(rest) || rest[0] == ',' || newline {
		return closing
	}
	return content
}

func (r *Reader) roleInObject(look *lookahead, c byte) role {
	switch c {
	case '}':
		return look.afterClosers()
	case ']', ')':
		if r.within(openerOf[c]) || c == ')' && r.within('f') {
			return look.afterClosers()
		}
		return content
	case ',':
		return r.afterComma(look, func() role { return look.member(r.whole) })
	case '"', '\'':
		return look.key(true)
	}
	if look.newline && isWord(c) {
		return look.key(false)
	}
	return content
}

// afterComma decides on a quote that a comma follows: a marker that ends the
// value may stand behind it, else what decides.
func (r *Reader) afterComma(look *lookahead, decide func() role) role {
	look.i++
	look.space()
	switch stop, maybe := r.atStop(look.text[look.i:], look.final); {
	case maybe:
		return undecided
	case stop:
		return closing
	}
	return decide()
}

func (r *Reader) roleInArray(look *lookahead, c byte) role {
	switch c {
	case ']':
		return look.afterClosers()
	case '}', ')':
		if r.within(openerOf[c]) || c == ')' && r.within('f') {
			return closing
		}
		return content
	case ',':
		return r.afterComma(look, look.item)
	case '"', '\'':
		if look.spaced {
			return closing
		}
		return look.adjacent()
	case '{', '[':
		return closing
	}
	if look.spaced && (isDigit(c) || c == '-') {
		return look.number()
	}
	if look.newline && isWord(c) {
		return closing
	}
	return content
}

// lookahead reads text without consuming it.
type lookahead struct {
	text            []byte
	i               int
	final, patient  bool
	spaced, newline bool // white space was skipped, and a line end in it
}

func (l *lookahead) space() {
	for ; l.i < len(l.text) && isSpace(l.text[l.i]); l.i++ {
		l.spaced = true
		l.newline = l.newline || l.text[l.i] == '\n'
	}
}

func (l *lookahead) peek() (byte, bool) {
	if l.i < len(l.text) {
		return l.text[l.i], true
	}
	return 0, false
}

// open is the answer when the text ends: more of it, or none will come.
func (l *lookahead) open(atEnd role) role {
	if l.final {
		return atEnd
	}
	return undecided
}

// join decides on "+" after a quote.
func (l *lookahead) join() (role, int) {
	l.i++
	l.space()
	if rest := l.text[l.i:]; len(rest) < 2 && !l.final {
		return undecided, 0
	} else if bytes.HasPrefix(rest, []byte("/*")) {
		end := bytes.Index(rest, []byte("*/"))
		if end < 0 {
			return l.open(closing), 0
		}
		l.i += end + 2
		l.space()
	}
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(closing), 0
	case c == '"' || c == '\'':
		return joining, l.i + 1
	}
	return content, 0
}

// afterKey decides on a quote in a key.
func (l *lookahead) afterKey(c byte) role {
	switch {
	case bytes.IndexByte([]byte(`:="'{[,}]`), c) >= 0, isDigit(c), c == '-':
		return closing
	case isWord(c):
		word, ok := l.word()
		if !ok {
			return l.open(closing)
		}
		if _, literal := literals[word]; literal {
			return closing
		}
	case c >= utf8.RuneSelf:
		if !utf8.FullRune(l.text[l.i:]) {
			return l.open(content)
		}
		if q, _ := utf8.DecodeRune(l.text[l.i:]); isDoubleQuote(q) || isSingleQuote(q) {
			return closing
		}
	}
	return content
}

// word reads a word; ok is false if it may go on.
func (l *lookahead) word() (word string, ok bool) {
	from := l.i
	for l.i < len(l.text) && (isWord(l.text[l.i]) || isDigit(l.text[l.i])) {
		l.i++
	}
	return string(l.text[from:l.i]), l.i < len(l.text)
}

// afterClosers decides on a quote that closers follow: it is the end, unless
// another quote stands right behind them and text behind that, as in
// "He said "}" there".
func (l *lookahead) afterClosers() role {
	if !l.patient {
		return closing
	}
	for l.i < len(l.text) && bytes.IndexByte([]byte("}])"), l.text[l.i]) >= 0 {
		l.i++
	}
	if c, ok := l.peek(); !ok {
		return l.open(closing)
	} else if c != '"' {
		return closing
	}
	l.i++
	l.spaced = false
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(closing)
	case !isWord(c) && !isDigit(c):
		return closing
	case l.spaced:
		return content
	}
	return l.quotedKey()
}

// quotedKey decides after closers and a quote that a word follows: the word is a
// key, behind a comma that is missing, or text.
func (l *lookahead) quotedKey() role {
	for ; l.i < len(l.text) && l.text[l.i] != '"'; l.i++ {
	}
	l.i++
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(content)
	case c == ':':
		return closing
	}
	return content
}

// member decides after a quote and a comma in an object: a key, a closer or
// another comma must follow, or the quote is content.
func (l *lookahead) member(sure bool) role {
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(closing)
	case (c == '"' || c == '\'') && !sure:
		if !l.patient {
			return closing
		}
		if l.i+1 == len(l.text) {
			return l.open(closing)
		}
		if isSpace(l.text[l.i+1]) && l.text[l.i+1] != '\n' { // no key begins with a space
			return l.key(true)
		}
		return closing
	case c == '"' || c == '\'':
		return l.key(true)
	case isWord(c) || isDigit(c):
		return l.key(false)
	case c >= utf8.RuneSelf:
		return closing
	case bytes.IndexByte([]byte("}],./#{\\"), c) >= 0:
		return closing
	}
	return content
}

// key decides whether a key and a colon follow: then the quote before was the
// end.
func (l *lookahead) key(quoted bool) role {
	if quoted {
		q := l.text[l.i]
		for l.i++; l.i < len(l.text) && l.text[l.i] != q; l.i++ {
			if l.text[l.i] == '\\' {
				l.i++
			}
		}
		l.i++
	} else if _, ok := l.word(); !ok {
		return l.open(closing)
	} else if l.text[l.i] == '"' {
		l.i++
	}
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(content)
	case c == ':':
		return closing
	case !quoted || c == '"' || c == '\'' || c == ',' || c == '}' || c == ']':
		return content
	}
	return l.afterKey(c)
}

// item decides after a quote and a comma in an array.
func (l *lookahead) item() role {
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(closing)
	case isWord(c):
		word, ok := l.word()
		if !ok {
			return l.open(closing)
		}
		if _, literal := literals[word]; literal || l.newline || l.text[l.i] == '(' {
			return closing
		}
		return content
	}
	return closing
}

// number decides on a number after a quote and white space in an array: a
// value if it ends like one.
func (l *lookahead) number() role {
	for l.i < len(l.text) && (isDigit(l.text[l.i]) || bytes.IndexByte([]byte("+-.eE"), l.text[l.i]) >= 0) {
		l.i++
	}
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(closing)
	case c == ',' || c == ']' || c == '{' || c == '[' || l.newline:
		return closing
	}
	return content
}

// adjacent decides on two quotes side by side in an array: the first is
// content if the second ends the item.
func (l *lookahead) adjacent() role {
	l.i++
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.open(content)
	case c == ',' || c == ']':
		return content
	}
	return closing
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isWord(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' || c == '_' || c == '$' }
