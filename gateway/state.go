package gateway

import (
	"context"
	"database/sql"

	"github.com/toolpost/toolpost/internal/access"
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

// OpenAccess returns the keys of [Setup.Access], with their limits and spend, in a database of SQLite or PostgreSQL, which gateways can
// share; a nil db keeps them in memory. [Administration] serves the API that manages them. Tables are handled as by [OpenState].
//
// A program manages keys with the methods of the result:
//
//	err := keys.SetTeam(ctx, gateway.Team{Name: "acme"}, "money/month=500")
//	key, secret, err := keys.Create(ctx, gateway.Key{Team: "acme", Models: []string{"fast"}}, "requests/minute=60")
//	spent, err := keys.Usage(ctx, time.Now().AddDate(0, 0, -1), "team", "model")
//	key, err = keys.Revoke(ctx, key.ID)
//
// A limit of money refuses models whose price is unknown. Prices are those of the models of package provider: see
// [provider.Client.Catalog].
//
// The client sends the secret. A program with its own logins puts it into the header Authorization of a request before
// the gateway handles it.
func OpenAccess(ctx context.Context, db *sql.DB) (*access.Book, error) {
	if db == nil {
		return &access.Book{Store: new(access.Memory)}, nil
	}
	s, err := access.OpenSQL(ctx, db)
	if err != nil {
		return nil, err
	}
	return &access.Book{Store: s}, nil
}

// Key is a client of the gateway: its Team, its Name, the Models, Tools and Routes that it may use (patterns with *; an
// empty list allows all), its Limits, and when it Expires. See [OpenAccess]. It has these fields:
//
//	ID string                // the beginning of the secret, not secret itself
//	Team string
//	Name string              // what the key is for
//	Models []string          // names that clients ask for
//	Tools []string           // tools of the gateway and of vendors
//	Routes []string          // names in the configuration
//	Limits []Quota           // in JSON a list like ["money/month=50", "requests/minute=60"]
//	Created time.Time
//	Expires time.Time        // zero means never
//	Revoked time.Time        // zero means that it is valid
//	Rotated time.Time        // when the current secret was made
//	EarlierUntil []time.Time // ends of earlier secrets that are still valid
type Key = access.Key

// Team owns keys. Its limits are for all its keys together. See [OpenAccess]. It has these fields:
//
//	Name string
//	Limits []Quota // as those of a key
type Team = access.Team
