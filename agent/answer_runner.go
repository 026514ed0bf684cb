package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/toolpost/toolpost/internal/answerrun"
	"github.com/toolpost/toolpost/invoke"
	"github.com/toolpost/toolpost/llm"
)

// executing returns the context in which a model is asked. It has an [answerrun.Runner] if the run
// has a function for every tool.
func (l *loop) executing(ctx context.Context, req *llm.Request) context.Context {
	l.turn.ranInAnswer = nil
	if l.callerRuns || len(req.Tools) == 0 || req.Choice.Mode == llm.MustNotCall {
		return ctx
	}
	return answerrun.With(ctx, l.execute)
}

// executionError ends the answer of a model because its calls must not go on.
type executionError struct{ err error }

func (e *executionError) Error() string { return e.err.Error() }
func (e *executionError) Unwrap() error { return e.err }

// execute runs one call in the middle of an answer.
func (l *loop) execute(ctx context.Context, c llm.Call) (llm.Result, error) {
	c.ID, c.Hosted = l.ids.Take(c.ID), false
	if l.turn.ranInAnswer == nil {
		l.turn.ranInAnswer = make(map[string]bool)
	}
	l.turn.ranInAnswer[c.ID] = true
	if err := l.write(ctx, kindInside, insideEntry{l.turn.n, c.ID}); err != nil {
		return llm.Result{}, &executionError{err}
	}
	result, err := l.executeNow(ctx, c)
	if err != nil {
		return result, &executionError{err}
	}
	return result, nil
}

func (l *loop) executeNow(ctx context.Context, c llm.Call) (llm.Result, error) {
	if !l.turn.offers(c.Name) {
		return l.refuseNow(ctx, l.tools.notOffered(c, l.turn.tools))
	}
	kept := l.results
	l.results = make(map[string]llm.Result)
	defer func() { l.results = kept }()
	b := &callBatch{loop: l}
	err := b.run(ctx, l.site(), []llm.Call{c})
	if errors.Is(err, errWaiting) {
		// The model is in the middle of its answer and cannot wait.
		l.done.Waiting = slices.DeleteFunc(l.done.Waiting, func(q invoke.Question) bool { return q.CallID == c.ID })
		return l.refuseNow(ctx, llm.InvalidCall{ID: c.ID, Name: c.Name, Raw: string(c.Args), Reason: llm.NotAllowed,
			Problem: "this call needs the decision of a person, and none is available now; it was not run"})
	}
	if err != nil {
		return llm.Result{}, err
	}
	if b.stopReason != "" {
		return llm.Result{}, &AbortedError{Err: b.stopError()}
	}
	if r, ok := l.results[c.ID]; ok {
		return r, nil
	}
	return llm.Result{}, cmp.Or(context.Cause(ctx), errors.New("agent: the call has no outcome"))
}

// refuseNow answers a call that cannot be run.
func (l *loop) refuseNow(ctx context.Context, c llm.InvalidCall) (llm.Result, error) {
	o, err := l.effects.refuse(ctx, l.site(), c)
	if err == nil {
		l.emit(o)
	}
	return o.Result, err
}

// whyBroken is why a note was added after an answer that broke off.
const whyBroken = "broken_off"

// keepBroken keeps an answer that broke off after calls ran in it, because the next answer has to
// take these calls into account.
func (l *loop) keepBroken(ctx context.Context, h *modelAnswer) error {
	if h.err == nil || len(l.turn.ranInAnswer) == 0 || h.kept {
		return nil
	}
	h.kept = true
	if err := l.keep(ctx, h, &l.turn); err != nil {
		return err
	}
	return l.note(ctx, whyBroken, "Your answer broke off here. The calls above were made; do not make them again unless they failed. Go on from there.")
}

// recallCallsInAnswer marks the calls that ran while the model gave a recorded answer.
func (l *loop) recallCallsInAnswer(ctx context.Context) error {
	ids, err := decide(ctx, l.effects, l.decision(kindInside), func() ([]string, error) { return nil, nil })
	for _, id := range ids {
		if l.turn.ranInAnswer == nil {
			l.turn.ranInAnswer = make(map[string]bool)
		}
		l.turn.ranInAnswer[id] = true
	}
	return err
}
