package judge

import (
	"bytes"
	"unicode"

	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/spec"
)

// Narrow keeps only the given dialects as possible dialects of the text. If none of them fits the text so far, they
// replace the earlier ones.
func (e *Evidence) Narrow(rows lexicon.RowSet) {
	if e.Rows.Meets(rows) {
		e.Rows = e.Rows.And(rows)
	} else if !rows.Empty() {
		e.Rows = rows
	}
}

// Form notes that the call has form f. If no possible dialect has this form, it starts again from the dialects of the
// marker around the call.
func (e *Evidence) Form(f spec.Form) {
	switch all := e.Lex.Form[f]; {
	case e.Rows.Meets(all):
		e.Rows = e.Rows.And(all)
	case e.Depth > 0 && e.Outer.Meets(all):
		e.Rows = e.Outer.And(all)
	}
}

// Keep is Narrow, but it has no effect if none of the given dialects fits the text so far.
func (e *Evidence) Keep(rows lexicon.RowSet) {
	if e.Rows.Meets(rows) {
		e.Rows = e.Rows.And(rows)
	}
}

// Row returns the dialect that best fits the text: the expected dialect if it is possible, else the first possible one
// in the table.
func (e *Evidence) Row() *spec.Dialect {
	i := e.Rows.First()
	switch {
	case i < 0:
		return &lexicon.NoDialect
	case e.Hint.Meets(e.Rows):
		i = e.Hint.First()
	}
	return &e.Lex.Rows[i]
}

// UnusedBelow reports whether words that belong to no call follow the call that ends here, up to the marker that ends the
// calls.
func (e *Evidence) UnusedBelow() bool {
	if f := e.Row().Form; !e.Marked || e.Depth <= 0 || f != spec.JSONCall && f != spec.TagCall {
		return false
	}
	i := e.Past(0, " \t\r\n])};,")
	if !e.At(i) || !unicode.IsLetter(e.Letter(i)) || e.NameAt(i) {
		return false
	}
	for end := i + maxBelow; i < end && e.At(i); i++ {
		if t, n := e.Match(i); n > 0 && !t.Line {
			return t.In(lexicon.Closes).Meets(e.Outer)
		}
	}
	return false
}

// UnusedAbove reports whether words are between the marker of a dialect of rows that begins calls and the current position.
func (e *Evidence) UnusedAbove(rows lexicon.RowSet) bool {
	above := e.Lately()
	for i := rows.First(); i >= 0; i = rows.Next(i + 1) {
		for _, p := range e.Lex.Rows[i].Wrap {
			at := bytes.LastIndex(above, []byte(p.Open))
			if at >= 0 && p.Close != "" && !bytes.Contains(above[at:], []byte(p.Close)) && len(bytes.TrimSpace(above[at+len(p.Open):])) > 0 {
				return true
			}
		}
	}
	return false
}

// Dialect returns the name of that dialect.
func (e *Evidence) Dialect() string { return e.Row().Name }
