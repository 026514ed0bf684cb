package schema_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/schema"
)

type (
	shape  interface{ area() float64 }
	circle struct {
		Radius float64 `json:"radius" minimum:"0"`
		Unit   string  `json:"unit" enum:"cm,m"`
	}
	square struct {
		Kind string `json:"kind" description:"always square"`
		Side int8   `json:"side"`
	}
	group struct {
		Parts []schema.Union[shape, shapes] `json:"parts"`
	}
	shapes  struct{}
	drawing struct {
		Title  string                        `json:"title"`
		Shapes []schema.Union[shape, shapes] `json:"shapes"`
	}
	nobody struct{}
	number struct{}
)

func (circle) area() float64  { return 0 }
func (*square) area() float64 { return 0 }
func (group) area() float64   { return 0 }

func (shapes) Cases() (string, map[string]shape) {
	return "kind", map[string]shape{"circle": circle{}, "square": &square{}, "group": group{}}
}
func (nobody) Cases() (string, map[string]shape) { return "kind", nil }
func (number) Cases() (string, map[string]int)   { return "kind", map[string]int{"one": 1} }

func TestUnionSchema(t *testing.T) {
	got, err := schema.For[drawing]()
	if err != nil {
		t.Fatal(err)
	}
	want := `{"type":"object","properties":{"title":{"type":"string"},"shapes":{"type":"array","items":{"$ref":"#/$defs/shape"}}},"required":["title","shapes"],"additionalProperties":false,"$defs":{"shape":{"anyOf":[` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"circle"},"radius":{"type":"number","minimum":0},"unit":{"type":"string","enum":["cm","m"]}},"required":["kind","radius","unit"],"additionalProperties":false},` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"group"},"parts":{"type":"array","items":{"$ref":"#/$defs/shape"}}},"required":["kind","parts"],"additionalProperties":false},` +
		`{"type":"object","properties":{"kind":{"type":"string","const":"square","description":"always square"},"side":{"type":"integer","minimum":-128,"maximum":127}},"required":["kind","side"],"additionalProperties":false}]}}}`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, v := range []schema.Vendor{schema.OpenAI, schema.Gemini, schema.Ollama, schema.Anthropic} {
		if n, err := schema.Narrow(got, v, false); err != nil || len(n.Schema) == 0 {
			t.Errorf("%v: %v", v, err)
		}
	}
	for want, infer := range map[string]func() (schema.Schema, error){
		"has no cases":    schema.For[schema.Union[shape, nobody]],
		"is not a struct": schema.For[schema.Union[int, number]],
	} {
		if _, err := infer(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestUnionValues(t *testing.T) {
	const text = `{"title":"x","shapes":[{"kind":"circle","radius":1.5,"unit":"m"},{"kind":"square","side":2},{"kind":"group","parts":[{"kind":"square","side":3}]}]}`
	var d drawing
	if err := schema.Decode([]byte(text), &d); err != nil {
		t.Fatal(err)
	}
	if s, ok := d.Shapes[1].Value.(*square); !ok || s.Kind != "square" || s.Side != 2 {
		t.Errorf("got %+v", d.Shapes[1])
	}
	back, err := json.Marshal(d)
	if err != nil || string(back) != text {
		t.Errorf("%s, %v", back, err)
	}
	if b, err := json.Marshal(schema.Union[shape, shapes]{}); err != nil || string(b) != "null" {
		t.Errorf("%s, %v", b, err)
	}
	if _, err := json.Marshal(schema.Union[shape, shapes]{Value: square2{}}); err == nil || !strings.Contains(err.Error(), "is not a case") {
		t.Error(err)
	}
}

type square2 struct{}

func (square2) area() float64 { return 0 }

// TestUnionFaults: both validation and decoding name the place.
func TestUnionFaults(t *testing.T) {
	s, err := schema.For[drawing]()
	if err != nil {
		t.Fatal(err)
	}
	c := schema.MustCompile(s)
	for _, tt := range []struct{ in, valid, decoded string }{
		{`{"kind":"circle","radius":-1,"unit":"m"}`, "/shapes/0/radius must be at least 0", ""},
		{`{"kind":"circle","radius":1,"unit":"km"}`, `/shapes/0/unit must be one of "cm", "m"`, ""},
		{`{"kind":"line"}`, `/shapes/0/kind must be "circle" or "group" or "square"`, `The value at /shapes/0/kind must be "circle" or "group" or "square".`},
		{`{"kind":"square","side":300}`, "/shapes/0/side must be at most 127", "The value at /shapes/0/side was refused"},
		{`{"kind":"square","side":3,"SIDE":4}`, `has the property "SIDE"`, `"SIDE" is not the field "side"`},
	} {
		text := []byte(`{"title":"x","shapes":[` + tt.in + `]}`)
		if f := c.Validate(text); len(f) != 1 || !strings.Contains(f[0].Message, tt.valid) {
			t.Errorf("%s: %v, want %s", tt.in, f, tt.valid)
		}
		var d drawing
		err := schema.Decode(text, &d)
		if tt.decoded == "" && err != nil || tt.decoded != "" && (err == nil || !strings.Contains(err.Error(), tt.decoded)) {
			t.Errorf("%s: %v, want %q", tt.in, err, tt.decoded)
		}
	}
	var fault schema.Fault
	var d drawing
	if err := schema.DecodeKnown([]byte(`{"shapes":[{"kind":"group","parts":[{"kind":"x"}]}]}`), &d); !errors.As(err, &fault) || fault.Path != "/shapes/0/parts/0/kind" {
		t.Errorf("%+v", err)
	}
}
