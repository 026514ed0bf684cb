package jsonfix

import (
	"bytes"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// What a Reader can do only when it has the whole text and nothing of what it
// wrote has left: take back the end of a string whose quote is missing.

// readWhole reads a value from a text that is all there, without a copy. It
// returns how much of the text belongs to the value.
func (r *Reader) readWhole(text []byte) (int, error) {
	r.grow(min(len(text), 1<<8)) // the text may hold more than the value
	r.whole, r.in = true, text
	r.run(false)
	n := r.i
	if r.escaped {
		n += r.takeOver()
	}
	if !r.done && r.err == nil {
		n = len(text)
		r.Close()
	}
	return n, r.err
}

// quoteFollows reports whether rest holds another quote that could end the
// string.
func (r *Reader) quoteFollows(rest []byte) bool {
	switch r.str.quote {
	case quoteSingle:
		return bytes.ContainsAny(rest, "'`‘’‚‛´")
	case quoteCurly:
		return bytes.ContainsAny(rest, "\"“”„‟")
	}
	return bytes.IndexByte(rest, '"') >= 0
}

// endedBefore finds that the quote of n bytes at r.i opens the next string,
// because the one being read lacks its end: a comma stands before the quote,
// and a key or an item begins with it. It then goes back to the comma.
func (r *Reader) endedBefore(n int) bool {
	if len(r.stack) == 0 || n != 1 {
		return false
	}
	comma := r.i - 1
	for comma >= 0 && isSpace(r.in[comma]) {
		comma--
	}
	if comma < 0 || r.in[comma] != ',' || r.off+comma <= r.str.start {
		return false
	}
	look := lookahead{text: r.in[:min(len(r.in), r.i+maxLook)], i: r.i, final: true}
	if r.top().open == '{' && look.key(true) != closing || r.top().open != '{' && !look.wholeItem() {
		return false
	}
	r.goBack(comma)
	return true
}

// wholeItem reports whether a string starts here that an item of an array
// could be.
func (l *lookahead) wholeItem() bool {
	q := l.text[l.i]
	end := bytes.IndexByte(l.text[l.i+1:], q)
	if end < 0 {
		return false
	}
	l.i += end + 2
	l.space()
	c, ok := l.peek()
	return !ok || c == ',' || c == ']'
}

// endedInClosers finds that a string that never ended has swallowed the
// closing brackets of its containers, as in {"a":"b}, and goes back to them.
func (r *Reader) endedInClosers() bool {
	at, depth := len(r.in), len(r.stack)
	inner := r.in[max(r.str.start+1-r.off, 0):]
	for k := len(r.in) - 1; k >= 0 && r.off+k > r.str.start; k-- {
		c := r.in[k]
		if isSpace(c) {
			continue
		}
		if c != '}' && c != ']' {
			break
		}
		at = k
	}
	closers := slices.DeleteFunc(slices.Clone(r.in[at:]), isSpace)
	if len(closers) == 0 || len(closers) > depth || r.str.key {
		return false
	}
	for k, c := range closers {
		if closerOf[r.stack[depth-1-k].open] != c {
			return false
		}
		if open := openerOf[c]; bytes.IndexByte(inner, open) >= 0 { // it may close that one
			return false
		}
	}
	r.goBack(at)
	return true
}

// goBack ends the string before in[at], without the white space there. All
// between is unescaped ASCII, so it is known how it was written.
func (r *Reader) goBack(at int) {
	from := at
	for from > 0 && isSpace(r.in[from-1]) && r.off+from-1 > r.str.start {
		from--
	}
	for _, c := range r.in[from:r.i] {
		n := 1
		if c < ' ' {
			n = 2
		}
		r.out = r.out[:len(r.out)-n]
	}
	r.edits = slices.DeleteFunc(r.edits, func(e llm.Repair) bool { return e.Start >= r.Base+r.off+from && e.Rule == "control-character" })
	r.edit("missing-quote", llm.Guess, from, from)
	r.out = append(r.out, '"')
	r.i = at
	r.ended()
}
