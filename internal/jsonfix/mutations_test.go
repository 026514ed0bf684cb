package jsonfix

import (
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
)

// TestSyntaxRepairsRestoreTheValue takes a structural byte out of valid texts, doubles it or
// makes it an apostrophe. A repair that is called syntax must give back the
// value. One that is called completion may not: a bracket that is missing in
// the middle can leave a text that only lacks one at the end.
func TestSyntaxRepairsRestoreTheValue(t *testing.T) {
	counts := map[llm.RepairClass]int{}
	refused, wrong := 0, map[llm.RepairClass]int{}
	docs := append([]string{
		`{"name": "write_file", "arguments": {"path": "a.go", "content": "func main() { x() }\n", "mode": 420, "tags": ["x", "y"]}}`,
		`[{"id": 1, "ok": true, "who": {"first": "Ada", "last": "L"}}, {"id": 2, "ok": false, "who": null}]`,
		`{"a": [[1, 2], [3, 4]], "b": {"c": {"d": []}}, "e": "f, g: h", "i": -1.5e3}`,
	}, valids...)
	for _, doc := range docs {
		for i := range len(doc) {
			if strings.IndexByte(`"{}[],:`, doc[i]) < 0 {
				continue
			}
			for _, in := range []string{doc[:i] + doc[i+1:], doc[:i+1] + doc[i:], apostrophe(doc, i)} {
				value, edits, err := Fix(in)
				class := worst(edits)
				switch {
				case err != nil:
					refused++
				case sameValue(value, []byte(doc)):
					counts[class]++
				default:
					wrong[class]++
					if class == llm.Syntax {
						t.Errorf("%s\nbecame %s\nand is read as %s %v", doc, in, value, edits)
					}
				}
			}
		}
	}
	t.Logf("given back by class %v; refused %d; different by class %v", counts, refused, wrong)
}

// apostrophe puts one in place of a byte; after a backslash that would be
// another text, not a broken one.
func apostrophe(doc string, i int) string {
	if i > 0 && doc[i-1] == '\\' {
		return doc
	}
	return doc[:i] + "'" + doc[i+1:]
}
