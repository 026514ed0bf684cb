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

// tryLock refuses: without locks two processes could fork a run.
func tryLock(*os.File) (bool, error) {
	return false, errors.New("files cannot be locked on this system; use a database")
}

func lockHolder(*os.File) string { return someProcess }
