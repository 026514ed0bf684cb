package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// Where two calls of a turn have one id, results that say whose they are belong to the calls of their names, in whatever order they come.
func TestResultsOfOneIDByName(t *testing.T) {
	const gemini = `{"contents":[{"role":"user","parts":[{"text":"q"}]},` +
		`{"role":"model","parts":[{"functionCall":{"id":"A","name":"weather","args":{}}},{"functionCall":{"id":"A","name":"read_file","args":{}}}]},` +
		`{"role":"user","parts":[{"functionResponse":{"id":"A","name":"read_file","response":{"output":"FILE"}}},{"functionResponse":{"id":"A","name":"weather","response":{"output":"SUN"}}}]}]}`
	const chat = `{"model":"m","messages":[{"role":"user","content":"q"},{"role":"assistant","tool_calls":[{"id":"A","type":"function","function":{"name":"weather","arguments":"{}"}},` +
		`{"id":"A","type":"function","function":{"name":"read_file","arguments":"{}"}}]},{"role":"tool","tool_call_id":"A","name":"read_file","content":"FILE"},{"role":"tool","tool_call_id":"A","name":"weather","content":"SUN"}]}`
	for format, body := range map[string]string{Gemini: gemini, Chat: chat} {
		c := Codec{Format: format}
		req, _, err := c.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		healed, _ := Heal(req.Messages, "")
		var said string
		for _, m := range healed {
			for _, part := range m.Parts {
				if r, ok := part.(llm.Result); ok { // in the order of their calls
					said += r.Name + " " + r.Text() + " "
				}
			}
		}
		if said != "weather SUN read_file FILE " {
			t.Errorf("%s: %s", format, said)
		}
	}
}

// A text document without a byte is said as text like others, and is no file.
func TestEmptyTextDocuments(t *testing.T) {
	from := Codec{Format: Messages}
	req, _, err := from.DecodeRequest([]byte(`{"model":"m","max_tokens":9,"messages":[{"role":"user","content":[{"type":"document","title":"n.txt","source":{"type":"text","media_type":"text/plain","data":""}},{"type":"text","text":"look"}]}]}`))
	if err != nil {
		t.Fatal(err)
	}
	to := Codec{Format: Chat}
	body, _, err := to.EncodeRequest(req, false)
	if err != nil || strings.Contains(string(body), `"file"`) || !strings.Contains(string(body), "n.txt") {
		t.Errorf("%s %v", body, err)
	}
}
