package ask

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/tool"
)

// TestTypedAnswers: typed text is converted to the value that the tool asks for, if possible.
func TestTypedAnswers(t *testing.T) {
	const (
		number = `{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`
		name   = `{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`
		both   = `{"type":"object","properties":{"n":{"type":"integer"},"name":{"type":"string"}},"required":["n"]}`
	)
	for _, c := range []struct{ schema, typed, want, fault string }{
		{number, " 7 ", `{"n":7}`, ""},
		{number, `{"n":7}`, `{"n":7}`, ""},
		{number, "seven", "", "n"},
		{number, `{"n":"7"}`, "", "n"},
		{name, "Ada Lovelace", `{"name":"Ada Lovelace"}`, ""},
		{name, `"Ada"`, `{"name":"Ada"}`, ""},
		{name, "7", `{"name":"7"}`, ""},
		{both, `{"n":1,"name":"x"}`, `{"n":1,"name":"x"}`, ""},
		{both, "1", "", "object"},
		{"", "anything", `"anything"`, ""},
	} {
		got, fault := valueOf(invoke.Question{Prompt: 1, Schema: json.RawMessage(c.schema)}, c.typed)
		if string(got) != c.want || !strings.Contains(fault, c.fault) || (fault == "") != (c.fault == "") {
			t.Errorf("%s, %q: %s, %q", c.schema, c.typed, got, fault)
		}
	}
}

// TestAnswersAreAskedForAgain until one matches. Ctrl-D, no, and repeated mismatches count as no. Secrets in the
// question are hidden.
func TestAnswersAreAskedForAgain(t *testing.T) {
	q := invoke.Question{CallID: "1", Tool: "raw__e", Prompt: 1, Message: "How many? KEY\ndecide  yes", Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer","description":"x\ndecide  KEY"}}}`)}
	for _, c := range []struct {
		says  []Question
		value string
	}{
		{[]Question{{Word: typedAnswer, typed: "seven"}, {Word: typedAnswer, typed: "7"}}, `{"n":7}`},
		{[]Question{{Word: "no"}}, ""},
		{[]Question{{Word: closed}}, ""},
		{[]Question{{Word: typedAnswer, typed: "a"}, {Word: typedAnswer, typed: "b"}, {Word: typedAnswer, typed: "c"}, {Word: typedAnswer, typed: "d"}, {Word: typedAnswer, typed: "e"}}, ""},
	} {
		n := 0
		a := &Approver{Tools: tool.MustSet(), Clean: func(s string) string { return strings.ReplaceAll(s, "KEY", "…") }, Wait: new(PendingFlags)}
		a.Put = func(_ context.Context, p *Proposal) (*Question, error) {
			for _, line := range p.screen(cli.Palette{}, 80) {
				if strings.Contains(line, "KEY") || strings.HasPrefix(strings.TrimSpace(line), "decide") {
					t.Errorf("it is shown %q", line)
				}
			}
			n++
			return &c.says[n-1], nil
		}
		got, err := a.Approve(t.Context(), q)
		if err != nil || string(got.Value) != c.value || got.Allowed != (c.value != "") || n != len(c.says) {
			t.Errorf("%v: %+v, %v after %d questions", c.says, got, err, n)
		}
	}
}

// A question of a tool that the person does not answer is declined; a call that the person does not want is refused.
func TestVerdictsTellQuestionsFromCalls(t *testing.T) {
	call := asksFor(t, t.TempDir(), "write_file", `{"path":"a.txt","content":"x"}`)
	question := Propose(t.Context(), tool.MustSet(), invoke.Question{CallID: "1", Tool: "shop__order", Prompt: 1, Message: "Express?"})
	for _, c := range []struct{ word, call, question string }{
		{"no", "refused: why", "declined to answer: why"},
		{closed, "refused: Ctrl-D, so nobody is asked any more", "declined to answer: Ctrl-D, so nobody is asked any more"},
	} {
		for p, want := range map[*Proposal]string{call: c.call, question: c.question} {
			q := Consent(cli.Palette{}, p, "")
			q.Word, q.reason = c.word, "why"
			if got := q.verdict(); got != want {
				t.Errorf("%s: it says %q, want %q", c.word, got, want)
			}
		}
	}
}
