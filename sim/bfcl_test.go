package sim

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
)

// lines decodes a file of JSON lines.
func lines[T any](t *testing.T, file string) []T {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []T
	for scan := bufio.NewReader(f); ; {
		line, err := scan.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var row T
			if err := json.Unmarshal(line, &row); err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			out = append(out, row)
		}
		if err != nil {
			return out
		}
	}
}

type question struct {
	ID       string `json:"id"`
	Question [][]struct {
		Content string `json:"content"`
	} `json:"question"`
	Function []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type gold struct {
	ID    string                      `json:"id"`
	Truth []map[string]map[string]any `json:"ground_truth"`
}

// plainTypes turns the corpus's own type names into JSON Schema's.
var plainTypes = strings.NewReplacer(`"type": "dict"`, `"type": "object"`, `"type": "float"`, `"type": "number"`, `"type": "tuple"`, `"type": "array"`)

// TestFillFigures reports how often the rule-based reader finds exactly the
// arguments that a person would choose.
func TestFillFigures(t *testing.T) {
	dir := corpus.Path(t, "bfcl/v4")
	answers := make(map[string]gold)
	for _, g := range lines[gold](t, filepath.Join(dir, "possible_answer", "BFCL_v4_simple_python.json")) {
		answers[g.ID] = g
	}
	right, total := 0, 0
	for _, q := range lines[question](t, filepath.Join(dir, "BFCL_v4_simple_python.json")) {
		total++
		s := readSchema(json.RawMessage(plainTypes.Replace(string(q.Function[0].Parameters))))
		args, _ := fill(s, q.Question[0][0].Content, q.Function[0].Name+" "+q.Function[0].Description, true)
		if want := answers[q.ID].Truth[0][q.Function[0].Name]; sameArgs(args, want) {
			right++
		} else if os.Getenv("SHOW") != "" {
			got, _ := json.Marshal(args)
			exp, _ := json.Marshal(want)
			t.Logf("%s\n  got  %s\n  want %s", q.Question[0][0].Content, got, exp)
		}
	}
	t.Logf("simple_python: %d of %d right (%.1f %%)", right, total, 100*float64(right)/float64(total))
	if right*100 < total*40 {
		t.Errorf("less than 40 %%: the reader has broken")
	}
}

// sameArgs compares by the rules of the corpus: every argument is in its
// allowed list, strings without case, spaces and some punctuation; "" allows
// absence.
func sameArgs(got map[string]any, want map[string]any) bool {
	plain := strings.NewReplacer(" ", "", ",", "", ".", "", "/", "", "-", "", "_", "", "*", "", "^", "")
	norm := func(v any) string {
		b, _ := json.Marshal(v)
		return plain.Replace(strings.ToLower(strings.ReplaceAll(string(b), ".0", "")))
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			return false
		}
	}
	for name, allowed := range want {
		list, _ := allowed.([]any)
		v, ok := got[name]
		if !ok {
			if !slices.Contains(list, any("")) {
				return false
			}
			continue
		}
		if !slices.ContainsFunc(list, func(a any) bool { return norm(a) == norm(v) }) {
			return false
		}
	}
	return true
}
