//go:build unix

package dialect_test

import (
	"syscall"
	"testing"
	"time"
)

// cpuTime is the processor time used so far: what counts on a busy machine.
func cpuTime(tb testing.TB) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		tb.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
