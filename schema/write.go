package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// element is one schema being written.
type element struct {
	in, out *node
	types   Types // that the schema allows
	at      pointer
	notes   []string // for the description
}

// schema writes n under the rules.
func (w *narrower) schema(n *node, at pointer) *node {
	eff, pushed := w.effective(n, at, false)
	defer func() { w.inlined = w.inlined[:len(w.inlined)-pushed] }()
	if w.err != nil {
		return object()
	}
	if ref := eff.get("$ref"); ref != nil {
		return w.refer(ref, at)
	}
	e := &element{in: eff, out: object(), at: at}
	w.checkKinds(e)
	if out := w.choice(e); out != nil {
		return out
	}
	w.types(e)
	for i, name := range e.in.names {
		w.keyword(e, name, e.in.list[i])
	}
	if e.types&Object != 0 {
		w.closeObject(e)
	}
	if e.types&Array != 0 && (e.types != Any || e.in.has("items") || e.in.has("prefixItems")) {
		w.arrayItems(e)
	}
	describe(e.out, strings.Join(e.notes, "; "))
	return e.out
}

// checkKinds removes keywords whose value cannot be one.
func (w *narrower) checkKinds(e *element) {
	for _, name := range slices.Clone(e.in.names) {
		want, ok := kinds[name]
		if v := e.in.get(name); ok && v.kind != want && !(name == "exclusiveMinimum" || name == "exclusiveMaximum") ||
			want == Array && len(v.list) == 0 && name != "required" && name != "prefixItems" {
			e.in.drop(name)
			w.lose(e.at, name, "not valid JSON Schema: must be "+article(want)+" "+want.String())
		}
	}
	if t := e.in.get("type"); t != nil && ownTypes(typed(t)) == 0 {
		e.in.drop("type")
		w.lose(e.at, "type", "not valid JSON Schema: must be a type or a list of types")
	}
}

// drop loses a keyword the vendor does not know and says in words what it
// demanded.
func (w *narrower) drop(e *element, name string, v *node) {
	w.dropFor(e, name, v, "does not know it")
}

// dropFor is drop with another reason.
func (w *narrower) dropFor(e *element, name string, v *node, reason string) {
	say := sayKeyword(name, v)
	if say != "" {
		e.notes = append(e.notes, say)
		reason += "; moved into the description"
	}
	w.lose(e.at, name, w.rules.name+" "+reason)
}

// types finds the types of a schema and writes them.
func (w *narrower) types(e *element) {
	e.types = ownTypes(e.in)
	known := e.types != Any
	switch {
	case known && (w.rules.needType || w.rules.sayType || e.in.has("type")):
		w.writeTypes(e)
	case known:
	case w.rules.closed:
		w.refuse(e.at, "type", "a value of any type")
	default:
		e.types = Any
		if t := e.in.get("type"); t != nil {
			e.out.set("type", t)
		}
	}
}

func (w *narrower) writeTypes(e *element) {
	t, written := e.types, e.in.get("type")
	switch {
	case w.rules.nullable && t&Null != 0 && t != Null:
		e.out.set("type", typeNode(t&^Null))
		e.out.set("nullable", boolean(true))
	case written != nil && ownTypes(typed(written)) == t:
		e.out.set("type", written)
	default:
		e.out.set("type", typeNode(t))
	}
}

