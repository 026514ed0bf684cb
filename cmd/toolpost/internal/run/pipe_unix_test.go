//go:build unix

package run_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolpost/toolpost/cmd/toolpost/internal/cli"
	"github.com/toolpost/toolpost/cmd/toolpost/internal/programtest"
	"github.com/toolpost/toolpost/journal"
)

// makePipe creates a named pipe, and reports whether the system supports them.
func makePipe(t *testing.T, path string) bool {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}

// A pipe in the store is reported. A link with the name of a run fails the verification.
func TestVerifyReportsWhatIsNotARegularFile(t *testing.T) {
	programtest.OwnHome(t)
	path := t.TempDir()
	dir, err := journal.OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := journal.Open(t.Context(), dir, "whole")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Write(t.Context(), journal.KindStart, journal.Start{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Seal(t.Context()); err != nil {
		t.Fatal(err)
	}
	makePipe(t, filepath.Join(path, "strange"))
	if err := os.Mkdir(filepath.Join(path, "folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	ok := programtest.Run(t, "", "receipts", "verify", "--journal", path)
	if programtest.Must(t, ok, cli.ExitOK, "whole"); !strings.Contains(ok.ErrOut, "strange is not a regular file") || strings.Contains(ok.ErrOut, "folder") {
		t.Errorf("notes: %s", ok.ErrOut)
	}
	if err := os.Symlink(dir.File("whole"), filepath.Join(path, "linked.jsonl")); err != nil {
		t.Fatal(err)
	}
	programtest.Must(t, programtest.Run(t, "", "receipts", "verify", "--journal", path), cli.ExitFailed, "unread  linked")
}
