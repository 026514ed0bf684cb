// Package conversation stores data of the gateway between requests: answers for repeated requests, signatures that
// clients cannot carry, and results of its tools that clients do not see. Each entry belongs to an owner, has a key
// derived from the conversation (key.go), and expires. If a kind of entry takes too much room, the owner with the most
// bytes loses its oldest (internal/state).
package conversation

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/exchange"
	"github.com/toolpost/toolpost/gateway/internal/metrics"
	"github.com/toolpost/toolpost/internal/state"
	"github.com/toolpost/toolpost/llm"
)

// storeTime limits each operation of the store. A request does not wait longer for it.
const storeTime = 2 * time.Second

// Store wraps the state store of a gateway. It limits the time of each operation, and counts and logs failures. After a
// failure, callers continue without the data and warn the client.
type Store struct {
	backend state.Store
	cache   *state.Memory // answers for equal requests; they are never stored elsewhere
	Metrics *metrics.Set
	Log     *slog.Logger
}

// NewStore returns a store that uses a backend, and counts and logs its failures. Cache keeps answers for equal requests.
func NewStore(backend state.Store, cache *state.Memory, metrics *metrics.Set, log *slog.Logger) *Store {
	return &Store{backend: backend, cache: cache, Metrics: metrics, Log: log}
}

// The operation labels in the metrics.
const (
	reading  = "read"
	writing  = "write"
	sweeping = "sweep"
)

// checked records the result of an operation and returns its error.
func (r *Store) checked(op string, kind state.Kind, err error) error {
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, state.ErrTooLarge) {
		return err
	}
	r.Metrics.State.Add(1, string(kind), op)
	r.Log.Error("the state store failed", "kind", string(kind), "op", op, "error", err.Error())
	return err
}

// Empty reports whether nothing of a kind was ever stored, as far as this is known without a query.
func (r *Store) Empty(kind state.Kind) bool {
	m, ok := r.backend.(interface{ Empty(state.Kind) bool })
	return ok && m.Empty(kind)
}

// storeOf returns the store of a kind.
func (r *Store) storeOf(kind state.Kind) state.Store {
	if kind == state.Cached {
		return r.cache
	}
	return r.backend
}

// limited runs an operation on the store of a kind.
func limited[T any](ctx context.Context, r *Store, op string, kind state.Kind, run func(context.Context, state.Store) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	out, err := run(ctx, r.storeOf(kind))
	return out, r.checked(op, kind, err)
}

// Get implements [state.Store].
func (r *Store) Get(ctx context.Context, kind state.Kind, owner string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	return limited(ctx, r, reading, kind, func(ctx context.Context, s state.Store) (map[state.Hash][][]byte, error) {
		return s.Get(ctx, kind, owner, hashes...)
	})
}

// newest returns the newest value under a key; nil if there is none.
func (r *Store) newest(ctx context.Context, key state.Place) ([]byte, error) {
	found, err := r.Get(ctx, key.Kind, key.Owner, key.Hash)
	if err != nil || len(found[key.Hash]) == 0 {
		return nil, err
	}
	return found[key.Hash][0], nil
}

// Put implements [state.Store]. The entries are of one kind.
func (r *Store) Put(ctx context.Context, entries ...state.Kept) error {
	if len(entries) == 0 {
		return nil
	}
	_, err := limited(ctx, r, writing, entries[0].Kind, func(ctx context.Context, s state.Store) (struct{}, error) {
		return struct{}{}, s.Put(ctx, entries...)
	})
	return err
}

// Claim implements [state.Store].
func (r *Store) Claim(ctx context.Context, e state.Kept, mine []byte) ([]byte, error) {
	return limited(ctx, r, writing, e.Kind, func(ctx context.Context, s state.Store) ([]byte, error) { return s.Claim(ctx, e, mine) })
}

// Delete implements [state.Store].
func (r *Store) Delete(ctx context.Context, k state.Place, mine []byte) (bool, error) {
	return limited(ctx, r, writing, k.Kind, func(ctx context.Context, s state.Store) (bool, error) { return s.Delete(ctx, k, mine) })
}

// Held implements [state.Store].
func (r *Store) Held(ctx context.Context, kind state.Kind, most int) ([]state.Kept, error) {
	return limited(ctx, r, reading, kind, func(ctx context.Context, s state.Store) ([]state.Kept, error) { return s.Held(ctx, kind, most) })
}

// Erase implements [state.Store].
func (r *Store) Erase(ctx context.Context, owner string) error {
	return errors.Join(r.cache.Erase(ctx, owner), r.checked(sweeping, "", r.backend.Erase(ctx, owner)))
}

// Sweep implements [state.Store].
func (r *Store) Sweep(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, SweepEvery/2)
	defer cancel()
	return errors.Join(r.cache.Sweep(ctx), r.checked(sweeping, "", r.backend.Sweep(ctx)))
}

// How long data is stored. Answers that clients continue by id have Setup.AnswerLife, cached answers the time of their
// route, and waiting calls that of hosttools.Approvals and a day.
const (
	turnLife   = 24 * time.Hour   // signatures and held turns
	replayLife = 24 * time.Hour   // the answer to a request with an Idempotency-Key
	markLife   = 10 * time.Minute // the mark of a deleted answer without a request; the end of an answer takes less
	// leaseTime is how long a named request without changes stays in progress if its gateway dies. A request that may
	// have changed something stays in progress for OpenRunLife, even after it ended without an answer.
	leaseTime   = 2 * time.Minute
	OpenRunLife = time.Hour
)

// SweepEvery is the time between two removals of expired entries.
const SweepEvery = time.Minute

// lookUp returns the owner's entries with these hashes. If the store fails, it returns none and warns the client.
func (m *Scope) lookUp(kind state.Kind, hashes []state.Hash) map[state.Hash][][]byte {
	if len(hashes) == 0 {
		return nil
	}
	found, err := m.Store.Get(m.Context(), kind, m.Owner, hashes...)
	if err != nil && m.Context().Err() == nil {
		m.Warn(Unavailable(kind))
	}
	return found
}

// decodeEach decodes the values under a key, without those of other versions.
func decodeEach[T any](values [][]byte) (list []T) {
	for _, value := range values {
		var one T
		if json.Unmarshal(value, &one) == nil {
			list = append(list, one)
		}
	}
	return list
}

// stateWords describe the missing data for clients.
var stateWords = map[state.Kind]string{
	state.Signature: "the signatures of earlier calls in this conversation",
	state.Turn:      "the results of the gateway's tools in this conversation",
	state.Answer:    "the answer, which later requests may continue by its id",
	state.Item:      "the items of answers that the request names by their ids",
	state.Request:   "whether this request was answered before",
	state.Waiting:   "which calls wait for a person",
}

// Unavailable returns the warning about data that could not be stored or read.
func Unavailable(kind state.Kind) llm.Warning {
	return llm.Warning{Code: llm.Degraded, Feature: "state", Detail: stateWords[kind] + ": the gateway's state store failed, so this is missing"}
}

// Scope is the access of one request to the store: the entries of its owner.
type Scope struct {
	*exchange.Response
	Store *Store
}

// Detached returns a context that ignores cancellation, for entries that must be written even if the client
// disconnects.
func (m *Scope) Detached() context.Context { return context.WithoutCancel(m.Context()) }

// NewScope returns the scope of a request.
func NewScope(r *exchange.Response, s *Store) Scope { return Scope{r, s} }
