package schema

import (
	"encoding/json"
	"slices"
)

// Shape is what a schema says about the types of a value, its properties and
// its items, with references and alternatives resolved: enough to read text
// that carries no types, cheap enough to make for every tool of a request.
//
// A nil Shape is that of a value nothing is known about. A Shape never changes
// and is safe for concurrent use.
type Shape struct {
	types    Types
	names    []string // declared properties, in order
	props    map[string]*Shape
	required []string
	extra    *Shape // of properties that are not declared
	closed   bool   // no other properties
	prefix   []*Shape
	items    *Shape

	own  Types    // the types allowed by the other keywords
	all  []*Shape // every one of these holds: allOf, $ref
	alts []*Shape // one of these holds: anyOf, oneOf
	done bool
}

// ShapeOf returns the shape of values that a schema describes. It forgives: type words
// like dict, float or str are understood, and an unreadable part, or a reference that
// leads nowhere, allows anything. Use [Compile] to find the errors of a schema.
func ShapeOf(s []byte) *Shape {
	root, err := parse(s)
	if err != nil {
		return nil
	}
	b := shaper{doc: document{root: root}, known: make(map[*node]*Shape)}
	shape := b.shape(root)
	for _, s := range b.made {
		s.resolve()
	}
	return shape
}

// shaper makes one Shape per schema node. Cycles of references thereby become cycles
// of pointers.
type shaper struct {
	doc   document
	known map[*node]*Shape
	made  []*Shape
}

func (b *shaper) shape(n *node) *Shape {
	if n == nil {
		return nil
	}
	if s, ok := b.known[n]; ok {
		return s
	}
	s := &Shape{own: ownTypes(n)}
	b.known[n] = s
	b.made = append(b.made, s)
	if ref := n.get("$ref"); ref != nil && ref.kind == String {
		if target := b.doc.resolve(ref.text); target != nil {
			s.all = append(s.all, b.shape(target))
		}
	}
	s.all = append(s.all, b.shapes(n.get("allOf"))...)
	s.alts = append(b.shapes(n.get("anyOf")), b.shapes(n.get("oneOf"))...)
	if props := n.get("properties"); props != nil && props.kind == Object {
		s.names = props.names
		s.props = make(map[string]*Shape, len(props.names))
		for i, name := range props.names {
			s.props[name] = b.shape(props.list[i])
		}
	}
	s.required = n.get("required").strings()
	if extra := n.get("additionalProperties"); extra != nil {
		s.closed = extra.is(false)
		s.extra = b.shape(extra)
	}
	b.arrays(n, s)
	return s
}

func (b *shaper) arrays(n *node, s *Shape) {
	items := n.get("items")
	switch {
	case items == nil:
	case items.kind == Array: // draft-07 tuple
		s.prefix = b.shapes(items)
		s.items = b.shape(n.get("additionalItems"))
	default:
		s.items = b.shape(items)
	}
	if prefix := n.get("prefixItems"); prefix != nil {
		s.prefix = b.shapes(prefix)
	}
}

func (b *shaper) shapes(list *node) []*Shape {
	if list == nil || list.kind != Array {
		return nil
	}
	var out []*Shape
	for _, n := range list.list {
		out = append(out, b.shape(n))
	}
	return out
}

// ownTypes returns the types that a schema's own keywords allow. A schema that
// only lists properties or items is taken to mean objects or arrays, as its
// author did.
func ownTypes(n *node) Types {
	t := statedTypes(n)
	switch {
	case t != Any || n.kind != Object:
	case n.has("properties"):
		t = Object
	case n.has("items") || n.has("prefixItems"):
		t = Array
	}
	return t
}

// statedTypes returns the types that a schema's own type, const and enum
// allow. Where they contradict each other, the type is believed.
func statedTypes(n *node) Types {
	if n.kind != Object {
		if n.is(false) {
			return 0
		}
		return Any
	}
	t := Any
	switch typ := n.get("type"); {
	case typ != nil && typ.kind == String:
		t, _ = typeWord(typ.text)
	case typ != nil && typ.kind == Array:
		t = 0
		for _, word := range typ.strings() {
			w, _ := typeWord(word)
			t |= w
		}
	}
	var listed Types
	for _, v := range values(n) {
		listed |= valueTypes(v)
	}
	if both := meet(t, listed); both != 0 {
		return both
	}
	return t
}

