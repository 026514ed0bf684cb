package dialect_test

import (
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// A parameter may be called like a tag of the dialect.
func TestParameterCalledLikeATag(t *testing.T) {
	const prefix = "]<]minimax[>["
	p := dialect.Parser{Tools: []llm.ToolDef{{
		Name: "trace", Schema: []byte(`{"type":"object","properties":{"invoke":{"type":"string"},"tool_call":{"type":"integer"},"item":{"type":"array","items":{"type":"string"}}}}`),
	}}}
	text := prefix + "<tool_call>" + prefix + `<invoke name="trace">` +
		prefix + "<invoke>x" + prefix + "</invoke>" +
		prefix + "<tool_call>7" + prefix + "</tool_call>" +
		prefix + "<item>" + prefix + "<item>a" + prefix + "</item>" + prefix + "</item>" +
		prefix + "</invoke>" + prefix + "</tool_call>"
	const want = `call trace {"invoke":"x","tool_call":7,"item":["a"]} in minimax_m3` + "\n"
	for _, n := range []int{len(text), 1} {
		if got := transcript(t, p, text, n); got != want {
			t.Errorf("%d bytes at a time: %s, want %s", n, got, want)
		}
	}
}
