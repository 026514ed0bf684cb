package realmodel

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/schema"
)

// Question is one case of the Berkeley Function Calling Leaderboard.
type Question struct {
	ID       string
	Messages []llm.Message
	Tools    []llm.ToolDef
	// Gold are the calls that answer it: the allowed values of each argument
	// by the name of the tool. None means that no call does.
	Gold []map[string]map[string]any
}

// Corpus returns the folder of the leaderboard's fourth version, or an error
// that says where it was looked for. root is the module root.
func Corpus(root string) (string, error) {
	dir := os.Getenv("TOOLPOST_CORPUS")
	if dir == "" {
		dir = filepath.Join(root, "..", "shared", "corpus")
	}
	dir = filepath.Join(dir, "bfcl", "v4")
	_, err := os.Stat(dir)
	return dir, err
}

// Questions reads a set of questions, "multiple" for one.
func Questions(dir, set string) ([]Question, error) {
	type row struct {
		ID       string
		Question [][]struct{ Role, Content string }
		Function []struct {
			Name, Description string
			Parameters        json.RawMessage
		}
		Truth []map[string]map[string]any `json:"ground_truth"`
	}
	rows, err := lines[row](filepath.Join(dir, "BFCL_v4_"+set+".json"))
	if err != nil {
		return nil, err
	}
	answers := filepath.Join(dir, "possible_answer", "BFCL_v4_"+set+".json")
	gold := map[string][]map[string]map[string]any{}
	if _, err := os.Stat(answers); err == nil {
		known, err := lines[row](answers)
		if err != nil {
			return nil, err
		}
		for _, r := range known {
			gold[r.ID] = r.Truth
		}
	}
	var out []Question
	for _, r := range rows {
		q := Question{ID: r.ID, Gold: gold[r.ID]}
		for _, m := range r.Question[0] {
			q.Messages = append(q.Messages, llm.Message{Role: llm.Role(m.Role), Parts: []llm.Part{llm.Text{Text: m.Content}}})
		}
		for _, f := range r.Function {
			q.Tools = append(q.Tools, llm.ToolDef{Name: f.Name, Description: f.Description, Schema: schema.Normalize(f.Parameters)})
		}
		out = append(out, q)
	}
	return out, nil
}

func lines[T any](name string) ([]T, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []T
	scan := bufio.NewScanner(f)
	scan.Buffer(nil, 1<<24)
	for scan.Scan() {
		var v T
		if err := json.Unmarshal(scan.Bytes(), &v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	return out, scan.Err()
}

// Right is the rule of the leaderboard: as many calls as wanted, in any order,
// each with the name, everything required, and no value that is not allowed.
func (q Question) Right(calls []llm.Call) bool {
	if len(calls) != len(q.Gold) {
		return false
	}
	left := slices.Clone(q.Gold)
	for _, c := range calls {
		var args map[string]any
		if json.Unmarshal(c.Args, &args) != nil {
			return false
		}
		i := slices.IndexFunc(left, func(g map[string]map[string]any) bool {
			want, ok := g[c.Name]
			return ok && rightArguments(want, args)
		})
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

func rightArguments(gold, got map[string]any) bool {
	for k, v := range got {
		allowed, ok := gold[k].([]any)
		if !ok || !slices.ContainsFunc(allowed, func(a any) bool { return sameValue(a, v) }) {
			return false
		}
	}
	for k, v := range gold {
		allowed, _ := v.([]any)
		if _, there := got[k]; !there && !slices.Contains(allowed, any("")) {
			return false
		}
	}
	return true
}

func sameValue(gold, got any) bool {
	switch gold := gold.(type) {
	case string:
		s, ok := got.(string)
		return ok && foldText(gold) == foldText(s)
	case []any:
		list, ok := got.([]any)
		return ok && slices.EqualFunc(gold, list, sameValue)
	case map[string]any:
		m, ok := got.(map[string]any)
		return ok && rightArguments(gold, m)
	}
	return reflect.DeepEqual(gold, got)
}

// foldText drops what the leaderboard does not compare.
func foldText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case strings.ContainsRune(" ,./-_*^", r):
			return -1
		case r == '\'':
			return '"'
		}
		return r
	}, strings.ToLower(s))
}

// Valid reports whether every call names an offered tool and has arguments
// that its schema allows.
func (q Question) Valid(calls []llm.Call) bool {
	for _, c := range calls {
		i := slices.IndexFunc(q.Tools, func(d llm.ToolDef) bool { return d.Name == c.Name })
		if i < 0 {
			return false
		}
		compiled, err := schema.Compile(q.Tools[i].Schema)
		if err != nil || len(compiled.Validate(c.Args)) > 0 {
			return false
		}
	}
	return true
}
