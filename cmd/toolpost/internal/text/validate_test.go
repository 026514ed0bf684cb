package text

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/internal/corpus"
)

func write(t *testing.T, name, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestValidateBatch(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "n.json"), []byte(`{"type":"integer"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	rows := []struct{ in, want string }{
		{`{"id":1,"schema":{"type":"integer"},"instance":3}`, `{"id":1,"valid":true,"errors":[]}`},
		{`{"id":"a","schema":{"type":"integer"},"instance":"3"}`, `{"id":"a","valid":false,"errors":[{"path":"","keyword":"type",`},
		{`{"id":2,"schema":true,"instance":null}`, `{"id":2,"valid":true,"errors":[]}`},
		{`{"id":3,"schema":false,"instance":null}`, `{"id":3,"valid":false,`},
		{`{"id":4,"schema":{"$ref":"http://localhost:1234/n.json"},"instance":1}`, `{"id":4,"valid":true,"errors":[]}`},
		{`{"id":5,"schema":{"$ref":"http://localhost:1234/../secret"},"instance":1}`, `{"id":5,"error":`},
		{`{"id":6,"schema":{"$ref":"https://example.com/n.json"},"instance":1}`, `nothing is fetched`},
		{`{"id":7,"schema":{"pattern":"(?=a)"},"instance":1}`, `"error":"schema: at /pattern: the pattern`},
		{`{"id":8,"instance":1}`, `{"id":8,"error":"the row has no \"schema\""}`},
		{`{"id":9,"schema":{}}`, `{"id":9,"error":"the row has no \"instance\""}`},
		{`{"id":10,"schema":{"type":"dict"},"instance":1}`, `"id":10,"error":"schema: at /type: not valid JSON Schema`},
		{`not JSON`, `{"id":null,"error":`},
	}
	var in strings.Builder
	for _, r := range rows {
		in.WriteString(r.in + "\n")
	}
	r := toolpost(t, in.String(), "validate", "--batch", "--remotes", "http://localhost:1234="+dir)
	if r.code != cli.ExitOK {
		t.Fatalf("exit %d: %s", r.code, r.errOut)
	}
	lines := strings.Split(strings.TrimSpace(r.out), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d answers to %d rows", len(lines), len(rows))
	}
	for i, line := range lines {
		if !strings.Contains(line, rows[i].want) {
			t.Errorf("%s\ngot  %s\nwant %s", rows[i].in, line, rows[i].want)
		}
	}
}

func TestValidateFile(t *testing.T) {
	s := write(t, "s.json", `{"type":"object","properties":{"when":{"type":"string","format":"date"}},"required":["when"]}`)
	for _, c := range []struct {
		in   string
		args []string
		code int
		out  string
		err  string
	}{
		{`{"when":"today"}`, []string{"--schema", s}, cli.ExitOK, "valid\n", ""},
		{`{"when":"today"}`, []string{"--schema", s, "--formats"}, cli.ExitFailed, "/when  The value at /when must be a valid date. Write it like 2026-01-31.\n", ""},
		{`{}`, []string{"--schema", s}, cli.ExitFailed, "/  The top level lacks the required property \"when\".\n", ""},
		{`{}`, []string{"--schema", s, "--json"}, cli.ExitFailed, `"valid": false`, ""},
		{`{`, []string{"--schema", s}, cli.ExitFailed, "cannot be read as JSON", ""},
		{``, nil, cli.ExitUsage, "", "--schema FILE or --batch is needed"},
		{``, []string{"--batch", "--schema", s}, cli.ExitUsage, "", "leave out --schema"},
		{``, []string{"--schema", s, "--remotes", "nonsense"}, cli.ExitUsage, "", "URL=DIR"},
		{``, []string{"--schema", s, "--remotes", "http://x=/does/not/exist"}, cli.ExitFailed, "", "/does/not/exist"},
		{``, []string{"--schema", s + ".none"}, cli.ExitFailed, "", "no such file"},
		{`{}`, []string{"--schema", write(t, "bad.json", `{"type":"dict"}`)}, cli.ExitFailed, "", "not valid JSON Schema"},
	} {
		r := toolpost(t, c.in, append([]string{"validate"}, c.args...)...)
		if r.code != c.code || !strings.Contains(r.out, c.out) || !strings.Contains(r.errOut, c.err) {
			t.Errorf("validate %v: exit %d\n%s%s", c.args, r.code, r.out, r.errOut)
		}
	}
}

func TestSchemaBatch(t *testing.T) {
	rows := []struct{ in, want string }{
		{`{"id":1,"vendor":"openai","strict":true,"schema":{"type":"object","properties":{"a":{"type":"string"}}}}`,
			`{"id":1,"schema":{"type":"object","properties":{"a":{"type":["string","null"]}},"additionalProperties":false,"required":["a"]},"losses":[],"strict":true}`},
		{`{"id":2,"vendor":"openai","strict":true,"schema":{"type":"object","properties":{"m":{"type":"object"}}}}`,
			`"losses":[{"path":"/properties/m","keyword":"strict","why":`},
		{`{"id":3,"vendor":"gemini","strict":false,"schema":{"type":"array","items":{"type":"string"}}}`, `"strict":false,"wrapped":"value"}`},
		{`{"id":4,"vendor":"acme","schema":{}}`, `{"id":4,"error":"schema: no vendor is called \"acme\"`},
		{`{"id":5,"vendor":"ollama"}`, `{"id":5,"error":"the row has no \"schema\""}`},
	}
	var in strings.Builder
	for _, r := range rows {
		in.WriteString(r.in + "\n")
	}
	lines := strings.Split(strings.TrimSpace(toolpost(t, in.String(), "schema", "--batch").out), "\n")
	if len(lines) != len(rows) {
		t.Fatalf("%d answers to %d rows", len(lines), len(rows))
	}
	for i, line := range lines {
		if !strings.Contains(line, rows[i].want) {
			t.Errorf("%s\ngot  %s\nwant %s", rows[i].in, line, rows[i].want)
		}
	}
}

func TestSchemaFile(t *testing.T) {
	s := write(t, "s.json", `{"type":"object","properties":{"n":{"type":"integer","multipleOf":2}}}`)
	r := toolpost(t, "", "schema", "--vendor", "gemini", s)
	if r.code != cli.ExitOK || !strings.Contains(r.out, `"description": "a multiple of 2"`) || !strings.Contains(r.errOut, "/properties/n multipleOf: gemini does not know it") {
		t.Errorf("exit %d\n%s%s", r.code, r.out, r.errOut)
	}
	for _, args := range []string{"schema", "schema --batch --vendor openai", "schema --vendor openai a b"} {
		if r := toolpost(t, "", strings.Fields(args)...); r.code != cli.ExitUsage {
			t.Errorf("%s: exit %d: %s", args, r.code, r.errOut)
		}
	}
	if r := toolpost(t, "{}", "schema", "--vendor", "acme"); r.code != cli.ExitUsage || !strings.Contains(r.errOut, `no vendor is called "acme"`) {
		t.Errorf("exit %d: %s", r.code, r.errOut)
	}
}

// The required tests of the official suite, run through the command as in a script.
func TestValidateOfficialSuite(t *testing.T) {
	dir := corpus.Path(t, "json_schema_suite")
	for draft, uri := range map[string]string{"draft2020-12": "", "draft7": "http://json-schema.org/draft-07/schema#"} {
		rows, want := suiteRows(t, filepath.Join(dir, "tests", draft, "*.json"), uri)
		r := toolpost(t, rows, "validate", "--batch", "--remotes", "http://localhost:1234="+filepath.Join(dir, "remotes"))
		right := 0
		for i, line := range strings.Split(strings.TrimSpace(r.out), "\n") {
			var got validity
			if err := json.Unmarshal([]byte(line), &got); err != nil || got.Errors == nil || got.Valid != want[i] {
				t.Errorf("%s: want valid %v: %s", draft, want[i], line)
				continue
			}
			right++
		}
		t.Logf("%s: %d of %d required tests", draft, right, len(want))
		if right != len(want) {
			t.Errorf("%s: %d of %d", draft, right, len(want))
		}
	}
}

// suiteGroup is a group of tests of the official suite.
type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// suiteRows returns the tests of a draft as rows, and the expected results. Groups of old drafts do not name their
// draft; uri does.
func suiteRows(t *testing.T, pattern, uri string) (string, []bool) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests: %v", err)
	}
	var rows strings.Builder
	var want []bool
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var groups []suiteGroup
		if err := json.Unmarshal(text, &groups); err != nil {
			t.Fatal(err)
		}
		for _, g := range groups {
			var object map[string]json.RawMessage
			if uri != "" && json.Unmarshal(g.Schema, &object) == nil && object["$schema"] == nil {
				object["$schema"] = json.RawMessage(`"` + uri + `"`)
				if g.Schema, err = json.Marshal(object); err != nil {
					t.Fatal(err)
				}
			}
			for _, test := range g.Tests {
				name := strings.Join([]string{filepath.Base(file), g.Description, test.Description}, ": ")
				row, err := json.Marshal(map[string]any{"id": name, "schema": g.Schema, "instance": test.Data})
				if err != nil {
					t.Fatal(err)
				}
				rows.Write(append(row, '\n'))
				want = append(want, test.Valid)
			}
		}
	}
	return rows.String(), want
}
