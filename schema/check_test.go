package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/schema"
)

// Each case says where validating first and coercing first differ, or would
// differ from a rule that does only one of them.
func TestCheck(t *testing.T) {
	for _, c := range []struct {
		why, schema, args, want string
		changes                 int
		fault                   string // beginning of the path and keyword of the only one
	}{
		{"valid stays to the byte", `{"properties":{"n":{"type":"integer"}}}`, `{ "n": 3.0 }`, `{ "n": 3.0 }`, 0, ""},
		{"a number is no integer by force", `{"properties":{"n":{"type":"number"}}}`, `{"n":3.0}`, `{"n":3.0}`, 0, ""},
		{"a string that may be one stays one", `{"properties":{"n":{"type":["string","integer"]}}}`, `{"n":"3"}`, `{"n":"3"}`, 0, ""},
		{"types are mended", `{"properties":{"n":{"type":"integer"}}}`, `{"n":"3"}`, `{"n":3}`, 1, ""},
		{"no arguments", `{"type":"object"}`, ``, `{}`, 0, ""},
		{"blank arguments", `{"type":"object"}`, " \n", `{}`, 0, ""},
		{"blank arguments that miss something", `{"type":"object","required":["n"]}`, " ", `{}`, 0, " required"},
		{"only what is left is a fault", `{"properties":{"n":{"type":"integer"},"s":{"enum":["a"]}}}`, `{"n":"3","s":"b"}`, `{"n":3,"s":"b"}`, 1, "/s enum"},
		{"no JSON", `{"type":"object"}`, `{"n":`, `{"n":`, 0, " json"},
	} {
		got := schema.MustCompile(schema.Schema(c.schema)).Check(json.RawMessage(c.args))
		if string(got.Args) != c.want || len(got.Changes) != c.changes || got.Valid() != (c.fault == "") {
			t.Errorf("%s: got %s, %v, %v", c.why, got.Args, got.Changes, got.Faults)
		}
		if c.fault != "" && (len(got.Faults) != 1 || got.Faults[0].Path+" "+got.Faults[0].Keyword != c.fault) {
			t.Errorf("%s: got %v", c.why, got.Faults)
		}
	}
}

// A rule that coerced first, and changed what was valid.
func TestCheckAgainstCoercingFirst(t *testing.T) {
	s := schema.MustCompile(schema.Schema(`{"properties":{"n":{"type":"integer"}}}`))
	args := json.RawMessage(`{"n":3.0}`)
	if first, log := s.Coerce(args); len(log) != 1 || string(first) == string(args) {
		t.Fatalf("coercing first changes nothing here: %s", first)
	}
	if got := s.Check(args); string(got.Args) != string(args) {
		t.Errorf("what is valid became %s", got.Args)
	}
	if blank := json.RawMessage("  "); len(s.Validate(blank)) == 0 || !s.Check(blank).Valid() {
		t.Error("blank arguments are none, and that is for Check to say")
	}
}

func FuzzCheck(f *testing.F) {
	f.Add(0, string(orderArgs))
	f.Add(1, `{"a":"[1,\"2\"]","b":"None","s":1.50,"x":"3","o":{"a":"7","x":null}}`)
	f.Add(2, `{"k":"1e3","l":{"m":"true"},"n":"NaN"}`)
	var compiled []*schema.Compiled
	for _, s := range coerceSchemas {
		compiled = append(compiled, schema.MustCompile(s))
	}
	f.Fuzz(func(t *testing.T, which int, text string) {
		s := compiled[uint(which)%uint(len(compiled))]
		got := s.Check(json.RawMessage(text))
		if strings.TrimSpace(text) == "" {
			text = "{}"
		}
		coerced, _ := s.Coerce(json.RawMessage(text))
		as, with := len(s.Validate(json.RawMessage(text))) == 0, len(s.Validate(coerced)) == 0
		switch {
		case got.Valid() != (as || with):
			t.Errorf("%q: valid is %v; as it came %v, coerced %v", text, got.Valid(), as, with)
		case got.Valid() && len(s.Validate(got.Args)) > 0:
			t.Errorf("%q became %q, which is not valid", text, got.Args)
		case as && string(got.Args) != text:
			t.Errorf("%q is valid but became %q", text, got.Args)
		}
	})
}
