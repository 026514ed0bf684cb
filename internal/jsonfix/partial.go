package jsonfix

import (
	"encoding/json"
	"slices"
)

// Partial returns the longest beginning of an incomplete text that already has a
// meaning, as a whole JSON value: strings and containers are closed, a number
// keeps its valid part, a literal is spelled out, a key without a value is left
// out. It returns false while there is no such beginning.
func Partial(text string) (json.RawMessage, bool) {
	var r Reader
	r.Feed(text)
	return r.Partial()
}

// Partial is the function of the same name for the text that r has read so far.
// It does not change r.
func (r *Reader) Partial() (json.RawMessage, bool) {
	if r.err != nil {
		return nil, false
	}
	out, stack := slices.Clone(r.out), r.stack
	switch text, ok := r.partialToken(); {
	case ok:
		out = append(out, text...)
	case r.mode == inString && !r.str.key:
		out = append(out, '"')
	case r.mode == inString || r.mode == inToken || r.state == wantColon || r.state == wantValue && !r.done:
		out, stack = r.beforeMember(out)
	}
	if len(out) == 0 {
		return nil, false
	}
	for _, f := range slices.Backward(stack) {
		out = f.appendCloser(out)
	}
	return out, json.Valid(out)
}

// partialToken returns the value of the token being read so far.
func (r *Reader) partialToken() (string, bool) {
	if r.mode != inToken || r.tok.key {
		return "", false
	}
	return r.tok.partial()
}

// beforeMember takes back an incomplete key or value, and calls without their
// argument.
func (r *Reader) beforeMember(out []byte) ([]byte, []frame) {
	stack := r.stack
	for len(stack) > 0 && stack[len(stack)-1].open == 'f' {
		stack = stack[:len(stack)-1]
	}
	if len(stack) == 0 {
		return nil, nil
	}
	return out[:stack[len(stack)-1].mark], stack
}
