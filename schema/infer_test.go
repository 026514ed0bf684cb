package schema_test

import (
	"encoding/json"
	"math/big"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/schema"
)

type (
	list struct {
		Value int   `json:"value"`
		Next  *list `json:"next"`
	}
	tree struct {
		Name     string           `json:"name"`
		Children []tree           `json:"children,omitempty"`
		ByName   map[string]*tree `json:"by_name,omitempty"`
	}
	ping struct{ Pong *pong }
	pong struct{ Ping *ping }

	base struct {
		ID   string `json:"id"`
		Name string `json:"name"`
	}
	Extra struct {
		Note string `json:"note"`
	}
	embedding struct {
		base
		*Extra
		Named base `json:"named"`
		Name  int  `json:"name"` // hides base.Name
	}
	left  struct{ X int }
	right struct{ X int }
	clash struct {
		left
		right
		Y int
	}
	hidden struct {
		Skip string `json:"-"`
		//lint:ignore SA5008 the odd spelling is what is tested
		Dash   string `json:"-,"`
		lower  string
		Quoted int64 `json:",string"`
		Zero   int   `json:"zero,omitzero"`
	}
	wellKnown struct {
		At   time.Time
		Raw  json.RawMessage
		Any  any
		Num  json.Number
		Big  *big.Int
		Data []byte
		IP   netip.Addr
		Dur  time.Duration
	}
	tagged struct {
		Query string     `json:"query" description:"What, with \"quotes\" and, commas" minLength:"1" maxLength:"80" pattern:"^\\S"`
		Kind  []string   `json:"kind,omitempty" enum:"file, folder" minItems:"1" maxItems:"2"`
		Limit int        `json:"limit,omitempty" minimum:"1" maximum:"100" default:"10"`
		Level int        `json:"level" enum:"1,2,3"`
		Mail  string     `json:"mail" format:"email"`
		Ratio float64    `json:"ratio" minimum:"0.5"`
		On    bool       `json:"on" default:"true"`
		Tags  []string   `json:"tags" default:"[\"a\"]"`
		Where [2]float64 `json:"where"`
	}
)

type foreign struct {
	Name  string   `json:"name,omitempty" jsonschema:"required,title=Full name,description=First\\, then last,minLength=1,example=Ada,example=Bob"`
	Kinds []string `json:"kinds" jsonschema:"enum=file,enum=folder,minItems=1,uniqueItems"`
	Age   int      `json:"age" jsonschema:"minimum=0,exclusiveMaximum=150,multipleOf=1,default=18"`
	Note  string   `json:"note" jsonschema:"What else to say, if anything"`
	Long  string   `json:"long" jsonschema_description:"a, b = c"`
	Own   string   `json:"own" jsonschema:"-"`
	Step  float64  `json:"step" multipleOf:"0.5"`
}

