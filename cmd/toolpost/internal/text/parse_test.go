package text

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/dialect"
	"github.com/toolpost/toolpost/llm"
)

// Every row of a batch gets exactly one answer, in its place.
func TestParseBatchAnswersEveryRow(t *testing.T) {
	rows := []struct{ why, in, want string }{
		{"text", `{"id":1,"text":"hello"}`, `"text":"hello"`},
		{"no id", `{"text":"hello"}`, `"id":null`},
		{"an object as id", `{"id":{"a":1},"text":"hello"}`, `"id":{"a":1}`},
		{"no text", `{"id":2}`, `"error":"no \"text\""`},
		{"not JSON", `{"id":3,`, `"error"`},
		{"two values", `{"id":4,"text":"a"}{"id":5}`, `"error"`},
		{"a negative chunk", `{"id":6,"text":"a","chunk":-1}`, `"error":"\"chunk\" is negative"`},
		{"a chunk larger than the text", `{"id":7,"text":"a","chunk":99}`, `"text":"a"`},
		{"an unknown end", `{"id":8,"text":"a","finish":"boredom"}`, `"error"`},
		{"an unknown dialect is only a hint", `{"id":9,"text":"a","dialect":"klingon"}`, `"code":"ignored"`},
		{"an unknown model is only a hint", `{"id":10,"text":"a","model":"acme/none-7b"}`, `"text":"a"`},
		{"tools without a name", `{"id":11,"text":"a","tools":[{}]}`, `"error"`},
		{"tools that are no list", `{"id":12,"text":"a","tools":3}`, `"error"`},
		{"tools as null", `{"id":13,"text":"a","tools":null}`, `"text":"a"`},
		{"an invalid byte", "{\"id\":14,\"text\":\"a\xffb\"}", "\"text\":\"a\uFFFDb\""},
		{"half a surrogate", `{"id":15,"text":"a\ud800b"}`, "\"text\":\"a\uFFFDb\""},
		{"a NUL", `{"id":16,"text":"a\u0000b"}`, `"text":"a\u0000b"`},
		{"empty text", `{"id":17,"text":""}`, `"calls":[],"text":"","thinking":"","dialect":"","repairs":[],"invalid":[],"truncated":false`},
		{"cut off", `{"id":18,"text":"a","finish":"length"}`, `"truncated":true`},
		{"much text", `{"id":19,"text":"` + strings.Repeat("word ", 1<<20) + `"}`, `"truncated":false`},
	}
	var in strings.Builder
	for _, r := range rows {
		in.WriteString(r.in + "\n\n")
	}
	got := toolpost(t, in.String(), "parse", "--batch")
	if got.code != cli.ExitOK || got.errOut != "" {
		t.Fatalf("exit %d: %s", got.code, got.errOut)
	}
	lines := strings.Split(strings.TrimSuffix(got.out, "\n"), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d answers to %d rows", len(lines), len(rows))
	}
	for i, r := range rows {
		if !strings.Contains(lines[i], r.want) || !json.Valid([]byte(lines[i])) {
			t.Errorf("%s: %.300s has no %s", r.why, lines[i], r.want)
		}
	}
}

// Tools are accepted in all common forms.
func TestToolShapes(t *testing.T) {
	for why, doc := range map[string]string{
		"ours":        `[{"name":"f","description":"d","parameters":{"type":"dict"}}]`,
		"OpenAI":      `[{"type":"function","function":{"name":"f","description":"d","parameters":{"type":"dict"}}}]`,
		"Anthropic":   `[{"name":"f","description":"d","input_schema":{"type":"dict"}}]`,
		"MCP":         `{"tools":[{"name":"f","description":"d","inputSchema":{"type":"dict"}}]}`,
		"vocabulary":  `[{"name":"f","description":"d","schema":{"type":"dict"}}]`,
		"null schema": `[{"name":"f","description":"d","parameters":null,"input_schema":{"type":"dict"}}]`,
	} {
		file := filepath.Join(t.TempDir(), "tools.json")
		if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		tools, err := readTools(file)
		if err != nil || len(tools) != 1 || tools[0].Name != "f" || tools[0].Description != "d" || string(tools[0].Schema) != `{"type":"dict"}` {
			t.Errorf("%s: %v, %+v", why, err, tools)
		}
	}
	for why, doc := range map[string]string{
		"empty": ``, "null": `null`, "no list": `{"a":1}`, "a number": `3`, "no name": `[{"description":"d"}]`,
	} {
		file := filepath.Join(t.TempDir(), "tools.json")
		if err := os.WriteFile(file, []byte(doc), 0o600); err != nil {
			t.Fatal(err)
		}
		if tools, err := readTools(file); err == nil {
			t.Errorf("%s: no error, %v", why, tools)
		}
	}
}