// keyword writes one keyword. Those of objects and arrays that hang together
// are written by closeObject and arrayItems.
func (w *narrower) keyword(e *element, name string, v *node) {
	r := w.rules
	if t, ok := appliesTo[name]; silent[name] || ok && meet(t, e.types) == 0 {
		return
	}
	switch name {
	case "type", "required", "items", "prefixItems", "additionalItems":
	case "description", "title":
		e.out.set(name, v)
	case "properties":
		w.properties(e, v)
	case "additionalProperties":
		w.additional(e, v)
	case "enum", "const":
		w.values(e, name, v)
	case "anyOf", "oneOf":
		w.alternatives(e, name, v)
	case "format":
		if known := r.formatsFor(e.types); known == nil || slices.Contains(known, v.text) {
			w.copy(e, name, v)
		} else {
			w.dropFor(e, name, v, "does not know this format")
		}
	case "pattern":
		if _, err := compilePattern(v.text); err != nil && slices.Contains(r.keep, name) {
			w.dropFor(e, name, v, "cannot run this pattern")
			return
		}
		w.copy(e, name, v)
	case "minItems":
		if r.minItemsOne && v.text != "0" && v.text != "1" {
			w.dropFor(e, name, v, "knows only 0 and 1")
			return
		}
		w.copy(e, name, v)
	default:
		w.copy(e, name, v)
	}
}

// formatsFor returns the formats understood on a type; nil is all.
func (r *rules) formatsFor(t Types) []string {
	if r.formats != nil && t&String == 0 {
		return append([]string{}, r.numberFormats...)
	}
	return r.formats
}

// copy writes a keyword unchanged if the vendor knows it.
func (w *narrower) copy(e *element, name string, v *node) {
	switch {
	case w.rules.keep != nil && !slices.Contains(w.rules.keep, name):
		w.drop(e, name, v)
	case positions[name] != 0:
		out := shallow(v)
		if positions[name] == oneSchema && v.kind != Array {
			out = w.sub(v, e.at.at(name))
		} else {
			i := 0
			eachSchema(name, v, func(sub *node, key string) {
				if sub.kind != Array { // a list of names, in old dependencies
					out.list[i] = w.sub(sub, e.at.at(name).at(key))
				}
				i++
			})
		}
		e.out.set(name, out)
	default:
		e.out.set(name, v)
	}
}

// sub writes a schema that may stay a boolean.
func (w *narrower) sub(n *node, at pointer) *node {
	if n.kind == Boolean {
		return n
	}
	return w.schema(n, at)
}

// properties writes the properties of an object.
func (w *narrower) properties(e *element, v *node) {
	required := e.in.get("required").strings()
	props := object()
	for i, name := range v.names {
		at := e.at.at("properties").at(name)
		if v.list[i].is(false) && (w.rules.closed || w.rules.needType) {
			w.lose(at, "false", "left out, since it must not be there")
			continue
		}
		if w.rules.plainNames && !plainName(name) {
			w.lose(at, "properties", w.rules.name+" refuses the name, so the property is left out")
			continue
		}
		p := w.schema(v.list[i], at)
		if w.rules.allRequired && !slices.Contains(required, name) {
			p = withNull(p)
		}
		props.set(name, p)
	}
	if len(props.names) > 0 || !w.rules.nullable {
		e.out.set("properties", props)
	}
}

// plainName reports whether a name is 1 to 64 letters, digits, dots,
// underscores and hyphens.
func plainName(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if !('a' <= c && c <= 'z' || '0' <= s[i] && s[i] <= '9' || s[i] == '.' || s[i] == '_' || s[i] == '-') {
			return false
		}
	}
	return s != "" && len(s) <= 64
}

// withNull allows null in addition to the types of p.
func withNull(p *node) *node {
	null := typed(text("null"))
	if list := p.get("anyOf"); list != nil {
		if !slices.ContainsFunc(list.list, allowsNull) {
			p.set("anyOf", array(append(slices.Clone(list.list), null)...))
		}
		return p
	}
	if allowsNull(p) {
		return p
	}
	if p.has("$ref") {
		n := object()
		n.set("anyOf", array(p, null))
		return n
	}
	p.set("type", typeNode(ownTypes(typed(p.get("type")))|Null))
	if c := p.drop("const"); c != nil {
		p.set("enum", array(c))
	}
	if enum := p.get("enum"); enum != nil {
		p.set("enum", array(append(slices.Clone(enum.list), &node{kind: Null, text: "null"})...))
	}
	return p
}

