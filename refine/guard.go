package refine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/toolpost/toolpost/llm"
)

// Guardrail checks the text that goes to a model and the text that comes from it. A field that is
// nil checks nothing.
type Guardrail struct {
	Name string
	// Input checks a message of a user before a model gets it. Output checks the text of an answer
	// before the reader of the stream gets it. An error or a panic blocks the text.
	Input, Output func(ctx context.Context, text string) (GuardDecision, error)
}

// GuardVerdict is what a guardrail decides about a text. The zero value blocks.
type GuardVerdict string

// The verdicts of guardrails.
const (
	GuardAllow  GuardVerdict = "allow"
	GuardChange GuardVerdict = "change" // GuardDecision.Text replaces the text
	GuardBlock  GuardVerdict = "block"
)

// GuardDecision is a verdict with its reason.
type GuardDecision struct {
	Verdict GuardVerdict
	Text    string // with GuardChange
	Reason  string // for the record and the error; it should not quote the text
}

// GuardSide is which text a guardrail checked.
type GuardSide string

// The sides of a model.
const (
	GuardInput  GuardSide = "input"
	GuardOutput GuardSide = "output"
)

// GuardResult is an event that reports what a guardrail decided.
type GuardResult struct {
	Name    string       `json:"name"`
	Side    GuardSide    `json:"side"`
	Verdict GuardVerdict `json:"verdict"`
	Reason  string       `json:"reason,omitempty"`
}

// EventType returns "guard".
func (GuardResult) EventType() string { return "guard" }

// BlockedError is the error of a text that a guardrail blocked.
type BlockedError struct{ GuardResult }

// Error names the guardrail and its reason.
func (e *BlockedError) Error() string {
	return fmt.Sprintf("refine: the guardrail %s blocked the %s: %s", e.Name, e.Side, cmp.Or(e.Reason, "it gave no reason"))
}

// CheckGuardrails has each guardrail in order check a text, which may be what the one before made
// of it, and returns the text and what they decided. The error is a *[BlockedError]; the guardrails
// after it are not asked.
func CheckGuardrails(ctx context.Context, rails []Guardrail, side GuardSide, text string) (string, []GuardResult, error) {
	var results []GuardResult
	for _, g := range rails {
		check := g.Input
		if side == GuardOutput {
			check = g.Output
		}
		if check == nil {
			continue
		}
		d, err := guardOnce(ctx, check, text)
		var inside *BlockedError
		switch {
		case errors.As(err, &inside):
			return "", append(results, inside.GuardResult), inside
		case err != nil:
			d = GuardDecision{Verdict: GuardBlock, Reason: "it failed: " + err.Error()}
		case d.Verdict == GuardChange:
			text = d.Text
		case d.Verdict != GuardAllow && d.Verdict != GuardBlock:
			d = GuardDecision{Verdict: GuardBlock, Reason: fmt.Sprintf("it gave the verdict %.20q", d.Verdict)}
		}
		results = append(results, GuardResult{g.Name, side, d.Verdict, d.Reason})
		if d.Verdict == GuardBlock {
			return "", results, &BlockedError{results[len(results)-1]}
		}
	}
	return text, results, nil
}

// guardOnce calls a function of the program. Its panic is an error.
func guardOnce(ctx context.Context, check func(context.Context, string) (GuardDecision, error), text string) (d GuardDecision, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("it panicked: %v", p)
		}
	}()
	return check(ctx, text)
}

// CheckInput checks the messages of the user after the last answer in a conversation, and returns
// the conversation with the texts that guardrails changed. msgs is not changed.
func CheckInput(ctx context.Context, rails []Guardrail, msgs []llm.Message) ([]llm.Message, []GuardResult, error) {
	if !slices.ContainsFunc(rails, func(g Guardrail) bool { return g.Input != nil }) {
		return msgs, nil, nil
	}
	var all []GuardResult
	out := slices.Clone(msgs)
	first := 0
	for i, m := range msgs {
		if m.Role == llm.RoleAssistant {
			first = i + 1
		}
	}
	for i := first; i < len(out); i++ {
		if out[i].Role != llm.RoleUser {
			continue
		}
		out[i].Parts = slices.Clone(out[i].Parts)
		for k, part := range out[i].Parts {
			t, ok := part.(llm.Text)
			if !ok || t.Ours {
				continue
			}
			text, results, err := CheckGuardrails(ctx, rails, GuardInput, t.Text)
			all = append(all, results...)
			if err != nil {
				return nil, all, err
			}
			t.Text = text
			out[i].Parts[k] = t
		}
	}
	return out, all, nil
}