func TestParseUsage(t *testing.T) {
	for _, args := range []string{
		"parse --thinking sometimes", "parse --finish boredom", "parse --dialect klingon", "parse --batch file", "parse --batch --json", "parse a b",
	} {
		if r := toolpost(t, "", strings.Fields(args)...); r.code != cli.ExitUsage {
			t.Errorf("toolpost %s: exit %d, %s", args, r.code, r.errOut)
		}
	}
	if r := toolpost(t, "", "parse", "/nonexistent"); r.code != cli.ExitFailed {
		t.Errorf("a missing file: exit %d, %s", r.code, r.errOut)
	}
}

// The text of a vendor's response is parsed like any other text.
func TestCaptures(t *testing.T) {
	sse := `data: {"choices":[{"index":0,"delta":{"role":"assistant","reasoning_content":"Hm."}}]}

data: {"choices":[{"index":0,"delta":{"content":"On "}}]}

data: {"choices":[{"index":0,"delta":{"content":"it."}}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: [DONE]
`
	for _, tt := range []struct{ why, in, format, text string }{
		{"a stream", sse, "chat", "On it."},
		{"a stream that was lost", sse[:strings.LastIndex(sse, `data: {"choices":[{"index":0,"delta":{}`)], "chat", "On it."},
		{"a document", `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"On it."},"finish_reason":"stop"}]}`, "chat", "On it."},
		{"plain text", "On it.", "", "On it."},
		{"a call that is JSON", `{"tool":"f","arguments":{"choices":[]}}`, "", `{"tool":"f","arguments":{"choices":[]}}`},
		{"text that looks like a stream", "data: is data", "", "data: is data"},
		{"nothing", "", "", ""},
	} {
		if c := openCapture(tt.in); c.format != tt.format || c.text() != tt.text {
			t.Errorf("%s: format %q, text %q", tt.why, c.format, c.text())
		}
	}
	if c := openCapture(sse[:strings.LastIndex(sse, `data: {"choices":[{"index":0,"delta":{}`)]); c.reason != "length" {
		t.Errorf("a lost stream ended by %q", c.reason)
	}
}

// A call is printed as a call only if it could run. It is invalid if the text ends in it for unknown reasons, or if it
// does not match its tool's schema. explain and parse agree.
func TestParsePrintsCallsThatCouldRun(t *testing.T) {
	t.Chdir(filepath.Dir(write(t, "tools.json", `[{"name":"f","parameters":{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}}]`)))
	for _, c := range []struct {
		why, text, args string
		code            int
		want            string
	}{
		{"whole", `<tool_call>{"name":"f","arguments":{"n":1}}</tool_call>`, "", cli.ExitOK, `"calls": [`},
		{"the end mark is missing, the call is not", `<tool_call>{"name":"f","arguments":{"n":1}}`, "", cli.ExitOK, `"truncated": false`},
		{"a brace is missing at the end", `<tool_call>{"name":"f","arguments":{"n":1}`, "", cli.ExitFailed, `"truncated": true`},
		{"the model stopped there", `<tool_call>{"name":"f","arguments":{"n":1}`, "--finish stop", cli.ExitOK, `"class": "completion"`},
		{"a brace is missing in the middle", "<tool_call>{\"name\":\"f\",\"arguments\":{\"n\":1}</tool_call> Done.", "", cli.ExitOK, `"class": "completion"`},
		{"inside a string", `[f(n="Ro`, "", cli.ExitFailed, `"calls": []`},
		{"white space behind the cut", "[f(n=1\n\n", "", cli.ExitFailed, `"reason": "truncated"`},
		{"a type that can be mended", `<tool_call>{"name":"f","arguments":{"n":"1"}}</tool_call>`, "--tools tools.json", cli.ExitOK, `"invalid": []`},
		{"a type that cannot", `<tool_call>{"name":"f","arguments":{"n":"one"}}</tool_call>`, "--tools tools.json", cli.ExitFailed, `"reason": "bad_arguments"`},
		{"two things wrong", `<tool_call>{"name":"f","arguments":{"m":2}}</tool_call>`, "--tools tools.json", cli.ExitFailed, `; `},
	} {
		for _, command := range []string{"parse", "explain"} {
			r := toolpost(t, c.text, strings.Fields(command+" --json "+c.args)...)
			if r.code != c.code || !strings.Contains(r.out, c.want) {
				t.Errorf("%s, %s: exit %d\n%s%s", command, c.why, r.code, r.out, r.errOut)
			}
		}
	}
}

