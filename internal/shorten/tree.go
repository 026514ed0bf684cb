package shorten

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// limits are how much of each value is shown.
type limits struct {
	text int // characters of a text
	rows int // of a table
	list int // values of a list
	refs int // rows that are only named
	cols int // columns of a table, including those that name or are asked for; of an object, three times as many members
}

const all = 1 << 30

// steps are from all to little: long texts go first, rows and columns last.
var steps = between3([]limits{
	{all, all, all, all, all},
	{1200, all, all, all, all},
	{600, all, all, all, all},
	{300, all, all, all, all},
	{200, all, 400, all, all},
	{140, all, 200, all, all},
	{100, 200, 120, all, 24},
	{80, 100, 80, all, 16},
	{64, 60, 60, 400, 12},
	{56, 40, 48, 300, 10},
	{48, 25, 40, 200, 8},
	{44, 15, 30, 150, 7},
	{40, 10, 24, 100, 6},
	{36, 7, 16, 60, 5},
	{32, 5, 12, 40, 5},
	{28, 3, 8, 24, 4},
	{24, 2, 6, 12, 4},
	{20, 1, 4, 6, 3},
})

// between3 puts two steps between each two, to bring a view close to its budget.
func between3(coarse []limits) []limits {
	mix := func(a, b, k int) int {
		if a >= all {
			if b >= all {
				return all
			}
			a = 3 * b
		}
		return a + (b-a)*k/3
	}
	var out []limits
	for i, c := range coarse {
		out = append(out, c)
		if i == 0 || i+1 == len(coarse) {
			continue
		}
		n := coarse[i+1]
		for k := 1; k < 3; k++ {
			out = append(out, limits{mix(c.text, n.text, k), mix(c.rows, n.rows, k), mix(c.list, n.list, k), mix(c.refs, n.refs, k), mix(c.cols, n.cols, k)})
		}
	}
	return out
}

// showTree returns the first view, from all to little, that has room in the budget.
func showTree(root *node, o Options, whole, budget int) shown {
	p := newPlan(root, o)
	budget, p.aim.ids = o.withIDs(budget, whole, treeTokens(root))
	fits := func(i int) (*drawing, int) {
		d := p.draw(steps[i])
		return d, tokensOf(d.lines)
	}
	low, high := 0, len(steps)-1 // the first step that fits, if one does
	for low < high {
		mid := (low + high) / 2
		if _, n := fits(mid); n <= budget {
			high = mid
		} else {
			low = mid + 1
		}
	}
	d, n := fits(low)
	s := shown{lines: d.lines, lost: d.lost, of: p.total, unit: p.unit, most: budget}
	if n > budget { // so many names that they have to be chosen
		lines, lost := showLines(d.lines, p.aim, budget)
		s.lines, s.lost = lines, s.lost|lost
	} else if also := p.also(root, textIn(d.lines), budget-n); also != "" {
		s.lines = append(s.lines, line{text: "(also: " + also + ")"})
	}
	if root.cut {
		s.lost |= brokenOff
	}
	return s
}

// drawing is one view of a tree.
type drawing struct {
	*plan
	lim   limits
	lines []line
	lost  loss
	head  *head // of the table that is being drawn
}

// draw draws the result within limits.
func (p *plan) draw(lim limits) *drawing {
	d := &drawing{plan: p, lim: lim}
	d.value("", p.root, 0)
	return d
}

func (d *drawing) add(depth int, text string) { d.addUnits(depth, text, 0) }

// addUnits adds a line that represents so many of the counted units.
func (d *drawing) addUnits(depth int, text string, units int) {
	d.lines = append(d.lines, line{text: strings.Repeat(" ", min(depth, 8)) + text, units: units, head: d.head})
}

// value draws a value. The name is empty for a value without one; a key is given as
// its label.
func (d *drawing) value(name string, n *node, depth int) {
	label := ""
	if name != "" {
		label = name + ": "
	}
	if path, ok := d.same[n]; ok {
		d.addUnits(depth, label+"(same as "+cmp.Or(path, "the whole")+")", d.units[n])
		return
	}
	if n.leaf() {
		d.leaf(label, n, depth)
		return
	}
	if s, ok := d.inline(n, inlineBytes); ok {
		d.addUnits(depth, label+s, d.units[n])
		return
	}
	if n.kind == '[' {
		d.list(name, n, depth)
		return
	}
	if name != "" {
		d.add(depth, name+":")
		depth++
	}
	d.object(n, depth)
}

