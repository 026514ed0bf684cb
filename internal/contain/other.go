//go:build !linux

package contain

import (
	"errors"
	"runtime"
)

// supervises reports whether there are supervisors.
const supervises = false

const self = ""

func supervisorArgs([]string, string, []string) []string { return nil }

// Supervise does nothing here.
func Supervise() {}

// Sandboxed reports why programs cannot be kept to folders here, or nil if they
// can.
func Sandboxed() error {
	return errors.New("commands can be kept to a folder on Linux only, not on " + runtime.GOOS + "; a container or a virtual machine can do it")
}

// HideKeys does nothing here: other processes of the same user may be able to
// read the environment of this one.
func HideKeys() error { return nil }
