package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolpost/toolpost/llm"
)

// byDefault is Choice.By if no person was asked.
const byDefault = "default"

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

// guarded calls a hook of the program. A panic ends and seals the run, because the state
// that the hook left behind is unknown.
func guarded[T any](ctx context.Context, l *loop, hook string, call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			l.panics.Store(nil) // the hook may have called another hook
			e := panicEntry{l.turn.n, hook, l.redact(fmt.Sprint(p)).Cut(maxTask)}
			err = errors.Join(e.err(), l.write(ctx, kindPanic, e))
		}
	}()
	return call()
}

// catchHooks calls do. The panic of a hook in it is recorded, and ends the run for good.
func (l *loop) catchHooks(ctx context.Context, do func(context.Context) error) (err error) {
	defer func() {
		if e := l.panics.Swap(nil); e != nil {
			_ = recover()
			e.Turn, e.Why = l.turn.n, l.redact(e.Why).Cut(maxTask)
			err = errors.Join(e.err(), l.write(ctx, kindPanic, *e))
		}
	}()
	return do(ctx)
}
