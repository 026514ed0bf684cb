package smallmodel

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/emulate"
	"github.com/toolpost/toolpost/internal/js"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool/builtin"
)

// everydayRequest is a line of everyday.jsonl: a request, and the calls that each
// answer it. None means that no call does.
type everydayRequest struct {
	Ask   string
	Calls []struct {
		Tool string
		Args map[string][]any
	}
}

func everyday(t testing.TB) []everydayRequest {
	t.Helper()
	return requestsIn(t, "everyday.jsonl")
}

func requestsIn(t testing.TB, file string) []everydayRequest {
	t.Helper()
	data, err := os.ReadFile("../../../conformance/realmodel/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out []everydayRequest
	for scan := bufio.NewScanner(bytes.NewReader(data)); scan.Scan(); {
		var r everydayRequest
		if err := json.Unmarshal(scan.Bytes(), &r); err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

// builtins are the definitions of all built-in tools.
func builtins(t testing.TB) []llm.ToolDef {
	t.Helper()
	files, err := builtin.OpenFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { files.Close() })
	var out []llm.ToolDef
	search, err := builtin.Search{Engine: "duckduckgo"}.Tool()
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range append(files.Tools(), builtin.Command{}.Tool(), builtin.Fetch{}.Tool(), search) {
		out = append(out, one.Def())
	}
	return out
}

// fixed returns the arguments that the schema of a request's answer leaves no choice
// about. free is set if another argument is left to the model.
func fixed(t testing.TB, text string, tools []llm.ToolDef) (args map[string]any, free bool) {
	t.Helper()
	var schema json.RawMessage
	e := emulate.Emulation{Size: 1, Decider: Wording{}, Host: emulate.Host{Schema: func(_ *llm.Request, s json.RawMessage) { schema = s }}}
	if _, err := e.Plan(&llm.Request{Messages: []llm.Message{llm.User(text)}, Tools: tools}); err != nil {
		t.Fatal(err)
	}
	args = map[string]any{}
	for name, p := range keywordsOf(keywordsOf(schema)["properties"]) {
		if values := js.Decode[[]any](keywordsOf(p)["enum"]); len(values) == 1 {
			args[name] = values[0]
		} else {
			free = true
		}
	}
	return args, free
}

// The right one of the built-in tools is chosen for everyday requests, and its
// arguments are copied from the request. Requests with an odd index were held back
// while the rules were written.
func TestEverydayRequestsGetTheRightTool(t *testing.T) {
	tools := builtins(t)
	var tool, call, open, all [2]int
	for i, r := range everyday(t) {
		chosen, reason := conversationOf([]llm.Message{llm.User(r.Ask)}).Choose(tools, llm.ToolChoice{}, false)
		var names []string
		for _, d := range chosen {
			names = append(names, d.Name)
		}
		got, half := strings.Join(names, " "), i%2
		all[half]++
		named, right := len(r.Calls) == 0 && got == "", false
		args, free := map[string]any{}, false
		if len(chosen) == 1 {
			args, free = fixed(t, r.Ask, tools)
		}
		right = named
		for _, c := range r.Calls {
			if c.Tool == got {
				named = true
				right = right || !free && allowed(c.Args, args)
			}
		}
		if named {
			tool[half]++
		}
		switch {
		case right:
			call[half]++
		case named && free:
			open[half]++
		}
		if half == 0 && !right {
			t.Logf("%q: %q %v, free %v (%s)", r.Ask, got, args, free, reason)
		}
	}
	for half, name := range []string{"tuned", "held back"} {
		t.Logf("%s: of %d requests %d get the right tool; %d of these the right arguments by rule, and %d by the model", name, all[half], tool[half], call[half], open[half])
		if 100*tool[half] < 85*all[half] {
			t.Errorf("%s: the right tool for %d of %d, want 85 %%", name, tool[half], all[half])
		}
		if 100*call[half] < 60*all[half] {
			t.Errorf("%s: the right call for %d of %d, want 60 %%", name, call[half], all[half])
		}
	}
}

// allowed reports whether arguments are those that a line of everyday.jsonl wants.
func allowed(want map[string][]any, got map[string]any) bool {
	for name, value := range got {
		if !slices.ContainsFunc(want[name], func(w any) bool {
			words, some := strings.CutPrefix(fmt.Sprint(w), "~")
			return reflect.DeepEqual(w, value) || some && !slices.ContainsFunc(strings.Fields(strings.ToLower(words)), func(w string) bool {
				return !strings.Contains(strings.ToLower(fmt.Sprint(value)), w)
			})
		}) {
			return false
		}
	}
	for name, values := range want {
		if _, given := got[name]; !given && !slices.ContainsFunc(values, func(w any) bool { return w == "" || fmt.Sprint(w) == "[]" }) {
			return false
		}
	}
	return true
}

// ownTools do what the built-in tools do, under other names and with other parameters.
var ownTools = map[string]llm.ToolDef{
	"list_files":   {Name: "dir_tree", Description: "Lists what is in a directory.", Schema: []byte(`{"type":"object","properties":{"directory":{"type":"string"},"glob":{"type":"string"}}}`)},
	"read_file":    {Name: "cat_document", Description: "Returns the document.", Schema: []byte(`{"type":"object","properties":{"filename":{"type":"string"}},"required":["filename"]}`)},
	"search_files": {Name: "grep_code", Description: "Finds a term.", Schema: []byte(`{"type":"object","properties":{"term":{"type":"string"},"folder":{"type":"string"}},"required":["term"]}`)},
	"write_file":   {Name: "new_document", Description: "Stores a document.", Schema: []byte(`{"type":"object","properties":{"filename":{"type":"string"},"text":{"type":"string"}},"required":["filename","text"]}`)},
	"edit_file":    {Name: "patch", Description: "Changes a document.", Schema: []byte(`{"type":"object","properties":{"filename":{"type":"string"},"before":{"type":"string"},"after":{"type":"string"}},"required":["filename","before","after"]}`)},
	"run_command":  {Name: "shell", Description: "Runs a line.", Schema: []byte(`{"type":"object","properties":{"command":{"type":"string"}},"required":["command"]}`)},
	"fetch_url":    {Name: "download", Description: "Gets a page.", Schema: []byte(`{"type":"object","properties":{"uri":{"type":"string"}},"required":["uri"]}`)},
	"web_search":   {Name: "ask_internet", Description: "Results from the internet.", Schema: []byte(`{"type":"object","properties":{"q":{"type":"string"}},"required":["q"]}`)},
}

// Tools of users are chosen by the parameters that they declare, not by their names.
func TestEverydayRequestsWithToolsOfOtherNames(t *testing.T) {
	var tools []llm.ToolDef
	for _, d := range builtins(t) {
		tools = append(tools, ownTools[d.Name])
	}
	right, all := 0, everyday(t)
	for i, r := range all {
		chosen, _ := conversationOf([]llm.Message{llm.User(r.Ask)}).Choose(tools, llm.ToolChoice{}, false)
		ok := len(r.Calls) == 0 && len(chosen) == 0
		for _, c := range r.Calls {
			ok = ok || len(chosen) == 1 && chosen[0].Name == ownTools[c.Tool].Name
		}
		if ok {
			right++
		} else if i%2 == 0 {
			t.Logf("%q: %v", r.Ask, chosen)
		}
	}
	t.Logf("the right tool for %d of %d", right, len(all))
	if 100*right < 85*len(all) {
		t.Errorf("the right tool for %d of %d requests, want 85 %%", right, len(all))
	}
}
