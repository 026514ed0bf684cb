package catalog

import (
	_ "embed"
	"hash/maphash"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolpost/toolpost/internal/modeldb"
)

// Catalog holds the abilities of models. It never changes; the methods that add
// to it return a new one.
type Catalog struct {
	rules []rule // the first means "no rule", the second holds for every model
	// own counts the rules of the embedded file. The rules after them are the
	// user's and always win.
	own      int
	byFamily map[string][]int // the own rules to try for a family, in order; "" for the others
	theirs   []int            // the user's rules, in order
	exact    []map[string]int // by folded id, weakest source first: imported, embedded, the user's
	bases    map[string]string
	memo     *memo
	sellers  map[string]int           // by host: the rule that represents its prices
	imports  map[string]modeldb.Entry // the entries of the databases, to find the strictest
}

// defaultRule is the index of the rule that holds for every model. Models that
// no other rule matches have only this rule.
const defaultRule = 1

// The sources of exact ids, weakest first.
const (
	imported = iota
	embedded
	user
	sources
)

//go:embed data/rules.yaml
var rulesYAML []byte

var embeddedCatalog = sync.OnceValue(func() *Catalog {
	c := &Catalog{rules: []rule{{}}, exact: make([]map[string]int, sources), bases: map[string]string{}, memo: newMemo()}
	f, err := parseFile("rules.yaml", rulesYAML)
	if err != nil {
		panic("catalog: data/" + err.Error())
	}
	c.rules = append(c.rules, f.rules...)
	c.own = len(c.rules)
	c.addExact(embedded, f.exact)
	c.sellers = map[string]int{}
	for _, host := range slices.Sorted(maps.Keys(prices().sellers)) {
		c.rules = append(c.rules, rule{name: "prices of " + host, from: "prices.txt"})
		c.sellers[host] = len(c.rules) - 1
	}
	c.index()
	return c
})

// Default returns the embedded catalogue. It reads no files.
func Default() *Catalog { return embeddedCatalog() }

func newMemo() *memo { return &memo{seed: maphash.MakeSeed()} }

// clone returns a copy that can be added to.
func (c *Catalog) clone() *Catalog {
	d := *c
	d.rules = slices.Clip(c.rules)
	d.theirs = slices.Clip(c.theirs)
	d.exact = slices.Clone(c.exact)
	d.bases = maps.Clone(c.bases)
	d.memo = newMemo()
	return &d
}

// addExact adds the entries for single ids. Later files win.
func (c *Catalog) addExact(source int, all map[string]exact) {
	merged := maps.Clone(c.exact[source])
	if merged == nil {
		merged = make(map[string]int, len(all))
	}
	for _, id := range slices.Sorted(maps.Keys(all)) {
		e := all[id]
		c.rules = append(c.rules, e.rule)
		merged[id] = len(c.rules) - 1
		if e.base != "" {
			c.bases[id] = e.base
		}
	}
	c.exact[source] = merged
}

// index sorts the embedded rules by the families they match. A lookup then
// tries few of them.
func (c *Catalog) index() {
	c.byFamily = map[string][]int{}
	names := map[string]bool{"": true}
	for i := 1; i < c.own; i++ {
		for _, f := range c.rules[i].when.families {
			names[f] = true
		}
	}
	for name := range vocabulary().families {
		names[name] = true
	}
	for name := range names {
		root := ID{Family: name}.Root()
		for i := 1; i < c.own; i++ {
			fs := c.rules[i].when.families
			if fs == nil || slices.Contains(fs, name) || slices.Contains(fs, root) {
				c.byFamily[name] = append(c.byFamily[name], i)
			}
		}
	}
}

// With returns a catalogue that also knows these models. Each describes its id,
// wherever it is served: known fields win over all other sources, and unknown
// fields change nothing.
func (c *Catalog) With(models ...Model) *Catalog {
	d := c.clone()
	all := map[string]exact{}
	for _, m := range models {
		all[foldID(m.ID.Raw)] = exact{rule: rule{name: m.ID.Raw, from: "program", set: settingsOf(m)}}
	}
	d.addExact(user, all)
	return d
}

// Load returns a catalogue in which the file data, in the form of models.yaml,
// wins over all earlier sources. Errors refer to the file by name, and give the
// line. Rules are tried in order and the last match wins; entries for one id
// win over the rules of the file.
func (c *Catalog) Load(name string, data []byte) (*Catalog, error) {
	f, err := parseFile(name, data)
	if err != nil {
		return nil, err
	}
	d := c.clone()
	for _, r := range f.rules {
		d.rules = append(d.rules, r)
		d.theirs = append(d.theirs, len(d.rules)-1)
	}
	d.addExact(user, f.exact)
	return d, nil
}

// Wires yields the place (file and line) and the name of each wire format that
// models.yaml or [Catalog.With] sets. The catalogue takes any name: package wire
// has the list of formats.
func (c *Catalog) Wires() iter.Seq2[string, string] {
	return func(yield func(string, string) bool) {
		for _, i := range append(slices.Sorted(maps.Values(c.exact[user])), c.theirs...) {
			for _, s := range c.rules[i].set {
				if key := fields[s.field].key; key != "wire" && key != "thinking_wire" || s.text == "" {
					continue
				}
				if !yield(c.rules[i].from, s.text) {
					return
				}
			}
		}
	}
}

