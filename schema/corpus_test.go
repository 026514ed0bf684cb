package schema_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/schema"
)

// toolDoc is a tool of the Berkeley Function Calling Leaderboard.
type toolDoc struct {
	Name       string          `json:"name"`
	Parameters json.RawMessage `json:"parameters"`
}

// question is a row of its tests.
type question struct {
	ID       string    `json:"id"`
	Function []toolDoc `json:"function"`
}

// gold is the answer to a question: for each call the allowed values of each
// argument; "" among them means it may be left out.
type gold struct {
	ID          string                                  `json:"id"`
	GroundTruth []map[string]map[string]json.RawMessage `json:"ground_truth"`
}

func readLines[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	in := bufio.NewScanner(f)
	in.Buffer(nil, 16<<20)
	for in.Scan() {
		var row T
		if len(bytes.TrimSpace(in.Bytes())) > 0 && json.Unmarshal(in.Bytes(), &row) == nil {
			out = append(out, row)
		}
	}
	if err := in.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// Every tool document of the leaderboard can be used with every vendor.
func TestBerkeleyDocuments(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(corpus.Path(t, "bfcl"), "v4", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no documents: %v", err)
	}
	seen := make(map[string]bool)
	strict := make(map[schema.Vendor]int)
	for _, file := range files {
		for _, q := range readLines[question](t, file) {
			for _, doc := range q.Function {
				if seen[string(doc.Parameters)] {
					continue
				}
				seen[string(doc.Parameters)] = true
				checkDocument(t, doc, strict)
			}
		}
	}
	t.Logf("%d different schemas; strict is right for %d with openai, %d with anthropic", len(seen), strict[schema.OpenAI], strict[schema.Anthropic])
	if corpus.Whole() && len(seen) < 1000 {
		t.Errorf("only %d schemas", len(seen))
	}
}

func checkDocument(t *testing.T, doc toolDoc, strict map[schema.Vendor]int) {
	t.Helper()
	if _, err := schema.Compile(schema.Normalize(doc.Parameters)); err != nil {
		t.Errorf("%s: %v", doc.Name, err)
	}
	for _, w := range wanted {
		n, err := schema.Narrow(doc.Parameters, w.vendor, w.strict)
		if err == nil {
			err = conforms(w.vendor, n)
		}
		if err != nil {
			t.Errorf("%s: %s: %v", doc.Name, w.vendor, err)
		}
		if n.Strict {
			strict[w.vendor]++
		}
	}
}

// The leaderboard's own right answers, held to its own schemas. Coercion must
// make more of them valid and none less. What stays invalid is wrong in the
// answers:
//
//	7  leave out a required argument
//	6  take a word that the enumeration does not have, or in another case
//	2  give a list where the enumeration lists single words
func TestBerkeleyAnswers(t *testing.T) {
	dir := filepath.Join(corpus.Path(t, "bfcl"), "v4")
	var calls, valid, coerced int
	for _, name := range []string{"simple_python", "multiple", "parallel", "live_simple", "live_multiple"} {
		tools := make(map[string]map[string]*schema.Compiled) // by question and name
		for _, q := range readLines[question](t, filepath.Join(dir, "BFCL_v4_"+name+".json")) {
			tools[q.ID] = make(map[string]*schema.Compiled)
			for _, doc := range q.Function {
				if c, err := schema.Compile(schema.Normalize(doc.Parameters)); err == nil {
					tools[q.ID][doc.Name] = c
				}
			}
		}
		for _, g := range readLines[gold](t, filepath.Join(dir, "possible_answer", "BFCL_v4_"+name+".json")) {
			for _, call := range g.GroundTruth {
				for tool, args := range call {
					c := tools[g.ID][tool]
					if c == nil {
						continue
					}
					calls++
					text := firstValues(t, args)
					if c.Validate(text) == nil {
						valid++
						if got, _ := c.Coerce(text); c.Validate(got) != nil {
							t.Errorf("%s: %s was valid; coerced to %s it is not", g.ID, text, got)
						}
					} else if got, _ := c.Coerce(text); c.Validate(got) == nil {
						coerced++
					} else {
						t.Logf("%s: %v", g.ID, c.Validate(got)[0])
					}
				}
			}
		}
	}
	t.Logf("%d answers: %d valid as they are, %d more after coercion, %d break their own schema", calls, valid, coerced, calls-valid-coerced)
	if corpus.Whole() && calls < 1000 {
		t.Errorf("only %d answers", calls)
	}
}

// firstValues takes the first allowed value of each argument.
func firstValues(t *testing.T, args map[string]json.RawMessage) json.RawMessage {
	t.Helper()
	out := make(map[string]any)
	for name, allowed := range args {
		var list []any
		dec := json.NewDecoder(bytes.NewReader(allowed))
		dec.UseNumber()
		if dec.Decode(&list) != nil || len(list) == 0 || list[0] == "" {
			continue
		}
		out[name] = plainAnswer(list[0])
	}
	b, err := json.Marshal(out)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// plainAnswer takes the first allowed value of each member: nested objects of
// the answers list their values too.
func plainAnswer(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any)
		for name, x := range v {
			if list, ok := x.([]any); ok && len(list) > 0 {
				x = list[0]
			}
			if x != "" {
				out[name] = plainAnswer(x)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i, x := range v {
			out[i] = plainAnswer(x)
		}
		return out
	}
	return v
}
