package wire

import (
	"strings"
	"testing"
)

// TestNullable: what may be null in a schema of Gemini's own kind may be null in JSON Schema, whatever else the schema says,
// and goes back to Gemini as the client wrote it.
func TestNullable(t *testing.T) {
	for own, want := range map[string]string{
		`{"type":"STRING","nullable":true}`:                                             `{"type":["string","null"]}`,
		`{"type":"STRING","nullable":false}`:                                            `{"type":"string"}`,
		`{"type":"STRING","enum":["x","y"],"nullable":true}`:                            `{"type":["string","null"],"enum":["x","y",null]}`,
		`{"type":"STRING","enum":["x"]}`:                                                `{"type":"string","enum":["x"]}`,
		`{"nullable":true,"anyOf":[{"type":"STRING"},{"type":"INTEGER"}]}`:              `{"anyOf":[{"type":"string"},{"type":"integer"},{"type":"null"}]}`,
		`{"any_of":[{"type":"STRING","nullable":true},{"type":"NULL"}]}`:                `{"anyOf":[{"type":["string","null"]},{"type":"null"}]}`,
		`{"anyOf":[{"type":"STRING"},{"type":"NULL"}],"nullable":true}`:                 `{"anyOf":[{"type":"string"},{"type":"null"}]}`,
		`{"ref":"#/defs/A","nullable":true}`:                                            `{"anyOf":[{"$ref":"#/$defs/A"},{"type":"null"}]}`,
		`{"nullable":true}`:                                                             `{}`,
		`{"type":"OBJECT","nullable":true,"properties":{"nullable":{"type":"STRING"}}}`: `{"type":["object","null"],"properties":{"nullable":{"type":"string"}}}`,
		`{"type":"ARRAY","items":{"type":"INTEGER","nullable":true}}`:                   `{"type":"array","items":{"type":["integer","null"]}}`,
	} {
		body := `{"contents":[{"role":"user","parts":[{"text":"hi"}]}],"tools":[{"functionDeclarations":[{"name":"f","parameters":{"type":"OBJECT","properties":{"p":` + own + `}}}]}],` +
			`"generationConfig":{"responseMimeType":"application/json","responseSchema":{"type":"OBJECT","properties":{"p":` + own + `}}}}`
		req, _, err := Codec{Format: Gemini}.DecodeRequest([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		for _, schema := range [][]byte{req.Tools[0].Schema, req.Output.Schema} {
			if got := string(at(schema, "properties.p")); got != canonicalJSON(t, want) {
				t.Errorf("%s became %s, not %s", own, got, want)
			}
		}
		for _, to := range Formats() {
			out, _, err := Codec{Format: to}.EncodeRequest(req, false)
			if err != nil {
				t.Fatal(err)
			}
			if to != Gemini && strings.Contains(string(out), `nullable":true`) {
				t.Errorf("→ %s: %s", to, out)
			}
		}
		again, _, err := Codec{Format: Gemini, Quirks: Quirks{OpenAPISchema: true}}.EncodeRequest(req, false)
		if err != nil || string(at(again, "tools.0.functionDeclarations.0.parameters.properties.p")) == "" {
			t.Errorf("%s went back as %s: %v", own, again, err)
		}
	}
}

func canonicalJSON(t *testing.T, doc string) string {
	t.Helper()
	return string(at([]byte(`{"v":`+doc+`}`), "v"))
}
