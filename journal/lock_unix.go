//go:build unix && !solaris && !illumos && !aix

package journal

import (
	"errors"
	"os"
	"syscall"
)

const (
	noFollow        = syscall.O_NOFOLLOW
	noWait          = syscall.O_NONBLOCK // for the other end of a pipe
	filePermissions = true
	syncDirectories = true
)

// lock waits until no other open file has f locked. Closing f unlocks it, and
// so does the death of the process.
func lock(f *os.File) error {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}
