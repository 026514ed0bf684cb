package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/wire/format"
)

// TestHeldUntilWrittenAnew: what an observer holds when a relay begins to write the stream anew is written if the next event passes,
// and dropped if something is put in its place.
func TestHeldUntilWrittenAnew(t *testing.T) {
	text := chunkOf(`{"role":"assistant","content":"kept text"}`)
	for name, calls := range map[string]string{
		"no id": chunkOf(`{"tool_calls":[{"index":0,"type":"function","function":{"name":"get","arguments":"{}"}}]}`),
		"a name in pieces": chunkOf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"ge","arguments":""}}]}`) +
			chunkOf(`{"tool_calls":[{"index":0,"function":{"name":"t"}}]}`) + chunkOf(`{"tool_calls":[{"index":0,"function":{"arguments":"{}"}}]}`),
		"a name said twice": chunkOf(`{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get","arguments":"{"}}]}`) +
			chunkOf(`{"tool_calls":[{"index":0,"id":"c1","function":{"name":"get","arguments":"}"}}]}`),
	} {
		for _, after := range []RelayDecision{Pass, Replace()} {
			var out bytes.Buffer
			c := offering("get")
			err := c.Relay(&out, strings.NewReader(text+calls+chunksEnd), func(ev llm.Event) RelayDecision {
				switch ev.(type) {
				case llm.TextDelta, llm.CallStart, llm.KeepAlive:
					return Hold
				case llm.CallDelta, llm.Call: // the whole call would bring back what was dropped
					return after
				}
				return Pass
			})
			if kept := after.Action == format.RelayPass; err != nil || strings.Contains(out.String(), "kept text") != kept || strings.Contains(out.String(), `"get"`) != kept {
				t.Errorf("%s: kept is to be %v: %v\n%s", name, kept, err, out.String())
			}
		}
	}
}
