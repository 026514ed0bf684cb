package realmodel

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool/builtin"
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

// Requests over the built-in tools. Those of fresh.jsonl were written by somebody who had not read the rules for small models.
var (
	//go:embed testdata/everyday.jsonl
	everydayFile []byte
	//go:embed testdata/fresh.jsonl
	freshFile []byte
)

// Request is an everyday request over the built-in tools.
type Request struct {
	Ask string
	// Calls are those that each answer the request, with the allowed values of each
	// argument. The empty text allows an argument to be missing, and a text after ~
	// allows every text that has its words. No call means that none is right.
	Calls []struct {
		Tool string
		Args map[string][]any
	}
}

// Everyday returns requests that people make of the built-in tools. Those with an odd
// index were held back while the rules for small models were written.
func Everyday() []Request { return requests(everydayFile) }

// Fresh returns requests that were written without knowledge of the rules for small models.
func Fresh() []Request { return requests(freshFile) }

func requests(file []byte) []Request {
	var out []Request
	dec := json.NewDecoder(bytes.NewReader(file))
	for dec.More() {
		var r Request
		if err := dec.Decode(&r); err != nil {
			panic(err) // it is part of the program
		}
		out = append(out, r)
	}
	return out
}

// Builtins returns the definitions of the built-in tools. dir is a folder.
func Builtins(dir string) ([]llm.ToolDef, error) {
	files, err := builtin.OpenFiles(dir)
	if err != nil {
		return nil, err
	}
	defer files.Close()
	search, err := builtin.Search{Engine: "duckduckgo"}.Tool()
	if err != nil {
		return nil, err
	}
	var out []llm.ToolDef
	for _, t := range append(files.Tools(), builtin.Command{}.Tool(), builtin.Fetch{}.Tool(), search) {
		out = append(out, t.Def())
	}
	return out, nil
}

// RightTool reports whether the calls are one call of a right tool, or none where none is right.
func (r Request) RightTool(calls []llm.Call) bool {
	if len(calls) != 1 {
		return len(calls) == 0 && len(r.Calls) == 0
	}
	for _, c := range r.Calls {
		if c.Tool == calls[0].Name {
			return true
		}
	}
	return false
}

// Right reports whether the calls are one right call, or none where none is right.
func (r Request) Right(calls []llm.Call) bool {
	if !r.RightTool(calls) || len(calls) == 0 {
		return r.RightTool(calls)
	}
	var got map[string]any
	if json.Unmarshal(calls[0].Args, &got) != nil {
		return false
	}
	for _, c := range r.Calls {
		if c.Tool == calls[0].Name && allows(c.Args, got) {
			return true
		}
	}
	return false
}

func allows(want map[string][]any, got map[string]any) bool {
	for name := range got {
		if _, known := want[name]; !known {
			return false
		}
	}
	for name, values := range want {
		v, given := got[name]
		if !given && !slices.Contains(values, any("")) {
			if list := slices.ContainsFunc(values, func(w any) bool { l, ok := w.([]any); return ok && len(l) == 0 }); !list {
				return false
			}
		}
		if given && !slices.ContainsFunc(values, func(w any) bool { return allowsValue(w, v) }) {
			return false
		}
	}
	return true
}

func allowsValue(want, got any) bool {
	text, isText := want.(string)
	if words, some := strings.CutPrefix(text, "~"); isText && some {
		lower := strings.ToLower(fmt.Sprint(got))
		return !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(w string) bool { return !strings.Contains(lower, w) })
	}
	return reflect.DeepEqual(want, got)
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
