package agent

import (
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
	hookCheck      = "check"
	// Hooks that return no error have the names that programs use.
	hookRoute = "Route"
	hookCost  = "Cost"
	hookNewID = "NewID"
	hookRun   = "NewRun"
	hookPrice = "Offer.CostOf"
	hookGroup = "Offer.GroupOf"
)

func (e panicEntry) err() error {
	name := "the hook"
	switch e.Hook {
	case hookRoute, hookCost, hookNewID, hookRun, hookPrice, hookGroup:
		name = e.Hook // the error of the caller does not name these
	}
	return &AbortedError{Err: fmt.Errorf("%s panicked: %s", name, e.Why)}
}

// hookPanics holds the panic of a hook that cannot return an error. The panic unwinds the
// stack up to caught or catchHooks. Panics of other code pass them.
type hookPanics struct{ atomic.Pointer[panicEntry] }

// raise panics for a hook.
func (h *hookPanics) raise(e panicEntry) {
	h.Store(&e)
	panic(e.err())
}

// during marks a panic as one of a hook. It is deferred around the hook.
func (h *hookPanics) during(hook string) {
	if p := recover(); p != nil {
		h.raise(panicEntry{Hook: hook, Why: fmt.Sprint(p)})
	}
}

// catching returns a copy of a whose hooks mark their panics in h.
func (a *Agent) catching(h *hookPanics) *Agent {
	m := *a
	if a.Route != nil {
		m.Route = func(turn int) (llm.Model, string) { defer h.during(hookRoute); return a.Route(turn) }
	}
	if a.Cost != nil {
		m.Cost = func(id string, u llm.Usage) (catalog.Money, bool) { defer h.during(hookCost); return a.Cost(id, u) }
	}
	if a.NewID != nil {
		m.NewID = func() string { defer h.during(hookNewID); return a.NewID() }
	}
	if a.NewRun != nil {
		m.NewRun = func() string { defer h.during(hookRun); return a.NewRun() }
	}
	if a.Offer.CostOf != nil {
		m.Offer.CostOf = func(d llm.ToolDef) int { defer h.during(hookPrice); return a.Offer.CostOf(d) }
	}
	if a.Offer.GroupOf != nil {
		m.Offer.GroupOf = func(d llm.ToolDef) string { defer h.during(hookGroup); return a.Offer.GroupOf(d) }
	}
	return &m
}

// caught calls do, and returns the panic of a hook in it as an error.
func (h *hookPanics) caught(r redactor, do func() error) (err error) {
	defer func() {
		if e := h.Swap(nil); e != nil {
			_ = recover()
			e.Why = r.redact(e.Why).Cut(maxTask)
			err = e.err()
		}
	}()
	return do()
}
