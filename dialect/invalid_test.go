package dialect_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// An invalid call tells what was written of it, and nothing else, and in which
// dialect, whatever stood before it.
func TestInvalidCallsSayWhatWasWritten(t *testing.T) {
	const (
		ping   = "<tool_call>\n<function=ping>\n</function>\n</tool_call>\n"
		jsonly = `<tool_call>{"name": "nope", "arguments": {}}`
		xml    = `<tool_call><function=nope><parameter=x>1</parameter></function>`
	)
	for _, tt := range []struct{ why, text, raw, dialect string }{
		{"alone", jsonly + "</tool_call>", jsonly, "hermes_json"},
		{"behind another dialect in the same marker", ping + jsonly + "</tool_call>", jsonly, "hermes_json"},
		{"before the marker was closed", ping[:len(ping)-14] + jsonly + "</tool_call>", jsonly, "hermes_json"},
		{"in the same marker", ping[:len(ping)-14] + jsonly[11:] + "</tool_call>", jsonly[11:], "hermes_json"},
		{"the other way round", `<tool_call>{"name": "ping", "arguments": {}}</tool_call>` + "\n" + xml + "</tool_call>", xml, "qwen3_coder_xml"},
		{"in a list", `[TOOL_CALLS][{"name": "ping", "arguments": {}}, {"name": "nope", "arguments": {}}]`, `{"name": "nope", "arguments": {}}`, "mistral_json"},
		{"cut off", `Hm. <tool_call>{"name": "ping", "arg`, `<tool_call>{"name": "ping", "arg`, "hermes_json"},
		{"cut off, the second", ping + `<tool_call>{"na`, `<tool_call>{"na`, "hermes_json"},
	} {
		p := dialect.Parser{Tools: caseTools, Finish: func() llm.Reason { return llm.Length }}
		for _, n := range []int{len(tt.text), 1} {
			var got []string
			for ev, err := range p.Parse(dialect.Cut(tt.text, n)) {
				if bad, ok := ev.(llm.InvalidCall); ok && err == nil {
					got = append(got, bad.Raw, bad.Provenance.Dialect)
				}
			}
			if diff := cmp.Diff([]string{tt.raw, tt.dialect}, got); diff != "" {
				t.Errorf("%s, %d bytes at a time: %q\n%s", tt.why, n, tt.text, diff)
			}
		}
	}
}
