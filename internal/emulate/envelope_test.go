package emulate

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// The envelopes, to be read by people.
func TestEnvelopeGolden(t *testing.T) {
	archive := txtar.Archive{Comment: []byte("What a host holds an answer to.\n")}
	tiny := TinyEnvelope
	tiny.Parallel = true
	for _, tt := range []struct {
		name string
		o    EnvelopeOptions
	}{
		{"free", EnvelopeOptions{}},
		{"one tool", EnvelopeOptions{Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "get_weather"}}},
		{"several, for tiny models", tiny},
	} {
		tt.o.Tools = promptTools
		raw, err := Envelope(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		var b bytes.Buffer
		if err := json.Indent(&b, raw, "", "  "); err != nil {
			t.Fatalf("%s: %v\n%s", tt.name, err, raw)
		}
		archive.Files = append(archive.Files, txtar.File{Name: tt.name, Data: append(b.Bytes(), '\n')})
	}
	golden(t, "testdata/envelopes.txtar", string(txtar.Format(&archive)))
}

// The schema takes the answers that are meant and refuses the others.
func TestEnvelopeValidates(t *testing.T) {
	must := llm.ToolChoice{Mode: llm.MustCall}
	const weather = `{"name":"get_weather","arguments":{"city":"Rome"}}`
	const book = `{"name":"book","arguments":{"guests":[{"name":"Ann"}],"at":"2025-01-31T12:00:00Z"}}`
	for _, tt := range []struct {
		why, in string
		o       EnvelopeOptions
		valid   bool
	}{
		{"a call", weather, EnvelopeOptions{}, true},
		{"text", `{"type":"text","text":"hi"}`, EnvelopeOptions{}, true},
		{"empty text", `{"type":"text","text":""}`, EnvelopeOptions{}, false},
		{"text although a call is demanded", `{"type":"text","text":"hi"}`, EnvelopeOptions{Choice: must}, false},
		{"an unknown tool", `{"name":"rm","arguments":{}}`, EnvelopeOptions{}, false},
		{"another tool's arguments", `{"name":"book","arguments":{"city":"Rome"}}`, EnvelopeOptions{}, false},
		{"references are followed", book, EnvelopeOptions{}, true},
		{"references are held to", `{"name":"book","arguments":{"guests":[{"age":3}],"at":"x"}}`, EnvelopeOptions{}, false},
		{"one call is no list", weather, EnvelopeOptions{Parallel: true}, false},
		{"a list", `{"tool_calls":[` + weather + `,` + book + `]}`, EnvelopeOptions{Parallel: true}, true},
		{"an empty list", `{"tool_calls":[]}`, EnvelopeOptions{Parallel: true}, false},
		{"too many", `{"tool_calls":[` + weather + `,` + weather + `]}`, EnvelopeOptions{Parallel: true, MaxItems: 1}, false},
		{"a long string", `{"name":"get_weather","arguments":{"city":"` + strings.Repeat("a", 30) + `"}}`, EnvelopeOptions{MaxString: 20}, false},
		{"the tool's own bound", `{"name":"get_weather","arguments":{"city":"a","days":9}}`, EnvelopeOptions{MaxInteger: 100}, false},
		{"a bound where there was none", `{"name":"book","arguments":{"guests":[{"name":"a","age":999}],"at":"2025-01-31T12:00:00Z"}}`, EnvelopeOptions{MaxInteger: 100}, false},
	} {
		tt.o.Tools = promptTools
		raw, err := Envelope(tt.o)
		if err != nil {
			t.Fatal(err)
		}
		v, err := schema.Compile(raw)
		if err != nil {
			t.Fatalf("%s: %v\n%s", tt.why, err, raw)
		}
		if faults := v.Validate([]byte(tt.in)); (len(faults) == 0) != tt.valid {
			t.Errorf("%s: %s: %v", tt.why, tt.in, faults)
		}
	}
}

func TestEnvelopeRefuses(t *testing.T) {
	deep := strings.Repeat(`{"items":`, 100) + `{}` + strings.Repeat(`}`, 100)
	for why, o := range map[string]EnvelopeOptions{
		"no tools": {}, "no call allowed": {Tools: promptTools, Choice: llm.ToolChoice{Mode: llm.MustNotCall}},
		"too deep": {Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(deep)}}},
		"broken":   {Tools: []llm.ToolDef{{Name: "f", Schema: json.RawMessage(`{"type":`)}}},
	} {
		if raw, err := Envelope(o); llm.KindOf(err) != llm.Invalid {
			t.Errorf("%s: %v, %s", why, err, raw)
		}
	}
}
