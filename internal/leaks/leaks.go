// Package leaks fails the tests of a package that leave goroutines behind.
package leaks

import (
	"time"

	"go.uber.org/goleak"
)

// long is the time for goroutines to end after the tests. A leaked goroutine
// never ends, and even a busy machine is faster than this.
const long = 30 * time.Second

// VerifyTestMain is [goleak.VerifyTestMain] with patience: goleak alone waits for
// about a second, which a goroutine that is about to end can miss on a busy
// machine.
func VerifyTestMain(m goleak.TestingM) { goleak.VerifyTestMain(patient{m}) }

type patient struct{ goleak.TestingM }

func (p patient) Run() int {
	code := p.TestingM.Run()
	for end := time.Now().Add(long); code == 0 && goleak.Find() != nil && time.Now().Before(end); {
	}
	return code
}
