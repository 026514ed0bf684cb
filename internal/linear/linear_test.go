package linear

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// scans looks at a text once, or once more for each of its pieces.
func scans(pieces bool) func(size int) func() {
	return func(size int) func() {
		text := strings.Repeat("x", size)
		return func() {
			for rest := text; rest != ""; rest = rest[min(len(rest), 100):] {
				if !pieces {
					strings.Count(rest[:min(len(rest), 100)], "xy")
				} else if strings.Contains(rest, "y") {
					panic("no y")
				}
			}
		}
	}
}

// failures is a test that notes what it is told.
type failures struct {
	testing.TB
	lines []string
}

func (*failures) Helper()                     {}
func (f *failures) Errorf(s string, a ...any) { f.lines = append(f.lines, fmt.Sprintf(s, a...)) }

// Linear work passes and quadratic work fails, also where the machine is busy
// with something else.
func TestCheck(t *testing.T) {
	for busy := range 2 {
		stop := make(chan struct{})
		for range 2 * busy {
			go func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
				}
			}()
		}
		var once, square failures
		Check(&once, "once", 1<<16, scans(false))
		Check(&square, "square", 1<<16, scans(true))
		close(stop)
		if len(once.lines) != 0 {
			t.Errorf("linear work fails: %s", once.lines)
		}
		if measures && len(square.lines) != 1 {
			t.Errorf("quadratic work fails %d times", len(square.lines))
		}
		t.Log(square.lines)
	}
}

// What other goroutines do, and waiting, is not counted.
func TestCPU(t *testing.T) {
	if !measures {
		t.Skip("this system does not tell the processor time of a thread")
	}
	if took := CPU(func() { time.Sleep(time.Second) }); took > 500*time.Millisecond {
		t.Errorf("a second of sleep took %v", took)
	}
	if each := Each(func() { scans(false)(1 << 20)() }); each <= 0 || each > 10*time.Second {
		t.Errorf("1 MiB took %v", each)
	}
}
