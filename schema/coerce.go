package schema

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Coercion is one change that gave a value the type the schema demands.
type Coercion struct {
	Path string `json:"path"` // JSON pointer of the value in the original arguments
	// Rule is "unquoted", "unstringified", "quoted", "wrapped", "whole-number", "optional-null" or "unescaped". The names
	// are stable: receipts hold them.
	Rule string `json:"rule"`
	From string `json:"from"` // the shapes, never the contents
	To   string `json:"to"`
}

// rule is the name of a coercion.
type rule string

// The rules of coercion.
const (
	ruleUnquoted     rule = "unquoted"      // "3" for 3, "true" for true, "null" for null
	ruleUnstringed   rule = "unstringified" // "[1]" for [1], "{}" for {}
	ruleQuoted       rule = "quoted"        // 3 for "3", true for "true"
	ruleWrapped      rule = "wrapped"       // "a" for ["a"]
	ruleWholeNumber  rule = "whole-number"  // 3.0 for 3
	ruleOptionalNull rule = "optional-null" // null for a property that may be left out
	ruleUnescaped    rule = "unescaped"     // "a\_b" for "a_b", where only that is valid
)

// maxSteps bounds the work on alternatives within alternatives.
const maxSteps = 100_000

// Coerce gives values the types the schema demands, where the type fits and nothing is
// lost, and lists each change in the order of the arguments. Valid values keep their
// type. The changes are:
//
//   - A string becomes the first of null, integer, number, boolean, object, array that
//     it fits among the types the schema allows.
//   - A lone value becomes a list of one, if the schema allows only a list and the list
//     is valid.
//   - A null that the schema does not allow is left out where the property may be.
//   - A string that is valid only without the escapes of Markdown loses them.
//
// Among alternatives Coerce takes the one that becomes valid; if several do in
// different ways, it takes none.
//
// The result need not be valid: [Compiled.Validate] reports the remaining errors.
// Arguments that need no change, or cannot be read, are returned unchanged. Coercing
// twice changes nothing more. Order and numbers are kept exactly.
func (c *Compiled) Coerce(args json.RawMessage) (json.RawMessage, []Coercion) {
	return c.rewrite(args, false)
}

// StripNulls removes the properties that are null, may be left out, and are
// not allowed to be null: what a model sends for an optional property that a
// strict schema made nullable. See [Narrow]. Nothing else changes.
func (c *Compiled) StripNulls(args json.RawMessage) json.RawMessage {
	out, _ := c.rewrite(args, true)
	return out
}

func (c *Compiled) rewrite(args json.RawMessage, nullsOnly bool) (json.RawMessage, []Coercion) {
	r := newReader(string(args), maxDepth)
	n, err := r.node()
	if err != nil || r.End() != nil {
		return args, nil
	}
	check := c.validator()
	if check.multiplies && !c.affordable(n.plain(), maxCoerceVisits, 0) {
		return args, nil
	}
	k := coercer{nullsOnly: nullsOnly, steps: new(int)}
	n = k.value(n, check.sch, "")
	if len(k.log) == 0 || *k.steps > maxSteps {
		return args, nil
	}
	return n.append(nil), k.log
}

// coercer walks a value along its schema.
type coercer struct {
	nullsOnly bool
	steps     *int
	item      *node // the item of a list just made: it is not wrapped again
	log       []Coercion
}

func (k *coercer) note(at pointer, name rule, from, to *node) {
	k.log = append(k.log, Coercion{string(at), string(name), from.shape(), to.shape()})
}

// shape describes a node without showing it.
func (n *node) shape() string {
	if n == nil {
		return "nothing"
	}
	return shapeOf(n.plain())
}

// value returns n as s wants it. It may change n.
func (k *coercer) value(n *node, s *jsonschema.Schema, at pointer) *node {
	if *k.steps++; *k.steps > maxSteps {
		return n
	}
	all := conjunction(s, nil)
	types := Any
	for _, a := range all {
		types = meet(types, libTypes(a))
	}
	if types != 0 && !k.nullsOnly {
		n = k.convert(n, s, all, types, at)
	}
	switch n.kind {
	case Object:
		n = k.members(n, all, at)
	case Array:
		n = k.items(n, all, at)
	}
	for _, a := range all {
		n = k.choose(n, a.AnyOf, at)
		n = k.choose(n, a.OneOf, at)
	}
	return n
}

