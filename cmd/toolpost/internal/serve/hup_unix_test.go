//go:build unix

package serve_test

import (
	"os"
	"syscall"
	"testing"
)

// hangUp sends the program the reload signal, and reports whether the system has one.
func hangUp(t *testing.T) bool {
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	return true
}
