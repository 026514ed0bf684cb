package client

import (
	"encoding/json"
	"testing"
)

// A question of a server may have defaults, and an answer that leaves a field out means them.
func TestAnswerToAServerHasTheDefaultsOfItsQuestion(t *testing.T) {
	schema := json.RawMessage(`{"type":"object","properties":{"name":{"type":"string","default":"Ada"},"seats":{"type":"integer","default":2},"window":{"type":"boolean","default":false},"note":{"type":"string"}}}`)
	for answer, want := range map[string]string{
		`null`:                                 `{"name":"Ada","seats":2,"window":false}`,
		`{}`:                                   `{"name":"Ada","seats":2,"window":false}`,
		`{"seats":3,"note":"x","window":true}`: `{"name":"Ada","note":"x","seats":3,"window":true}`,
		`{"name":null}`:                        `{"name":null,"seats":2,"window":false}`,
	} {
		var content map[string]any
		if err := json.Unmarshal([]byte(answer), &content); err != nil {
			t.Fatal(err)
		}
		if got, _ := json.Marshal(withDefaults(content, schema)); string(got) != want {
			t.Errorf("%s is sent as %s, want %s", answer, got, want)
		}
	}
}
