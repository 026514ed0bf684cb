package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/tools"
)

const someTools = `[
{"name":"get_weather","description":"Returns the forecast. Example: {\"city\":\"Rome\"}. If the city is unknown, it fails. Only for the next two weeks.",
 "parameters":{"type":"object","properties":{"city":{"type":"string","description":"name of a city, such as Rome"}}}},
{"type":"function","function":{"name":"book.flight","description":"A powerful way to fly","parameters":{"type":"object","properties":{"data":{}}}}}
]`

func toolsFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tools.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestToolsSelectBatch(t *testing.T) {
	lines := `{"name":"f","id":"f#1","description":"weather forecast"}
{"name":"f","id":"f#2","description":"stock prices"}
{"name":"g","description":"flights"}`
	in := []string{
		`{"id":1,"query":"Will it rain tomorrow?","k":1}`,
		`{"id":2,"query":"airline tickets","k":2}`,
		`{"id":3,"query":""}`,
		`{"id":4,"k":2}`,
		`{"id":5,"query":"x","k":-1}`,
		`nonsense`,
	}
	want := []string{
		`{"id":1,"tools":["f#1"]}`,
		`{"id":2,"tools":["g","f#2"]}`,
		`{"id":3,"tools":["f#1","f#2","g"]}`,
		`{"id":4,"error":"the row has no \"query\""}`,
		`{"id":5,"error":"\"k\" must not be negative"}`,
		`{"id":null,"error":"invalid character 'o' in literal null (expecting 'u')"}`,
	}
	r := programtest.Run(t, strings.Join(in, "\n"), "tools", "select", "--batch", "--tools", toolsFile(t, lines))
	if diff := cmp.Diff(want, strings.Split(strings.TrimSpace(r.Out), "\n")); diff != "" || r.Code != 0 {
		t.Errorf("code %d\n%s", r.Code, diff)
	}
}

func TestToolsSelect(t *testing.T) {
	file := toolsFile(t, someTools)
	if r := programtest.Run(t, "", "tools", "select", "-k", "1", "--tools", file, "airline tickets"); r.Out != "book.flight\n" {
		t.Errorf("%+v", r)
	}
	if r := programtest.Run(t, someTools, "tools", "select", "--json", "--tools", "-", "rain"); !strings.Contains(r.Out, `"get_weather"`) {
		t.Errorf("%+v", r)
	}
}

func TestToolsList(t *testing.T) {
	file := toolsFile(t, someTools)
	r := programtest.Run(t, "", "tools", "list", "--tools", file)
	for _, want := range []string{"get_weather", "book.flight", "2 tools"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("%q is missing:\n%s", want, r.Out)
		}
	}
	var rows []tools.Listed
	if err := json.Unmarshal([]byte(programtest.Run(t, "", "tools", "list", "--json", "--tools", file).Out), &rows); err != nil || len(rows) != 2 || rows[0].Tokens == 0 {
		t.Errorf("%v %v", rows, err)
	}
}

func TestToolsAudit(t *testing.T) {
	file := toolsFile(t, someTools)
	r := programtest.Run(t, "", "tools", "audit", "--tools", file)
	for _, want := range []string{"get_weather 1.0", "book.flight 0.0", "invalid-name", "marketing-words", "2 tools, 0.50 on average"} {
		if !strings.Contains(r.Out, want) {
			t.Errorf("%q is missing:\n%s", want, r.Out)
		}
	}
	if r.Code != 0 {
		t.Errorf("code %d", r.Code)
	}
	if r := programtest.Run(t, "", "tools", "audit", "--json", "--min", "0.8", "--tools", file); r.Code != 1 || !strings.Contains(r.ErrOut, "book.flight has a score of 0.0") || !json.Valid([]byte(r.Out)) {
		t.Errorf("%+v", r)
	}
}

// TestToolsFileErrors: errors about a file or a batch line contain no Go names.
func TestToolsFileErrors(t *testing.T) {
	for file, want := range map[string]string{
		`[1,2]`:                       "definition 1: it is a number and must be an object",
		`[{"name":7}]`:                `definition 1: "name" is a number and must be a string`,
		`{"tools":["x"]}`:             "definition 1: it is a string and must be an object",
		`[{"name":"x","examples":1}]`: `definition 1: "examples" is a number and must be an array`,
	} {
		if r := programtest.Run(t, "", "tools", "list", "--tools", toolsFile(t, file)); r.Code != 1 || !strings.Contains(r.ErrOut, want) || strings.Contains(r.ErrOut, "Go ") {
			t.Errorf("%s: %+v", file, r)
		}
	}
	r := programtest.Run(t, `{"id":1,"query":7}`+"\n"+`{"id":2,"query":"rain"}`+"\n[]\n", "tools", "select", "--batch", "-k", "1", "--tools", toolsFile(t, someTools))
	want := `{"id":1,"error":"\"query\" is a number and must be a string"}` + "\n" + `{"id":2,"tools":["get_weather"]}` + "\n" + `{"id":null,"error":"it is an array and must be an object"}` + "\n"
	if r.Out != want || r.Code != 0 || r.ErrOut != "" {
		t.Errorf("%+v", r)
	}
}

