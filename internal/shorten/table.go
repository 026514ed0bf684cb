package shorten

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
)

// list draws a list: of like objects as a table, of leaves on a line, of others one
// after the other.
func (d *drawing) list(name string, n *node, depth int) {
	label := fmt.Sprintf("%s[%d]:", name, len(n.kids))
	objects, leaves := 0, 0
	for _, k := range n.kids {
		switch {
		case k.kind == '{':
			objects++
		case k.leaf():
			leaves++
		}
	}
	switch {
	case leaves == len(n.kids) && !long(n.kids):
		d.leaves(label, n, depth)
	case objects == len(n.kids) && objects > 1:
		d.table(label, n, depth)
	default:
		d.each(label, n, depth)
	}
}

// long reports whether some of the leaves are texts that deserve separate lines.
func long(kids []*node) bool {
	for _, k := range kids {
		if len(k.text) > inlineBytes {
			return true
		}
	}
	return false
}

// leaves draws a list of leaves on one line: the first, the leaves that the task asks
// for, and the last.
func (d *drawing) leaves(label string, n *node, depth int) {
	most, comma := d.lim.list, ", "
	if d.aim.ids && idNodes(n.kids) {
		most, comma = all, ","
	}
	keep := d.choose(n.kids, most, func(k *node) string { return k.text })
	var parts []string
	for i, at := range keep {
		if i > 0 && at != keep[i-1]+1 {
			parts = append(parts, "…")
		}
		parts = append(parts, d.part(n.kids[at]))
	}
	if len(keep) < len(n.kids) {
		d.lost |= lostFields
		parts = append(parts, fmt.Sprintf("(%d of %d)", len(keep), len(n.kids)))
	}
	d.addUnits(depth, label+" "+strings.Join(parts, comma), len(keep)*d.item(n))
}

// item is how many units an element of a list counts for: one, or none.
func (d *drawing) item(n *node) int {
	if d.units[n] > 0 && d.counts(n) {
		return 1
	}
	return 0
}

// each draws a list one value after the other.
func (d *drawing) each(label string, n *node, depth int) {
	d.add(depth, label)
	keep := d.choose(n.kids, d.lim.rows, func(k *node) string { return k.text })
	for _, at := range keep {
		first := len(d.lines)
		if d.value("-", n.kids[at], depth+1); d.item(n) > 0 {
			d.lines[first].units = 1
		}
	}
	d.rest(n, keep, depth+1)
}

// choose returns the places of at most `most` values, in order: the first, the values
// that fit the task, and the last.
func (d *drawing) choose(kids []*node, most int, text func(*node) string) []int {
	if len(kids) <= most {
		out := make([]int, len(kids))
		for i := range out {
			out[i] = i
		}
		return out
	}
	type scored struct {
		at  int
		fit float64
	}
	marks := make([]scored, len(kids))
	for i, k := range kids {
		t := text(k)
		marks[i] = scored{i, d.aim.fits(t)}
		if alarming(t) {
			marks[i].fit++
		}
		switch i {
		case 0:
			marks[i].fit += 100
		case len(kids) - 1:
			marks[i].fit += 1
		}
	}
	slices.SortStableFunc(marks, func(a, b scored) int {
		switch {
		case a.fit > b.fit:
			return -1
		case a.fit < b.fit:
			return 1
		}
		return a.at - b.at
	})
	var out []int
	for _, m := range marks[:most] {
		out = append(out, m.at)
	}
	slices.Sort(out)
	return out
}

// rest names the values that are not shown.
func (d *drawing) rest(n *node, keep []int, depth int) {
	if len(keep) == len(n.kids) {
		return
	}
	d.lost |= lostFields
	var named []string
	times := make(map[string]int)
	left := 0
	by := d.telling(n)
	for i, k := range n.kids {
		if _, in := slices.BinarySearch(keep, i); in {
			continue
		}
		if left++; left > d.lim.refs {
			continue
		}
		h := ""
		if v := k.get(by); by != "" {
			h = d.called(v)
		} else {
			h = d.handle(k)
		}
		if times[h]++; times[h] == 1 && h != "" {
			named = append(named, h)
		}
	}
	for i, h := range named {
		if times[h] > 1 {
			named[i] = fmt.Sprintf("%s (%d times)", h, times[h])
		}
	}
	line := fmt.Sprintf("(%d more", left)
	if len(named) > 0 {
		line += ": " + strings.Join(named, "; ")
	}
	if left > d.lim.refs {
		line += fmt.Sprintf("; and %d others", left-d.lim.refs)
	}
	d.add(depth, line+")")
}

