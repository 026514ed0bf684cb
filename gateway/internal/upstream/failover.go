package upstream

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/clientio"
	"github.com/toolpost/toolpost/internal/breaker"
	"github.com/toolpost/toolpost/internal/outcome"
	"github.com/toolpost/toolpost/llm"
)

// Asker asks upstreams for one answer.
type Asker interface {
	// Ask asks one upstream. If others is true, another upstream can be asked instead of retrying. It reports whether the
	// answer has begun.
	Ask(to *Candidate, others bool) (begun bool, err error)
	// Failed is called when next is about to be asked because failed did not answer.
	Failed(failed *Candidate, err error, next *Candidate)
	// Paused is called when an upstream is left alone for a time after failures, or with 0 when it is used again.
	Paused(to *Candidate, wait time.Duration)
	// Hedges reports whether two upstreams may be asked at the same time.
	Hedges() bool
	// Race asks the first upstream, and also the second if the first has not begun to answer after the time of its route.
	Race(first, second *Candidate) Raced
}

// Raced is how a race of two upstreams ended.
type Raced struct {
	Won    *Candidate // that began to answer; nil if none did
	Begun  bool       // part of its answer was passed on
	Err    error      // of its answer
	Second bool       // the second was asked
	Errs   [2]error   // of those that did not begin; nil if one was given up for the other
}

// Failover asks one candidate after another until one begins to answer.
//
// An upstream that is unhealthy or whose breaker is open is skipped while another is available. If all others fail, the
// skipped ones are asked, and finally the last failed one again.
func Failover(ctx context.Context, candidates []Candidate, asker Asker) error {
	f := failover{ctx: ctx, asker: asker}
	for i := range candidates {
		to, last := &candidates[i], i == len(candidates)-1
		if to == f.raced {
			continue
		}
		if to.out() {
			f.skipped = append(f.skipped, to)
			continue
		}
		pass, open := to.model.breaker.Enter(time.Now, to.limits())
		if open != nil {
			f.skipped = append(f.skipped, to)
			continue
		}
		if rival := f.rival(to, candidates[i+1:]); rival != nil {
			if f.race(to, rival, pass) {
				return f.end(candidates)
			}
			continue
		}
		if f.try(to, pass, !last || len(f.skipped) > 0) {
			return f.end(candidates)
		}
	}
	f.trySkipped()
	return f.end(candidates)
}

// failover is the state of one call of Failover.
type failover struct {
	ctx     context.Context
	asker   Asker
	skipped []*Candidate

	failed   *Candidate // the last that failed
	err      error      // its error
	failures []error    // errors of earlier upstreams
	full     *Candidate // the last that had no place for the request
	raced    *Candidate // was asked next to another one
}

// try asks one upstream, and reports whether to stop.
func (f *failover) try(to *Candidate, pass breaker.Pass, others bool) bool {
	if !f.enter(to, pass) {
		return false
	}
	var begun bool
	begun, f.err = f.ask(to, others)
	effect := effectOf(f.err)
	f.done(to, pass, effect)
	f.failed = to
	return f.err == nil || begun || !effect.Next || f.ctx.Err() != nil
}

// done records how a request of an upstream ended. It is not inlined; see trySkipped.
//
//go:noinline
func (f *failover) done(to *Candidate, pass breaker.Pass, effect outcome.Effect) {
	change := pass.Done(effect.Verdict, time.Now, effect.Limits(to.limits()))
	if change.Opened > 0 || change.Closed {
		f.asker.Paused(to, change.Opened)
	}
}

// enter counts a request of an upstream, unless it has no place for it.
func (f *failover) enter(to *Candidate, pass breaker.Pass) bool {
	if !to.Enter() {
		f.full = to
		pass.Done(breaker.Unknown, time.Now, Limits)
		return false
	}
	if f.failed != nil {
		f.failures = append(f.failures, f.err)
		f.asker.Failed(f.failed, f.err, to)
	}
	to.Route.took(to.Target)
	return true
}

