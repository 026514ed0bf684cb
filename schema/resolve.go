package schema

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
)

// shallow copies a node but not its children, whose identity matters.
func shallow(n *node) *node {
	c := *n
	c.names, c.list = slices.Clone(n.names), slices.Clone(n.list)
	return &c
}

// effective returns a copy of n in which references and allOf are resolved as
// far as the rules, or inline, demand. A node that comes back with a $ref is
// to be a reference. The caller takes the returned number of definitions off
// w.inlined when it is done with the node.
func (w *narrower) effective(n *node, at pointer, inline bool) (*node, int) {
	if n.kind != Object {
		if n.kind != Boolean {
			w.lose(at, "", "not a schema")
		}
		return object(), 0
	}
	if w.size++; w.size > maxNodes {
		w.fail(errTooLarge)
	}
	if w.err != nil {
		return object(), 0
	}
	eff, pushed := shallow(n), 0
	if ref := eff.drop("$ref"); ref != nil {
		target := w.doc.resolve(ref.text)
		switch {
		case ref.kind != String || target == nil:
			w.fail(fmt.Errorf("schema: at %s: the reference %s leads out of the schema or nowhere", place("#"+string(at)), clip.Bytes(ref.String(), 200)))
			return object(), 0
		case slices.Contains(w.inlined, target):
			return w.recursion(eff, ref, at), 0
		case !inline && !w.rules.noRefs && !says(eff):
			return reference(ref), 0
		}
		w.inlined = append(w.inlined, target)
		part, more := w.effective(target, at, true)
		pushed += 1 + more
		eff = w.merge(eff, part, at)
	}
	if list := eff.get("allOf"); list != nil && list.kind == Array && (inline || w.rules.noAllOf) {
		eff.drop("allOf")
		for i, sub := range list.list {
			part, more := w.effective(sub, at.at("allOf").index(i), true)
			pushed += more
			eff = w.merge(eff, part, at)
		}
	}
	return eff, pushed
}

func (w *narrower) fail(err error) {
	if w.err == nil {
		w.err = err
	}
}

// says reports whether a schema has keywords that mean something.
func says(n *node) bool {
	return slices.ContainsFunc(n.names, func(name string) bool { return !silent[name] })
}

func reference(ref *node) *node {
	n := object()
	n.set("$ref", ref)
	return n
}

// recursion handles a reference to a definition that is being written out: it
// stays a reference if the vendor knows those, else it is cut.
func (w *narrower) recursion(rest, ref *node, at pointer) *node {
	if !w.rules.noRefs {
		for _, name := range rest.names {
			if !silent[name] {
				w.lose(at, name, "nothing may be next to a reference to an outer definition")
			}
		}
		return reference(ref)
	}
	w.lose(at, "$ref", w.rules.name+" knows no references, so the recursion ends here; deeper values are not described")
	name := ref.text[strings.LastIndexAny(ref.text, "/#")+1:]
	cut := object()
	shape := (&shaper{doc: w.doc, known: make(map[*node]*Shape)}).of(w.doc.resolve(ref.text))
	if names := shape.Types().Names(); shape.Types() != Any {
		cut.set("type", text(names[len(names)-1]))
	}
	if d := rest.get("description"); d != nil && d.kind == String {
		cut.set("description", d)
	}
	if name == "" {
		name = "the whole"
	}
	describe(cut, "the same structure again, as "+name+" above")
	return cut
}

// refer returns a reference to a definition, which it writes if it is new.
func (w *narrower) refer(ref *node, at pointer) *node {
	target := w.doc.resolve(ref.text)
	name, known := w.names[target]
	if !known {
		name = w.defName(ref.text)
		w.names[target] = name
		w.defs.set(name, nil) // keeps its place, and is found if it refers to itself
		where := pointer(strings.TrimPrefix(ref.text, "#"))
		inlined := w.inlined
		w.inlined = nil
		w.defs.set(name, w.schema(target, where))
		w.inlined = inlined
	} else if w.defs.get(name) == nil && w.rules.noRecursion {
		w.refuse(at, "$ref", "the definition refers to itself")
	}
	return reference(text("#/$defs/" + name))
}

// defName makes a name for a definition out of its reference.
func (w *narrower) defName(ref string) string {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || '0' <= r && r <= '9' || 'A' <= r && r <= 'Z' || 'a' <= r && r <= 'z' {
			return r
		}
		return '_'
	}, ref[strings.LastIndexAny(ref, "/#")+1:])
	if name == "" {
		name = "root"
	}
	for unique, i := name, 2; ; i++ {
		if !slices.Contains(w.defs.names, unique) {
			return unique
		}
		unique = fmt.Sprintf("%s_%d", name, i)
	}
}

// tighter returns which of two bounds holds if both do.
var tighter = map[string]int{
	"minimum": 1, "exclusiveMinimum": 1, "minLength": 1, "minItems": 1, "minProperties": 1, "minContains": 1,
	"maximum": -1, "exclusiveMaximum": -1, "maxLength": -1, "maxItems": -1, "maxProperties": -1, "maxContains": -1,
}

// merge returns a schema for what both a and b allow. It reports what cannot
// be said in one schema.
func (w *narrower) merge(a, b *node, at pointer) *node {
	b = shallow(b)
	w.exclude(a, b, at)
	w.exclude(b, a, at)
	for i, name := range b.names {
		have, add := a.get(name), b.list[i]
		switch {
		case silent[name]:
		case have == nil:
			a.set(name, add)
		case have.String() == add.String():
		default:
			w.mergeKeyword(a, name, have, add, at)
		}
	}
	return a
}