// Guard puts guardrails around a model. Each decision is a [GuardResult], unless the guardrail has
// no name. With an Output, the answer is held back until it is complete; its warnings are not. A
// changed text replaces all text of the answer; thinking, which is not checked, is left out then. Calls are not checked: see
// package invoke for policies.
func Guard(m llm.Model, rails ...Guardrail) llm.Model {
	rails = slices.Clone(rails)
	guards := slices.ContainsFunc(rails, func(g Guardrail) bool { return g.Output != nil })
	return llm.Around(m, func(ctx context.Context, req *llm.Request) iter.Seq2[llm.Event, error] {
		return func(yield func(llm.Event, error) bool) {
			msgs, results, err := CheckInput(ctx, rails, req.Messages)
			if !tellGuards(results, yield) {
				return
			}
			if err != nil {
				yield(nil, blocked(err))
				return
			}
			if len(results) > 0 {
				c := *req
				c.Messages = msgs
				req = &c
			}
			if !guards {
				m.Stream(ctx, req)(yield)
				return
			}
			guardAnswer(ctx, rails, m.Stream(ctx, req), yield)
		}
	})
}

// blocked is the error of a stream whose text was blocked.
func blocked(err error) error { return &llm.Error{Op: "refine.Guard", Kind: llm.Refused, Err: err} }

func tellGuards(results []GuardResult, yield func(llm.Event, error) bool) bool {
	for _, r := range results {
		if r.Name != "" && !yield(r, nil) {
			return false
		}
	}
	return true
}

// guardAnswer holds an answer back and checks its text.
func guardAnswer(ctx context.Context, rails []Guardrail, events iter.Seq2[llm.Event, error], yield func(llm.Event, error) bool) {
	var held []llm.Event
	var b llm.Builder
	for ev, err := range events {
		if err != nil { // what came of it has not been checked
			yield(nil, err)
			return
		}
		passes := false
		switch ev.(type) {
		case llm.Retract, AnswerRetry, Recovery:
			held, b, passes = nil, llm.Builder{}, true
		case llm.Warning, llm.KeepAlive:
			passes = true
		}
		if !passes {
			b.Add(ev)
			held = append(held, ev)
		} else if !yield(ev, nil) {
			return
		}
	}
	said := b.Response().Message.Text()
	if strings.TrimSpace(said) == "" {
		deliver(held, nil, yield)
		return
	}
	text, results, err := CheckGuardrails(ctx, rails, GuardOutput, said)
	if !tellGuards(results, yield) {
		return
	}
	if err != nil {
		yield(nil, blocked(err))
		return
	}
	changed := slices.ContainsFunc(results, func(r GuardResult) bool { return r.Verdict == GuardChange })
	if changed {
		held = withText(held, text)
	}
	for _, alt := range b.Response().Alternatives {
		t, _, err := CheckGuardrails(ctx, rails, GuardOutput, alt.Message.Text())
		if changed || err != nil || t != alt.Message.Text() {
			held = slices.DeleteFunc(held, func(ev llm.Event) bool { _, other := ev.(llm.Alternative); return other })
			if !yield(llm.Warning{Code: llm.Ignored, Feature: "n", Detail: "a guardrail did not allow the text of another answer, so only the first one is delivered"}, nil) {
				return
			}
			break
		}
	}
	deliver(held, nil, yield)
}

// withText returns the events of an answer with another text in the place of the first piece.
func withText(events []llm.Event, text string) []llm.Event {
	var out []llm.Event
	put := false
	for _, ev := range events {
		switch ev.(type) {
		case llm.ThinkingDelta, Partial: // they may repeat what was changed
			continue
		case llm.TextDelta:
			if put || text == "" {
				continue
			}
			put, ev = true, llm.TextDelta{Text: text}
		}
		out = append(out, ev)
	}
	return out
}
