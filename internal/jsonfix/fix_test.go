package jsonfix

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// texts are whole answers: a value and what models write around it.
var texts = []struct {
	why, in, out string
	class        llm.RepairClass
}{
	{"a fence", "```json\n{\"a\":1}\n```", `{"a":1}`, llm.Syntax},
	{"a fence in prose", "Sure, here you go:\n\n```json\n{\"a\":1}\n```\nAnything else?", `{"a":1}`, llm.Syntax},
	{"a fence within a fenced string", "```json\n{\"a\":\"```\\nx\\n```\",}\n```", "{\"a\":\"```\\nx\\n```\"}", llm.Syntax},
	{"a fence that ends before the value does", "```json\n{\"a\":[1,2\n```", `{"a":[1,2]}`, llm.Completion},
	{"a fence that never ends", "```\n{\"a\":1}", `{"a":1}`, llm.Syntax},
	{"an announced value", "The result is: {\"a\":1}", `{"a":1}`, llm.Syntax},
	{"text after it", "{\"a\":1} and then I will look.", `{"a":1}`, llm.Syntax},
	{"a word glued to it", "{\"a\":1}foo", `{"a":1}`, llm.Guess},
	{"a word before it may belong to it", "callback {\"a\":1}", `{"a":1}`, llm.Guess},
	{"a footnote before the value", "As [1] says:\n{\"a\":1}", `{"a":1}`, llm.Guess},
	{"too many closers", "{\"a\":{\"b\":1}}}", `{"a":{"b":1}}`, llm.Syntax},
	{"a closer of another kind", "{\"a\":1}]", `{"a":1}`, llm.Guess},
	{"objects side by side", `{"a":1}{"a":2}`, `[{"a":1},{"a":2}]`, llm.Guess},
	{"JSON lines", "{\"a\":1}\n{\"a\":2}\n", `[{"a":1},{"a":2}]`, llm.Guess},
	{"a comma after it", `{"a":1},`, `{"a":1}`, llm.Syntax},
	{"a call around it", `callback({"a":1});`, `{"a":1}`, llm.Guess},
	{"a string whose end is missing", `{"a":"b,"c":"d"}`, `{"a":"b","c":"d"}`, llm.Guess},
	{"a string that swallowed the closers", `{"a":["b]}`, `{"a":["b"]}`, llm.Guess},
	{"a string with balanced brackets that was cut", `{"a":"use {x}`, `{"a":"use {x}"}`, llm.Truncation},
	{"half of the value follows a closer that was missing", `{"a": [1, 2}, "b": 4}`, `{"a": [1, 2]}`, llm.Guess},
	{"Markdown around it", "`{\"a\":1}`", `{"a":1}`, llm.Syntax},
	{"braces doubled for a template", `{{"a": {"b": 1}}}`, `{"a":{"b":1}}`, llm.Guess},
	{"an assignment in a string", `{"q": "where a = "x", b = "y" or c", "n": 1}`, `{"q": "where a = \"x\", b = \"y\" or c", "n": 1}`, llm.Guess},
	{"a bare word", `hello`, `"hello"`, llm.Guess},
	{"a byte order mark", "\ufeff{\"a\":1}", `{"a":1}`, llm.Syntax},
}

func TestFixTextAroundValue(t *testing.T) {
	for _, c := range texts {
		value, edits, err := Fix(c.in)
		if err != nil || !sameValue(value, []byte(c.out)) || worst(edits) != c.class {
			t.Errorf("%s: %q\ngives %s %v %v %v\nnot   %s %v", c.why, c.in, value, worst(edits), edits, err, c.out, c.class)
		}
	}
}

func TestReadings(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":1}`:          `{"a":1}`,
		`"{\"a\":1}"`:      `"{\"a\":1}" {"a":1}`,
		`{"a":1} {"b":2}`:  `[{"a":1},{"b":2}] {"a":1} {"b":2}`,
		`[007]`:            `["007"] [7]`,
		`no value in here`: ``,
	} {
		var got []string
		for rd := range Readings(in) {
			got = append(got, string(rd.Value))
			if !json.Valid(rd.Value) {
				t.Errorf("%s: %s is not valid", in, rd.Value)
			}
		}
		if s := strings.Join(got, " "); s != want && want != "" {
			t.Errorf("%s gives %s, not %s", in, s, want)
		}
	}
}
