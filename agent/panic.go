package agent

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/toolpost/toolpost/catalog"
	"github.com/toolpost/toolpost/llm"
)

// The names of hooks in the record.
const (
	hookBefore     = "before_turn"
	hookAfter      = "after_turn"
	hookCheckpoint = "checkpoint"
	hookCompact    = "compact"
	// of those that return no error, what programs call them
	hookRoute = "Route"
	hookCost  = "Cost"
	hookNewID = "NewID"
	hookRun   = "NewRun"
	hookPrice = "Offer.CostOf"
	hookGroup = "Offer.GroupOf"
)

// panicEntry says that a hook of the program panicked, which ended the run.
type panicEntry struct {
	Turn int    `json:"turn"`
	Hook string `json:"hook"`
	Why  string `json:"why"`
}

func (e panicEntry) err() error {
	name := "the hook"
	switch e.Hook {
	case hookRoute, hookCost, hookNewID, hookRun, hookPrice, hookGroup:
		name = e.Hook // nothing else says which
	}
	return &AbortedError{Err: fmt.Errorf("%s panicked: %s", name, e.Why)}
}

// guarded calls a hook of the program. A panic ends the run for good, with an error: what
// the hook left behind is not known, so the run is sealed and not resumed.
func guarded[T any](ctx context.Context, l *loop, hook string, call func() (T, error)) (v T, err error) {
	defer func() {
		if p := recover(); p != nil {
			l.fell.Store(nil) // one hook may have been called by another
			e := panicEntry{l.turnNo, hook, l.redact(fmt.Sprint(p)).Cut(maxTask)}
			err = errors.Join(e.err(), l.write(ctx, kindPanic, e))
		}
	}()
	return call()
}

// fallen is the hook that panicked, of those that cannot return an error. They panic on
// until caught, which leaves panics of others alone.
type fallen struct{ atomic.Pointer[panicEntry] }

// fall panics for a hook.
func (f *fallen) fall(e panicEntry) {
	f.Store(&e)
	panic(e.err())
}

// calling says that a hook panicked, if it does. It is to be deferred around it.
func (f *fallen) calling(hook string) {
	if p := recover(); p != nil {
		f.fall(panicEntry{Hook: hook, Why: fmt.Sprint(p)})
	}
}

// marked returns a copy of a whose hooks say in f that they panicked.
func (a *Agent) marked(f *fallen) *Agent {
	m := *a
	if a.Route != nil {
		m.Route = func(turn int) (llm.Model, string) { defer f.calling(hookRoute); return a.Route(turn) }
	}
	if a.Cost != nil {
		m.Cost = func(id string, u llm.Usage) (catalog.Money, bool) { defer f.calling(hookCost); return a.Cost(id, u) }
	}
	if a.NewID != nil {
		m.NewID = func() string { defer f.calling(hookNewID); return a.NewID() }
	}
	if a.NewRun != nil {
		m.NewRun = func() string { defer f.calling(hookRun); return a.NewRun() }
	}
	if a.Offer.CostOf != nil {
		m.Offer.CostOf = func(d llm.ToolDef) int { defer f.calling(hookPrice); return a.Offer.CostOf(d) }
	}
	if a.Offer.GroupOf != nil {
		m.Offer.GroupOf = func(d llm.ToolDef) string { defer f.calling(hookGroup); return a.Offer.GroupOf(d) }
	}
	m.fell = f
	return &m
}

// caught does something, and returns the panic of a hook in it as an error.
func (c redactor) caught(f *fallen, do func() error) (err error) {
	defer func() {
		if e := f.Swap(nil); e != nil {
			_ = recover()
			e.Why = c.redact(e.Why).Cut(maxTask)
			err = e.err()
		}
	}()
	return do()
}

// safely walks, and ends the run for good if a hook panics.
func (l *loop) safely(ctx context.Context, walk func(context.Context) error) (err error) {
	defer func() {
		if e := l.fell.Swap(nil); e != nil {
			_ = recover()
			e.Turn, e.Why = l.turnNo, l.redact(e.Why).Cut(maxTask)
			err = errors.Join(e.err(), l.write(ctx, kindPanic, *e))
		}
	}()
	return walk(ctx)
}

// fallAgain panics in a replay if the hook did here.
func (l *loop) fallAgain(hook string) {
	if l.falls != nil {
		l.falls(hook)
	}
}
