//go:build unix

package ask

import "golang.org/x/sys/unix"

// CanSuspend reports whether a shell can continue the process after Ctrl-Z. In the process group of the session's
// leader there is no such shell, for example in a container, and nothing would continue it.
func CanSuspend() bool {
	session, err := unix.Getsid(0)
	return err == nil && session != unix.Getpgrp()
}
