package breaker_test

import (
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
)

// TestAnyway checks that a request that passes an open breaker closes it on success, and changes nothing on failure;
// and that a sign of recovery lets one request try.
func TestAnyway(t *testing.T) {
	var b breaker.Breaker
	l := breaker.Limits{Failures: 1, Cooldown: time.Minute}
	now := at(time.Unix(1000, 0))
	fails := func() {
		pass, _ := b.Enter(now, l)
		pass.Done(breaker.Failed, now, l)
	}
	fails()
	later := at(time.Unix(1030, 0))
	b.Anyway().Done(breaker.Failed, later, l)
	if _, open := b.Enter(later, l); open == nil || open.Wait != 30*time.Second || open.Failures != 1 {
		t.Errorf("after a failure: %+v", open)
	}
	b.Anyway().Done(breaker.Succeeded, later, l)
	if b.State(later, l) != breaker.Closed {
		t.Error("it is open after a success")
	}
	fails()
	b.MayTry()
	pass, open := b.Enter(now, l)
	if _, second := b.Enter(now, l); open != nil || second == nil {
		t.Errorf("one request may try: %+v, %+v", open, second)
	}
	pass.Done(breaker.Succeeded, now, l)
	if b.State(now, l) != breaker.Closed {
		t.Error("it is open after a trial")
	}
}
