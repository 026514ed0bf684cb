package wire

import (
	"strings"
	"testing"
)

// TestGeminiWords: a request for a bare word of an enumeration stays as it is in its own format, and is named in others, which have no such thing.
func TestGeminiWords(t *testing.T) {
	for _, schema := range []string{`"responseSchema":{"type":"STRING","enum":["a","b"]}`, `"responseJsonSchema":{"type":"string","enum":["a","b"]}`, `"response_schema":{"type":"STRING","enum":["a","b"]}`} {
		req, _, err := (Codec{Format: Gemini}).DecodeRequest([]byte(`{"contents":[{"role":"user","parts":[{"text":"q"}]}],"generationConfig":{` + schema + `,"responseMimeType":"text/x.enum"}}`))
		if err != nil || req.Output != nil {
			t.Fatalf("%s: %v %v", schema, req.Output, err)
		}
		req.Model = "m"
		for _, format := range Formats() {
			body, warnings, err := Codec{Format: format}.EncodeRequest(req, false)
			if err != nil {
				t.Fatal(err)
			}
			if format == Gemini {
				if !strings.Contains(string(body), schema) || !strings.Contains(string(body), `"responseMimeType":"text/x.enum"`) || len(warnings) > 0 {
					t.Errorf("%s %v", body, warnings)
				}
			} else if len(warnings) == 0 {
				t.Errorf("%s: it is lost in silence: %s %v", format, body, warnings)
			}
		}
	}
}
