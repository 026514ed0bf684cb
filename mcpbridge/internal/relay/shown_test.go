package relay

import (
	"encoding/json"
	"testing"
)

// TestRelayedBody: a server gets the arguments that a person was shown, also where those of the request have the same hash;
// the request is passed on as it is if its arguments are those, or if it has none.
func TestRelayedBody(t *testing.T) {
	const body = `{"id":1,"method":"tools/call","params":{"name":"pay","arguments":{"amount": 1.00000000000000001}}}`
	for args, want := range map[string]string{
		`{"amount": 1.00000000000000001}`: body,
		`{"amount":1}`:                    `{"id":1,"method":"tools/call","params":{"arguments":{"amount":1},"name":"pay"}}`,
	} {
		c := relayCall{body: []byte(body), args: json.RawMessage(`{"amount": 1.00000000000000001}`)}
		if got := string(c.bodyWith(json.RawMessage(args))); got != want {
			t.Errorf("%s: %s", args, got)
		}
	}
	none := relayCall{body: []byte(`{"id":1,"method":"tools/call","params":{"name":"ping"}}`)}
	if got := string(none.bodyWith(json.RawMessage(`{}`))); got != string(none.body) {
		t.Errorf("%s", got)
	}
}
