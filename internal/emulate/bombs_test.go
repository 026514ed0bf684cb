package emulate_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/emulate/smallmodel"
	"github.com/toolpost/toolpost/internal/linear"
	"github.com/toolpost/toolpost/llm"
)

// Definitions that use each other several times are small and say much. A
// request with such a tool is planned, or refused, soon, in every style and for
// hosts that hold answers to a schema.
func TestMultiplyingSchemasEndSoon(t *testing.T) {
	for _, use := range []string{
		`{"allOf":[NEXT,NEXT,NEXT]}`,
		`{"anyOf":[NEXT,NEXT,NEXT]}`,
		`{"type":"object","properties":{"a":NEXT,"b":NEXT,"c":NEXT,"d":NEXT},"required":["a","b","c","d"]}`,
		`{"type":"array","prefixItems":[NEXT,NEXT,NEXT],"items":NEXT}`,
		`{"type":"object","properties":{"a":{"allOf":[NEXT,NEXT]},"b":{"oneOf":[NEXT,NEXT]}},"additionalProperties":NEXT}`,
	} {
		var defs []string
		for i := range 24 {
			defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, strings.ReplaceAll(use, "NEXT", fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1))))
		}
		s := json.RawMessage(`{"type":"object","properties":{"x":{"$ref":"#/$defs/d0"}},"$defs":{` + strings.Join(defs, ",") + `,"d24":{"type":"string"}}}`)
		req := &llm.Request{Messages: []llm.Message{llm.User("hello")}, Tools: []llm.ToolDef{{Name: "f", Description: "d", Schema: s}}}
		for _, style := range []string{"json", "xml", "pythonic", "hermes", "react", "markdown"} {
			for _, e := range []emulate.Emulation{{Style: style}, {Style: style, Host: emulate.OutputHost}, {Style: style, Host: emulate.OutputHost, Size: 1e9, Decider: smallmodel.Wording{}}} {
				linear.Soon(t, fmt.Sprintf("%s in %s (host %v)", use, style, e.Host.Schema != nil), func() { _, _ = e.Plan(req) })
			}
		}
	}
}
