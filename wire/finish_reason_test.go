package wire

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
	"github.com/toolpost/toolpost/wire/internal/chat"
)

// TestFinishWordsAreOfTheFormat: an answer has the word of its own format for why it ended, whichever format it came in.
func TestFinishWordsAreOfTheFormat(t *testing.T) {
	known := map[string][]string{
		Chat: {"stop", "length", "tool_calls", "content_filter"}, Messages: {"end_turn", "max_tokens", "tool_use", "refusal", "stop_sequence"},
		Converse: {"end_turn", "max_tokens", "tool_use", "content_filtered", "stop_sequence"}, Gemini: {"STOP", "MAX_TOKENS", "SAFETY"}, Ollama: {"stop", "length", "content_filter"},
	}
	at := map[string]func([]byte) []byte{
		Chat: func(b []byte) []byte {
			for c := range js.Elements(js.Get(b, "choices")) {
				return js.Get(c, "finish_reason")
			}
			return nil
		},
		Messages: func(b []byte) []byte { return js.Get(b, "stop_reason") }, Converse: func(b []byte) []byte { return js.Get(b, "stopReason") },
		Gemini: func(b []byte) []byte {
			for c := range js.Elements(js.Get(b, "candidates")) {
				return js.Get(c, "finishReason")
			}
			return nil
		},
		Ollama: func(b []byte) []byte { return js.Get(b, "done_reason") },
	}
	for _, f := range all.Formats {
		from := f.Properties().Name
		for raw, reason := range f.Words().Reasons {
			if reason == llm.OtherReason || from == Chat && !slices.Contains(known[Chat], raw) { // servers that copy the format have words of their own
				continue
			}
			finish := llm.Finish{Reason: reason, Raw: raw, Model: "m", ID: "i"}
			r := &llm.Response{Message: llm.Assistant(llm.Text{Text: "a"}), Finish: finish}
			for to, words := range known {
				if to == from {
					continue
				}
				body, _, err := Codec{Format: to}.EncodeResponse(r)
				if word := js.Text(at[to](body)); err != nil || !slices.Contains(words, word) && word != "model_context_window_exceeded" {
					t.Errorf("%s to %s, %s: %q, %v", from, to, raw, word, err)
				}
			}
			var out bytes.Buffer
			stream := Codec{Format: Chat}.NewStream(&out, format.Head{ID: "i", Model: "m"})
			for _, ev := range []llm.Event{llm.TextDelta{Text: "a"}, finish} {
				if err := stream.Write(ev); err != nil {
					t.Fatal(err)
				}
			}
			if want := `"finish_reason":"` + chat.Finish[reason] + `"`; !bytes.Contains(out.Bytes(), []byte(want)) {
				t.Errorf("%s, %s: want %s in %s", from, raw, want, out.Bytes())
			}
		}
	}
}

// TestIncompleteWithoutAReason checks that an answer of which the vendor did not say why it is incomplete is written anew without a reason,
// in one piece and as a stream, and that one with a reason keeps it.
func TestIncompleteWithoutAReason(t *testing.T) {
	for details, want := range map[string]string{
		`null`:                           `"incomplete_details":null`,
		`{}`:                             `"incomplete_details":null`,
		`{"reason":"steered"}`:           `"incomplete_details":{"reason":"steered"}`,
		`{"reason":"max_output_tokens"}`: `"incomplete_details":{"reason":"max_output_tokens"}`,
	} {
		codec := Codec{Format: Responses}
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
		s := codec.NewStream(&out, format.Head{})
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
