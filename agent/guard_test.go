package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/agent"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
	"github.com/toolpost/toolpost/tool"
)

// wordGuard blocks one word and replaces another.
func wordGuard(blocked, changed string) func(context.Context, string) (refine.GuardDecision, error) {
	return func(_ context.Context, text string) (refine.GuardDecision, error) {
		switch {
		case strings.Contains(text, blocked):
			return refine.GuardDecision{Verdict: refine.GuardBlock, Reason: "not here"}, nil
		case strings.Contains(text, changed):
			return refine.GuardDecision{Verdict: refine.GuardChange, Text: strings.ReplaceAll(text, changed, "[name]"), Reason: "a name"}, nil
		}
		return refine.GuardDecision{Verdict: refine.GuardAllow}, nil
	}
}

// record is all of a run as text.
func recordOf(t *testing.T, store journal.Store, run string) string {
	t.Helper()
	var all strings.Builder
	for e, err := range journal.Whole(store.Read(t.Context(), run, 0)) {
		if err != nil {
			t.Fatal(err)
		}
		all.WriteString(string(e.Kind) + " " + string(e.Body) + "\n")
	}
	return all.String()
}

func TestGuardrailsOfARun(t *testing.T) {
	guard := wordGuard("bomb", "Ada")
	rails := []refine.Guardrail{{Name: "words", Input: guard, Output: guard}}
	for _, c := range []struct{ name, said, answer, text, inRecord, notInRecord string }{
		{"changes the message", "I am Ada", "Hello!", "Hello!", `"verdict":"change"`, "Ada"},
		{"blocks the message", "a bomb", "Hello!", "", `"verdict":"block"`, "a bomb"},
		{"changes the answer", "Who?", "It is Ada.", "It is [name].", `"text":"It is [name]."`, ""},
		{"blocks the answer", "What?", "a bomb", "", `"verdict":"block"`, ""},
		{"allows both", "Hi", "Hello!", "Hello!", `"verdict":"allow"`, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := new(journal.Memory)
			a := &agent.Agent{Model: prepared(t, "-- 1 --\ntext "+c.answer+"\n"), Store: store, Guardrails: rails}
			var shown strings.Builder
			guards := 0
			var done agent.Done
			var failed error
			for ev, err := range a.Run(t.Context(), llm.User(c.said)) {
				switch ev := ev.(type) {
				case llm.TextDelta:
					shown.WriteString(ev.Text)
				case refine.GuardResult:
					guards++
				case agent.Done:
					done = ev
				}
				failed = err
			}
			var blocked *refine.BlockedError
			if is := errors.As(failed, &blocked); is != strings.HasPrefix(c.name, "blocks") || is && blocked.Name != "words" {
				t.Errorf("error %v", failed)
			}
			if done.Text != c.text || shown.String() != c.text || guards == 0 {
				t.Errorf("the text is %q, shown %q, %d decisions", done.Text, shown.String(), guards)
			}
			record := recordOf(t, store, done.Run)
			if !strings.Contains(record, c.inRecord) || c.notInRecord != "" && strings.Contains(record, c.notInRecord) {
				t.Errorf("record:\n%s", record)
			}
			if err := agent.Replay(t.Context(), store, done.Run); err != nil {
				t.Errorf("replay: %v", err)
			}
			if again, err := agent.Last(a.Resume(t.Context(), done.Run)); c.name == "blocks the message" && (err != nil || again.Status != agent.StatusFailed) {
				t.Errorf("a blocked run is resumed: %+v, %v", again.Status, err)
			}
		})
	}
}

func TestGuardrailsCheckTheMessagesOfAResume(t *testing.T) {
	store := new(journal.Memory)
	a := &agent.Agent{Model: prepared(t, "-- 1 --\ntext Hello!\n"), Store: store, MaxTurns: 1,
		Guardrails: []refine.Guardrail{{Name: "words", Input: wordGuard("bomb", "Ada")}}}
	ctx, cancel := context.WithCancel(t.Context())
	a.BeforeTurn = func(context.Context, *agent.TurnStart) error { cancel(); return context.Canceled }
	done, err := a.Ask(ctx, llm.User("Hi"))
	if err == nil {
		t.Fatal("it was not interrupted")
	}
	a.BeforeTurn = nil
	var blocked *refine.BlockedError
	if _, err := agent.Last(a.Resume(t.Context(), done.Run, llm.User("a bomb"))); !errors.As(err, &blocked) {
		t.Errorf("error %v", err)
	}
	if record := recordOf(t, store, done.Run); strings.Contains(record, "a bomb") {
		t.Errorf("the record has the message:\n%s", record)
	}
	done, err = agent.Last(a.Resume(t.Context(), done.Run, llm.User("I am Ada")))
	if err != nil || done.Text != "Hello!" || strings.Contains(recordOf(t, store, done.Run), "Ada") {
		t.Errorf("%+v, %v", done, err)
	}
	if err := agent.Replay(t.Context(), store, done.Run); err != nil {
		t.Error(err)
	}
}

// TestRedactKeepsSecretsFromModelAndRecord: the message, the prompt and the result of a tool.
func TestRedactKeepsSecretsFromModelAndRecord(t *testing.T) {
	read := tool.Func("read", "Reads", func(context.Context, struct{}) (map[string]string, error) {
		return map[string]string{"iban": "DE12 3456", "ok": "yes"}, nil
	})
	store := new(journal.Memory)
	a := &agent.Agent{Model: prepared(t, "-- 1 --\ncall read {}\n-- 2 --\ntext done\n"), Store: store, System: "The owner is DE99 9999.",
		Tools: &invoke.Runner{Tools: tool.MustSet(read), Redact: invoke.Redact(`DE\d\d \d{4}`)}}
	done, err := a.Ask(t.Context(), llm.User("My account is DE11 2222."))
	if err != nil || done.Ran != 1 {
		t.Fatalf("%+v %v", done, err)
	}
	if record := recordOf(t, store, done.Run); strings.Contains(record, "DE1") || strings.Contains(record, "DE9") || !strings.Contains(record, "yes") {
		t.Errorf("record:\n%s", record)
	}
	if said := string(mustJSON(t, done.Messages)); strings.Contains(said, "DE1") {
		t.Errorf("messages: %s", said)
	}
}
