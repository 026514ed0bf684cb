package wire

import (
	"github.com/toolpost/toolpost/wire/format"
	"strings"
	"testing"
)

// TestGeminiEnumOfSchemas: a request for a bare word of an enumeration stays as it is in its own format, and is named in others, which have no such thing.
func TestGeminiEnumOfSchemas(t *testing.T) {
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

// TestGeminiNullable: what may be null in a schema of Gemini's own kind may be null in JSON Schema, whatever else the schema says,
// and goes back to Gemini as the client wrote it.
func TestGeminiNullable(t *testing.T) {
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
		again, _, err := Codec{Format: Gemini, Quirks: format.Quirks{OpenAPISchema: true}}.EncodeRequest(req, false)
		if err != nil || string(at(again, "tools.0.functionDeclarations.0.parameters.properties.p")) == "" {
			t.Errorf("%s went back as %s: %v", own, again, err)
		}
	}
}

func canonicalJSON(t *testing.T, doc string) string {
	t.Helper()
	return string(at([]byte(`{"v":`+doc+`}`), "v"))
}

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
