package form

import (
	"strings"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/spec"
)

// reader is one way to read the text at a spot S. The readers of a list are asked in order. The first one that fits
// reads the text, and its result counts. To read a new form, add a reader to one of the lists.
type reader[S any] struct {
	name string
	// fits checks the text without reading it. A nil function always fits.
	fits func(m *answer, s S) bool
	// read reads the text and reports whether it had the expected form. If not, nothing was read.
	read func(m *answer, s S) bool
	// yields lets ask continue with the next reader that fits if read reports false.
	yields bool
}

// ask lets the first reader that fits read the text at s. It reports whether something was read, and whether a reader
// decided about the text.
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

// spot describes the next byte c and the marker tok of n bytes that begins with it, if any. start is the offset of the
// possible call.
type spot struct {
	tok   *lexicon.Token
	n     int
	c     byte
	start int
}

// spotReader is a reader that is asked only at some spots. The lists for all spots are computed in advance, so most of
// the text is read without asking any.
type spotReader struct {
	reader[spot]
	roles    []lexicon.Kind // the marker must have one of these roles
	marked   bool           // only at a marker
	unmarked bool           // only where there is no marker
	bytes    string         // the first byte must be one of these; if empty, any byte
}

// menu maps each spot to the readers that are asked there.
type menu struct {
	lists    [][]reader[spot]
	unmarked [256]uint16 // index in lists by first byte, if there is no marker
	marked   []uint16    // index in lists by the number of the marker
}

// at returns the readers that are asked at s.
func (u *menu) at(s spot) []reader[spot] {
	if s.tok == nil {
		return u.lists[u.unmarked[s.c]]
	}
	return u.lists[u.marked[s.tok.Number]]
}

func newMenu(all []spotReader, tokens []*lexicon.Token) (u menu) {
	known := make(map[string]uint16) // indexes by the readers in a list; many lists are equal
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

// choose returns the readers to ask if the marker is t, or nil, and the first byte is c. It also returns their numbers
// as a string.
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

// readers are the lists of readers for each kind of place.
type readers struct {
	early  menu             // in text, for a marker at any place
	text   menu             // in text, for a marker at a valid place
	forms  menu             // where a call may begin: by its form
	named  []reader[named]  // after the name of a call
	member []reader[member] // after a key of an object that may be a call
}

func newReaders(tokens []*lexicon.Token) readers {
	return readers{
		early: newMenu(earlyReaders(), tokens), text: newMenu(textReaders(), tokens), forms: newMenu(formReaders(), tokens),
		named: namedReaders(), member: memberReaders(),
	}
}

// Table is a table of dialects, prepared for reading. It is immutable.
type Table struct {
	*lexicon.Lexicon
	readers readers
}

// New prepares a table for reading. Its rows must be valid and must not change afterwards.
func New(rows []spec.Dialect) *Table {
	x := lexicon.New(rows)
	return &Table{x, newReaders(x.Tokens())}
}
