package agent

import (
	"context"
	"errors"

	"github.com/toolpost/toolpost/observe"
)

// observed returns the context of a run, with the agent's observer.
func (a *Agent) observed(ctx context.Context) context.Context {
	if a.Observer == nil {
		return ctx
	}
	return observe.With(ctx, a.Observer)
}

// unwatched returns the context of a replay, which nobody observes: nothing is
// done in it.
func unwatched(ctx context.Context) context.Context {
	if observe.From(ctx) == nil {
		return ctx
	}
	return observe.With(ctx, nil)
}

// observed tells the observer how the run ended.
func (l *loop) observed(ctx context.Context, seen *observe.Run, err error) {
	seen.Model, seen.Status, seen.Turns, seen.Calls, seen.Usage = l.model, string(l.done.Status), l.done.Turns, l.done.Ran, l.done.Usage
	observe.End(ctx, seen, err)
}

// turnError is the error of a turn: one that waits for a person did not fail.
func turnError(err error) error {
	if errors.Is(err, errWaiting) {
		return nil
	}
	return err
}
