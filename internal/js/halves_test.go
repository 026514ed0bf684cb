package js

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestHalves(t *testing.T) {
	for text, want := range map[string]int{
		`"a"`: 0, `"\ud83d"`: 1, `"\uDE00"`: 1, `"\ud83d\ude00"`: 0, `"\ud83d\ud83d\ude00"`: 1, `"\\ud83d"`: 0, `"\\\ud83d"`: 1, `"\\\\ud83d\ud83d"`: 1,
		`"\u00e9\u2028"`: 0, `["\ude00","\ud83d",{"\udfff":"\n\ud800x"}]`: 4, `"\ud83dx\ude00"`: 2, `"\ud83d\n\ude00"`: 2, `"\u`: 0, `"\ud8`: 0,
	} {
		if got := Halves([]byte(text)); got != want {
			t.Errorf("%s has %d, not %d", text, want, got)
		}
		if valid, surrogates := Check([]byte(text)); valid && want > 0 && !surrogates {
			t.Errorf("%s: Check sees no surrogates", text)
		}
	}
}

// What is counted is what encoding/json replaces.
func FuzzHalves(f *testing.F) {
	f.Add("a", "\\ud83d")
	f.Add("\\\\", "\\ud83d\\ude00")
	f.Fuzz(func(t *testing.T, a, b string) {
		quoted := []byte(`"` + a + b + `"`)
		var text string
		if bytes.Contains(quoted, []byte("\ufffd")) || strings.Contains(strings.ToLower(string(quoted)), `\ufffd`) || strings.ToValidUTF8(string(quoted), "") != string(quoted) || json.Unmarshal(quoted, &text) != nil {
			return
		}
		if got, want := Halves(quoted), strings.Count(text, "\ufffd"); got != want {
			t.Errorf("%s has %d, not %d", quoted, want, got)
		}
	})
}

func BenchmarkHalves(b *testing.B) {
	chunk := []byte(`{"id":"chatcmpl-1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"content":"a \"word\" and\n"},"finish_reason":null}]}`)
	body := bytes.Repeat(chunk, 300)
	for name, v := range map[string][]byte{"chunk": chunk, "body": body} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(v)))
			for b.Loop() {
				Halves(v)
			}
		})
	}
}
