package ask

import (
	"os"

	"golang.org/x/sys/unix"
)

// flushInput drops unread input of a terminal.
func flushInput(f *os.File) { _ = unix.IoctlSetInt(int(f.Fd()), unix.TCFLSH, unix.TCIFLUSH) }