// exclude removes the properties of b that can never be there because a, which
// holds too, is closed and does not have them.
func (w *narrower) exclude(a, b *node, at pointer) {
	props := b.get("properties")
	if !a.get("additionalProperties").is(false) || a.has("patternProperties") || props == nil || props.kind != Object {
		return
	}
	own := a.get("properties")
	kept := object()
	for i, p := range props.names {
		if own.has(p) {
			kept.set(p, props.list[i])
		} else {
			w.lose(at.at("properties").at(p), "additionalProperties", "left out, since another schema that holds too is closed and does not have it")
		}
	}
	b.set("properties", kept)
}

// A merger writes into a what both have and add, two values of one keyword,
// allow. It reports false if they cannot be said in one.
type merger func(w *narrower, a *node, have, add *node, at pointer) bool

// mergers are the keywords that can be merged, in addition to the bounds of tighter.
var mergers = map[string]merger{
	"type":                 (*narrower).mergeTypes,
	"properties":           (*narrower).mergeProperties,
	"required":             (*narrower).mergeRequired,
	"allOf":                (*narrower).mergeAllOf,
	"enum":                 (*narrower).mergeEnum,
	"items":                (*narrower).mergeItems,
	"additionalProperties": (*narrower).mergeAdditional,
	"uniqueItems":          (*narrower).mergeUnique,
	"description":          keepFirst,
	"title":                keepFirst,
	"default":              keepFirst,
	"examples":             keepFirst,
	"deprecated":           keepFirst,
}

// keepFirst is for keywords that allow and forbid nothing.
func keepFirst(*narrower, *node, *node, *node, pointer) bool { return true }

func (w *narrower) mergeKeyword(a *node, name string, have, add *node, at pointer) {
	if side := tighter[name]; side != 0 && have.kind == Number && add.kind == Number {
		if compareNumbers(add.text, have.text) == side {
			a.set(name, add)
		}
		return
	}
	if m := mergers[name]; m == nil || !m(w, a, have, add, at) {
		w.lose(at, name, "several schemas that hold together each have one; the first is kept")
	}
}

// allOf returns a schema that holds if both do.
func allOf(x, y *node) *node {
	n := object()
	n.set("allOf", array(x, y))
	return n
}

func (w *narrower) mergeTypes(a, have, add *node, at pointer) bool {
	t := meet(ownTypes(typed(have)), ownTypes(typed(add)))
	if t == 0 {
		w.lose(at, "type", "several schemas that hold together allow no common type")
		return true
	}
	a.set("type", typeNode(t))
	return true
}

func (w *narrower) mergeProperties(a, have, add *node, _ pointer) bool {
	if have.kind != Object || add.kind != Object {
		return false
	}
	props := shallow(have)
	for i, p := range add.names {
		if old := props.get(p); old == nil {
			props.set(p, add.list[i])
		} else if old.String() != add.list[i].String() {
			props.set(p, allOf(old, add.list[i]))
		}
	}
	a.set("properties", props)
	return true
}

func (w *narrower) mergeRequired(a, have, add *node, _ pointer) bool {
	list := have.strings()
	for _, r := range add.strings() {
		if !slices.Contains(list, r) {
			list = append(list, r)
		}
	}
	a.set("required", stringArray(list))
	return true
}

func (w *narrower) mergeAllOf(a, have, add *node, _ pointer) bool {
	if have.kind != Array || add.kind != Array {
		return false
	}
	a.set("allOf", array(append(slices.Clone(have.list), add.list...)...))
	return true
}

func (w *narrower) mergeItems(a, have, add *node, _ pointer) bool {
	a.set("items", allOf(have, add))
	return true
}

func (w *narrower) mergeAdditional(a, have, add *node, _ pointer) bool {
	if have.is(false) || add.is(false) {
		a.set("additionalProperties", boolean(false))
	} else {
		a.set("additionalProperties", allOf(have, add))
	}
	return true
}

func (w *narrower) mergeUnique(a, _, _ *node, _ pointer) bool {
	a.set("uniqueItems", boolean(true))
	return true
}

func (w *narrower) mergeEnum(a, have, add *node, at pointer) bool {
	if have.kind != Array || add.kind != Array {
		return false
	}
	common := array()
	for _, v := range have.list {
		if slices.ContainsFunc(add.list, func(o *node) bool { return o.String() == v.String() }) {
			common.list = append(common.list, v)
		}
	}
	if len(common.list) == 0 {
		w.lose(at, "enum", "several schemas that hold together allow no common value")
		return true
	}
	a.set("enum", common)
	return true
}

// typed returns a schema that has only the type.
func typed(t *node) *node {
	n := object()
	n.set("type", t)
	return n
}

// typeNode writes types as a word or a list.
func typeNode(t Types) *node {
	names := t.Names()
	if len(names) == 1 {
		return text(names[0])
	}
	if names[0] == "null" { // "string or null" reads better
		names = append(names[1:], "null")
	}
	return stringArray(names)
}

func compareNumbers(a, b string) int {
	x, ok := new(big.Rat).SetString(a)
	y, ok2 := new(big.Rat).SetString(b)
	if !ok || !ok2 {
		return 0
	}
	return x.Cmp(y)
}
