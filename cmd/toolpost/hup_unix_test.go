//go:build unix

package main

import (
	"os"
	"syscall"
	"testing"
)

// hangUp sends the program the signal to read its configuration again, and reports whether there is
// one.
func hangUp(t *testing.T) bool {
	if err := syscall.Kill(os.Getpid(), syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	return true
}
