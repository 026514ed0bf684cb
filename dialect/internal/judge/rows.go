package judge

import (
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

// Dialect returns the name of that dialect.
func (e *Evidence) Dialect() string { return e.Row().Name }
