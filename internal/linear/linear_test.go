package linear

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// scans looks at a text once, in pieces, or at all the rest of it for each piece.
func scans(piece int, rest bool) func(size int) func() {
	return func(size int) func() {
		text := strings.Repeat("x", size)
		return func() {
			for text := text; text != ""; text = text[min(len(text), piece):] {
				look := text
				if !rest {
					look = text[:min(len(text), piece)]
				}
				if strings.Contains(look, "y") {
					panic("there is no y")
				}
			}
		}
	}
}

// failures is a test that records its failures.
type failures struct {
	testing.TB
	lines []string
}

func (*failures) Helper()                     {}
func (f *failures) Errorf(s string, a ...any) { f.lines = append(f.lines, fmt.Sprintf(s, a...)) }

// Linear work passes and quadratic work fails, also while others are busy.
func TestCheck(t *testing.T) {
	for _, busy := range []bool{false, true} {
		var stop atomic.Bool
		if busy {
			go func() {
				for !stop.Load() {
				}
			}()
		}
		var once, square, screened failures
		Check(&once, "once", 1<<16, scans(100, false))
		Check(&square, "square", 1<<16, scans(100, true))
		Screen(&screened, "screened", 1<<16, scans(10, true))
		stop.Store(true)
		if len(once.lines) != 0 {
			t.Errorf("linear work fails: %s", once.lines)
		}
		if measures && (len(square.lines) != 1 || len(screened.lines) != 1) {
			t.Errorf("quadratic work passes: %s, %s", square.lines, screened.lines)
		}
		t.Log(square.lines, screened.lines)
	}
}

// The time of other goroutines, and waiting, is not counted.
func TestCPU(t *testing.T) {
	if !measures {
		t.Skip("this system does not tell the processor time of a thread")
	}
	if took := CPU(func() { time.Sleep(time.Second) }); took > 500*time.Millisecond {
		t.Errorf("a second of sleep took %v", took)
	}
	if each := Each(func() { scans(100, false)(1 << 20)() }); each <= 0 || each > 10*time.Second {
		t.Errorf("1 MiB took %v", each)
	}
}