// memo remembers the answers to the last ids, one per slot: programs ask for
// the same few models with every request.
type memo struct {
	seed  maphash.Seed
	slots [256]atomic.Pointer[Model]
}

// Lookup returns the facts known about a model. It never fails: for an id
// without any rule the answers are safe and Known is false.
func (c *Catalog) Lookup(id string) Model {
	if len(id) > maxID {
		return c.lookup(id) // not worth keeping
	}
	slot := &c.memo.slots[maphash.String(c.memo.seed, id)%uint64(len(c.memo.slots))]
	if m := slot.Load(); m != nil && m.ID.Raw == id {
		return *m
	}
	m := c.lookup(strings.Clone(id)) // id may be a piece of something large
	slot.Store(&m)
	return m
}

func (c *Catalog) lookup(id string) Model {
	m := Model{ID: ParseID(id), cat: c}
	keys := m.ID.keys()
	entry, mine := c.entryFor(id)
	base, ok := find(c.bases, keys)
	if mine {
		if b, has := c.bases[entry]; has {
			base, ok = b, true
		}
	}
	if ok {
		m.ID = ParseID(base)
		m.ID.Raw, m.ID.Custom = id, true
	}
	list, ok := c.byFamily[m.ID.Family]
	if !ok {
		list = c.byFamily[""]
	}
	for _, i := range list {
		c.try(i, &m)
	}
	c.single(imported, keys, &m)
	c.single(embedded, keys, &m)
	if price, from := prices().of(&m.ID); price.Known {
		m.Price, m.why[fieldPrice] = price, uint16(c.sellers[from])
	}
	for _, i := range c.theirs {
		if fs := c.rules[i].when.families; fs == nil || slices.Contains(fs, m.ID.Family) || slices.Contains(fs, m.ID.Root()) {
			c.try(i, &m)
		}
	}
	if mine {
		c.single(user, [2]string{entry, entry}, &m)
	}
	return m
}

// entryFor returns the user's entry for a model wherever it is served: under the whole id, or under what is left of it
// without the address or the names in front. The longest wins.
func (c *Catalog) entryFor(id string) (key string, ok bool) {
	if len(c.exact[user]) == 0 {
		return "", false
	}
	key = foldID(id)
	for {
		if _, ok = c.exact[user][key]; ok {
			return key, true
		}
		at := strings.IndexByte(key, '/')
		if hash := strings.IndexByte(key, '#'); hash >= 0 && strings.Contains(key[:hash], "://") {
			at = hash
		}
		if at < 0 {
			return "", false
		}
		key = key[at+1:]
	}
}

// try applies rule i if it matches. A rule about a host can only take
// capabilities away, because model and host must both have them.
func (c *Catalog) try(i int, m *Model) {
	r := &c.rules[i]
	if !r.when.matches(&m.ID) {
		return
	}
	for j := range r.set {
		s := &r.set[j]
		if r.host && i < c.own {
			if !s.restrict(m) {
				continue
			}
		} else {
			s.apply(m)
		}
		m.why[s.field] = uint16(i)
	}
}

// single applies the entry of a source for exactly this id.
func (c *Catalog) single(source int, keys [2]string, m *Model) {
	i, ok := find(c.exact[source], keys)
	if !ok {
		return
	}
	for j := range c.rules[i].set {
		s := &c.rules[i].set[j]
		if f := &fields[s.field]; source == imported && f.answer != nil && f.answer(m).Support == s.answer.Support {
			continue // databases know no conditions
		}
		s.apply(m)
		m.why[s.field] = uint16(i)
	}
}

// keys returns the ids under which a model may be listed: the id as written,
// and the id without the host in front, which may be its maker.
func (id *ID) keys() [2]string {
	whole := foldID(id.Raw)
	host, rest, ok := strings.Cut(whole, "/")
	if !ok {
		return [2]string{whole, whole}
	}
	host = strings.ReplaceAll(host, "_", "-")
	if id.Provider != "" && vocabulary().providers[host] == id.Provider || id.Provider == "" && prices().sellers[host] != nil {
		return [2]string{whole, rest}
	}
	return [2]string{whole, whole}
}

// find looks the keys up in turn.
func find[V any](m map[string]V, keys [2]string) (V, bool) {
	v, ok := m[keys[0]]
	if !ok && keys[1] != keys[0] {
		v, ok = m[keys[1]]
	}
	return v, ok
}

// foldID is how ids are compared: without case and outer space.
func foldID(id string) string { return strings.ToLower(strings.TrimSpace(id)) }

// Models lists the catalogue: one model for each example of the embedded
// families, then the user's own ids in alphabetical order.
func (c *Catalog) Models() []Model {
	var all []Model
	for _, f := range vocabulary().order {
		for _, id := range f.examples {
			all = append(all, c.Lookup(id))
		}
	}
	var own []string
	for _, i := range c.exact[user] {
		own = append(own, c.rules[i].name)
	}
	slices.Sort(own)
	for _, id := range own {
		all = append(all, c.Lookup(id))
	}
	return all
}
