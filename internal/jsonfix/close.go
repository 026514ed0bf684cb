package jsonfix

import (
	"unicode/utf8"

	"github.com/toolpost/toolpost/llm"
)

// Close tells r that the text has ended. It adds the closers that are missing
// (class completion), and ends a string, key, escape or number that was cut off
// (class truncated). It returns an error if there is no value or none can be
// made of what was read. After a Close without error, Done reports true.
func (r *Reader) Close() error {
	if r.done || r.err != nil {
		return r.err
	}
	r.run(true)
	if r.escaped && !r.done && r.err == nil && r.i < len(r.in) {
		r.takeOver()
		r.run(true)
	}
	if r.done || r.err != nil {
		return r.err
	}
	if len(r.stack) == 0 && r.mode == inStructure {
		r.fail(errNoValue)
		return r.err
	}
	if r.mode == inString && r.whole && r.endedInClosers() {
		r.run(true)
	}
	r.finishText()
	r.finishContainers(llm.Truncation)
	return r.err
}

// Settle tells r that nothing it waits for will come. If the value is complete
// but for that, it is done.
func (r *Reader) Settle() {
	if !r.Patient || r.done || r.err != nil || r.mode != inString || r.i >= len(r.in) || r.in[r.i] >= utf8.RuneSelf {
		return
	}
	if c := r.in[r.i]; (c == '"' || c == '\'' || c == '`') && r.complete(r.in[r.i+1:]) {
		r.run(true)
		r.compact()
	}
}

// complete reports whether rest, behind a string, closes all that is open.
func (r *Reader) complete(rest []byte) bool {
	open := len(r.stack)
	for _, c := range rest {
		switch {
		case isSpace(c):
		case open == 0 || closerOf[r.stack[open-1].open] != c:
			return open == 0
		default:
			open--
		}
	}
	return open == 0
}

// EndToken ends the number or word that is being read, if there is one: what
// follows it is none of the value, so that it was not cut off.
func (r *Reader) EndToken() {
	if r.mode == inToken && r.i == len(r.in) && r.err == nil {
		r.endToken(false)
	}
}

// finishText ends the string or token that the text ended in.
func (r *Reader) finishText() {
	switch r.mode {
	case inString:
		r.edit("missing-quote", llm.Truncation, r.i, r.i)
		r.out = append(r.out, '"')
		r.ended()
	case inToken:
		r.endToken(true)
	case inComment:
		r.mode = inStructure
	}
}

// finishContainers closes what is open. A value that is missing is null, and
// that is of the given class.
func (r *Reader) finishContainers(missing llm.RepairClass) {
	if len(r.stack) == 0 && !r.done {
		r.fail(errNoValue)
	}
	for !r.done && r.err == nil {
		if r.state == wantColon {
			r.endKey()
		}
		if r.state == wantValue && r.top().open != 'f' {
			r.edit("missing-value", missing, r.i, r.i)
			r.out = append(r.out, "null"...)
			r.state = wantComma
		}
		r.pop("missing-closer", llm.Completion)
	}
}
