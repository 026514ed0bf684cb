package schema_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/schema"
)

// Each level of these schemas leads to the next in several ways. Without a
// bound, 60 levels would take longer than anyone lives.
var multiplying = []string{
	`{"$ref":"#/$defs/N","$defs":{"N":{"anyOf":[{"properties":{"n":{"$ref":"#/$defs/N"}},"required":["a"]},{"properties":{"n":{"$ref":"#/$defs/N"}},"required":["b"]},{"type":"integer"}]}}}`,
	`{"oneOf":[{"properties":{"n":{"$ref":"#"}}},{"properties":{"n":{"$ref":"#"}}}]}`,
	`{"properties":{"n":{"$ref":"#"}},"allOf":[{"properties":{"n":{"$ref":"#"}}}]}`,
	`{"properties":{"n":{"$ref":"#"}},"patternProperties":{"n":{"$ref":"#"}}}`,
	`{"not":{"properties":{"n":{"$ref":"#"}}},"properties":{"n":{"$ref":"#"}}}`,
	`{"$schema":"http://json-schema.org/draft-07/schema#","if":{"properties":{"n":{"$ref":"#"}}},"then":{"properties":{"n":{"$ref":"#"}}}}`,
}

func nest(depth int) json.RawMessage {
	return json.RawMessage(strings.Repeat(`{"n":`, depth) + `"1"` + strings.Repeat(`}`, depth))
}

func TestWorkIsBounded(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	for _, s := range multiplying {
		c := schema.MustCompile(schema.Schema(s))
		if f := c.Validate(nest(60)); len(f) != 1 || f[0].Keyword != "complexity" {
			t.Errorf("%s: %v", s, f)
		}
		if got, log := c.Coerce(nest(60)); string(got) != string(nest(60)) || log != nil {
			t.Errorf("%s: coerced to %s", s, got)
		}
		linear.Soon(t, fmt.Sprintf("%.60s", s), func() {
			for _, depth := range []int{6, 8, 10, 12, 14, 16, 20} {
				attacks++
				c.Validate(nest(depth))
				c.Coerce(nest(depth))
			}
		})
		if f := c.Validate(nest(3)); len(f) > 0 && f[0].Keyword == "complexity" {
			t.Errorf("%s: three levels are not too many", s)
		}
	}
}

// Ordinary recursion costs as much as the value is long and is not bounded by
// this.
func TestOrdinaryRecursionIsFree(t *testing.T) {
	for _, s := range []string{
		`{"properties":{"n":{"anyOf":[{"$ref":"#"},{"type":"string"}]},"m":{"$ref":"#"}}}`,
		`{"properties":{"n":{"$ref":"#"}},"items":{"$ref":"#"}}`,
	} {
		if f := schema.MustCompile(schema.Schema(s)).Validate(nest(500)); f != nil {
			t.Errorf("%s: %v", s, f)
		}
	}
}

// doubled returns a schema in which each definition uses the next one twice, in
// the way that use shows.
func doubled(levels int, use string) schema.Schema {
	var b strings.Builder
	b.WriteString(`{"$ref":"#/$defs/d0","$defs":{`)
	for i := range levels {
		ref := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1)
		fmt.Fprintf(&b, `"d%d":%s,`, i, strings.ReplaceAll(use, "NEXT", ref))
	}
	fmt.Fprintf(&b, `"d%d":{"type":"string"}}}`, levels)
	return schema.Schema(b.String())
}

// Definitions that use each other twice are small and say much: whatever is
// done with them ends soon.
func TestDoubledReferencesEndSoon(t *testing.T) {
	for _, use := range []string{
		`{"allOf":[NEXT,NEXT]}`,
		`{"anyOf":[NEXT,NEXT]}`,
		`{"oneOf":[NEXT,NEXT]}`,
		`{"not":{"allOf":[NEXT,NEXT]}}`,
		`{"type":"object","properties":{"n":{"allOf":[NEXT,NEXT]}}}`,
		`{"type":"object","properties":{"n":NEXT},"patternProperties":{"n":NEXT}}`,
		`{"type":"object","properties":{"n":NEXT,"m":NEXT}}`,
		`{"type":"object","properties":{"n":NEXT},"required":["n"],"anyOf":[{"properties":{"n":NEXT}},{"properties":{"m":NEXT}}]}`,
		`{"if":NEXT,"then":NEXT,"else":NEXT}`,
		`{"type":"array","prefixItems":[NEXT,NEXT],"contains":NEXT}`,
	} {
		linear.Soon(t, use, func() { useDoubled(t, doubled(30, use)) })
	}
}

// useDoubled does with a schema whatever can be done with one.
func useDoubled(t *testing.T, s schema.Schema) {
	t.Helper()
	c, err := schema.Compile(s)
	if err != nil {
		t.Error(err)
		return
	}
	for _, args := range []json.RawMessage{json.RawMessage(`"x"`), json.RawMessage(`1`), nest(30), nest(31), json.RawMessage(strings.Repeat("[", 30) + strings.Repeat("]", 30))} {
		c.Validate(args)
		c.Coerce(args)
		c.StripNulls(args)
	}
	shape := schema.ShapeOf(s)
	shape.Types()
	shape.Property("n").Property("n").Types()
	for _, v := range schema.Vendors() {
		for _, strict := range []bool{true, false} {
			_, _ = schema.Narrow(s, v, strict)
		}
	}
}

// A large value is checked against a large schema as before: what is counted
// grows with the value.
func TestLargeValuesAreAffordable(t *testing.T) {
	c := schema.MustCompile(doubled(12, `{"type":"object","properties":{"n":NEXT,"m":NEXT,"list":{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"}}}}}}`))
	list := strings.TrimSuffix(strings.Repeat(`{"a":1},`, 50_000), ",")
	if f := c.Validate(json.RawMessage(`{"list":[` + list + `]}`)); f != nil {
		t.Error(f)
	}
}

// Turning digits into a number takes the square of their count.
func TestNumberDigitLimit(t *testing.T) {
	const size = 250_000
	huge := strings.Repeat("9", 8*size)
	for _, s := range []string{`{"type":"integer"}`, `{"minimum":1}`, `{"enum":[1,2]}`, `{"multipleOf":3}`, `{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"type":"string"}`} {
		c := schema.MustCompile(schema.Schema(s))
		for _, args := range []string{huge, `{"a":` + huge + `}`, `"` + huge + `"`, `{"a":"` + huge + `"}`, "1." + huge, "0." + huge + "e-9"} {
			linear.Screen(t, fmt.Sprintf("%s: %.20s…", s, args), size, func(size int) func() {
				args := strings.Replace(args, huge, huge[:size], 1)
				return func() {
					c.Validate(json.RawMessage(args))
					c.Coerce(json.RawMessage(args))
				}
			})
			if f := c.Validate(json.RawMessage(args)); !strings.Contains(args, `"`) && len(f) == 0 {
				t.Errorf("%s: %.20s… is valid", s, args)
			}
		}
	}
	if _, err := schema.Compile(schema.Schema(`{"minimum":` + huge + `}`)); err == nil {
		t.Error("a schema with such a number compiles")
	}
	if f := schema.MustCompile(schema.Schema(`{"type":"integer","minimum":1}`)).Validate(json.RawMessage(huge[:1000])); f != nil {
		t.Errorf("1000 digits: %v", f)
	}
}
