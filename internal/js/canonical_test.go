package js

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// Values that are written in several ways have one form, and other values have another.
func TestEqual(t *testing.T) {
	for _, c := range []struct {
		why   string
		a     string
		b     string
		equal bool
	}{
		{"order, white space and escapes", `{"a":[1,"x\u0041"],"b":null}`, " { \"b\" : null,\n\"a\":[ 1, \"xA\" ] } ", true},
		{"the form of numbers", `[1, 100, 2.5, 0, 1e400]`, `[10e-1, 1e2, 25E-1, -0.0, 10e399]`, true},
		{"large integers are exact", `12345678901234567890123`, `12345678901234567890124`, false},
		{"fractions are exact", `2.5`, `2.50000000000000000000000001`, false},
		{"the last of repeated names counts", `{"a":1,"b":3,"a":2}`, `{"a":2,"b":3}`, true},
		{"and not the first", `{"a":1,"a":2}`, `{"a":1}`, false},
		{"the order of elements", `[1,2]`, `[2,1]`, false},
		{"a number is not a string", `1`, `"1"`, false},
		{"null is not absent", `{"a":null}`, `{}`, false},
		{"half of a surrogate pair", `"\ud800"`, `"\ufffd"`, true},
		{"bytes that are not UTF-8", "\"\xff\"", `"\ufffd"`, true},
		{"text that is not JSON equals itself", `{"a":`, `{"a":`, true},
		{"and nothing else", `{"a":`, `{"a": `, false},
		{"two values", `1`, `1 {}`, false},
	} {
		if Equal([]byte(c.a), []byte(c.b)) != c.equal || Equal([]byte(c.b), []byte(c.a)) != c.equal {
			t.Errorf("%s: %s and %s: equal is not %v", c.why, c.a, c.b, c.equal)
		}
	}
}

func TestForms(t *testing.T) {
	upper := func(dst, text []byte) []byte { return AppendShortest(dst, bytes.ToUpper(text)) }
	bare := func(dst, text []byte) []byte { return append(dst, text...) }
	noNulls := Form{
		Mode: ByValue,
		Omit: func(depth int, name, value []byte) bool {
			return string(value) == "null" || depth == 0 && string(name) == "stream"
		},
		Opaque: func(name []byte) bool { return string(name) == "args" },
	}
	for _, c := range []struct {
		why, in, want string
		form          Form
	}{
		{"canonical", `{"b":1.0,"a":[1e2,"\/\u2028"]}`, "{\"a\":[100,\"/\u2028\"],\"b\":1}", Form{}},
		{"a repeated name", `{"a":1,"a":2,"a#2":3,"b":4}`, `{"a":1,"a#2":2,"a#2#2":3,"b":4}`, Form{Mode: Mended}},
		{"half of a pair", `["\ud800",1e400]`, "[\"\ufffd\",\"1e400\"]", Form{Mode: Mended}},
		{"by value", `{"b":1.50,"a":1e2,"b":1.0}`, `{"a":1e2,"b":1}`, Form{Mode: ByValue}},
		{"text", `{"a":["b",1]}`, `{"A":["B",1]}`, Form{Text: upper}},
		{"omitted members", `{"stream":true,"x":{"stream":1,"n":null},"l":[null],"args":{"n":null},"n":null}`, `{"args":{"n":null},"l":[null],"x":{"stream":1}}`, noNulls},
		{"the first is omitted", `{"n":null,"a":1}`, `{"a":1}`, noNulls},
		{"the last of repeated names is omitted", `{"a":1,"b":2,"a":null}`, `{"b":2}`, noNulls},
		{"opaque arrays are not", `{"args":[{"n":null}]}`, `{"args":[{}]}`, noNulls},
		{"empty members", `{"a":"","b":{"c":null,"d":{}},"e":[],"f":[null,""],"g":0,"h":false}`, `{"f":[,],"g":0,"h":false}`, Form{OmitEmpty: true}},
		{"an empty value", `{"a":{"b":[]}}`, ``, Form{OmitEmpty: true}},
		{"text that becomes empty", `{"a":"x","b":""}`, `{a:x}`, Form{OmitEmpty: true, Text: bare}},
	} {
		got, err := c.form.Append([]byte("before"), []byte(c.in))
		if err != nil || string(got) != "before"+c.want {
			t.Errorf("%s: %s: %s, %v", c.why, c.in, got, err)
		}
	}
	deep := strings.Repeat("[", MaxDepth+1) + strings.Repeat("]", MaxDepth+1)
	for _, mode := range []Mode{Strict, Mended, ByValue} {
		if _, err := (&Form{Mode: mode}).Append(nil, []byte(deep)); err == nil {
			t.Errorf("mode %d: a value nested deeper than MaxDepth has a form", mode)
		}
	}
}

