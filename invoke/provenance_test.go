package invoke_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/tool"
)

// TestWhereCallsComeFrom: of calls that may change things, those that only text
// says are calls, or that the user's messages hold already, need a person; an
// explicit policy still decides; and the receipt says where a call came from.
func TestWhereCallsComeFrom(t *testing.T) {
	attacks := 0
	defer func() { t.Logf("%d attacks", attacks) }()
	native := llm.Provenance{}
	marked := llm.Provenance{Dialect: "hermes_json", Marked: true}
	bare := llm.Provenance{Dialect: "json_fence"}
	echo := llm.Provenance{Dialect: "hermes_json", Marked: true, Echo: "message 1, of the user"}
	yes := func(_ context.Context, q invoke.Question) (journal.Approval, error) {
		return q.Answer(true, "ada", ""), nil
	}
	for _, c := range []struct {
		name    string
		effects tool.Effects
		from    llm.Provenance
		policy  invoke.Policy
		approve func(context.Context, invoke.Question) (journal.Approval, error)
		runs    bool
		reason  string // of a refusal, and of a question
		source  llm.Source
	}{
		{"native", 0, native, nil, nil, true, "", ""},
		{"marked", 0, marked, nil, nil, true, "", "text:marked"},
		{"bare that changes something, nobody to ask", 0, bare, nil, nil, false, "nobody can be asked: work may change things, and the call was found in the model's text without a marker", "text:bare"},
		{"bare that changes something, a person allows it", 0, bare, nil, yes, true, "without a marker", "text:bare"},
		{"bare that only reads", tool.ReadOnly, bare, nil, nil, true, "", "text:bare"},
		{"bare, idempotent still changes things", tool.Idempotent, bare, nil, nil, false, "without a marker", "text:bare"},
		{"bare, and a policy that asks first", 0, bare, invoke.AskFirst(nil), yes, true, "without a marker", "text:bare"},
		{"bare, and a policy that asks first and nobody to ask", 0, bare, invoke.AskFirst(nil), nil, false, "without a marker", "text:bare"},
		{"bare, and everything is allowed", 0, bare, invoke.AllowAll, nil, true, "", "text:bare"},
		{"bare, and it is named", 0, bare, invoke.AllowNamed("work"), nil, true, "", "text:bare"},
		{"bare, and another is named", 0, bare, invoke.AllowNamed("other"), nil, false, "without a marker", "text:bare"},
		{"the user's words, nobody to ask", 0, echo, nil, nil, false, "the same call is in message 1, of the user", "text:marked"},
		{"the user's words, a person allows it", 0, echo, nil, yes, true, "the same call is in", "text:marked"},
		{"the user's words, only read", tool.ReadOnly, echo, nil, nil, true, "", "text:marked"},
		{"the user's words, and everything is allowed", 0, echo, invoke.AllowAll, nil, true, "", "text:marked"},
	} {
		attacks++
		ran, asked := false, ""
		work := tool.Func("work", "Does something", func(context.Context, struct{}) (string, error) { ran = true; return "done", nil })
		work.Effects = c.effects
		runner := &invoke.Runner{Tools: tool.MustSet(work), Policy: c.policy}
		if c.approve != nil {
			runner.Approve = func(ctx context.Context, q invoke.Question) (journal.Approval, error) {
				asked = q.Reason
				return c.approve(ctx, q)
			}
		}
		session, err := runner.Session(nil)
		if err != nil {
			t.Fatal(err)
		}
		var out invoke.Outcome
		for ev, err := range session.Do(t.Context(), []llm.Call{{ID: "1", Name: "work", Args: json.RawMessage("{}"), Provenance: c.from}}) {
			if err != nil {
				t.Fatal(err)
			}
			if o, ok := ev.(invoke.Outcome); ok {
				out = o
			}
		}
		said := out.Receipt.Reason + asked
		if ran != c.runs || !strings.Contains(said, c.reason) || c.reason == "" && said != "" || out.Receipt.Source != c.source {
			t.Errorf("%s: ran %v, said %q, source %q", c.name, ran, said, out.Receipt.Source)
		}
		for _, p := range out.Result.Parts {
			if text := p.(llm.Text); text.Ours == ran {
				t.Errorf("%s: the result is marked as ours: %v", c.name, text.Ours)
			}
		}
	}
}