// The streamed output equals the output for an answer that was read completely.
func TestParseStreamsTheSame(t *testing.T) {
	texts := []string{
		"", "\n \n", "hello", "\n\nhello\n\nthere\n\n", "é" + strings.Repeat("漢字 <b> & \u2028 \\u003c\n", 20_000),
		"<think>\nHm.\n</think>\n\nLet me see.\n<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":\"<b>\\u003c&\",}}</tool_call>\nThen.\n<tool_call>{\"name\":\"g\",\"arguments\":{}}</tool_call>",
		strings.Repeat("text\n<tool_call>\n{\"name\":\"f\",\"arguments\":{\"a\":[1,2]}}\n</tool_call>\n", 3000),
		"no opener</think>answer", "<tool_call>{\"name\":\"f\",\"arguments\":{\"a\":1", "a \x1b[2J b \xff\xfe c",
	}
	for _, text := range texts {
		r := &reading{thinking: dialect.PromoteIfUnterminated.String()}
		p := dialect.Parser{Finish: func() llm.Reason { return "" }}
		c := capture{chunks: []string{text}}
		whole, err := read(p, c, 0)
		if err != nil {
			t.Fatal(err)
		}
		hold(&whole, nil)
		var want, got, wantPeople, gotPeople bytes.Buffer
		if err := cli.PrintJSON(&want, whole); err != nil {
			t.Fatal(err)
		}
		if _, err := r.stream(p, text, newJSONSink(&got)); err != nil || got.String() != want.String() {
			t.Errorf("%.60q: %v\n%.500s\nwant\n%.500s", text, err, got.String(), want.String())
		}
		if err := whole.print(newPeopleSink(&wantPeople)); err != nil {
			t.Fatal(err)
		}
		if _, err := r.stream(p, text, newPeopleSink(&gotPeople)); err != nil || gotPeople.String() != wantPeople.String() {
			t.Errorf("%.60q: %v\n%.500s\nwant\n%.500s", text, err, gotPeople.String(), wantPeople.String())
		}
	}
}

// A batch row and the single command give the same answer: the same schema check, coercions and rule for the end.
func TestBatchEqualsSingle(t *testing.T) {
	tools := []llm.ToolDef{{Name: "f", Schema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`)}}
	for text, want := range map[string]string{
		`<tool_call>{"name":"f","arguments":{"n":"5"}}</tool_call>`:                `1 calls 0 invalid unquoted`,
		`<tool_call>{"name":"f","arguments":{}}</tool_call>`:                       `0 calls 1 invalid`,
		`<tool_call>{"name":"f","arguments":{"n":5`:                                `0 calls 1 invalid`,
		"Shall I?\n\n" + `<tool_call>{"name":"f","arguments":{"n":5}}</tool_call>`: "0 calls 0 invalid suspected f \"<tool_call>{\\\"name\\\":\\\"f\\\",\\\"arguments\\\":{\\\"n\\\":5}}\"",
		"I don't know, let me look:\n\n" + `{"name":"f","arguments":{"n":5}}`:      `1 calls 0 invalid call-in-sentence`,
	} {
		p := dialect.Parser{Tools: tools}
		if err := finish(&p, ""); err != nil {
			t.Fatal(err)
		}
		row, err := parseRow{Text: &text}.answer(p, nil)
		if err != nil {
			t.Fatal(err)
		}
		single, err := (&reading{}).stream(p, text, newJSONSink(io.Discard))
		if err != nil {
			t.Fatal(err)
		}
		describe := func(a parseAnswer, calls int) string {
			s := fmt.Sprintf("%d calls %d invalid", calls, len(a.Invalid))
			for _, r := range a.Repairs {
				s += " " + r.Rule
			}
			for _, found := range a.Suspected {
				s += fmt.Sprintf(" suspected %s %q", found.Name, text[found.Start:found.End])
			}
			return s
		}
		got := describe(row, len(row.Calls))
		if single := describe(*single, len(row.Calls)); got != single || got != want {
			t.Errorf("%s: batch %q, single %q, want %q", text, got, single, want)
		}
	}
}

// TestThinkingFlag: --thinking says what calls inside thinking are, in a batch and alone.
func TestThinkingFlag(t *testing.T) {
	const call = "<tool_call>{\"name\":\"look\",\"arguments\":{}}</tool_call>"
	for _, c := range []struct {
		text, policy string
		calls        int
	}{
		{"<think>I could look." + call + "</think>No.", "ignore", 0},
		{"<think>I could look." + call + "</think>No.", "promote_if_unterminated", 0},
		{"<think>I could look." + call + "</think>No.", "promote", 1},
		{"<think>I will look." + call, "ignore", 0},
		{"<think>I will look." + call, "promote_if_unterminated", 1},
		{"<think>I will look." + call, "promote", 1},
	} {
		got := toolpost(t, c.text, "parse", "--json", "--thinking", c.policy)
		if n := strings.Count(got.out, `"look"`); got.code != cli.ExitOK || (n > 0) != (c.calls > 0) {
			t.Errorf("%s of %s: %+v", c.policy, c.text, got)
		}
	}
	if got := toolpost(t, "x", "parse", "--thinking", "sometimes"); got.code != cli.ExitUsage {
		t.Errorf("%+v", got)
	}
}
