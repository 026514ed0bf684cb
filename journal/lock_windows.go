package journal

import (
	"errors"
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

// openToAppend opens or makes a file of lines.
func openToAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// tryLock locks f unless another open file has it locked, and reports whether it
// did. Closing f unlocks it, and so does the death of the process. The lock is on a
// byte far beyond the end: locks on Windows keep readers out, and readers need none.
func tryLock(f *os.File) (bool, error) {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	err := windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &at)
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return false, nil
	}
	return err == nil, err
}

// unlock lets others lock f, which stays open.
func unlock(f *os.File) {
	at := windows.Overlapped{OffsetHigh: math.MaxInt32}
	_ = windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, &at)
}

func lockHolder(*os.File) string { return someProcess }
