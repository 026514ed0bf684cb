package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestPlainSchemasAreValid holds the quick look at a schema against the library:
// whatever it calls plain must compile, or a bad schema would not be reported when
// a tool is listed. Values of all kinds stand behind all keywords.
func TestPlainSchemasAreValid(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	keywords := strings.Fields("type properties required additionalProperties items anyOf oneOf allOf enum const default examples title description format " +
		"$comment minimum maximum exclusiveMinimum exclusiveMaximum minLength maxLength minItems maxItems uniqueItems deprecated readOnly writeOnly $schema " +
		"$ref $id $defs pattern prefixItems not if dependentRequired x-note multipleOf")
	leaves := []string{
		`true`, `false`, `null`, `0`, `1`, `-1`, `1.5`, `2.0`, `1e2`, `1e400`, `99999999999999999999`, `""`, `"string"`, `"strnig"`, `"object"`, `"("`, `"email"`, `"#/nowhere"`,
		`[]`, `["string"]`, `["string","string"]`, `["string","null"]`, `["a","b"]`, `[1,2]`, `[1,1]`, `[true]`, `{}`, `{"a":1}`, `{"a":true}`, `{"a":{"type":"string"}}`,
		`"http://json-schema.org/draft-07/schema#"`, `"https://json-schema.org/draft/2020-12/schema"`, `"http://json-schema.org/draft-04/schema#"`,
	}
	var build func(depth int) string
	build = func(depth int) string {
		var parts []string
		for _, at := range rng.Perm(len(keywords))[:rng.IntN(4)] {
			value := leaves[rng.IntN(len(leaves))]
			if depth > 0 {
				switch rng.IntN(5) {
				case 0:
					value = build(depth - 1)
				case 1:
					value = "[" + build(depth-1) + "," + build(depth-1) + "]"
				case 2:
					value = `{"p":` + build(depth-1) + `}`
				}
			}
			parts = append(parts, `"`+keywords[at]+`":`+value)
		}
		return "{" + strings.Join(parts, ",") + "}"
	}
	seen := 0
	for range 60_000 {
		text := build(2)
		root, err := parse([]byte(text))
		if err != nil || !plain(root) {
			continue
		}
		seen++
		if _, err := (Compiler{}).validator(root, root.String()); err != nil {
			t.Fatalf("%s is called plain, but %v", text, err)
		}
	}
	if seen < 5_000 {
		t.Errorf("only %d schemas were plain", seen)
	}
}

// TestPlainSchemasAreThoseOfTools names what must be plain, or the quick look is no
// use, and that all of it is validated like everything else.
func TestPlainSchemasAreThoseOfTools(t *testing.T) {
	for _, c := range []struct{ schema, good, bad string }{
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string"},"head":{"type":"number","description":"Lines"}},"required":["path"],"additionalProperties":false}`,
			`{"path":"a"}`, `{"path":"a","tail":1}`},
		{`{"type":"object","properties":{"n":{"anyOf":[{"type":"integer"},{"type":"null"}],"default":null,"title":"N"}}}`, `{"n":null}`, `{"n":"1"}`},
		{`{"type":"object","properties":{"list":{"type":"array","items":{"type":"object","properties":{"k":{"type":"string","enum":["a","b"]}}},"minItems":1}}}`,
			`{"list":[{"k":"a"}]}`, `{"list":[{"k":"c"}]}`},
	} {
		root, err := parse([]byte(c.schema))
		if err != nil || !plain(root) {
			t.Errorf("not plain: %s (%v)", c.schema, err)
		}
		s := MustCompile(Schema(c.schema))
		if faults := s.Validate(json.RawMessage(c.good)); len(faults) > 0 {
			t.Errorf("%s: %v", c.good, faults)
		}
		if len(s.Validate(json.RawMessage(c.bad))) == 0 {
			t.Errorf("%s passes", c.bad)
		}
	}
}

// TestUnusableSchemaRefusesEverything: were a schema called plain by mistake, no
// arguments may pass it.
func TestUnusableSchemaRefusesEverything(t *testing.T) {
	s := &Compiled{raw: Schema(`{"type":"strnig"}`)}
	if len(s.Validate(json.RawMessage(`{}`))) == 0 || len(s.Validate(json.RawMessage(`"x"`))) == 0 {
		t.Error("arguments pass a schema that cannot be used")
	}
	s.Coerce(json.RawMessage(`{"a":1}`))
}
