package journal_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	_ "modernc.org/sqlite"

	"github.com/toolpost/toolpost/internal/leaks"
	"github.com/toolpost/toolpost/journal"
	"github.com/toolpost/toolpost/llm"
	"github.com/toolpost/toolpost/llmtest"
)

func TestMain(m *testing.M) { leaks.VerifyTestMain(m) }

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
	return "file:" + filepath.Join(t.TempDir(), "journal.db") + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(NORMAL)"
}

func TestSQLite(t *testing.T) {
	llmtest.TestStore(t, func(t *testing.T) journal.Store { return openSQL(t, "sqlite", sqliteDSN(t)) })
	dsn := sqliteDSN(t)
	llmtest.TestSharedStore(t, openSQL(t, "sqlite", dsn), openSQL(t, "sqlite", dsn))
	keepsKeysOut(t, "sqlite", sqliteDSN(t))
}

// keepsKeysOut looks at every row of a database after a run in which a tool and
// a model repeat the keys the store was told of.
func keepsKeysOut(t *testing.T, driver, dsn string) {
	t.Helper()
	keys := []string{"of-no-known-form", `with "quotes" and \ and é`}
	store := openSQL(t, driver, dsn)
	store.Secrets = &journal.Secrets{Values: keys}
	rec, err := journal.Open(t.Context(), store, "run")
	if err != nil {
		t.Fatal(err)
	}
	said := strings.Join(keys, " and ")
	args, _ := json.Marshal(map[string]string{"text": said, said: "x"})
	result := &llm.Result{CallID: "a", Parts: []llm.Part{llm.Text{Text: "You said " + said}}}
	_, err = rec.Intent(t.Context(), journal.Intent{Call: "a", Tool: "f", Args: args})
	got, err2 := rec.Receipt(t.Context(), journal.Receipt{Call: "a", Tool: "f", Args: args, Status: journal.Failed, Reason: said, Result: result, Error: &journal.Failure{Message: said}})
	_, err3 := rec.Write(t.Context(), journal.KindStart, journal.Start{Task: said})
	_, err4 := rec.Seal(t.Context())
	if err := errors.Join(err, err2, err3, err4); err != nil {
		t.Fatal(err)
	}
	if got.ParamsHash != journal.ParamsHash(args) {
		t.Error("the hash of the arguments is not that of what was sent")
	}
	if report, err := journal.Verify(store.Read(t.Context(), "run", 0)); err != nil || !report.Sealed {
		t.Errorf("%+v, %v", report, err)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	var all string
	rows, err := db.QueryContext(t.Context(), "SELECT line FROM toolpost_journal ORDER BY seq")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var line string
		if err := rows.Scan(&line); err != nil {
			t.Fatal(err)
		}
		all += line + "\n"
	}
	if strings.Count(all, "\n") != 4 || strings.Count(all, `"stripped":{`) != 3 {
		t.Errorf("on record are\n%s", all)
	}
	for _, piece := range []string{keys[0], "quotes", "and é"} {
		if strings.Contains(all, piece) {
			t.Errorf("the database holds %q:\n%s", piece, all)
		}
	}
}

// A run in memory reads the same from every entry on, across the blocks it is kept
// in.
func TestMemoryReadsFromAnywhere(t *testing.T) {
	m := new(journal.Memory)
	var want []journal.Entry
	for range 250 {
		e, err := m.Append(t.Context(), journal.Entry{Run: "run", Kind: "note", Body: []byte(`{}`)})
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, e)
	}
	for _, from := range []int64{0, 1, 2, 92, 93, 94, 95, 186, 187, 188, 250, 251, 300} {
		var got []journal.Entry
		for e, err := range m.Read(t.Context(), "run", from) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, e)
		}
		if diff := cmp.Diff(want[min(max(from-1, 0), 250):], got, cmpopts.EquateEmpty()); diff != "" {
			t.Fatalf("from entry %d on (-want +got):\n%s", from, diff)
		}
	}
}
