package wire

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/internal/wire/history"
	"github.com/toolpost/toolpost/llm"
)

func limit(t testing.TB, pattern string) catalog.Limit {
	t.Helper()
	var l catalog.Limit
	err := l.UnmarshalText([]byte(pattern))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// targets are the rules of vendors that differ.
func targets(t testing.TB) map[string]history.Rules {
	plain := limit(t, "[a-zA-Z0-9_-]{1,64}")
	return map[string]history.Rules{
		"openai":    {Name: plain, ID: limit(t, "[a-zA-Z0-9_-]{1,40}")},
		"anthropic": {Name: plain, ID: plain, NoFreeTools: true},
		"mistral":   {Name: plain, ID: limit(t, "[a-zA-Z0-9]{9}")},
		"kimi":      {Name: plain, IDForm: "functions.{name}:{index}"},
		"gemini":    {Name: limit(t, "[a-zA-Z0-9_.-]{1,64}"), LetterFirst: true},
		"anything":  {},
	}
}

func awkward() *llm.Request {
	long := strings.Repeat("very_long_name_", 8)
	names := []string{"weather", "files.read", "files/read", "files_read", long, long + "2", "9lives", "größe"}
	req := &llm.Request{Choice: llm.ToolChoice{Mode: llm.MustCall, Name: "files.read", Allowed: []string{"files.read", "weather"}}}
	for _, n := range names {
		req.Tools = append(req.Tools, llm.ToolDef{Name: n})
	}
	req.Tools = append(req.Tools, llm.ToolDef{Kind: llm.FreeTool, Name: "sh.run", Grammar: &llm.Grammar{Syntax: "lark", Definition: "start: WORD"}})
	call := func(id, name, args string) llm.Call {
		return llm.Call{ID: id, Name: name, Args: json.RawMessage(args)}
	}
	longID := strings.Repeat("x", 4572) // seen in the wild: a signature smuggled into an id
	req.Messages = []llm.Message{
		llm.User("go"),
		llm.Assistant(call("call_1", "weather", `{}`), call(longID, "files.read", `{}`), call("a:b/c", long, `{}`)),
		llm.Results(llm.Result{CallID: "call_1", Name: "weather"}, llm.Result{CallID: longID, Name: "files.read"}, llm.Result{CallID: "a:b/c", Name: long}),
		llm.Assistant(call("same", "weather", `{"n":1}`), call("same", "weather", `{"n":2}`)),
		llm.Results(llm.Result{CallID: "same", Parts: []llm.Part{llm.Text{Text: "1"}}}, llm.Result{CallID: "same", Parts: []llm.Part{llm.Text{Text: "2"}}}),
		llm.Assistant(llm.Call{ID: "free", Name: "sh.run", Kind: llm.FreeTool, Args: json.RawMessage(`"ls \"x\""`)}),
	}
	return req
}

// TestRulesHold: every name and id of the target keeps to its rules, is unique,
// and leads back; results follow their calls.
func TestRulesHold(t *testing.T) {
	for vendor, rules := range targets(t) {
		req := awkward()
		before := fmt.Sprint(req)
		out, back := rules.Apply(req)
		if fmt.Sprint(req) != before {
			t.Fatalf("%s: the request was changed", vendor)
		}
		seen := map[string]bool{}
		for i, tool := range out.Tools {
			if !rules.Name.Allows(tool.Name) || rules.LetterFirst && !history.LetterFirst(tool.Name) {
				t.Errorf("%s: name %q", vendor, tool.Name)
			}
			if seen[tool.Name] {
				t.Errorf("%s: two tools are called %q", vendor, tool.Name)
			}
			seen[tool.Name] = true
			if got := back.Name(tool.Name); got != req.Tools[i].Name {
				t.Errorf("%s: %q leads back to %q, not %q", vendor, tool.Name, got, req.Tools[i].Name)
			}
		}
		checkIDs(t, vendor, rules, req, out, back)
		if got := back.Name(out.Choice.Name); got != "files.read" {
			t.Errorf("%s: choice %q", vendor, got)
		}
	}
}

func checkIDs(t *testing.T, vendor string, rules history.Rules, req, out *llm.Request, back *history.Aliases) {
	ids := map[string]bool{}
	for i, m := range out.Messages {
		var results []string
		for j, p := range m.Parts {
			switch p := p.(type) {
			case llm.Call:
				if rules.IDForm == "" && !rules.ID.Allows(p.ID) {
					t.Errorf("%s: id %q", vendor, p.ID)
				}
				if ids[p.ID] {
					t.Errorf("%s: two calls have the id %q", vendor, p.ID)
				}
				ids[p.ID] = true
				if diff := cmp.Diff(req.Messages[i].Parts[j], llm.Part(back.Call(p)), same); diff != "" {
					t.Errorf("%s: a call does not lead back:\n%s", vendor, diff)
				}
			case llm.Result:
				if !ids[p.CallID] || slices.Contains(results, p.CallID) {
					t.Errorf("%s: result %d of message %d has the id %q", vendor, j, i, p.CallID)
				}
				results = append(results, p.CallID)
			}
		}
	}
}

// TestAliasesAreStable: an alias does not depend on order or on other turns.
func TestAliasesAreStable(t *testing.T) {
	for vendor, rules := range targets(t) {
		a, _ := rules.Apply(awkward())
		req := awkward()
		slices.Reverse(req.Tools)
		b, _ := rules.Apply(req)
		slices.Reverse(b.Tools)
		if diff := cmp.Diff(a, b, same); diff != "" {
			t.Errorf("%s: another order of tools gives other aliases:\n%s", vendor, diff)
		}
	}
}

func TestAliasExamples(t *testing.T) {
	plain := limit(t, "[a-zA-Z0-9_-]{1,64}")
	req := &llm.Request{
		Tools:    []llm.ToolDef{{Name: "github.create_issue"}},
		Messages: []llm.Message{llm.Assistant(llm.Call{ID: "toolu_01ABC", Name: "github.create_issue"})},
	}
	out, _ := history.Rules{Name: plain, ID: limit(t, "[a-zA-Z0-9]{9}")}.Apply(req)
	if got := out.Tools[0].Name; got != "github_create_issue" {
		t.Errorf("a dot that collides with nothing: %q", got)
	}
	if got := out.Messages[0].Calls()[0].ID; len(got) != 9 {
		t.Errorf("mistral id %q", got)
	}
	out, _ = history.Rules{Name: plain, IDForm: "functions.{name}:{index}"}.Apply(req)
	if got := out.Messages[0].Calls()[0].ID; got != "functions.github_create_issue:0" {
		t.Errorf("kimi id %q", got)
	}
}

// TestFreeToolsComeBack: a free-text tool asked for as a function is free text
// again, streamed and not, and its deltas still join to its arguments.
func TestFreeToolsComeBack(t *testing.T) {
	_, back := targets(t)["anthropic"].Apply(awkward())
	call := llm.Call{ID: "1", Name: "sh_run", Args: json.RawMessage(`{"input":"ls"}`)}
	var events iter.Seq2[llm.Event, error] = func(yield func(llm.Event, error) bool) {
		_ = yield(llm.CallStart{ID: "1", Name: "sh_run"}, nil) && yield(llm.CallDelta{ID: "1", Args: `{"input":`}, nil) &&
			yield(llm.CallDelta{ID: "1", Args: `"ls"}`}, nil) && yield(call, nil)
	}
	var joined string
	var got llm.Call
	for ev, err := range back.Stream(events) {
		if err != nil {
			t.Fatal(err)
		}
		switch ev := ev.(type) {
		case llm.CallStart:
			if ev.Name != "sh.run" || ev.Kind != llm.FreeTool {
				t.Errorf("%+v", ev)
			}
		case llm.CallDelta:
			joined += ev.Args
		case llm.Call:
			got = ev
		}
	}
	if string(got.Args) != `"ls"` || got.Kind != llm.FreeTool || joined != string(got.Args) {
		t.Errorf("got %+v, deltas %q", got, joined)
	}
	for args, want := range map[string]string{`"ls"`: `"ls"`, `{"input":1}`: `"{\"input\":1}"`, `{"cmd":"ls"}`: `"{\"cmd\":\"ls\"}"`, ``: `""`} {
		if c := back.Call(llm.Call{ID: "1", Name: "sh_run", Args: json.RawMessage(args)}); c.Kind != llm.FreeTool || string(c.Args) != want {
			t.Errorf("%s is read as %s of kind %s", args, c.Args, c.Kind)
		}
	}
	whole := back.Response(&llm.Response{Message: llm.Assistant(call), Invalid: []llm.InvalidCall{{ID: "2", Name: "files_read"}}})
	if diff := cmp.Diff(got, whole.Message.Calls()[0], same); diff != "" {
		t.Error(diff)
	}
}
