package lexicon

import (
	"math/bits"
	"slices"

	"github.com/toolpost/toolpost/dialect/spec"
)

// RowSet is a set of rows of a table. It has a bit for each of the first rows,
// and as many further words as the table needs, so a table can have any
// number of rows. Sets are values; what more points to is never changed.
type RowSet struct {
	low  [2]uint64
	more *[]uint64 // nil if there are none
}

const lowRows = 2 * 64

// oneRow returns the set of row i alone.
func oneRow(i int) (s RowSet) {
	if i < lowRows {
		s.low[i/64] = 1 << (i % 64)
		return s
	}
	more := make([]uint64, (i-lowRows)/64+1)
	more[len(more)-1] = 1 << (i % 64)
	s.more = &more
	return s
}

// further returns the words beyond the first.
func (s RowSet) further() []uint64 {
	if s.more == nil {
		return nil
	}
	return *s.more
}

// And returns the rows that are in both sets.
func (s RowSet) And(t RowSet) RowSet {
	out := RowSet{low: [2]uint64{s.low[0] & t.low[0], s.low[1] & t.low[1]}}
	if s.more != nil && t.more != nil {
		more := make([]uint64, min(len(*s.more), len(*t.more)))
		for i := range more {
			more[i] = (*s.more)[i] & (*t.more)[i]
		}
		out.more = &more
	}
	return out
}

// Or returns the rows that are in either set.
func (s RowSet) Or(t RowSet) RowSet {
	out := RowSet{low: [2]uint64{s.low[0] | t.low[0], s.low[1] | t.low[1]}}
	long, short := s.further(), t.further()
	if len(long) < len(short) {
		long, short = short, long
	}
	if len(long) > 0 {
		more := slices.Clone(long)
		for i, w := range short {
			more[i] |= w
		}
		out.more = &more
	}
	return out
}

// Empty reports whether no row is in the set.
func (s RowSet) Empty() bool {
	if s.low != [2]uint64{} {
		return false
	}
	for _, w := range s.further() {
		if w != 0 {
			return false
		}
	}
	return true
}

// Meets reports whether a row is in both sets.
func (s RowSet) Meets(t RowSet) bool {
	if s.low[0]&t.low[0]|s.low[1]&t.low[1] != 0 {
		return true
	}
	if s.more == nil || t.more == nil {
		return false
	}
	for i := range min(len(*s.more), len(*t.more)) {
		if (*s.more)[i]&(*t.more)[i] != 0 {
			return true
		}
	}
	return false
}

// Within reports whether every row of s is in t, unchanged if s has none.
func (s RowSet) Within(t RowSet) bool {
	if s.low[0]&^t.low[0]|s.low[1]&^t.low[1] != 0 {
		return false
	}
	other := t.further()
	for i, w := range s.further() {
		if i < len(other) {
			w &^= other[i]
		}
		if w != 0 {
			return false
		}
	}
	return true
}

// Only reports whether s has rows, and all of them are in t.
func (s RowSet) Only(t RowSet) bool { return s.Within(t) && !s.Empty() }

// Next returns the first row of the set from row i on, or -1.
func (s RowSet) Next(i int) int {
	more := s.further()
	for word := i / 64; word < len(s.low)+len(more); word++ {
		var w uint64
		if word < len(s.low) {
			w = s.low[word]
		} else {
			w = more[word-len(s.low)]
		}
		if word == i/64 {
			w &= ^uint64(0) << (i % 64)
		}
		if w != 0 {
			return word*64 + bits.TrailingZeros64(w)
		}
	}
	return -1
}

// First returns the first row of the set, or -1.
func (s RowSet) First() int { return s.Next(0) }

// NoDialect is the row of text that no dialect claims.
var NoDialect spec.Dialect
