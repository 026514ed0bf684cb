package contain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"unsafe"

	"golang.org/x/sys/unix"
)

// leastLandlock is the version of Landlock from which on a file outside cannot
// be emptied.
const leastLandlock = 3

// landlock returns the version of Landlock that the kernel has.
func landlock() (int, error) {
	v, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		return 0, errno
	}
	return int(v), nil
}

// Sandboxed reports why programs cannot be kept to folders here, or nil if they
// can.
func Sandboxed() error {
	switch v, err := landlock(); {
	case errors.Is(err, unix.ENOSYS):
		return errors.New("this kernel has no Landlock (it needs Linux 6.2 or later)")
	case err != nil:
		return fmt.Errorf("the kernel's Landlock cannot be used: %w (it may be switched off, or a container may forbid it)", err)
	case v < leastLandlock:
		return fmt.Errorf("the kernel's Landlock is version %d, and %d is needed (Linux 6.2 or later)", v, leastLandlock)
	}
	return nil
}

// The rights that are granted.
const (
	reading   = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	using     = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	ofFiles   = unix.LANDLOCK_ACCESS_FS_EXECUTE | using | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	version3  = unix.LANDLOCK_ACCESS_FS_TRUNCATE<<1 - 1
	scopeAll  = 3 // abstract sockets and signals
	withIoctl = 5 // the versions from which on these are handled
	withScope = 6
)

// systemFolders are the folders that programs need to run.
var systemFolders = []string{
	"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc", "/opt", "/nix/store", "/proc", "/sys", "/run/systemd/resolve",
}

var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// restrict confines this thread, and the programs it starts, to folders: it may
// write to these and read the system's folders. The programs of the search path
// can be run.
func restrict(writable []string) error {
	version, err := landlock()
	if err != nil {
		return err
	}
	attr := unix.LandlockRulesetAttr{Handled_access_fs: version3}
	if version >= withIoctl {
		attr.Handled_access_fs |= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if version >= withScope {
		attr.Scoped = scopeAll
	}
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return errno
	}
	rules := ruleset{int(fd), attr.Handled_access_fs}
	defer unix.Close(rules.fd)
	for _, dir := range writable {
		if err := rules.allow(dir, rules.handled); err != nil {
			return fmt.Errorf("%s: %w", dir, err)
		}
	}
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), systemFolders...) {
		if filepath.IsAbs(dir) {
			_ = rules.allow(dir, reading) // a missing folder does not need a rule
		}
	}
	for _, file := range devices {
		_ = rules.allow(file, using)
	}
	// Root loses its special rights in here.
	for power := uintptr(0); unix.Prctl(unix.PR_CAPBSET_DROP, power, 0, 0, 0) == nil; power++ {
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rules.fd), 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// ruleset is a set of rules and the rights that it handles.
type ruleset struct {
	fd      int
	handled uint64
}

// allow adds a rule for a file or for a folder and all below it.
func (r ruleset) allow(path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return err
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		access &= ofFiles
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: access & r.handled, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(r.fd), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}
