package leaks

import (
	"testing"
	"time"

	"go.uber.org/goleak"
)

// tests are tests that leave a goroutine running, which ends on request.
type tests chan struct{}

func (c tests) Run() int {
	go func() { <-c }()
	return 0
}

// A goroutine that ends late is waited for, and a goroutine that does not end is found.
func TestVerifyTestMain(t *testing.T) {
	end := make(tests)
	time.AfterFunc(3*time.Second, func() { close(end) }) // goleak alone gives up before
	if code := (patient{end}).Run(); code != 0 {
		t.Errorf("exit %d", code)
	}
	if err := goleak.Find(); err != nil {
		t.Error(err)
	}
	ignored := goleak.IgnoreCurrent()
	left := make(tests)
	left.Run()
	defer close(left)
	if goleak.Find(ignored) == nil {
		t.Error("a goroutine that is left behind is not found")
	}
}
