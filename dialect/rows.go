package dialect

import (
	"math/bits"
	"strings"
)

// Sets of rows of the table, one bit each.
var (
	bareRows      = rowsWhere(func(d *Dialect) bool { return d.Bare })
	keyedRows     = rowsWhere(func(d *Dialect) bool { return d.Keyed })
	kindFirstRows = rowsWhere(func(d *Dialect) bool { return d.KindFirst })
	idFirstRows   = rowsWhere(func(d *Dialect) bool { return d.IDFirst })
	plainRows     = rowsWhere(func(d *Dialect) bool { return d.PlainArgs })
	echoRows      = rowsWhere(func(d *Dialect) bool { return d.Echoes })
	citeRows      = rowsWhere(func(d *Dialect) bool { return d.Cites })
	roleRows      = rowsWhere(func(d *Dialect) bool { return len(d.Role) > 0 })
	headerRows    = rowsWhere(func(d *Dialect) bool { return d.Form == Header })
	pairRows      = rowsWhere(func(d *Dialect) bool { return d.Tags.Value.Open != "" })
	rawRows       = rowsWhere(func(d *Dialect) bool { return len(d.Code) > 0 })
	codeRows      = rowsWhere(func(d *Dialect) bool { return d.NamedCode })
	elementRows   = rowsWhere(func(d *Dialect) bool { return d.Tags.Call.Open == "<%s>" })
	recipientRows = rowOf("functionary_v32")
	thoughtRows   = rowsWhere(func(d *Dialect) bool { return d.Form == LineCall && len(d.Think) > 0 })
	unthoughtRows = rowsWhere(func(d *Dialect) bool { return d.Unthought })
	methodRows    = rowsWhere(func(d *Dialect) bool { return d.Name == "llama3_builtin" })

	// formRows are the dialects of each form.
	formRows = func() (rows [len(formNames)]uint64) {
		for f := range rows {
			rows[f] = rowsWhere(func(d *Dialect) bool { return d.Form == Form(f) })
		}
		return rows
	}()
	// fenceRows are the dialects that use a fence with the given words.
	fenceRows = fences()
)

func rowsWhere(fits func(*Dialect) bool) uint64 {
	var rows uint64
	for i := range table {
		if fits(&table[i]) {
			rows |= 1 << i
		}
	}
	return rows
}

func fences() map[string]uint64 {
	rows := make(map[string]uint64)
	for i := range table {
		for _, p := range table[i].Wrap {
			if strings.HasPrefix(p.Open, "```") {
				rows[p.Open] |= 1 << i
			}
		}
	}
	return rows
}

// rowOf returns the bit of a dialect's row, 0 if there is no such dialect.
func rowOf(name string) uint64 {
	if name == "" {
		return 0
	}
	return rowsWhere(func(d *Dialect) bool { return d.Name == name })
}

// narrow notes that what was read belongs to the given dialects. Where that
// contradicts what was read before, the later evidence counts.
func (m *machine) narrow(rows uint64) {
	if m.rows&rows != 0 {
		m.rows &= rows
	} else if rows != 0 {
		m.rows = rows
	}
}

// form notes that the call has the given form. Where the calls before it had
// another, only the marker around it counts.
func (m *machine) form(f Form) {
	switch all := formRows[f]; {
	case m.rows&all != 0:
		m.rows &= all
	case m.depth > 0 && m.outer&all != 0:
		m.rows = m.outer & all
	}
}

// where keeps the dialects that fit, if any does.
func (m *machine) where(fits func(*Dialect) bool) {
	var rows uint64
	for rest := m.rows; rest != 0; rest &= rest - 1 {
		if i := firstRow(rest); fits(&table[i]) {
			rows |= 1 << i
		}
	}
	if rows != 0 {
		m.rows = rows
	}
}

// row returns the row of the dialect that what was read fits best: the one
// hinted at if it is among them, else the first of the table.
func (m *machine) row() *Dialect {
	switch {
	case m.hint&m.rows != 0:
		return &table[firstRow(m.hint)]
	case m.rows != 0:
		return &table[firstRow(m.rows)]
	}
	return &noDialect
}

// noDialect is the row of text that no dialect claims.
var noDialect Dialect

// dialect returns the name of the dialect we are in.
func (m *machine) dialect() string { return m.row().Name }

func firstRow(rows uint64) int { return bits.TrailingZeros64(rows) }
