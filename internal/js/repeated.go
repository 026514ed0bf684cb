package js

import (
	"unicode"
	"unicode/utf8"
)

// manyNames is how many names of an object are compared one by one.
const manyNames = 24

// Repeated returns a name that an object in valid JSON has twice, at any depth, and nil if there is
// none: readers differ in which of the two they take. In the outermost object names are the same
// that differ only in the case of their letters or in underscores, because some readers take one for
// the other; further down there are schemas and arguments, whose names may be anything.
func Repeated(v []byte) []byte {
	var room [32]object
	var names [64][]byte
	r := repeats{open: room[:0], names: names[:0]}
	for i := 0; i < len(v); i++ {
		switch v[i] {
		case '"':
			end := EndOfString(v, i)
			if r.naming {
				if name := plain(v[i:end]); r.has(name) {
					return name
				}
			}
			i, r.naming = end-1, false
		case '{', '[':
			r.open = append(r.open, object{first: len(r.names), is: v[i] == '{'})
			r.naming = v[i] == '{'
		case '}', ']':
			if n := len(r.open) - 1; n >= 0 {
				r.names, r.open = r.names[:r.open[n].first], r.open[:n]
			}
			r.naming = false
		case ',':
			r.naming = len(r.open) > 0 && r.open[len(r.open)-1].is
		}
	}
	return nil
}

// object is an object, or an array, that is being walked.
type object struct {
	first int // of its names
	is    bool
	many  map[string]bool // its names, if they are many
}

// repeats are the names so far of the objects around a place in a text.
type repeats struct {
	open   []object
	names  [][]byte
	naming bool // the next string is a name
}

// has reports whether the innermost object has a name already, and notes it if not.
func (r *repeats) has(name []byte) bool {
	if len(r.open) == 1 {
		name = folded(name)
	}
	o := &r.open[len(r.open)-1]
	if o.many != nil {
		had := o.many[string(name)]
		o.many[string(name)] = true
		return had
	}
	for _, other := range r.names[o.first:] {
		if string(other) == string(name) {
			return true
		}
	}
	r.names = append(r.names, name)
	if len(r.names)-o.first == manyNames {
		o.many = make(map[string]bool, 2*manyNames)
		for _, other := range r.names[o.first:] {
			o.many[string(other)] = true
		}
	}
	return false
}

// folded returns a name without the case of its letters, as encoding/json compares them, and without
// underscores.
func folded(name []byte) []byte {
	out := make([]byte, 0, len(name))
	for len(name) > 0 {
		c, n := utf8.DecodeRune(name)
		name = name[n:]
		if c == '_' {
			continue
		}
		for next := unicode.SimpleFold(c); ; c, next = next, unicode.SimpleFold(next) {
			if next <= c { // the orbit begins again: next is its least
				c = next
				break
			}
		}
		out = utf8.AppendRune(out, c)
	}
	return out
}
