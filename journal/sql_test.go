package journal_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/journal"
)

// stuck is a database that says which version its tables have, and nothing else.
type stuck struct{ version, answered int }

// versionRow is the answer of stuck.
type versionRow struct{ version int }

func (*versionRow) Columns() []string { return []string{"version"} }
func (*versionRow) Close() error      { return nil }

func (r *versionRow) Next(dest []driver.Value) error {
	if r.version == 0 {
		return io.EOF
	}
	dest[0], r.version = int64(r.version), 0
	return nil
}

func (s *stuck) Connect(context.Context) (driver.Conn, error) { return s, nil }
func (s *stuck) Driver() driver.Driver                        { return nil }
func (s *stuck) Prepare(string) (driver.Stmt, error)          { return nil, errors.New("not prepared") }
func (s *stuck) Begin() (driver.Tx, error)                    { return nil, errors.New("not begun") }
func (s *stuck) Close() error                                 { return nil }

func (s *stuck) ExecContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Result, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func (s *stuck) QueryContext(ctx context.Context, _ string, _ []driver.NamedValue) (driver.Rows, error) {
	if s.answered++; s.answered == 1 {
		return &versionRow{s.version}, nil
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

// A receipt is written even if the call was cancelled, but not for ever.
func TestDatabaseTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		db := sql.OpenDB(&stuck{version: journal.SchemaVersion})
		defer db.Close()
		store, err := journal.OpenSQL(db)
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = store.Append(context.WithoutCancel(t.Context()), journal.Entry{Run: "run", Kind: journal.KindReceipt, Body: []byte(`{}`)})
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took > time.Minute {
			t.Errorf("%v after %s", err, took)
		}
	})
}

// version returns the version of the tables in a database.
func version(t *testing.T, db *sql.DB) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT version FROM toolpost_schema").Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func openDB(t *testing.T, driver, dsn string) *sql.DB {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// eachDatabase runs a test on an empty database of each kind.
func eachDatabase(t *testing.T, test func(t *testing.T, driver, dsn string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, "sqlite", sqliteDSN(t)) })
	t.Run("sqlite without a busy timeout", func(t *testing.T) {
		test(t, "sqlite", "file:"+filepath.Join(t.TempDir(), "journal.db"))
	})
	t.Run("postgres", func(t *testing.T) { test(t, "pgx", pgtest.Schema(t, pgtest.Server(t))) })
}

// firstTables is what the first version made.
const firstTables = `CREATE TABLE toolpost_journal (run TEXT NOT NULL, seq BIGINT NOT NULL, line TEXT NOT NULL, PRIMARY KEY (run, seq))`

// Tables of the first version, and none at all, are brought up to date by whoever
// comes first, and nothing in them is lost.
func TestMigration(t *testing.T) {
	for name, before := range map[string]string{"no tables": "", "first tables": firstTables} {
		t.Run(name, func(t *testing.T) {
			eachDatabase(t, func(t *testing.T, driver, dsn string) { migration(t, driver, dsn, before) })
		})
	}
}

func migration(t *testing.T, driver, dsn, before string) {
	db := openDB(t, driver, dsn)
	if before != "" {
		if _, err := db.ExecContext(t.Context(), before); err != nil {
			t.Fatal(err)
		}
		insertOld(t, db)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			own, err := sql.Open(driver, dsn)
			if err != nil {
				t.Error(err)
				return
			}
			defer own.Close()
			if _, err := journal.OpenSQL(own); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if v := version(t, db); v != journal.SchemaVersion {
		t.Errorf("the tables are of version %d", v)
	}
	store, err := journal.OpenSQL(db)
	if err != nil {
		t.Fatal(err)
	}
	want := int64(0)
	if before != "" {
		want = 2
	}
	if report, err := journal.VerifyLines(store.Lines(t.Context(), "old")); err != nil || report.Entries != want {
		t.Errorf("%+v, %v", report, err)
	}
}

// insertOld fills a run in format 1 into tables of the first version.
func insertOld(t *testing.T, db *sql.DB) {
	t.Helper()
	last := journal.Entry{}
	for i := range 2 {
		e, err := journal.Next(last, journal.Entry{Run: "old", Kind: "note", Body: fmt.Appendf(nil, `{"i":%d}`, i), Format: 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		line, err := e.Line()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := db.ExecContext(t.Context(), `INSERT INTO toolpost_journal (run, seq, line) VALUES ($1, $2, $3)`, "old", e.Seq, string(line)); err != nil {
			t.Fatal(err)
		}
		last = e
	}
}

// A version whose statements fail leaves nothing behind; one that works is made
// once, whoever else tries at the same time.
func TestMigrationIsOneTransaction(t *testing.T) {
	eachDatabase(t, func(t *testing.T, driver, dsn string) {
		db := openDB(t, driver, dsn)
		if _, err := journal.OpenSQL(db); err != nil {
			t.Fatal(err)
		}
		err := journal.MigrateTo(t.Context(), db, []string{`CREATE TABLE next_table (n INTEGER)`, `INSERT INTO next_table (n) VALUES (7)`}, []string{`no statement at all`})
		if err == nil {
			t.Fatal("a statement that fails is no error")
		}
		if _, err := db.ExecContext(t.Context(), `SELECT n FROM next_table`); err == nil || version(t, db) != journal.SchemaVersion {
			t.Errorf("half of a migration is left, version %d", version(t, db))
		}
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				own := openDB(t, driver, dsn)
				if err := journal.MigrateTo(t.Context(), own, []string{`CREATE TABLE next_table (n INTEGER)`, `INSERT INTO next_table (n) VALUES (7)`}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		n := 0
		if err := db.QueryRowContext(t.Context(), `SELECT COUNT(*) FROM next_table`).Scan(&n); err != nil || n != 1 || version(t, db) != journal.SchemaVersion+1 {
			t.Errorf("the statements were executed %d times, version %d, %v", n, version(t, db), err)
		}
		// To this version the tables are those of a newer one.
		_, err = journal.OpenSQL(db)
		var newer *journal.SchemaError
		if !errors.As(err, &newer) || strings.Contains(err.Error(), "\n") || !strings.Contains(err.Error(), "use a newer version") || version(t, db) != journal.SchemaVersion+1 {
			t.Errorf("newer tables: %v", err)
		}
	})
}
