package js_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/js"
)

// TestRepeated checks which names count as the same, and where.
func TestRepeated(t *testing.T) {
	var many strings.Builder
	for i := range 100 {
		fmt.Fprintf(&many, `"name_%d":%d,`, i, i)
	}
	for text, want := range map[string]string{
		`{}`: "", `[]`: "", `"a"`: "", `{"a":"a","b":["a","a"],"c":{"a":1}}`: "",
		`{"a":1,"a":2}`:                            "a",
		`{"model":"x","Model":"y"}`:                "Model",
		`{"toolConfig":{},"tool_config":{}}`:       "tool_config",
		`{"messages":1,"me\u017f\u017fages":2}`:    "meſſages",
		`{"mod\u0065l":"x","model":"y"}`:           "model",
		`{"a":{"b":1,"B":2}}`:                      "",
		`{"a":[{"b":1,"c":{"b":1}},{"b":1}]}`:      "",
		`{"a":[{"type":"x"},{"b":{"k":1,"k":2}}]}`: "k",
		`{"a":[{"x":{"k":1},"b":1,"x":2}]}`:        "x",
		`{"a":"\"a\":1,\"a\":2"}`:                  "",
		`{` + many.String() + `"name_7":1}`:        "name_7",
		`{` + many.String() + `"name_101":1}`:      "",
		`{"p":{` + many.String() + `"name_99":1}}`: "name_99",
	} {
		if !json.Valid([]byte(text)) {
			t.Fatal(text)
		}
		if got := js.Repeated([]byte(text)); string(got) != want {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
}

func BenchmarkRepeated(b *testing.B) {
	tool := `{"type":"function","function":{"name":"get_weather","description":"` + strings.Repeat("Tells the weather. ", 20) + `","parameters":{"type":"object","properties":{"city":{"type":"string","description":"The city."},"unit":{"type":"string","enum":["C","F"]}},"required":["city"]}}}`
	body := []byte(`{"model":"m","stream":true,"messages":[{"role":"user","content":"` + strings.Repeat("What is it? ", 200) + `"}],"tools":[` + strings.TrimSuffix(strings.Repeat(tool+",", 40), ",") + `]}`)
	b.SetBytes(int64(len(body)))
	b.ReportAllocs()
	for b.Loop() {
		if js.Repeated(body) != nil {
			b.Fatal("repeated")
		}
	}
}
