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

// lock refuses: without locks two processes could fork a run.
func lock(*os.File) error {
	return errors.New("files cannot be locked on this system; use a database")
}
