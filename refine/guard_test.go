package refine_test

import (
	"context"
	"errors"
	"iter"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

func allow(context.Context, string) (refine.GuardDecision, error) {
	return refine.GuardDecision{Verdict: refine.GuardAllow}, nil
}

func block(word string) func(context.Context, string) (refine.GuardDecision, error) {
	return func(_ context.Context, text string) (refine.GuardDecision, error) {
		if strings.Contains(text, word) {
			return refine.GuardDecision{Verdict: refine.GuardBlock, Reason: "a forbidden word"}, nil
		}
		return refine.GuardDecision{Verdict: refine.GuardAllow}, nil
	}
}

func replace(from, to string) func(context.Context, string) (refine.GuardDecision, error) {
	return func(_ context.Context, text string) (refine.GuardDecision, error) {
		if !strings.Contains(text, from) {
			return refine.GuardDecision{Verdict: refine.GuardAllow}, nil
		}
		return refine.GuardDecision{Verdict: refine.GuardChange, Text: strings.ReplaceAll(text, from, to), Reason: "a name"}, nil
	}
}

// repeater answers with the last message, in pieces, after thinking about it.
func repeater(_ context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
	text := req.Messages[len(req.Messages)-1].Text()
	return func(yield func(llm.Event, error) bool) {
		events := []llm.Event{llm.Start{ID: "1"}, llm.ThinkingDelta{Text: text}}
		for _, r := range text {
			events = append(events, llm.TextDelta{Text: string(r)})
		}
		for _, ev := range append(events, llm.Warning{Code: llm.Degraded, Detail: "x"}, llm.Finish{Reason: llm.Stop}) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func TestGuardrails(t *testing.T) {
	for _, c := range []struct {
		name, said, want, verdicts string
		rails                      []refine.Guardrail
	}{
		{"allowed on both sides", "hi", "hi", "input allow output allow", []refine.Guardrail{{Name: "g", Input: allow, Output: allow}}},
		{"changed input", "I am Ada", "I am X", "input change", []refine.Guardrail{{Name: "g", Input: replace("Ada", "X")}}},
		{"changed output", "I am Ada", "I am X", "output change", []refine.Guardrail{{Name: "g", Output: replace("Ada", "X")}}},
		{"one after the other", "Ada", "Z", "input change input change", []refine.Guardrail{{Name: "g", Input: replace("Ada", "Y")}, {Name: "h", Input: replace("Y", "Z")}}},
		{"blocked input", "bad", "", "input block", []refine.Guardrail{{Name: "g", Input: block("bad")}, {Name: "h", Input: allow}}},
		{"blocked output", "bad", "", "output block", []refine.Guardrail{{Name: "g", Output: block("bad")}}},
		{"no verdict blocks", "hi", "", "input block", []refine.Guardrail{{Name: "g", Input: func(context.Context, string) (refine.GuardDecision, error) { return refine.GuardDecision{}, nil }}}},
		{"an error blocks", "hi", "", "output block", []refine.Guardrail{{Name: "g", Output: func(context.Context, string) (refine.GuardDecision, error) {
			return refine.GuardDecision{Verdict: refine.GuardAllow}, errors.New("no connection")
		}}}},
		{"a panic blocks", "hi", "", "output block", []refine.Guardrail{{Name: "g", Output: func(context.Context, string) (refine.GuardDecision, error) { panic("oops") }}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var b llm.Builder
			var verdicts []string
			var failed error
			for ev, err := range refine.Guard(llm.ModelFunc(repeater), c.rails...).Stream(t.Context(), &llm.Request{Messages: []llm.Message{llm.User(c.said)}}) {
				if err != nil {
					failed = err
					break
				}
				if g, ok := ev.(refine.GuardResult); ok {
					verdicts = append(verdicts, string(g.Side), string(g.Verdict))
				}
				b.Add(ev)
			}
			var blocked *refine.BlockedError
			if got := b.Response().Message.Text(); got != c.want || strings.Join(verdicts, " ") != c.verdicts {
				t.Errorf("%q, %q", got, verdicts)
			}
			if is := errors.As(failed, &blocked); is != strings.HasSuffix(c.verdicts, "block") || is && (blocked.Name != "g" || llm.KindOf(failed) != llm.Refused) {
				t.Errorf("error %v", failed)
			}
			for _, p := range b.Response().Message.Parts {
				if th, ok := p.(llm.Thinking); ok && c.name == "changed output" {
					t.Errorf("thinking shows what was changed: %q", th.Text)
				}
			}
		})
	}
}

// TestGuardedAnswerIsHeldUntilItIsChecked: nothing of a text is delivered before its guardrail has
// seen all of it, also if the stream fails.
func TestGuardedAnswerIsHeldUntilItIsChecked(t *testing.T) {
	failing := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			if yield(llm.TextDelta{Text: "the secret is"}, nil) {
				yield(nil, &llm.Error{Kind: llm.Incomplete, Err: errors.New("cut")})
			}
		}
	})
	resp, err := llm.Generate(t.Context(), refine.Guard(failing, refine.Guardrail{Name: "g", Output: allow}), &llm.Request{Messages: []llm.Message{llm.User("?")}})
	if llm.KindOf(err) != llm.Incomplete || resp.Message.Text() != "" {
		t.Errorf("%q, %v", resp.Message.Text(), err)
	}
	others := llm.ModelFunc(func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			for _, ev := range []llm.Event{llm.TextDelta{Text: "good"}, llm.Alternative{Index: 1, Event: llm.TextDelta{Text: "bad"}},
				llm.Alternative{Index: 1, Event: llm.Finish{Reason: llm.Stop}}, llm.Finish{Reason: llm.Stop}} {
				if !yield(ev, nil) {
					return
				}
			}
		}
	})
	resp, err = llm.Generate(t.Context(), refine.Guard(others, refine.Guardrail{Name: "g", Output: block("bad")}), &llm.Request{Messages: []llm.Message{llm.User("?")}})
	if err != nil || resp.Message.Text() != "good" || len(resp.Alternatives) != 0 || len(resp.Warnings) != 1 {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestGuardrailsReadOnlyNewMessages: what was checked in an earlier request is not checked again, and
// the request of the caller stays as it is.
func TestGuardrailsReadOnlyNewMessages(t *testing.T) {
	req := &llm.Request{Messages: []llm.Message{llm.User("old"), llm.Assistant(llm.Text{Text: "yes"}), llm.User("new")}}
	var seen []string
	g := refine.Guardrail{Name: "g", Input: func(_ context.Context, text string) (refine.GuardDecision, error) {
		seen = append(seen, text)
		return refine.GuardDecision{Verdict: refine.GuardChange, Text: "changed"}, nil
	}}
	resp, err := llm.Generate(t.Context(), refine.Guard(llm.ModelFunc(repeater), g), req)
	if err != nil || resp.Message.Text() != "changed" || strings.Join(seen, ",") != "new" || req.Messages[2].Text() != "new" {
		t.Errorf("%q, %q, %q, %v", resp.Message.Text(), seen, req.Messages[2].Text(), err)
	}
}