// TestToolsSelectWithoutMatch: tools that have nothing in common with the question are not listed as matches.
func TestToolsSelectWithoutMatch(t *testing.T) {
	file := toolsFile(t, someTools)
	for _, q := range []string{"", "   "} {
		if r := programtest.Run(t, "", "tools", "select", "--tools", file, q); r.Code != 2 || !strings.Contains(r.ErrOut, "QUERY is empty") || r.Out != "" {
			t.Errorf("%q: %+v", q, r)
		}
	}
	if r := programtest.Run(t, "", "tools", "select", "--tools", file, "qqqq zzzz"); r.Code != 0 || !strings.Contains(r.ErrOut, "no tool has words of the question") || r.Out == "" {
		t.Errorf("%+v", r)
	}
	if r := programtest.Run(t, "", "tools", "select", "--tools", file, "weather in Rome"); r.ErrOut != "" || r.Code != 0 {
		t.Errorf("%+v", r)
	}
}

// TestToolsAuditOutput: scores are printed as precisely as --min, and singular forms are correct.
func TestToolsAuditOutput(t *testing.T) {
	one := toolsFile(t, `[{"name":"save","description":"Saves a text, such as a note."}]`)
	r := programtest.Run(t, "", "tools", "audit", "--tools", one, "--min", "0.60001")
	if r.Code != 1 || !strings.Contains(r.ErrOut, "--min is 0.60001") || !strings.Contains(r.Out, "1 tool, ") {
		t.Errorf("%+v", r)
	}
	if r := programtest.Run(t, "", "tools", "list", "--tools", one); !strings.Contains(r.Out, "1 tool ") {
		t.Errorf("%+v", r)
	}
}

func TestToolsWrongUse(t *testing.T) {
	file := toolsFile(t, someTools)
	for _, c := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"tools", "call"}, 2, "arg"},
		{[]string{"tools", "select", "--tools", file}, 2, "QUERY"},
		{[]string{"tools", "select", "--batch", "--tools", file, "x"}, 2, "QUERY"},
		{[]string{"tools", "select", "--batch", "--tools", "-"}, 2, "both"},
		{[]string{"tools", "select", "-k", "0", "--tools", file, "x"}, 2, "at least 1"},
		{[]string{"tools", "select", "-k", "-1", "--batch", "--tools", file}, 2, "at least 1"},
		{[]string{"tools", "list", "--tools", "/does/not/exist"}, 1, "no such file"},
		{[]string{"tools", "list", "--tools", toolsFile(t, "[]")}, 1, "no tools"},
		{[]string{"tools", "list", "--tools", toolsFile(t, `[{"x":1}]`)}, 1, "name"},
	} {
		if r := programtest.Run(t, "", c.args...); r.Code != c.code || !strings.Contains(r.ErrOut, c.says) {
			t.Errorf("%v: code %d, %s", c.args, r.Code, r.ErrOut)
		}
	}
}

// The built-in tools must meet our own standard for descriptions.
func TestBuiltinToolsAreDescribed(t *testing.T) {
	r := programtest.Run(t, "", "tools", "audit", "--min", "0.8")
	if r.Code != 0 {
		t.Errorf("%s%s", r.Out, r.ErrOut)
	}
}

func TestToolsCall(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.txt"), []byte("hello"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		why  string
		in   string
		args []string
		code int
		says string
	}{
		{"a read needs nobody's leave", "", []string{"read_file", `{"path":"a.txt"}`}, 0, "hello"},
		{"arguments from standard input", `{"path":"a.txt"}`, []string{"read_file", "-"}, 0, "hello"},
		{"wrong arguments", "", []string{"read_file", `{"file":"a.txt"}`}, 1, "validation failed"},
		{"no JSON", "", []string{"read_file", `path=a.txt`}, 1, "JSON"},
		{"out of the folder", "", []string{"read_file", `{"path":"../x"}`}, 1, "leads out"},
		{"a write needs leave", "", []string{"write_file", `{"path":"b.txt","content":"x"}`}, 1, "no policy allows it"},
		{"a write with leave", "", []string{"write_file", `{"path":"b.txt","content":"x"}`, "--allow", "write"}, 0, "b.txt"},
		{"an unknown tool", "", []string{"raed_file"}, 1, "Did you mean read_file"},
		{"everything, for programs", "", []string{"read_file", `{"path":"a.txt"}`, "--json"}, 0, `"status": "ok"`},
	} {
		r := programtest.Run(t, c.in, append([]string{"tools", "call", "--root", dir}, c.args...)...)
		if r.Code != c.code || !strings.Contains(r.Out, c.says) {
			t.Errorf("%s: code %d\n%s%s", c.why, r.Code, r.Out, r.ErrOut)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "b.txt")); err != nil || string(b) != "x" {
		t.Errorf("%q %v", b, err)
	}
}
