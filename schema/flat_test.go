package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// What the short way accepts, the validator must accept; and it must accept
// what tools are ordinarily given, or it is no use.
func TestFlatAgreesWithTheValidator(t *testing.T) {
	schemas := []string{
		`{"type":"object","properties":{"s":{"type":"string","description":"d"},"i":{"type":"integer"},"n":{"type":"number"},"b":{"type":"boolean"}},"required":["s"],"additionalProperties":false}`,
		`{"type":"object","properties":{"s":{"type":"string"},"i":{"type":"integer"}}}`,
		`{"$comment":"c","type":"object","additionalProperties":true}`,
	}
	pieces := []string{
		`"s"`, `"i"`, `"n"`, `"b"`, `"x"`, `"\u0073"`, `"é"`, `"a\nb"`, "\"a\nb\"", `1`, `-0`, `1.0`, `1e2`, `1e9999`, `01`, `true`, `false`, `null`,
		`{`, `}`, `[`, `]`, `,`, `:`, ` `, `tru`, `"`,
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range schemas {
		c := MustCompile(Schema(s))
		if c.flat == nil {
			t.Fatalf("not flat: %s", s)
		}
		slow := &Compiled{raw: c.raw}
		accepted := 0
		for range 20_000 {
			var b strings.Builder
			b.WriteByte('{')
			for k := range rng.IntN(4) {
				if k > 0 {
					b.WriteByte(',')
				}
				b.WriteString(pieces[rng.IntN(6)] + ":" + pieces[rng.IntN(len(pieces))])
			}
			b.WriteByte('}')
			if rng.IntN(8) == 0 {
				b.WriteString(pieces[rng.IntN(len(pieces))])
			}
			args := b.String()
			if !c.flat.accepts(args) {
				continue
			}
			accepted++
			if faults := slow.Validate(json.RawMessage(args)); len(faults) > 0 {
				t.Fatalf("%s accepts %s, but %v", s, args, faults)
			}
		}
		if accepted < 100 {
			t.Errorf("accepted only %d: %s", accepted, s)
		}
	}
}

func TestFlatFallsBackToValidator(t *testing.T) {
	for _, s := range []string{
		`true`, `{}`, `{"type":["object"]}`, `{"type":"object","properties":{"a":{}}}`, `{"type":"object","properties":{"a":true}}`,
		`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, `{"type":"object","properties":{"a":{"type":"string","minLength":1}}}`,
		`{"type":"object","minProperties":1}`, `{"type":"object","additionalProperties":{"type":"string"}}`, `{"type":"object","required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"array"}}}`, `{"type":"object","properties":{"a":{"type":"string","enum":["x"]}}}`,
	} {
		if c := MustCompile(Schema(s)); c.flat != nil {
			t.Errorf("flat: %s", s)
		}
	}
}
