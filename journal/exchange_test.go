package journal_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
)

// TestExchanges gets every request back as it was asked, although the record
// holds only what each adds to the one before.
func TestExchanges(t *testing.T) {
	half, seed, strict := 0.5, int64(7), true
	first := &llm.Request{
		Model: "m", System: "Be brief.", Messages: []llm.Message{llm.User("Weather in Rome?")}, OneCall: true, MaxTokens: 100,
		Tools:       []llm.ToolDef{{Name: "weather", Description: "d", Schema: json.RawMessage(`{"type":"object"}`), Strict: &strict}},
		Choice:      llm.ToolChoice{Mode: llm.MustCall, Allowed: []string{}},
		Temperature: &half, Seed: &seed, Stop: []string{"x"}, Reasoning: &llm.Reasoning{Effort: "low"},
		Output: &llm.Output{Name: "o", Schema: json.RawMessage(`{"type":"object"}`)},
	}
	second := first.Clone()
	second.Choice, second.Output = llm.ToolChoice{}, nil
	second.Messages = append(second.Messages, llm.Assistant(llm.Call{ID: "call_1", Name: "weather", Args: json.RawMessage(`{"city":"Rome"}`)}),
		llm.Results(llm.Result{CallID: "call_1", Name: "weather", Parts: []llm.Part{llm.Text{Text: "sunny"}}}))
	store := new(journal.Memory)
	rec, err := journal.Open(t.Context(), store, "r")
	if err != nil {
		t.Fatal(err)
	}
	for i, req := range []*llm.Request{first, second} {
		e, err := rec.Request(t.Context(), req)
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			if _, err := rec.Answer(t.Context(), e, &llm.Response{Message: second.Messages[1], Finish: llm.Finish{Reason: llm.ToolCalls}}, 0, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
	got, err := journal.Exchanges(store.Read(t.Context(), "r", 0))
	if err != nil || len(got) != 2 {
		t.Fatal(len(got), err)
	}
	for i, want := range []*llm.Request{first, second} {
		if d := cmp.Diff(want, got[i].Request, cmp.Comparer(func(a, b *llm.Budget) bool { return true })); d != "" {
			t.Errorf("request %d:\n%s", i, d)
		}
		was, err := journal.RequestHash(want)
		if is, _ := journal.RequestHash(got[i].Request); err != nil || was != is {
			t.Errorf("request %d has hash %s, and had %s", i, is, was)
		}
	}
	if got[0].Answer == nil || len(got[0].Answer.Message.Calls()) != 1 || got[1].Answer != nil {
		t.Errorf("answers %+v %+v", got[0].Answer, got[1].Answer)
	}
}
