package jsonfix

import (
	"encoding/json"

	"github.com/toolpost/toolpost/llm"
)

// Close tells r that the text has ended. It adds the closers that are missing
// (class completion), and ends a string, key or escape that was cut off (class
// truncated). It returns an error if there is no value or none can be made of
// what was read. After a Close without error, Done reports true.
func (r *Reader) Close() error {
	if r.done || r.err != nil {
		return r.err
	}
	if r.escaped && r.slash {
		r.slash = false
	}
	r.run(true)
	if r.escaped && !r.done && r.err == nil && r.i < len(r.in) {
		rest := append([]byte(nil), r.in[r.i:]...)
		r.in, r.i = r.in[:0], 0
		r.feedEscaped(rest)
		r.run(true)
	}
	if r.done || r.err != nil {
		return r.err
	}
	if len(r.stack) == 0 && r.mode == inStructure {
		r.fail(errNoValue)
		return r.err
	}
	r.finishText()
	r.finishContainers()
	return r.err
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

// finishContainers closes what is open.
func (r *Reader) finishContainers() {
	for !r.done && r.err == nil {
		if r.state == wantColon {
			r.out = append(r.out, ':')
			r.state = wantValue
		}
		if r.state == wantValue && r.top().open != 'f' {
			r.edit("missing-value", llm.Truncation, r.i, r.i)
			r.out = append(r.out, "null"...)
			r.state = wantComma
		}
		r.pop("missing-closer", llm.Completion)
	}
}

// Partial returns the longest part of an incomplete text that already means
// something, as a whole JSON value: open strings and containers are closed, a
// key without a value and a number or literal that may go on are left out. It
// returns false while there is nothing to show.
func Partial(text string) (json.RawMessage, bool) {
	var r Reader
	r.Feed(text)
	return r.Partial()
}

// Partial is the function of the same name for what r has read so far. It
// does not change r.
func (r *Reader) Partial() (json.RawMessage, bool) {
	if len(r.out) == 0 && r.mode != inToken {
		return nil, false
	}
	p := *r
	p.out = append([]byte(nil), r.out...)
	p.stack = append([]frame(nil), r.stack...)
	p.edits = nil
	p.pend = nil
	p.in = append([]byte(nil), r.in...)
	if err := p.Close(); err != nil {
		return nil, false
	}
	return p.out, true
}
