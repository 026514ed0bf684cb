package schema_test

import (
	"encoding/json"
	"fmt"

	"github.com/toolpost/toolpost/schema"
)

// A tool's schema is compiled once; then every call is coerced, validated, and
// what is wrong goes back to the model.
func Example() {
	type Order struct {
		SKU      string `json:"sku" description:"Article number" pattern:"^[A-Z]+-[0-9]+$"`
		Quantity int    `json:"quantity" minimum:"1"`
		Express  bool   `json:"express,omitempty"`
	}
	s, err := schema.For[Order]()
	if err != nil {
		fmt.Println(err)
		return
	}
	order, err := schema.Compile(s)
	if err != nil {
		fmt.Println(err)
		return
	}

	args, changes := order.Coerce(json.RawMessage(`{"sku":"AB-7","quantity":"0","express":null}`))
	for _, c := range changes {
		fmt.Println(c.Path, c.Rule, c.From, "→", c.To)
	}
	fmt.Println(string(args))
	for _, f := range order.Validate(args) {
		fmt.Println(f)
	}
	// Output:
	// /quantity unquoted a string of 1 character → an integer
	// /express optional-null null → nothing
	// {"sku":"AB-7","quantity":0}
	// The value at /quantity must be at least 1.
}

// OpenAI's strict mode wants every property required. Optional ones become
// nullable, and the nulls are taken out again before validation.
func ExampleNarrow() {
	weather := schema.Schema(`{"type":"object","properties":{
		"city":{"type":"string","minLength":1},"days":{"type":"integer","minimum":1}},"required":["city"]}`)
	n, err := schema.Narrow(weather, schema.OpenAI, true)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(string(n.Schema))
	fmt.Println(n.Strict, n.Losses)

	original := schema.MustCompile(weather)
	args := original.StripNulls(json.RawMessage(`{"city":"Oslo","days":null}`))
	fmt.Println(string(args), original.Validate(args) == nil)
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"at least 1 character"},"days":{"type":["integer","null"],"minimum":1}},"additionalProperties":false,"required":["city","days"]}
	// true [{/properties/city minLength openai strict does not know it; moved into the description}]
	// {"city":"Oslo"} true
}

// A dialect whose values carry no types asks the schema.
func ExampleShape_Typed() {
	shape := schema.ShapeOf(schema.Schema(`{"properties":{"id":{"type":"string"},"limit":{"type":["integer","null"]}}}`))
	for _, text := range []string{"42", "null"} {
		id, _ := shape.Property("id").Typed(text)
		limit, _ := shape.Property("limit").Typed(text)
		fmt.Println(string(id), string(limit))
	}
	// Output:
	// "42" 42
	// "null" null
}