// FuzzForm compares the forms with values that encoding/json decodes.
func FuzzForm(f *testing.F) {
	for _, text := range []string{`{"b":[1.0,-0,1e5,12345678901234567890],"a":"\u00e9\ud83d\ude00<&>"}`, `{"a":1,"a":2}`, `["\ud800"]`, `1e999`, `[`, `{"\ud83d\ude00":1,"\ufb33":2}`} {
		f.Add([]byte(text), []byte(`{"a":2}`))
	}
	f.Fuzz(func(t *testing.T, a, b []byte) {
		x, okA := decodedValue(a)
		y, okB := decodedValue(b)
		canonical, err := (&Form{}).Append(nil, a)
		if err == nil {
			again, err := (&Form{}).Append(nil, canonical)
			if err != nil || !bytes.Equal(again, canonical) {
				t.Errorf("the form of %s is %s, %v", canonical, again, err)
			}
			if z, ok := decodedValue(canonical); !okA || !ok || exactNumbers(a) && !equalValues(x, z) {
				t.Errorf("%q has the form %q", a, canonical)
			}
		}
		if mended, err := (&Form{Mode: Mended}).Append(nil, a); (err == nil) != okA {
			t.Errorf("%q is mended to %q, %v", a, mended, err)
		} else if again, strict := (&Form{}).Append(nil, mended); err == nil && (strict != nil || !bytes.Equal(again, mended)) {
			t.Errorf("%q is mended to %q, which has the form %q, %v", a, mended, again, strict)
		}
		if value, err := (&Form{Mode: ByValue}).Append(nil, a); (err == nil) != okA || okA && !Equal(a, value) {
			t.Errorf("%q is written %q, %v", a, value, err)
		}
		if okA && okB && !longExponent.Match(a) && !longExponent.Match(b) && Equal(a, b) != equalValues(x, y) {
			t.Errorf("%q and %q: equal is %v", a, b, Equal(a, b))
		}
	})
}

// decodedValue decodes a whole text that has at most MaxDepth levels, with numbers as literals.
func decodedValue(text []byte) (v any, ok bool) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	return v, json.Valid(text) && d.Decode(&v) == nil && levels(v) <= MaxDepth
}

func levels(v any) (n int) {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			n = max(n, levels(e))
		}
		return n + 1
	case map[string]any:
		for _, e := range v {
			n = max(n, levels(e))
		}
		return n + 1
	}
	return 0
}

// exactNumbers reports whether a text has only integers, which every form keeps.
func exactNumbers(text []byte) bool { return !bytes.ContainsAny(text, ".eE") }

func equalValues(a, b any) bool {
	switch a := a.(type) {
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(string(a), string(b))
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equalValues)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equalValues)
	}
	return a == b
}

func equalNumbers(a, b string) bool {
	x, okX := new(big.Rat).SetString(a)
	y, okY := new(big.Rat).SetString(b)
	return okX && okY && x.Cmp(y) == 0
}

// longExponent finds numbers that math/big cannot hold.
var longExponent = regexp.MustCompile(`[eE][+-]?[0-9]{4}`)
