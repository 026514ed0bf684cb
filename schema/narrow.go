package schema

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolpost/toolpost/internal/clip"
)

// Narrowed is a schema in the words of one vendor.
type Narrowed struct {
	Schema Schema
	// Losses are the constraints the vendor will not hold the model to, in the
	// order of the schema. Validating against the original still does.
	Losses []Loss
	// Strict reports whether the vendor may be asked to enforce the schema. If strict
	// was wanted and refused, a Loss with the keyword "strict" has the reason.
	Strict bool
	// Wrapped is the property that holds the value, if the original does not
	// describe an object and had to be put into one; see Unwrap.
	Wrapped string
}

// Unwrap returns the value that the original schema describes: the arguments
// themselves, or what [Narrow] had to put into one property.
func (n Narrowed) Unwrap(args json.RawMessage) (json.RawMessage, error) {
	if n.Wrapped == "" {
		return args, nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(args, &object); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	value, ok := object[n.Wrapped]
	if !ok {
		return nil, fmt.Errorf("schema: the property %q is missing", n.Wrapped)
	}
	return value, nil
}

// Loss is something a vendor's schema cannot say.
type Loss struct {
	// Path is a JSON pointer into the original schema. Where alternatives at
	// the root were merged, it leads into the merged properties.
	Path    string `json:"path"`
	Keyword string `json:"keyword"`
	Why     string `json:"why"`
}

// maxNodes bounds a narrowed schema: definitions that are written out at every
// use can grow without measure.
const maxNodes = 20_000

// wrapName is the property of a value that is not an object.
const wrapName = "value"

// Narrow rewrites a schema into the subset a vendor accepts and reports the losses.
// Constraints the vendor does not know move into the description, where the model can
// read them. The root becomes an object: alternatives at the root are merged, anything
// else is put into one property.
//
// With strict it follows the vendor's strict mode at every level. For OpenAI that
// makes every property required and the optional ones nullable: take the nulls out
// again with [Compiled.StripNulls] before validating against the original. Strict is
// refused, and the ordinary rules apply, for a map with free names, an object that
// declares no properties and does not forbid others (see [AnyObject]), a value of any
// type, and a vendor without strict mode.
//
// It fails if the schema cannot be read, refers to something outside itself, or grows
// too large when written out.
func Narrow(s Schema, vendor Vendor, strict bool) (Narrowed, error) {
	v, ok := table[vendor]
	if !ok {
		return Narrowed{}, fmt.Errorf("schema: no vendor is called %q; there are %v", vendor, Vendors())
	}
	root, err := parse(s)
	if err != nil {
		return Narrowed{}, err
	}
	respell(root)
	var refused []Loss
	switch {
	case strict && v.strict == nil:
		refused = []Loss{{"", "strict", string(vendor) + " has no strict mode"}}
	case strict:
		strictly := root
		if len(s) == 0 { // a tool that says nothing takes nothing
			strictly = root.clone()
			strictly.set("additionalProperties", boolean(false))
		}
		w := newNarrower(strictly, v.strict)
		out, err := w.run()
		if err == nil && len(w.refused) == 0 {
			out.Strict = true
			return out, nil
		}
		if err != nil {
			return Narrowed{}, err
		}
		refused = w.refused
	}
	out, err := newNarrower(root, v.loose).run()
	if err != nil {
		return Narrowed{}, err
	}
	out.Losses = append(refused, out.Losses...)
	return out, nil
}

// AnyObject reports whether a schema takes every object: it declares no
// property, forbids none and demands nothing else. There is nothing that a
// vendor could hold a model to, and an object that is closed, as strict modes
// want it, would be {} and nothing else. No schema at all is a tool that takes
// nothing.
func AnyObject(s Schema) bool {
	root, err := parse(s)
	if len(s) == 0 || err != nil || root.kind != Object {
		return err == nil && root.is(true)
	}
	respell(root)
	for i, name := range root.names {
		v := root.list[i]
		switch {
		case silent[name], name == "title", name == "description":
		case name == "type" && ownTypes(typed(v))&Object != 0:
		case name == "properties" && v.kind == Object && len(v.names) == 0:
		case name == "required" && v.kind == Array && len(v.list) == 0:
		case name == "additionalProperties" && (v.is(true) || v.kind == Object && len(v.names) == 0):
		default:
			return false
		}
	}
	return true
}

// Normalize replaces the type words of other languages, like dict, float or ArrayList,
// by those of JSON Schema, and removes words for any type. It returns the schema
// unchanged if there are none or if it cannot be read.
func Normalize(s Schema) Schema {
	root, err := parse(s)
	if err != nil || !respell(root) {
		return s
	}
	return root.append(nil)
}

// respell normalises the type words in n and below.
func respell(n *node) bool {
	if n.kind != Object {
		return false
	}
	changed := respellType(n)
	for i, name := range n.names {
		eachSchema(name, n.list[i], func(sub *node, _ string) { changed = respell(sub) || changed })
	}
	return changed
}

// respellType normalises the type of n itself. A list of one is that one.
func respellType(n *node) bool {
	t := n.get("type")
	if t == nil || t.kind != String && t.kind != Array {
		return false
	}
	words := []*node{t}
	if t.kind == Array {
		words = t.list
	}
	var all Types
	asIs := t.kind == String || len(words) != 1
	for _, word := range words {
		if word.kind != String {
			return false
		}
		types, standard := typeWord(word.text)
		all |= types
		asIs = asIs && standard
	}
	switch names := all.Names(); {
	case asIs:
		return false
	case all == Any, len(names) == 0:
		n.drop("type")
	case len(names) == 1:
		n.set("type", text(names[0]))
	default:
		list := &node{kind: Array}
		for _, name := range names {
			list.list = append(list.list, text(name))
		}
		n.set("type", list)
	}
	return true
}

// eachSchema calls f with the schemas that a keyword holds and their names or
// indices, "" if it holds just one.
func eachSchema(keyword string, v *node, f func(sub *node, name string)) {
	switch at := positions[keyword]; {
	case at == 0:
	case v.kind == Array:
		for i, sub := range v.list {
			f(sub, strconv.Itoa(i))
		}
	case at == schemaMap && v.kind == Object:
		for i, sub := range v.list {
			f(sub, v.names[i])
		}
	case at == oneSchema:
		f(v, "")
	}
}

// narrower writes one schema for one set of rules.
type narrower struct {
	rules   *rules
	doc     document
	losses  []Loss
	refused []Loss // reasons why strict cannot be right
	err     error

	inlined []*node          // definitions being written out, outermost first
	names   map[*node]string // definitions that are referred to
	defs    *node            // and their schemas
	size    int
}

func newNarrower(root *node, r *rules) *narrower {
	return &narrower{rules: r, doc: document{root: root}, names: make(map[*node]string), defs: object()}
}

func (w *narrower) lose(at pointer, keyword, why string) {
	loss := Loss{string(at), keyword, why}
	if !slices.Contains(w.losses, loss) {
		w.losses = append(w.losses, loss)
	}
}

// refuse records why strict cannot be right. Without strict it does nothing.
func (w *narrower) refuse(at pointer, keyword, why string) {
	if !w.rules.closed || len(w.refused) > 0 {
		return
	}
	where := string(at)
	w.refused = append(w.refused, Loss{where, "strict", fmt.Sprintf("%s cannot hold a model to this: %s (%s)", w.rules.name, why, keyword)})
}

var errTooLarge = fmt.Errorf("schema: too large when its definitions are written out at every use: more than %d parts; refer to fewer definitions, and have no $ref lead only to another $ref", maxNodes)

func (w *narrower) run() (Narrowed, error) {
	var out Narrowed
	root := w.rootObject(w.doc.root, &out)
	n := w.schema(root, "")
	w.finish(n)
	if len(w.defs.names) > 0 {
		w.checkCycles()
		n.set("$defs", w.defs)
	}
	if w.rules.closed {
		w.measure(n)
	}
	out.Schema, out.Losses = n.append(nil), w.losses
	return out, w.err
}

var errCycle = errors.New("schema: a reference leads only back to itself")

// checkCycles fails if definitions consist only of references to each other. Each is
// followed once, in chains of any length.
func (w *narrower) checkCycles() {
	named, seen := make(map[string]*node, len(w.defs.list)), make(map[*node]int, len(w.defs.list)) // by which walk
	for i, name := range w.defs.names {
		named[name] = w.defs.list[i]
	}
	for i, def := range w.defs.list {
		for walk := i + 1; def != nil && seen[def] == 0; {
			seen[def] = walk
			ref := def.get("$ref")
			if ref == nil {
				break
			}
			if def = named[strings.TrimPrefix(ref.text, "#/$defs/")]; seen[def] == walk {
				w.fail(errCycle)
				return
			}
		}
	}
}

// finish makes sure that the root is what every vendor wants.
func (w *narrower) finish(n *node) {
	if !n.has("type") {
		n.set("type", text("object"))
	}
	if !n.has("properties") && !w.rules.nullable { // gemini wants none rather than an empty one
		n.set("properties", object())
	}
}

// rootObject returns a schema that describes the same objects as the root, or
// an object around the values it describes, without a reference or
// alternatives at its top.
func (w *narrower) rootObject(root *node, out *Narrowed) *node {
	if root.kind == Boolean {
		root = object()
	}
	eff, _ := w.effective(root, "", true)
	if eff.has("$ref") {
		w.fail(errCycle)
		return object()
	}
	types := (&shaper{doc: w.doc, known: make(map[*node]*Shape)}).of(root).Types()
	if t := eff.get("type"); t != nil { // a stated type counts more than the type that properties suggest
		if types = meet(types, ownTypes(typed(t))); types == 0 {
			types = ownTypes(typed(t))
		}
	}
	if types&Object == 0 {
		out.Wrapped = wrapName
		w.lose("", "type", "the vendor wants an object, so the value is in the property "+wrapName)
		wrap := object()
		wrap.set("type", text("object"))
		props := object()
		props.set(wrapName, root)
		wrap.set("properties", props)
		wrap.set("required", array(text(wrapName)))
		return wrap
	}
	if types != Object && types != Any {
		w.lose("", "type", "the vendor wants an object; "+(types&^Object).String()+" cannot be sent")
	}
	for _, keyword := range []string{"anyOf", "oneOf"} {
		if list := eff.get(keyword); list != nil && list.kind == Array {
			eff = w.mergeAlternatives(eff, keyword)
		}
	}
	for _, keyword := range []string{"enum", "const", "not"} {
		if v := eff.drop(keyword); v != nil {
			w.lose("", keyword, "not allowed at the top level; moved into the description")
			describe(eff, sayKeyword(keyword, v))
		}
	}
	eff.set("type", text("object"))
	return eff
}

// of is shape for a whole document.
func (b *shaper) of(root *node) *Shape {
	s := b.shape(root)
	for _, s := range b.made {
		s.resolve()
	}
	return s
}

// mergeAlternatives makes one object out of alternatives: every property of
// each, required what all require. Which belong together is said in words.
func (w *narrower) mergeAlternatives(n *node, keyword string) *node {
	list := n.drop(keyword)
	base := n.clone()
	props := base.get("properties").clone()
	if props == nil {
		props = object()
	}
	var required, says []string
	closed, open := true, false
	depth := len(w.inlined)
	for i, b := range list.list {
		w.inlined = w.inlined[:depth]
		b, _ = w.effective(b, pointer("").at(keyword).index(i), true)
		for _, inner := range []string{"anyOf", "oneOf"} {
			if b.has(inner) {
				b = w.mergeAlternatives(b, inner)
			}
		}
		if ownTypes(b)&Object == 0 {
			continue
		}
		unite(props, b.get("properties"))
		closed = closed && b.get("additionalProperties").is(false)
		open = open || b.has("additionalProperties") && !b.get("additionalProperties").is(false)
		req := b.get("required").strings()
		if len(says) == 0 {
			required = req
		} else {
			required = slices.DeleteFunc(required, func(r string) bool { return !slices.Contains(req, r) })
		}
		says = append(says, fmt.Sprintf("(%d) %s", len(says)+1, alternative(b)))
	}
	w.inlined = w.inlined[:depth]
	base.set("properties", props)
	for _, r := range base.get("required").strings() {
		if !slices.Contains(required, r) {
			required = append(required, r)
		}
	}
	if len(required) > 0 {
		base.set("required", stringArray(required))
	}
	if (closed && len(says) > 0 || open) && !base.has("additionalProperties") {
		base.set("additionalProperties", boolean(open))
	}
	w.lose("", keyword, "not allowed at the top level; the alternatives are merged into one object and told apart in the description")
	if len(says) > 1 {
		describe(base, "the arguments are one of these: "+strings.Join(says, "; "))
	}
	return base
}

// unite adds properties. A property that exists with another schema becomes a choice.
func unite(props, more *node) {
	if more == nil || more.kind != Object {
		return
	}
	for i, name := range more.names {
		have, add := props.get(name), more.list[i]
		switch {
		case have == nil:
			props.set(name, add.clone())
		case have.String() == add.String():
		case onlyValues(have) && onlyValues(add):
			props.set(name, allValues(have, add))
		case have.has("anyOf") && len(have.names) == 1:
			list := have.get("anyOf")
			if !slices.ContainsFunc(list.list, func(n *node) bool { return n.String() == add.String() }) {
				list.list = append(list.list, add.clone())
			}
		default:
			choice := object()
			choice.set("anyOf", array(have, add.clone()))
			props.set(name, choice)
		}
	}
}

// onlyValues reports whether a schema is only a list of values.
func onlyValues(n *node) bool {
	for _, name := range n.names {
		if name != "const" && name != "enum" && name != "type" {
			return false
		}
	}
	return values(n) != nil
}

// values returns the nodes of const or enum.
func values(n *node) []*node {
	if c := n.get("const"); c != nil {
		return []*node{c}
	}
	if enum := n.get("enum"); enum != nil && enum.kind == Array {
		return enum.list
	}
	return nil
}

// allValues joins two lists of values.
func allValues(a, b *node) *node {
	list := slices.Clone(values(a))
	for _, v := range values(b) {
		if !slices.ContainsFunc(list, func(o *node) bool { return o.String() == v.String() }) {
			list = append(list, v)
		}
	}
	n := object()
	n.set("enum", array(list...))
	return n
}

// alternative names a branch by its title, constants and required properties.
func alternative(b *node) string {
	var parts []string
	if t := b.get("title"); t != nil && t.kind == String {
		parts = append(parts, t.text)
	}
	required := b.get("required").strings()
	if props := b.get("properties"); props != nil && props.kind == Object {
		for i, name := range props.names {
			if c := props.list[i].get("const"); c != nil {
				parts = append(parts, name+" = "+c.String())
				required = slices.DeleteFunc(required, func(r string) bool { return r == name })
			}
		}
		if len(required) == 0 && len(parts) == 0 {
			parts = append(parts, "any of "+strings.Join(props.names, ", "))
		}
	}
	if len(required) > 0 {
		parts = append(parts, "with "+strings.Join(required, ", "))
	}
	return clip.Bytes(strings.Join(parts, " "), 200)
}

func stringArray(list []string) *node {
	out := array()
	for _, s := range list {
		out.list = append(out.list, text(s))
	}
	return out
}

// describe appends a remark to the description.
func describe(n *node, remark string) {
	if remark == "" {
		return
	}
	if d := n.get("description"); d != nil && d.kind == String && d.text != "" {
		remark = d.text + " (" + remark + ")"
	}
	n.set("description", text(remark))
}

// sayKeyword puts a keyword and its value into words; "" if there are none.
func sayKeyword(keyword string, v *node) string {
	phrase, ok := phrases[keyword]
	if !ok {
		return ""
	}
	if !strings.Contains(phrase, "%s") {
		return phrase
	}
	value := brief(v)
	switch {
	case v.kind == String && (keyword == "default" || keyword == "const"):
		value = v.String()
	case v.kind == Array && keyword != "default" && keyword != "const":
		words := make([]string, len(v.list))
		for i, item := range v.list {
			words[i] = item.String()
			if keyword == "prefixItems" || keyword == "required" {
				words[i] = brief(item)
			}
		}
		value = strings.Join(words, ", ")
	}
	if value == "1" {
		phrase = singular.Replace(phrase)
	}
	return fmt.Sprintf(phrase, clip.Bytes(value, 300))
}

var singular = strings.NewReplacer("characters", "character", "items", "item", "properties", "property")

// brief writes a schema that is just a type as the word, a string without
// quotes and anything else as JSON.
func brief(n *node) string {
	if n.kind == String {
		return n.text
	}
	if t := n.get("type"); t != nil && t.kind == String && len(n.names) == 1 {
		return t.text
	}
	return n.String()
}
