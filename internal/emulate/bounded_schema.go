package emulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/schema"
)

// bounds rewrite a schema into a schema that hosts can enforce and under which no
// answer is endless. Every value that fits the rewritten schema fits the original,
// except for what the losses name.
type bounds struct {
	text  int // runes of a string; 0 sets no bound
	items int // items of a list; 0 sets no bound
	whole int64
	// evidence is what the conversation says about values. Nil means that
	// nothing is known: every parameter and every value is offered.
	evidence Evidence

	root   json.RawMessage
	losses []schema.Loss
	steps  int // schemas visited
}

// The bounds of a schema that is written out for a host.
const (
	maxBoundDepth = 12      // of nested schemas; recursion ends there
	maxBoundSize  = 1 << 18 // bytes of the schema written out
	maxBoundSteps = 5_000   // schemas visited: references can multiply
)

var errTooMany = fmt.Errorf("written out it has more than %d schemas", maxBoundSteps)

// step counts a schema and reports whether there were too many. A caller that ignores
// the error gets it again.
func (b *bounds) step() bool {
	b.steps++
	return b.steps > maxBoundSteps
}

var errTooDeep = errors.New("it goes deeper than can be written out")

// bound returns a schema with the bounds, closed objects and no references,
// and what the host will not hold the answer to.
func (b bounds) bound(s json.RawMessage) (json.RawMessage, []schema.Loss, error) {
	b.root = schema.Normalize(s)
	if len(strings.TrimSpace(string(b.root))) == 0 {
		b.root = json.RawMessage(`{"type":"object","properties":{}}`) // a tool that says nothing takes nothing
	}
	out, err := b.value(b.root, "", 0)
	if b.steps > maxBoundSteps { // where one alternative fails, others may do
		err = errTooMany
	}
	if err == nil && len(out) > maxBoundSize {
		err = fmt.Errorf("written out it has more than %d bytes", maxBoundSize)
	}
	return out, b.losses, err
}

func (b *bounds) lose(path, keyword, why string) {
	b.losses = append(b.losses, schema.Loss{Path: path, Keyword: keyword, Why: why})
}

// value bounds one schema.
func (b *bounds) value(raw json.RawMessage, path string, depth int) (json.RawMessage, error) {
	if depth > maxBoundDepth {
		return nil, errTooDeep
	}
	if b.step() {
		return nil, errTooMany
	}
	if string(raw) == "true" {
		raw = json.RawMessage("{}")
	}
	s, err := readObject(raw)
	if err != nil {
		return nil, err
	}
	if s, err = b.resolve(s); err != nil {
		return nil, err
	}
	for _, keyword := range []string{"not", "if", "contains", "dependentRequired", "dependentSchemas", "patternProperties", "propertyNames", "minProperties", "uniqueItems"} {
		if s.has(keyword) {
			b.lose(path, keyword, "hosts cannot hold an answer to it")
		}
	}
	switch {
	case s.has("const"):
		return object{{"enum", array([]json.RawMessage{s.get("const")})}}.raw(), nil
	case len(js.Decode[[]json.RawMessage](s.get("enum"))) > 0: // an empty list means none was made
		return b.enum(s, path)
	case s.has("anyOf"), s.has("oneOf"):
		return b.alternatives(s, path, depth)
	}
	return b.anyType(s, path, depth)
}

// anyType bounds a schema to the types that it allows.
func (b *bounds) anyType(s object, path string, depth int) (json.RawMessage, error) {
	types := typesOf(s)
	if b.evidence != nil && !s.has("type") && len(types) > 2 {
		types = types[:2] // any value: a value that can be copied
	}
	if len(types) == 1 {
		return b.typed(types[0], s, path, depth)
	}
	var alts []json.RawMessage
	for _, t := range types {
		if alt, err := b.typed(t, s, path, depth); err == nil {
			alts = append(alts, alt)
		}
	}
	return oneOf(alts)
}

