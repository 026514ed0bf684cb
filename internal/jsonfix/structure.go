package jsonfix

import (
	"bytes"
	"cmp"
	"unicode"
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// structure reads what stands between strings and tokens. It returns true if
// it needs more text to go on.
func (r *Reader) structure(final bool) (more bool) {
	for r.i < len(r.in) && r.mode == inStructure && !r.done && r.err == nil {
		c := r.in[r.i]
		switch c {
		case ' ', '\t', '\n', '\r':
			r.space()
		case '"':
			r.beginString(quoteDouble, 1)
		case '{', '[', '(':
			r.open(c)
		case '}', ']', ')':
			r.close(c)
		case ',':
			r.comma()
		case ':':
			r.colon(1)
		case '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9', 't', 'f', 'n':
			if !r.scalar() {
				r.beginToken()
			}
		default:
			if r.unusual(c, final) {
				return true
			}
		}
	}
	return false
}

// space copies white space: after the first byte of the value, and behind a
// comma that is not certain yet.
func (r *Reader) space() {
	from := r.i
	for r.i < len(r.in) && isSpace(r.in[r.i]) {
		r.i++
	}
	switch {
	case len(r.stack) == 0: // around the value
	case len(r.pend) > 0:
		r.pend = append(r.pend, r.in[from:r.i]...)
	default:
		r.out = append(r.out, r.in[from:r.i]...)
	}
}

func isSpace(c byte) bool { return c == ' ' || c == '\n' || c == '\t' || c == '\r' }

// unusual reads what is not JSON syntax, or starts a number or a word.
func (r *Reader) unusual(c byte, final bool) (more bool) {
	rest := r.in[r.i:]
	switch stop, maybe := r.atStop(rest, final); {
	case maybe:
		return true
	case stop:
		r.finishContainers(llm.Guess)
	case c == '\'' || c == '`':
		return r.singleQuote(rest, final)
	case c == '/':
		return r.slashed(rest, final)
	case c == '#' && r.state != wantValue:
		r.beginComment('\n', 1)
	case c == '.' && r.state != wantValue:
		return r.ellipsis(rest, final)
	case c == '\\':
		return r.backslash(rest, final)
	case c == '=' && r.state == wantColon:
		return r.equals(rest, final)
	case c == 0:
		r.edit("control-character", llm.Syntax, r.i, r.i+1)
		r.i++
	case c >= utf8.RuneSelf:
		return r.beyondASCII(rest, final)
	default:
		r.beginToken()
	}
	return false
}

var fence = []byte("```")

// singleQuote reads an apostrophe or a backtick, which begins a string unless
// it begins a fence.
func (r *Reader) singleQuote(rest []byte, final bool) (more bool) {
	if rest[0] == '`' && len(rest) < 3 && !final && bytes.HasPrefix(fence, rest) {
		return true
	}
	if bytes.HasPrefix(rest, fence) {
		r.failf(r.i, "a code fence stands inside the value")
		return false
	}
	r.beginString(quoteSingle, 1)
	return false
}

// equals reads = or => in place of a colon.
func (r *Reader) equals(rest []byte, final bool) (more bool) {
	if len(rest) < 2 && !final {
		return true
	}
	n := 1
	if len(rest) > 1 && rest[1] == '>' {
		n = 2
	}
	r.edit("colon", llm.Syntax, r.i, r.i+n)
	r.colon(n)
	return false
}

// atStop reports whether rest starts with one of the markers that end the
// value, or may do so.
func (r *Reader) atStop(rest []byte, final bool) (stop, maybe bool) {
	for _, s := range r.Stops {
		n := min(len(s), len(rest))
		if s == "" || string(rest[:n]) != s[:n] {
			continue
		}
		if n == len(s) {
			return true, false
		}
		maybe = !final
	}
	return false, maybe
}

// slashed reads a comment, or a word that starts with a slash.
func (r *Reader) slashed(rest []byte, final bool) (more bool) {
	switch {
	case len(rest) < 2 && !final:
		return true
	case len(rest) > 1 && rest[1] == '/':
		r.beginComment('\n', 2)
	case len(rest) > 1 && rest[1] == '*':
		r.beginComment('*', 2)
	default:
		r.beginToken()
	}
	return false
}

func (r *Reader) beginComment(kind byte, n int) {
	r.edit("comment", llm.Syntax, r.i, r.i+n)
	r.mode, r.comment, r.star = inComment, kind, false
	r.i += n
}

func (r *Reader) skipComment() {
	for r.i < len(r.in) {
		c := r.in[r.i]
		if r.comment == '\n' && c == '\n' {
			break
		}
		r.i++
		if r.comment == '*' && r.star && c == '/' {
			break
		}
		r.star = c == '*'
		if r.i == len(r.in) {
			r.stretch()
			return
		}
	}
	r.stretch()
	r.mode = inStructure
}

// stretch makes the last edit reach to the next byte.
func (r *Reader) stretch() { r.edits[len(r.edits)-1].End = r.Base + r.off + r.i }

// ellipsis skips "..." where a value could stand: something was left out.
func (r *Reader) ellipsis(rest []byte, final bool) (more bool) {
	if len(rest) < 3 && !final && bytes.HasPrefix([]byte("..."), rest) {
		return true
	}
	if !bytes.HasPrefix(rest, []byte("...")) {
		r.beginToken()
		return false
	}
	r.edit("ellipsis", llm.Guess, r.i, r.i+3)
	r.i += 3
	return false
}

// backslash finds text that was escaped once too often, like {\"a\": 1}.
func (r *Reader) backslash(rest []byte, final bool) (more bool) {
	if len(rest) < 2 && !final {
		return true
	}
	if len(rest) > 1 && bytes.IndexByte([]byte(`"'ntr\`), rest[1]) >= 0 && !r.escaped {
		r.edit("escaped-twice", llm.Syntax, r.i, r.i+1)
		r.escaped = true
		return true // Feed takes over
	}
	if len(rest) > 1 && !isSpace(rest[1]) {
		r.failf(r.i, "a backslash stands outside a string")
		return false
	}
	r.edit("stray-backslash", llm.Syntax, r.i, r.i+1)
	r.i++
	return false
}

// beyondASCII reads curly quotes and the white space of other writing systems.
func (r *Reader) beyondASCII(rest []byte, final bool) (more bool) {
	if !utf8.FullRune(rest) && !final {
		return true
	}
	c, n := utf8.DecodeRune(rest)
	switch {
	case isDoubleQuote(c):
		r.edit("quotes", llm.Syntax, r.i, r.i+n)
		r.beginString(quoteCurly, n)
	case isSingleQuote(c):
		r.beginString(quoteSingle, n)
	case unicode.IsSpace(c) || c == '\ufeff' || c == '\u200b' || c == '\u180e' || c == '\u2060':
		r.edit("white-space", llm.Syntax, r.i, r.i+n)
		r.i += n
	case c == '…' && r.state != wantValue:
		r.edit("ellipsis", llm.Guess, r.i, r.i+n)
		r.i += n
	default:
		r.beginToken()
	}
	return false
}

func (r *Reader) top() *frame { return &r.stack[len(r.stack)-1] }

// within reports whether a container that opens with c is open.
func (r *Reader) within(c byte) bool {
	for k := len(r.stack) - 1; k >= 0; k-- {
		if r.stack[k].open == c {
			return true
		}
	}
	return false
}

// room makes the structure ready for a key or value that starts at r.i. It
// writes the comma or colon before it, and adds it if it is missing. It
// returns false if nothing can stand here.
func (r *Reader) room() bool {
	bareKey := r.bareKey
	r.bareKey = false
	switch r.state {
	case wantColon:
		class := llm.Syntax
		if bareKey { // without quotes and colon, who says that it is a key?
			class = llm.Guess
		}
		r.edit("missing-colon", class, r.i, r.i)
		r.endKey()
	case wantComma:
		if r.top().open == 'f' {
			r.failf(r.i, "a call with more than one argument is not a value")
			return false
		}
		r.top().mark = len(r.out)
		r.edit("missing-comma", r.commaClass(), r.i, r.i)
		r.out = append(r.out, ',')
		r.next()
	case wantItem, wantKey:
		if len(r.pend) > 0 {
			r.out = append(r.out, r.pend...)
			r.pend = r.pend[:0]
		}
	}
	if len(r.stack) > 0 && r.state != wantValue {
		r.top().count++
	}
	return true
}

// commaClass: two strings side by side in a list are one string in Python.
func (r *Reader) commaClass() llm.RepairClass {
	before := bytes.TrimRight(r.out, " \t\r")
	if c := r.in[r.i]; r.top().open != '{' && before[len(before)-1] == '"' && (c == '"' || c == '\'') {
		return llm.Guess
	}
	return llm.Syntax
}

// next is the state after a comma.
func (r *Reader) next() {
	if r.top().open == '{' {
		r.state = wantKey
	} else {
		r.state = wantItem
	}
}

// ended moves on after a whole key or value.
func (r *Reader) ended() {
	r.mode = inStructure
	switch {
	case len(r.stack) == 0:
		r.done = true
	case r.state == wantKey:
		r.state = wantColon
	default:
		r.state = wantComma
	}
}

func (r *Reader) open(c byte) {
	if r.state == wantKey || (r.state == wantComma && r.top().open == '{') {
		if c != '{' || len(r.stack) < 2 || r.stack[len(r.stack)-2].open != '[' {
			r.failf(r.i, "a key cannot start with %q", c)
			return
		}
		r.pop("missing-closer", llm.Guess) // [{"a":1,{"b":2}]
	}
	if !r.room() || !r.shallow() {
		return
	}
	if r.stack == nil {
		r.stack = make([]frame, 0, 8)
	}
	r.stack = append(r.stack, frame{open: c, start: r.off + r.i})
	if c == '{' {
		r.state = wantKey
	} else {
		r.state = wantItem
	}
	if c == '(' {
		r.edit("tuple", llm.Syntax, r.i, r.i+1)
		c = '['
	}
	r.out = append(r.out, c)
	r.top().mark = len(r.out)
	r.i++
}

// shallow reports whether one more container may open, and fails if not.
func (r *Reader) shallow() bool {
	limit := cmp.Or(r.MaxDepth, DefaultMaxDepth)
	if len(r.stack) >= limit {
		r.failf(r.i, "more than %d levels of nesting", limit)
	}
	return len(r.stack) < limit
}

var (
	closerOf = [256]byte{'{': '}', '[': ']', '(': ')', 'f': ')'}
	openerOf = [256]byte{'}': '{', ']': '[', ')': '('}
)

// close reads a closing bracket. One that fits an outer container closes the
// inner ones too; one that fits none is taken for the one that was due.
func (r *Reader) close(c byte) {
	if len(r.stack) == 0 {
		r.failf(r.i, "nothing is open that %q could close", c)
		return
	}
	if closerOf[r.top().open] != c {
		fits := r.within(openerOf[c]) || (c == ')' && r.within('f'))
		for fits && r.err == nil && closerOf[r.top().open] != c {
			r.pop("missing-closer", llm.Guess) // it may have been meant elsewhere
		}
		if !fits {
			r.edit("wrong-closer", llm.Guess, r.i, r.i+1)
		}
	}
	if r.err == nil {
		r.pop("", 0)
		r.i++
	}
}

// pop closes the innermost container here.
func (r *Reader) pop(rule string, class llm.RepairClass) {
	if !r.finishMember() {
		return
	}
	f := *r.top()
	comma := len(r.edits) > 0 && f.open == '(' && r.edits[len(r.edits)-1].Rule == "trailing-comma"
	r.stack = r.stack[:len(r.stack)-1]
	if rule != "" {
		r.edit(rule, class, r.i, r.i)
	}
	switch f.open {
	case '{':
		r.out = append(r.out, '}')
	case '[', '(':
		r.out = append(r.out, ']')
		if f.open == '(' && f.count == 1 && !comma {
			r.note("tuple", llm.Guess, f.start, f.start+1) // (1) is a tuple only with a comma
		}
	}
	r.state = wantValue
	r.ended()
}

// finishMember makes what was begun in the innermost container whole.
func (r *Reader) finishMember() bool {
	switch r.state {
	case wantItem, wantKey:
		if len(r.pend) > 0 {
			r.note("trailing-comma", llm.Syntax, r.commaAt, r.commaAt+1)
			r.out = append(r.out, r.pend[1:]...)
			r.pend = r.pend[:0]
		}
	case wantValue:
		if r.top().open == 'f' {
			r.failf(r.i, "a call without an argument is not a value")
			return false
		}
		r.edit("missing-value", llm.Guess, r.i, r.i)
		r.out = append(r.out, "null"...)
	case wantColon:
		r.failf(r.i, "a key has no value")
		return false
	}
	return true
}

func (r *Reader) comma() {
	switch r.state {
	case wantComma:
		if r.top().open == 'f' {
			r.failf(r.i, "a call with more than one argument is not a value")
			return
		}
		r.next()
		r.top().mark = len(r.out)
		if n := r.sureComma(); n > 0 {
			r.out = append(r.out, r.in[r.i:r.i+n]...)
			r.i += n
			return
		}
		r.pend = append(r.pend[:0], ',')
		r.commaAt = r.off + r.i
	case wantItem:
		r.edit("extra-comma", llm.Guess, r.i, r.i+1) // a value may be missing
	case wantKey:
		r.edit("extra-comma", llm.Syntax, r.i, r.i+1)
	case wantValue:
		if len(r.stack) == 0 || r.top().open != '{' {
			r.failf(r.i, "a value cannot start with a comma")
			return
		}
		r.edit("missing-value", llm.Guess, r.i, r.i)
		r.out = append(r.out, "null"...)
		r.state = wantComma
		return
	case wantColon:
		r.failf(r.i, "a key has no value")
		return
	}
	r.i++
}

// sureComma returns the length of a comma and the white space after it, if a
// key or value certainly follows, else 0.
func (r *Reader) sureComma() int {
	rest, n := r.in[r.i:], 1
	for n < len(rest) && isSpace(rest[n]) {
		n++
	}
	if n < len(rest) {
		switch c := rest[n]; {
		case c == '"', isDigit(c), isWord(c):
			return n
		case c == '{', c == '[':
			if r.top().open != '{' {
				return n
			}
		}
	}
	return 0
}

// colon reads n bytes that stand for a colon.
func (r *Reader) colon(n int) {
	switch {
	case r.state == wantColon:
		r.endKey()
	case r.state == wantValue && len(r.stack) > 0 && r.top().open == '{':
		r.edit("colon", llm.Syntax, r.i, r.i+n) // one too many
	default:
		r.failf(r.i, "a colon without a key")
		return
	}
	r.i += n
}
