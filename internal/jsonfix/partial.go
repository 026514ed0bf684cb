package jsonfix

import (
	"encoding/json"
	"slices"
	"strings"
)

// Partial returns the longest beginning of an incomplete text that already
// means something, as a whole JSON value: strings and containers are closed, a
// number keeps its valid part, a literal is spelled out, a key without a value
// is left out. It returns false while there is nothing to show.
func Partial(text string) (json.RawMessage, bool) {
	var r Reader
	r.Feed(text)
	return r.Partial()
}

// Partial is the function of the same name for what r has read so far. It
// does not change r.
func (r *Reader) Partial() (json.RawMessage, bool) {
	p := *r
	p.out, p.stack = slices.Clone(r.out), slices.Clone(r.stack)
	if p.err != nil {
		return nil, false
	}
	p.dropHalf()
	if len(p.out) == 0 {
		return nil, false
	}
	if p.mode == inString {
		p.out = append(p.out, '"')
	}
	for _, f := range slices.Backward(p.stack) {
		p.out = append(p.out, closerText[f.open]...)
	}
	return p.out, json.Valid(p.out)
}

var closerText = map[byte]string{'{': "}", '[': "]", '(': "]", 'f': ""}

// dropHalf takes back the key or value that says nothing yet.
func (r *Reader) dropHalf() {
	if r.mode == inToken && !r.tok.key {
		if text, ok := r.tok.partial(); ok {
			r.out = append(r.out, text...)
			return
		}
	}
	half := r.mode == inToken || r.mode == inString && r.str.key ||
		r.mode != inString && (r.state == wantColon || r.state == wantValue && !r.done)
	if !half {
		return
	}
	for len(r.stack) > 0 && r.top().open == 'f' { // a call without its argument
		r.stack = r.stack[:len(r.stack)-1]
	}
	r.mode = inStructure
	if len(r.stack) == 0 {
		r.out = r.out[:0]
		return
	}
	r.out = r.out[:r.top().mark]
}

// partial returns what a token already means.
func (t *token) partial() (string, bool) {
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
