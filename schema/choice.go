package schema

import (
	"fmt"
	"slices"
	"strings"
)

// annotations say something to the reader and nothing about values.
var annotations = []string{"description", "title", "default", "examples", "example", "deprecated", "readOnly", "writeOnly"}

// choice writes a schema with alternatives, or with several types, for vendors that
// allow nothing next to them: other keywords move into each alternative. It returns
// nil if there is no choice to write.
func (w *narrower) choice(e *element) *node {
	if !w.rules.onlyChoice {
		return nil
	}
	keyword, list := w.options(e)
	if list == nil {
		return nil
	}
	base := shallow(e.in)
	base.drop(keyword)
	out := object()
	for _, name := range annotations {
		if v := base.drop(name); v != nil {
			w.keyword(&element{in: e.in, out: out, types: Any, at: e.at}, name, v)
		}
	}
	if keyword == "oneOf" {
		w.loseExclusion(e, list)
	}
	var built []*node
	for i, sub := range list.list {
		at := e.at
		if keyword != "type" {
			at = at.at(keyword).index(i)
		}
		if sub.is(false) {
			continue
		}
		if says(base) {
			both := object()
			both.set("allOf", array(base, sub))
			sub = both
		}
		built = appendBranch(built, w.schema(sub, at))
	}
	return w.join(e, out, built)
}

// options returns the alternatives of a schema and the keyword they stand
// under.
func (w *narrower) options(e *element) (string, *node) {
	for _, keyword := range []string{"anyOf", "oneOf"} {
		list := e.in.get(keyword)
		if list == nil {
			continue
		}
		if w.sayRequired(e, keyword, list) {
			e.in.drop(keyword)
			continue
		}
		return keyword, list
	}
	t := ownTypes(e.in)
	single := t &^ Null
	if t&Number != 0 {
		single &^= Integer
	}
	if t == Any && w.rules.needType && !w.rules.closed {
		w.lose(e.at, "type", w.rules.name+" wants a type; only strings, numbers and booleans can be sent")
		return "type", array(typed(text("string")), typed(text("number")), typed(text("boolean")))
	}
	if t == Any || len(single.Names()) < 2 || !w.rules.oneType {
		return "", nil
	}
	if !w.rules.nullable {
		single |= t & Null
	}
	list := array()
	for _, name := range single.Names() {
		list.list = append(list.list, typed(text(name)))
	}
	if t&Null != 0 && !w.rules.nullable { // null is the last resort
		list.list = append(list.list[1:], list.list[0])
	}
	return "type", list
}

// sayRequired puts alternatives that only demand properties into words; others
// it leaves.
func (w *narrower) sayRequired(e *element, keyword string, list *node) bool {
	if !onlyRequire(list) {
		return false
	}
	var sets []string
	for _, b := range list.list {
		sets = append(sets, strings.Join(b.get("required").strings(), " and "))
	}
	how := "at least one"
	if keyword == "oneOf" {
		how = "exactly one"
	}
	w.lose(e.at, keyword, "alternatives that only demand properties are said in the description")
	e.notes = append(e.notes, how+" of these is given: "+strings.Join(sets, "; "))
	return true
}

// onlyRequire reports whether the alternatives differ only in the properties they
// demand.
func onlyRequire(list *node) bool {
	for _, b := range list.list {
		if len(b.get("required").strings()) == 0 {
			return false
		}
		for _, name := range b.names {
			if name != "required" && name != "type" && !slices.Contains(annotations, name) {
				return false
			}
		}
	}
	return len(list.list) > 0
}

// appendBranch adds an alternative, or its own alternatives, once.
func appendBranch(list []*node, b *node) []*node {
	if inner := b.get("anyOf"); inner != nil && len(b.names) == 1 {
		for _, i := range inner.list {
			list = appendBranch(list, i)
		}
		return list
	}
	if slices.ContainsFunc(list, func(n *node) bool { return n.String() == b.String() }) {
		return list
	}
	return append(list, b)
}

// join writes the alternatives under one anyOf, or a single one without it.
func (w *narrower) join(e *element, out *node, built []*node) *node {
	notes := strings.Join(e.notes, "; ")
	null := false
	if w.rules.nullable {
		isNull := func(b *node) bool { return b.has("type") && ownTypes(b) == Null }
		null = slices.ContainsFunc(built, isNull) || ownTypes(e.in) != Any && ownTypes(e.in)&Null != 0
		if some := slices.DeleteFunc(slices.Clone(built), isNull); len(some) > 0 {
			built = some
		}
	}
	if len(built) == 0 {
		w.refuse(e.at, "anyOf", "no alternative is left")
		built = []*node{typed(text("string"))}
	}
	if len(built) == 1 || w.rules.bareChoice {
		for _, b := range built {
			inherit(b, out)
			describe(b, notes)
			if null && !b.has("anyOf") {
				b.set("nullable", boolean(true))
			}
		}
		if len(built) == 1 {
			return built[0]
		}
		out = object()
		notes = ""
	}
	out.set("anyOf", array(built...))
	describe(out, notes)
	return out
}

// inherit gives an alternative the notes of the whole: its own come after.
func inherit(b, from *node) {
	if b.has("$ref") {
		return // it allows no other keywords
	}
	for i, name := range from.names {
		have := b.get(name)
		switch {
		case have == nil:
			b.set(name, from.list[i])
		case name == "description" && have.kind == String && from.list[i].kind == String && have.text != from.list[i].text:
			b.set(name, text(from.list[i].text+" "+have.text))
		}
	}
}

// exclusive reports whether no value can fit two of the alternatives: their
// types differ, or a required property has other values in each.
func (w *narrower) exclusive(list *node) bool {
	for i := range list.list {
		for j := range i {
			if !w.disjoint(list.list[i], list.list[j]) {
				return false
			}
		}
	}
	return true
}

