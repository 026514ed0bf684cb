package outputfields_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/internal/outputfields"
	"github.com/toolpost/toolpost/schema"
)

func TestSchema(t *testing.T) {
	for _, c := range []struct{ fields, want string }{
		{"answer: {type: string, description: The answer}",
			`{"additionalProperties":false,"properties":{"answer":{"description":"The answer","type":"string"}},"required":["answer"],"type":"object"}`},
		{"v: {type: string, enum: [a, b], nullable: true}\nn: {type: number, minimum: 0}",
			`{"additionalProperties":false,"properties":{"n":{"minimum":0,"type":"number"},"v":{"enum":["a","b",null],"type":["string","null"]}},"required":["n","v"],"type":"object"}`},
		{"d: {type: object, properties: {x: {type: boolean}, y: {type: array, items: {type: integer}, required: false}}}",
			`{"additionalProperties":false,"properties":{"d":{"additionalProperties":false,"properties":{"x":{"type":"boolean"},"y":{"items":{"type":"integer"},"type":"array"}},"required":["x"],"type":"object"}},"required":["d"],"type":"object"}`},
		{"{}", "!there are no fields"},
		{"a: text", "!the field a is not a description with a type"},
		{"a: {type: str}", "!the field a has the type str"},
		{"a: {type: string, maxlength: 3}", "!the field a: maxlength means nothing for the type string"},
		{"a: {type: string, minimum: 3}", "!the field a: minimum means nothing for the type string"},
		{"a: {type: string, required: false}", "!required can only be true or false, inside an object"},
		{"a: " + strings.Repeat("{type: array, items: ", 12) + "{type: string}" + strings.Repeat("}", 12), "!is nested deeper than 10"},
	} {
		var fields map[string]any
		if err := yaml.Unmarshal([]byte(c.fields), &fields); err != nil {
			t.Fatal(err)
		}
		got, err := outputfields.Schema(fields)
		if err != nil {
			got = []byte("!" + err.Error())
		}
		if want, fails := strings.CutPrefix(c.want, "!"); fails && (err == nil || !strings.Contains(err.Error(), want)) || !fails && string(got) != c.want {
			t.Errorf("%s\nbecomes %s\nwant    %s", c.fields, got, c.want)
		}
	}
}

// TestOutputsOfWorkflows turns every output of the agents of the corpus into a schema
// that answers can be checked with and every vendor can be sent.
func TestOutputsOfWorkflows(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "conductor_examples"), "*.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var workflow map[string]any
		if err := yaml.Unmarshal(text, &workflow); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, fields := range outputs(workflow["agents"], workflow["for_each"], workflow["parallel"]) {
			count++
			s, err := outputfields.Schema(fields)
			if err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
				continue
			}
			if _, err := schema.Compile(s); err != nil {
				t.Errorf("%s: %v\n%s", filepath.Base(file), err, s)
			}
			for _, vendor := range schema.Vendors() {
				if _, err := schema.Narrow(s, vendor, true); err != nil {
					t.Errorf("%s for %s: %v", filepath.Base(file), vendor, err)
				}
			}
		}
	}
	t.Logf("%d outputs of %d workflows", count, len(files))
	if count < 90 {
		t.Errorf("only %d outputs were found", count)
	}
}

// outputs finds the outputs of agents, which describe fields, at any depth.
func outputs(nodes ...any) []map[string]any {
	var out []map[string]any
	for _, node := range nodes {
		switch n := node.(type) {
		case []any:
			out = append(out, outputs(n...)...)
		case map[string]any:
			if fields, ok := n["output"].(map[string]any); ok && describes(fields) {
				out = append(out, fields)
			}
			for _, inside := range n {
				out = append(out, outputs(inside)...)
			}
		}
	}
	return out
}

// describes tells fields from templates, which are text.
func describes(fields map[string]any) bool {
	for _, f := range fields {
		if _, ok := f.(map[string]any); !ok {
			return false
		}
	}
	return len(fields) > 0
}
