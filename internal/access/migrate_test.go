package access

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/internal/tables"
)

// TestTablesOfBefore opens tables of the first version with sums, a log line and a reservation, and checks that nothing
// is lost.
func TestTablesOfBefore(t *testing.T) {
	for driver, source := range map[string]string{
		"sqlite": "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "keys.db")),
		"pgx":    pgtest.Schema(t, pgtest.Server(t)),
	} {
		db, err := sql.Open(driver, source)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		if err := (tables.Set{ID: 2, Versions: versions[:1]}).Migrate(t.Context(), db); err != nil {
			t.Fatal(err)
		}
		now := time.Now()
		for _, statement := range []string{
			`INSERT INTO toolpost_usage VALUES ('2026-11-16', 'red', 'tp-a', 'fast', 3, 1, 10, 5, 7, 1, 0)`,
			`INSERT INTO toolpost_request VALUES ('r1', 1, 'red', 'tp-a', 'fast', 'sim/offline', 'chat', 'ok', 10, 5, 7, 0, 0, 9)`,
			`INSERT INTO toolpost_hold VALUES ('key:tp-a', 'r2', 50, 60, 9999999999)`,
		} {
			if _, err := db.ExecContext(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
		}
		s, err := OpenSQL(t.Context(), db)
		if err != nil {
			t.Fatal(err)
		}
		sums, err := s.Usage(t.Context(), nil, "", []Grouping{ByModel})
		if err != nil || len(sums) != 1 || sums[0] != (Spend{Model: "fast", Requests: 3, Failed: 1, Input: 10, Output: 5, Money: 7, Unpriced: 1}) {
			t.Errorf("%s: %+v, %v", driver, sums, err)
		}
		if log, err := s.Log(t.Context(), LogQuery{Most: 9}); err != nil || len(log) != 1 || log[0].Upstream != "sim/offline" || log[0].Cached {
			t.Errorf("%s: %+v, %v", driver, log, err)
		}
		k := Key{ID: "tp-a", Team: "red"}
		err = s.Admit(t.Context(), now, Hold{Request: "r3", Scopes: scopes(&k), Until: now.Add(time.Hour)}, windows(&k, now), func(_ map[Window]Count, held map[string]Reservation) error {
			if got := held["key:tp-a"].Most; got != (Count{Tokens: 50, Money: 60}) {
				t.Errorf("%s: %+v is reserved", driver, got)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	}
}
