package wire

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestNamespaceResultsOfOneID: what is kept of a conversation has the name of its own call in each result, where calls of several
// turns or of one turn have the same id, in a namespace or not.
func TestNamespaceResultsOfOneID(t *testing.T) {
	const tools = `{"model":"m","input":"go","tools":[{"type":"function","name":"plan"},` +
		`{"type":"namespace","name":"shell","tools":[{"type":"function","name":"plan","parameters":{"type":"object"}},{"type":"function","name":"run","parameters":{"type":"object"}}]}]}`
	c := Codec{Format: Responses}
	req, _, err := c.DecodeRequest([]byte(tools))
	if err != nil {
		t.Fatal(err)
	}
	call := func(name string) llm.Call {
		return llm.Call{ID: "c1", Name: name, Args: json.RawMessage("{}")}
	}
	result := llm.Result{CallID: "c1"}
	for name, test := range map[string]struct {
		Format []llm.Message
		want   []string
	}{
		"two turns":         {[]llm.Message{llm.Assistant(call("shell__plan")), llm.Results(result), llm.Assistant(call("run")), llm.Results(result)}, []string{"shell__plan", "run"}},
		"one turn":          {[]llm.Message{llm.Assistant(call("shell__plan"), call("run")), llm.Results(result, result)}, []string{"shell__plan", "run"}},
		"one of a client's": {[]llm.Message{llm.Assistant(call("shell__plan")), llm.Results(result), llm.Assistant(call("plan")), llm.Results(llm.Result{CallID: "c1", Name: "plan"})}, []string{"shell__plan", "plan"}},
		"a client's first":  {[]llm.Message{llm.Assistant(call("plan"), call("run")), llm.Results(llm.Result{CallID: "c1", Name: "plan"}, result)}, []string{"plan", "run"}},
		"a second result":   {[]llm.Message{llm.Assistant(call("shell__plan")), llm.Results(result, result)}, []string{"shell__plan", "shell__plan"}},
	} {
		codec := c.Answering(req)
		var got []string
		for _, m := range codec.Flat(codec.Spaced(test.Format)) {
			for _, p := range m.Parts {
				if r, ok := p.(llm.Result); ok {
					got = append(got, r.Name)
				}
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: the results are of %v, not %v", name, got, test.want)
		}
	}
}
