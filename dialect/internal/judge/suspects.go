package judge

import (
	"slices"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/llm"
)

// Said reports whether there was text since thinking ended.
func (e *Evidence) Said() bool { return e.Started && e.Offset() > e.First }

// Suspects counts what looks like a call and was not read as one.
type Suspects struct {
	rows []suspected // by row, as far as there are any
	// places are where something was found, the last ones of them.
	places []int
	last   int // offset of the last one, and one more
}

// maxPlaces bounds how many places are remembered.
const maxPlaces = 64

// suspected is how often something was seen, and where first.
type suspected struct{ count, first int }

// Clone returns a copy that later findings do not change.
func (s *Suspects) Clone() Suspects {
	return Suspects{rows: slices.Clone(s.rows), places: s.places, last: s.last}
}

// Add counts a marker of the given dialects at an offset.
func (s *Suspects) Add(rows lexicon.RowSet, at int) {
	if rows.Empty() || s.last == at+1 { // readers may look at the same thing in turn
		return
	}
	s.last = at + 1
	if len(s.places) >= maxPlaces {
		s.places = append(make([]int, 0, maxPlaces), s.places[maxPlaces/2:]...)
	}
	s.places = append(s.places, at)
	i := rows.First()
	if i >= len(s.rows) {
		s.rows = append(s.rows, make([]suspected, i+1-len(s.rows))...)
	}
	row := &s.rows[i]
	if row.count == 0 {
		row.first = at
	}
	row.count++
}

// Warnings lists suspected calls that were not read as calls.
func (s *Suspects) Warnings(x *lexicon.Lexicon) (list []llm.Warning) {
	for i, row := range s.rows {
		if name := x.Rows[i].Name; row.count > 0 {
			list = append(list, llm.Warning{Code: llm.SuspectedCall, Feature: name, Detail: suspicion(row.count, row.first, name)})
		}
	}
	return list
}
