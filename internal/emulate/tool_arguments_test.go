package emulate

import (
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/schema"
)

var nullSchema = json.RawMessage(`{"type":"object","properties":{
	"a":{"type":"string"},"b":{"type":"integer"},"maybe":{"type":["string","null"]},
	"in":{"type":"object","properties":{"c":{"type":"string"},"d":{"type":"string"}},"required":["c"]},
	"list":{"type":"array","items":{"type":"object","properties":{"e":{"type":"integer"},"f":{"type":"integer"}}}}
},"required":["a"]}`)

// Nulls that stand for what was left out go, all others stay, however the
// arguments are cut; and the whole is what package schema makes of it.
func TestDropNulls(t *testing.T) {
	compiled, err := (schema.Compiler{}).Compile(nullSchema)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ sent, want string }{
		{`{"a":"x","b":null}`, `{"a":"x"}`},
		{`{"b":null,"a":"x"}`, `{"a":"x"}`},
		{`{"b":null,"in":null,"a":"x","list":null}`, `{"a":"x"}`},
		{`{"b":null}`, `{}`},
		{`{}`, `{}`},
		{`{"a":null}`, `{"a":null}`},
		{`{"a":"x","maybe":null}`, `{"a":"x","maybe":null}`},
		{`{"a":"null","b":1}`, `{"a":"null","b":1}`},
		{`{"a":"x","in":{"c":"y","d":null},"b":2}`, `{"a":"x","in":{"c":"y"},"b":2}`},
		{`{"a":"x","list":[{"e":null,"f":1},{"e":2,"f":null},{"e":null,"f":null}]}`, `{"a":"x","list":[{"f":1},{"e":2},{}]}`},
		{`{"a":"q\"}{,:null","b":null,"stranger":null}`, `{"a":"q\"}{,:null","stranger":null}`},
		{`{"\u0062":null,"a":"x"}`, `{"a":"x"}`},
		{`{ "a" : "x" , "b" : null , "maybe" : "y" }`, `{ "a" : "x" , "maybe" : "y" }`},
		{`[1,null]`, `[1,null]`},
		{`"b"`, `"b"`},
	} {
		whole := newNullFilter(schema.ShapeOf(nullSchema)).next(c.sent)
		if !equalJSON(whole, c.want) || !equalJSON(whole, string(compiled.StripNulls([]byte(c.sent)))) {
			t.Errorf("%s became %s, want %s", c.sent, whole, c.want)
		}
		for i := range c.sent {
			f := newNullFilter(schema.ShapeOf(nullSchema))
			if got := f.next(c.sent[:i]) + f.next(c.sent[i:]); got != whole {
				t.Errorf("%s cut at %d became %s", c.sent, i, got)
			}
		}
	}
}

func equalJSON(a, b string) bool {
	var x, y any
	if json.Unmarshal([]byte(a), &x) != nil || json.Unmarshal([]byte(b), &y) != nil {
		return false
	}
	p, _ := json.Marshal(x)
	q, _ := json.Marshal(y)
	return string(p) == string(q)
}

// Nothing makes the filter panic, and valid JSON stays valid.
func FuzzDropNulls(f *testing.F) {
	f.Add(`{"a":"x","b":null}`)
	f.Add(`{"b":nul`)
	f.Add(`{"b":nope,"a":{]}`)
	f.Add(`,{"":null}}}`)
	f.Fuzz(func(t *testing.T, s string) {
		got := newNullFilter(schema.ShapeOf(nullSchema)).next(s)
		if json.Valid([]byte(s)) && !json.Valid([]byte(got)) {
			t.Errorf("%q became %q", s, got)
		}
	})
}
