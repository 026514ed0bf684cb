package js

import (
	"iter"
	"math"
	"slices"
)

// Ends holds the positions where the objects and arrays of a text end. A reader that works level by level would otherwise
// walk through each value to find its end. The nil Ends holds none, and its methods walk.
type Ends struct {
	text []byte
	list []span           // of long values, in the order in which they begin
	open [maxNested]int32 // by depth: the index in list of the open value
}

// span is an object or array: its first byte, and the first byte after it.
type span struct{ from, to int32 }

const (
	leastSpan    = 64   // bytes; walking a shorter value takes no longer than a lookup
	leastIndexed = 4096 // bytes; walking a shorter text takes no longer than an index
)

// CheckEnds is [Check], and also returns the ends in a large text, which must not change afterwards. Values that are not part
// of the text are walked.
func CheckEnds(text []byte) (valid, surrogates bool, ends *Ends) {
	if len(text) < leastIndexed || len(text) > math.MaxInt32 {
		valid, surrogates = Check(text)
		return valid, surrogates, nil
	}
	c := checker{text: text, ends: &Ends{text: text, list: make([]span, 0, len(text)/256)}}
	valid, surrogates = c.check()
	if !valid || c.deep {
		return valid, surrogates, nil
	}
	return valid, surrogates, c.ends
}

// opens adds an object or array that begins inside of depth others.
func (e *Ends) opens(at, depth int) {
	if e != nil {
		e.open[depth] = int32(len(e.list))
		e.list = append(e.list, span{from: int32(at)})
	}
}

// closes sets the end of the last one inside of depth others. A short one is removed. Everything inside of it was short too,
// so it is the last of the list.
func (e *Ends) closes(at, depth int) {
	if e == nil {
		return
	}
	last := e.open[depth]
	if e.list[last].to = int32(at); at-int(e.list[last].from) < leastSpan {
		e.list = e.list[:last]
	}
}

// skip returns where the value that starts at i ends.
func (e *Ends) skip(v []byte, i int) int {
	if e != nil && i < len(v) && (v[i] == '{' || v[i] == '[') {
		if n := e.length(v, i); n > 0 {
			return i + n
		}
	}
	return skip(v, i)
}

// length returns the length of the object or array that starts at i, and 0 if it is not in the list.
func (e *Ends) length(v []byte, i int) int {
	at := cap(e.text) - cap(v) + i // if v is a part of the text
	if at < 0 || at >= len(e.text) || &e.text[at] != &v[i] {
		return 0
	}
	k, found := slices.BinarySearchFunc(e.list, int32(at), func(s span, at int32) int { return int(s.from) - int(at) })
	if !found {
		return 0
	}
	if n := int(e.list[k].to) - at; n <= len(v)-i {
		return n
	}
	return 0
}

// Members is [Members] of a part of the text.
func (e *Ends) Members(v []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		if Kind(v) != '{' {
			return
		}
		i := space(v, 1)
		for i < len(v) && v[i] == '"' {
			end := EndOfString(v, i)
			key := v[i:end]
			i = space(v, end)
			if i >= len(v) || v[i] != ':' {
				return
			}
			i = space(v, i+1)
			end = e.skip(v, i)
			if end <= i || !yield(plain(key), v[i:end]) {
				return
			}
			i = space(v, end)
			if i >= len(v) || v[i] != ',' {
				return
			}
			i = space(v, i+1)
		}
	}
}

// Elements is [Elements] of a part of the text.
func (e *Ends) Elements(v []byte) iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		if Kind(v) != '[' {
			return
		}
		i := space(v, 1)
		for i < len(v) && v[i] != ']' {
			end := e.skip(v, i)
			if end <= i || !yield(v[i:end]) {
				return
			}
			i = space(v, end)
			if i >= len(v) || v[i] != ',' {
				return
			}
			i = space(v, i+1)
		}
	}
}

// Get is [Get] of a part of the text.
func (e *Ends) Get(v []byte, key string) []byte {
	var found []byte
	for k, val := range e.Members(v) {
		if string(k) == key {
			found = val
		}
	}
	return found
}
