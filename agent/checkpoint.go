package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// AbortedError ends a run on purpose: somebody chose to, or the runtime
// stopped it. Such a run is sealed.
type AbortedError struct{ Err error }

// Error returns the reason.
func (e *AbortedError) Error() string { return "agent: the run was ended: " + e.Err.Error() }

// Unwrap returns the failure before that.
func (e *AbortedError) Unwrap() error { return e.Err }

// byDefault is Choice.By if no person was asked.
const byDefault = "default"

// aborted reports whether an error ends the run for good.
func aborted(err error) bool {
	var abort *AbortedError
	return errors.As(err, &abort)
}

// checkpoint asks how to go on, has the choice take effect, and records both.
// Without anybody to ask the choice is to abort.
func (l *loop) checkpoint(ctx context.Context, c Checkpoint, effect func(Choice) (*llm.Result, error)) (Choice, error) {
	l.points++
	c.N, c.Turn, c.Model = l.points, l.turn.n, l.turn.model
	if !l.emit(c) {
		return Choice{}, context.Canceled
	}
	choice := Choice{Action: Abort, By: byDefault}
	if l.asks {
		var err error
		d := l.decision(kindChoice)
		d.point = c
		choice, err = decide(ctx, l.effects, d, func() (Choice, error) {
			return guarded(ctx, l, hookCheckpoint, func() (Choice, error) { return l.agent.Checkpoint(ctx, c) })
		})
		if err != nil {
			return choice, err
		}
		if !slices.Contains(c.Options, choice.Action) {
			return choice, fmt.Errorf("agent: checkpoint %d: %q is not one of %v", c.N, choice.Action, c.Options)
		}
	}
	entry := choiceEntry{Checkpoint: c, Choice: choice}
	var failed error
	if effect != nil {
		entry.Result, failed = effect(choice)
		if errors.Is(failed, errWaiting) { // a resumed run asks again
			return choice, failed
		}
		if entry.Result != nil {
			l.results[c.Call.ID] = *entry.Result
		}
	}
	entry.Minted, l.minted = l.minted, nil
	if err := l.write(ctx, kindChoice, entry); err != nil {
		return choice, errors.Join(failed, err)
	}
	l.emit(Chosen{N: c.N, Choice: choice})
	return choice, failed
}
