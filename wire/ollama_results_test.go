package wire_test

import (
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestOllamaResultOfANamelessCall checks that a result with an id and no name answers the call that
// came without an id: some clients leave out the ids of calls, but not those of results.
func TestOllamaResultOfANamelessCall(t *testing.T) {
	codec, _ := wire.For(wire.Ollama)
	req, _, err := codec.DecodeRequest([]byte(`{"model":"m","messages":[{"role":"user","content":"Rome and Paris?"},
		{"role":"assistant","content":"","tool_calls":[{"function":{"name":"w","arguments":{"city":"Rome"}}},{"function":{"name":"w","arguments":{"city":"Paris"}}}]},
		{"role":"tool","content":"sunny","tool_call_id":"8135dfb4"},{"role":"tool","content":"rain","tool_call_id":"73f1"}]}`))
	if err != nil {
		t.Fatal(err)
	}
	calls := req.Messages[1].Calls()
	for i, p := range req.Messages[2].Parts {
		if r := p.(llm.Result); r.CallID != calls[i].ID || r.CallID == "" {
			t.Errorf("the result %q answers %q, want %q", r.Text(), r.CallID, calls[i].ID)
		}
	}
}