// leaf draws a text, a number or the like. A text of many lines is shown by lines.
func (d *drawing) leaf(label string, n *node, depth int) {
	if n.kind != '"' || !strings.Contains(strings.TrimSpace(n.text), "\n") || d.lim.text >= all {
		d.add(depth, label+d.scalar(n))
		return
	}
	lines, lost := textLines(n.text)
	lines, more := showLines(lines, d.aim, d.lim.text/3)
	d.lost |= lost | more
	if label != "" {
		d.add(depth, strings.TrimSuffix(label, " "))
		depth++
	}
	for _, l := range lines {
		d.add(depth, l.text)
	}
}

// object draws the members of an object. Empty members, and members without room, are
// named at the end.
func (d *drawing) object(n *node, depth int) {
	var empty, more []string
	drop := d.dropMembers(n)
	for i, k := range n.keys {
		v := n.kids[i]
		switch {
		case v.empty():
			empty = append(empty, label(k))
		case d.opaque(k, v):
			d.lost |= lostIDs
		case drop[i]:
			more = append(more, label(k))
		default:
			first := len(d.lines)
			if d.value(label(k), v, depth); n == d.entries {
				d.lines[first].units = 1
			}
		}
	}
	d.emptyOnes(empty, depth, n == d.entries)
	if len(more) > 0 {
		d.lost |= lostFields
		d.add(depth, "(more: "+strings.Join(d.few(more, d.lim.list), ", ")+")")
	}
}

// dropMembers returns the places of the members that matter least, if there are too
// many.
func (d *drawing) dropMembers(n *node) map[int]bool {
	most := d.lim.cols
	if most < all {
		most *= 3
	}
	if len(n.keys) <= most {
		return nil
	}
	at := make([]int, len(n.keys))
	rank := make([]float64, len(n.keys))
	for i, k := range n.keys {
		at[i], rank[i] = i, d.worth(k, n.kids[i])-float64(i)/float64(len(n.keys))
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(rank[b], rank[a]) })
	drop := make(map[int]bool)
	for _, i := range at[most:] {
		drop[i] = true
	}
	return drop
}

// worth is how much a member matters: whether its key names things, the task asks for
// it or the schema requires it, less the room it takes.
func (d *drawing) worth(key string, v *node) float64 {
	w := d.aim.fits(key)
	if r := nameRank(key); r < all && v != nil && (v.kind == '"' || v.kind == '0') {
		w += 3 - float64(r)/float64(len(names))
	}
	if d.keep[key] {
		w += 2
	}
	switch {
	case v == nil || v.empty():
		w -= 2
	case strings.Contains(v.text, "://") && len(v.text) < 200: // the way to more
		w += 0.5
	case v.leaf():
		if w -= float64(max(min(len(v.text), 160)-40, 0)) / 60; v.kind == '"' {
			w += 0.2 // a word says more than a number
		}
		if stamp(v.text) || random(v.text) {
			w -= 2
		}
	case allLeaves(v) && !long(v.kids):
		w -= 0.2
	case v.kind == '[':
		w += 0.4
	default:
		w--
	}
	return w
}

// stamp reports whether a text is a point in time with its seconds, which matters
// rarely.
func stamp(s string) bool {
	return len(s) >= 19 && len(s) <= 40 && s[0] >= '0' && s[0] <= '9' && s[4] == '-' && strings.Count(s, ":") >= 2
}

// few returns the first of many names, and how many more there are.
func (d *drawing) few(keys []string, most int) []string {
	if len(keys) <= most {
		return keys
	}
	return append(slices.Clone(keys[:most]), fmt.Sprintf("%d others", len(keys)-most))
}

// emptyOnes names the members without a value, which may count as entries.
func (d *drawing) emptyOnes(keys []string, depth int, count bool) {
	if len(keys) == 0 {
		return
	}
	units := 0
	if count {
		units = len(keys)
	}
	d.addUnits(depth, "(empty: "+strings.Join(d.few(keys, max(d.lim.list/4, 3)), ", ")+")", units)
}

