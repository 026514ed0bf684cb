package outputfields_test

import (
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/internal/outputfields"
	"github.com/toolpost/toolpost/schema"
)

// FuzzFromFields makes schemas of descriptions of outputs: one that is made can be
// used, and accepts or refuses values without trouble.
func FuzzFromFields(f *testing.F) {
	for _, seed := range []string{
		`{"verdict":{"type":"string","enum":["passed","failed"]},"score":{"type":"number","maximum":10}}`,
		`{"list":{"type":"array","items":{"type":"object","properties":{"a":"string"}}}}`, `{"a":"string","b":{"description":"x"}}`,
		`{"a":{"type":["string","null"]},"b":{"type":"dict"}}`, `{"a":null}`, `{"a":{"type":7}}`, `{}`, `{"":{}}`, `{"a":{"pattern":"("}}`, `{"a":{"$ref":"#/x"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var fields map[string]any
		if json.Unmarshal([]byte(text), &fields) != nil {
			return
		}
		s, err := outputfields.Schema(fields)
		if err != nil {
			return
		}
		c, err := schema.Compile(s)
		if err != nil {
			t.Fatalf("%s becomes %s, which cannot be used: %v", text, s, err)
		}
		c.Validate(json.RawMessage(`{"a":1,"b":null}`))
	})
}
