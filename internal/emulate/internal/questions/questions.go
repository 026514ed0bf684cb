// Package questions has requests and tools for tests.
package questions

import (
	"bufio"
	"encoding/json"
	"os"
	"testing"

	"github.com/toolpost/toolpost/internal/corpus"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Question is one of the Berkeley Function Calling Leaderboard.
type Question struct {
	ID, Text string
	Tools    []llm.ToolDef
}

// BFCL reads a set of questions.
func BFCL(t testing.TB, set string) []Question {
	t.Helper()
	f, err := os.Open(corpus.Path(t, "bfcl/v4/BFCL_v4_"+set+".json"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []Question
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
		q := Question{ID: row.ID}
		for _, m := range row.Question[0] {
			if m.Role == "user" {
				q.Text = m.Content
			}
		}
		for _, d := range row.Function {
			q.Tools = append(q.Tools, llm.ToolDef{Name: d.Name, Description: d.Description, Schema: schema.Normalize(d.Parameters)})
		}
		out = append(out, q)
	}
	return out
}

// Tools are three tools that have little in common.
var Tools = []llm.ToolDef{
	{Name: "get_weather", Description: "Get the weather forecast for a city.", Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"}},"required":["city"]}`)},
	{Name: "convert_currency", Description: "Convert an amount of money between currencies.", Schema: []byte(`{"type":"object","properties":{"amount":{"type":"number"},"from":{"type":"string"},"to":{"type":"string"}},"required":["amount","from","to"]}`)},
	{Name: "set_timer", Description: "Set a kitchen timer.", Schema: []byte(`{"type":"object","properties":{"minutes":{"type":"integer"}},"required":["minutes"]}`)},
}
