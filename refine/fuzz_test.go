package refine

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/schema"
)

var fuzzed = schema.MustCompile(json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"ok":{"type":"boolean"},
	"list":{"type":"array","items":{"type":"number"}}},"required":["name"],"additionalProperties":false}`))

// FuzzExtract: whatever a model writes, what is taken out of it matches the
// schema, and what is not has a reason that can be told.
func FuzzExtract(f *testing.F) {
	for _, s := range []string{
		`{"name":"x"}`, `{"name":{"value":"x"}}`, "```json\n{\"name\":\"x\"}\n```", `Sure: {"name":"x","age":"3"} bye`, `{"type":"text","text":"{\"name\":\"x\"}"}`,
		`{"name":`, `[1,2`, `42`, "", "```", `{"name":"x","list":[1,2,]}`, `{'name':'it\'s'}`, `{"name":{"value":"x","result":"y"}}`,
	} {
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, cut bool) {
		got, wrong := extract(text, form{schema: fuzzed}, cut)
		switch {
		case wrong == nil && len(fuzzed.Validate(got.value)) > 0:
			t.Errorf("%q gave %s, which is not valid", text, got.value)
		case wrong != nil && (wrong.why == "" || wrong.cause == ""):
			t.Errorf("%q failed without a reason", text)
		}
	})
}

// BenchmarkExtract reads an answer out of prose.
func BenchmarkExtract(b *testing.B) {
	text := strings.Repeat("All work and no play. ", 200) + "```json\n{\"name\":\"x\",\"age\":3}\n```\n" + strings.Repeat("Done. ", 100)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, wrong := extract(text, form{schema: fuzzed}, false); wrong != nil {
			b.Fatal(wrong.why)
		}
	}
}
