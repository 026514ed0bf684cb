package gateway

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// storeTime bounds how long a store may take: an answer is worth more than what is remembered for
// the next.
const storeTime = 2 * time.Second

// remembering is the store of a gateway. It may not take long, and its failures are counted and
// logged; whoever asked it goes on without, and says so.
type remembering struct {
	store  state.Store
	meters *metrics.Set
	log    *slog.Logger
}

// The operations, as they are counted.
const (
	reading  = "read"
	writing  = "write"
	sweeping = "sweep"
)

// did notes how an operation ended, and returns its error.
func (r *remembering) did(op string, kind state.Kind, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, state.ErrTooLarge) {
		return err
	}
	r.meters.State.Add(1, string(kind), op)
	r.log.Error("what is remembered between requests cannot be kept or found", "kind", string(kind), "op", op, "error", err.Error())
	return err
}

// empty reports whether it is known, without asking another program, that nothing of a kind was ever kept.
func (r *remembering) empty(kind state.Kind) bool {
	m, ok := r.store.(interface{ Empty(state.Kind) bool })
	return ok && m.Empty(kind)
}

// Get implements [state.Store].
func (r *remembering) Get(ctx context.Context, kind state.Kind, owner string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	found, err := r.store.Get(ctx, kind, owner, hashes...)
	return found, r.did(reading, kind, err)
}

// Put implements [state.Store].
func (r *remembering) Put(ctx context.Context, entries ...state.Kept) error {
	if len(entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return r.did(writing, entries[0].Kind, r.store.Put(ctx, entries...))
}

// Claim implements [state.Store].
func (r *remembering) Claim(ctx context.Context, e state.Kept, mine []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	held, err := r.store.Claim(ctx, e, mine)
	return held, r.did(writing, e.Kind, err)
}

// Delete implements [state.Store].
func (r *remembering) Delete(ctx context.Context, k state.Place, mine []byte) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	was, err := r.store.Delete(ctx, k, mine)
	return was, r.did(writing, k.Kind, err)
}

// Held implements [state.Store].
func (r *remembering) Held(ctx context.Context, kind state.Kind, most int) ([]state.Kept, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	list, err := r.store.Held(ctx, kind, most)
	return list, r.did(reading, kind, err)
}

// Sweep implements [state.Store].
func (r *remembering) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, sweepEvery/2)
	defer cancel()
	return r.did(sweeping, "", r.store.Sweep(ctx))
}

// sweepEvery is how often a store is rid of what has ended.
const sweepEvery = time.Minute

// sweep rids the store of what has ended, from time to time, until ctx is done.
func (g *Gateway) sweep(ctx context.Context, running *sync.WaitGroup) {
	running.Go(func() {
		tick := time.NewTicker(sweepEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = g.store.Sweep(ctx) // which says itself what went wrong
			}
		}
	})
}

// lookUp returns what is kept for the owner. If that cannot be found out, nothing is, and the client
// is told.
func (x *exchange) lookUp(kind state.Kind, hashes []state.Hash) map[state.Hash][][]byte {
	if len(hashes) == 0 {
		return nil
	}
	found, err := x.store.Get(x.ctx(), kind, x.owner, hashes...)
	if err != nil && x.ctx().Err() == nil {
		x.warn(forgotten(kind))
	}
	return found
}

// stateWords are what clients are told that is not there.
var stateWords = map[state.Kind]string{
	state.Signature: "what the vendor signed for the calls of this conversation",
	state.Turn:      "what the tools of the gateway returned in this conversation",
	state.Answer:    "the answer, for requests that go on from it by its id",
	state.Item:      "the items of answers that the request names by their ids",
	state.Request:   "whether this request was answered before",
	state.Waiting:   "which calls wait for a person",
}

// forgotten is the warning about something that could not be kept or found.
func forgotten(kind state.Kind) llm.Warning {
	return llm.Warning{Code: llm.Degraded, Feature: "state", Detail: stateWords[kind] + ": the store of the gateway does not work now, so it goes on without"}
}
