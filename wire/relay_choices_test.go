package wire

import (
	"bytes"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestArgumentsOfLaterAnswers: a relay that begins to write a stream anew between two pieces of a call's arguments says each once, in every answer.
func TestArgumentsOfLaterAnswers(t *testing.T) {
	chunk := func(index, delta string) string {
		return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":` + index + `,"delta":` + delta + `,"finish_reason":null}]}` + "\n\n"
	}
	end := `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\n" +
		`data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":1,"delta":{},"finish_reason":"tool_calls"}]}` + "\n\ndata: [DONE]\n\n"
	stream := chunk("1", `{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"get","arguments":"{\"a\":89"}}]}`) +
		chunk("0", `{"role":"assistant","tool_calls":[{"index":0,"type":"function","function":{"name":"get","arguments":"{\"b\":1}"}}]}`) + // which has no id, and is written anew
		chunk("1", `{"tool_calls":[{"index":0,"function":{"arguments":"7}"}}]}`) + end
	var out bytes.Buffer
	c := offering("get")
	if err := c.Relay(&out, strings.NewReader(stream), func(llm.Event) RelayDecision { return Pass }); err != nil {
		t.Fatal(err)
	}
	var args strings.Builder
	for ev, err := range (Codec{Format: Chat}).DecodeStream(bytes.NewReader(out.Bytes())) {
		if err != nil {
			t.Fatal(err)
		}
		if alt, ok := ev.(llm.Alternative); ok {
			if d, ok := alt.Event.(llm.CallDelta); ok {
				args.WriteString(d.Args)
			}
		}
	}
	if args.String() != `{"a":897}` {
		t.Errorf("%s\n%s", args.String(), out.String())
	}
}
