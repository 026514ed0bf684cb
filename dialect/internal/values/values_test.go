package values

import (
	"testing"

	"github.com/toolpost/toolpost/schema"
)

func shape(t *testing.T, text string) *schema.Shape {
	t.Helper()
	s := schema.ShapeOf([]byte(text))
	if s == nil {
		t.Fatal("no shape")
	}
	return s
}

func TestTyped(t *testing.T) {
	for _, c := range []struct {
		types schema.Types
		text  string
		want  string
	}{
		{schema.String, "007", `"007"`},
		{schema.Integer, "7", "7"},
		{schema.Boolean | schema.Null, "true", "true"},
		{schema.Object, "{a: 1,}", `{"a": 1}`},
		{schema.Array, `"[1, 2]"`, "[1, 2]"},
		{schema.Array, "text", `"text"`},
	} {
		if got := string(Typed(c.types, c.text)); got != c.want {
			t.Errorf("%q as %v is %s, want %s", c.text, c.types, got, c.want)
		}
	}
}

func TestElements(t *testing.T) {
	s := shape(t, `{"type":"object","properties":{"o":{"type":"object","properties":{"a":{"type":"integer"},"l":{"type":"array","items":{"type":"string"}}}}}}`)
	for inner, want := range map[string]string{
		"<a>1</a><l>x</l><l>y</l>":              `{"a":1,"l":["x","y"]}`,
		"<a>1</a><l><item>x</item></l>":         `{"a":1,"l":["x"]}`,
		"<a>1</a> and text":                     `"<a>1</a> and text"`,
		"<a>1</a><l></l>":                       `{"a":1,"l":[]}`,
		"<l><item>&lt;x&gt;</item></l><a>2</a>": `{"l":["<x>"],"a":2}`,
	} {
		if got := string(ElementValue(Elem{Key: "o", Inner: inner}, s.Property("o"), 0)); got != want {
			t.Errorf("%s is %s, want %s", inner, got, want)
		}
	}
}

func TestReadYAML(t *testing.T) {
	s := shape(t, `{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"tags":{"type":"array","items":{"type":"string"}}}}`)
	for text, want := range map[string]string{
		"city: Rome\ndays: 3\n":        `{"city":"Rome","days":3}`,
		"city: \"Ro\\nme\"\n":          `{"city":"Ro\nme"}`,
		"tags:\n  - a\n  - b\n":        `{"tags":["a","b"]}`,
		"city: |\n  first\n  second\n": `{"city":"first\nsecond\n"}`,
		"city: >\n  first\n  second\n": `{"city":"first second\n"}`,
		"city: 007\n":                  `{"city":"007"}`,
	} {
		got, odd, err := ReadYAML(text, s)
		if err != nil || odd || string(got) != want {
			t.Errorf("%q is %s (%v), want %s", text, got, err, want)
		}
	}
}

// A quote that ends within a value and a key that holds signs are not plain YAML.
func TestOddYAML(t *testing.T) {
	s := shape(t, `{"type":"object","properties":{"city":{"type":"string"}}}`)
	for _, text := range []string{"city: \"Rome\"and more\n", "city: \"Rome\n", "ci(ty: Rome\n"} {
		if _, odd, err := ReadYAML(text, s); err == nil && !odd {
			t.Errorf("%q is plain", text)
		}
	}
}

// A string that arrives in pieces is decoded as far as possible after each piece.
func TestUnquoter(t *testing.T) {
	const text = `"a\nb\u00e9\ud83d\ude00c"`
	for size := 1; size < len(text); size++ {
		var u Unquoter
		got := ""
		for i := 0; i < len(text); i += size {
			got += u.Add(text[i:min(i+size, len(text))])
		}
		if got != "a\nbé😀c" || !u.Said {
			t.Errorf("in pieces of %d: %q", size, got)
		}
	}
}

func TestUnescapeXML(t *testing.T) {
	for text, want := range map[string]string{
		"a&#10;b&#x41;&lt;": "a\nbA<", "&#;&#x;&#abc;&#": "&#;&#x;&#abc;&#", "&amp;#10;": "&#10;", "&#1114112;": "&#1114112;",
	} {
		if got := UnescapeXML(text); got != want {
			t.Errorf("%q is %q, want %q", text, got, want)
		}
	}
}

// Entities are replaced only in text without tags, however it is cut.
func TestEntities(t *testing.T) {
	for text, want := range map[string]string{
		"a &lt; b &amp;&amp; c": "a < b && c", "a &amp; <b>": "a &amp; <b>", "R&D": "R&D", "&nbsp;": "&nbsp;",
	} {
		for size := 1; size <= len(text); size++ {
			got := ""
			e := Entities{Add: func(p []byte) { got += string(p) }}
			for i := 0; i < len(text); i += size {
				e.Take([]byte(text[i:min(i+size, len(text))]))
			}
			if e.Close(); got != want {
				t.Errorf("%q in pieces of %d: %q, want %q", text, size, got, want)
			}
		}
	}
}
