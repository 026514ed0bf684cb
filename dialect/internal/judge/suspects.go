package judge

import (
	"slices"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/llm"
)

// Said reports whether there is text before the current position since the answer began or thinking ended.
func (e *Evidence) Said() bool { return e.Started && e.Offset() > e.First }

// Suspects counts text that looks like a call but was not read as one.
type Suspects struct {
	rows []suspected // by table row, up to the last row with a finding
	// places are the offsets of the most recent findings, at most maxPlaces.
	places []int
	last   int // offset of the last finding plus one; 0 if there is none
}

// maxPlaces bounds the number of remembered places.
const maxPlaces = 64

// suspected is the number of findings for a dialect and the offset of the first one.
type suspected struct {
	count, first int
	why          string // why the first one is not a call
}

// Clone returns a copy that later findings do not change.
func (s *Suspects) Clone() Suspects {
	return Suspects{rows: slices.Clone(s.rows), places: s.places, last: s.last}
}

// Why text that looks like a call is not one, in words for people. [Why] has what the text around a call says.
const (
	Quoted          = "it is quoted: in inline code, a block quote, a comment or a result"
	enclosedBy      = "quotation marks or an element enclose it"
	diffLine        = "it is a line of a diff"
	midSentence     = "a sentence goes on after it"
	notApart        = "text around it is on its lines"
	inDocumentFence = "the text around its code fence only shows it"
	notPromoted     = "this route does not read calls of this form"
	isData          = "it is inside other data"
	Unreadable      = "its name, arguments or form cannot be read"
	UnknownTool     = "no tool of this name was offered"
	Rehearsed       = "it is in thinking"
	ToUser          = "its message is for the user"
	Example         = "it is an example"
	CutMarker       = "the answer ends in its marker"
)

// Add counts a marker of the given dialects at an offset, and why it begins no call. It ignores a second report for the
// same offset.
func (s *Suspects) Add(rows lexicon.RowSet, at int, why string) {
	if rows.Empty() || s.last == at+1 { // several readers may report the same marker
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
		row.first, row.why = at, why
	}
	row.count++
}

// Forget drops the findings of dialects that were first found at an offset or after it.
func (s *Suspects) Forget(from int) {
	for i := range s.rows {
		if s.rows[i].first >= from {
			s.rows[i] = suspected{}
		}
	}
	s.places = slices.DeleteFunc(slices.Clone(s.places), func(at int) bool { return at >= from })
}

// Any reports whether there is a finding.
func (s *Suspects) Any() bool {
	return slices.ContainsFunc(s.rows, func(row suspected) bool { return row.count > 0 })
}

// Before reports whether there is a finding before an offset.
func (s *Suspects) Before(at int) bool {
	return slices.ContainsFunc(s.rows, func(row suspected) bool { return row.count > 0 && row.first < at })
}

// Places passes the offsets of the most recent findings to f, in order.
func (s *Suspects) Places(f func(at int)) {
	for _, at := range slices.Compact(slices.Sorted(slices.Values(s.places))) {
		f(at)
	}
}

// Warnings returns a warning for each dialect with findings.
func (s *Suspects) Warnings(x *lexicon.Lexicon) (list []llm.Warning) {
	for i, row := range s.rows {
		if name := x.Rows[i].Name; row.count > 0 {
			list = append(list, llm.Warning{Code: llm.SuspectedCall, Feature: name, Detail: suspicion(row, name)})
		}
	}
	return list
}