// conjunction appends s and the schemas that hold together with it.
func conjunction(s *jsonschema.Schema, to []*jsonschema.Schema) []*jsonschema.Schema {
	if s == nil || slices.Contains(to, s) {
		return to
	}
	if s.Ref != nil && s.DraftVersion < 2019 { // the rest is ignored there
		return conjunction(s.Ref, to)
	}
	to = conjunction(s.Ref, append(to, s))
	for _, a := range s.AllOf {
		to = conjunction(a, to)
	}
	return to
}

// libTypes returns the types that a compiled schema's own keywords allow.
func libTypes(s *jsonschema.Schema) Types {
	t := Any
	if s.Types != nil {
		t = 0
		for _, word := range s.Types.ToStrings() {
			w, _ := typeWord(word)
			t |= w
		}
	}
	var values []any
	if s.Enum != nil {
		values = s.Enum.Values
	}
	if s.Const != nil {
		values = append(values[:len(values):len(values)], *s.Const)
	}
	if len(values) > 0 {
		var of Types
		for _, v := range values {
			of |= plainType(v)
		}
		t = meet(t, of)
	}
	return t
}

// plainType returns the narrowest type of a decoded value.
func plainType(v any) Types {
	switch v := v.(type) {
	case nil:
		return Null
	case bool:
		return Boolean
	case string:
		return String
	case []any:
		return Array
	case map[string]any:
		return Object
	case json.Number:
		return valueTypes(&node{kind: Number, text: string(v)})
	}
	return Number
}

// convert changes the type of n if the schema s, which is all of several,
// allows others only.
func (k *coercer) convert(n *node, s *jsonschema.Schema, all []*jsonschema.Schema, types Types, at pointer) *node {
	have := valueTypes(n)
	switch {
	case types.Has(have):
		if have == Integer && types&Number == 0 {
			return k.whole(n, at)
		}
		if n.kind == String && strings.IndexByte(n.text, '\\') >= 0 {
			return k.unescape(n, s, at)
		}
		return n
	case n.kind == String:
		if m := fromString(n.text, types); m != nil {
			rule := ruleUnquoted
			if m.kind&(Object|Array) != 0 {
				rule = ruleUnstringed
			}
			k.note(at, rule, n, m)
			return m
		}
	case types&String != 0 && n.kind&(Number|Boolean) != 0:
		m := text(spelling(n.text, all))
		k.note(at, ruleQuoted, n, m)
		return m
	}
	if types == Array && n.kind != Null && n != k.item {
		return k.wrap(n, s, at)
	}
	return n
}

