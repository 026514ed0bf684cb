package stripped

import (
	"bytes"
	"encoding/json"
	"testing"
)

// markByDecoder is Mark by the standard library's reading.
func markByDecoder(raw []byte) string {
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		token, err := d.Token()
		if err != nil {
			return string(markerForm.Find(raw))
		}
		if text, ok := token.(string); ok {
			if m := markerForm.FindString(text); m != "" {
				return m
			}
		}
	}
}

func TestMark(t *testing.T) {
	for raw, want := range map[string]string{
		`{}`:                                 "",
		``:                                   "",
		`{"a":"[stripped:password]"}`:        "[stripped:password]",
		`{"[stripped:password]":1}`:          "[stripped:password]",
		`["x [stripped:a] [stripped:b]"]`:    "[stripped:a]",
		`["\u005bstripped:a]"]`:              "[stripped:a]",
		`["[strip\u0070ed:a\u005d"]`:         "[stripped:a]",
		`["\\u005bstripped:a]"]`:             "",
		`["\"","[stripped:a]"]`:              "[stripped:a]",
		`["stripped:a]"]`:                    "",
		`{"a":"[stripped:","b":"password]"}`: "",
		`{"a": [stripped:password]}`:         "[stripped:password]",
		`{"a":"[stripped:password]`:          "[stripped:password]",
		`"`:                                  "",
		`"\`:                                 "",
	} {
		if got := Mark(json.RawMessage(raw)); got != want {
			t.Errorf("%s holds %q, want %q", raw, got, want)
		}
	}
}

// FuzzMark compares Mark with another reader of JSON.
func FuzzMark(f *testing.F) {
	for _, raw := range []string{`{"a":"\u005bstripped:password]"}`, `["\\","[stripped:a]"]`, `{"[stripped:x]":"\""}`, `["é\ud83d\ude00[stripped:a]"]`} {
		f.Add([]byte(raw))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		got := Mark(raw)
		if want := markByDecoder(raw); json.Valid(raw) && got != want {
			t.Errorf("%q holds %q, want %q", raw, got, want)
		}
	})
}
