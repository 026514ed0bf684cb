//go:build linux || darwin

package linear

import (
	"time"

	"golang.org/x/sys/unix"
)

const measures = true

// threadTime is the processor time of the calling thread.
func threadTime() time.Duration { return clock(unix.CLOCK_THREAD_CPUTIME_ID) }

// processTime is the processor time of this process.
func processTime() time.Duration { return clock(unix.CLOCK_PROCESS_CPUTIME_ID) }

func clock(id int32) time.Duration {
	var ts unix.Timespec
	if err := unix.ClockGettime(id, &ts); err != nil {
		panic("linear: " + err.Error())
	}
	return time.Duration(ts.Nano())
}
