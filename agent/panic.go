package agent

import (
	"context"
	"errors"
	"fmt"
)

// The names of hooks in the record.
const (
	hookBefore     = "before_turn"
	hookAfter      = "after_turn"
	hookCheckpoint = "checkpoint"
	hookCompact    = "compact"
)

// panicEntry says that a hook of the program panicked, which ended the run.
type panicEntry struct {
	Turn int    `json:"turn"`
	Hook string `json:"hook"`
	Why  string `json:"why"`
}

func (e panicEntry) err() error {
	return &AbortedError{Err: fmt.Errorf("the hook panicked: %s", e.Why)}
}

// guarded calls a hook of the program. A panic ends the run for good, with an error: what
// the hook left behind is not known, so the run is sealed and not resumed.
func guarded[T any](ctx context.Context, l *loop, hook string, call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			e := panicEntry{l.turnNo, hook, l.clean(fmt.Sprint(p)).Cut(maxTask)}
			err = errors.Join(e.err(), l.write(ctx, kindPanic, e))
		}
	}()
	return call()
}
