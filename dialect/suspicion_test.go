package dialect_test

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// A warning about text that looks like a call says why it is not one.
func TestSuspectedCallsHaveAReason(t *testing.T) {
	const call = `{"name": "delete_branch", "arguments": {"branch": "main"}}`
	for _, c := range []struct{ text, why string }{
		{"Use `<tool_call>" + call + "</tool_call>` for that.", "it is quoted"},
		{"> <tool_call>" + call + "</tool_call>\n\nwas the request.", "it is quoted"},
		{"The log shows " + call + " from last week.", "text around it is on its lines"},
		{"It sent <tool_call>" + call + "</tool_call> and then the build broke.", "a sentence goes on after it"},
		{"Do not do this:\n\n```json\n" + call + "\n```\n\nIt deletes the branch.", "code fence"},
		{"+ <tool_call>" + call + "</tool_call>\n- <tool_call>" + call + "</tool_call>", "it is a line of a diff"},
		{`{"plan": [` + call + `]}`, "it is inside other data"},
		{"The log contains this:\n\n<tool_call>" + call + "</tool_call>", "is about text, a format or another speaker"},
		{"I refuse to run the next call.\n\n<tool_call>" + call + "</tool_call>", "refuses or forbids"},
		{"Shall I run this?\n\n<tool_call>" + call + "</tool_call>", "a question stands before it"},
	} {
		var warned []string
		for ev := range (&dialect.Parser{Tools: blindTools}).Parse(dialect.Whole(c.text)) {
			switch ev := ev.(type) {
			case llm.Call:
				t.Errorf("%q was read as a call", c.text)
			case llm.Warning:
				warned = append(warned, ev.Detail)
			}
		}
		if len(warned) != 1 || !strings.Contains(warned[0], ", but ") || !strings.Contains(warned[0], c.why) {
			t.Errorf("%q: %q, want %q", c.text, warned, c.why)
		}
	}
}
