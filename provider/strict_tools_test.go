package provider

import (
	"encoding/json"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

var nullSchema = json.RawMessage(`{"type":"object","properties":{
	"a":{"type":"string"},"b":{"type":"integer"},"maybe":{"type":["string","null"]},
	"in":{"type":"object","properties":{"c":{"type":"string"},"d":{"type":"string"}},"required":["c"]},
	"list":{"type":"array","items":{"type":"object","properties":{"e":{"type":"integer"},"f":{"type":"integer"}}}}
},"required":["a"]}`)

// The arguments of a strict tool are those of the caller's own schema.
func TestStrictArguments(t *testing.T) {
	m := capable(t, "openai", wire.Chat)
	j, err := m.plan(&llm.Request{Messages: hello, Tools: []llm.ToolDef{{Name: "f", Schema: nullSchema}}})
	if err != nil || j.req.Tools[0].Strict == nil {
		t.Fatalf("%v, strict %v, %v", err, j.req.Tools[0].Strict, j.warnings)
	}
	got := transcript(j.answer.Pipeline().Read(script(t, `call f {"a":"x","b":null,"maybe":null,"in":null,"list":null}`+"\nfinish tool_calls")))
	if want := `call f {"a":"x","maybe":null}` + "\nfinish tool_calls\n"; got != want {
		t.Errorf("got %s", got)
	}
}