// telling returns the key that tells objects without a name apart: the one with the
// most values, of short texts. It is empty if they have names, or nothing is the same
// in them.
func (d *drawing) telling(n *node) string {
	for _, k := range n.kids {
		if k.kind != '{' || naming(k) >= 0 {
			return ""
		}
	}
	best, most := "", 1
	for _, key := range n.kids[len(n.kids)/2].keys {
		values := make(map[string]bool)
		for _, row := range n.kids {
			if v := row.get(key); v != nil && v.kind == '"' && (len(v.text) < 80 || isPath(v.text)) && !stamp(v.text) && !strings.Contains(v.text, "\n") && !d.opaque(key, v) {
				values[v.text] = true
			}
		}
		if len(values) > most {
			best, most = key, len(values)
		}
	}
	return best
}

// table draws a list of objects as a header and a line for each.
func (d *drawing) table(label string, n *node, depth int) {
	cols := d.columns(n)
	if len(cols) == 0 {
		d.each(label, n, depth)
		return
	}
	above := &head{from: len(d.lines)}
	d.header(label, cols, depth)
	above.to = len(d.lines)
	if !slices.ContainsFunc(cols, column.inRows) { // the head says all of each row
		d.lines[above.from].units = len(n.kids) * d.item(n)
		return
	}
	outer := d.head
	d.head = above
	keep := d.choose(n.kids, d.lim.rows, d.rowText)
	for _, at := range keep {
		d.addUnits(depth+1, d.row(n.kids[at], cols), d.item(n))
	}
	d.rest(n, keep, depth+1)
	d.head = outer
}

// row returns a row of a table.
func (d *drawing) row(row *node, cols []column) string {
	var cells []string
	for _, c := range cols {
		if c.kind == shownColumn {
			cells = append(cells, d.cell(at2(row, c.path), c.names()))
		}
	}
	for _, c := range cols {
		if v := at2(row, c.path); c.kind == sparseColumn && v != nil && !v.empty() {
			cells = append(cells, c.label()+"="+d.cell(v, false))
		}
	}
	return strings.Join(cells, "|")
}

// rowText is what of a row is compared with the task.
func (d *drawing) rowText(k *node) string {
	var b strings.Builder
	for _, v := range k.kids {
		if v.leaf() && len(v.text) < 200 {
			b.WriteString(v.text)
			b.WriteByte(' ')
		}
	}
	return b.String()
}

// column is a key of the objects of a table, or of an object in each.
type column struct {
	path []string
	kind columnKind
	text string // of all rows, if it is the same
}

// label is the name of the column.
func (c column) label() string { return strings.Join(labels(c.path), ".") }

// inRows reports whether the rows contain the column's values.
func (c column) inRows() bool { return c.kind == shownColumn || c.kind == sparseColumn }

// names reports whether the column names the rows.
func (c column) names() bool { return nameRank(c.path[len(c.path)-1]) < all }

type columnKind uint8

const (
	shownColumn columnKind = iota
	emptyColumn
	sameColumn
	sparseColumn // few rows have it and name it themselves
	droppedColumn
)

// columns returns the columns of a table, in the order of their first use.
func (d *drawing) columns(n *node) []column {
	var cols []column
	at := make(map[string]int)
	flat := flatKeys(n)
	for _, row := range n.kids {
		for i, k := range row.keys {
			if flat[k] {
				for _, in := range row.kids[i].keys {
					addColumn(&cols, at, []string{k, in})
				}
				continue
			}
			addColumn(&cols, at, []string{k})
		}
		if len(cols) > mostColumns {
			return nil
		}
	}
	d.judge(n, cols)
	return cols
}

// mostColumns is how many columns a table may have.
const mostColumns = 200

func addColumn(cols *[]column, at map[string]int, path []string) {
	key := strings.Join(path, ".")
	if _, ok := at[key]; !ok {
		at[key] = len(*cols)
		*cols = append(*cols, column{path: path})
	}
}

// flatKeys returns the keys under which each row has an object of the same few leaves,
// which become columns.
func flatKeys(n *node) map[string]bool {
	flat := make(map[string]bool)
	dotted := dottedKeys(n)
	for _, k := range n.kids[0].keys {
		first := n.kids[0].get(k)
		flat[k] = !dotted[k] && first.kind == '{' && len(first.keys) > 0 && len(first.keys) <= 6
		for _, row := range n.kids {
			v := row.get(k)
			flat[k] = flat[k] && v != nil && v.kind == '{' && slices.Equal(v.keys, first.keys) && allLeaves(v)
		}
	}
	return flat
}

