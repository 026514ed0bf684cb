package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
)

// TestUncountedWhereItIsDemanded checks that a usage that nobody counted is null in the responses format, in one piece, as a stream and
// read back, and zeros in the formats that demand it.
func TestUncountedWhereItIsDemanded(t *testing.T) {
	for format, none := range map[string]string{
		wire.Responses: `null`,
		wire.Messages:  `{"input_tokens":0,"output_tokens":0}`,
		wire.Converse:  `{"inputTokens":0,"outputTokens":0,"totalTokens":0}`,
	} {
		for _, u := range []llm.Usage{{}, {Input: 3}, {Output: 4}} {
			codec := wire.Codec{Format: format}
			end := llm.Finish{ID: "c", Model: "m", Reason: llm.Stop, Usage: u}
			body, _, err := codec.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "hi"}), Finish: end})
			var members struct{ Usage json.RawMessage }
			if err != nil || json.Unmarshal(body, &members) != nil {
				t.Fatal(err, string(body))
			}
			if (string(members.Usage) == none) != u.IsZero() {
				t.Errorf("%s in one piece, %+v: %s", format, u, body)
			}
			again, err := codec.DecodeResponse(body)
			if err != nil || again.Finish.Usage.Input != u.Input || again.Finish.Usage.Output != u.Output {
				t.Errorf("%s is read as %v, %v", body, again, err)
			}
			var out bytes.Buffer
			s := codec.NewStream(&out, wire.Head{})
			for _, ev := range []llm.Event{llm.Start{}, llm.TextDelta{Text: "hi"}, end} {
				if err := s.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			last := out.String()[strings.LastIndex(out.String(), `"usage":`):]
			if strings.HasPrefix(last, `"usage":`+none) != u.IsZero() {
				t.Errorf("%s as a stream, %+v: %s", format, u, last)
			}
		}
	}
}