// markdown drops the backslashes that Markdown puts before punctuation.
var markdown = func() *strings.Replacer {
	var pairs []string
	for _, c := range "\\`*_{}[]()#+-.!<>|~" {
		pairs = append(pairs, `\`+string(c), string(c))
	}
	return strings.NewReplacer(pairs...)
}()

// unescape drops the escapes of Markdown from a string that is valid only without
// them: an enumeration or a pattern shows which spelling is meant.
func (k *coercer) unescape(n *node, s *jsonschema.Schema, at pointer) *node {
	m := text(markdown.Replace(n.text))
	if m.text == n.text || s.Validate(n.plain()) == nil || s.Validate(m.plain()) != nil {
		return n
	}
	k.note(at, ruleUnescaped, n, m)
	return m
}

// spelling returns s as the one value of an enumeration that differs from it
// only in case: true is "True" where that is the word.
func spelling(s string, all []*jsonschema.Schema) string {
	found := ""
	for _, a := range all {
		if a.Enum == nil {
			continue
		}
		for _, v := range a.Enum.Values {
			word, ok := v.(string)
			switch {
			case !ok || !strings.EqualFold(word, s):
			case word == s || found != "" && found != word:
				return s
			default:
				found = word
			}
		}
	}
	if found == "" {
		return s
	}
	return found
}

// whole drops a zero fraction, which readers of integers refuse.
func (k *coercer) whole(n *node, at pointer) *node {
	lit := readNumber(Integer, n.text, false)
	if lit == "" || lit == n.text {
		return n
	}
	m := &node{kind: Number, text: lit}
	k.note(at, ruleWholeNumber, n, m)
	return m
}

// fromString reads a string as one of the types, or returns nil.
func fromString(s string, types Types) *node {
	v, ok := (types &^ String).Typed(s)
	if !ok {
		return nil
	}
	r := newReader(string(v), maxDepth)
	n, err := r.node()
	if err != nil {
		return nil
	}
	return n
}

// wrap makes n a list of one if that is valid. A string that looks like broken
// JSON is not an item.
func (k *coercer) wrap(n *node, s *jsonschema.Schema, at pointer) *node {
	if n.kind == String && strings.HasPrefix(strings.TrimLeft(n.text, " \t\r\n"), "[") {
		return n
	}
	trial := coercer{steps: k.steps, item: n.clone()}
	list := trial.value(array(trial.item), s, at)
	if s.Validate(list.plain()) != nil {
		return n
	}
	k.note(at, ruleWrapped, n, list)
	for _, c := range trial.log { // the original has no path for the item
		c.Path = string(at)
		k.log = append(k.log, c)
	}
	return list
}

// members coerces the properties of an object.
func (k *coercer) members(n *node, all []*jsonschema.Schema, at pointer) *node {
	out := &node{kind: Object}
	for i, name := range n.names {
		v := n.list[i]
		if v.kind == Null && droppable(name, all) {
			k.note(at.at(name), ruleOptionalNull, v, nil)
			continue
		}
		for _, a := range all {
			for _, sub := range propertySchemas(a, name) {
				v = k.value(v, sub, at.at(name))
			}
		}
		out.names, out.list = append(out.names, name), append(out.list, v)
	}
	return out
}

// droppable reports whether a null property is declared, not required, and not
// allowed to be null.
func droppable(name string, all []*jsonschema.Schema) bool {
	refused := false
	for _, a := range all {
		if slices.Contains(a.Required, name) {
			return false
		}
		if sub := a.Properties[name]; sub != nil && sub.Validate(nil) != nil {
			refused = true
		}
	}
	return refused
}

// propertySchemas returns the schemas that s applies to a property.
func propertySchemas(s *jsonschema.Schema, name string) []*jsonschema.Schema {
	var out []*jsonschema.Schema
	if sub := s.Properties[name]; sub != nil {
		out = append(out, sub)
	}
	for re, sub := range s.PatternProperties {
		if re.MatchString(name) {
			out = append(out, sub)
		}
	}
	if extra, ok := s.AdditionalProperties.(*jsonschema.Schema); ok && len(out) == 0 {
		out = append(out, extra)
	}
	if len(out) > 1 {
		slices.SortFunc(out, func(a, b *jsonschema.Schema) int { return strings.Compare(a.Location, b.Location) })
	}
	return out
}

// items coerces the items of an array.
func (k *coercer) items(n *node, all []*jsonschema.Schema, at pointer) *node {
	out := array(slices.Clone(n.list)...)
	for i := range out.list {
		for _, a := range all {
			if sub := itemSchema(a, i); sub != nil {
				out.list[i] = k.value(out.list[i], sub, at.index(i))
			}
		}
	}
	return out
}

// itemSchema returns the schema that s applies to the i-th item, or nil.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	switch items := s.Items.(type) {
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
		extra, _ := s.AdditionalItems.(*jsonschema.Schema)
		return extra
	}
	return s.Items2020
}

// choose coerces n to the one alternative it can be made valid for. A value
// that fits one already stays; of results that differ the one whose type comes
// first wins, and two different ones of the same type leave n alone.
func (k *coercer) choose(n *node, alts []*jsonschema.Schema, at pointer) *node {
	if len(alts) == 0 {
		return n
	}
	plain := n.plain()
	for _, a := range alts {
		if a.Validate(plain) == nil {
			return n
		}
	}
	var best *node
	var log []Coercion
	clash := false
	for _, a := range alts {
		trial := coercer{nullsOnly: k.nullsOnly, steps: k.steps}
		m := trial.value(n.clone(), a, at)
		if *k.steps > maxSteps || len(trial.log) == 0 || a.Validate(m.plain()) != nil {
			continue
		}
		switch {
		case best == nil || valueTypes(m) < valueTypes(best):
			best, log, clash = m, trial.log, false
		case valueTypes(m) == valueTypes(best) && m.String() != best.String():
			clash = true
		}
	}
	if best == nil || clash {
		return n
	}
	k.log = append(k.log, log...)
	return best
}

// plain returns n as encoding/json would decode it with UseNumber.
func (n *node) plain() any {
	switch n.kind {
	case Null:
		return nil
	case Boolean:
		return n.text == "true"
	case Number:
		return json.Number(n.text)
	case String:
		return n.text
	case Array:
		list := make([]any, len(n.list))
		for i, item := range n.list {
			list[i] = item.plain()
		}
		return list
	}
	m := make(map[string]any, len(n.list))
	for i, item := range n.list {
		m[n.names[i]] = item.plain()
	}
	return m
}
