package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
	"github.com/toolpost/toolpost/tool/builtin"
)

// TestNobodyIsAskedAboutAnImpossibleCall: a call that is known to fail goes back to the
// model with the reason. A person is asked about a call that may be possible after the
// calls before it.
func TestNobodyIsAskedAboutAnImpossibleCall(t *testing.T) {
	for _, c := range []struct {
		name  string
		calls []llm.Part
		asked string // the tools a person is asked about
		told  string // to the model
	}{
		{"no such program", []llm.Part{call("c", "run_command", `{"program":"no-such-program-xyz"}`)}, "[]", "validation: no-such-program-xyz cannot be run"},
		{"no such program in the folder", []llm.Part{call("c", "run_command", `{"program":"./nothing.sh"}`)}, "[]", "cannot be run"},
		{"a program that cannot be run", []llm.Part{call("c", "run_command", `{"program":"./plain"}`)}, "[]", "cannot be run"},
		{"not a name of a program", []llm.Part{call("c", "run_command", `{"program":"ls | wc"}`)}, "[]", "is not the name of a program"},
		{"file exists", []llm.Part{call("c", "write_file", `{"path":"docs/a.txt","content":"x"}`)}, "[]", "docs/a.txt exists"},
		{"out of the folder", []llm.Part{call("c", "write_file", `{"path":"../a.txt","content":"x"}`)}, "[]", "leads out of"},
		{"edit of a file that was not read", []llm.Part{call("c", "edit_file", `{"path":"docs/a.txt","old_text":"a","new_text":"b"}`)}, "[]", "has not been read"},
		{"edit of no file", []llm.Part{call("c", "edit_file", `{"path":"docs/none.txt","old_text":"a","new_text":"b"}`)}, "[]", "there is no docs/none.txt"},
		{"invalid value", []llm.Part{call("c", "write_file", `{"path":"","content":"x"}`)}, "[]", "validation"},
		{"possible after the call before", []llm.Part{call("a", "write_file", `{"path":"n.txt","content":"x\n"}`), call("b", "edit_file", `{"path":"n.txt","old_text":"x","new_text":"y"}`)},
			"[write_file edit_file edit_file]", "wrote n.txt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := swapFolder(t)
			files, err := builtin.OpenFiles(dir)
			must(t, err)
			defer files.Close()
			tools := append(files.Tools(), builtin.Command{Dir: dir}.Tool())
			var asks questions
			a := &agent.Agent{
				Model: says(c.calls, "All is done."), Store: new(journal.Memory),
				Tools: &invoke.Runner{Tools: tool.MustSet(tools...), Policy: invoke.AskFirst(invoke.AllowReadOnly), Approve: asks.allow},
			}
			l := run(t, a, "go")
			if l.err != nil || fmt.Sprint(asks.tools()) != c.asked || !strings.Contains(conversation(l.done.Messages), c.told) {
				t.Errorf("asked %v, want %s; %v\n%s", asks.tools(), c.asked, l.err, conversation(l.done.Messages))
			}
			if strings.HasPrefix(c.name, "possible") && strings.Contains(conversation(l.done.Messages), "not run") {
				t.Errorf("%s", conversation(l.done.Messages))
			}
			if i := slices.IndexFunc(of[invoke.Outcome](l), func(o invoke.Outcome) bool { return o.Error != nil }); c.asked == "[]" && i < 0 {
				t.Error("it ran")
			}
		})
	}
}

// questions allows every call and keeps the questions.
type questions []invoke.Question

func (q *questions) allow(_ context.Context, one invoke.Question) (journal.Approval, error) {
	*q = append(*q, one)
	return one.Answer(true, "ada", ""), nil
}

func (q questions) tools() []string {
	names := make([]string, len(q))
	for i := range q {
		names[i] = q[i].Tool
	}
	return names
}
