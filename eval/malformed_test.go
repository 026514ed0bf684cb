package eval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/eval"
	"github.com/toolpost/toolpost/internal/linear"
)

// head is a suite with the tool f, and its first case up to the expectations, which begin on line 9.
const head = "suite: s\ntools:\n  - name: f\n    description: d\n    parameters: {type: object, properties: {a: {type: string}}}\n" +
	"cases:\n  - id: one\n    task: t\n"

func one(rest string) string { return head + rest }

// aliasBomb is a file of a few hundred bytes whose aliases write it out to a billion values.
func aliasBomb() string {
	var b strings.Builder
	b.WriteString("a: &a [x,x,x,x,x,x,x,x,x,x]\n")
	for c := 'b'; c <= 'j'; c++ {
		b.WriteString(string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 10), ",") + "]\n")
	}
	return b.String() + "cases: *j\n"
}

// A malformed suite is an error that names its line or its reason, in words without names of Go, and soon.
func TestMalformedSuites(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct{ name, text, problem string }{
		{"empty file", "", "the file is empty"},
		{"only a comment", "# nothing\n", "the file is empty"},
		{"a list at the top", "- id: one\n", ":1: a suite is a mapping"},
		{"a scalar at the top", "hello\n", ":1: a suite is a mapping"},
		{"no cases", "suite: s\n", "no list of cases"},
		{"cases is a mapping", "cases: {id: one}\n", "no list of cases"},
		{"cases is a number", "cases: 3\n", "no list of cases"},
		{"cases is empty", "cases: []\n", "has no cases"},
		{"a case is a text", "cases:\n  - hello\n", ":2: the value must be a mapping, not a text"},
		{"a case is null", "cases:\n  -\n", ":2: the value must be a mapping, not empty"},
		{"a case is a list", "cases:\n  - [a, b]\n", ":2: the value must be a mapping, not a list"},
		{"two documents", one("    expect: {no_call: true}\n---\nsuite: t\n"), ":11: a second document"},
		{"a tab as indentation", "cases:\n\t- id: one\n", ":2: "},
		{"an open quote", "suite: \"s\ncases: []\n", ":1: could not find end"},
		{"an open bracket", "cases: [\n", ":1: "},
		{"a duplicate top key", "suite: a\nsuite: b\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", `:2: mapping key "suite"`},
		{"cases twice", "cases:\n  - {id: one, task: t, expect: {no_call: true}}\ncases:\n  - {id: two, task: t, expect: {no_call: true}}\n", `:3: mapping key "cases"`},
		{"a duplicate key of a case", one("    task: again\n    expect: {no_call: true}\n"), `:9: mapping key "task"`},
		{"duplicate ids", one("    expect: {no_call: true}\n  - id: one\n    task: t\n    expect: {no_call: true}\n"), `:10: case "one": the case of line 7 has the same id`},
		{"duplicate tools", "tools:\n  - {name: f, parameters: {type: object}}\n  - {name: f, parameters: {type: object}}\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", "two tools are named f"},
		{"unknown top key", "siute: s\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", `:1: unknown field "siute"`},
		{"unknown key of a case", one("    exepct: {no_call: true}\n"), `:9: unknown field "exepct"`},
		{"unknown key of expect", one("    expect: {nocall: true}\n"), `:9: unknown field "nocall"`},
		{"unknown key of text", one("    expect: {text: {contain: [a]}}\n"), `:9: unknown field "contain"`},
		{"unknown key of user", one("    user: {model: m, gaol: x}\n    expect: {no_call: true}\n"), `:9: unknown field "gaol"`},
		{"unknown condition", one("    expect: {calls: [{f: {a: {$oneof: [x]}}}]}\n"), `unknown condition "$oneof"`},
		{"a misspelt condition some lines below", one("    expect:\n      calls:\n        - f:\n            a: {$oneof: [x]}\n"), `:12: case "one": calls[0]: f.a: unknown condition "$oneof"`},
		{"a choice of an unknown tool", one("    choice: tool:g\n    expect: {some_call: true}\n"), "choice names the tool g, which the case does not have"},
		{"two conditions", one("    expect: {calls: [{f: {a: {$any: true, $text: x}}}]}\n"), "one condition at a time"},
		{"a number as id", "cases:\n  - {id: [1], task: t, expect: {no_call: true}}\n", ":2: id must be a text, not a list"},
		{"an id with a line feed", "cases:\n  - {id: \"a\\nb\", task: t, expect: {no_call: true}}\n", "an id has up to 200"},
		{"an id of 300 letters", "cases:\n  - {id: " + strings.Repeat("a", 300) + ", task: t, expect: {no_call: true}}\n", "an id has up to 200"},
		{"no id", "cases:\n  - {task: t, expect: {no_call: true}}\n", "the case has no id"},
		{"no task", "cases:\n  - {id: one, expect: {no_call: true}}\n", "neither a task nor messages"},
		{"task and messages", one("    messages: [{role: user, text: t}]\n    expect: {no_call: true}\n"), "exclude each other"},
		{"no expectation", one(""), "the case expects nothing"},
		{"contradicting expectations", one("    expect: {no_call: true, some_call: true}\n"), "exclude each other"},
		{"max_tokens as text", "max_tokens: many\nsuite: s\ntools:\n  - name: f\n    description: d\n    parameters: {type: object, properties: {a: {type: string}}}\ncases:\n  - id: one\n    task: t\n    expect: {no_call: true}\n", ":1: max_tokens must be a whole number, not a text"},
		{"max_tokens of a case as text", one("    max_tokens: many\n    expect: {no_call: true}\n"), ":9: max_tokens must be a whole number, not a text"},
		{"max_tokens below 0", one("    max_tokens: -5\n    expect: {no_call: true}\n"), "max_tokens must not be below 0"},
		{"max_tokens beyond an integer", one("    max_tokens: 99999999999999999999999\n    expect: {no_call: true}\n"), ":9: max_tokens is too large"},
		{"max_tokens as a float", one("    max_tokens: 1.5\n    expect: {no_call: true}\n"), ":9: max_tokens must be a whole number"},
		{"turns beyond the limit", one("    turns: 100000000\n    expect: {no_call: true}\n"), "turns must be between"},
		{"weight not a number", one("    weight: .nan\n    expect: {no_call: true}\n"), "weight must be between"},
		{"weight infinite", one("    weight: .inf\n    expect: {no_call: true}\n"), "weight must be between"},
		{"weight below 0", one("    weight: -1\n    expect: {no_call: true}\n"), "weight must be between"},
		{"tags as a text", one("    tags: a\n    expect: {no_call: true}\n"), ":9: tags must be a list, not a text"},
		{"tags of mappings", one("    tags: [{a: b}]\n    expect: {no_call: true}\n"), ":9: the value must be a text, not a mapping"},
		{"choice unknown", one("    choice: maybe\n    expect: {no_call: true}\n"), "choice must be auto"},
		{"role unknown", "cases:\n  - {id: one, messages: [{role: tool, text: t}], expect: {no_call: true}}\n", "messages[0].role"},
		{"ends with the model", "cases:\n  - {id: one, messages: [{role: user, text: t}, {role: assistant, text: u}], expect: {no_call: true}}\n", "last message"},
		{"messages as a text", "cases:\n  - {id: one, messages: hello, expect: {no_call: true}}\n", ":2: messages must be a list"},
		{"calls as a mapping", one("    expect: {calls: {f: {a: x}}}\n"), ":9: calls must be a list"},
		{"call of an unknown tool", one("    expect: {calls: [{g: {a: x}}]}\n"), "calls names the tool g"},
		{"call with two names", one("    expect: {calls: [{f: {a: x}, g: {}}]}\n"), "calls[0] must be"},
		{"arguments as a list", one("    expect: {calls: [{f: [x]}]}\n"), "arguments of f must be a mapping"},
		{"a broken pattern", one("    expect: {calls: [{f: {a: {$pattern: '('}}}]}\n"), "f.a: error parsing regexp"},
		{"a broken range", one("    expect: {calls: [{f: {a: {$range: [5, 1]}}}]}\n"), "$range needs"},
		{"a range of texts", one("    expect: {calls: [{f: {a: {$range: [a, b]}}}]}\n"), "$range needs"},
		{"a broken schema", one("    expect: {answer: {type: nothing}}\n"), "not valid JSON Schema"},
		{"a schema that is a text", one("    expect: {answer: object}\n"), "must be a JSON object or a boolean"},
		{"a broken matches", one("    expect: {text: {matches: '['}}\n"), "matches: error parsing regexp"},
		{"no_call as a text", one("    expect: {no_call: sometimes}\n"), ":9: no_call must be true or false, not a text"},
		{"a tool without a name", "tools: [{description: d}]\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", `it has no "name"`},
		{"a tool that is a number", "tools: [5]\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", "is a number and must be an object"},
		{"tools as a number", "tools: 5\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", "tools must be a file"},
		{"tools of a missing file", "tools: missing.json\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", "no such file"},
		{"tools of a folder", "tools: .\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", "is a directory"},
		{"tools of a device", "tools: /dev/zero\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", "more than 67108864 bytes"},
		{"tools of an unknown server", "tools: mcp:x\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", "no MCP servers are known"},
		{"a name of no tool", one("    tools: [g]\n    expect: {no_call: true}\n"), `the suite has no tool "g"`},
		{"results of no tool", one("    results: {g: x}\n    expect: {no_call: true}\n"), "results names the tool g"},
		{"a file outside", one("    files: {../x: y}\n    expect: {no_call: true}\n"), "not below the folder"},
		{"an absolute file", one("    files: {/etc/x: y}\n    expect: {no_call: true}\n"), "not below the folder"},
		{"files without files", one("    expect: {files: {a: {absent: true}}}\n"), "expect.files needs files"},
		{"absent and more", one("    files: {a: b}\n    expect: {files: {a: {absent: true, equals: x}}}\n"), "absent excludes the others"},
		{"absent of a text", one("    expect: {text: {absent: true}}\n"), "absent is for files only"},
		{"a user without a goal", one("    user: {model: m}\n    expect: {no_call: true}\n"), "user needs a model"},
		{"a user without a model", one("    user: {goal: g}\n    expect: {no_call: true}\n"), "user needs a model"},
		{"a cyclic anchor", "suite: s\nx: &a [*a]\ncases: *a\n", ":2: *a names what it is a part of"},
		{"an unknown alias", "suite: *a\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", ":1: could not find alias"},
		{"an alias bomb", aliasBomb(), "aliases write it out"},
		{"deep nesting", "cases: " + strings.Repeat("[", 5000) + "\n", ":1: more than 500 levels"},
		{"deep braces", one("    expect: {answer: " + strings.Repeat("{a: ", 2000) + "1" + strings.Repeat("}", 2001) + "\n"), ":9: more than 500 levels"},
		{"deep dashes", "cases:\n  " + strings.Repeat("- ", 3000) + "x\n", ":2: more than 500 levels"},
		{"invalid UTF-8", "suite: \xff\xfe\ncases:\n  - {id: one, task: t, expect: {no_call: true}}\n", ":1: the text is not UTF-8"},
		{"invalid UTF-8 in a task", "cases:\n  - {id: one, task: \"a\xffb\", expect: {no_call: true}}\n", ":2: the text is not UTF-8"},
		{"UTF-16", "\xff\xfes\x00u\x00i\x00t\x00e\x00:\x00 \x00s\x00\n\x00c\x00a\x00s\x00e\x00s\x00:\x00 \x00[\x00]\x00\n\x00", ":1: the text is not UTF-8"},
		{"zero bytes", "suite: a\x00b\ncases: []\n", ":1: the text is not UTF-8"},
		{"a binary file", "\x00\x01\x02\xff", ":1: the text is not UTF-8"},
		{"a merge key", "x: &x {task: t}\ncases:\n  - {<<: *x, id: one}\n", `:1: unknown field "x"`},
		{"a number with a tag", one("    turns: !!str 5\n    expect: {no_call: maybe}\n"), ":10: no_call must be"},
		{"json: broken", "{\"id\":\"one\",\n", ":1: the line ends inside of its JSON"},
		{"json: an unknown key", "{\"id\":\"one\",\"taks\":\"t\"}\n", `:1: unknown field "taks"`},
		{"json: a wrong type", "{\"id\":\"one\",\"task\":\"t\",\"max_tokens\":\"x\",\"expect\":{\"no_call\":true}}\n", `:1: "max_tokens" is a string`},
		{"json: a nested wrong type", "{\"id\":\"one\",\"task\":\"t\",\"expect\":{\"no_call\":\"x\"}}\n", `:1: "expect.no_call" is a string`},
		{"json: text after the case", "{\"id\":\"one\",\"task\":\"t\",\"expect\":{\"no_call\":true}} {\"id\":\"two\",\"task\":\"t\",\"expect\":{\"no_call\":true}}\n", ":1: text follows the case"},
		{"json: a list", "{\"id\":\"one\",\"task\":\"t\",\"expect\":{\"no_call\":true}}\n[1]\n", ":2: it is an array"},
		{"json: duplicate ids", "{\"id\":\"one\",\"task\":\"t\",\"expect\":{\"no_call\":true}}\n{\"id\":\"one\",\"task\":\"t\",\"expect\":{\"no_call\":true}}\n", `:2: case "one": the case of line 1`},
		{"json: huge number", "{\"id\":\"one\",\"task\":\"t\",\"turns\":1e400,\"expect\":{\"no_call\":true}}\n", `:1: "turns" is a number`},
		{"json: deep", `{"id":"one","task":"t","expect":{"answer":` + strings.Repeat("[", 20000) + strings.Repeat("]", 20000) + "}}\n", ":1: invalid character"},
		{"json: invalid UTF-8", "{\"id\":\"one\",\"task\":\"a\xff\",\"expect\":{\"no_call\":true}}\n", ":1: the text is not UTF-8"},
		{"json: a duplicate key", "{\"id\":\"one\",\"task\":\"t\",\"task\":\"u\",\"expect\":{\"no_call\":true}}\n", `:1: the key "task" is there twice`},
		{"json: a key in capitals", "{\"ID\":\"one\",\"task\":\"t\",\"expect\":{\"no_call\":true}}\n", `:1: unknown field "ID"`},
		{"BFCL: no function", "{\"id\":\"simple_0\",\"question\":[[{\"role\":\"user\",\"content\":\"x\"}]],\"function\":[]}\n", ":1: only the sets with one turn"},
	} {
		path := filepath.Join(dir, "suite.yaml")
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		var err error
		linear.Soon(t, c.name, func() { _, err = eval.Load(path) })
		switch {
		case err == nil:
			t.Errorf("%s: it is read", c.name)
		case !strings.Contains(err.Error(), c.problem):
			t.Errorf("%s: %v, want %q", c.name, err, c.problem)
		case strings.Contains(err.Error(), "Go ") || strings.Contains(err.Error(), "File."):
			t.Errorf("%s: a name of Go: %v", c.name, err)
		}
	}
}

// A byte order mark, a tag and a document mark are legitimate.
func TestUnusualSuites(t *testing.T) {
	path := filepath.Join(t.TempDir(), "suite.yaml")
	for _, before := range []string{"\ufeff", "---\n", "# a comment\n"} {
		if err := os.WriteFile(path, []byte(before+one("    expect: {no_call: true}\n")), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := eval.Load(path); err != nil {
			t.Errorf("%q: %v", before, err)
		}
	}
}
