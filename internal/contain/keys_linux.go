package contain

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// HideKeys keeps other processes of the same user from reading the memory and
// the environment of this one, and wipes the values out of the environment that
// the kernel shows of it. os.Getenv works as before. Call it in main, before
// anything is started.
func HideKeys() error {
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return err
	}
	block, err := environment()
	if err != nil {
		return err
	}
	if err := detach(block); err != nil {
		return err
	}
	for len(block) > 0 {
		n := bytes.IndexByte(block, 0)
		if n < 0 {
			n = len(block)
		}
		if name, value, ok := bytes.Cut(block[:n], []byte("=")); ok && !shown(string(name)) {
			for i := range value {
				value[i] = '*'
			}
		}
		block = block[min(n+1, len(block)):]
	}
	return nil
}

// detach makes copies of the variables that os.Getenv would return out of the
// block.
func detach(block []byte) error {
	from := uintptr(unsafe.Pointer(unsafe.SliceData(block)))
	for _, entry := range os.Environ() {
		at := uintptr(unsafe.Pointer(unsafe.StringData(entry)))
		name, value, ok := strings.Cut(entry, "=")
		if !ok || name == "" || at < from || at >= from+uintptr(len(block)) {
			continue
		}
		if err := os.Setenv(name, strings.Clone(value)); err != nil {
			return err
		}
	}
	return nil
}

// shown reports whether the value of a variable is harmless. The run-time
// system and libraries may have read these before main.
func shown(name string) bool {
	for _, prefix := range []string{"GO", "LC_", "TERM", "XDG_", "CLICOLOR"} {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	switch name {
	case "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "PWD", "TMPDIR", "TEMP", "TMP", "COLORTERM", "NO_COLOR", "CI":
		return true
	}
	return false
}

// environment returns the memory in which the kernel finds the environment of
// this process.
func environment() ([]byte, error) {
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return nil, err
	}
	const first, start = 3, 50 // the number of the field after the name, and of the environment's start
	fields := bytes.Fields(stat[bytes.LastIndexByte(stat, ')')+1:])
	if len(fields) < start-first+2 || len(os.Args) == 0 {
		return nil, fmt.Errorf("/proc/self/stat has %d fields", len(fields))
	}
	from, err := strconv.ParseUint(string(fields[start-first]), 10, 64)
	if err != nil {
		return nil, err
	}
	to, err := strconv.ParseUint(string(fields[start-first+1]), 10, 64)
	if err != nil || to < from || to-from > maxEnvironment {
		return nil, fmt.Errorf("the environment lies from %x to %x", from, to)
	}
	// The environment follows the arguments, at the address that the kernel chose.
	args := unsafe.Pointer(unsafe.StringData(os.Args[0]))
	if ahead := from - uint64(uintptr(args)); ahead > maxEnvironment {
		return nil, errors.New("the arguments are not where the kernel put them")
	}
	return unsafe.Slice((*byte)(unsafe.Add(args, from-uint64(uintptr(args)))), to-from), nil
}

// maxEnvironment limits the arguments and the environment together: every system has less.
const maxEnvironment = 64 << 20
