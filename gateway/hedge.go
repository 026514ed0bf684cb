package gateway

import (
	"errors"
	"iter"
	"net/http/httptrace"
	"sync"
	"time"

	"github.com/toolpost/toolpost/gateway/internal/upstream"
	"github.com/toolpost/toolpost/llm"
)

// Hedges implements [upstream.Asker]. A request that has effects, or that a vendor stores, is sent to one upstream at a
// time.
func (a *attempts) Hedges() bool {
	store := string(a.req.Extra[a.Codec.Format]["store"])
	stored := store == "true" || a.Codec.Properties().Previous != "" && store != "false"
	return a.rounds == nil && !stored && len(a.HostedTools(a.req)) == 0
}

// race is a request to two upstreams, of which the first to begin its answer is used. Their answers are not relayed.
type race struct {
	*attempts
	events  chan raceEvent
	stop    chan struct{} // closed when the race is over
	readers sync.WaitGroup
	asked   []*contestant
	running int
	entered *upstream.Candidate // the second one; nil if it is not asked
}

// contestant is one upstream in a race.
type contestant struct {
	to     *upstream.Candidate
	asking *asking
	watch  *upstream.Watch
	trace  upstream.Trace
	start  time.Time
	held   []llm.Event // until an answer has begun
	err    error
}

// raceEvent is an event of a contestant's answer, or its end if ev and err are nil.
type raceEvent struct {
	of  *contestant
	ev  llm.Event
	err error
}

// errSlower is the error of an attempt that was given up because another upstream answered first.
var errSlower = &llm.Error{Op: "gateway", Kind: llm.Canceled, Err: errors.New("another upstream answered first")}

// Race implements [upstream.Asker].
func (a *attempts) Race(first, second *upstream.Candidate) (r upstream.Raced) {
	c := &race{attempts: a, events: make(chan raceEvent), stop: make(chan struct{})}
	defer c.close()
	c.ask(first)
	won := c.winner(second)
	r.Second = len(c.asked) > 1
	for i, one := range c.asked {
		switch {
		case one == won:
			continue
		case one.err == nil && won != nil:
			one.watch.Stop()
			c.settle(one, errSlower)
		default:
			c.settle(one, one.err)
			r.Errs[i] = one.err
		}
	}
	if won == nil {
		return r
	}
	r.Won = won.to
	r.Begun, r.Err = c.hear(won)
	return r
}

// ask asks an upstream.
func (c *race) ask(to *upstream.Candidate) {
	one := &contestant{to: to, start: time.Now()}
	ctx, watch := upstream.NewWatch(httptrace.WithClientTrace(c.Context(), one.trace.HTTP()), to, true, c.Stream == nil)
	one.asking, one.watch = c.newAsking(to, c.req), watch
	one.asking.each, one.asking.watch = c.each, watch
	req := one.asking.portable(to.Opened, one.asking.marked(to, c.signatures.ForUpstream(one.asking.labels, to.Limited(c.req))))
	c.asked = append(c.asked, one)
	c.running++
	c.readers.Go(func() {
		for ev, err := range to.Opened.Stream(ctx, req) {
			if !c.send(raceEvent{one, ev, err}) {
				return
			}
		}
		c.send(raceEvent{of: one})
	})
}

// send hands an event to the race, and reports whether the race goes on.
func (c *race) send(e raceEvent) bool {
	select {
	case c.events <- e:
		return true
	case <-c.stop:
		return false
	}
}

// winner returns the upstream that begins to answer first, or nil if all fail. It asks the second one when the first has
// not begun within the time of its route.
func (c *race) winner(second *upstream.Candidate) *contestant {
	timer := time.NewTimer(second.Route.HedgeAfter)
	defer timer.Stop()
	for c.running > 0 {
		select {
		case <-timer.C:
			if second.Enter() {
				c.entered = second
				c.ask(second)
			}
		case e := <-c.events:
			if c.took(e) {
				return e.of
			}
		}
	}
	return nil
}

// took takes an event before an answer has begun, and reports whether it begins one.
func (c *race) took(e raceEvent) (begins bool) {
	if e.err != nil {
		e.of.err = e.of.watch.Err(e.err, &e.of.trace)
	}
	if e.ev == nil {
		if e.err == nil { // the end
			c.running--
		}
		return false
	}
	e.of.watch.Saw(e.ev)
	if _, alive := e.ev.(llm.KeepAlive); !alive {
		e.of.held = append(e.of.held, e.ev)
	}
	_, last := e.ev.(llm.Finish)
	return last || llm.Begins(e.ev)
}

// settle books the usage of an upstream whose answer is not used.
func (c *race) settle(one *contestant, err error) {
	c.trace.Upstream = one.to.Model
	c.spent.Begin(one.to.ID, c.req)
	for _, ev := range one.held {
		c.spent.Count(ev)
	}
	var known *llm.Error
	if refused := errors.As(err, &known) && known.Status != 0; !refused {
		c.spent.Sent(&one.trace)
	}
	c.spent.BookLost(err)
	c.ended(one.to, time.Since(one.start), err)
}

// hear passes on the answer of the winner.
func (c *race) hear(won *contestant) (begun bool, err error) {
	c.SetUpstream(won.to.ID)
	c.trace.Upstream = won.to.Model
	c.spent.Begin(won.to.ID, c.req)
	c.spent.Sent(&won.trace)
	won.asking.source = c.rest(won)
	if c.Stream == nil {
		begun, err = won.asking.whole(c.Context(), won.to, c.req)
	} else {
		begun, err = won.asking.stream(c.Context(), won.to, c.req)
	}
	err = won.watch.Err(err, &won.trace)
	c.noteFirstToken(won.watch.Took())
	c.spent.BookLost(err)
	c.ended(won.to, time.Since(won.start), err)
	return begun, err
}

// rest returns the answer of the winner: what was held, and what follows.
func (c *race) rest(won *contestant) iter.Seq2[llm.Event, error] {
	return func(yield func(llm.Event, error) bool) {
		for _, ev := range won.held {
			if !yield(ev, nil) {
				return
			}
		}
		for e := range c.following(won) {
			if !yield(e.ev, e.err) {
				return
			}
		}
	}
}

// following yields the events of the winner that come later.
func (c *race) following(won *contestant) iter.Seq[raceEvent] {
	return func(yield func(raceEvent) bool) {
		for {
			e := <-c.events
			if e.of != won {
				continue
			}
			if e.ev == nil && e.err == nil || !yield(e) {
				return
			}
		}
	}
}

// close ends all requests and waits until nothing reads them.
func (c *race) close() {
	close(c.stop)
	for _, one := range c.asked {
		one.watch.Stop()
	}
	c.readers.Wait()
	if c.entered != nil {
		c.entered.Leave()
	}
}