// scalar returns a leaf on one line: titled is a leaf that names something, which is
// shown longer than others, and part a leaf among others.
func (d *drawing) scalar(n *node) string { return d.written(n, d.lim.text, bare) }
func (d *drawing) titled(n *node) string { return d.written(n, max(d.lim.text, 80), bare) }
func (d *drawing) part(n *node) string   { return d.written(n, d.lim.text, among) }

// written returns a leaf of at most so many characters, in quotes if it needs some.
func (d *drawing) written(n *node, most int, quoted func(string) string) string {
	if n.kind != '"' {
		return n.text
	}
	if d.lim.text >= all || blank(n.text) {
		return quoted(n.text)
	}
	text, lost := unmarked(n.text)
	if lost {
		d.lost |= lostMarkup
	}
	text = strings.Join(strings.Fields(text), " ")
	if cut, is := d.aim.cut(text, most, d.known); is {
		d.lost |= cutValues
		text = cut
	}
	return quoted(text)
}

// known reports whether a word is a value or a key of the result, which is shown in
// its own place.
func (d *drawing) known(w string) bool { return d.times[w] > 0 || d.isKey[w] }

// inline returns a value on one line, if it has room there.
func (d *drawing) inline(n *node, most int) (string, bool) {
	s, room := d.inlineAt(n, most, 0)
	return s, room >= 0
}

func (d *drawing) inlineAt(n *node, room, depth int) (string, int) {
	if path, ok := d.same[n]; ok {
		s := "(same as " + path + ")"
		return s, room - len(s)
	}
	if n.leaf() {
		if len(n.text) > room {
			return "", -1
		}
		s := d.part(n)
		return s, room - len(s)
	}
	if depth > 4 {
		return "", -1
	}
	var parts []string
	for i, k := range n.kids {
		name := ""
		if n.kind == '{' {
			if d.opaque(n.keys[i], k) {
				d.lost |= lostIDs
				continue
			}
			if k.empty() {
				continue
			}
			name = label(n.keys[i]) + ": "
		}
		var s string
		if s, room = d.inlineAt(k, room-len(name)-2, depth+1); room < 0 {
			return "", -1
		}
		parts = append(parts, name+s)
	}
	if n.kind == '{' {
		return "{" + strings.Join(parts, ", ") + "}", room
	}
	return "[" + strings.Join(parts, ", ") + "]", room
}

// cell returns a value on one line, whatever has to be cut.
func (d *drawing) cell(n *node, names bool) string {
	switch {
	case n == nil || n.empty():
		return ""
	case n.leaf() && names:
		return d.titled(n)
	case n.leaf():
		return d.scalar(n)
	}
	most := all
	if d.lim.text < all {
		most = max(d.lim.text*3/2, 24)
	}
	if s, ok := d.inline(n, most); ok {
		return s
	}
	d.lost |= cutValues
	return d.gist(n, most)
}

// common returns a value that each row has, on the line that has all of these.
func (d *drawing) common(n *node) string {
	if n.leaf() {
		return d.written(n, max(d.lim.text, 80), among)
	}
	return d.cell(n, true)
}

// gist returns the keys of an object, or the first values of a list, within most
// bytes.
func (d *drawing) gist(n *node, most int) string {
	var b strings.Builder
	for i, k := range n.kids {
		part := ""
		switch {
		case n.kind == '{' && k.empty():
			continue
		case n.kind == '{' && k.leaf() && len(k.text) <= 24:
			part = label(n.keys[i]) + ": " + d.part(k)
		case n.kind == '{':
			part = label(n.keys[i])
		case k.leaf():
			part = d.part(k)
		default:
			part = d.handle(k)
		}
		if b.Len()+len(part) > most && b.Len() > 0 {
			fmt.Fprintf(&b, ", … %d more", len(n.kids)-i)
			break
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(part)
	}
	text := b.String()
	if said := d.said(n, text, max(most, 80)); len(said) > 0 {
		text += " … " + strings.Join(said, ", ")
	}
	if n.kind == '{' {
		return "{" + text + "}"
	}
	return "[" + text + "]"
}

// said returns the names in the texts of an object that are not in its gist.
func (d *drawing) said(n *node, gist string, most int) []string {
	var b strings.Builder
	for _, k := range n.kids {
		if k.kind == '"' && len(k.text) > 24 && b.Len() < mostLeft {
			b.WriteString(k.text)
			b.WriteByte(' ')
		}
	}
	return mentions(b.String(), most, func(w string) bool { return d.known(w) || strings.Contains(gist, w) })
}
