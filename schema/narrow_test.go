package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/schema"
	"golang.org/x/tools/txtar"
)

// wanted are the ways in which each golden schema is narrowed.
var wanted = []struct {
	vendor schema.Vendor
	strict bool
}{
	{schema.OpenAI, true}, {schema.OpenAI, false}, {schema.Anthropic, true}, {schema.Anthropic, false}, {schema.Gemini, false}, {schema.Ollama, false},
}

// Each archive is a hard schema, why it is there, and what each vendor gets.
func TestNarrow(t *testing.T) {
	for file, a := range narrowArchives(t) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			s := schema.Schema(bytes.TrimSpace(a.Files[0].Data))
			golden := &txtar.Archive{Comment: a.Comment, Files: a.Files[:1:1]}
			for _, w := range wanted {
				n, err := schema.Narrow(s, w.vendor, w.strict)
				if err != nil {
					t.Fatal(err)
				}
				if err := conforms(w.vendor, n); err != nil {
					t.Errorf("%s, strict %v: %v\n%s", w.vendor, w.strict, err, n.Schema)
				}
				name := string(w.vendor)
				if w.strict {
					name += " strict"
				}
				golden.Files = append(golden.Files, txtar.File{Name: name, Data: []byte(narrowed(n))})
			}
			if *update {
				if err := os.WriteFile(file, txtar.Format(golden), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(txtar.Format(a)), string(txtar.Format(golden))); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func narrowArchives(tb testing.TB) map[string]*txtar.Archive {
	tb.Helper()
	files, err := filepath.Glob("testdata/narrow/*.txtar")
	if err != nil || len(files) < 40 {
		tb.Fatalf("%d archives: %v", len(files), err)
	}
	out := make(map[string]*txtar.Archive)
	for _, file := range files {
		a, err := txtar.ParseFile(file)
		if err != nil {
			tb.Fatal(err)
		}
		out[file] = a
	}
	return out
}

func narrowed(n schema.Narrowed) string {
	var b strings.Builder
	fmt.Fprintf(&b, "strict %v\n%s\n", n.Strict, n.Schema)
	if n.Wrapped != "" {
		fmt.Fprintf(&b, "wrapped %s\n", n.Wrapped)
	}
	for _, l := range n.Losses {
		fmt.Fprintf(&b, "lost %s %s: %s\n", l.Path, l.Keyword, l.Why)
	}
	return b.String()
}

// What a model writes under a strict schema, with the nulls taken out, is
// valid for the original wherever nothing is said to be lost.
func TestStrictInstancesAreValid(t *testing.T) {
	checked := 0
	for file, a := range narrowArchives(t) {
		s := schema.Schema(bytes.TrimSpace(a.Files[0].Data))
		for _, vendor := range []schema.Vendor{schema.OpenAI, schema.Anthropic} {
			checked += checkInstances(t, file, s, vendor)
		}
	}
	if checked < 1000 {
		t.Errorf("only %d instances were checked", checked)
	}
}

// checkInstances makes instances of the strict form of a schema and validates
// them against the original. It returns how many.
func checkInstances(t *testing.T, name string, s schema.Schema, vendor schema.Vendor) int {
	t.Helper()
	n, err := schema.Narrow(s, vendor, true)
	if err != nil || !n.Strict || len(n.Losses) > 0 {
		return 0
	}
	original, err := schema.Compile(schema.Normalize(s))
	if err != nil {
		return 0
	}
	strict, err := schema.Compile(n.Schema)
	if err != nil {
		t.Errorf("%s: %s got what is no schema: %v\n%s", name, vendor, err, n.Schema)
		return 0
	}
	var root map[string]any
	if err := json.Unmarshal(n.Schema, &root); err != nil {
		t.Fatal(err)
	}
	g := generator{root: root, rng: rand.New(rand.NewPCG(1, uint64(len(s))))}
	for range 50 {
		args, err := json.Marshal(g.value(root, 0))
		if err != nil {
			t.Fatal(err)
		}
		if strict.Validate(args) != nil {
			continue // the generator does not know every keyword
		}
		if f := original.Validate(original.StripNulls(args)); f != nil {
			t.Errorf("%s: %s: %s\nis valid for  %s\nbut not, as %s,\nfor           %s\n%v", name, vendor, args, n.Schema, original.StripNulls(args), s, f)
			return 0
		}
	}
	return 50
}

// generator makes values for the subset of JSON Schema that strict modes have.
type generator struct {
	root map[string]any
	rng  *rand.Rand
}

func (g generator) value(s map[string]any, depth int) any {
	if depth > 50 {
		return nil // the schema has no finite value
	}
	if ref, ok := s["$ref"].(string); ok {
		defs, _ := g.root["$defs"].(map[string]any)
		target, _ := defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
		return g.value(target, depth+1)
	}
	if list, ok := s["anyOf"].([]any); ok {
		i := g.rng.IntN(len(list))
		if depth > 8 {
			i = len(list) - 1 // null, where there is one
		}
		b, _ := list[i].(map[string]any)
		return g.value(b, depth)
	}
	if list, ok := s["enum"].([]any); ok {
		return list[g.rng.IntN(len(list))]
	}
	if c, ok := s["const"]; ok {
		return c
	}
	types, ok := s["type"].([]any)
	if !ok {
		types = []any{s["type"]}
	}
	t := types[g.rng.IntN(len(types))]
	if depth > 8 {
		t = types[len(types)-1]
	}
	return g.typed(s, t, depth)
}

func (g generator) typed(s map[string]any, t any, depth int) any {
	switch t {
	case "object":
		out := make(map[string]any)
		props, _ := s["properties"].(map[string]any)
		required, _ := s["required"].([]any)
		for name, p := range props {
			sub, _ := p.(map[string]any)
			if contains(required, name) || g.rng.IntN(2) == 0 {
				out[name] = g.value(sub, depth+1)
			}
		}
		return out
	case "array":
		out := []any{}
		items, _ := s["items"].(map[string]any)
		for range g.rng.IntN(3) {
			if depth < 8 {
				out = append(out, g.value(items, depth+1))
			}
		}
		return out
	case "string":
		return []string{"", "a", "text", "2024-05-01T10:00:00Z"}[g.rng.IntN(4)]
	case "integer":
		return g.rng.IntN(20) - 2
	case "number":
		return []float64{0, 0.5, -1, 3}[g.rng.IntN(4)]
	case "boolean":
		return g.rng.IntN(2) == 0
	}
	return nil
}

func contains(list []any, v any) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}

func TestNarrowRefuses(t *testing.T) {
	laughs := `{"$ref":"#/$defs/a0","$defs":{`
	for i := range 20 {
		laughs += fmt.Sprintf(`"a%d":{"type":"object","properties":{"x":{"$ref":"#/$defs/a%d"},"y":{"$ref":"#/$defs/a%d"}}},`, i, i+1, i+1)
	}
	laughs += `"a20":{"type":"string"}}}`
	for _, c := range []struct{ schema, vendor, want string }{
		{`{}`, "acme", `no vendor is called "acme"`},
		{`{`, "openai", "ends too early"},
		{`{"$ref":"https://example.com/x"}`, "openai", "leads out of the schema or nowhere"},
		{`{"properties":{"a":{"$ref":"#/$defs/none"}}}`, "gemini", "at /properties/a: the reference"},
		{`{"$ref":5}`, "openai", "leads out"},
		{laughs, "gemini", "too large when its definitions are written out"},
	} {
		_, err := schema.Narrow(schema.Schema(c.schema), schema.Vendor(c.vendor), true)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%.80s: got %v, want %s", c.schema, err, c.want)
		}
	}
	if n, err := schema.Narrow(schema.Schema(laughs), schema.OpenAI, true); err != nil || len(n.Schema) > 10_000 {
		t.Errorf("with references it stays small: %d bytes, %v", len(n.Schema), err)
	}
}

