//go:build unix

package client

import (
	"syscall"
	"time"
)

// processorTime is what this process has used: other than time, it says something on a
// machine that does other things, too.
func processorTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
