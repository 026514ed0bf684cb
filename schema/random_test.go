package schema_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"

	"github.com/toolpost/toolpost/schema"
)

// grower makes schemas that combine everything: bytes changed at random hardly
// ever are one.
type grower struct {
	*rand.Rand
	defs int
}

type object = map[string]any

func (g grower) pick(from ...any) any { return from[g.IntN(len(from))] }

// schema returns a schema of at most depth levels.
func (g grower) schema(depth int) any {
	if depth <= 0 {
		return g.scalar()
	}
	switch g.IntN(14) {
	case 0, 1, 2:
		return g.object(depth)
	case 3:
		s := object{"type": "array", "items": g.schema(depth - 1)}
		g.maybe(s, "minItems", g.IntN(3))
		g.maybe(s, "maxItems", 2+g.IntN(3))
		g.maybe(s, "uniqueItems", true)
		return s
	case 4:
		return object{"anyOf": []any{g.schema(depth - 1), g.schema(depth - 1)}}
	case 5:
		return object{"oneOf": []any{g.schema(depth - 1), g.schema(depth - 1), object{"type": "null"}}}
	case 6:
		return object{"allOf": []any{g.schema(depth - 1), g.object(depth - 1)}}
	case 7:
		s := object{"$ref": fmt.Sprintf("#/$defs/d%d", g.IntN(g.defs))}
		g.maybe(s, "description", "a reference")
		return s
	case 8:
		s := object{"type": "array", "prefixItems": []any{g.schema(depth - 1), g.scalar()}}
		g.maybe(s, "items", g.pick(false, true, object{"type": "string"}))
		return s
	case 9:
		s := g.object(depth)
		s["anyOf"] = []any{g.object(depth - 1), object{"required": []any{"a"}}}
		return s
	case 10:
		return g.pick(object{}, true, object{"type": "object"}, object{"not": object{"type": "string"}}, object{"type": "array"})
	}
	return g.scalar()
}

func (g grower) maybe(s object, name string, v any) {
	if g.IntN(3) == 0 {
		s[name] = v
	}
}

func (g grower) object(depth int) object {
	props := object{}
	var required []any
	for _, name := range []string{"a", "b", "c"}[:1+g.IntN(3)] {
		props[name] = g.schema(depth - 1)
		if g.IntN(2) == 0 {
			required = append(required, name)
		}
	}
	s := object{"type": "object", "properties": props, "required": append([]any{}, required...)}
	g.maybe(s, "additionalProperties", g.pick(false, false, true, object{"type": "integer"}))
	g.maybe(s, "minProperties", g.IntN(3))
	g.maybe(s, "description", "an object")
	if g.IntN(6) == 0 {
		delete(s, "type")
	}
	return s
}

func (g grower) scalar() any {
	s := g.pick(
		object{"type": "string"}, object{"type": "string", "minLength": 1}, object{"type": "string", "format": "date-time"}, object{"type": "string", "pattern": "^a"},
		object{"type": "integer"}, object{"type": "integer", "minimum": 1}, object{"type": "number"}, object{"type": "number", "multipleOf": 0.5}, object{"type": "boolean"},
		object{"type": "null"}, object{"type": []any{"string", "null"}}, object{"type": []any{"integer", "string"}}, object{"type": []any{"object", "integer"}},
		object{"enum": []any{"x", "y"}}, object{"enum": []any{1, "x", nil}}, object{"const": "k"}, object{"const": 1}, object{"type": "string", "enum": []any{"", "z"}},
	).(object)
	s = maps.Clone(s)
	g.maybe(s, "description", "a scalar")
	g.maybe(s, "default", "d")
	return s
}

// root returns a whole schema with definitions that may refer to each other.
func (g grower) root() schema.Schema {
	var s object
	switch v := g.schema(3).(type) {
	case object:
		s = v
	default:
		s = object{}
	}
	if g.IntN(2) == 0 {
		s = g.object(3)
	}
	defs := object{}
	for i := range g.defs {
		defs[fmt.Sprintf("d%d", i)] = g.schema(2)
	}
	s["$defs"] = defs
	b, err := json.Marshal(s)
	if err != nil {
		panic(err)
	}
	return b
}

func checkGrown(t *testing.T, seed uint64) int {
	t.Helper()
	g := grower{rand.New(rand.NewPCG(seed, 7)), 3}
	s := g.root()
	checked := 0
	for _, w := range wanted {
		n, err := schema.Narrow(s, w.vendor, w.strict)
		if err != nil {
			continue
		}
		if err := conforms(w.vendor, n); err != nil {
			t.Errorf("seed %d: %s\n%s, strict %v: %v\n%s", seed, s, w.vendor, w.strict, err, n.Schema)
		}
		if w.strict {
			checked += checkInstances(t, fmt.Sprint("seed ", seed), s, w.vendor)
		}
	}
	return checked
}

func TestNarrowGrownSchemas(t *testing.T) {
	checked := 0
	for seed := range uint64(500) {
		checked += checkGrown(t, seed)
		if t.Failed() {
			return
		}
	}
	t.Logf("%d instances of strict schemas without losses", checked)
}

func FuzzNarrowGrown(f *testing.F) {
	f.Add(uint64(1))
	f.Fuzz(func(t *testing.T, seed uint64) { checkGrown(t, seed) })
}

// value returns what a model might write for the properties of a grown schema.
func (g grower) value(depth int) any {
	if depth > 0 && g.IntN(3) > 0 {
		if g.IntN(3) == 0 {
			return []any{g.value(depth - 1), g.value(depth - 1)}
		}
		out := object{}
		for _, name := range []string{"a", "b", "c", "z"}[:1+g.IntN(4)] {
			out[name] = g.value(depth - 1)
		}
		return out
	}
	return g.pick("", "x", "3", "3.0", "true", "null", "None", "[1]", `{"a":"1"}`, "NaN", 1, 2.5, json.Number("3.0"), json.Number("12345678901234567890"), true, nil, "k")
}

func TestCoerceUnderGrownSchemas(t *testing.T) {
	changes, mended := 0, 0
	for seed := range uint64(500) {
		g := grower{rand.New(rand.NewPCG(seed, 11)), 3}
		c, err := schema.Compile(g.root())
		if err != nil {
			continue // references that lead only back to themselves
		}
		for range 10 {
			args, err := json.Marshal(g.value(3))
			if err != nil {
				t.Fatal(err)
			}
			got, log := c.Coerce(args)
			changes += len(log)
			before, after := c.Validate(args), c.Validate(got)
			switch {
			case before == nil && after != nil:
				t.Errorf("%s\n%s was valid, %s is not: %v", c.Schema(), args, got, after)
			case before == nil && !onlyWhole(log):
				t.Errorf("%s\n%s was valid and became %s", c.Schema(), args, got)
			case before != nil && after == nil:
				mended++
			}
			if again, log := c.Coerce(got); string(again) != string(got) {
				t.Errorf("%s\n%s became %s became %s: %v", c.Schema(), args, got, again, log)
			}
		}
	}
	t.Logf("%d changes; %d values became valid", changes, mended)
}
