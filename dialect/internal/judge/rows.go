package judge

import (
	"github.com/toolpost/toolpost/dialect/internal/lexicon"
	"github.com/toolpost/toolpost/dialect/spec"
)

// Narrow notes that the text belongs to the given dialects. Where that
// contradicts earlier text, the later evidence counts.
func (e *Evidence) Narrow(rows lexicon.RowSet) {
	if e.Rows.Meets(rows) {
		e.Rows = e.Rows.And(rows)
	} else if !rows.Empty() {
		e.Rows = rows
	}
}

// Form notes that the call has the given form. Where the calls before it had
// another, only the marker around it counts.
func (e *Evidence) Form(f spec.Form) {
	switch all := e.Lex.Form[f]; {
	case e.Rows.Meets(all):
		e.Rows = e.Rows.And(all)
	case e.Depth > 0 && e.Outer.Meets(all):
		e.Rows = e.Outer.And(all)
	}
}

// Keep keeps the given dialects, if the text fits any of them.
func (e *Evidence) Keep(rows lexicon.RowSet) {
	if e.Rows.Meets(rows) {
		e.Rows = e.Rows.And(rows)
	}
}

// Row returns the row of the dialect that the text fits best: the one
// hinted at if it is among them, else the first of the table.
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

// Dialect returns the name of the dialect we are in.
func (e *Evidence) Dialect() string { return e.Row().Name }