// dottedKeys returns the parts of keys before their first dot: such a key could be
// taken for a column that is made of two.
func dottedKeys(n *node) map[string]bool {
	dotted := make(map[string]bool)
	for _, row := range n.kids {
		for _, k := range row.keys {
			if before, _, ok := strings.Cut(k, "."); ok {
				dotted[before] = true
			}
		}
	}
	return dotted
}

func allLeaves(n *node) bool {
	for _, k := range n.kids {
		if !k.leaf() {
			return false
		}
	}
	return true
}

// at2 returns the value of a column in a row, nil if there is none.
func at2(row *node, path []string) *node {
	v := row.get(path[0])
	if len(path) == 1 || v == nil {
		return v
	}
	return v.get(path[1])
}

// judge decides which columns are shown. It leaves out columns without values, with
// the same value in each row, of opaque ids, and, if there are too many, columns that
// few rows have and that name nothing.
func (d *drawing) judge(n *node, cols []column) {
	shown := 0
	filled := make([]int, len(cols))
	for i := range cols {
		c := &cols[i]
		first, same, opaque := (*node)(nil), true, true
		for _, row := range n.kids {
			v := at2(row, c.path)
			if v == nil || v.empty() {
				same = same && first == nil
				continue
			}
			filled[i]++
			opaque = opaque && d.opaque(c.path[len(c.path)-1], v)
			if first == nil {
				first = v
			} else if same = same && equal(first, v); !same && !opaque {
				continue
			}
		}
		switch {
		case first == nil:
			c.kind = emptyColumn
		case opaque:
			c.kind = droppedColumn
			d.lost |= lostIDs
		case same && filled[i] == len(n.kids) && len(n.kids) > 2:
			c.kind, c.text = sameColumn, d.common(first)
		case filled[i]*3 <= len(n.kids) && len(n.kids) > 3:
			c.kind = sparseColumn
		default:
			shown++
		}
	}
	d.dropColumns(n, cols, filled, shown)
}

// dropColumns leaves out the columns that matter least, until there is room.
func (d *drawing) dropColumns(n *node, cols []column, filled []int, shown int) {
	if shown <= d.lim.cols {
		return
	}
	d.lost |= lostFields
	type cand struct {
		at   int
		rank float64
	}
	var by []cand
	for i, c := range cols {
		if c.kind != shownColumn {
			continue
		}
		r := float64(filled[i])/float64(len(n.kids)) - float64(i)/float64(len(cols))/2 + d.worth(c.path[len(c.path)-1], d.sample(n, c.path))
		by = append(by, cand{i, r})
	}
	slices.SortStableFunc(by, func(a, b cand) int {
		switch {
		case a.rank > b.rank:
			return -1
		case a.rank < b.rank:
			return 1
		}
		return 0
	})
	for _, c := range by[d.lim.cols:] {
		cols[c.at].kind = droppedColumn
	}
}

// sample returns the first value of a column.
func (d *drawing) sample(n *node, path []string) *node {
	for _, row := range n.kids {
		if v := at2(row, path); v != nil && !v.empty() {
			return v
		}
	}
	return nil
}

// header draws the names of the shown columns, the values that all rows share, and the
// columns without values.
func (d *drawing) header(label string, cols []column, depth int) {
	var head, same, empty []string
	dropped := 0
	for _, c := range cols {
		switch c.kind {
		case shownColumn:
			head = append(head, c.label())
		case sameColumn:
			same = append(same, c.label()+": "+c.text)
		case emptyColumn:
			empty = append(empty, c.label())
		case droppedColumn:
			dropped++
		}
	}
	if dropped > 0 {
		head = append(head, "("+plural(dropped, "more column")+")")
	}
	d.add(depth, label+" "+strings.Join(head, "|"))
	if len(same) > 0 {
		d.add(depth+1, "(in each: "+strings.Join(same, ", ")+")")
	}
	d.emptyOnes(empty, depth+1, false)
}

// required returns the keys that a schema requires, at any depth.
func required(s json.RawMessage) map[string]bool {
	keys := make(map[string]bool)
	var walk func(v []byte, depth int)
	walk = func(v []byte, depth int) {
		if depth > deepest || js.Kind(v) != '{' {
			return
		}
		for k := range js.Elements(js.Get(v, "required")) {
			keys[js.Text(k)] = true
		}
		for _, in := range js.Members(js.Get(v, "properties")) {
			walk(in, depth+1)
		}
		walk(js.Get(v, "items"), depth+1)
	}
	if js.Valid(s) {
		walk(s, 0)
	}
	return keys
}