// oneOf joins alternatives. There must be one.
func oneOf(alts []json.RawMessage) (json.RawMessage, error) {
	switch len(alts) {
	case 0:
		return nil, errTooDeep
	case 1:
		return alts[0], nil
	}
	return object{{"anyOf", array(alts)}}.raw(), nil
}

// resolve follows references and merges what allOf says into one schema.
func (b *bounds) resolve(s object) (object, error) {
	for range maxBoundDepth {
		if b.step() {
			return nil, errTooMany
		}
		if ref := js.Decode[string](s.get("$ref")); ref != "" {
			target, err := b.lookup(ref)
			if err != nil {
				return nil, err
			}
			s = merge(drop(s, "$ref"), target)
			continue
		}
		all := js.Decode[[]json.RawMessage](s.get("allOf"))
		if len(all) == 0 {
			return s, nil
		}
		s = drop(s, "allOf")
		for _, part := range all {
			more, err := readObject(part)
			if err != nil {
				return nil, err
			}
			if more, err = b.resolve(more); err != nil {
				return nil, err
			}
			s = merge(s, more)
		}
	}
	return nil, errors.New("its references lead in a circle")
}

// lookup finds a reference within the schema.
func (b *bounds) lookup(ref string) (object, error) {
	at := b.root
	path, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("the reference %q leads outside", ref)
	}
	for step := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if step == "" {
			continue
		}
		o, err := readObject(at)
		if err != nil {
			return nil, fmt.Errorf("the reference %q leads nowhere", ref)
		}
		at = o.get(strings.NewReplacer("~1", "/", "~0", "~").Replace(step))
	}
	o, err := readObject(at)
	if err != nil {
		return nil, fmt.Errorf("the reference %q leads nowhere", ref)
	}
	return o, nil
}

func drop(s object, keys ...string) object {
	return slices.DeleteFunc(slices.Clone(s), func(f field) bool { return slices.Contains(keys, f.key) })
}

// merge adds the keywords of more to s: properties and required are joined,
// anything else that both have stays as s has it.
func merge(s, more object) object {
	out := slices.Clone(s)
	for _, f := range more {
		i := out.index(f.key)
		switch {
		case i < 0:
			out = append(out, f)
		case f.key == "properties":
			have, _ := readObject(out[i].value)
			add, _ := readObject(f.value)
			for _, p := range add {
				if !have.has(p.key) {
					have = append(have, p)
				}
			}
			out[i].value = have.raw()
		case f.key == "required":
			out[i].value = js.Marshal(append(js.Decode[[]string](out[i].value), js.Decode[[]string](f.value)...))
		}
	}
	return out
}

// typesOf returns the types that a schema allows, those its other keywords
// speak of if it names none.
func typesOf(s object) []string {
	raw := s.get("type")
	if one := js.Decode[string](raw); one != "" {
		return []string{one}
	}
	if many := js.Decode[[]string](raw); len(many) > 0 {
		return many
	}
	switch {
	case s.has("properties", "required", "additionalProperties"):
		return []string{"object"}
	case s.has("items", "prefixItems", "minItems", "maxItems"):
		return []string{"array"}
	case s.has("minLength", "maxLength", "pattern", "format"):
		return []string{"string"}
	case s.has("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"):
		return []string{"number"}
	}
	return []string{"string", "number", "boolean", "array"}
}

// enum keeps the values that the type allows.
func (b *bounds) enum(s object, path string) (json.RawMessage, error) {
	values := js.Decode[[]json.RawMessage](s.get("enum"))
	if s.has("type") {
		types := typesOf(s)
		values = slices.DeleteFunc(values, func(v json.RawMessage) bool {
			return !slices.ContainsFunc(types, func(t string) bool { return isOf(v, t) })
		})
	}
	if len(values) == 0 {
		return nil, fmt.Errorf("the list of values at %q is empty", path)
	}
	if b.evidence != nil {
		if said := b.evidence.Values(values); len(said) > 0 {
			values = said
		}
	}
	return object{{"enum", array(values)}}.raw(), nil
}