// Enter counts a request as in flight, unless the upstream is at its limit. Leave ends it.
func (c *Candidate) Enter() bool {
	if n := c.busy.Add(1); c.MaxInFlight > 0 && n > int64(c.MaxInFlight) {
		c.busy.Add(-1)
		return false
	}
	return true
}

// Leave ends a request that Enter counted.
func (c *Candidate) Leave() { c.busy.Add(-1) }

// rival returns the upstream of the same route that may be asked at the same time, or nil.
func (f *failover) rival(to *Candidate, others []Candidate) *Candidate {
	if to.Route.HedgeAfter == 0 || f.raced != nil || !f.asker.Hedges() {
		return nil
	}
	for i := range others {
		if c := &others[i]; c.Route == to.Route && !c.out() && c.model.breaker.State(time.Now, c.limits()) == breaker.Closed {
			return c
		}
	}
	return nil
}

// race asks two upstreams, and reports whether to stop.
func (f *failover) race(to, rival *Candidate, pass breaker.Pass) bool {
	if !f.enter(to, pass) {
		return false
	}
	defer to.Leave()
	r := f.asker.Race(to, rival)
	if r.Won == to {
		r.Errs[0] = r.Err
	} else if r.Won == rival {
		r.Errs[1] = r.Err
	}
	done := func(c *Candidate, pass breaker.Pass, err error) {
		effect := effectOf(err)
		if err == nil && c != r.Won {
			effect.Verdict = breaker.Unknown // given up
		}
		f.done(c, pass, effect)
	}
	done(to, pass, r.Errs[0])
	f.failed, f.err = to, r.Errs[0]
	if r.Second {
		f.raced = rival
		done(rival, rival.model.breaker.Anyway(), r.Errs[1])
		if r.Won != to {
			if r.Errs[0] != nil {
				f.failures = append(f.failures, r.Errs[0])
			}
			f.failed, f.err = rival, r.Errs[1]
		}
	}
	return f.err == nil || r.Begun || !effectOf(f.err).Next || f.ctx.Err() != nil
}

// ask calls the asker. The upstream counts as busy until the call returns or panics.
func (f *failover) ask(to *Candidate, others bool) (begun bool, err error) {
	defer to.busy.Add(-1)
	return f.asker.Ask(to, others)
}

// trySkipped asks the skipped upstreams, and then the last failed one again. Like end it is not inlined: its part of
// the stack would be held until the answer ends.
//
//go:noinline
func (f *failover) trySkipped() {
	before, why := f.failed, f.err
	for i, to := range f.skipped {
		if f.try(to, to.model.breaker.Anyway(), before != nil || i < len(f.skipped)-1) {
			return
		}
	}
	if before != nil && len(f.skipped) > 0 && mayPass(why) {
		f.try(before, before.model.breaker.Anyway(), false)
	}
}

// end returns the error of the last upstream, joined with the earlier errors.
//
//go:noinline
func (f *failover) end(candidates []Candidate) error {
	if f.failed == nil && f.full != nil {
		return Busy(f.full.Route.Name, f.full.MaxInFlight)
	}
	if f.err == nil && f.failed != nil {
		lessons(candidates, f.failed)
	}
	return Wrap(joined(f.failures, f.err), f.err, candidates...)
}

// mayPass reports whether a failure may be temporary and the upstream did not send a retry time.
func mayPass(err error) bool {
	var failure *llm.Error
	return llm.KindOf(err).Transient() && !(errors.As(err, &failure) && failure.RetryAfter > 0)
}

// joined returns the last error, joined with the earlier ones. The last error determines the error for the client.
func joined(before []error, last error) error {
	if last == nil || len(before) == 0 {
		return last
	}
	var known *llm.Error
	if !errors.As(last, &known) {
		return errors.Join(append(before, last)...)
	}
	out := *known
	out.Err = fmt.Errorf("%w (and before: %w)", known.Err, errors.Join(before...))
	return &out
}

// effectOf returns what an error means for the next upstream. A client that left reveals nothing about its upstream.
func effectOf(err error) outcome.Effect {
	if errors.Is(err, clientio.ErrGone) {
		return outcome.Effect{}
	}
	return outcome.Of(err)
}
