package schema_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/schema"
)

// A schema that takes every object is told from one that takes none, or some.
func TestAnyObject(t *testing.T) {
	for s, want := range map[string]bool{
		`true`: true, `{}`: true, `{"type":"object"}`: true, `{"type":["object","null"],"description":"d","$schema":"x"}`: true,
		`{"type":"dict","properties":{},"required":[]}`: true, `{"type":"object","additionalProperties":true}`: true,
		`{"type":"object","additionalProperties":{}}`: true,
		``: false, `false`: false, `{"type":"string"}`: false, `{"type":"object","additionalProperties":false}`: false, `not JSON`: false,
		`{"type":"object","additionalProperties":{"type":"string"}}`: false, `{"type":"object","properties":{"a":{}}}`: false,
		`{"type":"object","required":["a"]}`: false, `{"anyOf":[{"type":"object"}]}`: false, `{"type":"object","minProperties":1}`: false,
	} {
		if got := schema.AnyObject(schema.Schema(s)); got != want {
			t.Errorf("%s: %v", s, got)
		}
	}
}

// An object that declares nothing and forbids nothing is closed nowhere in a schema, in no way of writing it: what a tool may
// be given, or what an answer may be, would be {} alone.
func TestOpenObjectsAreNeverClosed(t *testing.T) {
	open := []string{
		`{"type":"object"}`, `{"type":"object","properties":{}}`, `{"type":"object","description":"d","required":[]}`,
		`{"type":"object","additionalProperties":true}`, `{"type":"object","additionalProperties":{}}`, `{"type":["object","null"]}`,
		`{"allOf":[{"type":"object"}]}`, `{"$ref":"#/$defs/o"}`, `{"anyOf":[{"type":"object"},{"type":"null"}]}`,
		`{"type":"object","minProperties":1}`, `{"type":"dict"}`, `{"type":"object","patternProperties":{"^a":{}}}`, `{"properties":{}}`,
	}
	places := []string{
		`%`, `{"type":"object","properties":{"data":%},"required":["data"]}`, `{"type":"object","properties":{"data":%}}`,
		`{"type":"object","properties":{"l":{"type":"array","items":%}}}`,
		`{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},%]}}}`,
		`{"type":"object","properties":{"a":{"type":"object","properties":{"b":%},"additionalProperties":false}}}`,
	}
	for _, o := range open {
		for _, place := range places {
			s := strings.Replace(place, "%", o, 1)
			s = `{"$defs":{"o":{"type":"object"}},` + s[1:]
			for _, vendor := range schema.Vendors() {
				n, err := schema.Narrow(schema.Schema(s), vendor, true)
				if err != nil {
					t.Fatalf("%s: %v", s, err)
				}
				if n.Strict {
					t.Errorf("%s %s is strict: %s", vendor, s, n.Schema)
				}
				said := len(n.Losses) > 0 && n.Losses[0].Keyword == "strict"
				if !said {
					t.Errorf("%s %s: nothing is said: %v", vendor, s, n.Losses)
				}
			}
		}
	}
}
