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

// An element whose name is only letters may be part of a document: YAML
// in it is a guess, and text in it is not a call.
func TestElementsLikeThoseOfDocuments(t *testing.T) {
	p := dialect.Parser{Tools: []llm.ToolDef{{Name: "summary", Schema: []byte(`{"type":"object","properties":{"title":{"type":"string"}}}`)}}}
	for text, want := range map[string]string{
		"<summary>\ntitle: a\n</summary>": "call summary {\"title\":\"a\"} in yaml_tagname, yaml (guess)\n",
		"<summary>Details</summary>":      "text \"<summary>Details</summary>\"\nwarning suspected_call xml_tagname\n",
	} {
		for _, chunk := range []int{len(text), 1} {
			if got := transcript(t, p, text, chunk); got != want {
				t.Errorf("%q in pieces of %d means %q, want %q", text, chunk, got, want)
			}
		}
	}
}
