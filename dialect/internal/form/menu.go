package form

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/spec"
)

// reader is one way to read the text at a spot S. Readers are in a list in
// the order in which they are asked: the first that fits reads, and what it
// reports counts. To read something new, add a reader to one of the lists.
type reader[S any] struct {
	name string
	// fits looks at what stands here. It reads nothing. Nil always fits.
	fits func(m *answer, s S) bool
	// read reads it and reports whether it was what it looked like. If not,
	// nothing was read.
	read func(m *answer, s S) bool
	// yields says that the next reader that fits is asked if read reports
	// false.
	yields bool
}

// ask lets the first reader that fits read the text at s. It reports whether
// something was read, and whether a reader decided.
func ask[S any](m *answer, list []reader[S], s S) (read, decided bool) {
	for i := range list {
		r := &list[i]
		if r.fits != nil && !r.fits(m, s) {
			continue
		}
		if r.read(m, s) {
			return true, true
		}
		if !r.yields {
			return false, true
		}
	}
	return false, false
}

// spot describes the next byte: a marker of n bytes, if there is one.
// The possible call began at start.
type spot struct {
	tok   *lexicon.Token
	n     int
	c     byte
	start int
}

// spotReader is a reader that is asked at some spots only. Which they are is
// known beforehand, so most of text is asked about seldom.
type spotReader struct {
	reader[spot]
	roles    []lexicon.Kind // the marker must play one of these
	marked   bool           // there must be a marker
	unmarked bool           // there must be none
	bytes    string         // the first byte must be one of these; empty is any
}

// menu is a list of readers by the spots at which they are asked.
type menu struct {
	lists    [][]reader[spot]
	unmarked [256]uint16 // the list by the first byte, where no marker stands
	marked   []uint16    // by the number of the marker
}

// at returns the readers that are asked at s.
func (u *menu) at(s spot) []reader[spot] {
	if s.tok == nil {
		return u.lists[u.unmarked[s.c]]
	}
	return u.lists[u.marked[s.tok.Number]]
}

func newMenu(all []spotReader, tokens []*lexicon.Token) (u menu) {
	known := make(map[string]uint16) // lists by the numbers of their readers: most are the same
	add := func(t *lexicon.Token, c byte) uint16 {
		list, numbers := choose(all, t, c)
		i, ok := known[numbers]
		if !ok {
			i = uint16(len(u.lists))
			known[numbers] = i
			u.lists = append(u.lists, list)
		}
		return i
	}
	for c := range u.unmarked {
		u.unmarked[c] = add(nil, byte(c))
	}
	for _, t := range tokens {
		u.marked = append(u.marked, add(t, t.Text[0]))
	}
	return u
}

// choose returns the readers that are asked where t, or no marker, stands and c
// is the first byte, and their numbers as a string.
func choose(all []spotReader, t *lexicon.Token, c byte) (list []reader[spot], numbers string) {
	for i := range all {
		r := &all[i]
		plays := len(r.roles) == 0
		for _, k := range r.roles {
			plays = plays || t.Is(k)
		}
		if plays && !(r.unmarked && t != nil) && !(r.marked && t == nil) && (r.bytes == "" || strings.IndexByte(r.bytes, c) >= 0) {
			numbers += string(rune(i))
			list = append(list, r.reader)
		}
	}
	return list, numbers
}

// readers are the lists of readers, by the place where they are asked.
type readers struct {
	early  menu             // in text, wherever a marker stands
	text   menu             // in text, where the marker may stand
	forms  menu             // where a call may stand: by its form
	named  []reader[named]  // after the name of a call
	member []reader[member] // after a key of an object that may be a call
}

func newReaders(tokens []*lexicon.Token) readers {
	return readers{
		early: newMenu(earlyReaders(), tokens), text: newMenu(textReaders(), tokens), forms: newMenu(formReaders(), tokens),
		named: namedReaders(), member: memberReaders(),
	}
}

// Table is a table of dialects made ready for reading. It does not change once it
// is made.
type Table struct {
	*lexicon.Lexicon
	readers readers
}

// New makes a table ready for reading. Its rows must be valid, and must not
// change.
func New(rows []spec.Dialect) *Table {
	x := lexicon.New(rows)
	return &Table{x, newReaders(x.Tokens())}
}
