package schema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/schema"
)

// suiteGroup is a group of the official JSON Schema test suite.
type suiteGroup struct {
	Description string
	Schema      json.RawMessage
	Tests       []struct {
		Description string
		Data        json.RawMessage
		Valid       bool
	}
}

// The official suite, required tests. Draft-07 groups do not name their draft.
func TestOfficialSuite(t *testing.T) {
	dir := corpus.Path(t, "json_schema_suite")
	remotes := func(url string) (schema.Schema, error) {
		rest, ok := strings.CutPrefix(url, "http://localhost:1234/")
		if !ok {
			return nil, errors.New("not a remote of the suite")
		}
		return os.ReadFile(filepath.Join(dir, "remotes", filepath.FromSlash(rest)))
	}
	for draft, uri := range map[string]string{"draft2020-12": "", "draft7": "http://json-schema.org/draft-07/schema#"} {
		files, err := filepath.Glob(filepath.Join(dir, "tests", draft, "*.json"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests of %s: %v", draft, err)
		}
		total, right := 0, 0
		for _, file := range files {
			for _, g := range readJSON[[]suiteGroup](t, file) {
				c, err := schema.Compiler{Load: remotes}.Compile(withDraft(g.Schema, uri))
				for _, test := range g.Tests {
					total++
					if err == nil && (c.Validate(test.Data) == nil) == test.Valid {
						right++
						continue
					}
					t.Errorf("%s: %s: %s: want valid %v; %v", filepath.Base(file), g.Description, test.Description, test.Valid, err)
				}
			}
		}
		t.Logf("%s: %d of %d required tests", draft, right, total)
	}
}

func withDraft(s json.RawMessage, uri string) json.RawMessage {
	if uri == "" || s[0] != '{' || strings.Contains(string(s), `"$schema"`) {
		return s
	}
	head := fmt.Sprintf(`{"$schema":%q`, uri)
	if rest := strings.TrimSpace(string(s[1:])); rest != "}" {
		head += ","
	}
	return json.RawMessage(head + string(s[1:]))
}

func readJSON[T any](tb testing.TB, file string) T {
	tb.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		tb.Fatal(err)
	}
	var v T
	if err := json.Unmarshal(b, &v); err != nil {
		tb.Fatalf("%s: %v", file, err)
	}
	return v
}

func TestCompileRefuses(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	deep := strings.Repeat(`{"not":`, 200) + `{}` + strings.Repeat(`}`, 200)
	for _, c := range []struct{ schema, want string }{
		{`{"properties":{"a":{"pattern":"^(?=x)"}}}`, `at /properties/a/pattern: the pattern "^(?=x)" cannot be run`},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","properties":{"a":{"pattern":"(a)\\1"}}}`, `at /properties/a/pattern: the pattern "(a)\\1" cannot be run`},
		{`{"patternProperties":{"(?!x)":{}}}`, `at /patternProperties: the pattern "(?!x)" cannot be run`},
		{`{"properties":{"a":{"type":"dict"}}}`, `at /properties/a/type: not valid JSON Schema`},
		{`{"properties":{"a":{"required":"a"}}}`, `at /properties/a/required: not valid JSON Schema`},
		{`{"$ref":"#/$defs/none"}`, `none`},
		{`{"$ref":"https://example.com/x.json"}`, `nothing is fetched`},
		{`{"$ref":"file:///etc/passwd"}`, `nothing is fetched`},
		{`{"$ref":"#"}`, `leads only back to itself`},
		{`{"$ref":"#/$defs/a","$defs":{"a":{"anyOf":[{"type":"string"},{"$ref":"#/$defs/b"}]},"b":{"allOf":[{"$ref":"#/$defs/a"}]}}}`, `leads only back to itself`},
		{`{"type":"object","type":"string"}`, `the name "type" occurs twice`},
		{`{"a":1`, `ends too early`},
		{`[]`, `must be a JSON object or a boolean, not an array`},
		{`{"minimum":1e999999999}`, `exponent`},
		{deep, `nested deeper than 128 levels`},
		{`{"description":"` + strings.Repeat("x", 1<<20) + `"}`, `the limit is 1048576`},
		{`{"$schema":"https://example.com/my-draft"}`, `nothing is fetched`},
	} {
		attacks++
		_, err := schema.Compile(schema.Schema(c.schema))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.100s: got %v, want %s", c.schema, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "schema:///") {
			t.Errorf("%.100s: the error shows an address nobody wrote: %v", c.schema, err)
		}
	}
}

