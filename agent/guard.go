package agent

import (
	"context"
	"errors"
	"slices"

	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/refine"
)

// blockedMessage replaces the messages that a guardrail blocked: the record does not hold them.
const blockedMessage = "(A guardrail blocked this message.)"

// redactedPrompt returns the system prompt and messages without the secrets of Runner.Redact.
func (a *Agent) redactedPrompt(msgs []llm.Message) (string, []llm.Message) {
	system := a.System
	if a.Tools != nil && a.Tools.Redact != nil {
		system, _ = a.Tools.Redact.Redact(system)
	}
	return system, a.Tools.Redacted(msgs)
}

// guardInput checks the messages of a run that begins. If one is blocked, a mark replaces them, and
// the run ends in turns.
func (l *loop) guardInput(ctx context.Context, rails []refine.Guardrail, msgs []llm.Message) ([]llm.Message, error) {
	checked, results, err := refine.CheckInput(ctx, rails, msgs)
	if len(results) > 0 {
		l.left.guarded = append(l.left.guarded, &guardEntry{Turn: l.turn.n, Results: results})
	}
	var blocked *refine.BlockedError
	switch {
	case errors.As(err, &blocked):
		return []llm.Message{llm.User(blockedMessage)}, nil
	case err != nil:
		return nil, err
	}
	return checked, nil
}

// guardAdded adds the messages of a Resume. If one is blocked, none is added, and the Resume ends in
// turns.
func (l *loop) guardAdded(ctx context.Context, rails []refine.Guardrail, msgs []llm.Message) error {
	_, msgs = l.agent.redactedPrompt(msgs)
	checked, err := l.guardInput(ctx, rails, msgs)
	if err != nil {
		return err
	}
	if g := l.left.guarded; len(g) == 0 || g[0].blocked() == nil {
		l.left.added = append(l.left.added, checked...)
	}
	return l.writeInput(ctx)
}

// writeInput records what guardrails decided about the messages of this process.
func (l *loop) writeInput(ctx context.Context) error {
	for _, g := range l.left.guarded {
		if err := l.write(ctx, kindGuard, g); err != nil {
			return err
		}
	}
	return nil
}

// reportInput reports what guardrails decided about messages, and returns the error of a blocked one.
func (l *loop) reportInput(ctx context.Context) error {
	g, err := decide(ctx, l.effects, l.decision(kindGuard), func() (*guardEntry, error) {
		if len(l.left.guarded) == 0 {
			return nil, nil
		}
		return l.left.guarded[0], nil
	})
	if err != nil || g == nil {
		return err
	}
	for _, r := range g.Results {
		l.emit(r)
	}
	switch err := g.blocked(); {
	case err == nil:
		return nil
	case l.left.resumed:
		return err
	default:
		return &AbortedError{Err: err}
	}
}

// guard puts the guardrails of the run around the model of a request.
func (q *asker) guard(m llm.Model) llm.Model {
	if q.agent != nil && !slices.ContainsFunc(q.agent.Guardrails, func(g refine.Guardrail) bool { return g.Output != nil }) {
		return m
	}
	if r, replayed := q.effects.(*replay); replayed && len(r.at(q.turn.n).guarded) == 0 {
		return m
	}
	return refine.Guard(m, refine.Guardrail{Output: q.guardAnswer})
}

// guardAnswer has the guardrails check the text of an answer, and records what they decide.
func (q *asker) guardAnswer(ctx context.Context, text string) (refine.GuardDecision, error) {
	d := q.decision(kindGuard)
	d.output = true
	g, err := decide(ctx, q.effects, d, func() (*guardEntry, error) {
		changed, results, _ := refine.CheckGuardrails(ctx, q.agent.Guardrails, refine.GuardOutput, text)
		g := &guardEntry{Turn: q.turn.n, Output: true, Results: results}
		if changed != text && g.blocked() == nil {
			g.Text = &changed
		}
		return g, q.write(ctx, kindGuard, g)
	})
	if err != nil || g == nil {
		return refine.GuardDecision{Verdict: refine.GuardAllow}, err
	}
	for _, r := range g.Results {
		if r.Verdict != refine.GuardBlock { // which package refine reports
			q.emit(r)
		}
	}
	switch err := g.blocked(); {
	case err != nil:
		return refine.GuardDecision{}, err
	case g.Text != nil:
		return refine.GuardDecision{Verdict: refine.GuardChange, Text: *g.Text}, nil
	}
	return refine.GuardDecision{Verdict: refine.GuardAllow}, nil
}
