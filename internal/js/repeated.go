package js

import "sync"

// manyNames is how many names of an object are compared one by one.
const manyNames = 24

// Repeated returns a name that an object in valid JSON has twice, at any depth, and nil if there is none. Readers differ in
// which of the two they take. In the outermost object, names are compared by [AppendFolded]. Deeper objects may be schemas
// and arguments, where names are compared exactly.
func Repeated(v []byte) []byte {
	r := walks.Get().(*repeats)
	defer r.done()
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
	folded []byte // the names of the outermost object, folded for comparison
	naming bool   // the next string is a name
}

// walks are finished walks for reuse: most documents are small, and a request waits for each.
var walks = sync.Pool{New: func() any {
	return &repeats{open: make([]object, 0, 32), names: make([][]byte, 0, 64), folded: make([]byte, 0, 256)}
}}

// done makes the walk ready for another document.
func (r *repeats) done() {
	if cap(r.open)+cap(r.names)+cap(r.folded) > 4096 { // a large document
		return
	}
	clear(r.open[:cap(r.open)])
	clear(r.names[:cap(r.names)])
	*r = repeats{open: r.open[:0], names: r.names[:0], folded: r.folded[:0]}
	walks.Put(r)
}

// has reports whether the innermost object has a name already, and adds the name if not.
func (r *repeats) has(name []byte) bool {
	if len(r.open) == 1 {
		begin := len(r.folded)
		r.folded = AppendFolded(r.folded, name)
		name = r.folded[begin:]
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
