package gateway

import (
	"context"
	"database/sql"

	"github.com/toolpost/toolpost/internal/state"
)

// OpenState returns the store of [Setup.State] in a database of SQLite or PostgreSQL, which gateways can share. It creates missing tables
// and upgrades those of an earlier version; tables of a newer version are an error. The caller closes the database.
func OpenState(ctx context.Context, db *sql.DB) (state.Store, error) {
	s, err := state.OpenSQL(ctx, db)
	if err != nil {
		return nil, err
	}
	return s, nil
}
