package wire

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestNamespaceNamesAreUnique: a name that is made of namespace and tool is not one that a tool of the client has already, and what is kept
// of a conversation is named anew by a request that has other names for the same tools.
func TestNamespaceNamesAreUnique(t *testing.T) {
	const space = `{"type":"namespace","name":"shell","tools":[{"type":"function","name":"plan","parameters":{"type":"object"}}]}`
	const crowded = `{"model":"m","input":"go","tools":[{"type":"function","name":"plan"},{"type":"function","name":"shell__plan"},` + space + `]}`
	c := Codec{Format: Responses}
	req, _, err := c.DecodeRequest([]byte(crowded))
	if err != nil || len(req.Tools) != 3 || req.Tools[2].Name != "shell__plan_" {
		t.Fatalf("%v %+v", err, req)
	}
	said := []llm.Message{llm.Assistant(llm.Call{ID: "c1", Name: "shell__plan_", Args: []byte("{}")}, llm.Call{ID: "c2", Name: "plan", Args: []byte("{}")}), llm.Results(llm.Result{CallID: "c1", Name: "shell__plan_"})}
	kept := c.Answering(req).Spaced(said)
	alone, _, err := c.DecodeRequest([]byte(`{"model":"m","input":"go","tools":[` + space + `]}`))
	if err != nil {
		t.Fatal(err)
	}
	for want, of := range map[string]*llm.Request{"shell__plan_": req, "plan": alone} {
		flat := c.Answering(of).Flat(kept)
		call, _ := flat[0].Parts[0].(llm.Call)
		res, _ := flat[1].Parts[0].(llm.Result)
		if call.Name != want || res.Name != want || call.Extra != nil {
			t.Errorf("%s: %+v %+v", want, call, res)
		}
	}
	if call, _ := said[0].Parts[0].(llm.Call); call.Name != "shell__plan_" || call.Extra != nil {
		t.Errorf("the messages were changed: %+v", call)
	}
}