func allowsNull(n *node) bool { return n.has("type") && ownTypes(n)&Null != 0 }

// additional writes additionalProperties.
func (w *narrower) additional(e *element, v *node) {
	switch {
	case w.rules.closed: // closeObject decides
	case !w.rules.noAdditional:
		w.copy(e, "additionalProperties", v)
	case v.is(false):
		w.lose(e.at, "additionalProperties", w.rules.name+" does not know it; other properties are refused when the call is validated")
	case v.kind == Object && says(v):
		w.drop(e, "additionalProperties", v)
	}
}

// closeObject writes required, and closes the object if the rules want it.
func (w *narrower) closeObject(e *element) {
	declared := e.out.get("properties")
	required := slices.DeleteFunc(e.in.get("required").strings(), func(r string) bool {
		switch {
		case declared.has(r):
			return false
		case e.in.get("properties").has(r): // it was left out, and that was said
			w.refuse(e.at, "required", "the required property "+name(r)+" had to be left out")
			return true
		case w.rules.declared:
			w.refuse(e.at, "required", "the required property "+name(r)+" is not declared")
			w.lose(e.at, "required", name(r)+" is required but not declared")
		}
		return w.rules.declared
	})
	if w.rules.noRequired && e.at != "" && len(required) > 0 {
		w.drop(e, "required", stringArray(required))
		required = nil
	}
	if w.rules.closed {
		w.checkClosed(e)
		if declared == nil {
			declared = object()
			e.out.set("properties", declared)
		}
		e.out.set("additionalProperties", boolean(false))
	}
	if w.rules.allRequired {
		e.out.set("required", stringArray(declared.names))
	} else if len(required) > 0 {
		e.out.set("required", stringArray(required))
	}
}

// checkClosed refuses strict for objects with names that are not known.
func (w *narrower) checkClosed(e *element) {
	extra := e.in.get("additionalProperties")
	props := e.in.get("properties")
	switch {
	case extra != nil && !extra.is(false):
		w.refuse(e.at, "additionalProperties", "an object with names of the model's own choice")
	case e.in.has("patternProperties") && len(e.in.get("patternProperties").names) > 0:
		w.refuse(e.at, "patternProperties", "an object with names of the model's own choice")
	case extra == nil && (props == nil || len(props.names) == 0): // closed, it could only be {}
		w.refuse(e.at, "properties", "an object without declared properties")
	}
}

// values writes enum or const.
func (w *narrower) values(e *element, name string, v *node) {
	r := w.rules
	list := []*node{v}
	if name == "enum" {
		list = slices.Clone(v.list)
	}
	list = slices.DeleteFunc(list, func(x *node) bool { return meet(valueTypes(x), e.types) == 0 })
	if name == "enum" {
		v = array(slices.Clone(list)...)
	}
	if e.types == Null && len(list) > 0 {
		return // the type says it
	}
	complex := slices.ContainsFunc(list, func(x *node) bool { return x.kind&(Object|Array) != 0 })
	if r.nullable { // null is said by nullable
		list = slices.DeleteFunc(list, func(x *node) bool { return x.kind == Null })
	}
	odd := slices.ContainsFunc(list, func(x *node) bool { return x.kind != String || x.text == "" })
	switch {
	case complex && r.scalarEnums:
		w.dropFor(e, name, v, "takes only strings, numbers, booleans and null")
	case len(list) == 0:
		w.lose(e.at, name, "no value has the type of the schema")
	case odd && r.stringEnums:
		w.dropFor(e, name, v, "takes only non-empty strings")
	case name == "const" && !r.noConst:
		e.out.set(name, v)
	default:
		e.out.set("enum", array(list...))
	}
}

