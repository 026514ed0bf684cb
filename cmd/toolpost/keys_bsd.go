//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package main

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops what was typed at a terminal and not read yet.
func flushInput(f *os.File) {
	const read = 1 // FREAD of the system's headers
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}
