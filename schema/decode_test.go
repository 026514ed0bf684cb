package schema_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/toolpost/toolpost/schema"
)

type inner struct {
	Max int `json:"max"`
}

type order struct {
	Amount int              `json:"amount"`
	Tags   map[string]inner `json:"tags,omitempty"`
	List   []*inner         `json:"list,omitempty"`
	At     time.Time        `json:"at,omitzero"`
	Raw    json.RawMessage  `json:"raw,omitempty"`
	Any    any              `json:"any,omitempty"`
	Plain  string
	inner2
}

type inner2 struct {
	Deep int `json:"deep"`
}

// TestDecodeIsExact: what validation has not seen does not reach a Go value.
func TestDecodeIsExact(t *testing.T) {
	for _, c := range []struct{ in, problem string }{
		{`{"amount":5}`, ""},
		{` {"amount":5,"Plain":"x","deep":1,"at":"2026-01-02T03:04:05Z"} `, ""},
		{`{"amount":5,"tags":{"Max":{"max":1},"MAX":{"max":2}}}`, ""}, // names of a map are data
		{`{"amount":5,"raw":{"AMOUNT":1,"amount":2},"any":{"a":1,"A":2}}`, ""},
		{`{"amount":5,"AMOUNT":5000}`, `"AMOUNT" is not the field "amount"`},
		{`{"AMOUNT":5000}`, `"AMOUNT" is not the field "amount"`},
		{`{"amount":5,"\u0041mount":5000}`, `"Amount" is not the field "amount"`},
		{`{"amount":5,"plain":"x"}`, `"plain" is not the field "Plain"`},
		{`{"amount":5,"tag` + "\u017f" + `":{}}`, `is not the field "tags"`}, // a long s folds to s
		{`{"amount":5,"DEEP":1}`, `"DEEP" is not the field "deep"`},
		{`{"amount":5,"tags":{"x":{"max":1,"Max":9}}}`, `"Max" is not the field "max"`},
		{`{"amount":5,"list":[null,{"max":1},{"MAX":9}]}`, `"MAX" is not the field "max"`},
		{`{"amount":5,"amount":5000}`, `"amount" stands twice`},
		{`{"amount":5} {"amount":6}`, "more than one JSON value"},
	} {
		for name, decode := range map[string]func(json.RawMessage, any) error{"Decode": schema.Decode, "DecodeKnown": schema.DecodeKnown} {
			var v order
			err := decode(json.RawMessage(c.in), &v)
			if c.problem == "" && err != nil || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
				t.Errorf("%s(%s): %v, want %q", name, c.in, err, c.problem)
			}
		}
	}
	var v order
	const more = `{"amount":5,"more":1}`
	if err := schema.Decode(json.RawMessage(more), &v); err == nil {
		t.Errorf("Decode(%s) passes over a name", more)
	}
	if err := schema.DecodeKnown(json.RawMessage(more), &v); err != nil {
		t.Errorf("DecodeKnown(%s): %v", more, err)
	}
}
