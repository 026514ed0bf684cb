package journal_test

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolpost/toolpost/internal/pgtest"
	"github.com/toolpost/toolpost/journal"
)

func noteOf(l journal.Lease) journal.Entry {
	return journal.Entry{Run: l.Run, Kind: "note", Body: []byte(`{}`), Lease: l.Token}
}

// TestLeaseLostByServer: when the connection of an owner is gone, the owner
// goes on until somebody takes the run, and writes nothing after that.
func TestLeaseLostByServer(t *testing.T) {
	dsn := pgtest.Schema(t, pgtest.Server(t))
	a, b := openSQL(t, "pgx", dsn), openSQL(t, "pgx", dsn)
	first, err := a.Lease(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	var ended int
	db := openDB(t, "pgx", dsn)
	if err := db.QueryRowContext(t.Context(), `SELECT count(pg_terminate_backend(pid, 10000)) FROM pg_locks WHERE locktype = 'advisory'`).Scan(&ended); err != nil || ended != 1 {
		t.Fatalf("%d sessions hold locks, %v", ended, err)
	}
	if _, err := a.Append(t.Context(), noteOf(first)); err != nil {
		t.Errorf("nobody else owns it, and yet: %v", err)
	}
	second, err := b.Lease(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.Append(t.Context(), noteOf(first)); !errors.Is(err, journal.ErrLeaseLost) {
		t.Errorf("the run has another owner: %v", err)
	}
	var held *journal.HeldError
	if _, err := a.Lease(t.Context(), "r"); !errors.As(err, &held) {
		t.Errorf("it has two owners: %v", err)
	}
	if err := a.Release(t.Context(), first); err != nil {
		t.Error(err)
	}
	if _, err := b.Append(t.Context(), noteOf(second)); err != nil {
		t.Error(err)
	}
	if err := b.Release(t.Context(), second); err != nil {
		t.Error(err)
	}
	third, err := a.Lease(t.Context(), "r") // with a new connection
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.Lease(t.Context(), "r"); !errors.As(err, &held) || held.Owner.Process != os.Getpid() {
		t.Errorf("it has two owners: %v", err)
	}
	if _, err := a.Append(t.Context(), noteOf(third)); err != nil {
		t.Error(err)
	}
	if err := a.Release(t.Context(), third); err != nil {
		t.Error(err)
	}
	var left int
	if err := db.QueryRowContext(t.Context(), `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'`).Scan(&left); err != nil || left != 0 {
		t.Errorf("%d locks are left, %v", left, err)
	}
}

// TestLeaseNeedsConnection: with a pool of one, entries would wait for ever.
func TestLeaseNeedsConnection(t *testing.T) {
	db := openDB(t, "pgx", pgtest.Schema(t, pgtest.Server(t)))
	db.SetMaxOpenConns(1)
	store, err := journal.OpenSQL(db)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := store.Lease(t.Context(), "r"); err == nil || !strings.Contains(err.Error(), "more than one") {
		t.Error(err)
	}
	if _, err := store.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: []byte(`{}`)}); err != nil {
		t.Error(err)
	}
}

// TestLeaseOfDeadOwner: the file of a dead owner is taken over, one of another kind
// is refused, and a database in memory has leases, too.
func TestLeaseOfDeadOwner(t *testing.T) {
	path := t.TempDir()
	d := openDir(t, path)
	file := filepath.Join(path, "r.owner")
	for _, left := range []string{"", "{", `{"process":1,"host":"elsewhere","since":"2026-01-02T03:04:05Z"}`} {
		if err := os.WriteFile(file, []byte(left), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Append(t.Context(), journal.Entry{Run: "r", Kind: "note", Body: []byte(`{}`)}); err != nil {
			t.Errorf("%q: %v", left, err)
		}
		l, err := d.Lease(t.Context(), "r")
		if err != nil {
			t.Fatalf("%q: %v", left, err)
		}
		if err := d.Release(t.Context(), l); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%q: the file is left: %v", left, err)
		}
	}
	if err := os.Mkdir(file, 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Lease(t.Context(), "r"); err == nil {
		t.Error("a directory is taken for a lease")
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // each connection has a database of its own
	store, err := journal.OpenSQL(db)
	if err != nil {
		t.Fatal(err)
	}
	l, err := store.Lease(t.Context(), "r")
	if err != nil {
		t.Fatal(err)
	}
	var held *journal.HeldError
	if _, err := store.Lease(t.Context(), "r"); !errors.As(err, &held) {
		t.Errorf("it has two owners: %v", err)
	}
	if _, err := store.Append(t.Context(), noteOf(l)); err != nil {
		t.Error(err)
	}
}

// A second intent is recognised as the record has its call: without a secret, with
// its bytes mended, and by whatever name the writer knew it.
func TestSecondIntentOfAnOddCall(t *testing.T) {
	dir, err := journal.OpenDir(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, store := range map[string]journal.Store{"memory": new(journal.Memory), "files": dir} {
		for i, call := range []string{"plain", "a\"b\n", "broken \xff bytes", "ghp_0123456789abcdefghijABCDEFGHIJ012345"} {
			run := fmt.Sprintf("r%d", i)
			rec, err := journal.Open(t.Context(), store, run)
			if err != nil {
				t.Fatal(err)
			}
			e, err := rec.Intent(t.Context(), journal.Intent{Call: call, Tool: "write", Args: []byte(`{}`)})
			if err == nil {
				err = rec.Close(t.Context())
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, body := range [][]byte{e.Body, []byte(fmt.Sprintf(`{"call":%q,"tool":"write"}`, strings.ToValidUTF8(call, "\uFFFD")))} {
				if _, err := store.Append(t.Context(), journal.Entry{Run: run, Kind: journal.KindIntent, Body: body}); !errors.Is(err, journal.ErrTwice) {
					t.Errorf("%s: a second intent of %q: %v", name, call, err)
				}
			}
		}
	}
}

// TestLeaseFileRemoved: who removes the file of an owner, or links the
// record into another folder, lets another begin; but nobody writes after the file
// of the lease is gone, and no second owner has an intent for a call that has one.
func TestLeaseFileRemoved(t *testing.T) {
	for _, how := range []string{"removed", "linked"} {
		first := t.TempDir()
		second := first
		d := openDir(t, first)
		l, err := d.Lease(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		intent := journal.Entry{Run: "r", Kind: journal.KindIntent, Body: []byte(`{"call":"c","tool":"write"}`), Lease: l.Token}
		if _, err := d.Append(t.Context(), intent); err != nil {
			t.Fatal(err)
		}
		if how == "removed" {
			err = os.Remove(filepath.Join(first, "r.owner"))
		} else {
			second = t.TempDir()
			err = os.Link(filepath.Join(first, "r.jsonl"), filepath.Join(second, "r.jsonl"))
		}
		if err != nil {
			t.Skip(err)
		}
		other := openDir(t, second)
		taken, err := other.Lease(t.Context(), "r")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := other.Append(t.Context(), noteOf(taken)); err != nil {
			t.Errorf("%s: the second owner cannot write: %v", how, err)
		}
		intent.Lease = taken.Token
		if _, err := other.Append(t.Context(), intent); !errors.Is(err, journal.ErrTwice) {
			t.Errorf("%s: a second intent: %v", how, err)
		}
		if _, err := d.Append(t.Context(), noteOf(l)); how == "removed" && !errors.Is(err, journal.ErrLeaseLost) {
			t.Errorf("the first owner still writes: %v", err)
		}
	}
}
