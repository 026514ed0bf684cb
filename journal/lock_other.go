//go:build !windows && (!unix || solaris || illumos || aix)

package journal

import (
	"errors"
	"os"
)

const (
	noFollow        = 0
	noWait          = 0
	filePermissions = false
	syncDirectories = false
)

// openToAppend opens or makes a file of lines.
func openToAppend(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
}

// tryLock refuses: without locks two processes could fork a run.
func tryLock(*os.File) (bool, error) {
	return false, errors.New("files cannot be locked on this system; use a database")
}

func unlock(*os.File) {}

func lockHolder(*os.File) string { return someProcess }
