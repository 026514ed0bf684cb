package access_test

import (
	"database/sql"
	"errors"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/internal/access"
	"github.com/toolpost/toolpost/internal/pgtest"
)

// noon is the start time of the tests.
var noon = time.Date(2026, 11, 16, 12, 0, 30, 0, time.UTC)

// clock is a time set by tests.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := new(clock)
	c.at.Store(noon.UnixNano())
	return c
}

func (c *clock) now() time.Time       { return time.Unix(0, c.at.Load()).UTC() }
func (c *clock) pass(d time.Duration) { c.at.Add(int64(d)) }

// opener opens the same store again, as another gateway would.
type opener func(t *testing.T) access.Store

// openDB opens a store in a database.
func openDB(driver, dsn string) opener {
	return func(t *testing.T) access.Store {
		t.Helper()
		db, err := sql.Open(driver, dsn)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		if driver == "sqlite" {
			db.SetMaxOpenConns(1)
		}
		s, err := access.OpenSQL(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
}

// stores are the kinds of stores, each with a function that creates an empty one.
var stores = map[string]func(t *testing.T) func(t *testing.T) opener{
	"memory": func(*testing.T) func(*testing.T) opener {
		return func(*testing.T) opener {
			m := new(access.Memory)
			return func(*testing.T) access.Store { return m }
		}
	},
	"sqlite": func(*testing.T) func(*testing.T) opener {
		return func(t *testing.T) opener {
			file := filepath.ToSlash(filepath.Join(t.TempDir(), "keys.db"))
			return openDB("sqlite", "file:"+file+"?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)")
		}
	},
	"postgres": func(t *testing.T) func(*testing.T) opener {
		server := pgtest.Server(t) // shared by all tests
		return func(t *testing.T) opener { return openDB("pgx", pgtest.Schema(t, server)) }
	},
}

func limit(t *testing.T, texts ...string) []access.Quota {
	t.Helper()
	var list []access.Quota
	for _, s := range texts {
		l, err := access.ParseQuota(s)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, l)
	}
	return list
}

// create creates a key and returns the rights of its secret.
func create(t *testing.T, b *access.Book, k access.Key) (*access.Rights, string) {
	t.Helper()
	if k.Team == "" {
		k.Team = "red"
	}
	_, secret, err := b.Create(t.Context(), k)
	if err != nil {
		t.Fatal(err)
	}
	g, err := b.Authenticate(t.Context(), secret)
	if err != nil {
		t.Fatal(err)
	}
	return g, secret
}

// reason returns the ground of a refusal, or "".
func reason(t *testing.T, err error) access.Ground {
	t.Helper()
	var r *access.Refusal
	switch {
	case err == nil:
		return ""
	case !errors.As(err, &r):
		t.Fatal(err)
	}
	return r.Ground
}

// promises are the tests that every store must pass.
var promises = []struct {
	name string
	test func(t *testing.T, open opener)
}{
	{"life of a key", lifeOfAKey},
	{"changes at once", changesAtOnce},
	{"limits", limits},
	{"together", together},
	{"rounds", rounds},
	{"reserved", reserved},
	{"two gateways", twoGateways},
	{"random loads", randomLoads},
	{"reservations of the dead", reservationsOfTheDead},
	{"periods", periods},
	{"unknown prices", unknownPrices},
	{"usage and log", usageAndLog},
	{"bodies", bodies},
	{"erasure", erasure},
	{"alerts", alerts},
	{"look-alike teams", lookAlikeTeams},
	{"no secrets", noSecrets},
}

// TestStores runs every test on every store.
func TestStores(t *testing.T) {
	for kind, prepare := range stores {
		t.Run(kind, func(t *testing.T) {
			empty := prepare(t)
			for _, p := range promises {
				t.Run(p.name, func(t *testing.T) { p.test(t, empty(t)) })
			}
		})
	}
}
