// Package conversation stores data of the gateway between requests: answers for repeated requests, signatures that
// clients cannot carry, and results of its tools that clients do not see. Each entry belongs to an owner, has a key
// derived from the conversation (key.go), and expires.
package conversation

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"slices"
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

// Get implements [state.Store].
func (r *Store) Get(ctx context.Context, kind state.Kind, owner string, hashes ...state.Hash) (map[state.Hash][][]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	found, err := r.backend.Get(ctx, kind, owner, hashes...)
	return found, r.checked(reading, kind, err)
}

// Put implements [state.Store].
func (r *Store) Put(ctx context.Context, entries ...state.Kept) error {
	if len(entries) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return r.checked(writing, entries[0].Kind, r.backend.Put(ctx, entries...))
}

// Claim implements [state.Store].
func (r *Store) Claim(ctx context.Context, e state.Kept, mine []byte) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	held, err := r.backend.Claim(ctx, e, mine)
	return held, r.checked(writing, e.Kind, err)
}

// Delete implements [state.Store].
func (r *Store) Delete(ctx context.Context, k state.Place, mine []byte) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	was, err := r.backend.Delete(ctx, k, mine)
	return was, r.checked(writing, k.Kind, err)
}

// Held implements [state.Store].
func (r *Store) Held(ctx context.Context, kind state.Kind, most int) ([]state.Kept, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	list, err := r.backend.Held(ctx, kind, most)
	return list, r.checked(reading, kind, err)
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

// NewStore returns a store that uses a backend, and counts and logs its failures. Cache keeps answers for equal requests.
func NewStore(backend state.Store, cache *state.Memory, metrics *metrics.Set, log *slog.Logger) *Store {
	return &Store{backend: backend, cache: cache, Metrics: metrics, Log: log}
}

// Scope is the access of one request to the store: the entries of its owner.
type Scope struct {
	*exchange.Response
	Store *Store
}

// Detached returns a context that ignores cancellation, for entries that must be written even if the client
// disconnects.
func (m *Scope) Detached() context.Context { return context.WithoutCancel(m.Context()) }

// Signatures stores a vendor's signatures for clients that cannot carry them, and restores them in later requests.
type Signatures struct {
	*Scope
	looked   map[state.Hash][]signedTurn // looked-up entries, by key
	idToken  string                      // makes the ids of calls in the answer unique
	ownsTool func(tool string) bool      // reports whether the gateway runs a tool and hides its calls from the client
}

// KeptHeader returns the headers that are stored with an answer.
func (m *Scope) KeptHeader() http.Header {
	header := http.Header{}
	for _, name := range []string{"Content-Type", "Cache-Control", exchange.UpstreamHeader, exchange.WarningHeader} {
		if values := m.W.Header()[http.CanonicalHeaderKey(name)]; values != nil {
			header[http.CanonicalHeaderKey(name)] = slices.Clone(values)
		}
	}
	return header
}

// NewScope returns the scope of a request.
func NewScope(r *exchange.Response, s *Store) Scope { return Scope{r, s} }

// NewSignatures returns the signatures of a request. ownsTool reports whether the gateway runs a tool.
func NewSignatures(m *Scope, ownsTool func(tool string) bool) Signatures {
	return Signatures{Scope: m, ownsTool: ownsTool}
}