// arrayItems writes items and prefixItems.
func (w *narrower) arrayItems(e *element) {
	prefix, rest, restName := e.in.get("prefixItems"), e.in.get("items"), "items"
	if prefix == nil && rest != nil && rest.kind == Array {
		prefix, rest, restName = rest, e.in.get("additionalItems"), "additionalItems"
	}
	at := e.at.at(restName)
	switch {
	case prefix == nil && rest != nil && rest.kind == Object:
		e.out.set("items", w.item(rest, at))
	case prefix == nil:
		w.anyItems(e, rest)
	case w.rules.noTuples:
		w.union(e, prefix, rest, at)
	default:
		w.tuple(e)
	}
}

// item writes the schema of an item.
func (w *narrower) item(n *node, at pointer) *node {
	if inner := w.rules.items; inner != nil {
		outer := w.rules
		w.rules = inner
		defer func() { w.rules = outer }()
	}
	return w.schema(n, at)
}

// anyItems writes the items of an array that says nothing about them.
func (w *narrower) anyItems(e *element, rest *node) {
	switch {
	case w.rules.closed && !e.in.get("maxItems").isZero():
		w.refuse(e.at, "items", "an array of values of any type")
	case w.rules.needType:
		e.out.set("items", w.item(object(), e.at.at("items")))
	case rest != nil:
		e.out.set("items", rest)
	case w.rules.needItems:
		e.out.set("items", object())
	}
}

// isZero reports whether n is the number 0.
func (n *node) isZero() bool { return n != nil && n.text == "0" }

// tuple writes a tuple unchanged.
func (w *narrower) tuple(e *element) {
	for _, name := range []string{"prefixItems", "items", "additionalItems"} {
		if v := e.in.get(name); v != nil {
			w.copy(e, name, v)
		}
	}
	if w.rules.needItems && !e.out.has("items") {
		e.out.set("items", object())
	}
}

// union writes a tuple as an array whose items fit any of its places.
func (w *narrower) union(e *element, prefix, rest *node, at pointer) {
	list := array()
	add := func(n *node) {
		for _, have := range list.list {
			if have.String() == n.String() {
				return
			}
		}
		list.list = append(list.list, n)
	}
	keyword := "prefixItems"
	if !e.in.has(keyword) {
		keyword = "items"
	}
	for i, sub := range prefix.list {
		add(w.item(sub, e.at.at(keyword).index(i)))
	}
	if rest != nil && rest.kind == Object {
		add(w.item(rest, at))
	}
	if len(prefix.list) > 0 {
		w.lose(e.at, keyword, w.rules.name+" knows no tuples; the order is said in the description")
		e.notes = append(e.notes, sayKeyword("prefixItems", prefix))
	}
	if rest.is(false) && slices.Contains(w.rules.keep, "maxItems") && !e.in.has("maxItems") {
		e.out.set("maxItems", &node{kind: Number, text: strconv.Itoa(len(prefix.list))})
	}
	switch len(list.list) {
	case 0:
		w.anyItems(e, nil)
	case 1:
		e.out.set("items", list.list[0])
	default:
		choice := object()
		choice.set("anyOf", list)
		e.out.set("items", choice)
	}
}

// alternatives writes anyOf and oneOf for vendors that allow other keywords next to
// them.
func (w *narrower) alternatives(e *element, name string, v *node) {
	if w.rules.noRequired && w.sayRequired(e, name, v) {
		return
	}
	out := array()
	for i, sub := range v.list {
		out.list = append(out.list, w.sub(sub, e.at.at(name).index(i)))
	}
	if name == "oneOf" && w.rules.noOneOf {
		w.loseExclusion(e, v)
		name = "anyOf"
		if e.out.has(name) {
			w.drop(e, "oneOf", v)
			return
		}
	}
	e.out.set(name, out)
}

func (w *narrower) loseExclusion(e *element, list *node) {
	if !w.exclusive(list) {
		w.lose(e.at, "oneOf", fmt.Sprintf("%s knows only anyOf; that a value fits just one of the %d alternatives is not said", w.rules.name, len(list.list)))
	}
}
