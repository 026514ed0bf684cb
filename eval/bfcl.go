package eval

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// onlySingleTurns refuses the sets whose answers are states of simulated programs, or texts.
const onlySingleTurns = "only the sets with one turn and tools in the file can be read"

// bfclRow is a question of the Berkeley Function Calling Leaderboard.
type bfclRow struct {
	ID       string `json:"id"`
	Question [][]struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	} `json:"question"`
	Function []struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// isBFCL reports whether text is a file of the leaderboard's questions.
func isBFCL(text []byte) bool {
	line, _, _ := bytes.Cut(text, []byte("\n"))
	var row bfclRow
	return json.Unmarshal(line, &row) == nil && row.ID != "" && len(row.Question) > 0
}

// loadBFCL reads questions, and their answers from the folder possible_answer next to them. Sets in which no call is right lack that
// file.
func loadBFCL(path string, text []byte) (*Suite, error) {
	name := strings.TrimSuffix(filepath.Base(path), filepath.Ext(path))
	s := &Suite{Name: name, Hash: hashText(string(text)), Source: path}
	answers, err := bfclAnswers(filepath.Join(filepath.Dir(path), "possible_answer", filepath.Base(path)))
	if err != nil {
		return nil, err
	}
	none, some := strings.Contains(name, "irrelevance"), strings.HasSuffix(name, "_relevance")
	line := 0
	for row := range bytes.Lines(text) {
		line++
		var q bfclRow
		if len(bytes.TrimSpace(row)) == 0 {
			continue
		}
		if err := json.Unmarshal(row, &q); err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		gold, known := answers[q.ID]
		switch {
		case len(q.Question) != 1 || len(q.Function) == 0 && !none:
			return nil, fmt.Errorf("%s:%d: %s", path, line, onlySingleTurns)
		case !known && !none && !some:
			return nil, fmt.Errorf("%s:%d: there is no answer to %s in possible_answer", path, line, q.ID)
		}
		c := q.asCase(gold)
		c.Expect.NoCall, c.Expect.SomeCall, c.Line = none, some, line
		s.Cases = append(s.Cases, c)
	}
	return s, s.finish(path)
}

func (q *bfclRow) asCase(gold []map[string]map[string][]any) Case {
	c := Case{ID: q.ID, Weight: 1}
	for _, m := range q.Question[0] {
		c.Messages = append(c.Messages, llm.Message{Role: llm.Role(m.Role), Parts: []llm.Part{llm.Text{Text: m.Content}}})
	}
	for _, f := range q.Function {
		c.Tools = append(c.Tools, llm.ToolDef{Name: f.Name, Description: f.Description, Schema: schema.Normalize(f.Parameters)})
	}
	for _, call := range gold {
		for name, args := range call {
			c.Expect.Calls = append(c.Expect.Calls, ExpectedCall{Name: name, Args: bfclMembers(args)})
		}
	}
	return c
}

func bfclAnswers(path string) (map[string][]map[string]map[string][]any, error) {
	text, err := readText(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := make(map[string][]map[string]map[string][]any)
	line := 0
	for row := range bytes.Lines(text) {
		line++
		var a struct {
			ID    string                        `json:"id"`
			Truth []map[string]map[string][]any `json:"ground_truth"`
		}
		dec := json.NewDecoder(bytes.NewReader(row))
		dec.UseNumber()
		err := dec.Decode(&a)
		if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
			return nil, fmt.Errorf("%s:%d: %s", path, line, onlySingleTurns)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", path, line, err)
		}
		out[a.ID] = a.Truth
	}
	return out, nil
}

// bfclMembers reads allowed values by name. The empty text among them means that the member may be missing.
func bfclMembers(args map[string][]any) map[string]Match {
	out := make(map[string]Match, len(args))
	for name, allowed := range args {
		m := Match{AnyOf: make([]Match, len(allowed))}
		for i, v := range allowed {
			m.AnyOf[i] = bfclValue(v)
			m.Optional = m.Optional || v == ""
		}
		out[name] = m
	}
	return out
}

// bfclValue reads an allowed value. Each member of an object has a list of allowed values, too.
func bfclValue(v any) Match {
	switch v := v.(type) {
	case []any:
		m := Match{Items: make([]Match, len(v))}
		for i, item := range v {
			m.Items[i] = bfclValue(item)
		}
		return m
	case map[string]any:
		lists := make(map[string][]any, len(v))
		for name, allowed := range v {
			list, ok := allowed.([]any)
			if !ok {
				list = []any{allowed}
			}
			lists[name] = list
		}
		return Match{Members: bfclMembers(lists)}
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return Match{AnyOf: []Match{}}
	}
	return Match{Value: raw, Fold: true}
}
