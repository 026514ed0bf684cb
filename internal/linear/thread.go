//go:build linux || darwin

package linear

import (
	"time"

	"golang.org/x/sys/unix"
)

const measures = true

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &ts); err != nil {
		panic("linear: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
