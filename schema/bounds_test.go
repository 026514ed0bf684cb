package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

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
		var worst time.Duration
		for _, depth := range []int{6, 8, 10, 12, 14, 16, 20} {
			attacks++
			start := time.Now()
			c.Validate(nest(depth))
			c.Coerce(nest(depth))
			worst = max(worst, time.Since(start))
		}
		t.Logf("%v at worst for %.60s", worst.Round(time.Millisecond), s)
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
