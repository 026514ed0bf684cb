package jsonfix

import (
	"bytes"

	"github.com/toolpost/toolpost/internal/js"
)

// keys are those of the outermost object, which readers of it may find twice.
type keys struct {
	few      [8]span // where the first ones stand in out, quotes included
	n        int     // how many of few are in use
	all      map[string]bool
	repeated bool
}

type span struct{ from, to int }

// RepeatsKey reports whether the value is an object that has a key twice so far,
// however the two are spelt. Keys of objects inside it do not count; see
// [DuplicateKeys] for those.
func (r *Reader) RepeatsKey() bool { return r.keys.repeated }

// endKey writes the colon behind a key.
func (r *Reader) endKey() {
	if r.outermost() && !r.keys.repeated {
		mark := r.top().mark
		member := r.out[mark:]
		from, to := bytes.IndexByte(member, '"'), bytes.LastIndexByte(member, '"')
		if from >= 0 && to > from {
			r.addKey(span{mark + from, mark + to + 1})
		}
	}
	r.out = append(r.out, ':')
	r.state = wantValue
}

// outermost reports whether the innermost container is the whole value, or the
// only argument of calls around it.
func (r *Reader) outermost() bool {
	for _, f := range r.stack[:len(r.stack)-1] {
		if f.open != 'f' {
			return false
		}
	}
	return true
}

func (r *Reader) addKey(s span) {
	k := &r.keys
	if k.all == nil {
		text := r.out[s.from:s.to]
		for _, other := range k.few[:k.n] {
			if sameKey(r.out[other.from:other.to], text) {
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
			k.all[js.Text(r.out[other.from:other.to])] = true
		}
	}
	text := js.Text(r.out[s.from:s.to])
	k.repeated = k.all[text]
	k.all[text] = true
}

// sameKey reports whether two strings of JSON say the same.
func sameKey(a, b []byte) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
		return false
	}
	return js.Text(a) == js.Text(b)
}
