//go:build unix && !solaris && !illumos && !aix

package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
)

const (
	noFollow        = syscall.O_NOFOLLOW
	noWait          = syscall.O_NONBLOCK // for the other end of a pipe
	filePermissions = true
	syncDirectories = true
)

// openToAppend opens or makes a file of lines. [os.OpenFile] would do the same
// with five more system calls, which find out whether the file can be polled: it
// cannot, and it is opened for every line.
func openToAppend(path string) (*os.File, error) {
	for {
		fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_APPEND|syscall.O_CLOEXEC|noFollow, 0o600)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return nil, &fs.PathError{Op: "open", Path: path, Err: err}
		}
		return os.NewFile(uintptr(fd), path), nil
	}
}

// tryLock locks f unless another open file has it locked, and reports whether it
// did. Closing f unlocks it, and so does the death of the process.
func tryLock(f *os.File) (bool, error) {
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case errors.Is(err, syscall.EWOULDBLOCK):
			return false, nil
		}
		return err == nil, err
	}
}

// unlock lets others lock f, which stays open.
func unlock(f *os.File) { _ = syscall.Flock(int(f.Fd()), syscall.LOCK_UN) }

// lockHolder returns which process has f locked, where the system tells.
func lockHolder(f *os.File) string {
	info, err := f.Stat()
	if err != nil {
		return someProcess
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	locks, err := os.ReadFile("/proc/locks") // of Linux
	if err != nil || !ok {
		return someProcess
	}
	inode := fmt.Sprintf(":%d", stat.Ino)
	for line := range strings.Lines(string(locks)) { // 1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF
		f := strings.Fields(line)
		if len(f) >= 6 && f[1] == "FLOCK" && strings.HasSuffix(f[5], inode) {
			name, _ := os.ReadFile("/proc/" + f[4] + "/comm")
			return strings.TrimSpace("process " + f[4] + " " + strings.TrimSpace(string(name)))
		}
	}
	return someProcess
}
