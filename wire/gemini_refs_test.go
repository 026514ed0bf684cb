package wire

import (
	"testing"
)

// TestGeminiReferences: the references of Gemini's own kind of schema are those of JSON Schema for models of other vendors, and
// go back to Gemini as the client wrote them. Properties may have the names of the words.
func TestGeminiReferences(t *testing.T) {
	for own, want := range map[string]string{
		`{"type":"OBJECT","properties":{"pet":{"ref":"#/defs/Pet"}},"defs":{"Pet":{"type":"OBJECT","properties":{"name":{"type":"STRING"},"friend":{"ref":"#/defs/Pet"}}}}}`: `{"type":"object","properties":{"pet":{"$ref":"#/$defs/Pet"}},"$defs":{"Pet":{"type":"object","properties":{"name":{"type":"string"},"friend":{"$ref":"#/$defs/Pet"}}}}}`,
		`{"type":"OBJECT","properties":{"pet":{"$ref":"#/$defs/type"}},"$defs":{"type":{"type":"STRING"}}}`:                                                                  `{"type":"object","properties":{"pet":{"$ref":"#/$defs/type"}},"$defs":{"type":{"type":"string"}}}`,
		`{"type":"OBJECT","properties":{"ref":{"type":"STRING"},"defs":{"type":"STRING"}}}`:                                                                                  `{"type":"object","properties":{"ref":{"type":"string"},"defs":{"type":"string"}}}`,
		`{"type":"OBJECT","properties":{"pets":{"type":"ARRAY","items":{"ref":"#/defs/ref"}}},"defs":{"ref":{"type":"STRING"}}}`:                                             `{"type":"object","properties":{"pets":{"type":"array","items":{"$ref":"#/$defs/ref"}}},"$defs":{"ref":{"type":"string"}}}`,
		`{"type":"OBJECT","properties":{"all":{"ref":"#"}}}`:                                                                                                                 `{"type":"object","properties":{"all":{"$ref":"#"}}}`,
	} {
		body := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":` + own + `}]}],` +
			`"generationConfig":{"responseMimeType":"application/json","responseSchema":` + own + `}}`
		req, _, err := Codec{Format: Gemini}.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, schema := range [][]byte{req.Tools[0].Schema, req.Output.Schema} {
			if got := canonicalJSON(t, string(schema)); got != canonicalJSON(t, want) {
				t.Errorf("%s became %s, not %s", own, got, want)
			}
		}
		again, _, err := Codec{Format: Gemini}.EncodeRequest(req, false)
		if got := string(at(again, "tools.0.functionDeclarations.0.parameters")); err != nil || got != canonicalJSON(t, own) {
			t.Errorf("%s went back as %s: %v", own, got, err)
		}
	}
}