// isOf reports whether a value is of a type.
func isOf(v json.RawMessage, typ string) bool {
	switch js.Decode[any](v).(type) {
	case string:
		return typ == "string"
	case bool:
		return typ == "boolean"
	case float64:
		n := js.Decode[float64](v)
		return typ == "number" || typ == "integer" && n == math.Trunc(n)
	case []any:
		return typ == "array"
	case map[string]any:
		return typ == "object"
	}
	return typ == "null"
}

// alternatives bounds each of anyOf or oneOf together with its sibling keywords.
// Alternatives that are too deep are left out.
func (b *bounds) alternatives(s object, path string, depth int) (json.RawMessage, error) {
	keyword := "anyOf"
	if !s.has(keyword) {
		keyword = "oneOf"
	}
	beside := drop(s, "anyOf", "oneOf", "description", "title")
	var alts []json.RawMessage
	var last error
	for i, raw := range js.Decode[[]json.RawMessage](s.get(keyword)) {
		alt, err := readObject(raw)
		if err == nil {
			alt, err = b.resolve(alt)
		}
		var out json.RawMessage
		if err == nil {
			out, err = b.value(merge(alt, beside).raw(), fmt.Sprintf("%s/%s/%d", path, keyword, i), depth+1)
		}
		if err != nil {
			last = err
			continue
		}
		alts = append(alts, out)
	}
	if len(alts) == 0 && last != nil {
		return nil, last
	}
	return oneOf(alts)
}

// typed bounds a schema of one type.
func (b *bounds) typed(typ string, s object, path string, depth int) (json.RawMessage, error) {
	switch typ {
	case "string":
		return b.str(s, path), nil
	case "integer", "number":
		return b.number(typ, s, path)
	case "array":
		return b.list(s, path, depth)
	case "object":
		return b.object(s, path, depth)
	case "boolean", "null":
		return object{{"type", js.Marshal(typ)}}.raw(), nil
	}
	return nil, fmt.Errorf("no type is called %q", typ)
}

// list bounds a list. One whose items cannot be written out is empty.
func (b *bounds) list(s object, path string, depth int) (json.RawMessage, error) {
	least := js.Decode[int](s.get("minItems"))
	most := b.items
	if own := s.get("maxItems"); own != nil {
		most = js.Decode[int](own)
		if b.items > 0 {
			most = min(most, max(b.items, least))
		}
	}
	if first := s.get("prefixItems"); first != nil {
		return b.tuple(s, js.Decode[[]json.RawMessage](first), path, depth)
	}
	items := s.get("items")
	if items == nil || string(items) == "true" {
		items = json.RawMessage(`{"type":["string","number"]}`)
	}
	if many := js.Decode[[]json.RawMessage](items); many != nil {
		return b.tuple(s, many, path, depth)
	}
	item, err := b.value(items, path+"/items", depth+1)
	if err != nil {
		if least > 0 || !errors.Is(err, errTooDeep) {
			return nil, err
		}
		b.lose(path, "items", "it goes deeper than can be written out: the list stays empty")
		return json.RawMessage(`{"type":"array","items":{"type":"null"},"maxItems":0}`), nil
	}
	if kind, _ := readObject(item); b.evidence != nil && most > 0 && (kind.has(copyKeyword) || kind.has("enum")) {
		most = min(most, b.evidence.Items(!kind.has(copyKeyword) && isOf(js.Decode[[]json.RawMessage](kind.get("enum"))[0], "number")))
	}
	out := object{{"type", js.Marshal("array")}, {"items", item}}
	if least > 0 {
		out = append(out, field{"minItems", js.Marshal(least)})
	}
	if most > 0 || s.has("maxItems") {
		out = append(out, field{"maxItems", js.Marshal(max(most, least))})
	}
	return out.raw(), nil
}