// valueTypes returns the narrowest type of a value.
func valueTypes(v *node) Types {
	if v.kind == Number && readNumber(Integer, v.text, false) != "" {
		return Integer
	}
	return v.kind
}

// meet returns the types in both sets; integers are numbers.
func meet(a, b Types) Types {
	both := a & b
	if a&Number != 0 && b&Integer != 0 || b&Number != 0 && a&Integer != 0 {
		both |= Integer
	}
	return both
}

// resolve computes the types a shape allows. A shape met again on the way to
// itself adds no restriction.
func (s *Shape) resolve() Types {
	if s == nil {
		return Any
	}
	if s.done {
		return s.types
	}
	s.done = true
	t := s.own
	s.types = t
	for _, a := range s.all {
		t = meet(t, a.resolve())
	}
	if len(s.alts) > 0 {
		var any Types
		for _, a := range s.alts {
			any |= a.resolve()
		}
		t = meet(t, any)
	}
	s.types = t
	return t
}

// Types returns the JSON types that are allowed. A schema that allows nothing,
// or says nothing, gives [Any]: text has to be read as something.
func (s *Shape) Types() Types {
	if s == nil || s.types == 0 {
		return Any
	}
	return s.types
}

// Typed reads text as one of the allowed types; see [Types.Typed].
func (s *Shape) Typed(text string) (value json.RawMessage, ok bool) { return s.Types().Typed(text) }

// Property returns the shape of a property, nil if nothing is known about it.
// Where alternatives declare it differently, it allows what any of them does.
func (s *Shape) Property(name string) *Shape {
	return s.lookup(func(s *Shape) *Shape {
		if p, ok := s.props[name]; ok {
			return p
		}
		return s.extra
	})
}

// Item returns the shape of the i-th item of an array, nil if nothing is known
// about it.
func (s *Shape) Item(i int) *Shape {
	return s.lookup(func(s *Shape) *Shape {
		if i < len(s.prefix) {
			return s.prefix[i]
		}
		return s.items
	})
}

// lookup collects what own returns for s and all the shapes it consists of.
func (s *Shape) lookup(own func(*Shape) *Shape) *Shape {
	var found []*Shape
	s.walk(func(s *Shape) {
		if f := own(s); f != nil && !slices.Contains(found, f) {
			found = append(found, f)
		}
	})
	switch len(found) {
	case 0:
		return nil
	case 1:
		return found[0]
	}
	union := &Shape{alts: found, done: true}
	for _, f := range found {
		union.types |= f.types
	}
	return union
}

// walk visits s and every shape it consists of, once each.
func (s *Shape) walk(visit func(*Shape)) {
	if s == nil {
		return
	}
	if len(s.all)+len(s.alts) == 0 {
		visit(s)
		return
	}
	seen := []*Shape{s}
	for i := 0; i < len(seen); i++ {
		visit(seen[i])
		for _, part := range [][]*Shape{seen[i].all, seen[i].alts} {
			for _, p := range part {
				if p != nil && !slices.Contains(seen, p) {
					seen = append(seen, p)
				}
			}
		}
	}
}

// Properties returns the declared properties in the order of the schema. The
// caller must not change the list.
func (s *Shape) Properties() []string {
	if s == nil {
		return nil
	}
	if len(s.all)+len(s.alts) == 0 {
		return s.names
	}
	var names []string
	s.walk(func(s *Shape) {
		for _, name := range s.names {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	})
	return names
}

// Declares reports whether the schema names the property.
func (s *Shape) Declares(name string) bool {
	found := false
	s.walk(func(s *Shape) {
		_, ok := s.props[name]
		found = found || ok
	})
	return found
}

// Required reports whether the property must be there whatever the rest of the
// object says.
func (s *Shape) Required(name string) bool {
	if s == nil {
		return false
	}
	seen := []*Shape{s}
	for i := 0; i < len(seen); i++ {
		if slices.Contains(seen[i].required, name) {
			return true
		}
		for _, a := range seen[i].all {
			if !slices.Contains(seen, a) {
				seen = append(seen, a)
			}
		}
	}
	return false
}

// Closed reports whether the schema forbids properties it does not declare.
func (s *Shape) Closed() bool {
	closed := false
	s.walk(func(s *Shape) { closed = closed || s.closed })
	return closed
}
