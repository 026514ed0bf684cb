package wire

import (
	"bytes"
	"slices"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
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
			stream := Codec{Format: Chat}.NewStream(&out, Head{ID: "i", Model: "m"})
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
