package access_test

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolpost/toolpost/internal/access"
)

// A store on a full disk can still be read, but cannot admit requests. It is not ready, even before the first request,
// and becomes ready once there is space.
func TestFullDisk(t *testing.T) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(t.TempDir(), "keys.db")+"?_pragma=journal_mode(WAL)")
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	store, err := access.OpenSQL(t.Context(), db)
	if err != nil {
		t.Fatal(err)
	}
	if err := (&access.Book{Store: store}).Ready(t.Context()); err != nil {
		t.Fatalf("an empty store is not ready: %v", err)
	}
	full := func(is string) {
		t.Helper()
		if _, err := db.Exec("PRAGMA query_only = " + is); err != nil { // reads succeed, writes fail
			t.Fatal(err)
		}
	}
	full("on")
	if err := (&access.Book{Store: store}).Ready(t.Context()); err == nil {
		t.Error("a store that cannot be written to is ready")
	}
	full("off")
	if err := (&access.Book{Store: store}).Ready(t.Context()); err != nil {
		t.Errorf("a store that can be written to again is not ready: %v", err)
	}
}

// broken is a store that rejects writes while it is full. It counts the attempts.
type broken struct {
	access.Memory
	full bool
	puts int
}

func (b *broken) Put(ctx context.Context, r access.Row) error {
	if b.puts++; b.full {
		return &access.StoreError{Err: errors.New("database or disk is full")}
	}
	return b.Memory.Put(ctx, r)
}

func (b *broken) Admit(ctx context.Context, now time.Time, h access.Hold, w []access.Window, check func(map[access.Window]access.Count, map[string]access.Reservation) error) error {
	if b.full {
		return &access.StoreError{Err: errors.New("database or disk is full")}
	}
	return b.Memory.Admit(ctx, now, h, w, check)
}

// Anyone may ask for readiness, so not every check writes to the store. A request that could not be admitted makes the
// next check write again.
func TestReadyWritesSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := new(broken)
		book := &access.Book{Store: store}
		key, secret, err := book.Create(t.Context(), access.Key{Name: "k", Team: "t"})
		if err != nil {
			t.Fatal(err)
		}
		rights, err := book.Authenticate(t.Context(), secret)
		if err != nil {
			t.Fatal(key, err)
		}
		ready := func(want bool) {
			t.Helper()
			if err := book.Ready(t.Context()); (err == nil) != want {
				t.Errorf("ready: %v", err)
			}
		}
		store.puts = 0
		for range 50 {
			ready(true)
		}
		if store.puts != 1 {
			t.Errorf("50 questions wrote %d times", store.puts)
		}
		time.Sleep(2 * time.Second)
		if _, err := book.Admit(t.Context(), rights, access.Claim{ID: "r1", Model: "m"}); err != nil {
			t.Fatal(err)
		}
		if ready(true); store.puts != 1 {
			t.Errorf("a request was let in just now, and something was written again")
		}
		store.full = true
		if _, err := book.Admit(t.Context(), rights, access.Claim{ID: "r2", Model: "m"}); err == nil {
			t.Fatal("a full store lets a request in")
		}
		for range 50 {
			ready(false)
		}
		if store.puts != 2 {
			t.Errorf("it was written %d times", store.puts)
		}
		store.full = false
		time.Sleep(2 * time.Second)
		ready(true)
	})
}
