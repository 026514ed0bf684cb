// Package linear lets tests check that work grows linearly with its input, on
// any machine, however slow or busy. It compares processor times of one thread
// with each other, never with a clock, takes the best of several tries, and
// tries again before it fails.
package linear

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"
)

const (
	// times is the ratio of the two sizes, and most the allowed ratio of their
	// times. Linear work takes 8 times as long, quadratic work 64 times.
	// Between them is room for caches, neighbours on the same core and a
	// logarithm.
	times, most = 8, 20

	// enough is the least that a measurement takes: a shorter one is repeated.
	enough = 20 * time.Millisecond

	// little is the time per byte that is always accepted: 3 MB/s. Quadratic
	// work of some size takes far more, on any machine.
	little = time.Second / 3e6

	// tries is how often a pair of sizes is measured before it fails.
	tries = 6

	// TooLong is the processor time at which Soon fails. It is far longer than
	// any work that ends needs on a slow machine.
	TooLong = time.Minute
)

// Check fails the test if prepare(8*size)() takes more than 20 times as long as
// prepare(size)(). The time of prepare and of other goroutines is not measured.
// On a system without the processor time of a thread, Check only runs both.
func Check(tb testing.TB, name string, size int, prepare func(size int) func()) {
	tb.Helper()
	small, large, ok := compare(prepare(size), prepare(times*size))
	if !ok {
		tb.Errorf("%s: %v for %d, but %v for %d: %.1f times as long for %d times as much",
			name, small, size, large, times*size, float64(large)/float64(small), times)
	}
}

// Screen is Check for many inputs of size bytes: it runs the larger one first, once,
// and is content if that takes little for its length. It returns the processor time
// of that run.
func Screen(tb testing.TB, name string, size int, prepare func(size int) func()) time.Duration {
	tb.Helper()
	took := CPU(prepare(times * size))
	if took > time.Duration(times*size)*little {
		Check(tb, name, size, prepare)
	}
	return took
}

// compare measures two pieces of work, of which large has 8 times as much to
// do, and reports whether large takes at most 20 times as long.
func compare(small, large func()) (s, l time.Duration, ok bool) {
	defer quiet()()
	s, l = time.Hour, time.Hour
	for try := range tries {
		s, l = min(s, Each(small)), min(l, Each(large))
		if l <= most*s || !measures {
			return s, l, true
		}
		if try > 0 && l > 2*most*s { // no neighbour doubles it twice
			break
		}
	}
	return s, l, false
}

// quiet keeps the garbage collector from the measurements that follow, as long
// as memory allows, until the returned function is called.
func quiet() func() {
	runtime.GC()
	percent := debug.SetGCPercent(-1)
	limit := debug.SetMemoryLimit(1 << 30)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// Each returns the processor time of one run of work. Work that takes less than
// 20 ms is run again and again until that much is spent.
func Each(work func()) time.Duration {
	for runs := 1; ; runs *= 2 {
		took := CPU(func() {
			for range runs {
				work()
			}
		})
		if took >= enough || !measures {
			return took / time.Duration(runs)
		}
		if took > enough/20 { // near enough to tell how many runs it needs
			runs = max(runs, int(enough/took)*runs*3/4)
		}
	}
}

// CPU returns the processor time that this goroutine spends in work. On a
// system without that time, it returns the elapsed time.
func CPU(work func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := threadTime()
	work()
	return threadTime() - start
}

// ProcessCPU returns the processor time that the whole process spends while
// work runs, including its garbage collection: for figures, not for tests. On a
// system without that time, it returns the elapsed time.
func ProcessCPU(work func()) time.Duration {
	start := processTime()
	work()
	return processTime() - start
}

// Soon runs work and logs the processor time it takes. It fails the test if
// that is more than a minute: exponential work takes far longer.
func Soon(tb testing.TB, name string, work func()) {
	tb.Helper()
	if took := CPU(work); took > TooLong && measures {
		tb.Errorf("%s took %v of processor time", name, took.Round(time.Second))
	} else {
		tb.Logf("%v for %s", took.Round(time.Millisecond), name)
	}
}
