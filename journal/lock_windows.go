package journal

import (
	"math"
	"os"

	"golang.org/x/sys/windows"
)

const (
	noFollow        = 0
	noWait          = 0
	filePermissions = false // modes say nothing here
	syncDirectories = false // a directory cannot be synced
)

// lock waits until no other open file has f locked. Closing f unlocks it, and
// so does the death of the process. The lock is on a byte far beyond the end:
// locks on Windows keep readers out, and readers need none.
func lock(f *os.File) error {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	return windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK, 0, 1, 0, &at)
}
