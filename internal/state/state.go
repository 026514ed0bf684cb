// Package state stores the data that a gateway keeps between requests: in memory, in SQLite, or in a PostgreSQL
// database that several gateways share. It does not depend on HTTP or formats. An entry belongs to an owner, has a hash
// as its key, expires, and counts towards limits of number and size.
package state

import (
	"context"
	"crypto/sha256"
	"errors"
	"time"
)

// Kind is what an entry is.
type Kind string

// The kinds.
const (
	// Signature is what an upstream signed, for a client that cannot carry it.
	Signature Kind = "signature"
	// Turn is what the gateway ran for an answer that ended with calls of the client.
	Turn Kind = "turn"
	// Answer is an answer that clients may go on from by its id.
	Answer Kind = "answer"
	// Item is an item of such an answer, which clients may name by its own id.
	Item Kind = "item"
	// Request is a request that must not be run again: it is open, or was answered.
	Request Kind = "request"
	// Waiting is a call that waits for a person, or was decided after it waited.
	Waiting Kind = "waiting"
	// Cached is an answer for equal requests. Gateways keep it in memory only.
	Cached Kind = "cached"
)

// Hash is what an entry is found by.
type Hash [sha256.Size]byte

// HashOf hashes parts of a key. Where one ends and the next begins counts.
func HashOf(parts ...[]byte) Hash {
	h := sha256.New()
	for _, p := range parts {
		n := len(p)
		h.Write([]byte{byte(n >> 24), byte(n >> 16), byte(n >> 8), byte(n)})
		h.Write(p)
	}
	return Hash(h.Sum(nil))
}

// Place is the key of an entry. An owner finds only its own entries.
type Place struct {
	Kind  Kind
	Owner string
	Hash  Hash
}

// Kept is something that is kept in a store.
type Kept struct {
	Place
	// Item tells entries of the same key apart; most keys have one, without a name.
	Item  string
	Value []byte
	Until time.Time // when it ends
	// Hold keeps it until then: it is not dropped to make room.
	Hold bool
}

// Why nothing is kept. Other errors of a store mean that it does not work.
var (
	// ErrTooLarge says that a value is larger than its kind may be.
	ErrTooLarge = errors.New("state: it is too large to be kept")
	// ErrFull says that the owner has too many entries that must not be dropped.
	ErrFull = errors.New("state: too many of the kind are open")
)

// Store keeps entries. All methods are safe for concurrent use.
type Store interface {
	// Get returns the values of keys that are there, of each key the newest first.
	Get(ctx context.Context, kind Kind, owner string, hashes ...Hash) (map[Hash][][]byte, error)
	// Put keeps entries, in place of those of the same key and item, and drops the oldest ones
	// that are too many.
	Put(ctx context.Context, entries ...Kept) error
	// Claim stores an entry unless another value is under its key, and returns the value under the key. mine is the
	// value that may be replaced; nil means none. If several callers claim a key at once, one succeeds.
	Claim(ctx context.Context, e Kept, mine []byte) ([]byte, error)
	// Delete deletes the value under a key if it equals mine; nil matches any value. It reports whether there was one.
	Delete(ctx context.Context, k Place, mine []byte) (bool, error)
	// Held returns entries of a kind that are not dropped to make room, of all owners, the oldest
	// first, and no more than most.
	Held(ctx context.Context, kind Kind, most int) ([]Kept, error)
	// Erase deletes all entries of an owner.
	Erase(ctx context.Context, owner string) error
	// Sweep deletes expired entries and those beyond the limits.
	Sweep(ctx context.Context) error
}

// limit bounds the entries of a kind. All kinds and stores share one eviction rule: if a kind has more bytes than its
// limit, the owner with the most bytes loses its oldest entries first. An owner that stays within its fair share
// loses nothing.
type limit struct {
	size  int // bytes of all owners
	value int // bytes of one entry
	alike int // entries of one key
	held  int // entries of one owner that are not dropped
	// counted: a database counts those before each claim, because there are few of them. Others are counted with each sweep.
	counted bool
}

// limits are those of a store in memory. A database has room for more.
var limits = map[Kind]limit{
	Signature: {size: 64 << 20, value: 4 << 20, alike: 8},
	Turn:      {size: 128 << 20, value: 8 << 20, alike: 8},
	Answer:    {size: 128 << 20, value: 16 << 20, alike: 1},
	Item:      {size: 64 << 20, value: 16 << 20, alike: 1},
	Request:   {size: 64 << 20, value: 2 << 20, alike: 1, held: 20_000},
	Waiting:   {size: 64 << 20, value: 1 << 20, alike: 1, held: 200, counted: true},
	Cached:    {size: 64 << 20, value: 2 << 20, alike: 1},
}

// room is how much more a database may keep than memory.
var room = 16 // tests give it less

// overhead is added to the size of each value. It is what an entry costs in memory.
const overhead = 1024

func (e *Kept) size() int { return len(e.Value) + len(e.Owner) + len(e.Item) + overhead }

// check returns why an entry cannot be stored.
func (e *Kept) check() error {
	if len(e.Value) > limits[e.Kind].value {
		return ErrTooLarge
	}
	return nil
}

// now is the time by a clock; nil is that of the machine.
func now(clock func() time.Time) time.Time {
	if clock == nil {
		return time.Now()
	}
	return clock()
}
