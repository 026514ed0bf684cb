package shorten

import (
	"fmt"
	"hash/fnv"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// plan holds the properties of a result that are needed before it is drawn.
type plan struct {
	root  *node
	o     Options
	aim   *aim
	same  map[*node]string // where the same value is shown before
	keep  map[string]bool  // keys that the schema requires
	takes map[string]bool  // names of parameters
	times map[string]int   // how often a text occurs
	isKey map[string]bool

	// The counted units: the items of the outermost lists, or if there are no lists
	// the entries of the outermost object.
	units   map[*node]int // of a value, with all that is in it
	entries *node         // the object whose entries are counted
	leaves  bool          // items are the leaves of lists
	total   int
	unit    string
}

func newPlan(root *node, o Options) *plan {
	p := &plan{root: root, o: o, aim: aimOf(o.Task), same: make(map[*node]string), keep: required(o.Schema), takes: make(map[string]bool), units: make(map[*node]int)}
	for _, name := range o.Params {
		p.takes[strings.ToLower(name)] = true
	}
	p.study(root)
	p.count()
	return p
}

// count finds out what there is to count: lists of objects, else other lists, else the
// entries of an object.
func (p *plan) count() {
	p.unit = "items"
	for _, p.leaves = range []bool{false, true} {
		if p.total = p.countIn(p.root); p.total > 0 {
			return
		}
	}
	if p.root.kind == '{' {
		p.entries, p.total, p.unit = p.root, len(p.root.kids), "entries"
		p.units[p.root] = p.total
	}
}

// countIn notes how many items the outermost lists in a value have. A list of lists has
// what these have.
func (p *plan) countIn(n *node) int {
	sum := 0
	switch {
	case n.leaf():
		return 0
	case n.kind == '[' && p.counts(n):
		sum = len(n.kids)
	default:
		for _, k := range n.kids {
			sum += p.countIn(k)
		}
	}
	if sum > 0 {
		p.units[n] = sum
	}
	return sum
}

// counts reports whether the elements of a list are items.
func (p *plan) counts(n *node) bool {
	objects, lists := 0, 0
	for _, k := range n.kids {
		switch k.kind {
		case '{':
			objects++
		case '[':
			lists++
		}
	}
	return objects > 0 || p.leaves && lists < len(n.kids)
}

// study finds repeated values and weighs the words of the task.
func (p *plan) study(root *node) {
	p.times, p.isKey = make(map[string]int), make(map[string]bool)
	seen := make(map[uint64]*found)
	var texts []line
	var walk func(n *node, path string) (uint64, int)
	walk = func(n *node, path string) (uint64, int) {
		h := fnv.New64a()
		h.Write([]byte{n.kind})
		h.Write([]byte(n.text))
		if n.leaf() && len(n.text) < 200 {
			p.times[n.text]++
			texts = append(texts, line{text: n.text})
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
		return label(key)
	}
	return path + "." + label(key)
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
			out = append(out, among(strings.Join(strings.Fields(n.text), " ")))
		}
	}
	if walk("", root); looked == 0 {
		return ""
	}
	return strings.Join(out, ", ")
}
