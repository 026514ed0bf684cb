package shorten

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
)

// limits are how much of each value is shown.
type limits struct {
	text int // characters of a text
	rows int // of a table
	list int // values of a list
	refs int // rows that are only named
	cols int // columns of a table, those that name or are asked for included; of an object, three times as many members
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

// between3 puts two steps between each two, so that a view comes close to its budget.
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
func showTree(root *node, o Options, whole, budget int) View {
	p := &plan{o: o, aim: aimOf(o.Task), same: make(map[*node]string), keep: required(o.Schema), takes: make(map[string]bool)}
	for _, name := range o.Params {
		p.takes[strings.ToLower(name)] = true
	}
	budget, p.aim.ids = o.withIDs(budget, whole, treeTokens(root))
	p.study(root)
	fits := func(i int) (*drawing, int) {
		d := &drawing{plan: p, lim: steps[i], whole: true}
		d.value("", root, 0)
		return d, d.tokens()
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
	v := View{Whole: d.whole && !root.cut, Shown: d.shown, Of: d.of, Unit: "items"}
	if n > budget { // so many names that they have to be chosen
		lines := showLines(strings.Split(d.text(), "\n"), p.aim, budget)
		v.Text, v.Whole = lines.Text, false
		if v.Shown >= v.Of {
			v.Shown, v.Of, v.Unit = lines.Shown, lines.Of, "lines"
		}
	} else {
		v.Text = d.text()
		if also := p.also(root, v.Text, budget-n); also != "" {
			v.Text += "\n(also: " + also + ")"
		}
	}
	if root.cut {
		v.Text += "\n" + breaksOff
	}
	v.Text += v.note()
	return v
}

// mostAlso bounds the values that are looked for in a view.
const mostAlso = 2000

// also returns links and names of the result that are not in its view, as many as
// there are tokens left.
func (p *plan) also(root *node, view string, tokens int) string {
	var out []string
	looked := 0
	seen := make(map[string]bool)
	var walk func(key string, n *node)
	walk = func(key string, n *node) {
		for i, k := range n.kids {
			name := key
			if n.kind == '{' {
				name = n.keys[i]
			}
			walk(name, k)
		}
		if n.kind != '"' && n.kind != '0' || len(n.text) > 160 || len(n.text) < 3 || seen[n.text] || looked > mostAlso || tokens < 8 {
			return
		}
		if !strings.Contains(n.text, "://") && nameRank(key) >= all {
			return
		}
		looked++
		if seen[n.text] = true; strings.Contains(view, n.text) || random(n.text) {
			return
		}
		if cost := llm.EstimateText(n.text) + 2; cost <= tokens {
			tokens -= cost
			out = append(out, strings.Join(strings.Fields(n.text), " "))
		}
	}
	if walk("", root); looked == 0 {
		return ""
	}
	return strings.Join(out, ", ")
}

// plan is what is known about a result before it is drawn.
type plan struct {
	o     Options
	aim   *aim
	same  map[*node]string // where the same value is shown before
	keep  map[string]bool  // keys that the schema requires
	takes map[string]bool  // names of parameters
	times map[string]int   // how often a text occurs
	isKey map[string]bool
}

// study finds repeated values and weighs the words of the task.
func (p *plan) study(root *node) {
	p.times, p.isKey = make(map[string]int), make(map[string]bool)
	seen := make(map[uint64]*found)
	var texts []string
	var walk func(n *node, path string) (uint64, int)
	walk = func(n *node, path string) (uint64, int) {
		h := fnv.New64a()
		h.Write([]byte{n.kind})
		h.Write([]byte(n.text))
		if n.leaf() && len(n.text) < 200 {
			p.times[n.text]++
			texts = append(texts, n.text)
		}
		size := len(n.text)
		for i, k := range n.kids {
			key := ""
			if n.kind == '{' {
				key = n.keys[i]
				p.isKey[key] = true
			}
			sum, m := walk(k, join(path, key, i))
			var b [8]byte
			for j := range b {
				b[j] = byte(sum >> (8 * j))
			}
			h.Write([]byte(key))
			h.Write(b[:])
			size += m + len(key)
		}
		sum := h.Sum64()
		if size >= sameBytes && !n.cut {
			if first := seen[sum]; first == nil {
				seen[sum] = &found{n, path}
			} else if equal(first.node, n) {
				p.same[n] = first.path
			}
		}
		return sum, size
	}
	walk(root, "")
	p.aim.weigh(texts)
}

type found struct {
	node *node
	path string
}

// sameBytes is how large a value must be for it to be said once only.
const sameBytes = 60

func join(path, key string, i int) string {
	switch {
	case key == "":
		return fmt.Sprintf("%s[%d]", path, i)
	case path == "":
		return key
	}
	return path + "." + key
}

// drawing is one view of a tree.
type drawing struct {
	*plan
	lim       limits
	lines     []string
	whole     bool
	shown, of int // items
}

func (d *drawing) text() string { return strings.Join(d.lines, "\n") }

func (d *drawing) tokens() int {
	n := 0
	for _, l := range d.lines {
		n += llm.EstimateText(l) + 1
	}
	return n
}

func (d *drawing) add(depth int, line string) {
	d.lines = append(d.lines, strings.Repeat(" ", min(depth, 8))+line)
}

// inlineBytes is how long a value may be that stands on the line of its key.
const inlineBytes = 100

// value draws a value. The name is empty for what has none.
func (d *drawing) value(name string, n *node, depth int) {
	label := ""
	if name != "" {
		label = name + ": "
	}
	if path, ok := d.same[n]; ok {
		d.add(depth, label+"(same as "+cmp.Or(path, "the whole")+")")
		return
	}
	if n.leaf() {
		d.leaf(label, n, depth)
		return
	}
	if s, ok := d.inline(n, inlineBytes); ok {
		d.add(depth, label+s)
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
	lines := showLines(textLines(n.text), d.aim, d.lim.text/3)
	if !lines.Whole {
		d.whole = false
	}
	if label != "" {
		d.add(depth, strings.TrimSuffix(label, " "))
		depth++
	}
	for l := range strings.Lines(lines.Text) {
		d.add(depth, strings.TrimRight(l, "\n"))
	}
}

// object draws the members of an object. Those that say nothing, and those that there
// is no room for, are named at the end.
func (d *drawing) object(n *node, depth int) {
	var empty, more []string
	drop := d.dropMembers(n)
	for i, k := range n.keys {
		v := n.kids[i]
		switch {
		case v.empty():
			empty = append(empty, k)
		case d.opaque(k, v):
			d.whole = false
		case drop[i]:
			more = append(more, k)
		default:
			d.value(k, v, depth)
		}
	}
	d.emptyOnes(empty, depth)
	if len(more) > 0 {
		d.whole = false
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

// emptyOnes names the members without a value.
func (d *drawing) emptyOnes(keys []string, depth int) {
	if len(keys) == 0 {
		return
	}
	d.add(depth, "(empty: "+strings.Join(d.few(keys, max(d.lim.list/4, 3)), ", ")+")")
}

// scalar returns a leaf on one line.
func (d *drawing) scalar(n *node) string { return d.scalarOf(n, d.lim.text) }

// titled returns a leaf that names something, of which more is shown than of others.
func (d *drawing) titled(n *node) string { return d.scalarOf(n, max(d.lim.text, 80)) }

func (d *drawing) scalarOf(n *node, most int) string {
	if n.kind != '"' {
		return n.text
	}
	text := n.text
	if d.lim.text < all {
		text = strings.Join(strings.Fields(tagless(text)), " ")
		if cut, is := d.aim.cut(text, most, d.known); is {
			d.whole = false
			text = cut
		}
	}
	return bare(text)
}

// known reports whether a word is a value or a key of the result, which is shown in
// its own place.
func (d *drawing) known(w string) bool { return d.times[w] > 0 || d.isKey[w] }

// bare returns a text without quotes, unless it would be taken for something else.
func bare(s string) string {
	if s == "" || s != strings.TrimSpace(s) || strings.ContainsAny(s, "\n\r\t|") || s == "true" || s == "false" || s == "null" {
		return quote(s)
	}
	if n, _ := js.NumberLength(s); n == len(s) {
		return quote(s)
	}
	return s
}

// quote writes a text as JSON does.
func quote(s string) string { return string(js.AppendQuoted(nil, s)) }

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
		s := d.scalar(n)
		return s, room - len(s)
	}
	if depth > 4 {
		return "", -1
	}
	var parts []string
	for i, k := range n.kids {
		label := ""
		if n.kind == '{' {
			if k.empty() || d.opaque(n.keys[i], k) {
				continue
			}
			label = n.keys[i] + ": "
		}
		var s string
		if s, room = d.inlineAt(k, room-len(label)-2, depth+1); room < 0 {
			return "", -1
		}
		parts = append(parts, label+s)
	}
	if n.kind == '{' {
		return "{" + strings.Join(parts, ", ") + "}", room
	}
	return "[" + strings.Join(parts, ", ") + "]", room
}

// cell returns a value on one line, whatever has to be cut.
func (d *drawing) cell(n *node, names bool) string {
	if n == nil || n.empty() {
		return ""
	}
	if n.leaf() && names {
		return d.titled(n)
	}
	if n.leaf() {
		return d.scalar(n)
	}
	most := all
	if d.lim.text < all {
		most = max(d.lim.text*3/2, 24)
	}
	if s, ok := d.inline(n, most); ok {
		return s
	}
	d.whole = false
	return d.gist(n, most)
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
			part = n.keys[i] + ": " + d.scalar(k)
		case n.kind == '{':
			part = n.keys[i]
		case k.leaf():
			part = d.scalar(k)
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
	if said := d.said(n, text, max(most, 80)); said != "" {
		text += " … " + said
	}
	if n.kind == '{' {
		return "{" + text + "}"
	}
	return "[" + text + "]"
}

// said returns the names in the texts of an object that are not in its gist.
func (d *drawing) said(n *node, gist string, most int) string {
	var b strings.Builder
	for _, k := range n.kids {
		if k.kind == '"' && len(k.text) > 24 && b.Len() < mostLeft {
			b.WriteString(k.text)
			b.WriteByte(' ')
		}
	}
	return mentions(b.String(), most, func(w string) bool { return d.known(w) || strings.Contains(gist, w) })
}

// names are the keys of what names a thing, the best first.
var names = []string{"name", "title", "id", "path", "key", "fullname", "full_name", "url", "uri", "link", "symbol", "code", "label", "email", "subject", "text"}

// handle returns what names an object: the value of its best key, and its id.
func (d *drawing) handle(n *node) string {
	if n.leaf() {
		return d.scalar(n)
	}
	i := naming(n)
	if i < 0 {
		return d.gist(n, max(min(d.lim.text, 200), 24))
	}
	s := d.titled(n.kids[i])
	for j, k := range n.keys {
		if v := n.kids[j]; strings.EqualFold(k, "id") && j != i && v.leaf() && !v.empty() && !d.opaque(k, v) {
			return s + " (" + k + " " + d.scalar(v) + ")"
		}
	}
	return s
}

// naming returns the place of the member that names an object, or -1.
func naming(n *node) int {
	best, rank := -1, all
	for i, k := range n.keys {
		if v := n.kids[i]; !v.leaf() || v.empty() || v.kind != '"' && v.kind != '0' {
			continue
		}
		if r := nameRank(k); r < rank {
			best, rank = i, r
		}
	}
	return best
}

// nameRank is how well a key names a thing; all if it does not.
func nameRank(key string) int {
	low := strings.ToLower(key)
	if i := slices.Index(names, low); i >= 0 {
		return i
	}
	for i, n := range names {
		if before, ok := strings.CutSuffix(low, n); ok {
			last := len(before) - 1 // there is one: the key is longer than the name
			if before[last] == '_' || before[last] == '-' || len(key) == len(low) && key[last+1] >= 'A' && key[last+1] <= 'Z' {
				return len(names) + i
			}
		}
	}
	return all
}

// opaque reports whether a value is an id that nobody can use: no tool takes it, and
// nothing else in the result has it.
func (d *drawing) opaque(key string, v *node) bool {
	if d.o.Params == nil || v.kind != '"' || d.times[v.text] > 1 || d.keep[key] {
		return false
	}
	low := strings.ToLower(key)
	is := low == "id" || low == "uuid" || low == "guid" || low == "etag" || low == "sha" || low == "hash" ||
		strings.HasSuffix(low, "_id") || strings.HasSuffix(key, "Id") || strings.HasSuffix(key, "ID")
	return is && !d.taken(low) && random(v.text)
}

// taken reports whether a tool takes what such a key holds.
func (d *drawing) taken(key string) bool {
	for p := range d.takes {
		if p == key || strings.HasSuffix(p, key) || strings.HasSuffix(key, p) {
			return true
		}
	}
	return false
}

// random reports whether a text is a UUID, a hash or the like, which says nothing to
// a reader.
func random(s string) bool {
	if len(s) < 16 || len(s) > 128 {
		return false
	}
	digits := 0
	for i := range len(s) {
		switch c := s[i]; {
		case c >= '0' && c <= '9':
			digits++
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c == '-', c == '_', c == '+', c == '/', c == '=':
		default:
			return false
		}
	}
	return digits >= 4
}

// tagless returns a text without the tags of HTML, if it has some.
func tagless(s string) string {
	if strings.Count(s, "</") < 2 && !strings.Contains(s, "<br") {
		return s
	}
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 {
			break
		}
		end := strings.IndexAny(s[i+1:], "<>")
		if end < 0 || s[i+1+end] != '>' || end == 0 || !strings.ContainsAny(s[i+1:i+2], "/abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ!") {
			b.WriteString(s[:i+1])
			s = s[i+1:]
			continue
		}
		tag := s[i+1 : i+1+end]
		b.WriteString(s[:i])
		switch {
		case strings.HasPrefix(tag, "td"), strings.HasPrefix(tag, "th"):
			b.WriteString(" | ")
		case strings.HasPrefix(tag, "a ") && strings.Contains(tag, `href="`):
			href := tag[strings.Index(tag, `href="`)+6:]
			if q := strings.IndexByte(href, '"'); q > 0 {
				b.WriteString("(" + href[:q] + ") ")
			}
		}
		s = s[i+end+2:]
	}
	b.WriteString(s)
	return b.String()
}
