package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/schema"
)

func TestCoerce(t *testing.T) {
	for _, c := range []struct {
		why, schema, args, want string
		rules                   string // of the coercions, in order
	}{
		{"a quoted integer", `{"properties":{"n":{"type":"integer"}}}`, `{"n":"3"}`, `{"n":3}`, "unquoted"},
		{"valid stays", `{"properties":{"n":{"type":"integer"}}}`, `{ "n" : 3 }`, `{ "n" : 3 }`, ""},
		{"every digit stays", `{"properties":{"n":{"type":"integer"}}}`, `{"n":"123456789012345678901234567890"}`, `{"n":123456789012345678901234567890}`, "unquoted"},
		{"a fraction would be lost", `{"properties":{"n":{"type":"integer"}}}`, `{"n":"3.5"}`, `{"n":"3.5"}`, ""},
		{"never NaN", `{"properties":{"n":{"type":"number"}}}`, `{"n":"NaN"}`, `{"n":"NaN"}`, ""},
		{"words for numbers are guesses", `{"properties":{"n":{"type":"integer"}}}`, `{"n":"three"}`, `{"n":"three"}`, ""},
		{"a whole number", `{"properties":{"n":{"type":"integer"}}}`, `{"n":3.0}`, `{"n":3}`, "whole-number"},
		{"3.0 is a fine number", `{"properties":{"n":{"type":"number"}}}`, `{"n":3.0}`, `{"n":3.0}`, ""},
		{"booleans", `{"properties":{"b":{"type":"boolean"}}}`, `{"b":"True"}`, `{"b":true}`, "unquoted"},
		{"1 is no boolean", `{"properties":{"b":{"type":"boolean"}}}`, `{"b":1}`, `{"b":1}`, ""},
		{"an array as a string", `{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `{"a":"[1, \"2\"]"}`, `{"a":[1,2]}`, "unstringified unquoted"},
		{"an object as a string", `{"properties":{"o":{"type":"object","properties":{"x":{"type":"boolean"}}}}}`, `{"o":"{\"x\":\"false\",\"y\":\"1\"}"}`, `{"o":{"x":false,"y":"1"}}`, "unstringified unquoted"},
		{"a string that only looks like an object", `{"properties":{"s":{"type":"string"}}}`, `{"s":"{\"x\":1}"}`, `{"s":"{\"x\":1}"}`, ""},
		{"all arguments as a string", `{"type":"object","properties":{"n":{"type":"integer"}}}`, `"{\"n\":1}"`, `{"n":1}`, "unstringified"},
		{"a lone value", `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"a":"x"}`, `{"a":["x"]}`, "wrapped"},
		{"a lone value of the wrong type", `{"properties":{"a":{"type":"array","items":{"type":"integer"}}}}`, `{"a":"7"}`, `{"a":[7]}`, "wrapped unquoted"},
		{"a lone object", `{"properties":{"a":{"type":"array","items":{"type":"object"}}}}`, `{"a":{"x":1}}`, `{"a":[{"x":1}]}`, "wrapped"},
		{"not if the list would be invalid", `{"properties":{"a":{"type":"array","items":{"type":"string"},"minItems":2}}}`, `{"a":"x"}`, `{"a":"x"}`, ""},
		{"not if it may be something else", `{"properties":{"a":{"type":["array","null"]}}}`, `{"a":5}`, `{"a":5}`, ""},
		{"one list, not two", `{"properties":{"a":{"type":"array","items":{"type":"array","items":{"type":"integer"}}}}}`, `{"a":3}`, `{"a":3}`, ""},
		{"a list of lists of lists", `{"type":"array","items":{"$ref":"#"}}`, `3`, `3`, ""},
		{"lists inside a lone item", `{"properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"array","items":{"type":"string"}}}}}}}`, `{"a":{"b":"x"}}`, `{"a":[{"b":["x"]}]}`, "wrapped wrapped"},
		{"broken JSON is no item", `{"properties":{"a":{"type":"array","items":{"type":"string"}}}}`, `{"a":"[\"x\", \"y"}`, `{"a":"[\"x\", \"y"}`, ""},
		{"null is no item", `{"properties":{"a":{"type":"array"}},"required":["a"]}`, `{"a":null}`, `{"a":null}`, ""},
		{"a number for a string", `{"properties":{"zip":{"type":"string"}}}`, `{"zip":50.10}`, `{"zip":"50.10"}`, "quoted"},
		{"an object is no string", `{"properties":{"s":{"type":"string"}}}`, `{"s":{"x":1}}`, `{"s":{"x":1}}`, ""},
		{"null for what may be left out", `{"properties":{"n":{"type":"integer"},"m":{"type":["integer","null"]},"r":{"type":"integer"}},"required":["r"]}`, `{"n":null,"m":null,"r":null,"x":null}`, `{"m":null,"r":null,"x":null}`, "optional-null"},
		{"a quoted null", `{"properties":{"n":{"type":["integer","null"]}}}`, `{"n":"null"}`, `{"n":null}`, "unquoted"},
		{"order and other names stay", `{"properties":{"b":{"type":"integer"}}}`, `{"z":1,"b":"2","a":{"y":1,"x":"2"}}`, `{"z":1,"b":2,"a":{"y":1,"x":"2"}}`, "unquoted"},
		{"through a reference", `{"properties":{"n":{"$ref":"#/$defs/n"}},"$defs":{"n":{"type":"integer"}}}`, `{"n":"3"}`, `{"n":3}`, "unquoted"},
		{"through a cycle", `{"$ref":"#/$defs/N","$defs":{"N":{"type":"object","properties":{"v":{"type":"integer"},"next":{"$ref":"#/$defs/N"}}}}}`, `{"v":"1","next":{"v":"2","next":{"v":3}}}`, `{"v":1,"next":{"v":2,"next":{"v":3}}}`, "unquoted unquoted"},
		{"all of several", `{"allOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"b":{"type":"boolean"}}}]}`, `{"a":"1","b":"true"}`, `{"a":1,"b":true}`, "unquoted unquoted"},
		{"alternatives: one fits", `{"properties":{"x":{"anyOf":[{"type":"integer"},{"type":"boolean"}]}}}`, `{"x":"true"}`, `{"x":true}`, "unquoted"},
		{"alternatives: a string is allowed", `{"properties":{"x":{"anyOf":[{"type":"integer"},{"type":"string"}]}}}`, `{"x":"3"}`, `{"x":"3"}`, ""},
		{"alternatives: the integer comes before the list", `{"properties":{"x":{"anyOf":[{"type":"array","items":{"type":"integer"}},{"type":"integer"}]}}}`, `{"x":"3"}`, `{"x":3}`, "unquoted"},
		{"alternatives: the discriminator decides", `{"oneOf":[{"properties":{"k":{"const":"a"},"v":{"type":"integer"}},"required":["k","v"]},{"properties":{"k":{"const":"b"},"v":{"type":"boolean"}},"required":["k","v"]}]}`, `{"k":"a","v":"1"}`, `{"k":"a","v":1}`, "unquoted"},
		{"alternatives: two readings are none", `{"anyOf":[{"properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"]},{"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"required":["a","b"]}]}`, `{"a":1,"b":2}`, `{"a":1,"b":2}`, ""},
		{"an enumeration of numbers", `{"properties":{"x":{"enum":[1,2]}}}`, `{"x":"2"}`, `{"x":2}`, "unquoted"},
		{"an enumeration of strings", `{"properties":{"x":{"enum":["1","2"]}}}`, `{"x":2}`, `{"x":"2"}`, "quoted"},
		{"an enumeration with its own spelling", `{"properties":{"x":{"type":"string","enum":["True","False","dontcare"]}}}`, `{"x":true}`, `{"x":"True"}`, "quoted"},
		{"an enumeration with two spellings", `{"properties":{"x":{"enum":["True","TRUE"]}}}`, `{"x":true}`, `{"x":"true"}`, "quoted"},
		{"an escape of Markdown in an enumeration", `{"properties":{"x":{"enum":["by_car","by_bus"]}}}`, `{"x":"by\\_car"}`, `{"x":"by_car"}`, "unescaped"},
		{"an escape of Markdown where a pattern says so", `{"properties":{"x":{"type":"string","pattern":"^[a-z_]+$"}}}`, `{"x":"a\\_b\\_c"}`, `{"x":"a_b_c"}`, "unescaped"},
		{"an escape that is valid stays", `{"properties":{"x":{"type":"string"}}}`, `{"x":"a\\_b"}`, `{"x":"a\\_b"}`, ""},
		{"an escape that is not all that is wrong stays", `{"properties":{"x":{"enum":["by_car"]}}}`, `{"x":"on\\_foot"}`, `{"x":"on\\_foot"}`, ""},
		{"another case of a word is a guess", `{"properties":{"x":{"enum":["Horror"]}}}`, `{"x":"horror"}`, `{"x":"horror"}`, ""},
		{"tuples", `{"properties":{"p":{"prefixItems":[{"type":"number"},{"type":"string"}],"items":{"type":"boolean"}}}}`, `{"p":["1",2,"true"]}`, `{"p":[1,"2",true]}`, "unquoted quoted unquoted"},
		{"old tuples", `{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"p":{"items":[{"type":"number"}],"additionalItems":{"type":"boolean"}}}}`, `{"p":["1","true"]}`, `{"p":[1,true]}`, "unquoted unquoted"},
		{"maps", `{"additionalProperties":{"type":"integer"},"patternProperties":{"^b":{"type":"boolean"}}}`, `{"a":"1","b":"true"}`, `{"a":1,"b":true}`, "unquoted unquoted"},
		{"still wrong otherwise", `{"properties":{"n":{"type":"integer","minimum":5},"m":{}},"required":["m"]}`, `{"n":"3"}`, `{"n":3}`, "unquoted"},
		{"nothing is allowed", `{"properties":{"n":false}}`, `{"n":"3"}`, `{"n":"3"}`, ""},
		{"not JSON", `{}`, `{"n":`, `{"n":`, ""},
	} {
		s := schema.MustCompile(schema.Schema(c.schema))
		got, log := s.Coerce(json.RawMessage(c.args))
		var rules []string
		for _, l := range log {
			rules = append(rules, string(l.Rule))
		}
		if string(got) != c.want || strings.Join(rules, " ") != c.rules {
			t.Errorf("%s: %s\n\tgot  %s %v\n\twant %s %s", c.why, c.args, got, log, c.want, c.rules)
		}
		if again, log := s.Coerce(got); string(again) != string(got) || log != nil {
			t.Errorf("%s: coercing twice: %s, then %s", c.why, got, again)
		}
	}
}

func TestCoercionPaths(t *testing.T) {
	s := schema.MustCompile(schema.Schema(`{"properties":{"a/b":{"items":{"type":"integer"}},"o":{"properties":{"x":{"type":"string"}}}}}`))
	_, log := s.Coerce(json.RawMessage(`{"a/b":[1,"22"],"o":{"x":null}}`))
	want := []schema.Coercion{
		{Path: "/a~1b/1", Rule: "unquoted", From: "a string of 2 characters", To: "an integer"},
		{Path: "/o/x", Rule: "optional-null", From: "null", To: "nothing"},
	}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

func TestStripNullsChangesNothingElse(t *testing.T) {
	s := schema.MustCompile(schema.Schema(`{"properties":{
		"n":{"type":"integer"},
		"o":{"anyOf":[{"type":"object","properties":{"x":{"type":"string"}}},{"type":"integer"}]},
		"list":{"items":{"type":"object","properties":{"y":{"type":"string"}}}}}}`))
	got := s.StripNulls(json.RawMessage(`{"n":"3","o":{"x":null},"list":[{"y":null},null]}`))
	if want := `{"n":"3","o":{},"list":[{},null]}`; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

var coerceSchemas = []schema.Schema{
	orderSchema,
	schema.Schema(`{"properties":{"a":{"type":"array","items":{"type":"integer"}},"b":{"type":["boolean","null"]},"s":{"type":"string"},
		"x":{"anyOf":[{"type":"integer"},{"type":"array","items":{"type":"string"}}]},"o":{"$ref":"#"}}}`),
	schema.Schema(`{"additionalProperties":{"oneOf":[{"type":"number"},{"type":"object","additionalProperties":{"type":"boolean"}}]}}`),
}

// What coercion does is never a loss, changes nothing that is valid, and is
// done after one pass.
func FuzzCoerce(f *testing.F) {
	f.Add(0, string(orderArgs))
	f.Add(0, `{"sku":12,"quantity":"3","tags":"a","address":"{\"street\":\"x\",\"city\":null}"}`)
	f.Add(1, `{"a":"[1,\"2\"]","b":"None","s":1.50,"x":"3","o":{"a":"7","x":null}}`)
	f.Add(2, `{"k":"1e3","l":{"m":"true"},"n":"NaN"}`)
	var compiled []*schema.Compiled
	for _, s := range coerceSchemas {
		compiled = append(compiled, schema.MustCompile(s))
	}
	f.Fuzz(func(t *testing.T, which int, text string) {
		s := compiled[uint(which)%uint(len(compiled))]
		args := json.RawMessage(text)
		got, log := s.Coerce(args)
		if log == nil {
			if string(got) != text {
				t.Fatalf("%q became %q without a word", text, got)
			}
			return
		}
		if !json.Valid(got) {
			t.Fatalf("%q became %q", text, got)
		}
		if s.Validate(args) == nil && !onlyWhole(log) {
			t.Errorf("%q is valid but became %q: %v", text, got, log)
		}
		if s.Validate(args) == nil && s.Validate(got) != nil {
			t.Errorf("%q is valid but %q is not", text, got)
		}
		if again, log := s.Coerce(got); string(again) != string(got) || log != nil {
			t.Errorf("%q became %q became %q", text, got, again)
		}
		if !sameValue(decodeExact(t, text), decodeExact(t, string(got))) {
			t.Errorf("%q became %q: something is lost", text, got)
		}
	})
}

func onlyWhole(log []schema.Coercion) bool {
	for _, c := range log {
		if c.Rule != "whole-number" {
			return false
		}
	}
	return true
}

func decodeExact(t *testing.T, text string) any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

// sameValue reports whether b says what a says, in other types perhaps.
func sameValue(a, b any) bool {
	switch b := b.(type) {
	case map[string]any:
		if m, ok := a.(map[string]any); ok {
			for name, v := range m {
				w, there := b[name]
				if v == nil && !there {
					continue
				}
				if !there || !sameValue(v, w) {
					return false
				}
			}
			return len(b) <= len(m)
		}
	case []any:
		if list, ok := a.([]any); ok && len(list) == len(b) {
			for i := range list {
				if !sameValue(list[i], b[i]) {
					return false
				}
			}
			return true
		}
		if len(b) == 1 && sameValue(a, b[0]) {
			return true
		}
	}
	return cmp.Equal(a, b) || sameText(a, b)
}

// sameText compares a string with the value written in it.
func sameText(a, b any) bool {
	if s, ok := b.(string); ok {
		out, err := json.Marshal(a)
		return err == nil && string(out) == s
	}
	s, ok := a.(string)
	if !ok {
		n, isNumber := a.(json.Number)
		m, too := b.(json.Number)
		return isNumber && too && wholeOf(string(n)) == wholeOf(string(m))
	}
	s = strings.TrimSpace(s)
	switch b := b.(type) {
	case nil:
		return strings.EqualFold(s, "null") || strings.EqualFold(s, "none") || s == "nil"
	case bool:
		return strings.EqualFold(s, map[bool]string{true: "true", false: "false"}[b])
	case json.Number:
		return wholeOf(s) == wholeOf(string(b))
	}
	dec := json.NewDecoder(strings.NewReader(s))
	dec.UseNumber()
	var v any
	return dec.Decode(&v) == nil && sameValue(v, b)
}

// wholeOf writes a number without what does not change it.
func wholeOf(s string) string {
	s = strings.TrimPrefix(s, "+")
	sign := ""
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		sign, s = "-", rest
	}
	if strings.HasPrefix(s, ".") {
		s = "0" + s
	}
	if strings.Contains(s, ".") && !strings.ContainsAny(s, "eE") {
		s = strings.TrimRight(strings.TrimRight(s, "0"), ".")
	}
	if s == "0" {
		sign = ""
	}
	return sign + s
}

func BenchmarkCoerce(b *testing.B) {
	s := schema.MustCompile(orderSchema)
	b.Run("nothing to do", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Coerce(orderArgs)
		}
	})
	args := json.RawMessage(`{"sku":"AB-123","quantity":"3","tags":"a","address":"{\"street\":\"Via Roma 1\",\"city\":\"Firenze\"}"}`)
	b.Run("three changes", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s.Coerce(args)
		}
	})
}