// A definition that is used twice is not recursive.
func TestAlternativesSharingADefinition(t *testing.T) {
	n, err := schema.Narrow(schema.Schema(`{"anyOf":[{"$ref":"#/$defs/A"},{"$ref":"#/$defs/B"}],"$defs":{
		"A":{"type":"object","properties":{"x":{"type":"string"}}},
		"B":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}}}}}`), schema.Gemini, false)
	if err != nil || !strings.Contains(string(n.Schema), `"a":{"type":"object","properties":{"x":{"type":"string"}}}`) {
		t.Errorf("%s, %v", n.Schema, err)
	}
}

func TestUnwrap(t *testing.T) {
	n, err := schema.Narrow(schema.Schema(`{"type":"array","items":{"type":"string"}}`), schema.Anthropic, true)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := n.Unwrap(json.RawMessage(`{"value":["a"]}`)); err != nil || string(got) != `["a"]` {
		t.Errorf("%s, %v", got, err)
	}
	for _, bad := range []string{`{}`, `[]`, `{`} {
		if _, err := n.Unwrap(json.RawMessage(bad)); err == nil {
			t.Errorf("%s was unwrapped", bad)
		}
	}
	var plain schema.Narrowed
	if got, err := plain.Unwrap(json.RawMessage(`{"a":1}`)); err != nil || string(got) != `{"a":1}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestNormalize(t *testing.T) {
	for in, want := range map[string]string{
		`{"type":"dict","properties":{"type":{"type":"float"},"a":{"type":"any","enum":["dict"]}}}`: `{"type":"object","properties":{"type":{"type":"number"},"a":{"enum":["dict"]}}}`,
		`{"type": "object"}`:          `{"type": "object"}`,
		`{"type":["int"]}`:            `{"type":"integer"}`,
		`{"type":["integer"]}`:        `{"type":"integer"}`,
		`{"type":["int","null"]}`:     `{"type":["null","integer"]}`,
		`{"type":["str","integer"]}`:  `{"type":["integer","string"]}`,
		`{"type":["any","null"]}`:     `{}`,
		`{"type":["string", "null"]}`: `{"type":["string", "null"]}`,
		`{"type":[]}`:                 `{"type":[]}`,
		`{"type":[5]}`:                `{"type":[5]}`,
		`not JSON`:                    `not JSON`,
	} {
		if got := string(schema.Normalize(schema.Schema(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
}

// Whatever comes in, what goes out is within the vendor's rules, and a strict
// schema keeps its promise.
func FuzzNarrow(f *testing.F) {
	for _, a := range narrowArchives(f) {
		f.Add(string(bytes.TrimSpace(a.Files[0].Data)))
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, w := range wanted {
			n, err := schema.Narrow(schema.Schema(s), w.vendor, w.strict)
			if err != nil {
				continue
			}
			if err := conforms(w.vendor, n); err != nil {
				t.Errorf("%s: %s, strict %v: %v\n%s", s, w.vendor, w.strict, err, n.Schema)
			}
			if w.strict {
				checkInstances(t, s, schema.Schema(s), w.vendor)
			}
		}
	})
}

func BenchmarkNarrow(b *testing.B) {
	for _, w := range wanted {
		b.Run(fmt.Sprintf("%s/strict=%v", w.vendor, w.strict), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := schema.Narrow(orderSchema, w.vendor, w.strict); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