func TestFor(t *testing.T) {
	_ = hidden{}.lower
	for _, c := range []struct {
		why   string
		infer func() (schema.Schema, error)
		want  string
	}{
		{"a scalar", schema.For[int], `{"type":"integer"}`},
		{"a pointer to one", schema.For[*string], `{"type":"string"}`},
		{"small and unsigned numbers", schema.For[[]uint8Like], `{"type":"array","items":{"type":"integer","minimum":0,"maximum":65535}}`},
		{"a map", schema.For[map[string][]bool], `{"type":"object","additionalProperties":{"type":"array","items":{"type":"boolean"}}}`},
		{"a map with numbers for names", schema.For[map[int]string], `{"type":"object","propertyNames":{"pattern":"^-?[0-9]+$"},"additionalProperties":{"type":"string"}}`},
		{"nothing", schema.For[struct{}], `{"type":"object","properties":{},"additionalProperties":false}`},
		{"a list", schema.For[list], `{"$ref":"#/$defs/list","$defs":{"list":{"type":"object","properties":{"value":{"type":"integer"},"next":{"$ref":"#/$defs/list"}},"required":["value"],"additionalProperties":false}}}`},
		{"a tree", schema.For[tree], `{"$ref":"#/$defs/tree","$defs":{"tree":{"type":"object","properties":{"name":{"type":"string"},"children":{"type":"array","items":{"$ref":"#/$defs/tree"}},"by_name":{"type":"object","additionalProperties":{"$ref":"#/$defs/tree"}}},"required":["name"],"additionalProperties":false}}}`},
		{"two that contain each other", schema.For[ping], `{"$ref":"#/$defs/ping","$defs":{"ping":{"type":"object","properties":{"Pong":{"type":"object","properties":{"Ping":{"$ref":"#/$defs/ping"}},"additionalProperties":false}},"additionalProperties":false}}}`},
		{"embedded structs", schema.For[embedding], `{"type":"object","properties":{"id":{"type":"string"},"note":{"type":"string"},"named":{"type":"object","properties":{"id":{"type":"string"},"name":{"type":"string"}},"required":["id","name"],"additionalProperties":false},"name":{"type":"integer"}},"required":["id","named","name"],"additionalProperties":false}`},
		{"two embedded fields of one name hide each other", schema.For[clash], `{"type":"object","properties":{"Y":{"type":"integer"}},"required":["Y"],"additionalProperties":false}`},
		{"what encoding/json skips and quotes", schema.For[hidden], `{"type":"object","properties":{"-":{"type":"string"},"Quoted":{"type":"string"},"zero":{"type":"integer"}},"required":["-","Quoted"],"additionalProperties":false}`},
		{"well-known types", schema.For[wellKnown], `{"type":"object","properties":{"At":{"type":"string","format":"date-time"},"Raw":{},"Any":{},"Num":{"type":"number"},"Big":{"type":"integer"},"Data":{"type":"string","contentEncoding":"base64"},"IP":{"type":"string"},"Dur":{"type":"integer"}},"required":["At","Raw","Any","Num","Data","IP","Dur"],"additionalProperties":false}`},
		{"tags of other libraries", schema.For[foreign], `{"type":"object","properties":{"name":{"type":"string","description":"First, then last","title":"Full name","minLength":1,"examples":["Ada","Bob"]},"kinds":{"type":"array","items":{"type":"string","enum":["file","folder"]},"minItems":1,"uniqueItems":true},"age":{"type":"integer","minimum":0,"exclusiveMaximum":150,"multipleOf":1,"default":18},"note":{"type":"string","description":"What else to say, if anything"},"long":{"type":"string","description":"a, b = c"},"step":{"type":"number","multipleOf":0.5}},"required":["name","kinds","age","note","long","step"],"additionalProperties":false}`},
		{"tags", schema.For[tagged], `{"type":"object","properties":{"query":{"type":"string","description":"What, with \"quotes\" and, commas","pattern":"^\\S","minLength":1,"maxLength":80},"kind":{"type":"array","items":{"type":"string","enum":["file","folder"]},"minItems":1,"maxItems":2},"limit":{"type":"integer","minimum":1,"maximum":100,"default":10},"level":{"type":"integer","enum":[1,2,3]},"mail":{"type":"string","format":"email"},"ratio":{"type":"number","minimum":0.5},"on":{"type":"boolean","default":true},"tags":{"type":"array","items":{"type":"string"},"default":["a"]},"where":{"type":"array","items":{"type":"number"},"minItems":2,"maxItems":2}},"required":["query","level","mail","ratio","on","tags","where"],"additionalProperties":false}`},
	} {
		got, err := c.infer()
		if err != nil {
			t.Errorf("%s: %v", c.why, err)
			continue
		}
		if diff := cmp.Diff(c.want, string(got)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.why, diff)
		}
		if _, err := schema.Compile(got); err != nil {
			t.Errorf("%s: %v", c.why, err)
		}
	}
}

type uint8Like uint16

