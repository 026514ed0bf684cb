package schema

import (
	"slices"
	"strings"
	"testing"
)

// A schema with keywords that cannot be checked is usable without them; what a keyword of an earlier draft means is kept.
func TestRunnable(t *testing.T) {
	for in, c := range map[string]struct {
		out     string // "" if it stays as it is
		skipped []string
	}{
		`{"type":"object","properties":{"a":{"type":"string","format":"duration"}}}`: {},
		`{"type":"object","properties":{"a":{"type":"string","pattern":"^P(?!$)(\\d+Y)?$"}}}`: {
			`{"type":"object","properties":{"a":{"type":"string","description":"pattern: ^P(?!$)(\\d+Y)?$"}}}`, []string{"/properties/a/pattern"}},
		`{"type":"object","properties":{"pattern":{"type":"string","description":"A host.","pattern":"^(?=.{1,253}\\.?$)x"}}}`: {
			`{"type":"object","properties":{"pattern":{"type":"string","description":"A host. (pattern: ^(?=.{1,253}\\.?$)x)"}}}`, []string{"/properties/pattern/pattern"}},
		`{"type":"object","patternProperties":{"^(?=x)":{"type":"string"},"^y":{}},"additionalProperties":false}`: {
			`{"type":"object","patternProperties":{"^y":{}}}`, []string{"/patternProperties/^(?=x)"}},
		`{"$schema":"https://example.org/odd","type":"object"}`: {`{"type":"object"}`, []string{"/$schema"}},
		`{"$schema":7,"type":"object"}`:                         {`{"type":"object"}`, []string{"/$schema"}},
		`{"type":"object","properties":{"a":{"minimum":1,"exclusiveMinimum":true,"maximum":9,"exclusiveMaximum":false}}}`: {
			`{"type":"object","properties":{"a":{"exclusiveMinimum":1,"maximum":9}}}`, nil},
		`{"type":"object","properties":{"a":{"items":[{"type":"string"}],"additionalItems":false}}}`: {
			`{"type":"object","properties":{"a":{"prefixItems":[{"type":"string"}],"items":false}}}`, nil},
		`{"type":"object","properties":{"a":{"type":"string","required":true}}}`: {`{"type":"object","properties":{"a":{"type":"string"}}}`, []string{"/properties/a/required"}},
		`{"type":"object","properties":{"a":{"type":"file"}}}`:                   {`{"type":"object","properties":{"a":{}}}`, []string{"/properties/a/type"}},
		`{"type":"object","properties":{"a":{"type":["string","nul"]}}}`:         {`{"type":"object","properties":{"a":{}}}`, []string{"/properties/a/type"}},
		`{"type":"object","properties":{"a/~b":null},"required":["a/~b"]}`:       {`{"type":"object","properties":{"a/~b":{}},"required":["a/~b"]}`, []string{"/properties/a~1~0b"}},
		`{"type":"object","properties":{"a":{"anyOf":[7,{"minLength":"3"}]}}}`:   {`{"type":"object","properties":{"a":{"anyOf":[{},{}]}}}`, []string{"/properties/a/anyOf/0", "/properties/a/anyOf/1/minLength"}},
		`{"type":"object","properties":[]}`:                                      {`{"type":"object"}`, []string{"/properties"}},
		`{"type":"object","required":["a","a"]}`:                                 {`{"type":"object"}`, []string{"/required"}},
		`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"pattern":"(?<=a)b"}]}}}`: {
			`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"items":[{"description":"pattern: (?<=a)b"}]}}}`, []string{"/properties/a/items/0/pattern"}},
		`{"properties":{"a":{"$ref":"#/$defs/q"}},"$defs":{"q":{"pattern":"(?!"}}}`: {
			`{"properties":{"a":{"$ref":"#/$defs/q"}},"$defs":{"q":{"description":"pattern: (?!"}}}`, []string{"/$defs/q/pattern"}},
		`{"properties":{"a":{"$ref":"https://example.org/x"},"b":{"description":"B.","$ref":"other.json#/y"},"c":{"$ref":"#/$defs/q"}},"$defs":{"q":{"type":"string"}}}`: {
			`{"properties":{"a":{"description":"$ref: https://example.org/x"},"b":{"description":"B. ($ref: other.json#/y)"},"c":{"$ref":"#/$defs/q"}},"$defs":{"q":{"type":"string"}}}`, []string{"/properties/a/$ref", "/properties/b/$ref"}},
		`{"properties":{"a":{"enum":["(?!"],"default":{"pattern":"(?!"}}},"examples":[{"pattern":"(?!"}]}`: {},
	} {
		out, skipped, err := Runnable(Schema(in))
		want := c.out
		if want == "" {
			want = in
		}
		if err != nil || string(out) != want || !slices.Equal(skipped, c.skipped) {
			t.Errorf("%s\nbecame %s\nwithout %q, %v", in, out, skipped, err)
		}
	}
	for in, says := range map[string]string{
		`{"properties":{"a":{"$ref":"#/nowhere"}}}`:      "not found",
		`{"properties":{"a":{"$ref":"#/properties/a"}}}`: "only back to itself",
		`[]`: "", `7`: "", `{"a":1,"a":2}`: "", `{`: "",
		`{"allOf":[` + strings.TrimSuffix(strings.Repeat(`{"type":"odd"},`, 70), ",") + `]}`: "type",
	} {
		if out, _, err := Runnable(Schema(in)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%.80s became %s, %v", in, out, err)
		}
	}
}
