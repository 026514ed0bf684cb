package jsonfix

import (
	"bytes"
	"unicode/utf8"
)

// maxLook bounds how far a Reader looks ahead to decide what a quote is.
const maxLook = 1 << 10

// role is the meaning of a quote inside a string.
type role uint8

const (
	undecided role = iota // more text will tell
	closing               // the end of the string
	content               // part of the text, unescaped
	joining               // "a" + "b": the string continues
)

// lookahead reads the text after a quote without consuming it.
type lookahead struct {
	b               *builder
	quote           quote // of the string that the quote may end
	key             bool  // that string is a key
	text            []byte
	i               int
	final, patient  bool
	spaced, newline bool // white space was skipped, and a line end in it
}

// role decides what a quote is from rest, the text after it. For joining it also
// returns how much of rest to skip. The answer for a text is also the answer for
// every longer one.
func (l *lookahead) role(rest []byte) (role, int) {
	b := l.b
	l.space()
	after := rest[l.i:] // may be longer than what lookahead reads
	if stop, maybe := b.atStop(after, l.final); stop || maybe {
		return endOr(stop), 0
	}
	c, ok := l.peek()
	switch {
	case !ok:
		return endOr(l.final), 0
	case c == '+':
		return l.join()
	case b.whole && len(b.stack) > 0 && !l.quote.occursIn(rest):
		return closing, 0 // there is no other quote to end the string
	case c == '/' && l.i+1 == len(l.text) && !l.final:
		return undecided, 0
	case beginsComment(after):
		return closing, 0
	case len(b.stack) == 0:
		return l.atRoot(after), 0
	case l.key:
		return l.afterKey(c), 0
	case b.inside('{'):
		return l.inObject(c), 0
	}
	return l.inArray(c), 0
}

// beginsComment reports whether rest begins with a comment.
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

// atRoot decides on a quote in a text that is one string: the last quote ends
// it, unless another value seems to follow.
func (l *lookahead) atRoot(rest []byte) role {
	if !l.quote.occursIn(rest) || rest[0] == ',' || l.newline {
		return closing
	}
	return content
}

// inObject decides on a quote in a value of an object.
func (l *lookahead) inObject(c byte) role {
	switch c {
	case '}':
		return l.afterClosers()
	case ']', ')':
		if l.b.closes(c) {
			return l.afterClosers()
		}
		return content
	case ',':
		if role, ok := l.pastComma(); ok {
			return role
		}
		return l.member(l.b.whole)
	case '"', '\'':
		return l.nextKey(true)
	}
	if l.newline && isWord(c) {
		return l.nextKey(false)
	}
	return content
}

// inArray decides on a quote in an item of an array or a tuple.
func (l *lookahead) inArray(c byte) role {
	switch c {
	case ']':
		return l.afterClosers()
	case '}', ')':
		if l.b.closes(c) {
			return closing
		}
		return content
	case ',':
		if role, ok := l.pastComma(); ok {
			return role
		}
		return l.item()
	case '"', '\'':
		if l.spaced {
			return closing
		}
		return l.adjacent()
	case '{', '[':
		return closing
	}
	if l.spaced && (isDigit(c) || c == '-') {
		return l.number()
	}
	if l.newline && isWord(c) {
		return closing
	}
	return content
}

// pastComma skips a comma and the white space after it. It decides if one of the
// markers that end the value follows.
func (l *lookahead) pastComma() (role, bool) {
	l.i++
	l.space()
	stop, maybe := l.b.atStop(l.text[l.i:], l.final)
	return endOr(stop), stop || maybe
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

// atEnd is the decision when the text ends: undecided if more of it may come.
func (l *lookahead) atEnd(decision role) role {
	if l.final {
		return decision
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
			return l.atEnd(closing), 0
		}
		l.i += end + 2
		l.space()
	}
	c, ok := l.peek()
	switch {
	case !ok:
		return l.atEnd(closing), 0
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
			return l.atEnd(closing)
		}
		if _, literal := literals[word]; literal {
			return closing
		}
	case c >= utf8.RuneSelf:
		if !utf8.FullRune(l.text[l.i:]) {
			return l.atEnd(content)
		}
		if q, _ := utf8.DecodeRune(l.text[l.i:]); isDoubleQuote(q) || isSingleQuote(q) {
			return closing
		}
	}
	return content
}

