//go:build !unix

package dialect_test

import (
	"testing"
	"time"
)

var begun = time.Now()

// cpuTime is the time since the tests began: this system is not asked for more.
func cpuTime(testing.TB) time.Duration { return time.Since(begun) }
