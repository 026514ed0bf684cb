package wire

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// What the assistant said is an item with its type where the host wants it.
func TestTypedMessages(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{llm.User("a"), llm.Assistant(llm.Text{Text: "b"}), llm.User("c")}}
	for typed, want := range map[bool]string{
		false: `{"role":"assistant","content":"b"}`,
		true:  `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"b","annotations":[]}]}`,
	} {
		c := Codec{Format: Responses, Quirks: Quirks{TypedMessages: typed}}
		b, _, err := c.EncodeRequest(req, false)
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("typed %v: %s, %v", typed, b, err)
		}
	}
}
