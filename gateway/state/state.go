// Package state names the types of gateway.Setup.State for programs that open a store themselves.
//
// Deprecated: the names stay for one release. Package state has moved below the gateway.
package state

import (
	"context"
	"database/sql"

	"github.com/toolpost/toolpost/internal/state"
)

// The types of a store.
type (
	Kind   = state.Kind
	Hash   = state.Hash
	Place  = state.Place
	Kept   = state.Kept
	Store  = state.Store
	Memory = state.Memory
	SQL    = state.SQL
)

// The kinds of entries.
const (
	Signature = state.Signature
	Turn      = state.Turn
	Answer    = state.Answer
	Item      = state.Item
	Request   = state.Request
	Waiting   = state.Waiting
)

// Why a store refuses an entry.
var (
	ErrTooLarge = state.ErrTooLarge
	ErrFull     = state.ErrFull
)

// HashOf hashes the parts of a key.
func HashOf(parts ...[]byte) Hash { return state.HashOf(parts...) }

// OpenSQL opens a store in a database.
func OpenSQL(ctx context.Context, db *sql.DB) (*SQL, error) { return state.OpenSQL(ctx, db) }
