package provider

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// question is one of the Berkeley Function Calling Leaderboard.
type question struct {
	id, text string
	tools    []llm.ToolDef
}

// questions reads a set of them, or skips the test.
func questions(t *testing.T, set string) []question {
	t.Helper()
	dir := os.Getenv("TOOLPOST_CORPUS")
	if dir == "" {
		dir = filepath.Join("..", "..", "shared", "corpus")
	}
	f, err := os.Open(filepath.Join(dir, "bfcl", "v4", "BFCL_v4_"+set+".json"))
	if err != nil {
		t.Skipf("no corpus; set TOOLPOST_CORPUS: %v", err)
	}
	defer f.Close()
	var out []question
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		var row struct {
			ID       string
			Question [][]struct{ Role, Content string }
			Function []struct {
				Name, Description string
				Parameters        json.RawMessage
			}
		}
		if err := json.Unmarshal(scan.Bytes(), &row); err != nil {
			t.Fatal(err)
		}
		q := question{id: row.ID}
		for _, m := range row.Question[0] {
			if m.Role == "user" {
				q.text = m.Content
			}
		}
		for _, d := range row.Function {
			q.tools = append(q.tools, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: schema.Normalize(d.Parameters)})
		}
		out = append(out, q)
	}
	return out
}
