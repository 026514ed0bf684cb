package dialect_test

import (
	"testing"

	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// vectors are outputs that readers of this field are known to get wrong. The
// tools they name are offered; "arguments" is a declared parameter of b only.
var vectors = []struct {
	why, text string
	calls     []wantCall
	rest      string // the text that is left
	repaired  string // the class of the worst repair
}{
	{"braces inside a string end nothing", `{"tool":"write_file","arguments":{"path":"a.go","content":"func main() { x() }"}}`,
		[]wantCall{{"write_file", args("path", "a.go", "content", "func main() { x() }")}}, "", "intact"},
	{"prose after a call is text", `{"tool":"read_file","arguments":{"path":"t"}} and then I will look.`,
		[]wantCall{{"read_file", args("path", "t")}}, " and then I will look.", "guess"},
	{"a backtick in a fenced string", "```json\n{\"tool\":\"say\",\"arguments\":{\"text\":\"a `b` c\"}}\n```",
		[]wantCall{{"say", args("text", "a `b` c")}}, "", "intact"},
	{"apostrophes are not quotes", `{"tool":"say","arguments":{"text":"it's John's",}}`, []wantCall{{"say", args("text", "it's John's")}}, "", "syntax"},
	{"a colon in a string is no key", `{"tool":"say","arguments":{"text":"a, note: b",}}`, []wantCall{{"say", args("text", "a, note: b")}}, "", "syntax"},
	{"Python literals", `{'tool':'x','arguments':{'a':True,'b':None}}`, []wantCall{{"x", args("a", true, "b", nil)}}, "", "syntax"},
	{"an escaped apostrophe", `{'tool':'say','arguments':{'text':'it\'s'}}`, []wantCall{{"say", args("text", "it's")}}, "", "syntax"},
	{"arguments as a string", `{"name":"read_file","arguments":"{\"path\":\"a\"}"}`, []wantCall{{"read_file", args("path", "a")}}, "", "syntax"},
	{"the wire form", `{"type":"function","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}`, []wantCall{{"read_file", args("path", "a")}}, "", "syntax"},
	{"Hermes", "<tool_call>\n{\"name\":\"read_file\",\"arguments\":{\"path\":\"a\"}}\n</tool_call>", []wantCall{{"read_file", args("path", "a")}}, "", "intact"},
	{"Llama", `<|python_tag|>{"name":"read_file","parameters":{"path":"a"}}`, []wantCall{{"read_file", args("path", "a")}}, "", "intact"},
	{"Llama's own tag", `<function=read_file>{"path":"a"}</function>`, []wantCall{{"read_file", args("path", "a")}}, "", "intact"},
	{"Mistral", `[TOOL_CALLS] [{"name":"read_file","arguments":{"path":"a"}}]`, []wantCall{{"read_file", args("path", "a")}}, "", "intact"},
	{"a list", `[{"name":"x","arguments":{}},{"name":"a","arguments":{}}]`, []wantCall{{"x", args()}, {"a", args()}}, "", "intact"},
	{"two objects in one fence", "```json\n{\"tool\":\"x\",\"arguments\":{}}\n{\"tool\":\"a\",\"arguments\":{}}\n```", []wantCall{{"x", args()}, {"a", args()}}, "", "intact"},
	{"a rehearsal in thinking", `<think>maybe {"tool":"x","arguments":{"path":"/"}}</think>ok`, nil, "ok", "intact"},
	{"a person is no tool", `Example: {"name": "Bob"} is a user.`, nil, `Example: {"name": "Bob"} is a user.`, "intact"},
	{"spaces", `{ "tool": "a", "arguments": {"x": 1} }`, []wantCall{{"a", args("x", 1.0)}}, "", "intact"},
	{"a declared parameter called arguments", `{"tool":"b","arguments":{"arguments":"x"}}`, []wantCall{{"b", args("arguments", "x")}}, "", "intact"},
	{"arguments twice", `{"tool":"a","arguments":{"arguments":{"x":1}}}`, []wantCall{{"a", args("x", 1.0)}}, "", "syntax"},
	{"XML without arguments", `<tool_call><name>a</name></tool_call>`, []wantCall{{"a", args()}}, "", "intact"},
	{"a less-than sign in XML", `<tool_call><name>say</name><arguments><text>if a<b then</text></arguments></tool_call>`, []wantCall{{"say", args("text", "if a<b then")}}, "", "intact"},
	{"Python in brackets", `<|tool_call_start|>[say(text='ls')]<|tool_call_end|>`, []wantCall{{"say", args("text", "ls")}}, "", "intact"},
	{"unquoted keys", `{tool: "read_file", arguments: {path: "test.py"}}`, []wantCall{{"read_file", args("path", "test.py")}}, "", "syntax"},
	{"another key for the name", `{"function":"read_file","arguments":{"path":"."}}`, []wantCall{{"read_file", args("path", ".")}}, "", "intact"},
	{"a missing brace", `{"tool":"read_file","arguments":{"path":"test.py"}`, []wantCall{{"read_file", args("path", "test.py")}}, "", "completion"},
	{"no call at all", "I don't need to use any tools for this.", nil, "I don't need to use any tools for this.", "intact"},
	{"broken braces", "{completely invalid {{{ json", nil, "{completely invalid {{{ json", "intact"},
	{"data in a fence", "```json\n{\"a\": 1}\n```", nil, "```json\n{\"a\": 1}\n```", "intact"},
	{"the envelope", `{"type":"tool-calls","calls":[{"toolName":"x","input":{"city":"seoul"}}]}`, []wantCall{{"x", args("city", "seoul")}}, "", "intact"},
	{"the old envelope", `{"tool":"x","parameters":{"a":1}}`, []wantCall{{"x", args("a", 1.0)}}, "", "intact"},
	{"text in the envelope", `{"type":"text","text":"안녕하세요"}`, nil, "안녕하세요", "intact"},
	{"several tools at once", `{"tool_uses":[{"recipient_name":"functions.x","parameters":{}},{"recipient_name":"functions.a","parameters":{"x":1}}]}`,
		[]wantCall{{"x", args()}, {"a", args("x", 1.0)}}, "", "intact"},
	{"a name with another separator", `<tool_call>{"name":"read-file","arguments":{}}</tool_call>`, []wantCall{{"read_file", args()}}, "", "syntax"},
	{"a name with a server", `<tool_call>{"name":"mcp__files__read_file","arguments":{}}</tool_call>`, []wantCall{{"read_file", args()}}, "", "intact"},
}

func args(pairs ...any) map[string]any {
	m := make(map[string]any)
	for i := 0; i < len(pairs); i += 2 {
		m[pairs[i].(string)] = pairs[i+1]
	}
	return m
}

func vectorParser() dialect.Parser {
	p := dialect.Parser{}
	for _, name := range []string{"write_file", "read_file", "say", "x", "a"} {
		p.Tools = append(p.Tools, llm.ToolDef{Name: name})
	}
	p.Tools = append(p.Tools, llm.ToolDef{Name: "b", Schema: []byte(`{"type":"object","properties":{"arguments":{"type":"string"}}}`)})
	return p
}

func TestVectors(t *testing.T) {
	for _, v := range vectors {
		for _, chunk := range []int{len(v.text), 1} {
			var b llm.Builder
			p := vectorParser()
			for ev, err := range p.Parse(dialect.Cut(v.text, chunk)) {
				if err != nil {
					t.Fatal(err)
				}
				b.Add(ev)
			}
			got := parse(t, p, dialect.Cut(v.text, chunk))
			if !sameCalls(got.Calls, v.calls) || got.Text != v.rest || got.Invalid != nil {
				t.Errorf("%s: %s\ngot  %v %q %v\nwant %v %q", v.why, v.text, got.Calls, got.Text, got.Invalid, v.calls, v.rest)
			}
			worst := llm.Intact
			for _, c := range b.Response().Message.Calls() {
				worst = max(worst, c.Provenance.Worst())
			}
			if worst.String() != v.repaired {
				t.Errorf("%s: %s\nrepaired as %s, want %s", v.why, v.text, worst, v.repaired)
			}
		}
	}
}

// A call that the answer ends in the middle of is never complete.
func TestIncomplete(t *testing.T) {
	p := vectorParser()
	p.Finish = func() llm.Reason { return llm.Length }
	got := parse(t, p, dialect.Whole(`{"tool":"read_file","arguments":{"path":"te`))
	if len(got.Calls) > 0 || !got.Truncated {
		t.Errorf("got %+v", got)
	}
}
