package wire_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	wireformat "github.com/toolpost/toolpost/wire/format"
)

// chatWith is a stream of a call that ends with a reason that does not fit it, and with more frames.
func chatWith(more string) string {
	head := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","system_fingerprint":"fp",`
	return head + `"choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[{"index":0,"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]},"finish_reason":null}]}` + "\n\n" +
		head + `"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}` + "\n\n" + more + "data: [DONE]\n\n"
}

// TestUnknownUsageInRelay checks that a relayed stream that becomes a translation has a chunk without choices only if the upstream told a
// usage, and keeps what the upstream said of the whole answer.
func TestUnknownUsageInRelay(t *testing.T) {
	usage := `data: {"id":"c","object":"chat.completion.chunk","created":1,"model":"m","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":4,"total_tokens":7}}` + "\n\n"
	for more, told := range map[string]bool{"": false, usage: true} {
		var out bytes.Buffer
		codec := wire.Codec{Format: wire.Chat}
		err := codec.Relay(&out, strings.NewReader(chatWith(more)), func(ev llm.Event) wireformat.RelayDecision {
			if f, ok := ev.(llm.Finish); ok {
				return wireformat.Replace(f)
			}
			return wireformat.Pass
		})
		text := out.String()
		if err != nil || !strings.Contains(text, `"finish_reason":"tool_calls"`) || !strings.HasSuffix(text, "data: [DONE]\n\n") {
			t.Fatal(err, text)
		}
		if got := strings.Contains(text, `"usage"`); got != told || strings.Contains(text, `"choices":[]`) != told {
			t.Errorf("usage is told: %t, want %t\n%s", got, told, text)
		}
		frames := strings.Split(strings.TrimSpace(text), "\n\n")
		if last := frames[len(frames)-2]; !strings.Contains(last, `"system_fingerprint":"fp"`) {
			t.Errorf("the last chunk says nothing of the whole answer: %s", last)
		}
	}
}

// TestUnknownUsage checks that a usage that nobody counted is not told as 0 in the formats whose clients do without it.
func TestUnknownUsage(t *testing.T) {
	for format, key := range map[string]string{wire.Chat: "usage", wire.Gemini: "usageMetadata"} {
		for _, u := range []llm.Usage{{}, {Input: 3}, {Output: 4}} {
			codec := wire.Codec{Format: format}
			end := llm.Finish{ID: "c", Model: "m", Reason: llm.Stop, Usage: u}
			body, _, err := codec.EncodeResponse(&llm.Response{Message: llm.Assistant(llm.Text{Text: "hi"}), Finish: end})
			var members map[string]json.RawMessage
			if err != nil || json.Unmarshal(body, &members) != nil {
				t.Fatal(err, string(body))
			}
			if _, told := members[key]; told == u.IsZero() {
				t.Errorf("%s in one piece, %+v: %s", format, u, body)
			}
			var out bytes.Buffer
			s := codec.NewStream(&out, wireformat.Head{})
			for _, ev := range []llm.Event{llm.Start{}, llm.TextDelta{Text: "hi"}, end} {
				if err := s.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			if told := strings.Contains(out.String(), key); told == u.IsZero() {
				t.Errorf("%s as a stream, %+v: %s", format, u, out.String())
			}
		}
	}
}

// TestUnknownUsageWhereRequired checks that a usage that nobody counted is null in the responses format, in one piece, as a stream and
// read back, and zeros in the formats that demand it.
func TestUnknownUsageWhereRequired(t *testing.T) {
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
			s := codec.NewStream(&out, wireformat.Head{})
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
