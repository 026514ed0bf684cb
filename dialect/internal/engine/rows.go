package engine

import (
	"math/bits"
	"slices"

	"github.com/toolpost/toolpost/dialect/spec"
)

// rowSet is a set of rows of a table. It has a bit for each of the first rows,
// and as many further words as the table needs, so that a table can have any
// number of rows. Sets are values; what more points to is never changed.
type rowSet struct {
	low  [2]uint64
	more *[]uint64 // nil if there are none
}

const lowRows = 2 * 64

// oneRow returns the set of row i alone.
func oneRow(i int) (s rowSet) {
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
func (s rowSet) further() []uint64 {
	if s.more == nil {
		return nil
	}
	return *s.more
}

// and returns the rows that are in both sets.
func (s rowSet) and(t rowSet) rowSet {
	out := rowSet{low: [2]uint64{s.low[0] & t.low[0], s.low[1] & t.low[1]}}
	if s.more != nil && t.more != nil {
		more := make([]uint64, min(len(*s.more), len(*t.more)))
		for i := range more {
			more[i] = (*s.more)[i] & (*t.more)[i]
		}
		out.more = &more
	}
	return out
}

// or returns the rows that are in either set.
func (s rowSet) or(t rowSet) rowSet {
	out := rowSet{low: [2]uint64{s.low[0] | t.low[0], s.low[1] | t.low[1]}}
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

// empty reports whether no row is in the set.
func (s rowSet) empty() bool {
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

// meets reports whether a row is in both sets.
func (s rowSet) meets(t rowSet) bool {
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

// within reports whether every row of s is in t, as it is if s has none.
func (s rowSet) within(t rowSet) bool {
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

// only reports whether s has rows, and all of them are in t.
func (s rowSet) only(t rowSet) bool { return s.within(t) && !s.empty() }

// next returns the first row of the set from row i on, or -1.
func (s rowSet) next(i int) int {
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

// first returns the first row of the set, or -1.
func (s rowSet) first() int { return s.next(0) }

// narrow notes that what was read belongs to the given dialects. Where that
// contradicts what was read before, the later evidence counts.
func (m *machine) narrow(rows rowSet) {
	if m.rows.meets(rows) {
		m.rows = m.rows.and(rows)
	} else if !rows.empty() {
		m.rows = rows
	}
}

// form notes that the call has the given form. Where the calls before it had
// another, only the marker around it counts.
func (m *machine) form(f spec.Form) {
	switch all := m.lex.form[f]; {
	case m.rows.meets(all):
		m.rows = m.rows.and(all)
	case m.depth > 0 && m.outer.meets(all):
		m.rows = m.outer.and(all)
	}
}

// keep keeps the given dialects, if what was read fits any of them.
func (m *machine) keep(rows rowSet) {
	if m.rows.meets(rows) {
		m.rows = m.rows.and(rows)
	}
}

// row returns the row of the dialect that what was read fits best: the one
// hinted at if it is among them, else the first of the table.
func (m *machine) row() *spec.Dialect {
	i := m.rows.first()
	switch {
	case i < 0:
		return &noDialect
	case m.hint.meets(m.rows):
		i = m.hint.first()
	}
	return &m.lex.rows[i]
}

// noDialect is the row of text that no dialect claims.
var noDialect spec.Dialect

// dialect returns the name of the dialect we are in.
func (m *machine) dialect() string { return m.row().Name }
