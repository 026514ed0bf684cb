package journal_test

import (
	"database/sql"
	"path/filepath"
	"testing"

	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llmtest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestMemory(t *testing.T) {
	llmtest.TestStore(t, func(*testing.T) journal.Store { return new(journal.Memory) })
}

func openDir(t testing.TB, path string) *journal.Dir {
	t.Helper()
	d, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestDir(t *testing.T) {
	for name, policy := range map[string]journal.Sync{"sync intents": journal.SyncIntents, "sync none": journal.SyncNone} {
		t.Run(name, func(t *testing.T) {
			llmtest.TestStore(t, func(t *testing.T) journal.Store {
				d := openDir(t, filepath.Join(t.TempDir(), "runs"))
				d.Sync = policy
				return d
			})
		})
	}
	path := t.TempDir()
	llmtest.TestSharedStore(t, openDir(t, path), openDir(t, path))
}

func openSQL(t testing.TB, driver, dsn string) *journal.SQL {
	t.Helper()
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	s, err := journal.OpenSQL(db)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func sqliteDSN(t testing.TB) string {
	return "file:" + filepath.Join(t.TempDir(), "journal.db") + "?_pragma=busy_timeout(10000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
}

func TestSQLite(t *testing.T) {
	llmtest.TestStore(t, func(t *testing.T) journal.Store { return openSQL(t, "sqlite", sqliteDSN(t)) })
	dsn := sqliteDSN(t)
	llmtest.TestSharedStore(t, openSQL(t, "sqlite", dsn), openSQL(t, "sqlite", dsn))
}