func TestForRefuses(t *testing.T) {
	for _, c := range []struct {
		infer func() (schema.Schema, error)
		want  string
	}{
		{schema.For[struct{ C chan int }], "schema: struct { C chan int }.C: a chan has no JSON"},
		{schema.For[struct{ F []func() }], "F[]: a func has no JSON"},
		{schema.For[map[float64]int], "keys of type float64"},
		{schema.For[struct{ E error }], "interface error"},
		{schema.For[struct {
			N int `minimum:"one"`
		}], `the tag minimum is "one", which is no number`},
		{schema.For[struct {
			N int `enum:"1,two"`
		}], `the enum value "two" is no integer`},
		{schema.For[struct {
			N int `default:"x"`
		}], `the default "x" is no integer`},
		{schema.For[struct {
			N int `minLength:"1"`
		}], `the tag minLength means nothing for integer`},
		{schema.For[struct {
			N int `jsonschema:"minimum=1,oneof_required=a"`
		}], `the tag jsonschema has "oneof_required=a", which is not supported; it takes required, enum=`},
		{schema.For[struct {
			N int `jsonschema:"required,nullable"`
		}], `the tag jsonschema has "nullable", which is not supported`},
		{schema.For[struct {
			N int `jsonschema:"required,minimum"`
		}], `the tag jsonschema has "minimum" without a value`},
		{schema.For[struct {
			N int `jsonschema:"type=string"`
		}], `the tag jsonschema has "type=string", which is not supported`},
		{schema.For[struct {
			N int `jsonschema:"minLength=1"`
		}], `the tag minLength means nothing for integer`},
		{schema.For[struct {
			N int `jsonschema:"enum=1,enum=two"`
		}], `the enum value "two" is no integer`},
		{schema.For[struct {
			N int `minimum:"1" jsonschema:"minimum=2"`
		}], `its tags give minimum twice, as "1" and as "2"`},
		{schema.For[struct {
			N int `jsonschema_extras:"a=b"`
		}], `the tag jsonschema_extras is not supported`},
		{schema.For[struct {
			S string `pattern:"(?=x)"`
		}], `the pattern "(?=x)" cannot be run`},
		{schema.For[struct {
			N int `jsonschema:"requierd,minimun=1"`
		}], `has "requierd", which is not supported (did you mean "required"?); it takes required`},
		{schema.For[struct {
			N int `jsonschema:"What it is,minimun=1"`
		}], `has "What it is", which is not supported; it takes`},
		{schema.For[struct {
			N int `jsonschema:"minimun=1"`
		}], `has "minimun=1", which is not supported (did you mean "minimum"?)`},
		{schema.For[struct {
			N int `jsonschema:"nullable"`
		}], `has "nullable", which is not supported`},
		{schema.For[struct {
			N int `jsonschema:"Required"`
		}], `has "Required", which is not supported (did you mean "required"?)`},
		{schema.For[struct {
			N int `jsonschema:"requird"`
		}], `(did you mean "required"?)`},
		{schema.For[struct {
			N int `jsonschema:"Requierd, nullable"`
		}], `(did you mean "required"?)`},
		{schema.For[struct {
			N string `jsonschema:"minLenght"`
		}], `(did you mean "minLength"?)`},
		{schema.For[struct {
			N string `jsonschema:"foramt"`
		}], `(did you mean "format"?)`},
		{schema.For[struct {
			N int `jsonschema:"minimum"`
		}], `has "minimum" without a value`},
		{schema.For[struct {
			N string `format:"emial"`
		}], `the format "emial" is not known. Did you mean "email"? The formats are date-time`},
		{schema.For[struct {
			N string `jsonschema:"format=mail"`
		}], `the format "mail" is not known`},
		{schema.For[struct {
			N int `minimum:"2" maximum:"1"`
		}], `nothing matches minimum 2 and maximum 1`},
		{schema.For[struct {
			N string `jsonschema:"minLength=2,maxLength=1"`
		}], `nothing matches minLength 2 and maxLength 1`},
		{schema.For[struct {
			N []string `minItems:"2" maxItems:"1"`
		}], `nothing matches minItems 2 and maxItems 1`},
		{schema.For[struct {
			N []string `minLength:"2" maxLength:"1"`
		}], `nothing matches minLength 2 and maxLength 1`},
		{schema.For[struct {
			N float64 `exclusiveMinimum:"1" maximum:"1"`
		}], `nothing matches exclusiveMinimum 1 and maximum 1`},
		{schema.For[struct {
			N uint8 `maximum:"-1"`
		}], `nothing matches minimum 0 and maximum -1`},
	} {
		if _, err := c.infer(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("got %v, want %s", err, c.want)
		}
	}
}

// What encoding/json writes is valid for the schema of its type.
func TestForAgreesWithEncodingJSON(t *testing.T) {
	check := func(s schema.Schema, err error, v any) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if f := schema.MustCompile(s).Validate(b); f != nil {
			t.Errorf("%s is not valid for %s: %v", b, s, f)
		}
	}
	s, err := schema.For[tree]()
	check(s, err, tree{Name: "a", Children: []tree{{Name: "b"}}, ByName: map[string]*tree{"c": {Name: "c"}}})
	s, err = schema.For[embedding]()
	check(s, err, embedding{Extra: &Extra{"x"}})
	s, err = schema.For[wellKnown]()
	check(s, err, wellKnown{Raw: json.RawMessage(`[]`), Num: "1", Data: []byte{1}, Big: big.NewInt(7)})
	s, err = schema.For[hidden]()
	check(s, err, hidden{Quoted: 7})
}

func BenchmarkFor(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := schema.For[tagged](); err != nil {
			b.Fatal(err)
		}
	}
}

// TestDescriptionsOfFewWords: what is no list, nor a misspelt one, is a
// description; words that stand for themselves are a list.
func TestDescriptionsOfFewWords(t *testing.T) {
	for tag, want := range map[string]string{
		"Time":                           `"description":"Time"`,
		"City":                           `"description":"City"`,
		"Normal":                         `"description":"Normal"`,
		"Name, title":                    `"description":"Name, title"`,
		"The required one, if there are": `"description":"The required one, if there are"`,
		"What to find, e.g. a = b":       `"description":"What to find, e.g. a = b"`,
		"description=Title":              `"description":"Title"`,
		"deprecated":                     `"deprecated":true`,
	} {
		typ := reflect.StructOf([]reflect.StructField{{Name: "S", Type: reflect.TypeFor[string](), Tag: reflect.StructTag("jsonschema:" + strconv.Quote(tag))}})
		got, err := schema.ForType(typ)
		if err != nil || !strings.Contains(string(got), want) {
			t.Errorf("%s: %s, error %v", tag, got, err)
		}
	}
}
