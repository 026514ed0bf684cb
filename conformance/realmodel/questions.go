package realmodel

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

//go:embed testdata/tools.json
var toolsFile []byte

//go:embed testdata/two_tools.jsonl
var twoToolsFile []byte

//go:embed testdata/ten.jsonl
var tenFile []byte

// Tools returns the ten tools of our own questions.
func Tools() []llm.ToolDef {
	var rows []struct {
		Name, Description string
		Parameters        json.RawMessage
	}
	if err := json.Unmarshal(toolsFile, &rows); err != nil {
		panic(err) // it is part of the program
	}
	var out []llm.ToolDef
	for _, r := range rows {
		out = append(out, llm.ToolDef{Name: r.Name, Description: r.Description, Schema: r.Parameters})
	}
	return out
}

// Own is a question about the ten tools.
type Own struct {
	Question
	Want []string       // the tools to call
	Args map[string]any // the arguments of the one call; nil is not compared
}

// TwoTools returns twenty questions that need two of the tools.
func TwoTools() []Own { return own(twoToolsFile) }

// Ten returns ten questions: six that need one tool, two that need none, two
// that need two.
func Ten() []Own { return own(tenFile) }

func own(file []byte) []Own {
	var out []Own
	dec := json.NewDecoder(bytes.NewReader(file))
	for dec.More() {
		var row struct {
			Text string
			Want []string
			Args map[string]any
		}
		if err := dec.Decode(&row); err != nil {
			panic(err) // it is part of the program
		}
		q := Question{ID: row.Text, Messages: []llm.Message{llm.User(row.Text)}, Tools: Tools()}
		out = append(out, Own{q, row.Want, row.Args})
	}
	return out
}

// SameNames reports whether the calls are of exactly these tools, in any order.
func SameNames(calls []llm.Call, want []string) bool {
	var got []string
	for _, c := range calls {
		got = append(got, c.Name)
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	return slices.Equal(got, want)
}
