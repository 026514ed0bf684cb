package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestIncompleteWithoutAReason checks that an answer of which the vendor did not say why it is incomplete is written anew without a reason,
// in one piece and as a stream, and that one with a reason keeps it.
func TestIncompleteWithoutAReason(t *testing.T) {
	for details, want := range map[string]string{
		`null`:                           `"incomplete_details":null`,
		`{}`:                             `"incomplete_details":null`,
		`{"reason":"steered"}`:           `"incomplete_details":{"reason":"steered"}`,
		`{"reason":"max_output_tokens"}`: `"incomplete_details":{"reason":"max_output_tokens"}`,
	} {
		codec := wire.Codec{Format: wire.Responses}
		body := `{"id":"resp_1","object":"response","created_at":1,"status":"incomplete","incomplete_details":` + details +
			`,"model":"m","output":[{"type":"message","id":"msg_1","role":"assistant","status":"incomplete","content":[{"type":"output_text","text":"so","annotations":[]}]}]}`
		resp, err := codec.DecodeResponse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		whole, _, err := codec.EncodeResponse(resp)
		if err != nil || !json.Valid(whole) || !strings.Contains(string(whole), want) || !strings.Contains(string(whole), `"status":"incomplete"`) {
			t.Errorf("%s in one piece: %v %s", details, err, whole)
		}
		var out bytes.Buffer
		s := codec.NewStream(&out, wire.Head{})
		for _, ev := range []llm.Event{resp.Start, llm.TextDelta{Text: "so"}, resp.Finish} {
			if err := s.Write(ev); err != nil {
				t.Fatal(err)
			}
		}
		if text := out.String(); !strings.Contains(text, "event: response.incomplete") || !strings.Contains(text, want) {
			t.Errorf("%s as a stream: %s", details, text)
		}
	}
}