// tuple bounds a list with a schema for each item. All of them are written.
func (b *bounds) tuple(s object, items []json.RawMessage, path string, depth int) (json.RawMessage, error) {
	var out []json.RawMessage
	for i, item := range items {
		v, err := b.value(item, fmt.Sprintf("%s/prefixItems/%d", path, i), depth+1)
		if err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	if js.Decode[int](s.get("minItems")) > len(items) {
		b.lose(path, "minItems", "only the items that are described are written")
	}
	return object{{"type", js.Marshal("array")}, {"prefixItems", array(out)}, {"minItems", js.Marshal(len(out))}, {"maxItems", js.Marshal(len(out))}}.raw(), nil
}

// The schemas of values of which nothing is said.
const (
	simpleValue = `{"type":["string","number","boolean"]}`
	freeList    = `{"type":"array","items":` + simpleValue + `}`
	freeObject  = `{"type":"object","additionalProperties":{"anyOf":[` + simpleValue + `,` + freeList + `]}}`
	freeValue   = `{"anyOf":[` + simpleValue + `,{"type":"array","items":{"anyOf":[` + simpleValue + `,` + freeObject + `]}},` + freeObject + `]}`
)

// object bounds an object: the required and the offered properties, all of which are
// written. An object that declares no properties has free names. The exception is a
// schema of arguments with an empty list of properties, with which a tool declares
// that it takes no arguments.
func (b *bounds) object(s object, path string, depth int) (json.RawMessage, error) {
	required := js.Decode[[]string](s.get("required"))
	props, _ := readObject(s.get("properties")) // none if absent
	for _, name := range required {
		if !props.has(name) {
			props = append(props, field{name, json.RawMessage("{}")})
		}
	}
	extra := s.get("additionalProperties")
	if len(props) == 0 && string(extra) != "false" && (extra != nil || depth > 0 || !s.has("properties")) {
		return b.dictionary(extra, path, depth)
	}
	var keep object
	names := []string{}
	choosy := len(required) > 0 || depth == 0 || slices.ContainsFunc(props, b.offers)
	for _, p := range props {
		needed := slices.Contains(required, p.key)
		if !needed && choosy && !b.offers(p) {
			continue
		}
		v, err := b.property(p, path, depth)
		if err != nil && needed {
			return nil, err
		} else if err != nil {
			continue
		}
		keep = append(keep, field{p.key, v})
		if needed || b.evidence != nil {
			names = append(names, p.key)
		}
	}
	return object{{"type", js.Marshal("object")}, {"properties", keep.raw()}, {"required", js.Marshal(names)}, {"additionalProperties", json.RawMessage("false")}}.raw(), nil
}

// offers reports whether a property that is not required is offered. Without
// evidence all are.
func (b *bounds) offers(p field) bool {
	return b.evidence == nil || b.evidence.Offers(p.key, p.value)
}

// property bounds a property of an object. A value that the request gives is the only
// one.
func (b *bounds) property(p field, path string, depth int) (json.RawMessage, error) {
	v, err := b.value(p.value, path+"/properties/"+p.key, depth+1)
	if err == nil && b.evidence != nil {
		if given := b.evidence.Given(p.key, p.value); given != nil {
			v = object{{"enum", array([]json.RawMessage{given})}}.raw()
		}
	}
	return v, err
}

// dictionary bounds an object with free names. Values of which nothing is said
// are simple ones and, where nothing is known of what they may be, lists and
// objects of such.
func (b *bounds) dictionary(values json.RawMessage, path string, depth int) (json.RawMessage, error) {
	if values == nil || string(values) == "true" || string(values) == "{}" {
		values = json.RawMessage(simpleValue)
		if b.evidence == nil {
			values = json.RawMessage(freeValue)
		}
	}
	v, err := b.value(values, path+"/additionalProperties", depth+1)
	if err != nil {
		return nil, err
	}
	out := object{{"type", js.Marshal("object")}, {"additionalProperties", v}}
	if b.items > 0 {
		out = append(out, field{"maxProperties", js.Marshal(b.items)})
	}
	return out.raw(), nil
}