// word reads a word; ok is false if the word may continue.
func (l *lookahead) word() (word string, ok bool) {
	from := l.i
	for l.i < len(l.text) && (isWord(l.text[l.i]) || isDigit(l.text[l.i])) {
		l.i++
	}
	return string(l.text[from:l.i]), l.i < len(l.text)
}

// afterClosers decides on a quote that closers follow. It is the end, unless
// another quote follows them at once and text follows that, as in
// "He said "}" there".
func (l *lookahead) afterClosers() role {
	if !l.patient {
		return closing
	}
	for l.i < len(l.text) && bytes.IndexByte([]byte("}])"), l.text[l.i]) >= 0 {
		l.i++
	}
	if c, ok := l.peek(); !ok {
		return l.atEnd(closing)
	} else if c != '"' {
		return closing
	}
	l.i++
	l.spaced = false
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.atEnd(closing)
	case !isWord(c) && !isDigit(c):
		return closing
	case l.spaced:
		return content
	}
	return l.quotedKey()
}

// quotedKey decides after closers and a quote that a word follows: the word is a
// key after a missing comma, or text.
func (l *lookahead) quotedKey() role {
	for ; l.i < len(l.text) && l.text[l.i] != '"'; l.i++ {
	}
	l.i++
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.atEnd(content)
	case c == ':':
		return closing
	}
	return content
}

// member decides after a quote and a comma in an object: a key, a closer or
// another comma must follow, or the quote is content. With sure a quote alone
// does not count as the beginning of a key.
func (l *lookahead) member(sure bool) role {
	c, ok := l.peek()
	switch {
	case !ok:
		return l.atEnd(closing)
	case (c == '"' || c == '\'') && !sure:
		if !l.patient {
			return closing
		}
		if l.i+1 == len(l.text) {
			return l.atEnd(closing)
		}
		if isSpace(l.text[l.i+1]) && l.text[l.i+1] != '\n' { // no key begins with a space
			return l.nextKey(true)
		}
		return closing
	case c == '"' || c == '\'':
		return l.nextKey(true)
	case isWord(c) || isDigit(c):
		return l.nextKey(false)
	case c >= utf8.RuneSelf:
		return closing
	case bytes.IndexByte([]byte("}],./#{\\"), c) >= 0:
		return closing
	}
	return content
}

// nextKey decides whether a key and a colon follow: then the quote was the end.
func (l *lookahead) nextKey(quoted bool) role {
	if quoted {
		q := l.text[l.i]
		for l.i++; l.i < len(l.text) && l.text[l.i] != q; l.i++ {
			if l.text[l.i] == '\\' {
				l.i++
			}
		}
		l.i++
	} else if _, ok := l.word(); !ok {
		return l.atEnd(closing)
	} else if l.text[l.i] == '"' {
		l.i++
	}
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.atEnd(content)
	case c == ':', c == '=' && l.b.equals:
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
		return l.atEnd(closing)
	case isWord(c):
		word, ok := l.word()
		if !ok {
			return l.atEnd(closing)
		}
		if _, literal := literals[word]; literal || l.newline || l.text[l.i] == '(' {
			return closing
		}
		return content
	}
	return closing
}

// number decides on a number after a quote and white space in an array: the
// number is a value if it ends like one.
func (l *lookahead) number() role {
	for l.i < len(l.text) && (isDigit(l.text[l.i]) || bytes.IndexByte([]byte("+-.eE"), l.text[l.i]) >= 0) {
		l.i++
	}
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.atEnd(closing)
	case c == ',' || c == ']' || c == '{' || c == '[' || l.newline:
		return closing
	}
	return content
}

// adjacent decides on two adjacent quotes in an array: the first is content if
// the second ends the item.
func (l *lookahead) adjacent() role {
	l.i++
	l.space()
	c, ok := l.peek()
	switch {
	case !ok:
		return l.atEnd(content)
	case c == ',' || c == ']':
		return content
	}
	return closing
}

// wholeItem reports whether a string that could be an item of an array starts
// here.
func (l *lookahead) wholeItem() bool {
	end := bytes.IndexByte(l.text[l.i+1:], l.text[l.i])
	if end < 0 {
		return false
	}
	l.i += end + 2
	l.space()
	c, ok := l.peek()
	return !ok || c == ',' || c == ']'
}