func TestRecursiveSchemaCompiles(t *testing.T) {
	c := schema.MustCompile(schema.Schema(`{"$ref":"#/$defs/N","$defs":{"N":{"properties":{"next":{"$ref":"#/$defs/N"}},"required":["v"]}}}`))
	if f := c.Validate(json.RawMessage(`{"v":1,"next":{"v":2,"next":{}}}`)); len(f) != 1 || f[0].Path != "/next/next" {
		t.Errorf("got %v", f)
	}
}

func TestPatternsOfECMA(t *testing.T) {
	c := schema.MustCompile(schema.Schema(`{"pattern":"^[\\u0041-\\u{5a}\\\\]+\\d$"}`))
	if f := c.Validate(json.RawMessage(`"AZ\\7"`)); f != nil {
		t.Error(f)
	}
	if f := c.Validate(json.RawMessage(`"u7"`)); f == nil {
		t.Error("u is not in the class")
	}
}

func TestFormatIsAnnotation(t *testing.T) {
	for _, draft := range []string{"", `"$schema":"http://json-schema.org/draft-07/schema#",`} {
		s := schema.Schema(`{` + draft + `"format":"date"}`)
		c, err := schema.Compile(s)
		if err != nil {
			t.Fatal(err)
		}
		if f := c.Validate(json.RawMessage(`"tomorrow"`)); f != nil {
			t.Errorf("%s: %v", s, f)
		}
		if c, err = (schema.Compiler{AssertFormat: true}).Compile(s); err != nil {
			t.Fatal(err)
		}
		if f := c.Validate(json.RawMessage(`"tomorrow"`)); len(f) != 1 || f[0].Keyword != "format" {
			t.Errorf("%s: %v", s, f)
		}
	}
}

func TestLoadedSchemas(t *testing.T) {
	load := func(url string) (schema.Schema, error) {
		if url == "https://example.com/n.json" {
			return schema.Schema(`{"type":"integer"}`), nil
		}
		return nil, fs.ErrNotExist
	}
	c, err := schema.Compiler{Load: load}.Compile(schema.Schema(`{"$ref":"https://example.com/n.json"}`))
	if err != nil {
		t.Fatal(err)
	}
	if c.Validate(json.RawMessage(`"x"`)) == nil {
		t.Error("the loaded schema was not used")
	}
	if _, err = (schema.Compiler{Load: load}).Compile(schema.Schema(`{"$ref":"https://example.com/m.json"}`)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the reason is lost: %v", err)
	}
}

func TestConcurrentUse(t *testing.T) {
	c := schema.MustCompile(orderSchema)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				if f := c.Validate(orderArgs); f != nil {
					t.Error(f)
				}
				if f := c.Validate(json.RawMessage(`{}`)); len(f) != 3 {
					t.Error(f)
				}
			}
		})
	}
	all.Wait()
}

func TestCompiledKeepsTheOrder(t *testing.T) {
	c := schema.MustCompile(schema.Schema(`{ "properties": {"z": {}, "a": {}}, "type": "object" }`))
	if diff := cmp.Diff(`{"properties":{"z":{},"a":{}},"type":"object"}`, string(c.Schema())); diff != "" {
		t.Error(diff)
	}
	if got := string(schema.MustCompile(nil).Schema()); got != `{"type":"object"}` {
		t.Errorf("no schema: %s", got)
	}
}
