package agent_test

import (
	"errors"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// What was said is passed on at once, taken back if the question is asked again,
// and is then in neither the answer nor the conversation.
func TestTakenBack(t *testing.T) {
	lost := &llm.Error{Op: "test", Kind: llm.Incomplete, Err: errors.New("it broke")}
	half := line{parts: []llm.Part{llm.Thinking{Text: "Hm."}, llm.Text{Text: "Half an ans"}}, err: lost}
	for name, c := range map[string]struct {
		first    line
		request  llm.Request
		retracts int
		messages int
	}{
		"broken off":     {first: half, retracts: 1, messages: 2},
		"before it said": {first: line{err: lost}, messages: 2},
		"thinking only":  {first: line{parts: []llm.Part{llm.Thinking{Text: "Hm."}}, err: lost}, retracts: 1, messages: 2},
		"no call":        {first: line{parts: []llm.Part{llm.Text{Text: "No."}}}, request: llm.Request{Choice: llm.ToolChoice{Mode: llm.MustCall}}, retracts: 1, messages: 6},
	} {
		store := new(journal.Memory)
		m := says(c.first, call("1", "echo", `{}`), "Done.")
		a := &agent.Agent{Model: m, Request: c.request, Store: store}
		if c.request.Choice.Mode != llm.MustCall {
			m.lines = []line{c.first, {parts: []llm.Part{llm.Text{Text: "Done."}}}}
		} else {
			a.Tools = runner(counted("echo", new(int), tool.ReadOnly))
		}
		l := run(t, a, "go")
		if l.err != nil || l.done.Text != "Done." || len(of[llm.Retract](l)) != c.retracts || len(l.done.Messages) != c.messages {
			t.Errorf("%s: error %v, text %q, %d retractions, messages %v", name, l.err, l.done.Text, len(of[llm.Retract](l)), l.done.Messages)
		}
		if n := len(of[refine.AnswerRetry](l)) + len(of[refine.Recovery](l)); n != 1 {
			t.Errorf("%s: said %d times that it is asked again", name, n)
		}
		if l.text() == "Done." != (c.retracts == 0 || c.first.parts == nil || name == "thinking only") {
			t.Errorf("%s: shown was %q", name, l.text())
		}
		if err := agent.Replay(t.Context(), store, l.done.Run); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// One layer asks again: a model that is wrapped already, or a structured answer
// that was tried, is not asked more often than the budget says.
func TestOneBudgetForAllThatAsksAgain(t *testing.T) {
	lost := &llm.Error{Op: "test", Kind: llm.Incomplete, Err: errors.New("it broke")}
	schema := &llm.OutputFormat{Schema: []byte(`{"type":"object","required":["x"]}`)}
	for name, c := range map[string]struct {
		says any
		out  *llm.OutputFormat
	}{
		"broken off":            {lost, nil},
		"empty":                 {"", nil},
		"no structured answer":  {"No.", schema},
		"structured, broke off": {lost, schema},
	} {
		for _, wrapped := range []bool{false, true} {
			m := says(c.says)
			a := &agent.Agent{Model: m, RetryBudget: 2, Request: llm.Request{Output: c.out}}
			if wrapped {
				a.Model = refine.Retry(refine.Whole(refine.Retry(m, 5)), 5)
			}
			if l := run(t, a, "go"); l.err == nil || len(m.asked) != 3 {
				t.Errorf("%s, wrapped %v: asked %d times, want 3; error %v", name, wrapped, len(m.asked), l.err)
			}
		}
	}
}
