package wire

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// nearly are arguments as models write them: what they mean, how doubtful that
// is, and why the case is here. An empty meaning is a call that cannot be run.
var nearly = []struct {
	args, means string
	class       llm.RepairClass
	why         string
}{
	{`{"a":1}`, `{"a":1}`, llm.Intact, "valid arguments are not touched"},
	{" {\"a\": [1, true, null, {}], \"b\": \"x\\\"y\\u00e9\"}\n", `{"a": [1, true, null, {}], "b": "x\"y\u00e9"}`, llm.Intact, "only white space around them is dropped"},
	{`{"a":1,}`, `{"a":1}`, llm.Syntax, "a trailing comma"},
	{`{"a":[1,2,],"b":"c",}`, `{"a":[1,2],"b":"c"}`, llm.Syntax, "a trailing comma in a list, and one after a string"},
	{`{'a':'b'}`, `{"a":"b"}`, llm.Syntax, "single quotes"},
	{"```json\n{\"a\":1}\n```", `{"a":1}`, llm.Syntax, "a code fence"},
	{`{a:1}`, `{"a":1}`, llm.Syntax, "a key without quotes"},
	{`{"a":True,"b":None}`, `{"a":true,"b":null}`, llm.Syntax, "the words of Python"},
	{"{\"a\":\"one\ntwo\"}", `{"a":"one\ntwo"}`, llm.Syntax, "a line break inside a string"},
	{`{"a":1}}`, `{"a":1}`, llm.Syntax, "a bracket too many"},
	{`{"a":"b"`, `{"a":"b"}`, llm.Completion, "the closing bracket is missing although the answer ended normally"},
	{`{"a":1`, ``, 0, "a number at the very end may be cut: 1 or 1000"},
	{`{"a": "x "y" z"}`, `{"a": "x \"y\" z"}`, llm.Guess, "quotes inside a string: a guess, and marked as one"},
	{`{"a":"b`, ``, 0, "the end of a string is missing: what else is, nobody knows"},
	{`no idea`, ``, 0, "text is no arguments"},
	{`[1,2,]`, ``, 0, "a list is no arguments"},
}

// repairStream is a stream of one call in pieces of n bytes.
func repairStream(t *testing.T, format, args string, n int, end llm.Reason) string {
	t.Helper()
	var b strings.Builder
	pieces := func(f func(string)) {
		for rest := args; rest != ""; {
			k := min(n, len(rest))
			quoted, _ := json.Marshal(rest[:k])
			f(string(quoted))
			rest = rest[k:]
		}
	}
	switch format {
	case Chat:
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"\"}}]}}]}\n\n")
		pieces(func(p string) {
			fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":%s}}]}}]}\n\n", p)
		})
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", map[llm.Reason]string{llm.ToolCalls: "tool_calls", llm.Length: "length", llm.ContentFilter: "content_filter"}[end])
	case Messages:
		b.WriteString("event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\",\"role\":\"assistant\",\"content\":[],\"usage\":{}}}\n\n")
		b.WriteString("event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{}}}\n\n")
		pieces(func(p string) {
			fmt.Fprintf(&b, "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":%s}}\n\n", p)
		})
		b.WriteString("event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n")
		fmt.Fprintf(&b, "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":%q},\"usage\":{}}\n\n", map[llm.Reason]string{llm.ToolCalls: "tool_use", llm.Length: "max_tokens", llm.ContentFilter: "refusal"}[end])
		b.WriteString("event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n")
	}
	return b.String()
}

// readCall returns the call of a stream, or the reason it cannot be run, and
// checks that its deltas are its arguments.
func readCall(t *testing.T, format, stream string) (c llm.Call, bad llm.InvalidReason) {
	t.Helper()
	var deltas strings.Builder
	for ev, err := range (Codec{Format: format}).DecodeStream(strings.NewReader(stream)) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.CallDelta:
			deltas.WriteString(ev.Args)
		case llm.Call:
			c = ev
			if deltas.String() != string(ev.Args) {
				t.Errorf("%s: the deltas are %q, the arguments %q", format, deltas.String(), ev.Args)
			}
		case llm.InvalidCall:
			bad = ev.Reason
		}
	}
	return c, bad
}

// TestNativeRepairs: arguments of native calls are repaired as those of calls in
// text are, in any pieces, with the class of the repair; and what was cut off
// stays cut off.
func TestNativeRepairs(t *testing.T) {
	for _, format := range []string{Chat, Messages} {
		for _, c := range nearly {
			for n := 1; n <= len(c.args); n++ {
				got, bad := readCall(t, format, repairStream(t, format, c.args, n, llm.ToolCalls))
				if string(got.Args) != c.means || got.Provenance.Worst() != c.class || got.Provenance.Source() != llm.NativeSource || (c.means == "") != (bad == llm.BadArguments) {
					t.Errorf("%s, %s, in pieces of %d: %s (%v), reason %q, want %s (%v)", format, c.why, n, got.Args, got.Provenance.Repairs, bad, c.means, c.class)
				}
			}
			if c.class == llm.Intact {
				continue
			}
			if got, bad := readCall(t, format, repairStream(t, format, c.args, 3, llm.Length)); bad != llm.CutOff {
				t.Errorf("%s, %s, out of tokens: %s, reason %q", format, c.why, got.Args, bad)
			}
		}
	}
}