func (w *narrower) disjoint(a, b *node) bool {
	look := *w // looking loses nothing
	look.losses, look.inlined = nil, slices.Clone(w.inlined)
	a, _ = look.effective(a, "", true)
	b, _ = look.effective(b, "", true)
	types := meet(statedTypes(a), statedTypes(b))
	if types == 0 {
		return true
	}
	props := a.get("properties")
	if props == nil || props.kind != Object || types != Object {
		return disjointValues(a, b)
	}
	for i, name := range props.names {
		other := b.get("properties").get(name)
		if other != nil && slices.Contains(a.get("required").strings(), name) && slices.Contains(b.get("required").strings(), name) &&
			disjointValues(props.list[i], other) {
			return true
		}
	}
	return false
}

// disjointValues reports whether two schemas list values and share none.
func disjointValues(a, b *node) bool {
	x, y := values(a), values(b)
	if x == nil || y == nil {
		return false
	}
	return !slices.ContainsFunc(x, func(v *node) bool {
		return slices.ContainsFunc(y, func(o *node) bool { return o.String() == v.String() })
	})
}

// measure refuses strict for a schema that is beyond the vendor's limits.
func (w *narrower) measure(root *node) {
	var m meter
	m.visit(root, 0)
	for i, name := range w.defs.names {
		m.text += len(name)
		m.visit(w.defs.list[i], 0)
	}
	l := w.rules.limits
	for _, c := range []struct {
		what       string
		have, most int
	}{
		{"levels of nesting", m.depth, l.depth}, {"properties", m.properties, l.properties}, {"enumerated values", m.enums, l.enums},
		{"bytes of names and values", m.text, l.text}, {"bytes in one enumeration", m.largeEnum, l.largeEnum},
		{"optional properties", m.optional, l.optional}, {"choices", m.unions, l.unions},
	} {
		if c.most > 0 && c.have > c.most {
			w.refuse("", "limits", fmt.Sprintf("%d %s, and the limit is %d", c.have, c.what, c.most))
		}
	}
	if w.rules.firstKeys {
		w.firstKeys(root)
		for _, def := range w.defs.list {
			w.firstKeys(def)
		}
	}
}

// meter counts what vendors limit.
type meter struct{ limits }

func (m *meter) visit(n *node, depth int) {
	if n.has("properties") || n.has("items") {
		depth++
	}
	m.depth = max(m.depth, depth)
	if props := n.get("properties"); props != nil {
		required := n.get("required").strings()
		for i, name := range props.names {
			m.properties++
			m.text += len(name)
			if !slices.Contains(required, name) {
				m.optional++
			}
			m.visit(props.list[i], depth)
		}
	}
	if items := n.get("items"); items != nil {
		m.visit(items, depth)
	}
	if list := n.get("anyOf"); list != nil {
		m.unions++
		for _, b := range list.list {
			m.visit(b, depth)
		}
	}
	if t := n.get("type"); t != nil && t.kind == Array {
		m.unions++
	}
	size := 0
	for _, v := range values(n) {
		size += len(v.text)
	}
	m.text += size
	if n.has("enum") {
		m.enums += len(values(n))
		if len(values(n)) > 250 {
			m.largeEnum = max(m.largeEnum, size)
		}
	}
}

// firstKeys sees to it that alternatives that are objects begin with different
// properties, or with one whose values tell them apart.
func (w *narrower) firstKeys(n *node) {
	if list := n.get("anyOf"); list != nil {
		w.tellApart(list.list)
	}
	for i, name := range n.names {
		eachSchema(name, n.list[i], func(sub *node, _ string) {
			if sub.kind == Object {
				w.firstKeys(sub)
			}
		})
	}
}

func (w *narrower) tellApart(branches []*node) {
	same := func(yield func(a, b *node) bool) {
		for i, a := range branches {
			for _, b := range branches[:i] {
				pa, pb := w.propsOf(a), w.propsOf(b)
				if pa != nil && pb != nil && pa.names[0] == pb.names[0] && !disjointValues(pa.list[0], pb.list[0]) && !yield(a, b) {
					return
				}
			}
		}
	}
	for range branches { // one change may undo another
		for a, b := range same {
			lead(w.propsOf(a), w.propsOf(b), !a.has("$ref"), !b.has("$ref"))
		}
	}
	for a := range same {
		w.refuse("", "anyOf", "two alternatives begin with the same property "+name(w.propsOf(a).names[0])+" and cannot be told apart by it")
	}
}

// propsOf returns the properties of an object schema that has some.
func (w *narrower) propsOf(n *node) *node {
	if ref := n.get("$ref"); ref != nil {
		n = w.defs.get(strings.TrimPrefix(ref.text, "#/$defs/"))
	}
	if props := n.get("properties"); props != nil && len(props.names) > 0 {
		return props
	}
	return nil
}

// lead moves a property to the front that tells a and b apart: one whose
// values differ in both, or one the other does not have.
func lead(a, b *node, mayA, mayB bool) {
	for i, name := range a.names {
		if other := b.get(name); mayA && mayB && other != nil && disjointValues(a.list[i], other) {
			first(a, name)
			first(b, name)
			return
		}
	}
	for _, try := range []struct {
		n, other *node
		may      bool
	}{{a, b, mayA}, {b, a, mayB}} {
		for _, name := range try.n.names {
			if try.may && !try.other.has(name) {
				first(try.n, name)
				return
			}
		}
	}
}

func first(n *node, name string) {
	v := n.drop(name)
	n.names = slices.Insert(n.names, 0, name)
	n.list = slices.Insert(n.list, 0, v)
}
