package state_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/state"
)

// TestLockedFile: a file of SQLite that another program has locked is waited for about two seconds, not longer, and what is asked
// is done if it is free before that.
func TestLockedFile(t *testing.T) {
	address := "file:" + filepath.ToSlash(filepath.Join(t.TempDir(), "state.db")) + "?_pragma=busy_timeout(20)&_pragma=journal_mode(WAL)"
	c := newClock()
	s := openDB("sqlite", address)(t, c)
	other, err := sql.Open("sqlite", address)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	other.SetMaxOpenConns(1)
	e := state.Kept{Place: key(state.Answer, "a", "x"), Value: []byte("v"), Until: c.now().Add(time.Hour)}
	ops := map[string]func(context.Context) error{
		"put":    func(ctx context.Context) error { return s.Put(ctx, e) },
		"claim":  func(ctx context.Context) error { _, err := s.Claim(ctx, e, []byte("v")); return err },
		"delete": func(ctx context.Context) error { _, err := s.Delete(ctx, e.Place, nil); return err },
	}
	run := func(statement string) {
		t.Helper()
		if _, err := other.Exec(statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, op := range ops {
		run("BEGIN EXCLUSIVE")
		began := time.Now()
		if err := op(t.Context()); err == nil || time.Since(began) > 4*time.Second || time.Since(began) < time.Second {
			t.Errorf("%s of a locked file: %v after %v", name, err, time.Since(began))
		}
		freed := time.AfterFunc(300*time.Millisecond, func() { _, _ = other.Exec("ROLLBACK") })
		if err := op(t.Context()); err != nil {
			t.Errorf("%s of a file that is free soon: %v", name, err)
		}
		if freed.Stop() {
			run("ROLLBACK")
		}
	}
}
