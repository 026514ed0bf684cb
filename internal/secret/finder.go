package secret

import "bytes"

// Finder looks for forms of secrets in text that nearly always holds none. It looks at two bytes in
// as many as the shortest form has, where those are part of no form (the method of Wu and Manber):
// a stream that is passed on can be looked through at little cost. Nil finds nothing.
type Finder struct {
	forms [][]byte
	least int            // the length of the shortest form
	skip  [1 << 12]uint8 // by two bytes: the shortest distance from them to the end of a form
}

// pair is the place of two bytes in Finder.skip.
func pair(a, b byte) uint32 { return (uint32(a) | uint32(b)<<8) * 2654435761 >> 20 }

// NewFinder returns a finder of forms, nil if there are none. Forms of a single byte are left out.
func NewFinder(forms ...string) *Finder {
	f := new(Finder)
	for _, form := range forms {
		if len(form) < 2 {
			continue
		}
		f.forms = append(f.forms, []byte(form))
		if f.least == 0 || len(form) < f.least {
			f.least = len(form)
		}
	}
	if len(f.forms) == 0 {
		return nil
	}
	f.least = min(f.least, 1<<8) // a skip must fit into a byte
	for i := range f.skip {
		f.skip[i] = uint8(f.least - 1)
	}
	for _, form := range f.forms {
		for end := 1; end < f.least; end++ {
			at := pair(form[end-1], form[end])
			f.skip[at] = min(f.skip[at], uint8(f.least-1-end))
		}
	}
	return f
}

// In reports whether text contains one of the forms.
func (f *Finder) In(text []byte) bool {
	if f == nil {
		return false
	}
	for end := f.least - 1; end < len(text); {
		if n := f.skip[pair(text[end-1], text[end])]; n > 0 {
			end += int(n)
			continue
		}
		for _, form := range f.forms {
			if bytes.HasPrefix(text[end-f.least+1:], form) {
				return true
			}
		}
		end++
	}
	return false
}
