//go:build unix

package main

import (
	"syscall"
	"testing"
)

// makePipe creates a named pipe, and reports whether the system supports them.
func makePipe(t *testing.T, path string) bool {
	t.Helper()
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	return true
}
