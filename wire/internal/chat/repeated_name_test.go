package chat_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire"
	"github.com/toolpost/toolpost/wire/format"
)

// TestRepeatedNameIsNotASecondCall checks streams that send the name of a call again, at its index, without an id and
// without arguments. It is a second call only if arguments or another id follow, or if the server is known to mean it.
func TestRepeatedNameIsNotASecondCall(t *testing.T) {
	const first, name = `{"index":0,"id":"c1","type":"function","function":{"name":"ping","arguments":"{\"a\":1}"}}`, `{"index":0,"function":{"name":"ping","arguments":""}}`
	for title, c := range map[string]struct {
		pieces []string
		quirks format.Quirks
		want   string
	}{
		"repeated":           {[]string{first, name}, format.Quirks{}, `c1 {"a":1}`},
		"three times":        {[]string{first, name, name, `{"index":0,"function":{"name":"ping"}}`}, format.Quirks{}, `c1 {"a":1}`},
		"then another index": {[]string{first, name, `{"index":1,"id":"c2","function":{"name":"ping","arguments":"{}"}}`}, format.Quirks{}, `c1 {"a":1} c2 {}`},
		"arguments follow":   {[]string{first, name, `{"index":0,"function":{"arguments":"{\"a\":2}"}}`}, format.Quirks{}, `c1 {"a":1} ? {"a":2}`},
		"an id follows":      {[]string{first, name, `{"index":0,"id":"c2","function":{"arguments":"{\"a\":2}"}}`}, format.Quirks{}, `c1 {"a":1} c2 {"a":2}`},
		"with an id":         {[]string{first, `{"index":0,"id":"c2","function":{"name":"ping","arguments":""}}`}, format.Quirks{}, `c1 {"a":1} c2 {}`},
		"meant":              {[]string{first, name}, format.Quirks{NameIsNextCall: true}, `c1 {"a":1} ? {}`},
	} {
		var b strings.Builder
		for _, piece := range c.pieces {
			b.WriteString(`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"tool_calls":[` + piece + `]},"finish_reason":null}]}` + "\n\n")
		}
		b.WriteString(`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n")
		var got []string
		for ev, err := range (wire.Codec{Format: wire.Chat, Quirks: c.quirks}).DecodeStream(strings.NewReader(b.String())) {
			if err != nil {
				t.Errorf("%s: %v", title, err)
			}
			if call, ok := ev.(llm.Call); ok {
				id := call.ID
				if id != "c1" && id != "c2" {
					id = "?"
				}
				got = append(got, id+" "+string(call.Args))
			}
		}
		if text := strings.Join(got, " "); text != c.want {
			t.Errorf("%s: %s, want %s", title, text, c.want)
		}
	}
}
