package schema

import "github.com/santhosh-tekuri/jsonschema/v6"

// A recursive schema whose alternatives each lead back to it is checked once per
// alternative at every level of a value. The work doubles or worse with the depth. A
// definition that is referred to twice, by another that is referred to twice, and so
// on, doubles it with each. A few hundred bytes could keep a processor busy for years.
// Such schemas are found when they are compiled, and only for them the work is counted
// before it is done.
const (
	maxVisits       = 50_000 // of a schema with a value, in one validation
	maxCoerceVisits = maxVisits / 10
	perPart         = 20    // further visits that each part of a large value allows
	manyWays        = 1_000 // ways through a schema from which on they are counted
)

var tooComplex = Fault{
	Keyword: "complexity", Expected: "a flatter value",
	Message: "The value takes too long to check against a schema that leads to the same place in so many ways; send a flatter or smaller one.",
}

// affordable reports whether checking v costs at most limit visits, or at most
// each of them for every part of v.
func (c *Compiled) affordable(v any, limit, each int) bool {
	check := c.validator()
	if !check.multiplies {
		return true
	}
	limit = max(limit, each*parts(v))
	cost(v, check.sch, &limit)
	return limit > 0
}

// parts counts the values in v, itself included.
func parts(v any) int {
	n := 1
	switch v := v.(type) {
	case map[string]any:
		for _, x := range v {
			n += parts(x)
		}
	case []any:
		for _, x := range v {
			n += parts(x)
		}
	}
	return n
}

// cost takes from left what validating v against s may visit.
func cost(v any, s *jsonschema.Schema, left *int) {
	if *left--; *left <= 0 {
		return
	}
	visit(s, func(sub *jsonschema.Schema, inPlace bool) {
		if inPlace {
			cost(v, sub, left)
		}
	})
	if s.DynamicRef != nil {
		cost(v, s.DynamicRef.Ref, left)
	}
	each := func(x any, subs ...*jsonschema.Schema) {
		for _, sub := range subs {
			if sub != nil {
				cost(x, sub, left)
			}
		}
	}
	switch v := v.(type) {
	case map[string]any:
		for name, x := range v {
			each(x, propertySchemas(s, name)...)
			each(x, s.UnevaluatedProperties)
		}
	case []any:
		for i, x := range v {
			each(x, itemSchema(s, i), s.Contains, s.UnevaluatedItems)
		}
	}
}

// multiplies reports whether a schema reachable from the given ones leads back
// to itself in more than one way for the same part of a value, or the first of
// them leads to others in many ways.
func multiplies(all []*jsonschema.Schema) bool {
	group := components(all)
	if ways(all[0], group, make(map[*jsonschema.Schema]int)) > manyWays {
		return true
	}
	for _, s := range all {
		same, parts := 0, 0
		visit(s, func(sub *jsonschema.Schema, inPlace bool) {
			switch {
			case group[sub] != group[s]:
			case inPlace:
				same++
			default:
				parts++
			}
		})
		overlap := len(s.PatternProperties) > 0 || s.Contains != nil || s.UnevaluatedProperties != nil || s.UnevaluatedItems != nil
		if same > 1 || same == 1 && parts > 0 || overlap && parts > 1 {
			return true
		}
	}
	return false
}

// ways counts the ways that lead from s to all schemas below it, up to a bit
// over manyWays. Ways back to a schema that s came from are not counted.
func ways(s *jsonschema.Schema, group, known map[*jsonschema.Schema]int) int {
	if n := known[s]; n > 0 {
		return n
	}
	known[s] = 1 // met again on the way from itself
	n := 1
	visit(s, func(sub *jsonschema.Schema, _ bool) {
		if group[sub] != group[s] || known[sub] == 0 {
			n = min(n+ways(sub, group, known), manyWays+1)
		}
	})
	known[s] = n
	return n
}

// components numbers the schemas: schemas that lead to each other have one number
// (Tarjan).
func components(all []*jsonschema.Schema) map[*jsonschema.Schema]int {
	t := tarjan{index: make(map[*jsonschema.Schema]int), low: make(map[*jsonschema.Schema]int), group: make(map[*jsonschema.Schema]int)}
	for _, s := range all {
		if t.index[s] == 0 {
			t.connect(s)
		}
	}
	return t.group
}

type tarjan struct {
	index, low, group map[*jsonschema.Schema]int
	stack             []*jsonschema.Schema
}

func (t *tarjan) connect(s *jsonschema.Schema) {
	n := len(t.index) + 1
	t.index[s], t.low[s] = n, n
	t.stack = append(t.stack, s)
	visit(s, func(sub *jsonschema.Schema, _ bool) {
		switch {
		case t.index[sub] == 0:
			t.connect(sub)
			t.low[s] = min(t.low[s], t.low[sub])
		case t.group[sub] == 0: // on the stack
			t.low[s] = min(t.low[s], t.index[sub])
		}
	})
	if t.low[s] != n {
		return
	}
	for i := len(t.stack) - 1; ; i-- {
		t.group[t.stack[i]] = n
		if t.stack[i] == s {
			t.stack = t.stack[:i]
			return
		}
	}
}
