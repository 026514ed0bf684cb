//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package ask

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops unread input of a terminal.
func flushInput(f *os.File) {
	const read = 1 // FREAD in the system's headers
	_ = unix.IoctlSetPointerInt(int(f.Fd()), unix.TIOCFLUSH, read)
}
