package schema_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/schema"
)

// Each path is a property name, or [] for an item; the schema is read where
// the path leads.
func TestShape(t *testing.T) {
	for _, c := range []struct{ why, schema, path, want string }{
		{"plain", `{"type":"object","properties":{"n":{"type":"integer"}}}`, "n", "integer"},
		{"a list of types", `{"properties":{"n":{"type":["string","null"]}}}`, "n", "null or string"},
		{"not declared", `{"properties":{}}`, "n", "anything"},
		{"not declared, but all others are numbers", `{"additionalProperties":{"type":"number"}}`, "n", "number"},
		{"words of Python documents", `{"type":"dict","properties":{"x":{"type":"float"}}}`, "x", "number"},
		{"words of Java documents", `{"properties":{"x":{"type":"ArrayList","items":{"type":"String"}}}}`, "x", "array"},
		{"items of a word", `{"properties":{"x":{"type":"ArrayList","items":{"type":"String"}}}}`, "x []", "string"},
		{"any", `{"properties":{"x":{"type":"any"}}}`, "x", "anything"},
		{"no word at all", `{"properties":{"x":{"type":"frobnicate"}}}`, "x", "anything"},
		{"reference", `{"properties":{"x":{"$ref":"#/$defs/N"}},"$defs":{"N":{"type":"integer"}}}`, "x", "integer"},
		{"reference by anchor", `{"properties":{"x":{"$ref":"#n"}},"$defs":{"N":{"$anchor":"n","type":"integer"}}}`, "x", "integer"},
		{"escaped pointer", `{"properties":{"x":{"$ref":"#/$defs/a~1b%20c"}},"$defs":{"a/b c":{"type":"integer"}}}`, "x", "integer"},
		{"reference that leads nowhere", `{"properties":{"x":{"$ref":"#/nope"}}}`, "x", "anything"},
		{"reference out of the document", `{"properties":{"x":{"$ref":"https://example.com/x"}}}`, "x", "anything"},
		{"alternatives", `{"properties":{"x":{"anyOf":[{"type":"integer"},{"type":"null"}]}}}`, "x", "null or integer"},
		{"alternatives within a type", `{"properties":{"x":{"type":"number","oneOf":[{"type":"integer"},{"type":"string"}]}}}`, "x", "integer"},
		{"all of them", `{"properties":{"x":{"allOf":[{"type":["string","integer"]},{"type":["integer","null"]}]}}}`, "x", "integer"},
		{"only an enumeration", `{"properties":{"x":{"enum":["1","2"]}}}`, "x", "string"},
		{"an enumeration narrows the type", `{"properties":{"x":{"type":["string","integer"],"enum":["1","2"]}}}`, "x", "string"},
		{"const", `{"properties":{"x":{"const":3}}}`, "x", "integer"},
		{"properties mean an object", `{"properties":{"x":{"properties":{"y":{}}}}}`, "x", "object"},
		{"a property of one alternative", `{"anyOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"b":{"type":"boolean"}}}]}`, "b", "boolean"},
		{"a property that alternatives declare differently", `{"oneOf":[{"properties":{"a":{"type":"integer"}}},{"properties":{"a":{"type":"boolean"}}}]}`, "a", "integer or boolean"},
		{"a recursive type", `{"$ref":"#/$defs/N","$defs":{"N":{"type":"object","properties":{"v":{"type":"integer"},"next":{"anyOf":[{"$ref":"#/$defs/N"},{"type":"null"}]}}}}}`, "next next v", "integer"},
		{"itself", `{"$ref":"#"}`, "x", "anything"},
		{"tuple", `{"properties":{"x":{"prefixItems":[{"type":"string"}],"items":{"type":"integer"}}}}`, "x []", "string"},
		{"old tuple", `{"properties":{"x":{"type":"array","items":[{"type":"string"}]}}}`, "x []", "string"},
		{"false", `{"properties":{"x":false}}`, "x", "anything"},
		{"not JSON", `{`, "x", "anything"},
		{"no schema", ``, "x", "anything"},
	} {
		s := schema.ShapeOf([]byte(c.schema))
		for step := range strings.FieldsSeq(c.path) {
			if step == "[]" {
				s = s.Item(0)
			} else {
				s = s.Property(step)
			}
		}
		if got := s.Types().String(); got != c.want {
			t.Errorf("%s: %s at %s: got %s, want %s", c.why, c.schema, c.path, got, c.want)
		}
	}
}

func TestShapeOfAnObject(t *testing.T) {
	s := schema.ShapeOf([]byte(`{
		"allOf": [{"$ref": "#/$defs/base"}],
		"properties": {"z": {}, "a": {"type": "integer"}},
		"required": ["a"],
		"$defs": {"base": {"properties": {"id": {"type": "string"}}, "required": ["id"], "additionalProperties": false}}}`))
	if diff := cmp.Diff([]string{"z", "a", "id"}, s.Properties()); diff != "" {
		t.Errorf("properties, in the order of the schema (-want +got):\n%s", diff)
	}
	if !s.Required("a") || !s.Required("id") || s.Required("z") {
		t.Error("a and id are required, z is not")
	}
	if !s.Declares("id") || s.Declares("b") || !s.Closed() {
		t.Error("id is declared, b is not, and nothing else is allowed")
	}
	var none *schema.Shape
	if none.Declares("x") || none.Required("x") || none.Closed() || none.Properties() != nil || none.Types() != schema.Any {
		t.Error("nothing is known about a nil Shape")
	}
}

func BenchmarkShapeOf(b *testing.B) {
	for b.Loop() {
		schema.ShapeOf(orderSchema)
	}
	b.ReportAllocs()
}

func BenchmarkTyped(b *testing.B) {
	s := schema.ShapeOf(orderSchema)
	for b.Loop() {
		s.Property("quantity").Typed("12")
	}
	b.ReportAllocs()
}

// orderSchema is like the example the validators were compared with: five
// properties, a nested object, enumerations, unique items.
var orderSchema = []byte(`{
	"type": "object",
	"properties": {
		"sku": {"type": "string", "minLength": 3, "pattern": "^[A-Z0-9-]+$"},
		"quantity": {"type": "integer", "minimum": 1, "maximum": 100},
		"priority": {"enum": ["low", "normal", "high"]},
		"tags": {"type": "array", "items": {"type": "string"}, "uniqueItems": true, "maxItems": 10},
		"address": {
			"type": "object",
			"properties": {
				"street": {"type": "string"},
				"city": {"type": "string"},
				"country": {"type": "string", "enum": ["DE", "FR", "IT"]}
			},
			"required": ["street", "city"],
			"additionalProperties": false
		}
	},
	"required": ["sku", "quantity", "address"],
	"additionalProperties": false
}`)

var orderArgs = []byte(`{"sku":"AB-123","quantity":3,"priority":"high","tags":["a","b","c"],` +
	`"address":{"street":"Via Roma 1","city":"Firenze","country":"IT"}}`)
