package jsonfix

import (
	"bytes"

	"github.com/toolpost/toolpost/internal/js"
)

// keys are the keys of the outermost object. They show whether it has a key twice.
type keys struct {
	few      [8]span // where the first keys are in the output, quotes included
	n        int     // how many of few are in use
	all      map[string]bool
	repeated bool
}

type span struct{ from, to int }

// add adds the key that is written at s in out.
func (k *keys) add(out []byte, s span) {
	key := out[s.from:s.to]
	if k.all == nil {
		for _, other := range k.few[:k.n] {
			if sameKey(out[other.from:other.to], key) {
				k.repeated = true
				return
			}
		}
		if k.n < len(k.few) {
			k.few[k.n] = s
			k.n++
			return
		}
		k.all = make(map[string]bool)
		for _, other := range k.few {
			k.all[js.Text(out[other.from:other.to])] = true
		}
	}
	text := js.Text(key)
	k.repeated = k.all[text]
	k.all[text] = true
}

// sameKey reports whether two JSON strings have the same value.
func sameKey(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	return js.Text(a) == js.Text(b)
}
