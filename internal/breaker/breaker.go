// Package breaker holds the circuit breaker that package invoke keeps per tool
// and package refine per model: after some failures in a row the other side is
// left alone for a while; then one request may try, and how it ends decides.
package breaker

import (
	"cmp"
	"sync"
	"time"
)

// Limits set when a breaker opens and for how long. Zero means the default.
type Limits struct {
	Failures int           // in a row; 0 means 5
	Cooldown time.Duration // 0 means 60 s
}

// The defaults of Limits.
const (
	DefaultFailures = 5
	DefaultCooldown = 60 * time.Second
)

// Breaker is the state of one tool or model. The zero value lets everything
// pass. It is safe for concurrent use and must not be copied.
type Breaker struct {
	mu       sync.Mutex
	failures int       // in a row
	until    time.Time // when the next request may try
	trying   bool      // one is trying
}

// Verdict is what the end of a request reveals about the server.
type Verdict uint8

// The verdicts.
const (
	// Unknown: the request was cancelled or never sent. It does not change the breaker.
	Unknown Verdict = iota
	// Reached: the server answered, and the failure is the request's own fault.
	// That neither counts as a failure nor makes up for earlier ones, but a
	// trial that gets this far has succeeded.
	Reached
	// Failed: it did not do its work.
	Failed
	// Succeeded: it did.
	Succeeded
)

// Open is the error for a request that may not pass.
type Open struct {
	Failures int           // in a row
	Wait     time.Duration // until a request may try; 0 if one is trying now
}

// Pass is the permission for one request. Exactly one call of Done ends it.
type Pass struct {
	b      *Breaker
	trial  bool
	anyway bool
}

// Enter lets a request pass, or returns why it may not. It asks for the time only
// when the breaker is open.
func (b *Breaker) Enter(now func() time.Time, l Limits) (Pass, *Open) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.failures < cmp.Or(l.Failures, DefaultFailures) {
		return Pass{b: b}, nil
	}
	if wait := b.until.Sub(now()); wait > 0 || b.trying {
		return Pass{}, &Open{b.failures, max(wait, 0)}
	}
	b.trying = true
	return Pass{b: b, trial: true}, nil
}

// Anyway lets a request pass although the breaker may be open, because there is
// no other server to ask. A success closes the breaker; a failure changes
// nothing.
func (b *Breaker) Anyway() Pass { return Pass{b: b, anyway: true} }

// MayTry ends the wait of an open breaker: the next request may try. There is a
// sign that the other side is back.
func (b *Breaker) MayTry() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.until = time.Time{}
}

// Change is what the end of a request changed: the breaker has opened for a time, or has closed again.
type Change struct {
	Opened time.Duration
	Closed bool
}

// Done records how the request ended, and returns what that changed. The zero Pass
// records nothing. It asks for the time only if the request failed.
func (p Pass) Done(v Verdict, now func() time.Time, l Limits) (c Change) {
	if p.b == nil {
		return c
	}
	p.b.mu.Lock()
	defer p.b.mu.Unlock()
	if p.trial {
		p.b.trying = false
	}
	was := p.b.failures >= cmp.Or(l.Failures, DefaultFailures)
	switch {
	case v == Failed && p.anyway:
	case v == Failed:
		p.b.failures++
		wait := cmp.Or(l.Cooldown, DefaultCooldown)
		p.b.until = now().Add(wait)
		if p.b.failures >= cmp.Or(l.Failures, DefaultFailures) && (!was || p.trial) {
			c.Opened = wait
		}
	case v == Succeeded, v == Reached && p.trial:
		p.b.failures = 0
		c.Closed = was
	}
	return c
}

// State is the state of a breaker.
type State uint8

// The states.
const (
	Closed  State = iota // requests pass
	Trying               // one may try, or is trying
	Refuses              // none passes for a while
)

// State returns the state of the breaker without taking a place.
func (b *Breaker) State(now func() time.Time, l Limits) State {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch {
	case b.failures < cmp.Or(l.Failures, DefaultFailures):
		return Closed
	case b.trying || !b.until.After(now()):
		return Trying
	}
	return Refuses
}
