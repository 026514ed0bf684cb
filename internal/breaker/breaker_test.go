package breaker_test

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolpost/toolpost/internal/breaker"
)

// at is a stopped clock.
func at(t time.Time) func() time.Time { return func() time.Time { return t } }

// TestStates walks through the states of a breaker. Each step is a request with
// its end, or a wait.
func TestStates(t *testing.T) {
	const minute = time.Minute
	type step struct {
		wait    time.Duration
		refused time.Duration // -1: it passes
		verdict breaker.Verdict
	}
	passes := func(v breaker.Verdict) step { return step{refused: -1, verdict: v} }
	for name, steps := range map[string][]step{
		"opens and closes":                {passes(breaker.Failed), passes(breaker.Failed), {refused: minute}, {wait: minute, refused: -1, verdict: breaker.Succeeded}, passes(breaker.Failed), passes(breaker.Failed)},
		"a trial that fails opens again":  {passes(breaker.Failed), passes(breaker.Failed), {wait: minute, refused: -1, verdict: breaker.Failed}, {refused: minute}},
		"success starts anew":             {passes(breaker.Failed), passes(breaker.Succeeded), passes(breaker.Failed), passes(breaker.Succeeded)},
		"a faulty request is no evidence": {passes(breaker.Failed), passes(breaker.Reached), passes(breaker.Failed), {refused: minute}},
		"a trial that is answered closes": {passes(breaker.Failed), passes(breaker.Failed), {wait: minute, refused: -1, verdict: breaker.Reached}, passes(breaker.Failed), passes(breaker.Failed)},
		"a cancelled trial says nothing":  {passes(breaker.Failed), passes(breaker.Failed), {wait: minute, refused: -1}, {refused: -1, verdict: breaker.Failed}, {refused: minute}},
	} {
		t.Run(name, func(t *testing.T) {
			var b breaker.Breaker
			l := breaker.Limits{Failures: 2, Cooldown: minute}
			now := time.Unix(1000, 0)
			for i, s := range steps {
				now = now.Add(s.wait)
				pass, open := b.Enter(at(now), l)
				switch {
				case open == nil && s.refused >= 0:
					t.Fatalf("step %d passes", i)
				case open != nil && open.Wait != s.refused:
					t.Fatalf("step %d is refused for %v, want %v", i, open.Wait, s.refused)
				}
				pass.Done(s.verdict, at(now), l)
			}
		})
	}
}

// Of many requests after the cooldown exactly one tries, and the end of a
// request that began before the breaker opened does not let a second one try.
func TestOneTrial(t *testing.T) {
	var b breaker.Breaker
	l := breaker.Limits{Failures: 1, Cooldown: time.Second}
	now := time.Unix(1000, 0)
	early, _ := b.Enter(at(now), l)
	late, _ := b.Enter(at(now), l)
	early.Done(breaker.Failed, at(now), l)
	now = now.Add(time.Second)
	var passed atomic.Int32
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			if _, open := b.Enter(at(now), l); open == nil {
				passed.Add(1)
			}
		})
	}
	all.Wait()
	late.Done(breaker.Failed, at(now.Add(-time.Second)), l)
	if _, open := b.Enter(at(now), l); open == nil {
		t.Error("a second request tries")
	}
	if passed.Load() != 1 {
		t.Errorf("%d requests try", passed.Load())
	}
}

func TestDefaults(t *testing.T) {
	var b breaker.Breaker
	var l breaker.Limits
	now := time.Unix(1000, 0)
	for range breaker.DefaultFailures {
		pass, open := b.Enter(at(now), l)
		if open != nil {
			t.Fatal("open too early")
		}
		pass.Done(breaker.Failed, at(now), l)
	}
	if _, open := b.Enter(at(now), l); open == nil || open.Failures != 5 || open.Wait != time.Minute {
		t.Errorf("got %+v", open)
	}
}
